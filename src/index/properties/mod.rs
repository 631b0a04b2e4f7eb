//! The properties and tags of all notes as columns, and the vault as the source of Bases.
//!
//! Built at the first query by reading every note in parallel; from then on the change feed names
//! the notes to read again. Attachments are rows too, without properties. Nothing is saved between
//! runs: reading the notes costs as much as building the link graph. Every distinct name, value and
//! tag is stored once, and a row is a few numbers, so a note with six properties takes less than
//! 300 bytes.
//!
//! A query uses one snapshot: [`VaultSnapshot`] shares the rows, and changes during a query go to a copy.
//!
//! In reading order: this file, `interned`, `rows`, `reading`, [`snapshot`].

mod interned;
mod reading;
mod rows;
pub mod snapshot;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use super::changes::Feed;
use super::knowledge::Knowledge;
use super::links::Links;
use super::synced::{Cancelled, Synced};
use crate::locks::lock;
use crate::note::path::VaultPath;
use crate::vault::{Cancel, Vault};
use rows::Table;
pub use snapshot::VaultSnapshot;

/// Why a note's properties could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotRead {
    /// It exceeds the limit of files that are read whole.
    TooLarge,
    /// It is binary, or in an encoding other than UTF-8 and UTF-16.
    NotText,
    Unreadable,
    /// Its frontmatter is not valid YAML or not a mapping.
    NotYaml,
}

/// The property index of a vault. Clones share it.
#[derive(Clone)]
pub struct Properties(Arc<SharedProperties>);

struct SharedProperties {
    synced: Synced<Table>,
    /// Serialises updates, so that the rows are not used while types change.
    turn: Mutex<()>,
    /// For `file.similarity`.
    knowledge: Knowledge,
}

impl Properties {
    /// Creates the index of `vault` without reading anything.
    pub(super) fn new(vault: Vault, feed: &Feed, knowledge: Knowledge) -> Self {
        let synced = Synced::new(vault, feed);
        Self(Arc::new(SharedProperties { synced, turn: Mutex::default(), knowledge }))
    }

    /// An updated snapshot of the vault in the view of `vault`; the first one reads every note.
    /// `links` is the graph of the same vault; it is updated at its first use.
    pub fn snapshot<'a>(
        &self,
        vault: &'a Vault,
        links: &'a Links,
        cancel: &'a Cancel,
    ) -> Result<VaultSnapshot<'a>, Cancelled> {
        let synced = &self.0.synced;
        let _turn = lock(&self.0.turn);
        let types = synced.vault.property_types();
        let is_typed_so = synced.table().types() == &*types;
        if !is_typed_so {
            synced.reset(Table::of(types));
        }
        let is_first = synced.table().is_empty();
        synced.refresh(cancel)?;
        if is_first {
            synced.table_mut().shrink_to_fit();
        }
        let rows = synced.table().share();
        Ok(VaultSnapshot::new(rows, vault, links, self.0.knowledge.clone(), cancel))
    }

    /// Memory in bytes, without the allocator's overhead.
    pub fn memory(&self) -> usize {
        self.0.synced.table().memory()
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.0.synced.table().is_empty()
    }
}

debug_only!(Properties);

/// Visible notes whose properties could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gaps {
    pub count: usize,
    /// The first by path, with the reason.
    pub first: (VaultPath, NotRead),
}
