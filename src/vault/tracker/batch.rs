//! Taking in very many changes at once: a checkout, a sync, a script that rewrites a vault.
//!
//! One at a time each change costs a look at the disk, a turn, a place in two orders and a lock.
//! Together they cost a look each: folders are opened once for the files that follow each other in
//! them, and the catalogue is told in pieces, between which everybody else has their turn.

use std::collections::HashSet;

use super::{ChangeKind, Tracker, VaultChange, change};
use crate::note::path::{MAX_DEPTH, VaultPath};
use crate::vault::catalogue::{Edit, NewEntry};
use crate::vault::dir::{Folder, Kind, Meta, Name, is_absence};
use crate::vault::locks::lock;
use crate::vault::protect::is_hidden;

/// Fewer paths than this are looked at one by one.
const FEW: usize = 8;

/// Paths looked at in one turn: others wait for a change meanwhile.
const PIECE: usize = 512;

/// What one look at a path has shown.
enum Look {
    /// Nothing that the catalogue does not know.
    Nothing,
    /// A plain change of one file.
    Plain(Edit, VaultChange),
    /// Folders, links, another spelling: what needs a closer look.
    Closer,
}

/// Looks at each of these paths, of which the system told, and tells the catalogue what is there now.
pub(in crate::vault) fn absorb(tracker: &Tracker, paths: &[VaultPath]) {
    if paths.len() < FEW {
        paths.iter().for_each(|path| {
            tracker.recheck_told(path);
        });
        return;
    }
    for piece in paths.chunks(PIECE) {
        for path in absorb_piece(tracker, piece) {
            tracker.recheck(&path);
        }
    }
}

/// Takes in the plain changes of files; gives the paths that need a closer look.
fn absorb_piece(tracker: &Tracker, paths: &[VaultPath]) -> Vec<VaultPath> {
    let _turn = lock(&tracker.changing);
    let mut done: HashSet<&VaultPath> = HashSet::with_capacity(paths.len());
    let mut opened = Opened::default();
    let (mut edits, mut changes, mut closer) = (Vec::new(), Vec::new(), Vec::new());
    // Backwards: of several events of one file the last tells, and the order of different
    // files says nothing that a look at the disk does not.
    for path in paths.iter().rev().filter(|path| done.insert(path)) {
        if path.is_root() || is_hidden(path) || path.components().count() > MAX_DEPTH {
            continue;
        }
        match look_plainly(tracker, path, &mut opened) {
            Look::Nothing => {}
            Look::Plain(edit, change) => {
                edits.push(edit);
                changes.push(change);
            }
            Look::Closer => closer.push(path.clone()),
        }
    }
    closer.reverse();
    changes.reverse();
    if !changes.is_empty() {
        tracker.edit(|catalogue| catalogue.apply(edits));
        tracker.emit(&changes);
        changes.iter().for_each(|change| tracker.touch(&change.path));
    }
    closer
}

/// Looks at one path. Only in one's turn.
fn look_plainly(tracker: &Tracker, path: &VaultPath, opened: &mut Opened) -> Look {
    let known = {
        let catalogue = tracker.known();
        let known = catalogue.get(path.as_str());
        // Where names ignore case, a new spelling may be an old file.
        let has_twin = known.is_none() && !catalogue.folded(&path.fold_key()).is_empty();
        let parent = path.parent().unwrap_or_else(VaultPath::root);
        let has_parent = parent.is_root() || catalogue.get(parent.as_str()).is_some();
        if has_twin || !has_parent {
            return Look::Closer;
        }
        known.map(|entry| (entry.kind, (entry.size, entry.modified, entry.change_mark)))
    };
    match (opened.stat(&tracker.folder(), path), known) {
        (Ok(meta), None) if meta.kind == Kind::File => {
            let entry = NewEntry::new(path.clone(), &meta);
            let change = change(ChangeKind::Created, &entry);
            Look::Plain(Edit::Put(entry), change)
        }
        (Ok(meta), Some((Kind::File, state))) if meta.kind == Kind::File => {
            if state == (meta.size, meta.modified, meta.change_mark()) {
                return Look::Nothing;
            }
            let entry = NewEntry::new(path.clone(), &meta);
            let change = change(ChangeKind::Modified, &entry);
            Look::Plain(Edit::Put(entry), change)
        }
        (Err(error), None) if is_absence(&error) => Look::Nothing,
        (Err(error), Some((Kind::File, _))) if is_absence(&error) => {
            let change =
                VaultChange { kind: ChangeKind::Removed, path: path.clone(), entry: Kind::File };
            Look::Plain(Edit::Remove(path.clone()), change)
        }
        _ => Look::Closer,
    }
}

/// The folder that was opened last: the files of one follow each other.
#[derive(Default)]
struct Opened(Option<(VaultPath, Folder)>);

impl Opened {
    fn stat(&mut self, root: &Folder, path: &VaultPath) -> std::io::Result<Meta> {
        let parent = path.parent().unwrap_or_else(VaultPath::root);
        if self.0.as_ref().is_none_or(|(open, _)| *open != parent) {
            self.0 = Some((parent.clone(), root.open_folder_at(&parent)?));
        }
        let (_, folder) = self.0.as_ref().expect("just opened");
        folder.stat(Name::new(path.name())?)
    }
}
