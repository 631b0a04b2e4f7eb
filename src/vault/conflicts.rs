//! Conflict copies of sync programs among the vault's files; see [`crate::note::conflict`].

use super::{Catalogue, Kind, Vault};
use crate::note::conflict;
use crate::note::fold::fold_key;
use crate::note::path::VaultPath;

impl Catalogue {
    /// The file that the one at `path` is a conflict copy of, by its name; it may be gone.
    pub fn conflict_of(&self, path: &VaultPath) -> Option<VaultPath> {
        let found = conflict::original_of(path.name())?;
        let folder = path.parent().unwrap_or_else(VaultPath::root);
        let original = folder.join(&found.original)?;
        let there = self.get(original.as_str());
        let there = there.or_else(|| self.folded(&fold_key(original.as_str())).into_iter().next());
        match there.filter(|entry| entry.kind == Kind::File) {
            Some(entry) => Some(entry.path().clone()),
            None => found.is_certain.then_some(original),
        }
    }

    /// Every conflict copy with the file it is a copy of, by path.
    pub fn conflicts(&self) -> impl Iterator<Item = (&VaultPath, VaultPath)> {
        self.files().filter_map(|path| Some((path, self.conflict_of(path)?)))
    }
}

impl Vault {
    /// Every conflict copy of the vault with the file it is a copy of, by path.
    pub fn conflicts(&self) -> Vec<(VaultPath, VaultPath)> {
        let catalogue = self.catalogue();
        catalogue.conflicts().map(|(path, original)| (path.clone(), original)).collect()
    }
}
