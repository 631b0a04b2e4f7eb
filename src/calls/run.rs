//! Work for every door: each kind in its own queue, under a deadline, and to be given up.
//!
//! A door says what is to be done and gets what came of it as a value; what that is on its wire is
//! its own affair. A place in the queue is taken when the work is handed over, so that changes are
//! made in the order they were asked for. Where a person has to agree first, waiting for them holds
//! no turn and no thread, and counts for no deadline.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use super::glances::Glances;
use super::tracker::Tracker;
use super::{Answerer, Calls, Decision, Outcome, Question, Request};
use crate::note::code::ErrorCode;
use crate::tools::{Answer, Facts, Registry, Tier, ToolError};
use crate::vault::Cancel;

/// Quick calls that may be at it at a time: enough that a few slow disks do not hold up the others, and
/// bounded, so that a flood of calls is a queue and not a flood of threads.
const READS: usize = 32;

/// Changes at a time: they are made one after another in any case.
const CHANGES: usize = 1;

/// Threads for what else blocks in the process: what the agent and the other doors keep and look up.
const OTHERS: usize = 16;

/// How work is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Reads, and is quick: runs at once, is given up with its caller.
    Read,
    /// Reads a lot: as many at a time as there are cores, first come first served; is given up
    /// with its caller.
    Search,
    /// Changes something: one at a time, in the order they were asked for; once begun it runs to
    /// its end, whatever becomes of its caller.
    Change,
    /// Changes a setting or a conversation, not the vault: runs at once, so that no queue of changes
    /// keeps a person from it; once begun it runs to its end.
    Setting,
}

impl Work {
    /// Whether it is done to its end once it has begun, whatever becomes of its caller.
    #[must_use]
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Change | Self::Setting)
    }
}

/// What a tool answered.
pub type Answered = Result<Answer<Facts>, ToolError>;

/// The tools of one vault, as a door calls them.
pub trait Tools: Send + Sync + 'static {
    /// All tools that can be called.
    fn registry(&self) -> Arc<Registry>;

    /// How to treat calls of the tool `name`; `None` where there is no such tool.
    fn work(&self, name: &str) -> Option<Work>;

    /// Calls a tool, on a thread that may block. Looks at `cancel` now and then.
    fn call(&self, request: Request, cancel: &Cancel) -> Outcome;

    /// The same on a thread that must not wait. `None` where it would have to, or where it is none of
    /// the tools that are tried so: nothing has come of it then, and it is to be called.
    fn glance(&self, request: &Request) -> Option<Answered>;
}

impl Tools for Calls {
    fn registry(&self) -> Arc<Registry> {
        self.tools()
    }

    fn work(&self, name: &str) -> Option<Work> {
        let tools = self.tools();
        let tool = tools.get(name)?;
        Some(match tool.tier {
            Tier::Safe if tool.heavy => Work::Search,
            Tier::Safe => Work::Read,
            _ => Work::Change,
        })
    }

    fn call(&self, request: Request, cancel: &Cancel) -> Outcome {
        Calls::call(self, request, cancel)
    }

    fn glance(&self, request: &Request) -> Option<Answered> {
        Calls::glance(self, request)
    }
}

/// Why work came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// Its caller gave it up.
    #[error("the request was cancelled")]
    Cancelled,
    /// Its deadline passed.
    #[error("the request took longer than {seconds} seconds")]
    Late {
        /// How long it might have taken.
        seconds: u64,
        /// How far it was.
        progress: Progress,
    },
    /// It broke, with these words.
    #[error("the tool broke off")]
    BrokeOff(String),
    /// The process ends, and nobody waits on.
    #[error("the steward ends")]
    Ending,
}

/// How far work was at its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It was waiting for its turn.
    NotBegun,
    /// It had begun, and is given up.
    GivenUp,
    /// It had begun, and goes on to its end.
    GoesOn,
}

impl Stopped {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Late { progress: Progress::NotBegun, .. } => {
                Some("it had not begun: others of its kind came first; try again later")
            }
            Self::Late { progress: Progress::GoesOn, .. } => {
                Some("the change may still be made; look before trying again")
            }
            Self::Ending => Some("what was said is kept"),
            Self::Late { .. } | Self::Cancelled | Self::BrokeOff(_) => None,
        }
    }
}

/// One piece of work in flight: its kind, its deadline, and the way to give it up. A clone is the same.
#[derive(Debug, Clone)]
pub struct Task(Arc<TaskInner>);

#[derive(Debug)]
struct TaskInner {
    work: Work,
    limit: Option<Duration>,
    cancel: Cancel,
    give_up: Notify,
    /// Whether it waits for a person.
    is_asking: AtomicBool,
}

impl Task {
    /// Work of this kind; each step of it may take as long as `limit`.
    #[must_use]
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

    /// What tells the work that it was given up.
    #[must_use]
    pub fn cancelled(&self) -> &Cancel {
        &self.0.cancel
    }

    /// Whether it waits for a person.
    #[must_use]
    pub fn is_asking(&self) -> bool {
        self.0.is_asking.load(Ordering::Acquire)
    }

    /// Its caller no longer wants it.
    pub fn cancel(&self) {
        self.0.cancel.cancel();
        self.0.give_up.notify_one();
    }

    /// Its caller is gone: what only reads is given up, and so is a question to a person; a change
    /// goes on.
    pub fn abandon(&self) {
        if !self.0.work.is_finished() || self.is_asking() {
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

/// The queues that all doors of a process share. A clone is the same.
#[derive(Debug, Clone)]
pub struct Runner(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Turns for quick work that blocks, first come first served; never more than there are threads
    /// for.
    reads: Arc<Semaphore>,
    /// Turns for searches, first come first served.
    searches: Arc<Semaphore>,
    /// The one turn for changes, first come first served: one that waits here costs no thread.
    changes: Arc<Semaphore>,
    /// When quick calls are done where they were asked for.
    glances: Glances,
    /// Work that runs on some thread, whether or not someone still waits for it.
    running: Tracker,
    /// Turns true once, when the process ends.
    closing: watch::Sender<bool>,
}

/// The wait for a turn, its place in the queue taken.
type Turn = Pin<Box<dyn Future<Output = Option<OwnedSemaphorePermit>> + Send>>;

/// What one step of a call came to.
enum Step<T> {
    Done(T),
    Ask(Box<Question>),
}

type Job<T> = Box<dyn FnOnce(&Cancel) -> Result<Step<T>, Stopped> + Send>;

impl Default for Runner {
    fn default() -> Self {
        Self(Arc::new(Inner {
            reads: Arc::new(Semaphore::new(READS)),
            searches: Arc::new(Semaphore::new(cores())),
            changes: Arc::new(Semaphore::new(CHANGES)),
            glances: Glances::new(std::time::Instant::now()),
            running: Tracker::default(),
            closing: watch::Sender::new(false),
        }))
    }
}

impl Runner {
    /// Does work that blocks, on a thread of its own. Its place in the queue is taken now.
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

    /// Calls a tool, and once more for each time that a person has to agree first, of whom it is
    /// asked by `ask`; `then` makes of the answer what the door wants, on the thread that has it. Its
    /// place in the queue is taken now.
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
                    // Its end is still written down, whoever wants to hear of it.
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

    /// Waits for something that takes as long as it takes, holding no thread and under no deadline.
    /// Giving up the wait changes nothing but that.
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
                () = runner.closed() => Err(Stopped::Ending),
            }
        }
    }

    /// Does a quick call here and now, where that is allowed at the moment and `look` need not wait;
    /// what came of it, and how long it took.
    pub fn glance<T>(
        &self,
        look: impl FnOnce() -> Option<T>,
    ) -> Option<(Result<T, Stopped>, Duration)> {
        let begun = std::time::Instant::now();
        if !self.0.glances.may_be(begun) {
            return None;
        }
        let seen = catch_unwind(AssertUnwindSafe(look));
        let now = std::time::Instant::now();
        let took = now.saturating_duration_since(begun);
        self.0.glances.took(now, took);
        match seen {
            Ok(seen) => Some((Ok(seen?), took)),
            // The panic has said it in the log.
            Err(_) => Some((Err(Stopped::BrokeOff("it panicked".to_owned())), took)),
        }
    }

    /// Nothing waits on from now on: for a person, or for what takes as long as it takes.
    pub fn close(&self) {
        self.0.closing.send_replace(true);
    }

    /// Whether the process ends.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        *self.0.closing.borrow()
    }

    /// Waits until the process ends.
    pub async fn closed(&self) {
        // The sender is ours, so it is there.
        let _ = self.0.closing.subscribe().wait_for(|closing| *closing).await;
    }

    /// Work that runs on some thread.
    #[must_use]
    pub fn running(&self) -> &Tracker {
        &self.0.running
    }

    /// A place in the queue for work of this kind. What is light has turns of its own, so that it
    /// never queues behind what is heavy or must be alone.
    fn queue(&self, work: Work) -> Turn {
        let turns = match work {
            Work::Read | Work::Setting => &self.0.reads,
            Work::Search => &self.0.searches,
            Work::Change => &self.0.changes,
        };
        let turn = Arc::clone(turns).acquire_owned();
        // Not counted against the caller's share of the thread, which would put off taking the place.
        let mut turn: Turn = Box::pin(tokio::task::unconstrained(async move { turn.await.ok() }));
        // Asked once, so that the place is taken now and not when the task that waits is first run.
        match turn.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Box::pin(std::future::ready(turn)),
            Poll::Pending => turn,
        }
    }

    /// One step of the work.
    async fn step<T: Send + 'static>(
        &self,
        task: &Task,
        turn: Option<Turn>,
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
            // A caller may give up before a thread is free.
            let done = (!cancel.is_cancelled()).then(|| job(&cancel));
            // The turn and the place among the running end with the work, not with the waiting.
            drop((turn, running));
            done
        };
        let done = tokio::task::spawn_blocking(job);
        let is_finished = task.0.work.is_finished();
        let given_up = async {
            if is_finished {
                std::future::pending::<()>().await;
            }
            task.given_up().await;
        };
        tokio::select! {
            done = done => match done {
                Ok(done) => done.ok_or(Stopped::Cancelled),
                Err(error) => Err(Stopped::BrokeOff(error.to_string())),
            },
            () = given_up => Err(Stopped::Cancelled),
            () = passed() => {
                task.0.cancel.cancel();
                let progress = if is_finished { Progress::GoesOn } else { Progress::GivenUp };
                Err(task.late(progress))
            }
        }
    }
}

/// How many threads for work that blocks a runtime with a [`Runner`] in it has to have at the least.
///
/// There are fewer turns than threads, of each kind of work: what waits for a turn costs no thread, so
/// that work of one kind never waits for a thread because of another's.
#[must_use]
pub fn blocking_threads() -> usize {
    READS + cores() + CHANGES + OTHERS
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
