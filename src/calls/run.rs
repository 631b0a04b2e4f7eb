//! Runs the work of all transports: one queue per kind of work, deadlines and cancellation.
//!
//! A transport says what to do and gets the outcome as a value; how to send it is its own concern.
//! Work takes its place in the queue when it is submitted, so that changes are made in the order of
//! the requests. While a person is asked, the work holds no slot and no thread, and the deadline is
//! paused.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use super::throttle::Throttle;
use super::tracker::Tracker;
use super::{Answerer, Calls, Decision, Outcome, Question, Request};
use crate::note::code::ErrorCode;
use crate::tools::{self, Answer, Facts, Registry, Tier, ToolError};
use crate::vault::Cancel;

/// Quick reads that may run at a time: enough that a few slow disks do not delay the others, and
/// bounded, so that many calls wait in a queue and do not create as many threads.
const READS: usize = 32;

/// Changes at a time: the journal makes them one after another anyway.
const CHANGES: usize = 1;

/// Threads for the other blocking work of the process: the agent's and the transports' storage and
/// lookups.
const OTHERS: usize = 16;

/// How the runner treats a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A quick read: runs at once and stops when its caller disconnects.
    Read,
    /// A large read: one per core at a time, first come first served; stops when its caller
    /// disconnects.
    Search,
    /// A change of the vault: one at a time, in the order of the requests; once begun it runs to
    /// completion, even if its caller disconnects.
    Change,
    /// A change of a setting or a conversation, not of the vault: runs at once, so that no queue of
    /// changes delays a person; once begun it runs to completion.
    Setting,
}

impl Work {
    /// Whether the work, once begun, continues after its caller disconnects.
    pub fn runs_to_completion(self) -> bool {
        matches!(self, Self::Change | Self::Setting)
    }
}

pub type Answered = Result<Answer<Facts>, ToolError>;

/// The tools of one vault, as a transport calls them.
pub trait Tools: Send + Sync + 'static {
    /// All callable tools.
    fn registry(&self) -> Arc<Registry>;

    /// How to treat calls of the tool `name`; `None` if there is no such tool.
    fn work(&self, name: &str) -> Option<Work>;

    /// Calls a tool; may block. Checks `cancel` periodically.
    fn call(&self, request: Request, cancel: &Cancel) -> Outcome;

    /// Calls a tool without blocking. `None` if it would block or if the tool does not support
    /// this: the call then had no effect, and the caller has to use [`Self::call`].
    fn call_nonblocking(&self, request: &Request) -> Option<Answered>;

    /// The folders whose notes are prompts, relative to the vault's root. May block.
    fn prompt_folders(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Tools for Calls {
    fn registry(&self) -> Arc<Registry> {
        self.renew_tools();
        self.tools()
    }

    fn work(&self, name: &str) -> Option<Work> {
        self.renew_tools_for(name);
        let tools = self.tools();
        let tool = tools.get(name)?;
        Some(match tool.tier {
            Tier::Safe if tool.heavy => Work::Search,
            // It waits for a foreign program, so it must not delay changes of the vault.
            Tier::Safe | Tier::Unknown => Work::Read,
            _ => Work::Change,
        })
    }

    fn call(&self, request: Request, cancel: &Cancel) -> Outcome {
        Calls::call(self, request, cancel)
    }

    fn call_nonblocking(&self, request: &Request) -> Option<Answered> {
        Calls::call_nonblocking(self, request)
    }

    fn prompt_folders(&self) -> Vec<String> {
        let own = self.0.tool_settings.load().prompts_folder.clone();
        let folders = tools::prompt_folders(self.context(), own.trim());
        folders.iter().map(ToString::to_string).collect()
    }
}

/// Why work did not complete.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    #[error("the request was cancelled")]
    Cancelled,
    #[error("the request took longer than {seconds} seconds")]
    Late { seconds: u64, progress: Progress },
    /// The work panicked or was aborted; the text says why.
    #[error("the tool stopped unexpectedly")]
    Crashed(String),
    /// The process is shutting down.
    #[error("the steward is shutting down")]
    ShuttingDown,
}

/// The state of work at its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Still in the queue.
    NotBegun,
    /// Begun and cancelled.
    GivenUp,
    /// Begun; it runs to completion.
    GoesOn,
}

impl Stopped {
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Late { progress: Progress::NotBegun, .. } => {
                Some("it was still waiting behind others; try again later")
            }
            Self::Late { progress: Progress::GoesOn, .. } => {
                Some("the change may still be made; check before trying again")
            }
            Self::ShuttingDown => Some("the conversation is saved"),
            Self::Late { .. } | Self::Cancelled | Self::Crashed(_) => None,
        }
    }
}

/// A piece of work in flight, with its kind, deadline and cancellation. Clones share their state.
#[derive(Debug, Clone)]
pub struct Task(Arc<TaskInner>);

#[derive(Debug)]
struct TaskInner {
    work: Work,
    limit: Option<Duration>,
    cancel: Cancel,
    give_up: Notify,
    /// Whether a person is being asked.
    is_asking: AtomicBool,
}

impl Task {
    /// Work of this kind; each step of it may take up to `limit`.
    pub fn new(work: Work, limit: Option<Duration>) -> Self {
        let (cancel, give_up) = (Cancel::default(), Notify::new());
        Self(Arc::new(TaskInner {
            work,
            limit,
            cancel,
            give_up,
            is_asking: AtomicBool::new(false),
        }))
    }

    pub fn cancel_token(&self) -> &Cancel {
        &self.0.cancel
    }

    pub fn is_asking(&self) -> bool {
        self.0.is_asking.load(Ordering::Acquire)
    }

    pub fn cancel(&self) {
        self.0.cancel.cancel();
        self.0.give_up.notify_one();
    }

    /// Handles the caller's disconnection: cancels reads and questions; a running change continues.
    pub fn abandon(&self) {
        if !self.0.work.runs_to_completion() || self.is_asking() {
            self.cancel();
        }
    }

    async fn given_up(&self) {
        self.0.give_up.notified().await;
    }

    fn late(&self, progress: Progress) -> Stopped {
        Stopped::Late { seconds: self.0.limit.unwrap_or_default().as_secs(), progress }
    }
}

/// The queues that all transports of a process share. Clones share their state.
#[derive(Debug, Clone)]
pub struct Runner(Arc<SharedRunner>);

#[derive(Debug)]
struct SharedRunner {
    /// Slots for quick blocking work, first come first served; never more than there are threads.
    reads: Arc<Semaphore>,
    /// Slots for searches, first come first served.
    searches: Arc<Semaphore>,
    /// The single slot for changes, first come first served; waiting for it holds no thread.
    changes: Arc<Semaphore>,
    /// Decides when quick calls run without blocking on the caller's task.
    throttle: Throttle,
    /// Work that runs on a thread, whether or not a caller still waits for it.
    running: Tracker,
    /// Becomes true when the process shuts down.
    closing: watch::Sender<bool>,
}

/// The wait for a slot; its place in the queue is already taken.
type SlotWait = Pin<Box<dyn Future<Output = Option<OwnedSemaphorePermit>> + Send>>;

/// The outcome of one step of a call.
enum Step<T> {
    Done(T),
    Ask(Box<Question>),
}

type Job<T> = Box<dyn FnOnce(&Cancel) -> Result<Step<T>, Stopped> + Send>;

impl Default for Runner {
    fn default() -> Self {
        Self(Arc::new(SharedRunner {
            reads: Arc::new(Semaphore::new(READS)),
            searches: Arc::new(Semaphore::new(cores())),
            changes: Arc::new(Semaphore::new(CHANGES)),
            throttle: Throttle::new(std::time::Instant::now()),
            running: Tracker::default(),
            closing: watch::Sender::new(false),
        }))
    }
}

impl Runner {
    /// Runs blocking work on its own thread. Takes its place in the queue now.
    pub fn run<T, F>(
        &self,
        task: &Task,
        job: F,
    ) -> impl Future<Output = Result<T, Stopped>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&Cancel) -> T + Send + 'static,
    {
        let turn = self.queue(task.0.work);
        let (runner, task) = (self.clone(), task.clone());
        async move { runner.step(&task, Some(turn), job).await }
    }

    /// Calls a tool, and again each time a person has to approve first; `ask` asks the person.
    /// `then` converts the answer for the transport, on the thread that made it. Takes the place in
    /// the queue now.
    pub fn call<T, A, F, M>(
        &self,
        task: &Task,
        tools: Arc<dyn Tools>,
        request: Request,
        ask: A,
        then: M,
    ) -> impl Future<Output = Result<T, Stopped>> + Send + use<T, A, F, M>
    where
        T: Send + 'static,
        A: Fn(&Question) -> F + Send + 'static,
        F: Future<Output = (Decision, Answerer)> + Send,
        M: Fn(Answered) -> T + Send + Sync + 'static,
    {
        let then = Arc::new(then);
        let finish = Arc::clone(&then);
        let first: Job<T> = Box::new(move |cancel| match tools.call(request, cancel) {
            Outcome::Answered(Err(error))
                if error.code == ErrorCode::Cancelled && cancel.is_cancelled() =>
            {
                Err(Stopped::Cancelled)
            }
            Outcome::Answered(answered) => Ok(Step::Done(finish(answered))),
            Outcome::Ask(question) => Ok(Step::Ask(question)),
        });
        let turn = self.queue(task.0.work);
        let (runner, task) = (self.clone(), task.clone());
        async move {
            let (mut job, mut turn) = (first, turn);
            loop {
                let question = match runner.step(&task, Some(turn), job).await?? {
                    Step::Done(done) => return Ok(done),
                    Step::Ask(question) => question,
                };
                task.0.is_asking.store(true, Ordering::Release);
                let (decision, by) = tokio::select! {
                    answer = ask(&question) => answer,
                    () = task.given_up() => (Decision::Withdrawn, Answerer::default()),
                    () = runner.closed() => (Decision::Withdrawn, Answerer::default()),
                };
                task.0.is_asking.store(false, Ordering::Release);
                if decision == Decision::Withdrawn {
                    // The refusal is recorded even if no caller waits for it.
                    let last = Task::new(Work::Read, task.0.limit);
                    let end = move |cancel: &Cancel| drop(question.answer(decision, by, cancel));
                    let _ = runner.step(&last, None, end).await;
                    return Err(Stopped::Cancelled);
                }
                turn = runner.queue(task.0.work);
                let finish = Arc::clone(&then);
                job = Box::new(move |cancel| {
                    Ok(match question.answer(decision, by, cancel) {
                        Outcome::Answered(answered) => Step::Done(finish(answered)),
                        Outcome::Ask(question) => Step::Ask(question),
                    })
                });
            }
        }
    }

    /// Awaits `work` without a thread and without a deadline. Cancelling stops only the wait.
    pub fn wait<W>(
        &self,
        task: &Task,
        work: W,
    ) -> impl Future<Output = Result<W::Output, Stopped>> + Send + use<W>
    where
        W: Future<Output: Send> + Send + 'static,
    {
        let (runner, task) = (self.clone(), task.clone());
        async move {
            tokio::select! {
                done = work => Ok(done),
                () = task.given_up() => Err(Stopped::Cancelled),
                () = runner.closed() => Err(Stopped::ShuttingDown),
            }
        }
    }

    /// Runs a quick call on this task if that is currently allowed and `look` need not block;
    /// returns its result and its duration.
    pub fn run_nonblocking<T>(
        &self,
        look: impl FnOnce() -> Option<T>,
    ) -> Option<(Result<T, Stopped>, Duration)> {
        let started = std::time::Instant::now();
        if !self.0.throttle.may_be(started) {
            return None;
        }
        let looked = catch_unwind(AssertUnwindSafe(look));
        let now = std::time::Instant::now();
        let took = now.saturating_duration_since(started);
        self.0.throttle.took(now, took);
        match looked {
            Ok(looked) => Some((Ok(looked?), took)),
            // The panic handler has logged it.
            Err(_) => Some((Err(Stopped::Crashed("it panicked".to_owned())), took)),
        }
    }

    /// Ends all waits, for a person or for unbounded work.
    pub fn close(&self) {
        self.0.closing.send_replace(true);
    }

    /// Whether the process is shutting down.
    pub fn is_closing(&self) -> bool {
        *self.0.closing.borrow()
    }

    /// Waits until the process shuts down.
    pub async fn closed(&self) {
        // `self` owns the sender, so that the channel stays open.
        let _ = self.0.closing.subscribe().wait_for(|closing| *closing).await;
    }

    /// The work that runs on threads.
    pub fn running(&self) -> &Tracker {
        &self.0.running
    }

    /// Takes a place in the queue for work of this kind. Light work has its own slots, so that it
    /// never waits behind heavy or exclusive work.
    fn queue(&self, work: Work) -> SlotWait {
        let slots = match work {
            Work::Read | Work::Setting => &self.0.reads,
            Work::Search => &self.0.searches,
            Work::Change => &self.0.changes,
        };
        let slot = Arc::clone(slots).acquire_owned();
        // Exempt from tokio's cooperative budget, which could postpone taking the slot.
        let mut wait: SlotWait =
            Box::pin(tokio::task::unconstrained(async move { slot.await.ok() }));
        // Polled once, so that the slot is taken now and not when the waiting task first runs.
        match wait.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(slot) => Box::pin(std::future::ready(slot)),
            Poll::Pending => wait,
        }
    }

    /// Runs one step of the work.
    async fn step<T: Send + 'static>(
        &self,
        task: &Task,
        turn: Option<SlotWait>,
        job: impl FnOnce(&Cancel) -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        let deadline = task.0.limit.map(|limit| Instant::now() + limit);
        let passed = async || match deadline {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        };
        let turn = match turn {
            None => None,
            Some(turn) => tokio::select! {
                turn = turn => turn,
                () = task.given_up() => return Err(Stopped::Cancelled),
                () = passed() => return Err(task.late(Progress::NotBegun)),
            },
        };
        let running = self.0.running.begin();
        let cancel = task.0.cancel.clone();
        let job = move || {
            // The caller may have cancelled before a thread was free.
            let done = (!cancel.is_cancelled()).then(|| job(&cancel));
            // The slot and the count of running work are released when the work ends, not when the
            // wait ends.
            drop((turn, running));
            done
        };
        let done = tokio::task::spawn_blocking(job);
        let completes = task.0.work.runs_to_completion();
        let given_up = async {
            if completes {
                std::future::pending::<()>().await;
            }
            task.given_up().await;
        };
        tokio::select! {
            done = done => match done {
                Ok(done) => done.ok_or(Stopped::Cancelled),
                Err(error) => Err(Stopped::Crashed(error.to_string())),
            },
            () = given_up => Err(Stopped::Cancelled),
            () = passed() => {
                task.0.cancel.cancel();
                let progress = if completes { Progress::GoesOn } else { Progress::GivenUp };
                Err(task.late(progress))
            }
        }
    }
}

/// The least number of blocking threads for a runtime with a [`Runner`].
///
/// Each kind of work has fewer slots than there are threads. Waiting for a slot holds no thread, so
/// work of one kind never waits for the threads of another.
pub fn blocking_threads() -> usize {
    READS + cores() + CHANGES + OTHERS
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
