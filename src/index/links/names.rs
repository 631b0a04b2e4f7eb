//! The names of a vault's files before and after a change.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::graph::names_of;
use super::resolver::{Files, called, can_be_led_to};
use crate::note::fold::fold_key;
use crate::note::path::{PathRef, VaultPath};
use crate::note::path_map::PathMap;
use crate::vault::Catalogue;
use crate::vault::catalogue::tree_order;

/// A change of the vault's names: files that are moved, added or removed.
#[derive(Debug, Clone, Default)]
pub struct NameChange {
    moved: HashMap<VaultPath, VaultPath>,
    gone: HashSet<VaultPath>,
    /// New paths, by the fold key of the name.
    added: HashMap<String, Vec<VaultPath>>,
    /// New paths, each with the path in the catalogue if the file was moved.
    origins: PathMap<Option<VaultPath>>,
    /// Last components with which links can name a changed file, in lower case.
    names: BTreeSet<String>,
}

impl NameChange {
    /// Moves the file at `from`, or every file below it, to `to`, including those that earlier calls moved
    /// there.
    pub fn moves(&mut self, catalogue: &Catalogue, from: &VaultPath, to: &VaultPath) {
        for (origin, path) in self.files_at(catalogue, from) {
            let below = path.relative_to(from).unwrap_or_default();
            let new = if below.is_empty() {
                Some(to.clone())
            } else {
                VaultPath::from_disk(&format!("{to}/{below}", to = to.as_str()))
            };
            let Some(new) = new else { continue };
            self.names.extend(names_of(path.name()));
            self.remove_new_path(&path);
            match origin {
                // Moved back: nothing has changed.
                Some(origin) if origin == new => drop(self.moved.remove(&origin)),
                Some(origin) => {
                    self.insert(new.clone(), Some(origin.clone()));
                    self.moved.insert(origin, new);
                }
                None => self.add(new),
            }
        }
    }

    pub fn add(&mut self, path: VaultPath) {
        self.insert(path, None);
    }

    fn insert(&mut self, path: VaultPath, origin: Option<VaultPath>) {
        self.names.extend(names_of(path.name()));
        if self.origins.insert(path.clone(), origin).is_none() {
            self.added.entry(fold_key(path.name())).or_default().push(path);
        }
    }

    /// Writes the file at `path`, which adds it if there is none.
    pub fn written(&mut self, catalogue: &Catalogue, path: &VaultPath) {
        if self.files_at(catalogue, path).is_empty() {
            self.add(path.clone());
        }
    }

    /// Removes the file at `path`, or every file below it.
    pub fn remove(&mut self, catalogue: &Catalogue, path: &VaultPath) {
        for (origin, path) in self.files_at(catalogue, path) {
            self.names.extend(names_of(path.name()));
            self.remove_new_path(&path);
            if let Some(origin) = origin {
                self.moved.remove(&origin);
                self.gone.insert(origin);
            }
        }
    }

    /// The files at and below `path` after the change so far, each with its path in the catalogue; `None` for added
    /// ones.
    fn files_at(
        &self,
        catalogue: &Catalogue,
        path: &VaultPath,
    ) -> Vec<(Option<VaultPath>, VaultPath)> {
        let here = catalogue.get(path.as_str()).into_iter();
        let files = here.chain(catalogue.within(path)).filter(can_be_led_to);
        let files = files.map(|entry| entry.path().to_path());
        let mut found: Vec<_> = files
            .filter(|path| !self.moved.contains_key(path) && !self.gone.contains(path))
            .map(|path| (Some(path.clone()), path))
            .collect();
        let came = self.origins.within(path);
        found.extend(came.map(|(path, origin)| (origin.clone(), path.clone())));
        found
    }

    fn remove_new_path(&mut self, path: &VaultPath) {
        if self.origins.remove(path).is_none() {
            return;
        }
        let key = fold_key(path.name());
        if let Some(added) = self.added.get_mut(&key) {
            added.retain(|other| other != path);
            if added.is_empty() {
                self.added.remove(&key);
            }
        }
    }

    /// Whether no name changes.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether the change only adds files and cannot redirect any link: no other file has, or could
    /// be meant by, the same name.
    pub fn only_adds_new_names(&self, catalogue: &Catalogue) -> bool {
        let free = |name: &str| called(catalogue, name).is_empty();
        let mut added = self.added.values().flatten();
        self.moved.is_empty()
            && self.gone.is_empty()
            && added.all(|path| {
                let name = path.name();
                // A file `v1.2` takes the links that meant the note `v1.2.md`.
                free(name) && free(&format!("{name}.md"))
            })
    }

    /// The path after the change of the file at `path`; `None` if it is removed.
    pub fn after<'a>(&'a self, path: &'a VaultPath) -> Option<&'a VaultPath> {
        match self.moved.get(path) {
            Some(new) => Some(new),
            None if self.gone.contains(path) => None,
            None => Some(path),
        }
    }

    /// The path in the catalogue of the file that is at `path` after the change; `None` if it was added.
    pub fn before(&self, path: &VaultPath) -> Option<VaultPath> {
        self.origins.get(path).map_or_else(|| Some(path.clone()), Clone::clone)
    }

    pub fn moved(&self) -> &HashMap<VaultPath, VaultPath> {
        &self.moved
    }

    /// Whether a link that can name the file at `path` can also name a changed file.
    pub fn concerns(&self, path: &VaultPath) -> bool {
        names_of(path.name()).iter().any(|name| self.names.contains(name))
    }

    /// Last components with which links can name a changed file, in lower case.
    pub(super) fn names(&self) -> &BTreeSet<String> {
        &self.names
    }
}

/// The files after a change.
pub struct FilesAfter<'a> {
    pub catalogue: &'a Catalogue,
    pub change: &'a NameChange,
}

impl FilesAfter<'_> {
    fn stays(&self, path: PathRef<'_>) -> bool {
        let path = path.as_str();
        !self.change.moved.contains_key(path) && !self.change.gone.contains(path)
    }
}

impl Files for FilesAfter<'_> {
    fn named(&self, key: &str) -> Vec<PathRef<'_>> {
        let mut found = Files::named(self.catalogue, key);
        found.retain(|path| self.stays(*path));
        if let Some(added) = self.change.added.get(key) {
            found.extend(added.iter().map(VaultPath::borrowed));
            found.sort_unstable_by(|a, b| tree_order(a.as_str(), b.as_str()));
            found.dedup();
        }
        found
    }

    fn at(&self, path: &str) -> Option<PathRef<'_>> {
        let name = path.rsplit('/').next().unwrap_or_default();
        let added = self.change.added.get(&fold_key(name)).into_iter().flatten();
        let mut added = added.filter(|new| new.as_str() == path);
        let added = added.next().map(VaultPath::borrowed);
        added.or_else(|| self.catalogue.at(path).filter(|path| self.stays(*path)))
    }
}
