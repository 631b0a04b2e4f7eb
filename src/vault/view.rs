//! What a caller may see of the vault: all of it, or some folders.
//!
//! Asked with real paths, as they are spelt on disk and free of links: what a path means is found
//! first, then whether it may be seen. A folder on the way to one that may be seen is seen too,
//! as a way, with nothing else in it.

use std::sync::Arc;

use crate::note::path::{PathRef, VaultPath};

/// Some folders of the vault, or all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View(Option<Arc<[VaultPath]>>);

impl View {
    /// These folders with what is in them; none means that nothing is seen.
    pub fn of(mut folders: Vec<VaultPath>) -> Self {
        folders.sort();
        folders.dedup();
        let all = folders.clone();
        folders.retain(|one| !all.iter().any(|other| other != one && one.is_within(other)));
        Self(Some(folders.into()))
    }

    /// Whether all of the vault can be seen.
    pub fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// Whether this can be seen, as part of a folder or on the way to one.
    pub fn shows<'p>(&self, path: impl Into<PathRef<'p>>) -> bool {
        let Some(folders) = &self.0 else { return true };
        let path = path.into();
        folders.iter().any(|folder| path.is_within(folder) || folder.is_within(path))
    }

    /// Whether all that is in this folder can be seen.
    pub fn holds(&self, path: &VaultPath) -> bool {
        let Some(folders) = &self.0 else { return true };
        folders.iter().any(|folder| path.is_within(folder))
    }

    /// What of this folder can be seen whole: itself, or folders in it.
    pub fn parts(&self, folder: &VaultPath) -> Vec<VaultPath> {
        match &self.0 {
            Some(folders) if !self.holds(folder) => {
                folders.iter().filter(|one| one.is_within(folder)).cloned().collect()
            }
            _ => vec![folder.clone()],
        }
    }
}
