//! A model that uses only its input, a tool that changes a list, and the agent's other ports.

use futures_util::future::BoxFuture;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use vault_steward::agent::call_result::CallResult;
use vault_steward::agent::ports::{
    CallOutcome, CallRequest, Model, Models, Toolbox, TurnUpdate, UpdateSink, VaultContext,
};
use vault_steward::agent::prompt::Situation;
use vault_steward::agent::turn::ToolEffects;
use vault_steward::daemon::voice::Voice;
use vault_steward::llm::{
    Block, BlockKind, ErrorKind, Item, LlmError, Message, Origin, Provider, Stop, ToolArgs,
    ToolCall, ToolSpec, Turn, TurnRequest, TurnStream, Usage, Wire,
};
use vault_steward::policy::Scope;
use vault_steward::vault::Cancel;

use super::life::Life;
use super::world::World;

/// A person's request to add a number.
pub fn request(number: u32) -> String {
    format!("please add item{number:04}")
}

/// The numbers that a text asks to add.
pub fn wanted(text: &str) -> impl Iterator<Item = u32> + '_ {
    text.split("add item").skip(1).filter_map(|piece| {
        let digits = piece.get(..4)?;
        digits.parse().ok()
    })
}

/// The model's next step.
enum Next {
    Call { id: String, tool: &'static str, number: u32 },
    Say(String),
}

/// Adds the numbers requested since its last answer that are not known to be in the list. After a call with an unknown
/// result, or an attempt without a trace, it looks first.
///
/// A careful model also looks after an interrupted turn: if conversations are deleted, nothing else shows an earlier
/// attempt.
fn next(messages: &[Message], is_careful: bool) -> Next {
    let mut open: Vec<u32> = Vec::new();
    let mut looks_first = false;
    let mut known = BTreeSet::new();
    let mut results = HashMap::new();
    for message in messages {
        match message {
            Message::User { content } => {
                for number in texts(content).iter().flat_map(|text| wanted(text)) {
                    if !open.contains(&number) {
                        open.push(number);
                    }
                }
            }
            Message::Notice { text } => {
                looks_first |= text.contains("in a conversation that was deleted since")
                    || (is_careful && text.starts_with(CUT_SHORT));
                // Messages that other notices quote are not new requests.
                let goes_on = text.starts_with("The turn in which you worked on a message");
                for number in wanted(text).filter(|_| goes_on) {
                    if !open.contains(&number) {
                        open.push(number);
                    }
                }
            }
            Message::Assistant { content, .. } => {
                for text in texts(content).iter().filter(|text| text.starts_with("Added ")) {
                    let items = text.split("item").skip(1).filter_map(|item| item.get(..4));
                    // It knows its own answers, including those about numbers that it found and did
                    // not add.
                    known.extend(items.filter_map(|item| item.parse::<u32>().ok()));
                    open.clear();
                    looks_first = false;
                }
            }
            Message::ToolResults { results: some } => {
                results.extend(
                    some.iter().map(|one| (one.call_id.clone(), texts(&one.content).join("\n"))),
                );
            }
        }
    }
    let is_unknown = |text: &str| text.contains("unknown: the steward ended");
    for number in open.iter().copied().filter(|number| !known.contains(number)) {
        let look = |attempt: u32| {
            for again in 0.. {
                let id = format!("look{attempt}-{again}-{number}");
                match results.get(&id) {
                    None => return Err(Next::Call { id, tool: "look", number }),
                    Some(text) if is_unknown(text) => {}
                    Some(text) => return Ok(text.contains("is there")),
                }
            }
            unreachable!("some look has no result")
        };
        if looks_first {
            match look(0) {
                Err(next) => return next,
                Ok(true) => continue,
                Ok(false) => {}
            }
        }
        for attempt in 1.. {
            let id = format!("add{attempt}-{number}");
            let Some(result) = results.get(&id) else {
                return Next::Call { id, tool: "add", number };
            };
            if result.contains("it was added") {
                break;
            }
            if is_unknown(result) {
                match look(attempt) {
                    Err(next) => return next,
                    Ok(true) => break,
                    Ok(false) => {}
                }
            }
        }
    }
    if open.is_empty() {
        return Next::Say("Yes.".to_owned());
    }
    let added: Vec<String> = open.iter().map(|number| format!("item{number:04}")).collect();
    Next::Say(format!("Added {}.", added.join(", ")))
}

fn texts(content: &[Block]) -> Vec<&str> {
    content
        .iter()
        .filter_map(|block| match &block.kind {
            BlockKind::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

/// The model.
#[derive(Clone)]
pub struct Mind {
    pub world: Arc<World>,
    pub life: Arc<Life>,
}

/// The notice to the model about an interrupted turn.
const CUT_SHORT: &str = "The steward ended in the middle of this turn.";

impl Models for Mind {
    fn current(&self) -> Option<Model> {
        Some(Model { provider: Arc::new(self.clone()), window: 10_000_000 })
    }

    fn advice(&self) -> BoxFuture<'static, String> {
        Box::pin(std::future::ready("there is no model".to_owned()))
    }

    fn price(&self, _: Option<&Origin>, _: Option<&Usage>) -> (String, Option<f64>) {
        ("m".to_owned(), None)
    }
}

impl Provider for Mind {
    fn id(&self) -> &str {
        "m"
    }

    fn stream(&self, request: Arc<TurnRequest>) -> TurnStream {
        let (world, life) = (Arc::clone(&self.world), Arc::clone(&self.life));
        let answer = async move {
            life.pass().await;
            tokio::time::sleep(Duration::from_millis(world.below(300))).await;
            if world.troubles(|trouble| trouble.model, 9) {
                let kinds = [ErrorKind::Overloaded, ErrorKind::Network, ErrorKind::Auth];
                let kind = kinds[world.below(3) as usize];
                return Err(LlmError::new(kind, "as chance has it"));
            }
            life.pass().await;
            let conversation = &request.conversation;
            world.tell(|| format!("in {conversation} was said: {:#?}", request.messages));
            let is_careful = world.troubles(|trouble| trouble.deletes, 1);
            Ok(Item::Done(Box::new(said(&world, next(&request.messages, is_careful)))))
        };
        futures_util::stream::once(answer).boxed()
    }
}

fn said(world: &World, next: Next) -> Turn {
    let mut content = Vec::new();
    let call = |id: String, name: &str, args: &Value| {
        let args = ToolArgs::parse(&args.to_string());
        let call = ToolCall { id, name: name.to_owned(), args };
        Block { kind: BlockKind::ToolCall(call), native: None }
    };
    match next {
        Next::Call { id, tool, number } => content.push(call(id, tool, &json!({"n": number}))),
        Next::Say(text) => {
            content.push(Block::text(text));
            if world.once_in(6) {
                let id = format!("end-{}", world.below(1 << 40));
                content.push(call(id, "end_conversation", &json!({"reason": "all is done"})));
            }
        }
    }
    let is_call = content.iter().any(|block| block.call().is_some());
    let stop = if is_call { Stop::ToolUse } else { Stop::EndTurn };
    let origin = Origin { wire: Wire::Chat, endpoint: "e".to_owned(), model: "m".to_owned() };
    Turn { content, stop, usage: None, origin, request_id: None }
}

/// The tools.
impl Toolbox for Mind {
    fn specs(&self) -> Vec<ToolSpec> {
        let spec = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: name.to_owned(),
            schema: json!({"type": "object"}),
        };
        vec![spec("add"), spec("look")]
    }

    fn changes(&self) -> ToolEffects {
        Arc::new([("add".to_owned(), true), ("look".to_owned(), false)].into())
    }

    fn call(&self, wanted: CallRequest, _: Cancel) -> BoxFuture<'static, CallOutcome> {
        let (world, life) = (Arc::clone(&self.world), Arc::clone(&self.life));
        Box::pin(async move {
            let ToolArgs::Object(arguments) = &wanted.call.args else { panic!("{wanted:?}") };
            let number = u32::try_from(arguments["n"].as_u64().unwrap()).unwrap();
            let pause = Duration::from_millis(world.below(60));
            life.pass().await;
            tokio::time::sleep(pause).await;
            let text = match wanted.call.name.as_str() {
                "look" if world.has(number) => "it is there",
                "look" => "it is not among them",
                // Once: a caller that fails again and again is stopped.
                _ if wanted.call.id.starts_with("add1-")
                    && world.troubles(|trouble| trouble.model, 12) =>
                {
                    "nothing was changed"
                }
                _ => {
                    world.add(number);
                    world.tell(|| format!("added {number}: {wanted:?}"));
                    // Done, but not reported yet.
                    life.pass().await;
                    tokio::time::sleep(pause).await;
                    "it was added"
                }
            };
            let is_error = text == "nothing was changed";
            CallOutcome::Done(CallResult {
                is_error,
                ..CallResult::done(text.to_owned(), Value::Null)
            })
        })
    }
}

/// Reports events to the worker, as the daemon does.
#[derive(Clone, Default)]
pub struct VoiceUpdates {
    /// A weak reference: the agent, which owns this, ends with a life.
    pub voice: Arc<OnceLock<Weak<Voice>>>,
}

impl UpdateSink for VoiceUpdates {
    fn send(&self, update: TurnUpdate) {
        if let Some(voice) = self.voice.get().and_then(Weak::upgrade) {
            voice.on_update(&update);
        }
    }
}

/// A vault in which nothing happens.
pub struct Nowhere;

impl VaultContext for Nowhere {
    fn vault(&self) -> String {
        "Notes".to_owned()
    }

    fn moment(&self, _: vault_steward::conversation::ConversationId, _: Scope) -> Situation {
        let now = chrono::DateTime::parse_from_rfc3339("2026-11-21T18:00:00+01:00").unwrap();
        Situation { now, active_note: None, as_of: None, news: Vec::new() }
    }

    fn note(&self, _: &str, _: Scope) -> Option<(String, String)> {
        None
    }

    fn shows_all(&self, _: Scope) -> bool {
        true
    }
}
