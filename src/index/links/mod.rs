//! The link graph of the whole vault, kept in memory: what every note and canvas links to, and its
//! tags.
//!
//! Kept is what the texts say; where a link leads is decided anew at each question ([`resolver`]),
//! since one new file can turn many links. So nothing but the text of a file ever makes what is
//! kept of it stale, and a question about backlinks only looks at links of the right name.
//!
//! Built at the first question by reading every source in parallel; from then on the vault's own
//! changes say which files to read again. Before an answer the size and time of each file it rests
//! on are compared with the disk; where the vault is not watched, those of all files are.
//! Bounded: files over the vault's limit are left out, and of one file no more than
//! [`record::MAX_LINKS`] links; what was left out is counted ([`Summary`]).
//!
//! Invariant: nobody waits for anything of the thread pool while holding the catalogue.
//!
//! In reading order: this page, [`resolver`], [`record`], `graph`, `fresh` (what to read again),
//! `answers`, `parts`; then how links survive a change of names: [`names`], `form`,
//! [`rewrite`], `unknown`.

mod answers;
mod form;
mod fresh;
mod graph;
pub mod names;
mod parts;
pub mod record;
pub mod resolver;
pub mod rewrite;
mod unknown;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

pub use answers::{Backlinks, Doubtful, Lead, Scope, TagCount};
pub use graph::Summary;
pub use parts::MissingPart;
pub use record::{Form, Gap, Kept, KeptTag};
pub use resolver::Resolution;
pub use unknown::Unknown;

use crate::note::path::VaultPath;
use crate::vault::{Cancel, Vault};
use fresh::Pending;
use graph::Graph;

/// The link graph of a vault. A cheap clone over shared state.
#[derive(Clone)]
pub struct Links(Arc<Inner>);

struct Inner {
    vault: Vault,
    graph: RwLock<Graph>,
    /// Shared with the vault's listener, which must not hold the vault itself.
    pending: Arc<Mutex<Pending>>,
    /// One at a time brings the graph up to date.
    turn: Mutex<()>,
}

/// The caller withdrew before the graph was up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("withdrawn while the links were being read")]
pub struct Withdrawn;

impl Links {
    /// The graph of `vault`; nothing is read yet.
    pub fn new(vault: Vault) -> Self {
        let pending = Arc::new(Mutex::new(Pending::default()));
        let listener = pending.clone();
        vault.subscribe(Box::new(move |change| lock(&listener).hear(change)));
        Self(Arc::new(Inner { vault, graph: RwLock::default(), pending, turn: Mutex::default() }))
    }

    /// Brings the graph up to date, which the first time reads every note. The other questions do
    /// not do it by themselves.
    ///
    /// # Errors
    /// [`Withdrawn`]; what was read by then stays.
    pub fn refresh(&self, cancel: &Cancel) -> Result<(), Withdrawn> {
        let _turn = lock(&self.0.turn);
        fresh::refresh(&self.0.vault, &self.0.graph, &self.0.pending, cancel)
    }

    /// How much is kept, and what is not; counts it all.
    pub fn summary(&self) -> Summary {
        self.graph().summary()
    }

    /// The files whose links are not, or not all, known, by path.
    pub fn gaps(&self) -> Vec<(VaultPath, Gap)> {
        self.graph().gaps()
    }

    fn graph(&self) -> RwLockReadGuard<'_, Graph> {
        self.0.graph.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Links {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Links").finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
