//! A simulated environment for the agent that randomly fails, hangs, forgets and ends, and checks
//! what the agent does.

use futures_util::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use vault_steward::agent::call_result::CallResult;
use vault_steward::agent::entry::{Entry, UserMessage};
use vault_steward::agent::ports::{
    CallOutcome, CallRequest, Leftovers, Memory, MemoryError, Model, Models, Pending, Routing,
    StoredTurn, Toolbox, TurnUpdate, Update, UpdateSink, VaultContext,
};
use vault_steward::agent::prompt::Situation;
use vault_steward::agent::turn::{End, Reason, Show, ToolEffects};
use vault_steward::calls::{Answerer, Decision};
use vault_steward::conversation::{ConversationId, TurnId};
use vault_steward::llm::turn::StartKind;
use vault_steward::llm::{
    Block, BlockKind, ErrorKind, Item, LlmError, Message, Origin, Provider, Stop, ToolArgs,
    ToolCall, ToolSpec, Turn, TurnEvent, TurnRequest, TurnStream, Usage, Wire,
};
use vault_steward::policy::Scope;
use vault_steward::vault::Cancel;

use crate::chance::Chance;

/// State that survives the program.
#[derive(Default)]
pub struct World {
    pub kept: Mutex<State>,
    /// The effects of tools: the call, and how often it ran.
    pub effects: Mutex<BTreeMap<String, u32>>,
    pub chance: Mutex<Option<Chance>>,
    /// The failures, reported at the end.
    pub faults: Mutex<Vec<String>>,
    /// The last request of each conversation, and the number of compactions so far.
    pub requests: Mutex<HashMap<String, (Vec<Message>, usize)>>,
    pub asked: Mutex<u32>,
    /// What is stored survives elsewhere.
    pub is_elsewhere: bool,
}

/// Why a turn ended, with the words shown.
type Ended = (Option<Reason>, String);

#[derive(Default)]
pub struct State {
    pub conversations: Vec<Conversation>,
    pub turns: Vec<(usize, Option<Ended>)>,
    pub inbox: Vec<(UserMessage, Option<TurnId>)>,
    /// Messages that were not accepted.
    pub refused: BTreeSet<i64>,
    pub fails: bool,
    /// After this many operations it fails for good, as if the program had ended.
    pub dies_after: Option<u64>,
    /// It has failed at some time.
    pub has_failed: bool,
}

#[derive(Default)]
pub struct Conversation {
    pub opening: Option<Entry>,
    pub entries: Vec<Entry>,
    pub running: Option<usize>,
    pub has_ended: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl World {
    pub fn fault(&self, text: impl Into<String>) {
        lock(&self.faults).push(text.into());
    }

    fn chance<T>(&self, ask: impl FnOnce(&mut Chance) -> T) -> T {
        ask(lock(&self.chance).as_mut().expect("a seed"))
    }

    fn id(at: usize) -> ConversationId {
        ConversationId(at as i64 + 1)
    }

    fn at(&self, kept: &State, id: ConversationId) -> Result<usize, MemoryError> {
        let at = usize::try_from(id.0 - 1).unwrap();
        (at < kept.conversations.len()).then_some(at).ok_or(MemoryError::NotFound { id })
    }

    fn broken(&self) -> Result<(), MemoryError> {
        if let Some(left) = &mut lock(&self.kept).dies_after {
            match left.checked_sub(1) {
                Some(fewer) => *left = fewer,
                None => {
                    let message = "the program is dead".to_owned();
                    return Err(MemoryError::Broken { message, hint: None });
                }
            }
        }
        let fails = lock(&self.kept).fails && self.chance(|chance| chance.once_in(60));
        lock(&self.kept).has_failed |= fails;
        let message = "the disk is full".to_owned();
        if fails { Err(MemoryError::Broken { message, hint: None }) } else { Ok(()) }
    }
}

/// The memory, shared with the world.
pub struct Remembers(pub Arc<World>);

impl Memory for Remembers {
    fn receive(&self, said: &UserMessage) -> Result<(i64, Option<TurnId>), MemoryError> {
        self.0.broken()?;
        let mut kept = lock(&self.0.kept);
        let known = kept.inbox.iter().position(|(known, ..)| known.client_id == said.client_id);
        if let Some(at) = known {
            kept.refused.remove(&(at as i64 + 1));
            return Ok((at as i64 + 1, kept.inbox[at].1));
        }
        kept.inbox.push((said.clone(), None));
        Ok((kept.inbox.len() as i64, None))
    }

    fn arrive(&self, said: &UserMessage) -> Result<Routing, MemoryError> {
        self.0.broken()?;
        let received = said.number;
        let begins = self.0.chance(|chance| chance.once_in(8));
        let mut kept = lock(&self.0.kept);
        if let Some(turn) = kept.inbox[received as usize - 1].1 {
            return Ok(Routing::Delivered { turn });
        }
        let at = match said.to {
            Some(to) => self.0.at(&kept, to)?,
            None => {
                let last = kept.conversations.iter().rposition(|one| !one.has_ended);
                match last.filter(|at| !begins || kept.conversations[*at].running.is_some()) {
                    Some(at) => at,
                    None => {
                        kept.conversations.push(Conversation::default());
                        kept.conversations.len() - 1
                    }
                }
            }
        };
        let conversation = World::id(at);
        if kept.conversations[at].running.is_some() {
            return Ok(Routing::Busy { conversation });
        }
        let turn = kept.turns.len();
        kept.turns.push((at, None));
        let one = &mut kept.conversations[at];
        one.has_ended = false;
        one.running = Some(turn);
        one.entries.push(said.entry());
        kept.inbox[received as usize - 1].1 = Some(TurnId(turn as i64 + 1));
        Ok(Routing::Started { conversation, turn: TurnId(turn as i64 + 1) })
    }

    fn resume(&self, _: ConversationId, _: &Entry, _: i64) -> Result<Routing, MemoryError> {
        unreachable!("nothing is brought again in this world")
    }

    fn refuse(&self, received: i64, _: &str) -> Result<(), MemoryError> {
        self.0.broken()?;
        lock(&self.0.kept).refused.insert(received);
        Ok(())
    }

    fn entries(&self, conversation: ConversationId) -> Result<Vec<Entry>, MemoryError> {
        self.0.broken()?;
        let kept = lock(&self.0.kept);
        let one = &kept.conversations[self.0.at(&kept, conversation)?];
        Ok(one.opening.iter().chain(&one.entries).cloned().collect())
    }

    fn keep_opening(
        &self,
        conversation: ConversationId,
        opening: Entry,
    ) -> Result<Entry, MemoryError> {
        let mut kept = lock(&self.0.kept);
        let at = self.0.at(&kept, conversation)?;
        Ok(kept.conversations[at].opening.get_or_insert(opening).clone())
    }

    fn append(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        entry: &Entry,
    ) -> Result<bool, MemoryError> {
        let received = entry.received().map(|received| received as usize - 1);
        if received.is_some_and(|at| lock(&self.0.kept).inbox[at].1.is_some()) {
            self.0.fault("a message that was heard was put before a turn again");
            return Ok(false);
        }
        self.0.broken()?;
        let mut kept = lock(&self.0.kept);
        let at = self.0.at(&kept, conversation)?;
        // It is restored from a file.
        let text = serde_json::to_string(entry).unwrap();
        kept.conversations[at].entries.push(serde_json::from_str(&text).unwrap());
        if let Some(at) = received {
            kept.inbox[at].1 = Some(turn);
        }
        Ok(true)
    }

    fn finish(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        end: &End,
        _: Option<&str>,
    ) -> Result<(), MemoryError> {
        self.0.broken()?;
        let mut kept = lock(&self.0.kept);
        let at = self.0.at(&kept, conversation)?;
        let turn = turn.0 as usize - 1;
        if kept.turns[turn].1.is_some() {
            self.0.fault(format!("turn {turn} ended twice"));
        }
        kept.turns[turn].1 = Some((Some(end.reason), end.words.clone()));
        kept.conversations[at].running = None;
        kept.conversations[at].has_ended |= end.reason == Reason::Ended;
        Ok(())
    }

    fn interrupt(
        &self,
        conversation: ConversationId,
        _: &str,
    ) -> Result<Option<TurnId>, MemoryError> {
        self.0.broken()?;
        let mut kept = lock(&self.0.kept);
        let at = self.0.at(&kept, conversation)?;
        let Some(turn) = kept.conversations[at].running.take() else { return Ok(None) };
        kept.turns[turn].1 = Some((None, String::new()));
        Ok(Some(TurnId(turn as i64 + 1)))
    }

    fn ended(&self, turn: TurnId) -> Result<StoredTurn, MemoryError> {
        let kept = lock(&self.0.kept);
        let (at, end) = kept.turns[turn.0 as usize - 1].clone();
        let (reason, words) = end.unwrap_or_default();
        Ok(StoredTurn { conversation: World::id(at), reason, words, answer: String::new() })
    }

    fn leftovers(&self) -> Result<Leftovers, MemoryError> {
        let kept = lock(&self.0.kept);
        let mut left = Leftovers::default();
        for at in 0..kept.conversations.len() {
            if let Some(turn) = kept.conversations[at].running {
                left.turns.push((World::id(at), TurnId(turn as i64 + 1)));
            }
        }
        for (at, (said, turn)) in kept.inbox.iter().enumerate() {
            let number = at as i64 + 1;
            if turn.is_none() && !kept.refused.contains(&number) {
                left.messages.push(UserMessage { number, ..said.clone() });
            }
        }
        Ok(left)
    }

    fn earlier(&self, _: ConversationId) -> Result<Vec<(String, String, String)>, MemoryError> {
        Ok(Vec::new())
    }

    fn count(&self, _: ConversationId, _: &str, _: &Usage, _: Option<f64>) {}
}

/// Models that answer at random.
pub struct Chooses(pub Arc<World>);

struct Improvises(Arc<World>);

impl Models for Chooses {
    fn current(&self) -> Option<Model> {
        let is_there = !self.0.chance(|chance| chance.once_in(50));
        let provider = Arc::new(Improvises(Arc::clone(&self.0)));
        // So small that histories must be shortened.
        is_there.then_some(Model { provider, window: 6_000 })
    }

    fn advice(&self) -> BoxFuture<'static, String> {
        Box::pin(std::future::ready("there is no model".to_owned()))
    }

    fn price(&self, _: Option<&Origin>, _: Option<&Usage>) -> (String, Option<f64>) {
        ("m".to_owned(), Some(0.1))
    }
}

impl Provider for Improvises {
    fn id(&self) -> &str {
        "m"
    }

    fn stream(&self, request: Arc<TurnRequest>) -> TurnStream {
        check(&self.0, &request);
        let number = {
            let mut asked = lock(&self.0.asked);
            *asked += 1;
            *asked
        };
        let steps = self.0.chance(|chance| improvise(chance, number));
        let stream = futures_util::stream::iter(steps);
        Box::pin(stream.then(|(pause, item)| async move {
            if pause > 0 {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            item
        }))
    }
}

type Steps = Vec<(u64, Result<Item, LlmError>)>;

fn improvise(chance: &mut Chance, number: u32) -> Steps {
    let mut steps: Steps = Vec::new();
    let pause = |chance: &mut Chance| match chance.below(10) {
        0 => chance.below(3_000),
        1..4 => chance.below(50),
        _ => 0,
    };
    let failure = |chance: &mut Chance| {
        let kinds = [
            ErrorKind::Auth,
            ErrorKind::Billing,
            ErrorKind::RateLimit,
            ErrorKind::Overloaded,
            ErrorKind::Network,
            ErrorKind::Timeout,
            ErrorKind::InvalidRequest,
            ErrorKind::ContextLength,
            ErrorKind::Refused,
            ErrorKind::Truncated,
            ErrorKind::Protocol,
            ErrorKind::TooLarge,
        ];
        let kind = kinds[chance.below(kinds.len() as u64) as usize];
        LlmError::new(kind, "as chance has it")
    };
    if chance.once_in(12) {
        return vec![(pause(chance), Err(failure(chance)))];
    }
    if chance.once_in(30) {
        // Sends nothing until the endpoint's timeout.
        let error = LlmError::new(ErrorKind::Timeout, "nothing came");
        return vec![(120_000, Err(error))];
    }
    let mut content = Vec::new();
    if chance.once_in(4) {
        let delta = "thinking".to_owned();
        steps.push((pause(chance), event(TurnEvent::Thinking { block: 0, delta })));
        let kind = BlockKind::Thinking { text: "thinking".to_owned(), redacted: false };
        content.push(Block { kind, native: Some("{\"t\":1}".to_owned()) });
    }
    if chance.once_in(10) {
        let (provider, wait) = ("other".to_owned(), Duration::from_secs(chance.below(3)));
        let reason = ErrorKind::Overloaded;
        steps.push((0, event(TurnEvent::Retry { provider, wait, reason, usage: None })));
    }
    if !chance.once_in(3) {
        let words = "word ".repeat(1 + chance.below(60) as usize);
        for delta in words.split_inclusive(' ').take(5) {
            let delta = delta.to_owned();
            steps.push((pause(chance), event(TurnEvent::Text { block: 1, delta })));
        }
        content.push(Block::text(words));
    }
    let calls = if chance.once_in(3) { 0 } else { chance.below(5) };
    for n in 0..calls {
        let id = if chance.once_in(40) { format!("{number}-0") } else { format!("{number}-{n}") };
        let (name, args) = match chance.below(12) {
            0 => ("send_message", json!({"text": "news"})),
            1 => ("send_message", json!({"text": "which?", "is_question": true})),
            2 => ("end_conversation", json!({"reason": "done"})),
            3 => ("nothing", json!({})),
            4 => ("read", json!("no object")),
            5..8 => ("edit", json!({"n": chance.below(4)})),
            _ => ("read", json!({"n": chance.below(4)})),
        };
        let args = ToolArgs::parse(&args.to_string());
        let kind = StartKind::ToolCall { id: id.clone(), name: name.to_owned() };
        steps.push((pause(chance), event(TurnEvent::Start { block: 2, kind })));
        let call = ToolCall { id, name: name.to_owned(), args };
        content.push(Block { kind: BlockKind::ToolCall(call), native: None });
    }
    if chance.once_in(15) {
        // Cut off: without an end, or with an error.
        if chance.once_in(2) {
            steps.push((pause(chance), Err(failure(chance))));
        }
        return steps;
    }
    let stop = match chance.below(20) {
        0 => Stop::MaxTokens,
        1 => Stop::ContextFull,
        2 => Stop::Refusal("no".to_owned()),
        3 => Stop::Paused,
        4 => Stop::Other("odd".to_owned()),
        _ if calls > 0 => Stop::ToolUse,
        _ => Stop::EndTurn,
    };
    let origin = Origin { wire: Wire::Anthropic, endpoint: "e".to_owned(), model: "m".to_owned() };
    let usage = Some(Usage { input: chance.below(4_000), output: 10, ..Usage::default() });
    let turn = Turn { content, stop, usage, origin, request_id: None };
    steps.push((pause(chance), Ok(Item::Done(Box::new(turn)))));
    steps
}

fn event(event: TurnEvent) -> Result<Item, LlmError> {
    Ok(Item::Event(event))
}

/// What every vendor requires of a history.
fn check(world: &World, request: &TurnRequest) {
    let messages = &request.messages;
    for (at, message) in messages.iter().enumerate() {
        let calls: Vec<&str> = match message {
            Message::Assistant { content, .. } => {
                if content.is_empty() {
                    world.fault("an empty answer goes back");
                }
                content.iter().filter_map(Block::call).map(|call| call.id.as_str()).collect()
            }
            _ => Vec::new(),
        };
        let results: Vec<&str> = match messages.get(at + 1) {
            Some(Message::ToolResults { results }) => {
                results.iter().map(|result| result.call_id.as_str()).collect()
            }
            _ => Vec::new(),
        };
        if calls != results {
            world.fault(format!("calls {calls:?} have the results {results:?}"));
        }
    }
    if matches!(messages.first(), None | Some(Message::ToolResults { .. })) {
        world.fault("a history begins with results, or is empty");
    }
    if request.conversation.ends_with("summary") {
        return;
    }
    if request.system.is_empty() || request.tools.is_empty() {
        world.fault("the opening is missing");
    }
    if world.is_elsewhere {
        return;
    }
    // Only appended to, unless the beginning was replaced.
    let id: ConversationId = request.conversation.parse().unwrap();
    let trimmed = {
        let kept = lock(&world.kept);
        let entries = &kept.conversations[id.0 as usize - 1].entries;
        entries.iter().filter(|entry| matches!(entry, Entry::Trimmed { .. })).count()
    };
    let mut requests = lock(&world.requests);
    if let Some((before, times)) = requests.get(&request.conversation)
        && *times == trimmed
        && messages.get(..before.len()) != Some(before)
    {
        world.fault(format!("what was sent has changed: {before:#?} is now {messages:#?}"));
    }
    requests.insert(request.conversation.clone(), (messages.clone(), trimmed));
}

/// Tools that are slow, fail, and ask for approval.
#[derive(Clone)]
pub struct Tools(pub Arc<World>);

impl Tools {
    fn work(&self, wanted: CallRequest, cancel: Cancel) -> BoxFuture<'static, CallOutcome> {
        let world = Arc::clone(&self.0);
        let (pause, after, fails) =
            world.chance(|chance| (chance.below(200), chance.below(200), chance.once_in(4)));
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            if cancel.is_cancelled() {
                return CallOutcome::Done(CallResult::error("withdrawn; nothing was changed"));
            }
            let name = &wanted.call.name;
            if name == "nothing" {
                return CallOutcome::Done(CallResult::error("there is no such tool"));
            }
            if name == "edit" && !fails {
                let key = format!("{}/{}", wanted.turn, wanted.call.id);
                *lock(&world.effects).entry(key).or_default() += 1;
            }
            // Done, but not reported yet.
            tokio::time::sleep(Duration::from_millis(after)).await;
            let text = "x".repeat(400);
            CallOutcome::Done(CallResult { is_error: fails, ..CallResult::done(text, Value::Null) })
        })
    }
}

impl Toolbox for Tools {
    fn specs(&self) -> Vec<ToolSpec> {
        let spec = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: name.to_owned(),
            schema: json!({"type": "object"}),
        };
        vec![spec("edit"), spec("read")]
    }

    fn changes(&self) -> ToolEffects {
        Arc::new([("edit".to_owned(), true), ("read".to_owned(), false)].into())
    }

    fn call(&self, wanted: CallRequest, cancel: Cancel) -> BoxFuture<'static, CallOutcome> {
        if wanted.scope < Scope::Client {
            self.0.fault("a call in a person's name");
        }
        if !matches!(wanted.call.args, ToolArgs::Object(_)) {
            self.0.fault("a call with arguments that are none");
        }
        let asks = wanted.call.name == "edit" && self.0.chance(|chance| chance.once_in(4));
        if asks {
            let asks: Box<dyn Pending> = Box::new(Asks { tools: self.clone(), wanted });
            return Box::pin(std::future::ready(CallOutcome::NeedsApproval(asks)));
        }
        self.work(wanted, cancel)
    }
}

struct Asks {
    tools: Tools,
    wanted: CallRequest,
}

impl Pending for Asks {
    fn title(&self) -> String {
        "edit".to_owned()
    }

    fn ask(&self) -> BoxFuture<'static, (Decision, Answerer)> {
        let (pause, decision) = self.tools.0.chance(|chance| {
            let decision = match chance.below(4) {
                0 => Decision::Reject,
                1 => Decision::Late,
                _ => Decision::Once,
            };
            (chance.below(5_000), decision)
        });
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            (decision, "somebody".into())
        })
    }

    fn answer(
        self: Box<Self>,
        decision: Decision,
        _: Answerer,
        cancel: Cancel,
    ) -> BoxFuture<'static, CallOutcome> {
        match decision {
            Decision::Once | Decision::Always => self.tools.work(self.wanted, cancel),
            _ => Box::pin(std::future::ready(CallOutcome::Done(CallResult::error("no")))),
        }
    }
}

/// The subscribed clients.
pub struct Watches(pub Arc<World>);

impl UpdateSink for Watches {
    fn send(&self, update: TurnUpdate) {
        if std::env::var_os("TALE").is_some() {
            eprintln!("{update:?}");
        }
        let kept = lock(&self.0.kept);
        let entries = &kept.conversations[update.conversation.0 as usize - 1].entries;
        match update.what {
            // A message that is shown must be stored by then.
            Update::Show(Show::Message { id, .. }) => {
                let is_kept = entries.iter().any(|entry| match entry {
                    Entry::Message { id: known, .. } => known.as_ref() == Some(&id),
                    Entry::Sent { id: known, .. } => *known == id,
                    _ => false,
                });
                if !is_kept {
                    self.0.fault(format!("the message {id} is shown and not kept"));
                }
            }
            Update::Show(Show::Result { call, .. }) => {
                // If an id occurs again in a turn, its name contains its ordinal number.
                let id = call.split_once('#').map_or(&*call, |(id, _)| id);
                let is_kept = entries.iter().any(
                    |entry| matches!(entry, Entry::Result { result, .. } if result.call_id == id),
                );
                if !is_kept {
                    self.0.fault(format!("the result of {call} is shown and not kept"));
                }
            }
            _ => {}
        }
    }
}

/// A vault in which nothing happens.
pub struct Nowhere;

impl VaultContext for Nowhere {
    fn vault(&self) -> String {
        "Notes".to_owned()
    }

    fn moment(&self, _: ConversationId, _: Scope) -> Situation {
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
