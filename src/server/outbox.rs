//! The queue of messages to one client. It is bounded, so that a client that does not read costs
//! little and delays no one.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::close::Closing;
use crate::locks::lock;

/// The timeout of one write, and the longest time that a client may leave answers unread while it
/// asks for more.
pub(super) const STUCK_DEADLINE: Duration = Duration::from_secs(10);

/// The queue of one connection. Texts are shared, not copied, between connections.
#[derive(Debug)]
pub struct Outbox {
    state: Mutex<OutboxState>,
    overflowed: AtomicBool,
    /// Notified when the queue shrinks; senders wait here.
    room: Notify,
    /// Notified on overflow; a writer waiting in a write listens here.
    cut: Notify,
    max_messages: usize,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct OutboxState {
    queue: VecDeque<Utf8Bytes>,
    bytes: usize,
    /// Messages and bytes of a replay beyond the limits. A replay is bounded by the event buffer,
    /// so it may exceed the limits once; the allowance ends when the queue is empty.
    replayed: (usize, usize),
    closing: Option<Closing>,
    writer: Option<Waker>,
    /// The writer's task is running and will poll the writer before it sleeps.
    writer_runs: bool,
}

/// The writer's next action.
#[derive(Debug)]
pub enum Next {
    Send {
        text: Utf8Bytes,
        /// Whether the queue holds more.
        more: bool,
    },
    /// Everything was sent or dropped: close.
    Close(Closing),
}

impl Outbox {
    /// A queue of at most `max_messages` and `max_bytes`.
    pub fn new(max_messages: usize, max_bytes: usize) -> Self {
        Self {
            state: Mutex::default(),
            overflowed: AtomicBool::new(false),
            room: Notify::new(),
            cut: Notify::new(),
            max_messages,
            max_bytes,
        }
    }

    /// Appends `text`. Never waits: if the queue is full, it is dropped and the connection closed
    /// with 4408, since a client that missed one message has to start over anyway.
    pub fn push(&self, text: Utf8Bytes) {
        let mut state = lock(&self.state);
        if state.closing.is_some() {
            return;
        }
        let full = state.queue.len() + 1 > self.max_messages + state.replayed.0
            || state.bytes + text.len() > self.max_bytes + state.replayed.1;
        // A single message always fits: its size has its own limit.
        if full && !state.queue.is_empty() {
            state.queue.clear();
            state.bytes = 0;
            state.closing = Some(Closing::SLOW);
            self.overflowed.store(true, Ordering::Release);
            self.cut.notify_one();
            self.room.notify_waiters();
        } else {
            state.bytes += text.len();
            state.queue.push_back(text);
        }
        wake_writer(state);
    }

    /// Appends a replay, which may exceed the limits once.
    pub fn push_replay(&self, texts: impl Iterator<Item = Utf8Bytes>) {
        let mut state = lock(&self.state);
        if state.closing.is_some() {
            return;
        }
        let (before, bytes_before) = (state.queue.len(), state.bytes);
        for text in texts {
            state.bytes += text.len();
            state.queue.push_back(text);
        }
        state.replayed.0 += state.queue.len() - before;
        state.replayed.1 += state.bytes - bytes_before;
        wake_writer(state);
    }

    /// Tells whether the writer's task is running, so that it need not be woken; it polls the
    /// writer itself before it sleeps. Waking itself would cost another round and could wake
    /// another thread to take the task over.
    pub fn set_writer_running(&self, is_running: bool) {
        lock(&self.state).writer_runs = is_running;
    }

    /// Closes the connection once the queue is sent. The first reason counts.
    pub fn close(&self, closing: Closing) {
        let mut state = lock(&self.state);
        state.closing.get_or_insert(closing);
        wake_writer(state);
        self.room.notify_waiters();
    }

    /// The client is gone: drops the queue and everything pushed later, so that no caller waits for
    /// room forever.
    pub fn abandon(&self) {
        let mut state = lock(&self.state);
        state.queue.clear();
        state.bytes = 0;
        state.closing.get_or_insert(Closing::GONE);
        wake_writer(state);
        self.room.notify_waiters();
    }

    /// The next action. For the only writer.
    pub async fn next(&self) -> Next {
        poll_fn(|context| {
            let mut state = lock(&self.state);
            if let Some(text) = state.queue.pop_front() {
                state.bytes -= text.len();
                let more = !state.queue.is_empty();
                if !more {
                    state.replayed = (0, 0);
                }
                let has_room = self.has_room(&state);
                drop(state);
                if has_room {
                    self.room.notify_waiters();
                }
                return Poll::Ready(Next::Send { text, more });
            }
            if let Some(closing) = state.closing {
                return Poll::Ready(Next::Close(closing));
            }
            match &mut state.writer {
                Some(writer) => writer.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
            Poll::Pending
        })
        .await
    }

    /// Waits until the queue is at most half full. Used by the reader, so that it takes nothing
    /// more from a client that does not fetch its answers, and by answers, which may be large.
    pub async fn wait_for_room(&self) {
        loop {
            let mut notified = pin!(self.room.notified());
            // Subscribe before checking, so that no change is missed.
            notified.as_mut().enable();
            {
                let state = lock(&self.state);
                if state.closing.is_some() || self.has_room(&state) {
                    return;
                }
            }
            notified.await;
        }
    }

    /// Waits for an overflow. For the only writer.
    pub async fn cut(&self) {
        while !self.overflowed.load(Ordering::Acquire) {
            self.cut.notified().await;
        }
    }

    fn has_room(&self, state: &OutboxState) -> bool {
        state.queue.len() <= self.max_messages / 2 && state.bytes <= self.max_bytes / 2
    }
}

/// Wakes the writer, unless its task will poll it anyway.
fn wake_writer(mut state: MutexGuard<'_, OutboxState>) {
    let writer = if state.writer_runs { None } else { state.writer.take() };
    drop(state);
    if let Some(writer) = writer {
        writer.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Utf8Bytes {
        Utf8Bytes::from(text.to_owned())
    }

    #[tokio::test]
    async fn sends_in_order_then_closes() {
        let outbox = Outbox::new(8, 100);
        outbox.push(text("a"));
        outbox.push(text("b"));
        outbox.close(Closing::SHUTDOWN);
        outbox.push(text("c"));
        let mut seen = String::new();
        let closing = loop {
            match outbox.next().await {
                Next::Send { text, .. } => seen.push_str(&text),
                Next::Close(closing) => break closing,
            }
        };
        assert_eq!((seen.as_str(), closing), ("ab", Closing::SHUTDOWN));
    }

    #[tokio::test]
    async fn overflow_drops_all_and_cuts() {
        for (messages, bytes) in [(2, 100), (100, 2)] {
            let outbox = Outbox::new(messages, bytes);
            for _ in 0..3 {
                outbox.push(text("x"));
            }
            outbox.cut().await;
            assert!(matches!(outbox.next().await, Next::Close(Closing::SLOW)));
        }
    }

    #[tokio::test]
    async fn a_replay_may_exceed_the_limits_once() {
        let outbox = Outbox::new(2, 100);
        outbox.push_replay((0..50).map(|_| text("x")));
        outbox.push(text("y"));
        for _ in 0..51 {
            assert!(matches!(outbox.next().await, Next::Send { .. }));
        }
        for _ in 0..3 {
            outbox.push(text("z"));
        }
        assert!(matches!(outbox.next().await, Next::Close(Closing::SLOW)));
    }
}
