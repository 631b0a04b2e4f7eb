//! Reports conversations and turns to hooks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::client_bridge::ClientBridge;
use crate::agent::ConversationEvent;
use crate::agent::ports::{TurnUpdate, Update, UpdateSink};
use crate::agent::toolbox::turn_name;
use crate::agent::turn::{End, Reason, Show};
use crate::calls::Calls;
use crate::conversation::{Conversation, ConversationId, TurnId, title};
use crate::hooks::{Event, Hooks, Kind};
use crate::journal::Query;
use crate::locks::lock;

/// The number of recent change sets that are searched for those of a turn.
const SEARCHED_SETS: usize = 200;

/// The most characters of a message that are used for its title.
const MAX_TITLE: usize = 100;

/// Reports the ends of turns to hooks.
pub struct HookNotifier {
    client_bridge: Arc<ClientBridge>,
    calls: Calls,
    first_messages: Mutex<HashMap<TurnId, String>>,
}

impl HookNotifier {
    pub fn new(client_bridge: Arc<ClientBridge>, calls: Calls) -> Self {
        Self { client_bridge, calls, first_messages: Mutex::default() }
    }

    fn ended(&self, conversation: ConversationId, turn: TurnId, end: &End) {
        let mut first_messages = lock(&self.first_messages);
        let first_message = first_messages.remove(&turn);
        if !self.calls.hooks().receives(Kind::TurnEnded) {
            return;
        }
        let event = Event::new(Kind::TurnEnded)
            .field("conversation", conversation.to_string())
            .field("turn", turn.to_string())
            .field("outcome", word(end.reason))
            .text("title", first_message.as_deref().and_then(titled))
            .text("message", first_message)
            .text("words", Some(end.words.as_str()).filter(|words| !words.is_empty()));
        // Reads the database, so it must not run on the caller's thread.
        let (calls, name) = (self.calls.clone(), turn_name(conversation, turn));
        tokio::task::spawn_blocking(move || {
            let sets = changed_in(&calls, &name);
            let (numbers, titles): (Vec<Value>, Vec<Value>) = sets.into_iter().unzip();
            calls.hooks().notify(event.field("changeSets", numbers).place("changed", titles));
        });
    }
}

impl UpdateSink for HookNotifier {
    fn send(&self, update: TurnUpdate) {
        let TurnUpdate { conversation, turn, what } = &update;
        match what {
            Update::Show(Show::User(user_message)) => {
                let mut first_messages = lock(&self.first_messages);
                first_messages.entry(*turn).or_insert_with(|| user_message.text.clone());
            }
            Update::Ended { end } => self.ended(*conversation, *turn, end),
            _ => {}
        }
        self.client_bridge.send(update);
    }
}

/// The title of a turn from its first message.
fn titled(message: &str) -> Option<String> {
    let line = message.lines().find(|line| !line.trim().is_empty())?;
    title::title_of(&line.chars().take(MAX_TITLE).collect::<String>())
}

fn word(reason: Reason) -> &'static str {
    match reason {
        Reason::Done => "done",
        Reason::Waiting => "waiting",
        Reason::Ended => "ended",
        Reason::MaxTokens => "max_tokens",
        Reason::MaxRounds => "max_rounds",
        Reason::Refused => "refused",
        Reason::Cancelled => "cancelled",
        Reason::Failed => "failed",
    }
}

/// Number and title of each change set of a turn, oldest first.
fn changed_in(calls: &Calls, turn: &str) -> Vec<(Value, Value)> {
    let query = Query { limit: SEARCHED_SETS, ..Query::default() };
    let sets = calls.context().journal.history().change_sets(&query).unwrap_or_default();
    let of_turn = sets.into_iter().filter(|set| set.turn.as_deref() == Some(turn));
    let mut found: Vec<_> = of_turn.map(|set| (set.id.0.into(), set.title.into())).collect();
    found.reverse();
    found
}

/// Reports the start or end of a conversation to hooks.
pub fn report(hooks: &Hooks, event: &ConversationEvent) {
    let conversation_hook = |kind, conversation: &Conversation| {
        Event::new(kind)
            .field("conversation", conversation.id.to_string())
            .field("source", conversation.source.as_str())
            .text("title", conversation.title.as_deref())
            .text("summary", conversation.summary.as_deref())
    };
    match event {
        ConversationEvent::Began(conversation) => {
            hooks.notify(conversation_hook(Kind::ConversationStarted, conversation));
        }
        ConversationEvent::Ended(conversation) => {
            let reason = conversation.ended.as_ref().map(|end| end.reason.as_str());
            hooks.notify(
                conversation_hook(Kind::ConversationEnded, conversation).field("reason", reason),
            );
        }
        _ => {}
    }
}
