//! A look by a thread that must not wait, since others depend on it.
//!
//! Within [`at_a_glance`] nothing of this room waits for a disk or for another thread, or does much:
//! names and texts come from what the system has in memory (`dir` asks it for no more), and where
//! that is not enough the look breaks off. What it gave is then worth nothing, and whoever wanted it
//! looks again on a thread that may wait. So a slow disk costs nobody anything but whoever asks it.

use std::cell::Cell;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// This thread may wait.
    None,
    /// It must not, and had no need to so far.
    On,
    /// It must not, and would have had to.
    Broken,
}

thread_local! {
    static STATE: Cell<State> = const { Cell::new(State::None) };
}

/// Gives the thread back what it was allowed, also where the look ends in a panic.
struct Before(State);

impl Drop for Before {
    fn drop(&mut self) {
        STATE.set(self.0);
    }
}

/// Does `look` without waiting; `None` where it would have had to. It must not hand work to other
/// threads, which know nothing of it.
pub fn at_a_glance<T>(look: impl FnOnce() -> T) -> Option<T> {
    let _before = Before(STATE.replace(State::On));
    let seen = look();
    (STATE.get() == State::On).then_some(seen)
}

/// To be asked before anything that may take long: whether it is to be left, since this is a glance,
/// which thereby is broken off.
pub fn would_wait() -> bool {
    let is_glance = STATE.get() != State::None;
    if is_glance {
        STATE.set(State::Broken);
    }
    is_glance
}

/// Whether this thread must not wait now.
pub(super) fn is_on() -> bool {
    STATE.get() != State::None
}

/// Whether a glance was broken off, so that nothing of it counts.
pub fn is_broken() -> bool {
    STATE.get() == State::Broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_would_wait_gives_nothing_and_ends_with_itself() {
        assert!(!would_wait(), "outside of a glance anything may take its time");
        assert_eq!(at_a_glance(|| 1), Some(1));
        assert_eq!(at_a_glance(|| (would_wait(), is_broken())), None);
        let panicked = std::panic::catch_unwind(|| at_a_glance(|| panic!("as the test wants")));
        assert!(panicked.is_err());
        assert!(!is_on() && !is_broken());
    }
}
