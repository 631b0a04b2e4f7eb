//! The part of the vault that a caller may see: all of it, or some folders.
//!
//! Checked on real paths, spelt as on disk and free of links, so paths are resolved first. The
//! ancestors of a visible folder are visible too, without their other entries.

use std::sync::Arc;

use crate::note::path::{PathRef, VaultPath};

/// Some folders of the vault, or all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View(Option<Arc<[VaultPath]>>);

impl View {
    /// These folders with everything in them; an empty list hides everything.
    pub fn of(mut folders: Vec<VaultPath>) -> Self {
        folders.sort();
        folders.dedup();
        let all = folders.clone();
        folders.retain(|one| !all.iter().any(|other| other != one && one.is_within(other)));
        Self(Some(folders.into()))
    }

    /// Whether nothing is hidden.
    pub fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the path is in a visible folder or is an ancestor of one.
    pub fn shows<'p>(&self, path: impl Into<PathRef<'p>>) -> bool {
        let Some(folders) = &self.0 else { return true };
        let path = path.into();
        folders.iter().any(|folder| path.is_within(folder) || folder.is_within(path))
    }

    /// Whether everything in this folder is visible.
    pub fn holds(&self, path: &VaultPath) -> bool {
        let Some(folders) = &self.0 else { return true };
        folders.iter().any(|folder| path.is_within(folder))
    }

    /// The folder itself if all of it is visible, else the visible folders in it.
    pub fn parts(&self, folder: &VaultPath) -> Vec<VaultPath> {
        match &self.0 {
            Some(folders) if !self.holds(folder) => {
                folders.iter().filter(|one| one.is_within(folder)).cloned().collect()
            }
            _ => vec![folder.clone()],
        }
    }
}
