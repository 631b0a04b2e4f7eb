//! Polls a connection again at once when it woke itself.
//!
//! An HTTP connection wakes its own task several times a request: the handler requests the body,
//! and the reader passes it on. Each wake-up would take another round in the runtime's queue and
//! wake a second thread, which takes over the connection.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// The most polls in a row, so that one connection does not starve others.
const MAX_POLLS: usize = 8;

/// Not being polled: a wake-up is for the task.
const IDLE: u8 = 0;
/// Being polled.
const POLLED: u8 = 1;
/// Woken since the poll began.
const WOKEN: u8 = 2;

/// A future that is polled again at once when it was woken during its poll.
pub struct Repoll<F> {
    future: Pin<Box<F>>,
    wakes: Arc<Wakes>,
    waker: Waker,
}

#[derive(Default)]
struct Wakes {
    state: AtomicU8,
    task: AtomicWaker,
}

impl<F> Repoll<F> {
    /// Wraps `future`.
    pub fn new(future: F) -> Self {
        let wakes = Arc::<Wakes>::default();
        let waker = Waker::from(Arc::clone(&wakes));
        Self { future: Box::pin(future), wakes, waker }
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.swap(WOKEN, Ordering::AcqRel) == IDLE {
            self.task.wake();
        }
    }
}

impl<F: Future> Future for Repoll<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { future, wakes, waker } = &mut *self;
        wakes.task.register(context.waker());
        for _ in 0..MAX_POLLS {
            wakes.state.swap(POLLED, Ordering::AcqRel);
            if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(waker)) {
                return Poll::Ready(done);
            }
            let is_woken = wakes.state.swap(IDLE, Ordering::AcqRel) == WOKEN;
            if !is_woken {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// A task that counts how often it is woken.
    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Wakes itself in each of its first polls.
    async fn wakes_itself(mut times: usize) {
        poll_fn(|context| {
            if times == 0 {
                return Poll::Ready(());
            }
            times -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    #[test]
    fn a_future_that_wakes_itself_is_polled_again_without_its_task() {
        let task = Arc::<Task>::default();
        let waker = Waker::from(Arc::clone(&task));
        let mut context = Context::from_waker(&waker);
        let mut future = Repoll::new(wakes_itself(MAX_POLLS - 1));
        assert!(Pin::new(&mut future).poll(&mut context).is_ready());
        assert_eq!(task.0.load(Ordering::Relaxed), 0);
        // An endless sequence of wake-ups yields.
        let mut future = Repoll::new(wakes_itself(MAX_POLLS));
        assert!(Pin::new(&mut future).poll(&mut context).is_pending());
        assert_eq!(task.0.load(Ordering::Relaxed), 1);
        assert!(Pin::new(&mut future).poll(&mut context).is_ready());
    }

    #[test]
    fn a_wake_up_between_two_polls_reaches_the_task() {
        let task = Arc::<Task>::default();
        let waker = Waker::from(Arc::clone(&task));
        let (send, receive) = tokio::sync::oneshot::channel();
        let mut future = Repoll::new(receive);
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(task.0.load(Ordering::Relaxed), 0);
        send.send(()).unwrap();
        assert_eq!(task.0.load(Ordering::Relaxed), 1);
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_ready());
    }
}
