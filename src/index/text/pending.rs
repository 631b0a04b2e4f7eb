//! What the vault told of since the table was last brought up to date.

use std::collections::HashSet;

use super::table::{Stamp, Table};
use crate::note::path::VaultPath;
use crate::vault::{ChangeKind, Entry, Kind, Vault, VaultChange};

/// Changes remembered one by one; beyond, every note is read again.
const MAX_CHANGES: usize = 200_000;

/// Renamed folders remembered one by one.
const MAX_FOLDERS: usize = 64;

/// Changes in no order: what is there now counts.
#[derive(Debug, Default)]
pub(super) struct Pending {
    files: HashSet<VaultPath>,
    /// All that is in these.
    folders: Vec<VaultPath>,
    everything: bool,
}

impl Pending {
    /// Takes in a change of the vault.
    pub fn hear(&mut self, change: &VaultChange) {
        if let ChangeKind::Renamed { from } = &change.kind {
            self.touch(from, change.entry);
            self.touch(&change.path, change.entry);
        } else if change.entry != Kind::Folder {
            // What is in a folder that is new or gone is told file by file.
            self.touch(&change.path, change.entry);
        }
    }

    fn touch(&mut self, path: &VaultPath, entry: Kind) {
        if entry == Kind::Folder {
            self.folders.push(path.clone());
        } else if path.is_note() {
            self.files.insert(path.clone());
        }
        if self.files.len() > MAX_CHANGES || self.folders.len() > MAX_FOLDERS {
            *self = Self { everything: true, ..Self::default() };
        }
    }

    pub fn is_empty(&self) -> bool {
        !self.everything && self.files.is_empty() && self.folders.is_empty()
    }

    /// Which notes to take for changed, with what the catalogue says of them. What was told of has
    /// changed, though its size and time may be the same.
    pub fn changes(self, vault: &Vault, table: &Table) -> Vec<(VaultPath, Option<Stamp>)> {
        let folders = if self.everything { vec![VaultPath::root()] } else { self.folders };
        let mut paths = self.files;
        if !folders.is_empty() {
            let known = table.notes().map(|(_, note)| note.path);
            let below = known.filter(|path| folders.iter().any(|folder| path.is_within(folder)));
            paths.extend(below.map(|path| path.to_path()));
        }
        let catalogue = vault.catalogue();
        for folder in &folders {
            let notes = catalogue.within(folder).filter(|entry| is_note(entry));
            paths.extend(notes.map(|entry| entry.path().to_path()));
        }
        let stamp = |path: &VaultPath| {
            let entry = catalogue.get(path.as_str()).filter(|entry| is_note(entry))?;
            Some((entry.size, entry.modified))
        };
        paths.into_iter().map(|path| (path.clone(), stamp(&path))).collect()
    }
}

/// Whether the index keeps it.
pub(super) fn is_note(entry: &Entry) -> bool {
    entry.kind == Kind::File && !entry.unnameable && entry.path().is_note()
}
