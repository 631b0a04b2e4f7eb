//! The history of added and removed names, so that only conclusions from these names are drawn
//! again.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Catalogue, last};

/// This many changes are kept beyond a quarter of the rows.
const MIN_KEPT: usize = 1_024;

/// A moment in the history of a vault's names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NamesAt {
    /// Numbers the histories of all catalogues of the process; the empty one has none.
    history: u64,
    changes: usize,
}

/// The rows that were added, removed or became another kind, in order.
#[derive(Default)]
pub(super) struct NameHistory {
    number: u64,
    rows: Vec<u32>,
}

impl NameHistory {
    /// An empty history: earlier moments are unknown.
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        Self { number: NUMBER.fetch_add(1, Ordering::Relaxed), rows: Vec::new() }
    }
}

impl Catalogue {
    /// The present moment.
    pub fn names_at(&self) -> NamesAt {
        NamesAt { history: self.names.number, changes: self.names.rows.len() }
    }

    /// The names of the entries that came, went or became another kind since then; `None` if that is not known.
    pub fn names_since(&self, then: NamesAt) -> Option<impl Iterator<Item = &str>> {
        let rows =
            self.names.rows.get(then.changes..).filter(|_| then.history == self.names.number);
        Some(rows?.iter().map(|row| last(self.path(*row))))
    }

    pub(super) fn note_name(&mut self, row: u32) {
        if self.names.rows.len() > self.rows.len() / 4 + MIN_KEPT {
            self.names = NameHistory::new();
        }
        self.names.rows.push(row);
    }
}
