//! The steward's share of a model's turn, and of the delivery of a piece of its answer to the
//! clients.

use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion};
use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use vault_steward::agent::call_result::CallResult;
use vault_steward::agent::clock::SystemClock;
use vault_steward::agent::entry::UserMessage;
use vault_steward::agent::memory::StoredMemory;
use vault_steward::agent::ports::{
    CallOutcome, CallRequest, Model, Models, Toolbox, TurnUpdate, UpdateSink, VaultContext,
};
use vault_steward::agent::prompt::Situation;
use vault_steward::agent::turn::{Reason, ToolEffects};
use vault_steward::agent::{Agent, ConversationSettings, Conversations, Ports, TurnSettings};
use vault_steward::conversation::ConversationId;
use vault_steward::llm::{
    Block, BlockKind, Item, Message, Origin, Provider, Stop, ToolArgs, ToolCall, ToolSpec, Turn,
    TurnEvent, TurnRequest, TurnStream, Usage, Wire,
};
use vault_steward::policy::Scope;
use vault_steward::protocol::session::SessionUpdate;
use vault_steward::protocol::tools::Content;
use vault_steward::server::Settings;
use vault_steward::server::events::{Event, Events, SessionEvent};
use vault_steward::store::Store;
use vault_steward::vault::Cancel;

use crate::fake::fake;
use crate::support::{Client, Door};

/// The rounds of the longer turn; its difference to a turn of one round is the cost of the others.
const ROUNDS: usize = 10;

/// The pieces of a long answer.
const PIECES: usize = 100;

/// A model that answers at once, with a call in each round but the last.
struct Scripted {
    rounds: usize,
    calls: AtomicU32,
}

impl Provider for Scripted {
    fn id(&self) -> &str {
        "bench/m"
    }

    fn stream(&self, request: Arc<TurnRequest>) -> TurnStream {
        let is_result = |message: &&Message| matches!(message, Message::ToolResults { .. });
        let done = request.messages.iter().filter(is_result).count();
        let (block, stop) = if done + 1 < self.rounds {
            let n = self.calls.fetch_add(1, Ordering::Relaxed);
            let args = ToolArgs::Object(Map::from_iter([("n".to_owned(), json!(n))]));
            let call = ToolCall { id: n.to_string(), name: "look".to_owned(), args };
            (Block { kind: BlockKind::ToolCall(call), native: None }, Stop::ToolUse)
        } else {
            (Block::text("that is all"), Stop::EndTurn)
        };
        let turn = Turn {
            content: vec![block],
            stop,
            usage: Some(Usage { input: 1_000, output: 50, ..Usage::default() }),
            origin: Origin { wire: Wire::Chat, endpoint: "bench".into(), model: "m".into() },
            request_id: None,
        };
        let piece = TurnEvent::Text { block: 0, delta: "that is all".to_owned() };
        let piece = (done + 1 >= self.rounds).then_some(Ok(Item::Event(piece)));
        Box::pin(stream::iter(piece.into_iter().chain([Ok(Item::Done(Box::new(turn)))])))
    }
}

struct Chosen(Arc<Scripted>);

impl Models for Chosen {
    fn current(&self) -> Option<Model> {
        let provider: Arc<dyn Provider> = self.0.clone();
        Some(Model { provider, window: 200_000 })
    }

    fn advice(&self) -> BoxFuture<'static, String> {
        Box::pin(std::future::ready(String::new()))
    }

    fn price(&self, _: Option<&Origin>, _: Option<&Usage>) -> (String, Option<f64>) {
        ("bench/m".to_owned(), Some(0.001))
    }
}

/// One tool that answers at once.
struct Tools;

impl Toolbox for Tools {
    fn specs(&self) -> Vec<ToolSpec> {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let description = "Looks at something.".to_owned();
        vec![ToolSpec { name: "look".to_owned(), description, schema }]
    }

    fn changes(&self) -> ToolEffects {
        Arc::new([("look".to_owned(), false)].into())
    }

    fn call(&self, wanted: CallRequest, _: Cancel) -> BoxFuture<'static, CallOutcome> {
        let text = format!("{} saw {}", wanted.call.id, "a line of a note\n".repeat(40));
        let called = CallResult::done(text, Value::Null);
        Box::pin(std::future::ready(CallOutcome::Done(called)))
    }
}

struct Nobody;

impl UpdateSink for Nobody {
    fn send(&self, _: TurnUpdate) {}
}

struct Nowhere;

impl VaultContext for Nowhere {
    fn vault(&self) -> String {
        "Notes".to_owned()
    }

    fn moment(&self, _: ConversationId, _: vault_steward::policy::Scope) -> Situation {
        let now = chrono::DateTime::parse_from_rfc3339("2026-11-21T18:00:00+01:00");
        let now = now.expect("it is a time");
        Situation { now, active_note: None, as_of: None, news: Vec::new() }
    }

    fn note(&self, _: &str, _: Scope) -> Option<(String, String)> {
        None
    }

    fn shows_all(&self, _: Scope) -> bool {
        true
    }
}

fn said(conversation: ConversationId) -> UserMessage {
    UserMessage {
        number: 0,
        to: Some(conversation),
        text: "look around".to_owned(),
        source: "bench".to_owned(),
        scope: Scope::Person,
        from: None,
        client_id: None,
        attached: vault_steward::agent::attachments::Attachments::default(),
        note: None,
    }
}

/// Whole turns with a model that takes no time, all stored in a real store.
pub fn turns(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("the machine has room for two threads");
    let mut group = c.benchmark_group("turns");
    for rounds in [1, ROUNDS] {
        let state = tempfile::tempdir().expect("the machine has room for temporary files");
        let kept = Conversations::new(
            Store::at(state.path()),
            ConversationSettings::default(),
            Arc::new(SystemClock::default()),
        );
        let ports = Ports {
            memory: Box::new(StoredMemory::new(kept.clone())),
            models: Box::new(Chosen(Arc::new(Scripted { rounds, calls: AtomicU32::new(0) }))),
            toolbox: Box::new(Tools),
            audience: Box::new(Nobody),
            place: Arc::new(Nowhere),
        };
        let most = u32::try_from(ROUNDS).expect("a few");
        let agent = Agent::new(ports, TurnSettings { rounds: most, ..TurnSettings::default() });
        group.bench_function(format!("{rounds} rounds"), |bencher| {
            bencher.iter_batched(
                || kept.open_new("bench").expect("it begins").id,
                |conversation| {
                    runtime.block_on(async {
                        let answered = agent.send(said(conversation)).await;
                        let answered = answered.expect("it is taken").await.expect("it ends");
                        assert_eq!(answered.answer, "that is all");
                    });
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// A model that sends some text and then nothing more, and reports when it is waited for.
struct Silent(mpsc::UnboundedSender<()>);

impl Provider for Silent {
    fn id(&self) -> &str {
        "bench/m"
    }

    fn stream(&self, _: Arc<TurnRequest>) -> TurnStream {
        let waits = self.0.clone();
        let said = TurnEvent::Text { block: 0, delta: "one moment".to_owned() };
        let silence = stream::once(async move {
            let _ = waits.send(());
            std::future::pending().await
        });
        Box::pin(stream::iter([Ok(Item::Event(said))]).chain(silence))
    }
}

struct ChosenSilent(mpsc::UnboundedSender<()>);

impl Models for ChosenSilent {
    fn current(&self) -> Option<Model> {
        Some(Model { provider: Arc::new(Silent(self.0.clone())), window: 200_000 })
    }

    fn advice(&self) -> BoxFuture<'static, String> {
        Box::pin(std::future::ready(String::new()))
    }

    fn price(&self, _: Option<&Origin>, _: Option<&Usage>) -> (String, Option<f64>) {
        ("bench/m".to_owned(), None)
    }
}

/// From the request to stop a turn, in the middle of an answer, to its end, including storing it.
pub fn cancels(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("the machine has room for two threads");
    let state = tempfile::tempdir().expect("the machine has room for temporary files");
    let kept = Conversations::new(
        Store::at(state.path()),
        ConversationSettings::default(),
        Arc::new(SystemClock::default()),
    );
    let (waits, mut is_waited_for) = mpsc::unbounded_channel();
    let ports = Ports {
        memory: Box::new(StoredMemory::new(kept.clone())),
        models: Box::new(ChosenSilent(waits)),
        toolbox: Box::new(Tools),
        audience: Box::new(Nobody),
        place: Arc::new(Nowhere),
    };
    let agent = Agent::new(ports, TurnSettings::default());
    c.bench_function("a turn is stopped", |bencher| {
        bencher.iter_custom(|times| {
            let mut taken = Duration::ZERO;
            for _ in 0..times {
                let conversation = kept.open_new("bench").expect("it begins").id;
                taken += runtime.block_on(async {
                    let answered = agent.send(said(conversation)).await;
                    let answered = answered.expect("it is taken");
                    is_waited_for.recv().await.expect("the model is asked");
                    let begun = Instant::now();
                    agent.cancel(conversation);
                    let answered = answered.await.expect("it ends");
                    assert_eq!(answered.reason, Some(Reason::Cancelled));
                    begun.elapsed()
                });
            }
            taken
        });
    });
}

fn publish(events: &Events) {
    let update = SessionUpdate::AgentMessageChunk {
        content: Content::Text { text: "a few words ".to_owned() },
        message_id: "1.1".to_owned(),
    };
    let session_event = SessionEvent::Update(update);
    let (session, turn) = ("1".to_owned(), Some("1".to_owned()));
    events.publish(Event::Session { session, turn, session_event, from: None });
}

/// From a piece of an answer to the subscribed clients, over real sockets.
pub fn pieces(c: &mut Criterion) {
    let mut group = c.benchmark_group("pieces");
    for watching in [1, 64] {
        let door = Door::open(Settings::default(), fake().0);
        let mut clients: Vec<Client> = (0..watching)
            .map(|_| {
                let mut client = door.client();
                client.call("_vault/subscribe", json!({}));
                client
            })
            .collect();
        group.bench_function(format!("one to {watching}"), |bencher| {
            bencher.iter(|| {
                publish(&door.events);
                clients.iter_mut().map(|client| client.read()).count()
            });
        });
        group.bench_function(format!("{PIECES} to {watching}"), |bencher| {
            bencher.iter(|| {
                (0..PIECES).for_each(|_| publish(&door.events));
                for client in &mut clients {
                    (0..PIECES).for_each(|_| drop(client.read()));
                }
            });
        });
    }
    group.finish();
}
