//! Rechecking many paths at once, as after a checkout, a sync or a script that rewrites a vault.
//!
//! Consecutive files of one folder share its handle, and the catalogue is updated in chunks,
//! between which other threads get the lock: one stat a file, and one update for hundreds of them.

use std::collections::HashSet;

use super::{ChangeKind, Tracker, VaultChange, change};
use crate::locks::lock;
use crate::note::path::{MAX_DEPTH, VaultPath};
use crate::vault::catalogue::{Edit, NewEntry};
use crate::vault::dir::{Folder, Kind, Meta, Name, is_absence};
use crate::vault::protect::is_hidden;

/// Fewer paths than this are rechecked one by one.
const FEW: usize = 8;

/// Paths checked under one lock.
const CHUNK: usize = 512;

enum Check {
    Unchanged,
    /// One regular file was created, modified or removed.
    Simple(Edit, VaultChange),
    /// Anything else (folders, links, another spelling) takes [`Tracker::recheck`].
    Complex,
}

pub(in crate::vault) fn recheck_batch(tracker: &Tracker, paths: &[VaultPath]) {
    if paths.len() < FEW {
        paths.iter().for_each(|path| {
            tracker.recheck_reported(path);
        });
        return;
    }
    for chunk in paths.chunks(CHUNK) {
        for path in recheck_chunk(tracker, chunk) {
            tracker.recheck(&path);
        }
    }
}

/// Applies the simple changes; returns the paths of the others.
fn recheck_chunk(tracker: &Tracker, paths: &[VaultPath]) -> Vec<VaultPath> {
    let _changing = lock(&tracker.changing);
    let mut done: HashSet<&VaultPath> = HashSet::with_capacity(paths.len());
    let mut parent = LastParent::default();
    let (mut edits, mut changes, mut complex) = (Vec::new(), Vec::new(), Vec::new());
    // Backwards: of several events of one file only the last matters.
    for path in paths.iter().rev().filter(|path| done.insert(path)) {
        if path.is_root() || is_hidden(path) || path.components().count() > MAX_DEPTH {
            continue;
        }
        match check(tracker, path, &mut parent) {
            Check::Unchanged => {}
            Check::Simple(edit, change) => {
                edits.push(edit);
                changes.push(change);
            }
            Check::Complex => complex.push(path.clone()),
        }
    }
    complex.reverse();
    changes.reverse();
    if !changes.is_empty() {
        tracker.edit(|catalogue| catalogue.apply(edits));
        tracker.emit(&changes);
        changes.iter().for_each(|change| tracker.touch(&change.path));
    }
    complex
}

/// Checks one path. The caller holds [`Tracker::changing`].
fn check(tracker: &Tracker, path: &VaultPath, parent: &mut LastParent) -> Check {
    let known = {
        let catalogue = tracker.known();
        let known = catalogue.get(path.as_str());
        // Where names ignore case, a new spelling may be an old file.
        let is_respelt = known.is_none() && !catalogue.folded(&path.fold_key()).is_empty();
        let parent = path.parent().unwrap_or_else(VaultPath::root);
        let has_parent = parent.is_root() || catalogue.get(parent.as_str()).is_some();
        if is_respelt || !has_parent {
            return Check::Complex;
        }
        known.map(|entry| (entry.kind, (entry.size, entry.modified, entry.change_mark)))
    };
    match (parent.stat(&tracker.folder(), path), known) {
        (Ok(meta), None) if meta.kind == Kind::File => {
            let entry = NewEntry::new(path.clone(), &meta);
            let change = change(ChangeKind::Created, &entry);
            Check::Simple(Edit::Put(entry), change)
        }
        (Ok(meta), Some((Kind::File, state))) if meta.kind == Kind::File => {
            if state == (meta.size, meta.modified, meta.change_mark()) {
                return Check::Unchanged;
            }
            let entry = NewEntry::new(path.clone(), &meta);
            let change = change(ChangeKind::Modified, &entry);
            Check::Simple(Edit::Put(entry), change)
        }
        (Err(error), None) if is_absence(&error) => Check::Unchanged,
        (Err(error), Some((Kind::File, _))) if is_absence(&error) => {
            let change =
                VaultChange { kind: ChangeKind::Removed, path: path.clone(), entry: Kind::File };
            Check::Simple(Edit::Remove(path.clone()), change)
        }
        _ => Check::Complex,
    }
}

/// The folder opened last, for the next file in it.
#[derive(Default)]
struct LastParent(Option<(VaultPath, Folder)>);

impl LastParent {
    fn stat(&mut self, root: &Folder, path: &VaultPath) -> std::io::Result<Meta> {
        let parent = path.parent().unwrap_or_else(VaultPath::root);
        if self.0.as_ref().is_none_or(|(open, _)| *open != parent) {
            self.0 = Some((parent.clone(), root.open_folder_at(&parent)?));
        }
        let (_, folder) = self.0.as_ref().expect("just opened");
        folder.stat(Name::new(path.name())?)
    }
}
