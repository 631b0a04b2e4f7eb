//! Counts, in tests, how far scans look ahead: a scan that every opener of a text repeats makes
//! parsing quadratic, and one such note would block everything.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts steps of a scan that could be repeated over the same bytes.
#[inline]
pub(in crate::note) fn count(steps: usize) {
    #[cfg(test)]
    STEPS.with(|all| all.set(all.get() + steps));
    #[cfg(not(test))]
    let _ = steps;
}

/// The steps of this thread since the last call.
#[cfg(test)]
pub(in crate::note) fn steps() -> usize {
    STEPS.with(|all| all.replace(0))
}
