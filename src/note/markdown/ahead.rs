//! How far scans look ahead of where reading is, counted where tests run: a scan that every opener
//! of a text repeats makes the whole quadratic, and one note would hold up everything.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts steps of a scan that may be taken again over the same bytes.
#[inline]
pub(in crate::note) fn count(steps: usize) {
    #[cfg(test)]
    STEPS.with(|all| all.set(all.get() + steps));
    #[cfg(not(test))]
    let _ = steps;
}

/// The steps that this thread has taken since it asked last.
#[cfg(test)]
pub(in crate::note) fn steps() -> usize {
    STEPS.with(|all| all.replace(0))
}
