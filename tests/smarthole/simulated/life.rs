//! One life of the program, and the point at which it is killed.
//!
//! Points are passed before and after each commit of the store, and whenever the simulated
//! environment does something. Whatever reaches the last point stops there, and nothing of the
//! program runs any more; a commit in progress on another thread may still complete, as in a real
//! kill.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Once};

use tokio::sync::Notify;
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Metadata};

pub struct Life {
    passed: AtomicU64,
    last: Option<u64>,
    is_dead: AtomicBool,
    dies: Notify,
    is_over: (Mutex<bool>, Condvar),
}

impl Life {
    /// One that is killed at this point, or never.
    pub fn until(last: Option<u64>) -> Arc<Self> {
        WATCH.call_once(|| {
            tracing::subscriber::set_global_default(Commits).expect("nobody else listens");
        });
        Arc::new(Self {
            passed: AtomicU64::new(0),
            last,
            is_dead: AtomicBool::new(false),
            dies: Notify::new(),
            is_over: (Mutex::new(false), Condvar::new()),
        })
    }

    fn dies_here(&self) -> bool {
        let passed = self.passed.fetch_add(1, Ordering::SeqCst);
        if self.last.is_some_and(|last| passed >= last) {
            self.is_dead.store(true, Ordering::SeqCst);
            self.dies.notify_one();
        }
        self.is_dead.load(Ordering::SeqCst)
    }

    /// A point of the world's.
    pub async fn pass(&self) {
        if self.dies_here() {
            std::future::pending::<()>().await;
        }
    }

    /// A point on a thread that blocks.
    fn pass_blocking(&self) {
        if !self.dies_here() {
            return;
        }
        let mut is_over = self.is_over.0.lock().unwrap();
        while !*is_over {
            is_over = self.is_over.1.wait(is_over).unwrap();
        }
        drop(is_over);
        std::panic::resume_unwind(Box::new("killed"));
    }

    /// Waits for the kill.
    pub async fn killed(&self) {
        self.dies.notified().await;
    }

    /// Releases the threads that stopped at a point: their work has no effect.
    pub fn end(&self) {
        self.is_dead.store(true, Ordering::SeqCst);
        *self.is_over.0.lock().unwrap() = true;
        self.is_over.1.notify_all();
    }

    pub fn passed(&self) -> u64 {
        self.passed.load(Ordering::SeqCst)
    }

    /// Makes this thread's commits points of this life.
    pub fn enter(self: &Arc<Self>) {
        LIFE.with_borrow_mut(|life| *life = Some(Arc::clone(self)));
    }
}

static WATCH: Once = Once::new();

thread_local! {
    static LIFE: RefCell<Option<Arc<Life>>> = const { RefCell::new(None) };
}

/// Receives commits.
struct Commits;

impl tracing::Subscriber for Commits {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "vault_steward::store::database" && *metadata.level() == Level::TRACE
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        if let Some(life) = LIFE.with_borrow(Clone::clone) {
            life.pass_blocking();
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
