//! Non-blocking access, for a thread that serves others and must not wait.
//!
//! Within [`attempt`] nothing in this room waits for a disk, a lock or another thread: names and
//! texts come from the kernel's caches alone (see `dir`). If those do not suffice, the attempt is
//! aborted, its result is discarded, and the caller repeats the work on a thread that may block. So
//! a slow disk delays only requests that need it.

use std::cell::Cell;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Restriction {
    /// This thread may block.
    Off,
    /// It must not, and has not needed to.
    Active,
    /// It must not, and would have had to.
    Aborted,
}

thread_local! {
    static STATE: Cell<Restriction> = const { Cell::new(Restriction::Off) };
}

/// Restores the thread's state, also when the attempt panics.
struct Restore(Restriction);

impl Drop for Restore {
    fn drop(&mut self) {
        STATE.set(self.0);
    }
}

/// Runs `work` without blocking; `None` if it would have had to block. `work` must not hand
/// anything to other threads, since the state is thread-local.
pub fn attempt<T>(work: impl FnOnce() -> T) -> Option<T> {
    let _restore = Restore(STATE.replace(Restriction::Active));
    let result = work();
    (STATE.get() == Restriction::Active).then_some(result)
}

/// Call before anything that may block: `true` if this thread must not, in which case the attempt
/// is aborted and the caller should return.
pub fn would_block() -> bool {
    if is_active() {
        STATE.set(Restriction::Aborted);
    }
    is_active()
}

/// Whether this thread must not block now.
pub fn is_active() -> bool {
    STATE.get() != Restriction::Off
}

/// Whether the current attempt was aborted, so that its result will be discarded.
pub fn is_aborted() -> bool {
    STATE.get() == Restriction::Aborted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_that_would_block_gives_nothing_and_restores_the_state() {
        assert!(!would_block(), "outside an attempt anything may block");
        assert_eq!(attempt(|| 1), Some(1));
        assert_eq!(attempt(|| (would_block(), is_aborted())), None);
        let panicked = std::panic::catch_unwind(|| attempt(|| panic!("as the test wants")));
        assert!(panicked.is_err());
        assert!(!is_active() && !is_aborted());
    }
}
