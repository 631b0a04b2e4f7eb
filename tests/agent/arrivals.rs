//! The routing of messages on the real store: each is delivered once, to its conversation, with the
//! rights of its sender.

use futures_util::future::BoxFuture;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use vault_steward::agent::call_result::CallResult;
use vault_steward::agent::clock::SystemClock;
use vault_steward::agent::context::Context;
use vault_steward::agent::entry::{Entry, UserMessage};
use vault_steward::agent::memory::StoredMemory;
use vault_steward::agent::ports::{
    CallOutcome, CallRequest, Memory, MemoryError, Model, Models, Pending, Toolbox, TurnUpdate,
    Update, UpdateSink,
};
use vault_steward::agent::turn::{Reason, Show, ToolEffects};
use vault_steward::agent::{
    Agent, ConversationSettings, Conversations, Ports, PromptError, TurnSettings, foreign_source,
};
use vault_steward::calls::{Answerer, Decision};
use vault_steward::conversation::{ConversationId, TurnId};
use vault_steward::llm::{
    Block, BlockKind, Item, Message, Origin, Provider, Stop, ToolArgs, ToolCall, ToolSpec, Turn,
    TurnRequest, TurnStream, Usage, Wire,
};
use vault_steward::policy::Scope;
use vault_steward::store::Store;
use vault_steward::store::inbox::{ANSWERED, InboxRow, InboxState, NewMessage, VOICE};
use vault_steward::vault::Cancel;

use crate::world::Nowhere;

/// A model that answers when allowed to, and calls `look` if the last message says so.
#[derive(Clone)]
struct Holds(Arc<Semaphore>, ThreadId);

impl Models for Holds {
    fn current(&self) -> Option<Model> {
        // Its keys are read from files.
        assert_ne!(thread::current().id(), self.1, "a thread is held up that serves others");
        Some(Model { provider: Arc::new(self.clone()), window: 100_000 })
    }

    fn advice(&self) -> BoxFuture<'static, String> {
        Box::pin(std::future::pending())
    }

    fn price(&self, _: Option<&Origin>, _: Option<&Usage>) -> (String, Option<f64>) {
        assert_ne!(thread::current().id(), self.1, "a thread is held up that serves others");
        ("m".to_owned(), None)
    }
}

impl Provider for Holds {
    fn id(&self) -> &str {
        "m"
    }

    fn stream(&self, request: Arc<TurnRequest>) -> TurnStream {
        let may = Arc::clone(&self.0);
        Box::pin(futures_util::stream::once(async move {
            may.acquire().await.unwrap().forget();
            let mut said = request.messages.iter().rev();
            let looks = match said.find(|message| !matches!(message, Message::Notice { .. })) {
                Some(Message::User { content }) => format!("{content:?}").contains("look"),
                _ => false,
            };
            let (block, stop) = if looks {
                let args = ToolArgs::parse("{}");
                let (id, name) = (request.messages.len().to_string(), "look".to_owned());
                let call = BlockKind::ToolCall(ToolCall { id, name, args });
                (Block { kind: call, native: None }, Stop::ToolUse)
            } else {
                (Block::text("ok"), Stop::EndTurn)
            };
            let (endpoint, model) = ("e".to_owned(), "m".to_owned());
            let origin = Origin { wire: Wire::Anthropic, endpoint, model };
            let content = vec![block];
            let usage = Some(Usage::default());
            Ok(Item::Done(Box::new(Turn { content, stop, usage, origin, request_id: None })))
        }))
    }
}

/// A tool that records its caller's scope, and asks a person first if it is set to.
#[derive(Clone, Default)]
struct Looks(Arc<Mutex<Vec<Scope>>>, Arc<AtomicBool>);

/// An approval request that is answered after two hours.
struct AlwaysAsks;

impl Pending for AlwaysAsks {
    fn title(&self) -> String {
        "look".to_owned()
    }

    fn ask(&self) -> BoxFuture<'static, (Decision, Answerer)> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(2 * 3600)).await;
            (Decision::Once, Answerer::from("somebody"))
        })
    }

    fn answer(
        self: Box<Self>,
        _: Decision,
        _: Answerer,
        _: Cancel,
    ) -> BoxFuture<'static, CallOutcome> {
        Box::pin(std::future::ready(CallOutcome::Done(CallResult::error("nothing to see"))))
    }
}

impl Toolbox for Looks {
    fn specs(&self) -> Vec<ToolSpec> {
        let (name, description) = ("look".to_owned(), "Looks.".to_owned());
        vec![ToolSpec { name, description, schema: serde_json::json!({"type": "object"}) }]
    }

    fn changes(&self) -> ToolEffects {
        Arc::new([("look".to_owned(), false)].into())
    }

    fn call(&self, wanted: CallRequest, _: Cancel) -> BoxFuture<'static, CallOutcome> {
        self.0.lock().unwrap().push(wanted.scope);
        if self.1.load(Ordering::Relaxed) {
            return Box::pin(std::future::ready(CallOutcome::NeedsApproval(Box::new(AlwaysAsks))));
        }
        Box::pin(std::future::ready(CallOutcome::Done(CallResult::error("nothing to see"))))
    }
}

struct UpdateSender(mpsc::UnboundedSender<TurnUpdate>);

impl UpdateSink for UpdateSender {
    fn send(&self, update: TurnUpdate) {
        let _ = self.0.send(update);
    }
}

pub struct Life {
    pub agent: Agent,
    pub conversations: Conversations,
    pub may: Arc<Semaphore>,
    looks: Looks,
    pub updates: mpsc::UnboundedReceiver<TurnUpdate>,
}

impl Life {
    pub fn begin(folder: &Path) -> Self {
        let (settings, clock) = (ConversationSettings::default(), Arc::new(SystemClock::default()));
        let conversations = Conversations::new(Store::at(folder), settings, clock);
        let memory = Box::new(StoredMemory::new(conversations.clone()));
        Self::with(conversations, memory)
    }

    /// The same with another memory.
    pub fn with(conversations: Conversations, memory: Box<dyn Memory>) -> Self {
        let (may, looks) = (Arc::new(Semaphore::new(0)), Looks::default());
        let (sender, updates) = mpsc::unbounded_channel();
        let ports = Ports {
            memory,
            models: Box::new(Holds(Arc::clone(&may), thread::current().id())),
            toolbox: Box::new(looks.clone()),
            audience: Box::new(UpdateSender(sender)),
            place: Arc::new(Nowhere),
        };
        let agent = Agent::new(ports, TurnSettings::default());
        Self { agent, conversations, may, looks, updates }
    }

    async fn until_heard(&mut self, text: &str) {
        while let Some(update) = self.updates.recv().await {
            if matches!(&update.what, Update::Show(Show::User(said)) if said.text == text) {
                return;
            }
        }
    }

    /// Sends a message and waits for the answer; returns the number of its conversation.
    pub async fn answered(&self, said: UserMessage, to: Option<ConversationId>) -> ConversationId {
        self.may.add_permits(2);
        self.agent.send(UserMessage { to, ..said }).await.unwrap().await.unwrap().conversation
    }

    /// Every stored user message, of all conversations.
    pub fn heard(&self) -> Vec<String> {
        let memory = StoredMemory::new(self.conversations.clone());
        let mut heard = Vec::new();
        for conversation in self.conversations.recent(1_000).unwrap() {
            let entries = memory.entries(conversation.id).unwrap();
            heard.extend(entries.iter().filter_map(|entry| match entry {
                Entry::Message { message: Message::User { .. }, .. } => Some(entry.text()),
                _ => None,
            }));
        }
        heard
    }
}

pub fn said(text: &str) -> UserMessage {
    UserMessage {
        number: 0,
        to: None,
        text: text.to_owned(),
        source: "chat".to_owned(),
        scope: Scope::Person,
        from: None,
        client_id: Some(text.to_owned()),
        attached: vault_steward::agent::attachments::Attachments::default(),
        note: None,
    }
}

fn foreign(text: &str, scope: Scope) -> UserMessage {
    UserMessage { source: foreign_source(scope), scope, ..said(text) }
}

#[tokio::test]
async fn a_long_turn_receives_more_messages_than_may_wait_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::begin(folder.path());
    let first = life.agent.send(said("first")).await.unwrap();
    life.until_heard("first").await;
    let mut others = Vec::new();
    for n in 0..40 {
        let text = format!("and {n}");
        others.push(life.agent.send(said(&text)).await.expect("few wait"));
        life.may.add_permits(1);
        life.until_heard(&text).await;
    }
    // Now the queue is full.
    for n in 0..32 {
        others.push(life.agent.send(said(&format!("waits {n}"))).await.expect("it may wait"));
    }
    let refused = life.agent.send(said("too many")).await.err();
    assert_eq!(refused, Some(PromptError::Full));
    life.may.add_permits(100);
    let turn = first.await.unwrap().turn;
    for other in others {
        assert_eq!(other.await.unwrap().turn, turn);
    }
    // A refused message stays refused after a restart, unless it is sent again.
    let again = Life::begin(folder.path());
    let left = again.agent.recover().unwrap();
    again.agent.deliver_undelivered(left).await;
    assert!(!again.heard().contains(&"too many".to_owned()));
    again.answered(said("too many"), None).await;
    assert_eq!(again.heard().iter().filter(|text| *text == "too many").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_turn_does_not_run_while_a_person_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let life = Life::begin(folder.path());
    life.looks.1.store(true, Ordering::Relaxed);
    life.may.add_permits(2);
    let begun = tokio::time::Instant::now();
    let answered = life.agent.send(said("look")).await.unwrap().await.unwrap();
    assert_eq!((answered.reason, &*answered.answer), (Some(Reason::Done), "ok"));
    assert!(begun.elapsed() >= Duration::from_secs(2 * 3600));
}

#[tokio::test]
async fn a_message_to_no_conversation_does_not_turn_up_in_another_later() {
    let folder = tempfile::tempdir().unwrap();
    let life = Life::begin(folder.path());
    let nowhere = ConversationId(9_999);
    let refused = life.agent.send(UserMessage { to: Some(nowhere), ..said("lost") }).await.err();
    assert_eq!(refused, Some(PromptError::Memory(MemoryError::NotFound { id: nowhere })));
    life.answered(said("kept"), None).await;
    drop(life);
    let life = Life::begin(folder.path());
    let left = life.agent.recover().unwrap();
    life.agent.deliver_undelivered(left).await;
    assert_eq!(life.heard(), ["kept"]);
}

#[tokio::test]
async fn what_nobody_heard_before_a_start_begins_its_turn_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let life = Life::begin(folder.path());
    let conversation = life.answered(said("before"), None).await;
    // Received, then killed before it was routed.
    let memory = StoredMemory::new(life.conversations.clone());
    memory.receive(&UserMessage { to: Some(conversation), ..said("unheard") }).unwrap();
    drop((life, memory));
    let mut life = Life::begin(folder.path());
    let left = life.agent.recover().unwrap();
    life.agent.deliver_undelivered(left).await;
    life.until_heard("unheard").await;
    // Sent again, it waits for that turn and starts none.
    let again =
        life.agent.send(UserMessage { to: Some(conversation), ..said("unheard") }).await.unwrap();
    life.may.add_permits(1);
    let answered = again.await.unwrap();
    assert_eq!((answered.reason, &*answered.answer), (Some(Reason::Done), "ok"));
    assert_eq!(answered.conversation, conversation);
    assert_eq!(life.heard(), ["before", "unheard"]);
    let left = life.agent.recover().unwrap();
    life.agent.deliver_undelivered(left).await;
    assert_eq!(life.heard().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_message_repeated_at_the_end_of_its_turn_is_delivered_once() {
    let folder = tempfile::tempdir().unwrap();
    let life = Life::begin(folder.path());
    life.may.add_permits(10_000);
    for n in 0..60 {
        let text = format!("message {n}");
        let mut tries = Vec::new();
        for _ in 0..4 {
            let (agent, said) = (life.agent.clone(), said(&text));
            tries.push(tokio::spawn(async move {
                for _ in 0..3 {
                    agent.send(said.clone()).await.unwrap().await.unwrap();
                }
            }));
        }
        for tried in tries {
            tried.await.unwrap();
        }
    }
    let mut heard = life.heard();
    assert_eq!(heard.len(), 60);
    heard.sort();
    heard.dedup();
    assert_eq!(heard.len(), 60);
}

#[tokio::test]
async fn a_voice_message_limits_the_rights_of_its_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let life = Life::begin(folder.path());
    let conversation = life.answered(said("look at this"), None).await;
    let voice = UserMessage { source: "voice".to_owned(), scope: Scope::Voice, ..said("heard") };
    assert_eq!(life.answered(voice, None).await, conversation);
    assert_eq!(life.answered(said("look again"), None).await, conversation);
    let other = life.conversations.open_new("chat").unwrap().id;
    life.answered(said("look elsewhere"), Some(other)).await;
    let scopes = life.looks.0.lock().unwrap().clone();
    assert_eq!(scopes, [Scope::Client, Scope::Voice, Scope::Client]);
    // The model gets markers on words that were not typed; people see the plain words.
    let entries = StoredMemory::new(life.conversations.clone()).entries(conversation).unwrap();
    let given = format!("{:?}", Context::of(entries).messages());
    assert_eq!(given.matches("heard by a microphone").count(), 1, "{given}");
    assert!(life.heard().contains(&"heard".to_owned()));
}

#[tokio::test]
async fn a_program_speaks_in_its_own_conversations_alone() {
    let folder = tempfile::tempdir().unwrap();
    let life = Life::begin(folder.path());
    let person = life.answered(said("mine"), None).await;
    let refused = life
        .agent
        .send(UserMessage { to: Some(person), ..foreign("repeat it", Scope::Mcp) })
        .await
        .err();
    assert_eq!(refused, Some(PromptError::Memory(MemoryError::NotFound { id: person })));
    let program = life.answered(foreign("hello", Scope::Mcp), None).await;
    assert_ne!(program, person);
    assert_eq!(life.answered(foreign("more", Scope::Mcp), None).await, program);
    let refused = life
        .agent
        .send(UserMessage { to: Some(program), ..foreign("and I", Scope::Voice) })
        .await
        .err();
    assert_eq!(refused, Some(PromptError::Memory(MemoryError::NotFound { id: program })));
    // The person's own conversation continues unchanged.
    assert_eq!(life.answered(said("again mine"), None).await, person);
    assert_eq!(life.answered(said("I look into it"), Some(program)).await, program);
    assert_eq!(*life.looks.0.lock().unwrap(), [Scope::Mcp]);
}

/// A voice message, stored in the inbox with this number.
fn spoken(text: &str, number: i64) -> UserMessage {
    let note = Some("It was spoken.".to_owned());
    let (source, client_id) = ("voice".to_owned(), None);
    UserMessage { number, source, scope: Scope::Voice, client_id, note, ..said(text) }
}

/// Stores a voice message in the inbox and takes it out, as its worker does.
fn taken(life: &Life, text: &str) -> InboxRow {
    let store = life.conversations.store();
    let kept = NewMessage { source: VOICE, message: text, text, body: Some("{}"), received: 1 };
    store.inbox.receive(&kept).unwrap();
    store.inbox.take(VOICE).unwrap().unwrap()
}

/// A voice message whose turn ended: the same commit marks it as answered, and its worker settles
/// it.
fn done_in(turn: TurnId, row: &InboxRow) -> InboxRow {
    let (state, reason) = (InboxState::Answered, ANSWERED.to_owned());
    InboxRow { turn: Some(turn), state, reason, ..row.clone() }
}

#[tokio::test]
async fn a_voice_message_goes_to_the_last_conversation_and_its_worker_settles_it() {
    let folder = tempfile::tempdir().unwrap();
    let life = Life::begin(folder.path());
    let mine = life.answered(said("mine"), None).await;
    let row = taken(&life, "milk");
    life.may.add_permits(1);
    let answered = life.agent.send(spoken("milk", row.id)).await.unwrap().await.unwrap();
    assert_eq!((answered.conversation, answered.reason), (mine, Some(Reason::Done)));
    let heard = life.conversations.store().inbox.get(row.id).unwrap();
    assert_eq!(heard, done_in(answered.turn, &row));
    // Delivered again, it is not processed again and gets the same answer.
    let again = life.agent.send(spoken("milk", row.id)).await.unwrap().await.unwrap();
    assert_eq!((again.turn, again.answer), (answered.turn, answered.answer));
    assert_eq!(life.heard(), ["mine", "milk"]);
    // A message that belongs to a worker is not one of the agent's leftovers.
    let memory = StoredMemory::new(life.conversations.clone());
    assert_eq!(memory.leftovers().unwrap().messages, []);
    // A program with a voice client's token is not the person.
    let refused = life
        .agent
        .send(UserMessage { to: Some(mine), ..foreign("and I", Scope::Voice) })
        .await
        .err();
    assert_eq!(refused, Some(PromptError::Memory(MemoryError::NotFound { id: mine })));
    assert_ne!(life.answered(foreign("and I", Scope::Voice), None).await, mine);
    assert_eq!(life.conversations.current().unwrap().unwrap().id, mine);
}

#[tokio::test]
async fn a_voice_message_joins_a_running_turn_and_its_worker_settles_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::begin(folder.path());
    let first = life.agent.send(said("look at this")).await.unwrap();
    life.until_heard("look at this").await;
    let row = taken(&life, "and milk");
    let spoken = life.agent.send(spoken("and milk", row.id)).await.unwrap();
    life.may.add_permits(2);
    let (first, spoken) = (first.await.unwrap(), spoken.await.unwrap());
    assert_eq!(first.turn, spoken.turn);
    let heard = life.conversations.store().inbox.get(row.id).unwrap();
    assert_eq!(heard, done_in(first.turn, &row));
}

#[tokio::test]
async fn a_voice_message_is_resumed_in_its_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let life = Life::begin(folder.path());
    let row = taken(&life, "milk");
    life.may.add_permits(1);
    let first = life.agent.send(spoken("milk", row.id)).await.unwrap().await.unwrap();
    let other = life.conversations.open_new("chat").unwrap().id;
    life.answered(said("elsewhere"), Some(other)).await;
    life.may.add_permits(1);
    let notice = "Go on with it.".to_owned();
    let going = life.agent.resume(spoken("milk", row.id), first.conversation, notice).await;
    let second = going.unwrap().await.unwrap();
    assert_eq!((second.conversation, &*second.answer), (first.conversation, "ok"));
    assert_ne!(second.turn, first.turn);
    let store = life.conversations.store();
    let heard = store.inbox.get(row.id).unwrap();
    assert_eq!(heard, done_in(second.turn, &row));
    assert_eq!(life.heard().iter().filter(|text| *text == "milk").count(), 1);
    // The person said nothing there: their next message goes to the conversation they used last.
    assert_eq!(life.conversations.current().unwrap().unwrap().id, other);
    // If its conversation is gone, the person's message is delivered again.
    life.conversations.delete(first.conversation).unwrap();
    let notice = "Go on with it.".to_owned();
    let gone = life.agent.resume(spoken("milk", row.id), first.conversation, notice).await.err();
    let id = first.conversation;
    assert_eq!(gone, Some(PromptError::Memory(MemoryError::NotFound { id })));
    store.inbox.clear_deleted_turn(row.id).unwrap();
    life.may.add_permits(1);
    let third = life.agent.send(spoken("milk", row.id)).await.unwrap().await.unwrap();
    assert_eq!(third.conversation, other);
    store.inbox.settle(row.id, InboxState::Done, None, "").unwrap();
    assert_eq!(store.inbox.delivered_to(row.id).unwrap(), Some(third.turn));
}

#[tokio::test]
async fn a_conversation_continues_without_damaged_items() {
    // The message, the answer, the next message, its call, the result, the answer.
    for damaged in 1..=6 {
        let folder = tempfile::tempdir().unwrap();
        let life = Life::begin(folder.path());
        let conversation = life.answered(said("first"), None).await;
        life.answered(said("look at this"), None).await;
        drop(life);
        let database = rusqlite::Connection::open(folder.path().join("state.db")).unwrap();
        let flip = "UPDATE item SET text = text || '!' WHERE number = ?1";
        assert_eq!(database.execute(flip, [damaged]).unwrap(), 1);
        drop(database);
        let mut life = Life::begin(folder.path());
        assert_eq!(life.answered(said("and now"), None).await, conversation);
        life.answered(said("and then"), None).await;
        let memory = StoredMemory::new(life.conversations.clone());
        let entries = memory.entries(conversation).unwrap();
        assert_eq!(entries.iter().filter(|entry| entry.is_of_damage()).count(), 1, "{damaged}");
        let context = Context::of(entries);
        for (at, message) in context.messages().iter().enumerate() {
            let calls = match message {
                Message::Assistant { content, .. } => {
                    content.iter().filter(|block| block.call().is_some()).count()
                }
                _ => 0,
            };
            let results = match context.messages().get(at + 1) {
                Some(Message::ToolResults { results }) => results.len(),
                _ => 0,
            };
            assert_eq!(calls, results, "{damaged}: {:?}", context.messages());
        }
        let mut notices = 0;
        while let Ok(heard) = life.updates.try_recv() {
            notices += usize::from(matches!(
                heard.what,
                Update::Show(Show::Notice { title, .. }) if title.contains("damaged")
            ));
        }
        assert_eq!(notices, 2, "each turn says so");
    }
}
