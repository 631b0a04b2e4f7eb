//! Tool calls in flight on one connection: run, given up, answered exactly once.

use std::collections::HashMap;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::backend::{Called, Caller, Decision, MAX_NAME_CHARS, Question, Scope, Work};
use super::connection::STUCK_DEADLINE;
use super::outbox::Outbox;
use super::tracker::Tracker;
use super::{Settings, Shared, lock};
use crate::protocol::MethodParams;
use crate::protocol::envelope::{self, RequestId};
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::tools::{ToolsCallParams, ToolsCallWritten};
use crate::vault::Cancel;

/// How long a client is asked to wait when it has too much in flight.
const RETRY_AFTER_MS: u64 = 50;

/// The calls of one connection. A clone is the same.
#[derive(Clone)]
pub struct Calls {
    shared: Arc<Shared>,
    settings: Arc<Settings>,
    outbox: Arc<Outbox>,
    in_flight: Arc<Mutex<HashMap<RequestId, InFlight>>>,
    unanswered: Tracker,
    /// Answers go into the outbox one by one, each when there is room: a client that asked for
    /// much at once is not too slow because it all came back at once.
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// The work of a request, done on a thread that may block; gives the text of the answer.
type Job = Box<dyn FnOnce(&Shared, &Cancel) -> Step + Send>;

/// How far the work has come.
pub enum Step {
    /// It is done: the text of the answer.
    Answer(String),
    /// A person has to agree before it goes on.
    Ask(Box<dyn Question>),
}

/// The wait for a turn, its place in the queue taken.
type Turn = Pin<Box<dyn Future<Output = Option<OwnedSemaphorePermit>> + Send>>;

struct InFlight {
    work: Work,
    cancel: Cancel,
    give_up: Arc<Notify>,
    /// Whether it waits for a person.
    asking: Arc<AtomicBool>,
}

impl InFlight {
    fn cancel(&self) {
        self.cancel.cancel();
        self.give_up.notify_one();
    }
}

impl Calls {
    /// No calls yet; answers go to `outbox`.
    #[must_use]
    pub fn new(shared: Arc<Shared>, settings: Arc<Settings>, outbox: Arc<Outbox>) -> Self {
        Self {
            shared,
            settings,
            outbox,
            in_flight: Arc::default(),
            unanswered: Tracker::default(),
            turn: Arc::default(),
        }
    }

    /// Whether a request of this id is unanswered.
    #[must_use]
    pub fn holds(&self, id: &RequestId) -> bool {
        lock(&self.in_flight).contains_key(id)
    }

    /// Waits until every call has been answered.
    pub async fn idle(&self) {
        self.unanswered.idle().await;
    }

    /// Begins a tool call; its answer follows when it is there, whatever comes meanwhile. Gives how
    /// long it kept this thread where it has been done already.
    ///
    /// # Errors
    /// Kind `unknown_tool` or `overloaded`.
    pub fn start(
        &self,
        id: RequestId,
        params: ToolsCallParams,
        client: &str,
        scope: Scope,
        connection: u64,
    ) -> Result<Duration, ErrorObject> {
        let Some(work) = self.shared.backend.work(&params.name) else {
            let name: String = params.name.chars().take(80).collect();
            return Err(ErrorObject::new(
                Kind::UnknownTool,
                format!("there is no tool `{}`", name.escape_debug()),
            )
            .hint("`tools/list` names them all"));
        };
        let ours = params.meta.as_ref().and_then(|meta| meta.vault.as_ref());
        let caller = Caller {
            name: client.to_owned(),
            scope,
            confirmed: ours.is_some_and(|ours| ours.confirmed),
            agreed: ours.and_then(|ours| ours.agreed.clone()),
            dry_run: ours.is_some_and(|ours| ours.dry_run),
            // Clients count their turns from 1: such a name holds for this connection alone.
            turn: ours
                .and_then(|ours| ours.turn.as_deref())
                .map(|turn| format!("{}/{connection}/{}", self.shared.events.epoch(), named(turn))),
            conversation: ours.and_then(|ours| ours.conversation.as_deref()).map(named),
        };
        if work == Work::Read
            && let Some(took) = self.at_a_glance(&id, &params, &caller)
        {
            return Ok(took);
        }
        let (answer_to, most) = (id.clone(), self.settings.max_reply_bytes);
        let job = move |shared: &Shared, cancel: &Cancel| {
            carry_out(shared, &answer_to, params, caller, most, cancel)
        };
        self.begin(id, work, Box::new(job))?;
        Ok(Duration::ZERO)
    }

    /// Does a call here and now, where that can be without waiting; how long it took.
    fn at_a_glance(
        &self,
        id: &RequestId,
        params: &ToolsCallParams,
        caller: &Caller,
    ) -> Option<Duration> {
        let begun = std::time::Instant::now();
        let glances = &self.shared.glances;
        let is_full = || lock(&self.in_flight).len() >= self.settings.max_in_flight as usize;
        if !glances.may_be(begun) || is_full() {
            return None;
        }
        let look = || self.shared.backend.glance(&params.name, &params.arguments, caller);
        let seen = catch_unwind(AssertUnwindSafe(look));
        let answer = match &seen {
            Ok(Some(result)) => Some(bounded(id, result, self.settings.max_reply_bytes)),
            Ok(None) => None,
            Err(_) => Some(broke_off(id)),
        };
        let now = std::time::Instant::now();
        let took = now.saturating_duration_since(begun);
        glances.took(now, took);
        self.outbox.push(Utf8Bytes::from(answer?));
        Some(took.max(Duration::from_nanos(1)))
    }

    /// Begins work of any kind; its answer follows.
    ///
    /// # Errors
    /// Kind `overloaded`.
    pub fn begin(&self, id: RequestId, work: Work, job: Job) -> Result<(), ErrorObject> {
        let cancel = Cancel::default();
        let give_up = Arc::new(Notify::new());
        let asking = Arc::new(AtomicBool::new(false));
        {
            let mut in_flight = lock(&self.in_flight);
            if in_flight.len() >= self.settings.max_in_flight as usize {
                return Err(ErrorObject::new(
                    Kind::Overloaded,
                    format!("{} requests are unanswered already", in_flight.len()),
                )
                .retry_after_ms(RETRY_AFTER_MS));
            }
            let entry = InFlight {
                work,
                cancel: cancel.clone(),
                give_up: Arc::clone(&give_up),
                asking: Arc::clone(&asking),
            };
            in_flight.insert(id.clone(), entry);
        }
        // What is light has turns of its own, so that it never queues behind what is heavy or must be
        // alone. The place is taken now, so that changes are made in the order they were asked for.
        let turn = self.queue(work);
        let calls = self.clone();
        let unanswered = self.unanswered.begin();
        tokio::spawn(async move {
            let answer = calls.go_on(&id, job, work, turn, cancel, &give_up, &asking).await;
            let turn = calls.turn.lock().await;
            // One that reads nothing for so long is too slow after all.
            let _ = tokio::time::timeout(STUCK_DEADLINE, calls.outbox.room()).await;
            lock(&calls.in_flight).remove(&id);
            calls.outbox.push(Utf8Bytes::from(answer));
            drop((turn, unanswered));
        });
        Ok(())
    }

    /// Waits for something that takes as long as it takes, holding no thread and under no deadline;
    /// its answer follows. Giving up the wait changes nothing but that. `begin` is called once there
    /// is a place for it: what is refused has not been begun.
    ///
    /// # Errors
    /// Kind `overloaded`.
    pub fn wait<P: MethodParams, W>(
        &self,
        id: RequestId,
        begin: impl FnOnce() -> W,
    ) -> Result<(), ErrorObject>
    where
        P::Result: Send,
        W: Future<Output = Result<P::Result, ErrorObject>> + Send + 'static,
    {
        let give_up = Arc::new(Notify::new());
        {
            let mut in_flight = lock(&self.in_flight);
            if in_flight.len() >= self.settings.max_in_flight as usize {
                return Err(ErrorObject::new(
                    Kind::Overloaded,
                    format!("{} requests are unanswered already", in_flight.len()),
                )
                .retry_after_ms(RETRY_AFTER_MS));
            }
            let entry = InFlight {
                work: Work::Read,
                cancel: Cancel::default(),
                give_up: Arc::clone(&give_up),
                asking: Arc::default(),
            };
            in_flight.insert(id.clone(), entry);
        }
        let work = begin();
        let calls = self.clone();
        let unanswered = self.unanswered.begin();
        tokio::spawn(async move {
            let mut stopping = calls.shared.closing.subscribe();
            let answer = tokio::select! {
                answer = work => match answer {
                    Ok(result) => envelope::answer(&id, &result),
                    Err(error) => envelope::failure(Some(&id), &error),
                },
                () = give_up.notified() => cancelled(&id),
                _ = stopping.wait_for(|stopping| *stopping) => {
                    let error = ErrorObject::new(Kind::Failed, "the steward ends");
                    envelope::failure(Some(&id), &error.hint("what was said is kept"))
                }
            };
            let turn = calls.turn.lock().await;
            let _ = tokio::time::timeout(STUCK_DEADLINE, calls.outbox.room()).await;
            lock(&calls.in_flight).remove(&id);
            calls.outbox.push(Utf8Bytes::from(answer));
            drop((turn, unanswered));
        });
        Ok(())
    }

    /// The client no longer wants an answer to `id`.
    pub fn cancel(&self, id: &RequestId) {
        if let Some(call) = lock(&self.in_flight).get(id) {
            call.cancel();
        }
    }

    /// The client is gone: what only reads is given up, a change goes on.
    pub fn abandon(&self) {
        for call in lock(&self.in_flight).values() {
            if !call.work.is_finished() || call.asking.load(Ordering::Acquire) {
                call.cancel();
            }
        }
    }

    /// A place in the queue for work of this kind.
    fn queue(&self, work: Work) -> Option<Turn> {
        match work {
            Work::Read | Work::Setting => Some(queue(&self.shared.reads)),
            Work::Search => Some(queue(&self.shared.searches)),
            Work::Change => Some(queue(&self.shared.changes)),
        }
    }

    /// Does the work, and once more for each time that a person has to agree first; the text of
    /// the answer. Waiting for a person holds no turn and no thread, and counts for no deadline.
    #[expect(clippy::too_many_arguments, reason = "all that belongs to one request")]
    async fn go_on(
        &self,
        id: &RequestId,
        mut job: Job,
        work: Work,
        mut turn: Option<Turn>,
        cancel: Cancel,
        give_up: &Notify,
        asking: &AtomicBool,
    ) -> String {
        loop {
            let question = match self.run(id, job, work, turn, cancel.clone(), give_up).await {
                Step::Answer(text) => return text,
                Step::Ask(question) => question,
            };
            asking.store(true, Ordering::Release);
            let mut stopping = self.shared.closing.subscribe();
            let asked = self.shared.approvals.ask(question.params(), question.patience(), false);
            let (decision, by) = tokio::select! {
                answer = asked => answer,
                () = give_up.notified() => (Decision::Withdrawn, String::new()),
                _ = stopping.wait_for(|stopping| *stopping) => (Decision::Withdrawn, String::new()),
            };
            asking.store(false, Ordering::Release);
            let (answer_to, most) = (id.clone(), self.settings.max_reply_bytes);
            if decision == Decision::Withdrawn {
                // Its end is still written down, whoever wants to hear of it.
                job = Box::new(move |_, _| {
                    finish(&answer_to, question.answer(decision, by, &Cancel::default()), most)
                });
                turn = None;
                let own = Notify::new();
                let step = self.run(id, job, Work::Read, turn, Cancel::default(), &own).await;
                let Step::Answer(_) = step else { unreachable!("what is refused asks nothing") };
                return cancelled(id);
            }
            turn = self.queue(work);
            job = Box::new(move |_, cancel| {
                finish(&answer_to, question.answer(decision, by, cancel), most)
            });
        }
    }

    /// One step of the work.
    async fn run(
        &self,
        id: &RequestId,
        job: Job,
        work: Work,
        turn: Option<Turn>,
        cancel: Cancel,
        give_up: &Notify,
    ) -> Step {
        let limit = self.settings.request_deadline();
        let deadline = Instant::now() + limit;
        let turn = match turn {
            None => None,
            Some(turn) => tokio::select! {
                turn = turn => turn,
                () = give_up.notified() => return Step::Answer(cancelled(id)),
                () = tokio::time::sleep_until(deadline) => {
                    return Step::Answer(late(id, limit, NOT_BEGUN));
                }
            },
        };
        let shared = Arc::clone(&self.shared);
        let running = shared.running.begin();
        let flag = cancel.clone();
        let answer_to = id.clone();
        let job = move || {
            // A client may give up before a thread is free.
            let step = match flag.is_cancelled() {
                true => Step::Answer(cancelled(&answer_to)),
                false => job(&shared, &flag),
            };
            // The turn and the place among the running end with the work, not with the waiting.
            drop((turn, running));
            step
        };
        let task = tokio::task::spawn_blocking(job);
        let given_up = async {
            if work.is_finished() {
                std::future::pending::<()>().await;
            }
            give_up.notified().await;
        };
        tokio::select! {
            done = task => done.unwrap_or_else(|error| {
                tracing::error!(%error, "a tool call broke off");
                Step::Answer(broke_off(id))
            }),
            () = given_up => Step::Answer(cancelled(id)),
            () = tokio::time::sleep_until(deadline) => {
                cancel.cancel();
                let hint = if work.is_finished() { MAYBE_MADE } else { "" };
                Step::Answer(late(id, limit, hint))
            }
        }
    }
}

/// A name that a client gives: bounded, and of one line.
fn named(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect()
}

/// Takes a place in the queue for `turns`, now and not when the task that waits is first run.
fn queue(turns: &Arc<Semaphore>) -> Turn {
    let turn = Arc::clone(turns).acquire_owned();
    // Not counted against the caller's share of the thread, which would put off taking the place.
    let mut turn: Turn = Box::pin(tokio::task::unconstrained(async move { turn.await.ok() }));
    match turn.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(turn) => Box::pin(std::future::ready(turn)),
        Poll::Pending => turn,
    }
}

/// Runs the tool and writes its answer, once, on the thread that ran it.
fn carry_out(
    shared: &Shared,
    id: &RequestId,
    params: ToolsCallParams,
    caller: Caller,
    limit: u64,
    cancel: &Cancel,
) -> Step {
    let called = shared.backend.call(&params.name, params.arguments, caller, cancel);
    if let Called::Done(result) = &called
        && cancel.is_cancelled()
        && says_cancelled(result)
    {
        return Step::Answer(cancelled(id));
    }
    finish(id, called, limit)
}

/// The text of the answer, if it has come to one.
fn finish(id: &RequestId, called: Called, limit: u64) -> Step {
    match called {
        Called::Done(result) => Step::Answer(bounded(id, &result, limit)),
        Called::Ask(question) => Step::Ask(question),
    }
}

fn bounded(id: &RequestId, result: &ToolsCallWritten, limit: u64) -> String {
    let written = envelope::answer_of(id, result.room(), |json| {
        result.write(json);
        Ok::<(), Infallible>(())
    });
    let Ok(text) = written;
    let size = text.len() as u64;
    if size <= limit {
        return text;
    }
    let detail =
        Map::from_iter([("bytes".to_owned(), size.into()), ("limit".to_owned(), limit.into())]);
    envelope::failure(
        Some(id),
        &ErrorObject::new(
            Kind::ReplyTooLarge,
            format!("the tool did its work, but its answer has {size} bytes"),
        )
        .hint(
            "narrow the request: a folder further down, fewer entries, matches or lines at a time",
        )
        .detail(detail.into()),
    )
}

fn says_cancelled(result: &ToolsCallWritten) -> bool {
    let code =
        || serde_json::from_str::<Value>(&result.facts).map(|mut facts| facts["code"].take());
    result.is_error && code().is_ok_and(|code| code == "cancelled")
}

fn broke_off(id: &RequestId) -> String {
    envelope::failure(Some(id), &ErrorObject::new(Kind::Internal, "the tool broke off"))
}

fn cancelled(id: &RequestId) -> String {
    envelope::failure(Some(id), &ErrorObject::new(Kind::Cancelled, "the request was cancelled"))
}

/// What a client is told of work that was still waiting for its turn at the deadline.
const NOT_BEGUN: &str = "it had not begun: others of its kind came first; try again later";

/// What a client is told of a change that had begun by the deadline.
const MAYBE_MADE: &str = "the change may still be made; look before trying again";

fn late(id: &RequestId, limit: Duration, hint: &str) -> String {
    tracing::warn!(seconds = limit.as_secs(), "a request took longer than its deadline");
    let error = ErrorObject::new(
        Kind::Timeout,
        format!("the request took longer than {} seconds", limit.as_secs()),
    );
    let error = if hint.is_empty() { error } else { error.hint(hint) };
    envelope::failure(Some(id), &error)
}
