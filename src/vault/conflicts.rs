//! Conflict copies of sync programs among the vault's files; see [`crate::note::conflict`].

use super::{Catalogue, Kind, Vault};
use crate::note::conflict;
use crate::note::fold::fold_key;
use crate::note::path::{PathRef, VaultPath};

impl Catalogue {
    /// The file that the one at `path` is a conflict copy of, by its name; it may be gone.
    pub fn conflict_of<'p>(&self, path: impl Into<PathRef<'p>>) -> Option<VaultPath> {
        let path = path.into();
        let found = conflict::original_of(path.name())?;
        let folder = path.parent().map_or_else(VaultPath::root, PathRef::to_path);
        let original = folder.join(&found.original)?;
        let there = self.get(original.as_str());
        let there = there.or_else(|| self.folded(&fold_key(original.as_str())).into_iter().next());
        match there.filter(|entry| entry.kind == Kind::File) {
            Some(entry) => Some(entry.path().to_path()),
            None => found.is_certain.then_some(original),
        }
    }

    /// Every conflict copy with the file it is a copy of, by path.
    pub fn conflicts(&self) -> impl Iterator<Item = (PathRef<'_>, VaultPath)> {
        self.files().filter_map(|path| Some((path, self.conflict_of(path)?)))
    }
}

impl Vault {
    /// Every conflict copy of the vault with the file it is a copy of, by path.
    pub fn conflicts(&self) -> Vec<(VaultPath, VaultPath)> {
        let catalogue = self.catalogue();
        catalogue.conflicts().map(|(path, original)| (path.to_path(), original)).collect()
    }
}
