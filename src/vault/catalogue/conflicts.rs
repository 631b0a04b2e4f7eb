//! Conflict copies made by sync programs; see [`crate::note::conflict`].

use super::{Catalogue, Entry};
use crate::note::conflict;
use crate::note::fold::fold_key;
use crate::note::path::{PathRef, VaultPath};
use crate::vault::dir::Kind;

impl Catalogue {
    /// The original of the conflict copy at `path`, judged by its name; the original may be gone.
    pub fn conflict_of<'p>(&self, path: impl Into<PathRef<'p>>) -> Option<VaultPath> {
        let path = path.into();
        let found = conflict::original_of(path.name())?;
        let folder = path.parent().map_or_else(VaultPath::root, PathRef::to_path);
        let original = folder.join(&found.original)?;
        let there = self.file(&original);
        if found.is_certain {
            return Some(there.map_or(original, |entry| entry.path().to_path()));
        }
        let there = there?;
        let copy = self.get(path.as_str())?;
        // Two versions of one note have about the same length.
        let (less, more) = (there.size.min(copy.size), there.size.max(copy.size));
        let is_alike = more <= less.saturating_mul(2).saturating_add(64);
        let is_alone = || !(1..=9).any(|number| self.is_numbered(&original, number, path));
        (is_alike && is_alone()).then(|| there.path().to_path())
    }

    /// Whether a file other than `path` has the name of `original` with this number: then a person
    /// numbered the files.
    fn is_numbered(&self, original: &VaultPath, number: u32, path: PathRef<'_>) -> bool {
        let (stem, extension) = match original.extension() {
            Some(extension) => (original.stem(), format!(".{extension}")),
            None => (original.name(), String::new()),
        };
        let folder = original.parent().unwrap_or_else(VaultPath::root);
        let name = folder.join(&format!("{stem} {number}{extension}"));
        let other = name.and_then(|name| self.file(&name));
        other.is_some_and(|other| other.path() != path)
    }

    /// The file at a path, ignoring letter case.
    fn file(&self, path: &VaultPath) -> Option<Entry<'_>> {
        let exact = self.get(path.as_str());
        let found = exact.or_else(|| self.folded(&fold_key(path.as_str())).into_iter().next());
        found.filter(|entry| entry.kind == Kind::File)
    }

    /// Every conflict copy with its original, in tree order.
    pub fn conflicts(&self) -> impl Iterator<Item = (PathRef<'_>, VaultPath)> {
        self.files().filter_map(|path| Some((path, self.conflict_of(path)?)))
    }
}
