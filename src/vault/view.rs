//! What a caller may see of the vault: all of it, or some folders.
//!
//! Asked with real paths, as they are spelt on disk and free of links: what a path means is found
//! first, then whether it may be seen. A folder on the way to one that may be seen is seen too,
//! as a way, with nothing else in it.

use std::ops::Deref;
use std::sync::{Arc, RwLockReadGuard};

use super::catalogue::{Catalogue, Entry, Listing, Order, Wanted};
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

/// The catalogue with what a view leaves out left out of every listing. What takes the
/// [`Catalogue`] itself sees all of it: what resolves links has to.
pub struct Seen<'v> {
    catalogue: RwLockReadGuard<'v, Catalogue>,
    view: &'v View,
}

impl<'v> Seen<'v> {
    pub(super) fn new(catalogue: RwLockReadGuard<'v, Catalogue>, view: &'v View) -> Self {
        Self { catalogue, view }
    }

    /// As [`Catalogue::get`].
    pub fn get(&self, path: &str) -> Option<Entry<'_>> {
        self.catalogue.get(path).filter(|entry| self.view.shows(entry.path()))
    }

    /// As [`Catalogue::folded`].
    pub fn folded(&self, key: &str) -> Vec<Entry<'_>> {
        let mut found = self.catalogue.folded(key);
        found.retain(|entry| self.view.shows(entry.path()));
        found
    }

    /// As [`Catalogue::named`].
    pub fn named(&self, name_key: &str) -> Vec<Entry<'_>> {
        let mut found = self.catalogue.named(name_key);
        found.retain(|entry| self.view.shows(entry.path()));
        found
    }

    /// As [`Catalogue::recent`].
    pub fn recent(&self) -> impl DoubleEndedIterator<Item = Entry<'_>> {
        self.catalogue.recent().filter(|entry| self.view.shows(entry.path()))
    }

    /// As [`Catalogue::within`].
    pub fn within<'a>(
        &'a self,
        folder: &VaultPath,
    ) -> impl DoubleEndedIterator<Item = Entry<'a>> + use<'a, 'v> {
        self.catalogue.within(folder).filter(|entry| self.view.shows(entry.path()))
    }

    /// The first `limit` of what is wanted, in order, and how much there is.
    pub fn list(&self, wanted: &Wanted<'_>, order: Order, limit: usize) -> Listing<'_> {
        self.catalogue.list(wanted, order, limit, self.view)
    }
}

impl Deref for Seen<'_> {
    type Target = Catalogue;

    fn deref(&self) -> &Catalogue {
        &self.catalogue
    }
}
