//! The catalogue restricted to a caller's view.

use std::ops::Deref;
use std::sync::RwLockReadGuard;

use super::build::count;
use super::{Catalogue, Counts, Entry, EntryQuery, Listing, Order};
use crate::note::path::{PathRef, VaultPath};
use crate::vault::view::View;

/// The catalogue without the entries that a view hides. It dereferences to the whole [`Catalogue`],
/// for code such as the link resolver that has to see everything.
pub struct VisibleCatalogue<'v> {
    catalogue: RwLockReadGuard<'v, Catalogue>,
    view: &'v View,
}

impl<'v> VisibleCatalogue<'v> {
    pub(in crate::vault) fn new(catalogue: RwLockReadGuard<'v, Catalogue>, view: &'v View) -> Self {
        Self { catalogue, view }
    }

    pub fn get(&self, path: &str) -> Option<Entry<'_>> {
        self.catalogue.get(path).filter(|entry| self.view.shows(entry.path()))
    }

    pub fn folded(&self, key: &str) -> Vec<Entry<'_>> {
        let mut found = self.catalogue.folded(key);
        found.retain(|entry| self.view.shows(entry.path()));
        found
    }

    pub fn named(&self, name_key: &str) -> Vec<Entry<'_>> {
        let mut found = self.catalogue.named(name_key);
        found.retain(|entry| self.view.shows(entry.path()));
        found
    }

    pub fn recent(&self) -> impl DoubleEndedIterator<Item = Entry<'_>> {
        self.catalogue.recent().filter(|entry| self.view.shows(entry.path()))
    }

    pub fn within<'a>(
        &'a self,
        folder: &VaultPath,
    ) -> impl DoubleEndedIterator<Item = Entry<'a>> + use<'a, 'v> {
        self.catalogue.within(folder).filter(|entry| self.view.shows(entry.path()))
    }

    pub fn conflicts(&self) -> impl Iterator<Item = (PathRef<'_>, VaultPath)> {
        self.catalogue.conflicts().filter(|(path, _)| self.view.shows(*path))
    }

    /// As [`Catalogue::counts`]. Visits every entry if the view hides any.
    pub fn counts(&self) -> Counts {
        if self.view.is_all() {
            return self.catalogue.counts();
        }
        let mut counts = Counts::default();
        for entry in self.within(&VaultPath::root()) {
            count(&mut counts, entry.kind, entry.unnameable, entry.path().is_note(), true);
        }
        counts
    }

    /// The first `limit` matches in order, and the number of all matches.
    pub fn list(&self, query: &EntryQuery<'_>, order: Order, limit: usize) -> Listing<'_> {
        self.catalogue.list(query, order, limit, self.view)
    }
}

impl Deref for VisibleCatalogue<'_> {
    type Target = Catalogue;

    fn deref(&self) -> &Catalogue {
        &self.catalogue
    }
}
