//! Places where the chaos suite may end the process, as a power cut or a kill would.
//!
//! A separate room below all others, since every room that makes something durable has such places.
//! Without the feature `chaos` this room is empty: a call of [`point`] compiles to nothing, and
//! nothing in the environment can stop the program.

/// A place where a crash must do no harm: before and after each step that reaches the disk. `name`
/// says the step, for the report of a run that went wrong.
#[inline]
pub(crate) fn point(name: &'static str) {
    #[cfg(all(feature = "chaos", unix))]
    armed::pass(name);
    #[cfg(not(all(feature = "chaos", unix)))]
    let _ = name;
}

/// A step that reaches the disk, with a point before and one after it.
#[inline]
pub(crate) fn step<T>(name: &'static str, step: impl FnOnce() -> T) -> T {
    point(name);
    let done = step();
    point(name);
    done
}

#[cfg(all(feature = "chaos", unix))]
pub use armed::{arm, passed};

#[cfg(all(feature = "chaos", unix))]
mod armed {
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Points passed since the process began, or since [`arm`].
    static PASSED: AtomicU64 = AtomicU64::new(0);

    /// The point at which to die; 0: none.
    static DIE_AT: AtomicU64 = AtomicU64::new(0);

    /// Kills the process at the `at`-th point that it passes from now on; 0: never. Restarts the
    /// count.
    pub fn arm(at: u64) {
        PASSED.store(0, Ordering::SeqCst);
        DIE_AT.store(at, Ordering::SeqCst);
    }

    /// How many points were passed since [`arm`].
    pub fn passed() -> u64 {
        PASSED.load(Ordering::SeqCst)
    }

    pub(super) fn pass(name: &'static str) {
        let here = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
        if here == DIE_AT.load(Ordering::SeqCst) {
            // One write, so that the line stays whole among other output.
            eprintln!("chaos: killed at point {here}, {name}");
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
            // Nothing may happen between the signal and its arrival.
            loop {
                std::thread::park();
            }
        }
    }
}
