//! Performs the effects of a turn and feeds the results back as events.
//!
//! One task per turn. It performs effects in order, and stores what must be stored before it
//! performs what follows; if storing fails, the turn ends. While it waits for the model, the tools
//! or a person, it also waits for a cancellation, which therefore takes effect at once.

use futures_util::future::BoxFuture;
use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::answering::Answering;
use super::call_result::CallResult;
use super::coalesce::next_item;
use super::compaction::{Compaction, Summary, request_summary, summary};
use super::context::Context;
use super::entry::{Entry, UserMessage};
use super::ports::{CallOutcome, CallRequest, MemoryError, Pending, Result, TurnUpdate, Update};
use super::shared::{SharedAgent, TurnCommand, blocking};
use super::turn::{Effect, End, Event, MessageKind, Reason, Severity, Show, Turn};
use super::turn_settings::TurnSettings;
use super::{images, load};
use crate::calls::{Answerer, Decision};
use crate::conversation::{ConversationId, TurnId, question};
use crate::llm::tape::Tap;
use crate::llm::{
    self, Cache, LlmError, Message, Origin, ToolChoice, TurnRequest, TurnStream, Usage,
};
use crate::vault::Cancel;

/// The extra time for the model's last words after a turn's time is over.
const GRACE: Duration = Duration::from_secs(5 * 60);

pub(super) struct TurnResult {
    pub end: End,
    /// The inbox numbers of the messages delivered in this turn.
    pub delivered: Vec<i64>,
    /// The last complete message.
    pub answer: String,
    /// Whether the turn's end was stored.
    pub is_stored: bool,
}

pub(super) struct Driver {
    shared: Arc<SharedAgent>,
    settings: Arc<TurnSettings>,
    conversation: ConversationId,
    id: TurnId,
    turn: Turn,
    context: Context,
    answering: Answering,
    installation: Arc<str>,
    stream: Option<TurnStream>,
    /// Items of the stream that arrived but were not handled yet.
    ready: VecDeque<Result<llm::Item, LlmError>>,
    /// The length of the history when it was last sent.
    sent: usize,
    compaction: Option<Compaction>,
    /// How to configure a model; pending if there is none.
    advice: Option<BoxFuture<'static, String>>,
    /// Events from this driver to the turn.
    queued_events: VecDeque<Event>,
    calls: JoinSet<(String, CallOutcome)>,
    questions: JoinSet<(String, (Decision, Answerer))>,
    pending: HashMap<String, Box<dyn Pending>>,
    cancel: Cancel,
    delivered: Vec<i64>,
    /// Messages that could not be stored as delivered.
    undelivered: Vec<UserMessage>,
    answer: String,
    question: Option<String>,
    shown: ReportedState,
}

/// The state last sent to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReportedState {
    asking: bool,
    queued: usize,
}

impl Driver {
    /// Begins a turn. Its first message is already stored.
    pub(super) async fn begin(
        shared: Arc<SharedAgent>,
        conversation: ConversationId,
        id: TurnId,
    ) -> Result<Self> {
        let settings = shared.settings.load_full();
        // This reads key files.
        let known = blocking(&shared, move |shared| {
            Ok((Answering::of(shared, conversation), shared.ports.memory.installation()?.into()))
        });
        let (answering, installation) = known.await?;
        let window = answering.model.as_ref().map_or(0, |model| model.window);
        let window = settings.window(window);
        let mut limits = settings.limits(window);
        if answering.is_guest() {
            // Each of its calls is a round.
            limits.rounds = limits.rounds.max(limits.calls).saturating_add(1);
        }
        let turn = Turn::new(id.to_string(), limits, shared.ports.toolbox.changes());
        let mut driver = Self {
            shared,
            settings,
            conversation,
            id,
            turn,
            context: Context::default(),
            answering,
            installation,
            stream: None,
            ready: VecDeque::new(),
            sent: 0,
            compaction: None,
            advice: None,
            queued_events: VecDeque::new(),
            calls: JoinSet::new(),
            questions: JoinSet::new(),
            pending: HashMap::new(),
            cancel: Cancel::default(),
            delivered: Vec::new(),
            undelivered: Vec::new(),
            answer: String::new(),
            question: None,
            shown: ReportedState { asking: false, queued: 0 },
        };
        driver.send(Update::Running { queued: 0 });
        driver.load_context().await?;
        Ok(driver)
    }

    /// Loads the history and adds a notice of changes.
    async fn load_context(&mut self) -> Result<()> {
        let (conversation, id, settings) = (self.conversation, self.id, Arc::clone(&self.settings));
        let agent = self.answering.agent.clone();
        let scene = blocking(&self.shared, move |shared| {
            load::load(shared, conversation, id, &settings, agent.as_deref())
        });
        let is_damaged;
        (self.context, is_damaged) = scene.await?;
        if is_damaged {
            self.show(Show::Notice {
                severity: Severity::Warning,
                title: "an item of this conversation is damaged and cannot be read; the turn continues without it"
                    .to_owned(),
                text: None,
            });
        }
        self.turn.restrict(self.context.scope());
        Ok(())
    }

    pub(super) async fn run(
        mut self,
        begins: Event,
        commands: &mut UnboundedReceiver<TurnCommand>,
    ) -> TurnResult {
        let time_limit = Duration::from_secs(u64::from(self.settings.minutes) * 60);
        let deadline = tokio::time::sleep_until(Instant::now() + time_limit);
        tokio::pin!(deadline);
        let mut event = begins;
        loop {
            let delivered = self.delivered.len();
            let effects = self.turn.handle(event);
            match self.perform(effects).await {
                Ok(None) => {}
                Ok(Some(end)) => return self.done(end).await,
                Err(error) => return self.broken(&error),
            }
            if self.delivered.len() > delivered {
                // A new message is new work, with a new time limit.
                deadline.as_mut().reset(Instant::now() + time_limit);
            }
            self.show_state();
            event = loop {
                if let Some(event) = self.queued_events.pop_front() {
                    break event;
                }
                tokio::select! {
                    biased;
                    command = commands.recv() => match command {
                        Some(TurnCommand::Message(user_message)) => break Event::Message(user_message),
                        Some(TurnCommand::Cancel) | None => break Event::Cancel,
                    },
                    Some(done) = self.calls.join_next() => {
                        if let Ok((call, answer)) = done {
                            break self.called(call, answer);
                        }
                    }
                    Some(decided) = self.questions.join_next() => {
                        // Waiting for a person does not count as the turn's time.
                        deadline.as_mut().reset(Instant::now() + time_limit);
                        if let Ok((call, (decision, by))) = decided {
                            break Event::Decided { call, decision, by };
                        }
                    }
                    item = next_item(&mut self.stream, &mut self.ready) => break self.streamed(item),
                    words = later(&mut self.advice) => break Event::Unavailable { words },
                    summary = summary(&mut self.compaction) => {
                        match self.compacted(summary).await {
                            Ok(Some(event)) => break event,
                            Ok(None) => {}
                            Err(error) => return self.broken(&error),
                        }
                    }
                    () = &mut deadline, if self.questions.is_empty() => {
                        // After the grace period, running calls are cancelled.
                        deadline.as_mut().reset(Instant::now() + GRACE);
                        break Event::TimeIsUp;
                    }
                }
            };
        }
    }

    /// Performs the effects in order; returns the end if the turn is over.
    async fn perform(&mut self, effects: Vec<Effect>) -> Result<Option<End>> {
        let mut effects = effects.into_iter();
        while let Some(effect) = effects.next() {
            match effect {
                Effect::Record(entry) => {
                    if let Err(error) = self.record(entry).await {
                        // These messages still have to be delivered.
                        self.undelivered.extend(effects.flat_map(|effect| match effect {
                            Effect::Show(Show::User(user_message)) => vec![user_message],
                            Effect::Finish(end) => end.undelivered,
                            _ => Vec::new(),
                        }));
                        return Err(error);
                    }
                }
                Effect::Show(show) => self.show(show),
                Effect::AskModel { tools } => self.ask_model(tools).await,
                Effect::Compact => drop(self.compact(None)),
                Effect::Run { call, scope, .. } => {
                    let (conversation, turn) = (self.conversation, self.id);
                    let id = call.id.clone();
                    let max_chars = self.turn.max_chars();
                    let known = self.context.known().clone();
                    let agent = self.answering.agent.clone();
                    let call_request =
                        CallRequest { call, scope, conversation, turn, max_chars, known, agent };
                    let answer = self.shared.ports.toolbox.call(call_request, self.cancel.clone());
                    self.calls.spawn(async move { (id, catch_panic(answer).await) });
                }
                Effect::AskPerson { call } => {
                    if let Some(pending) = self.pending.get(&call) {
                        let asked = pending.ask();
                        self.questions.spawn(async move { (call, asked.await) });
                    }
                }
                Effect::Resume { call, decision, by } => {
                    if let Some(pending) = self.pending.remove(&call) {
                        let cancel = match decision {
                            // A cancelled call is only recorded.
                            Decision::Withdrawn => Cancel::default(),
                            _ => self.cancel.clone(),
                        };
                        let answer = pending.answer(decision, by, cancel);
                        self.calls.spawn(async move { (call, catch_panic(answer).await) });
                    }
                }
                Effect::Stop => {
                    // Dropping these closes connections and withdraws questions.
                    self.stream = None;
                    self.ready.clear();
                    self.compaction = None;
                    self.advice = None;
                    self.questions = JoinSet::new();
                    self.cancel.cancel();
                }
                Effect::Usage { usage, origin } => self.record_usage(usage, origin).await,
                Effect::Finish(end) => return Ok(Some(end)),
            }
        }
        Ok(None)
    }

    async fn record(&mut self, entry: Entry) -> Result<()> {
        let (conversation, turn, kept) = (self.conversation, self.id, entry.clone());
        let is_new = blocking(&self.shared, move |shared| {
            shared.ports.memory.append(conversation, turn, &kept)
        });
        if is_new.await? {
            self.context.push(entry);
        }
        Ok(())
    }

    fn show(&mut self, show: Show) {
        let mut limits = None;
        match &show {
            Show::User(user_message) | Show::Resumed(user_message) => {
                // The first message was never queued.
                if !self.delivered.is_empty() {
                    self.shared.record_delivered(self.conversation, self.id);
                }
                self.delivered.push(user_message.number);
                if user_message.scope.limits() && self.context.limiting() == 1 {
                    limits = Some(user_message.scope);
                }
            }
            Show::Message { text, kind, .. } => {
                self.answer.clone_from(text);
                if *kind == MessageKind::Question {
                    self.question = Some(text.clone());
                }
            }
            _ => {}
        }
        self.send(Update::Show(show));
        if let Some(scope) = limits {
            self.send(Update::Show(Show::limited(scope)));
        }
    }

    fn send(&self, what: Update) {
        let (conversation, turn) = (self.conversation, self.id);
        self.shared.ports.audience.send(TurnUpdate { conversation, turn, what });
    }

    /// Sends the state of the conversation if it changed.
    fn show_state(&mut self) {
        let now = ReportedState { asking: !self.pending.is_empty(), queued: self.turn.waiting() };
        if std::mem::replace(&mut self.shown, now) == now {
            return;
        }
        let queued = now.queued;
        self.send(if now.asking {
            Update::RequiresAction { queued }
        } else {
            Update::Running { queued }
        });
    }

    fn window(&self) -> u64 {
        let window = self.answering.model.as_ref().map_or(0, |model| model.window);
        self.settings.window(window)
    }

    async fn ask_model(&mut self, tools: bool) {
        if let Some(missing) = &self.answering.missing {
            let (words, hint) = (missing.to_string(), missing.hint());
            return self.queued_events.push_back(Event::NoAgent { words, hint });
        }
        if self.answering.model.is_none() {
            self.advice = Some(self.shared.ports.models.advice());
            return;
        }
        if !self.context.is_full(self.window()) || !self.compact(Some(tools)) {
            self.send_history(tools).await;
        }
    }

    /// Sends the whole history; the vendor decides whether it fits.
    async fn send_history(&mut self, tools: bool) {
        let messages = self.messages().await;
        let fits = |window| !self.context.is_full(self.settings.window(window));
        let Some(model) = self.answering.model_for(self.turn.round(), fits) else { return };
        let request = TurnRequest {
            system: Arc::clone(self.context.system()),
            tools: Arc::clone(self.context.tools()),
            tool_choice: if tools { ToolChoice::Auto } else { ToolChoice::None },
            messages,
            max_output_tokens: self.settings.max_output_tokens,
            effort: self.settings.effort,
            temperature: self.answering.temperature(),
            cache: Cache::On,
            conversation: self.conversation.to_string(),
            installation: Arc::clone(&self.installation),
            tap: Tap::default(),
        };
        self.sent = request.messages.len();
        self.stream = Some(model.provider.stream(Arc::new(request)));
    }

    /// The history with its images.
    async fn messages(&mut self) -> Vec<Message> {
        let messages = self.context.messages().to_vec();
        if !images::are_in(&messages) {
            return messages;
        }
        let filled = blocking(&self.shared, move |shared| {
            let toolbox = &shared.ports.toolbox;
            Ok(images::filled(messages, |path, revision| toolbox.image(path, revision)))
        });
        // The model gets the references that remain.
        filled.await.unwrap_or_else(|_| self.context.messages().to_vec())
    }

    /// Starts compacting the history; returns whether there is anything to drop. `then`: ask the
    /// model afterwards, with or without tools; `None`: report to the turn.
    fn compact(&mut self, then: Option<bool>) -> bool {
        let Some(cut) = self.context.cut(self.window(), then.is_none()) else {
            if then.is_none() {
                self.queued_events.push_back(Event::Compacted { done: false });
            }
            return false;
        };
        let name = format!("{}-summary", self.conversation);
        let summary = request_summary(self.answering.model.as_ref(), &cut, self.window(), name);
        self.show(Show::compacting());
        self.compaction = Some(Compaction { cut, summary, then });
        true
    }

    async fn compacted(&mut self, summary: Summary) -> Result<Option<Event>> {
        let Some(Compaction { cut, then, .. }) = self.compaction.take() else { return Ok(None) };
        if let Some((usage, origin)) = summary.usage {
            self.count(Some(usage), origin).await;
        }
        let summary = summary.text.unwrap_or(cut.extract);
        // The person's latest message stays in their own words.
        self.record(Entry::Trimmed { summary, asked: cut.asked, kept: cut.kept }).await?;
        match then {
            Some(tools) => {
                self.send_history(tools).await;
                Ok(None)
            }
            None => Ok(Some(Event::Compacted { done: true })),
        }
    }

    fn streamed(&mut self, item: Result<llm::Item, LlmError>) -> Event {
        match item {
            Ok(llm::Item::Event(event)) => Event::Streamed(event),
            Ok(llm::Item::Done(turn)) => {
                self.drop_stream();
                Event::Answered(turn)
            }
            Err(error) => {
                self.drop_stream();
                Event::Failed(Box::new(error))
            }
        }
    }

    fn drop_stream(&mut self) {
        self.stream = None;
        self.ready.clear();
    }

    fn called(&mut self, call: String, answer: CallOutcome) -> Event {
        match answer {
            CallOutcome::Done(called) => Event::Finished { call, called },
            CallOutcome::NeedsApproval(pending) => {
                let title = pending.title();
                self.pending.insert(call.clone(), pending);
                Event::NeedsApproval { call, title }
            }
        }
    }

    async fn record_usage(&mut self, usage: Option<Usage>, origin: Option<Origin>) {
        let origin = origin.or_else(|| self.answering.origin());
        let spent = self.count(usage, origin).await;
        let Some(usage) = usage else { return };
        self.context.counted(usage.input, self.sent);
        let (used, size) = (usage.input + usage.output, self.window());
        self.send(Update::Usage { used, size, cost: spent });
    }

    /// Records the usage of a request; returns the conversation's cost so far in this run.
    fn count(
        &self,
        usage: Option<Usage>,
        origin: Option<Origin>,
    ) -> BoxFuture<'static, Option<f64>> {
        let (shared, conversation) = (Arc::clone(&self.shared), self.conversation);
        let counted = tokio::task::spawn_blocking(move || {
            let (name, cost) = shared.ports.models.price(origin.as_ref(), usage.as_ref());
            let usage = usage.unwrap_or_default();
            shared.ports.memory.count(conversation, &name, &usage, cost);
            shared.spent(conversation, cost)
        });
        Box::pin(async move { counted.await.unwrap_or_default() })
    }

    async fn done(mut self, end: End) -> TurnResult {
        let (conversation, id) = (self.conversation, self.id);
        let sent = self.question.take();
        let asked = sent.or_else(|| question::at_end(&self.answer).map(str::to_owned));
        let question = asked.filter(|_| end.reason == Reason::Waiting);
        let kept = end.clone();
        let finished = blocking(&self.shared, move |shared| {
            shared.ports.memory.finish(conversation, id, &kept, question.as_deref())
        });
        match finished.await {
            Ok(()) => self.into_result(end, true),
            Err(error) => {
                let undelivered = end.undelivered;
                self.into_result(End { undelivered, ..memory_failure(&error) }, false)
            }
        }
    }

    /// Ends a turn that can no longer be stored. What was stored stays, and the next turn repairs
    /// the history.
    fn broken(mut self, error: &MemoryError) -> TurnResult {
        tracing::error!(%error, conversation = %self.conversation, "a turn could not be stored");
        self.cancel.cancel();
        let mut undelivered = std::mem::take(&mut self.undelivered);
        undelivered.extend(self.turn.abandon());
        self.into_result(End { undelivered, ..memory_failure(error) }, false)
    }

    fn into_result(self, end: End, is_stored: bool) -> TurnResult {
        self.send(Update::Ended { end: end.clone() });
        TurnResult { end, delivered: self.delivered, answer: self.answer, is_stored }
    }
}

pub(super) fn failed_to_begin(
    shared: &SharedAgent,
    conversation: ConversationId,
    turn: TurnId,
    message: i64,
    error: &MemoryError,
) -> TurnResult {
    tracing::error!(%error, %conversation, "a turn could not begin");
    let end = memory_failure(error);
    let what = Update::Ended { end: end.clone() };
    shared.ports.audience.send(TurnUpdate { conversation, turn, what });
    TurnResult { end, delivered: vec![message], answer: String::new(), is_stored: false }
}

fn memory_failure(error: &MemoryError) -> End {
    let hint = match error {
        MemoryError::Broken { hint, .. } => hint.clone(),
        MemoryError::NotFound { .. } => None,
    };
    let words = format!("the message cannot be stored: {error}");
    End { reason: Reason::Failed, words, cause: None, hint, undelivered: Vec::new() }
}

/// A panicking tool becomes a failed call.
async fn catch_panic(answer: BoxFuture<'static, CallOutcome>) -> CallOutcome {
    let answer = AssertUnwindSafe(answer).catch_unwind().await;
    answer.unwrap_or_else(|_| {
        CallOutcome::Done(CallResult::error("the tool crashed; list_changes shows what it changed"))
    })
}

async fn later<T>(waiting: &mut Option<BoxFuture<'static, T>>) -> T {
    let Some(work) = waiting else { return std::future::pending().await };
    let done = work.await;
    *waiting = None;
    done
}
