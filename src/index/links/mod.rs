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

use std::sync::{Arc, RwLockReadGuard};

pub use answers::{Backlinks, Doubtful, Lead, Scope, TagCount};
pub use fresh::Withdrawn;
pub use graph::Summary;
pub use parts::MissingPart;
pub use record::{Form, Gap, Kept, KeptTag};
pub use resolver::Resolution;
pub use unknown::Unknown;

use super::changes::Feed;
use crate::note::path::VaultPath;
use crate::vault::{Cancel, Vault};
use fresh::Fresh;
use graph::Graph;

/// The link graph of a vault. A cheap clone over shared state.
#[derive(Clone)]
pub struct Links(Arc<Fresh>);

impl Links {
    /// The graph of `vault`; nothing is read yet.
    pub(super) fn new(vault: Vault, feed: &Feed) -> Self {
        Self(Arc::new(Fresh::new(vault, feed)))
    }

    /// Brings the graph up to date, which the first time reads every note. The other questions do
    /// not do it by themselves.
    ///
    /// # Errors
    /// [`Withdrawn`]; what was read by then stays.
    pub fn refresh(&self, cancel: &Cancel) -> Result<(), Withdrawn> {
        self.0.refresh(cancel)
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
        self.0.graph()
    }
}

impl std::fmt::Debug for Links {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Links").finish_non_exhaustive()
    }
}
