//! Does what a turn wants done, and tells it what came of it.
//!
//! One task a turn. Effects are done in order, and what is to be kept is kept before anything that
//! follows; where it cannot be kept, the turn ends there. The model, the tools and people are waited
//! for at the same time as for a cancellation, so that one takes effect at once, whatever goes on.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::called::Called;
use super::context::Context;
use super::entry::{Entry, Said};
use super::pieces::piece;
use super::ports::{Answer, Later, MemoryError, Model, Pending, Told, Wanted, What};
use super::scene;
use super::shared::{Command, Shared, blocking};
use super::shortening::{Shortening, Summary, summary, summary_of};
use super::turn::{Effect, End, Event, MessageKind, Reason, Severity, Show, Turn};
use super::turn_settings::TurnSettings;
use crate::calls::{Answerer, Decision};
use crate::conversation::{ConversationId, TurnId, question};
use crate::llm::tape::Tap;
use crate::llm::{self, Cache, LlmError, Origin, ToolChoice, TurnRequest, TurnStream, Usage};
use crate::vault::Cancel;

/// How long a turn whose time is over may take for its last words.
const GRACE: Duration = Duration::from_secs(5 * 60);

/// What came of a turn.
pub(super) struct Done {
    pub end: End,
    /// The messages that were heard in it.
    pub heard: Vec<i64>,
    /// The last whole message.
    pub answer: String,
    /// Whether its end is kept.
    pub is_kept: bool,
}

/// A turn at work.
pub(super) struct Driver {
    shared: Arc<Shared>,
    settings: Arc<TurnSettings>,
    conversation: ConversationId,
    id: TurnId,
    turn: Turn,
    context: Context,
    model: Option<Model>,
    installation: Arc<str>,
    stream: Option<TurnStream>,
    /// Pieces of the answer that are there and not taken yet.
    ready: VecDeque<Result<llm::Item, LlmError>>,
    /// How long the history was when it was last sent.
    sent: usize,
    shortening: Option<Shortening>,
    /// How to come by a model, where there is none.
    advice: Option<Later<String>>,
    /// What this end has to tell the turn.
    own: VecDeque<Event>,
    calls: JoinSet<(String, Answer)>,
    questions: JoinSet<(String, (Decision, Answerer))>,
    /// Calls that wait for a person.
    pending: HashMap<String, Box<dyn Pending>>,
    cancel: Cancel,
    heard: Vec<i64>,
    /// What could not be kept as heard.
    lost: Vec<Said>,
    answer: String,
    question: Option<String>,
    shown: Shown,
}

/// What clients were last told of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shown {
    asking: bool,
    queued: usize,
}

impl Driver {
    /// A turn that begins with `said`, which is kept already.
    ///
    /// # Errors
    /// What is kept of the conversation cannot be read or added to.
    pub(super) async fn begin(
        shared: Arc<Shared>,
        conversation: ConversationId,
        id: TurnId,
    ) -> Result<Self, MemoryError> {
        let settings = shared.settings.load_full();
        // Keys are read from files for it.
        let known = blocking(&shared, move |Shared { ports, .. }| {
            let model = match ports.memory.preferred(conversation) {
                Some(name) => ports.models.preferring(&name),
                None => ports.models.current(),
            };
            Ok((model, ports.memory.installation()?.into()))
        });
        let (model, installation) = known.await?;
        let window = settings.window(model.as_ref().map_or(0, |model| model.window));
        let turn =
            Turn::new(id.to_string(), settings.limits(window), shared.ports.toolbox.changes());
        let mut driver = Self {
            shared,
            settings,
            conversation,
            id,
            turn,
            context: Context::default(),
            model,
            installation,
            stream: None,
            ready: VecDeque::new(),
            sent: 0,
            shortening: None,
            advice: None,
            own: VecDeque::new(),
            calls: JoinSet::new(),
            questions: JoinSet::new(),
            pending: HashMap::new(),
            cancel: Cancel::default(),
            heard: Vec::new(),
            lost: Vec::new(),
            answer: String::new(),
            question: None,
            shown: Shown { asking: false, queued: 0 },
        };
        driver.tell(What::Running { queued: 0 });
        driver.set_the_scene().await?;
        Ok(driver)
    }

    /// Takes up what was said so far, and says what is new since.
    async fn set_the_scene(&mut self) -> Result<(), MemoryError> {
        let (conversation, id, settings) = (self.conversation, self.id, Arc::clone(&self.settings));
        let scene =
            blocking(&self.shared, move |shared| scene::of(shared, conversation, id, &settings));
        let is_damaged;
        (self.context, is_damaged) = scene.await?;
        if is_damaged {
            self.show(Show::Notice {
                severity: Severity::Warning,
                title: "something that was said in this conversation is damaged and can no longer \
                        be read; it goes on without it"
                    .to_owned(),
                text: None,
            });
        }
        self.turn.limit(self.context.scope());
        Ok(())
    }

    /// Drives the turn to its end.
    pub(super) async fn run(
        mut self,
        begins: Event,
        commands: &mut UnboundedReceiver<Command>,
    ) -> Done {
        let patience = Duration::from_secs(u64::from(self.settings.minutes) * 60);
        let deadline = tokio::time::sleep_until(Instant::now() + patience);
        tokio::pin!(deadline);
        let mut event = begins;
        loop {
            let heard = self.heard.len();
            let effects = self.turn.handle(event);
            match self.perform(effects).await {
                Ok(None) => {}
                Ok(Some(end)) => return self.done(end).await,
                Err(error) => return self.broken(&error),
            }
            if self.heard.len() > heard {
                // Who speaks to it gives it new work, and the time for it.
                deadline.as_mut().reset(Instant::now() + patience);
            }
            self.show_state();
            event = loop {
                if let Some(event) = self.own.pop_front() {
                    break event;
                }
                tokio::select! {
                    biased;
                    command = commands.recv() => match command {
                        Some(Command::Said(said)) => break Event::Said(said),
                        Some(Command::Cancel) | None => break Event::Cancel,
                    },
                    Some(done) = self.calls.join_next() => {
                        if let Ok((call, answer)) = done {
                            break self.called(call, answer);
                        }
                    }
                    Some(decided) = self.questions.join_next() => {
                        // The time was the person's, not the turn's.
                        deadline.as_mut().reset(Instant::now() + patience);
                        if let Ok((call, (decision, by))) = decided {
                            break Event::Decided { call, decision, by };
                        }
                    }
                    item = piece(&mut self.stream, &mut self.ready) => break self.streamed(item),
                    words = later(&mut self.advice) => break Event::Unavailable { words },
                    summary = summary(&mut self.shortening) => {
                        match self.shortened(summary).await {
                            Ok(Some(event)) => break event,
                            Ok(None) => {}
                            Err(error) => return self.broken(&error),
                        }
                    }
                    () = &mut deadline, if self.questions.is_empty() => {
                        // What does not come to its end by then is cut off.
                        deadline.as_mut().reset(Instant::now() + GRACE);
                        break Event::TimeIsUp;
                    }
                }
            };
        }
    }

    /// Does what is wanted, in order; the end, if it has come.
    async fn perform(&mut self, effects: Vec<Effect>) -> Result<Option<End>, MemoryError> {
        let mut effects = effects.into_iter();
        while let Some(effect) = effects.next() {
            match effect {
                Effect::Record(entry) => {
                    if let Err(error) = self.record(entry).await {
                        // What was to be heard now is still to be heard.
                        self.lost.extend(effects.flat_map(|effect| match effect {
                            Effect::Show(Show::User(said)) => vec![said],
                            Effect::Finish(end) => end.unheard,
                            _ => Vec::new(),
                        }));
                        return Err(error);
                    }
                }
                Effect::Show(show) => self.show(show),
                Effect::Ask { tools } => self.ask(tools),
                Effect::Shorten => drop(self.shorten(None)),
                Effect::Run { call, scope, .. } => {
                    let (conversation, turn) = (self.conversation, self.id);
                    let id = call.id.clone();
                    let room = self.turn.room();
                    let known = self.context.known().clone();
                    let wanted = Wanted { call, scope, conversation, turn, room, known };
                    let answer = self.shared.ports.toolbox.call(wanted, self.cancel.clone());
                    self.calls.spawn(async move { (id, unbroken(answer).await) });
                }
                Effect::AskPerson { call } => {
                    if let Some(pending) = self.pending.get(&call) {
                        let asked = pending.ask();
                        self.questions.spawn(async move { (call, asked.await) });
                    }
                }
                Effect::GoOn { call, decision, by } => {
                    if let Some(pending) = self.pending.remove(&call) {
                        let cancel = match decision {
                            // What is withdrawn is only written down.
                            Decision::Withdrawn => Cancel::default(),
                            _ => self.cancel.clone(),
                        };
                        let answer = pending.answer(decision, by, cancel);
                        self.calls.spawn(async move { (call, unbroken(answer).await) });
                    }
                }
                Effect::Stop => {
                    // Dropping them closes connections and takes questions back.
                    self.stream = None;
                    self.ready.clear();
                    self.shortening = None;
                    self.advice = None;
                    self.questions = JoinSet::new();
                    self.cancel.cancel();
                }
                Effect::Usage { usage, origin } => self.used(usage, origin).await,
                Effect::Finish(end) => return Ok(Some(end)),
            }
        }
        Ok(None)
    }

    async fn record(&mut self, entry: Entry) -> Result<(), MemoryError> {
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
            Show::User(said) | Show::Again(said) => {
                // The first never waited.
                if !self.heard.is_empty() {
                    self.shared.has_heard(self.conversation, self.id);
                }
                self.heard.push(said.number);
                if said.scope.limits() && self.context.limiting() == 1 {
                    limits = Some(said.scope);
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
        self.tell(What::Show(show));
        if let Some(scope) = limits {
            self.tell(What::Show(Show::limited(scope)));
        }
    }

    fn tell(&self, what: What) {
        let (conversation, turn) = (self.conversation, self.id);
        self.shared.ports.audience.tell(Told { conversation, turn, what });
    }

    /// Tells how the conversation stands, where that has changed.
    fn show_state(&mut self) {
        let now = Shown { asking: !self.pending.is_empty(), queued: self.turn.waiting() };
        if std::mem::replace(&mut self.shown, now) == now {
            return;
        }
        let queued = now.queued;
        self.tell(match now.asking {
            true => What::RequiresAction { queued },
            false => What::Running { queued },
        });
    }

    fn window(&self) -> u64 {
        let window = self.model.as_ref().map_or(0, |model| model.window);
        self.settings.window(window)
    }

    fn ask(&mut self, tools: bool) {
        if self.model.is_none() {
            self.advice = Some(self.shared.ports.models.advice());
            return;
        }
        if !self.context.is_full(self.window()) || !self.shorten(Some(tools)) {
            self.ask_as_it_is(tools);
        }
    }

    /// Asks with all that is kept: the vendor decides in the end what it can read.
    fn ask_as_it_is(&mut self, tools: bool) {
        let Some(model) = &self.model else { return };
        let request = TurnRequest {
            system: Arc::clone(self.context.system()),
            tools: Arc::clone(self.context.tools()),
            tool_choice: if tools { ToolChoice::Auto } else { ToolChoice::None },
            messages: self.context.messages().to_vec(),
            max_output_tokens: self.settings.max_output_tokens,
            effort: self.settings.effort,
            cache: Cache::On,
            conversation: self.conversation.to_string(),
            installation: Arc::clone(&self.installation),
            tap: Tap::default(),
        };
        self.sent = request.messages.len();
        self.stream = Some(model.provider.stream(Arc::new(request)));
    }

    /// Begins to make the history shorter; whether there is something to leave out. `then` says
    /// whether the model is asked afterwards, with or without tools; else the turn is told.
    fn shorten(&mut self, then: Option<bool>) -> bool {
        let Some(cut) = self.context.cut(self.window(), then.is_none()) else {
            if then.is_none() {
                self.own.push_back(Event::Shortened { done: false });
            }
            return false;
        };
        let name = format!("{}-summary", self.conversation);
        let summary = summary_of(self.model.as_ref(), &cut, self.window(), name);
        self.show(Show::shortened());
        self.shortening = Some(Shortening { cut, summary, then });
        true
    }

    async fn shortened(&mut self, summary: Summary) -> Result<Option<Event>, MemoryError> {
        let Some(Shortening { cut, then, .. }) = self.shortening.take() else { return Ok(None) };
        if let Some((usage, origin)) = summary.usage {
            self.count(Some(usage), origin).await;
        }
        let summary = summary.text.unwrap_or(cut.extract);
        // What the person wants now is told in their own words.
        self.record(Entry::Trimmed { summary, asked: cut.asked, kept: cut.kept }).await?;
        match then {
            Some(tools) => {
                self.ask_as_it_is(tools);
                Ok(None)
            }
            None => Ok(Some(Event::Shortened { done: true })),
        }
    }

    fn streamed(&mut self, item: Result<llm::Item, LlmError>) -> Event {
        match item {
            Ok(llm::Item::Event(event)) => Event::Streamed(event),
            Ok(llm::Item::Done(turn)) => {
                self.let_go();
                Event::Answered(turn)
            }
            Err(error) => {
                self.let_go();
                Event::Failed(Box::new(error))
            }
        }
    }

    fn let_go(&mut self) {
        self.stream = None;
        self.ready.clear();
    }

    fn called(&mut self, call: String, answer: Answer) -> Event {
        match answer {
            Answer::Done(called) => Event::Finished { call, called },
            Answer::Asks(pending) => {
                let title = pending.title();
                self.pending.insert(call.clone(), pending);
                Event::Asks { call, title }
            }
        }
    }

    async fn used(&mut self, usage: Option<Usage>, origin: Option<Origin>) {
        let spent = self.count(usage, origin).await;
        let Some(usage) = usage else { return };
        self.context.counted(usage.input, self.sent);
        let (used, size) = (usage.input + usage.output, self.window());
        self.tell(What::Usage { used, size, cost: spent });
    }

    /// Counts what a request took; what the conversation has cost in this run.
    fn count(&self, usage: Option<Usage>, origin: Option<Origin>) -> Later<Option<f64>> {
        let (shared, conversation) = (Arc::clone(&self.shared), self.conversation);
        let counted = tokio::task::spawn_blocking(move || {
            let (name, cost) = shared.ports.models.price(origin.as_ref(), usage.as_ref());
            let usage = usage.unwrap_or_default();
            shared.ports.memory.count(conversation, &name, &usage, cost);
            shared.spent(conversation, cost)
        });
        Box::pin(async move { counted.await.unwrap_or_default() })
    }

    async fn done(mut self, end: End) -> Done {
        let (conversation, id) = (self.conversation, self.id);
        let sent = self.question.take();
        let asked = sent.or_else(|| question::at_end(&self.answer).map(str::to_owned));
        let question = asked.filter(|_| end.reason == Reason::Waiting);
        let kept = end.clone();
        let finished = blocking(&self.shared, move |shared| {
            shared.ports.memory.finish(conversation, id, &kept, question.as_deref())
        });
        match finished.await {
            Ok(()) => self.told(end, true),
            Err(error) => {
                let unheard = end.unheard;
                self.told(End { unheard, ..broken(&error) }, false)
            }
        }
    }

    /// Ends what can no longer be kept. What was kept stays, and is made whole at the next turn.
    fn broken(mut self, error: &MemoryError) -> Done {
        tracing::error!(%error, conversation = %self.conversation, "a turn could not be kept");
        self.cancel.cancel();
        let mut unheard = std::mem::take(&mut self.lost);
        unheard.extend(self.turn.abandon());
        self.told(End { unheard, ..broken(error) }, false)
    }

    fn told(self, end: End, is_kept: bool) -> Done {
        self.tell(What::Ended { end: end.clone() });
        Done { end, heard: self.heard, answer: self.answer, is_kept }
    }
}

/// What came of a turn that could not even begin.
pub(super) fn not_begun(
    shared: &Shared,
    conversation: ConversationId,
    turn: TurnId,
    message: i64,
    error: &MemoryError,
) -> Done {
    tracing::error!(%error, %conversation, "a turn could not begin");
    let end = broken(error);
    let what = What::Ended { end: end.clone() };
    shared.ports.audience.tell(Told { conversation, turn, what });
    Done { end, heard: vec![message], answer: String::new(), is_kept: false }
}

fn broken(error: &MemoryError) -> End {
    let hint = match error {
        MemoryError::Broken { hint, .. } => hint.clone(),
        MemoryError::NotFound { .. } => None,
    };
    let words = format!("what is said cannot be kept: {error}");
    End { reason: Reason::Failed, words, cause: None, hint, unheard: Vec::new() }
}

/// A tool that breaks is one that failed.
async fn unbroken(answer: Later<Answer>) -> Answer {
    let answer = AssertUnwindSafe(answer).catch_unwind().await;
    answer.unwrap_or_else(|_| {
        Answer::Done(Called::error(
            "the tool failed by a fault of its own; what it did is in list_changes",
        ))
    })
}

async fn later<T>(waiting: &mut Option<Later<T>>) -> T {
    let Some(work) = waiting else { return std::future::pending().await };
    let done = work.await;
    *waiting = None;
    done
}
