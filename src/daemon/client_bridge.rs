//! Passes the agent's events to clients.

use futures_util::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::agent::ports::{TurnUpdate, Update, UpdateSink};
use crate::agent::toolbox::Person;
use crate::agent::turn::Show;
use crate::calls::{Answerer, Decision, Question};
use crate::methods::session_updates::shown;
use crate::policy::Scope;
use crate::server::approvals::{Approvals, WaitPolicy};
use crate::server::events::{Event, Events};

type Listener = Box<dyn Fn(&TurnUpdate) + Send + Sync>;

/// Passes events to clients once the server runs.
#[derive(Default)]
pub struct ClientBridge {
    server: OnceLock<(Events, Approvals)>,
    listener: OnceLock<Listener>,
    root: PathBuf,
}

impl ClientBridge {
    pub fn new(root: &Path) -> Self {
        Self { server: OnceLock::new(), listener: OnceLock::new(), root: root.to_owned() }
    }

    /// Adds a listener for all events of turns; it must not block.
    pub fn set_listener(&self, listen: Box<dyn Fn(&TurnUpdate) + Send + Sync>) {
        let _ = self.listener.set(listen);
    }

    pub fn open(&self, events: Events, approvals: Approvals) {
        let _ = self.server.set((events, approvals));
    }
}

impl Person for ClientBridge {
    fn ask(&self, question: &Question, call: String) -> BoxFuture<'static, (Decision, Answerer)> {
        let Some((_, approvals)) = self.server.get() else {
            return Box::pin(std::future::ready((Decision::Late, Answerer::default())));
        };
        // A person who used voice may come to the screen to answer; no other caller would.
        let for_somebody = question.caller().scope == Scope::Voice;
        let wait_policy = WaitPolicy { limit: None, for_somebody };
        Box::pin(approvals.ask_about(question, Some(call), wait_policy))
    }
}

impl UpdateSink for ClientBridge {
    fn send(&self, update: TurnUpdate) {
        if let Some(listen) = self.listener.get() {
            listen(&update);
        }
        let Some((events, _)) = self.server.get() else { return };
        let TurnUpdate { conversation, turn, what } = update;
        let (turn, from) = (turn.to_string(), speaker(&what));
        for session_event in shown(&turn, what, &self.root) {
            let (session, turn) = (conversation.to_string(), Some(turn.clone()));
            events.publish(Event::Session { session, turn, session_event, from });
        }
    }
}

fn speaker(what: &Update) -> Option<u64> {
    match what {
        Update::Show(Show::User(user_message)) => user_message.from,
        _ => None,
    }
}
