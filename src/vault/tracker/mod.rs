//! Updates the catalogue from the disk and notifies subscribers of changes.
//!
//! A [`Tracker`] rechecks the paths that it is given; `watch` decides when.

pub(super) mod batch;
mod renames;
pub(super) mod scan;

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, RwLock, RwLockReadGuard};

use super::catalogue::{Catalogue, Difference, Edit, Entry, NewEntry};
use super::dir::{Kind, Meta, Name, is_absence};
use super::nonblocking;
use super::protect::{is_hidden, is_hidden_name};
use super::root::Root;
use crate::locks::{lock, read, write};
use crate::note::path::{MAX_DEPTH, VaultPath};
use renames::Renames;
use scan::{Scan, Walk};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    Created,
    Modified,
    Removed,
    /// The content of a renamed folder is not reported one by one.
    Renamed {
        from: VaultPath,
    },
}

/// A change of the vault, made by the steward or by another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultChange {
    pub kind: ChangeKind,
    pub path: VaultPath,
    pub entry: Kind,
}

type Sink = Box<dyn Fn(&VaultChange) + Send + Sync>;

/// The catalogue of a vault, and the subscribers to its changes.
pub struct Tracker {
    root: Root,
    pub(super) catalogue: RwLock<Catalogue>,
    /// Folders that could not be listed, with the reason.
    pub(super) unreadable: RwLock<Vec<(VaultPath, String)>>,
    sinks: RwLock<Vec<Sink>>,
    pub(super) renames: Mutex<Renames>,
    /// Held from an update of the catalogue to the notification, so that subscribers hear changes
    /// in order.
    changing: Mutex<()>,
    /// Set at shutdown: a running scan stops early.
    pub(super) stopping: AtomicBool,
    /// During a full scan: paths that were rechecked or changed meanwhile.
    pub(super) touched: Mutex<Option<Vec<VaultPath>>>,
}

impl Deref for Tracker {
    type Target = Root;

    fn deref(&self) -> &Root {
        &self.root
    }
}

impl Tracker {
    /// With an empty catalogue.
    pub(super) fn new(root: Root) -> Self {
        Self {
            root,
            catalogue: RwLock::default(),
            unreadable: RwLock::default(),
            sinks: RwLock::default(),
            renames: Mutex::default(),
            changing: Mutex::default(),
            stopping: AtomicBool::new(false),
            touched: Mutex::default(),
        }
    }

    /// The whole catalogue. Hold the guard briefly: updates wait for it.
    pub(super) fn known(&self) -> RwLockReadGuard<'_, Catalogue> {
        read(&self.catalogue)
    }

    /// Folders that could not be listed; the catalogue may be out of date for their content.
    pub fn unlisted_folders(&self) -> Vec<VaultPath> {
        read(&self.unreadable).iter().map(|(folder, _)| folder.clone()).collect()
    }

    /// A walk that stops early at shutdown.
    pub(super) fn walk(&self) -> Walk<'_> {
        Walk::new(self.folder(), &self.stopping)
    }

    /// The number of renames since the vault was opened: a position for
    /// [`Watcher::renamed_since`](super::watch::Watcher::renamed_since).
    pub fn renames(&self) -> u64 {
        lock(&self.renames).count()
    }

    /// Calls `sink` for each later change, in order, on the thread that found it. It must be quick
    /// and must not query the vault.
    pub fn subscribe(&self, sink: Sink) {
        write(&self.sinks).push(sink);
    }

    fn emit(&self, changes: &[VaultChange]) {
        let sinks = read(&self.sinks);
        for change in changes {
            if let ChangeKind::Renamed { from } = &change.kind {
                lock(&self.renames).note(from, &change.path);
            }
            sinks.iter().for_each(|sink| sink(change));
        }
    }

    fn edit<T>(&self, edit: impl FnOnce(&mut Catalogue) -> T) -> T {
        edit(&mut write(&self.catalogue))
    }

    /// Starts to collect the paths rechecked or changed during a full scan.
    pub(super) fn collect_touched(&self) -> Touched<'_> {
        Touched::collect(&self.touched)
    }

    /// Applies the result of a full scan; `first` is set for the first one, with the snapshot of an
    /// earlier run. Returns the paths touched meanwhile. `applied` is called before subscribers are
    /// notified.
    pub(super) fn apply_scan(
        &self,
        found: Scan,
        first: Option<Option<Catalogue>>,
        applied: impl FnOnce(),
    ) -> Vec<VaultPath> {
        let _changing = lock(&self.changing);
        let changes = match first {
            Some(saved) => {
                self.apply_first(found, saved);
                Vec::new()
            }
            None => self.apply_later(found),
        };
        let touched = lock(&self.touched).take().unwrap_or_default();
        applied();
        self.emit(&changes);
        touched
    }

    /// Makes the catalogue from the first scan and the snapshot.
    fn apply_first(&self, scan: Scan, saved: Option<Catalogue>) {
        let Scan { entries, unchanged, unreadable, hidden, .. } = scan;
        self.note_folders(hidden, unreadable);
        let catalogue = match saved {
            None => Catalogue::build(entries),
            Some(mut saved) => {
                let difference = saved.difference(&unchanged, entries);
                saved.apply(difference.edits());
                saved
            }
        };
        self.edit(|before| *before = catalogue);
    }

    /// Applies a later scan; returns the changes.
    fn apply_later(&self, scan: Scan) -> Vec<VaultChange> {
        let Scan { mut entries, unreadable, hidden, .. } = scan;
        // A folder that cannot be listed is not empty: its known entries stay.
        for (folder, _) in &unreadable {
            entries.extend(self.known().within(folder).map(Entry::to_new));
        }
        self.note_folders(hidden, unreadable);
        let difference = self.known().difference(&[], entries);
        let changes = self.changes(&difference);
        self.edit(|catalogue| catalogue.apply(difference.edits()));
        changes
    }

    fn note_folders(&self, hidden: Vec<VaultPath>, unreadable: Vec<(VaultPath, String)>) {
        self.set_hidden_folders(hidden);
        *write(&self.unreadable) = unreadable;
    }

    fn changes(&self, difference: &Difference) -> Vec<VaultChange> {
        let catalogue = self.known();
        let gone = difference.gone.iter().map(|entry| change(ChangeKind::Removed, entry));
        let come =
            difference.put.iter().filter_map(|entry| match catalogue.get(entry.path.as_str()) {
                None => Some(change(ChangeKind::Created, entry)),
                Some(before) if before.same_state(entry) => None,
                Some(_) => Some(change(ChangeKind::Modified, entry)),
            });
        gone.chain(come).collect()
    }

    /// Stats `path`, links not followed, and updates the catalogue. A new folder is scanned.
    pub fn recheck(&self, path: &VaultPath) -> Option<Meta> {
        if path.is_root() || is_hidden(path) {
            return None;
        }
        if nonblocking::is_active() {
            let meta = self.folder().stat_cached(path).ok();
            match meta {
                Some(meta) => self.observed(path, &meta),
                None => {
                    nonblocking::would_block();
                }
            }
            return meta;
        }
        match self.folder().stat_at(path) {
            Ok(meta) => {
                self.observed(path, &meta);
                Some(meta)
            }
            Err(error) if is_absence(&error) => {
                self.forget(path);
                None
            }
            // Unreadable is not gone: the known entry stays.
            Err(_) => None,
        }
    }

    /// As [`Self::recheck`], after the system reported a change. A new ctime then counts as a
    /// modification even with the same size and mtime: the text was replaced, or another file took
    /// the name.
    fn recheck_reported(&self, path: &VaultPath) -> Option<Meta> {
        let meta = self.recheck(path)?;
        let kept_size_and_time = |meta: &Meta| {
            let known = self.known();
            let known = known.get(path.as_str()).filter(|known| known.kind == Kind::File);
            known.is_some_and(|known| known.agrees(meta) && !known.agrees_with_ctime(meta))
        };
        if kept_size_and_time(&meta) {
            let _changing = lock(&self.changing);
            // Checked again under the lock: another thread may have applied a newer state.
            if let Ok(meta) = self.folder().stat_at(path)
                && kept_size_and_time(&meta)
            {
                let found = NewEntry::new(path.clone(), &meta);
                let modified = change(ChangeKind::Modified, &found);
                self.edit(|catalogue| catalogue.apply(vec![Edit::Put(found)]));
                self.emit(&[modified]);
                self.touch(path);
            }
        }
        Some(meta)
    }

    /// Updates the catalogue if `path` was found in another state than known.
    pub(super) fn observed(&self, path: &VaultPath, meta: &Meta) {
        let agrees = self.known().get(path.as_str()).is_some_and(|entry| entry.agrees(meta));
        if !agrees && !nonblocking::would_block() {
            self.update(path);
        }
    }

    /// Updates the catalogue after `path` was found missing.
    pub(super) fn forget(&self, path: &VaultPath) {
        if self.known().get(path.as_str()).is_some() {
            self.update(path);
        }
        self.touch(path);
    }

    /// Updates the catalogue for `path`. Stats it again under the lock: the caller's result may be
    /// older than the catalogue's.
    fn update(&self, path: &VaultPath) {
        let _changing = lock(&self.changing);
        match self.folder().stat_at(path) {
            Ok(meta) => {
                let spelt = self.spelling_on_disk(path, &meta);
                self.put(spelt.as_ref().unwrap_or(path), &meta);
            }
            Err(error) if is_absence(&error) => {
                let edits = vec![Edit::Remove(path.clone())];
                let gone = self.edit(|catalogue| catalogue.apply(edits));
                let gone: Vec<_> =
                    gone.iter().map(|entry| change(ChangeKind::Removed, entry)).collect();
                self.emit(&gone);
            }
            Err(_) => {}
        }
        self.touch(path);
    }

    fn touch(&self, path: &VaultPath) {
        if let Some(touched) = lock(&self.touched).as_mut() {
            touched.push(path.clone());
        }
    }

    /// Puts `path` into the catalogue, with missing parents and the content of a new folder, and
    /// notifies. The caller holds `changing`.
    fn put(&self, path: &VaultPath, meta: &Meta) {
        // A scan lists nothing deeper either.
        if path.components().count() > MAX_DEPTH {
            return;
        }
        let Some(entry) = self.entry(path, meta) else { return };
        let known = self.known().get(path.as_str()).map(|known| (known.kind, known.agrees(meta)));
        let was_unlisted = meta.kind == Kind::Folder && self.is_unlisted(path);
        let kind = match known {
            Some((_, true)) if !was_unlisted => return,
            Some(_) => ChangeKind::Modified,
            None => ChangeKind::Created,
        };
        let below = match (meta.kind, known) {
            (Kind::Folder, Some((Kind::Folder, _))) if !was_unlisted => Vec::new(),
            (Kind::Folder, _) => self.list_below(path),
            _ => Vec::new(),
        };
        if was_unlisted && below.is_empty() && known.is_some_and(|(_, agrees)| agrees) {
            return;
        }
        let mut changes = self.missing_parents(path);
        let mut edits = Vec::with_capacity(below.len() + 2);
        if known.is_some_and(|(kind, _)| kind == Kind::Folder) && meta.kind != Kind::Folder {
            edits.push(Edit::Remove(path.clone()));
        }
        let created: Vec<_> =
            below.iter().map(|entry| change(ChangeKind::Created, entry)).collect();
        edits.extend(std::iter::once(entry).chain(below).map(Edit::Put));
        let removed = self.edit(|catalogue| catalogue.apply(edits));
        changes.extend(removed_below(path, &removed));
        changes.push(VaultChange { kind, path: path.clone(), entry: meta.kind });
        changes.extend(created);
        self.emit(&changes);
    }

    fn entry(&self, path: &VaultPath, meta: &Meta) -> Option<NewEntry> {
        let parent = path.parent()?;
        if meta.kind != Kind::Link {
            return (!is_hidden_name(path.name())).then(|| NewEntry::new(path.clone(), meta));
        }
        let folder = self.folder().open_folder_at(&parent).ok()?;
        scan::entry(&folder, &parent, path.name().as_ref(), meta)
    }

    /// Adds missing parents to the catalogue, outermost first.
    fn missing_parents(&self, path: &VaultPath) -> Vec<VaultChange> {
        let mut missing = Vec::new();
        let mut above = path.parent();
        while let Some(folder) = above.filter(|folder| !folder.is_root()) {
            if self.known().get(folder.as_str()).is_some() {
                break;
            }
            above = folder.parent();
            missing.push(folder);
        }
        let mut changes = Vec::new();
        for folder in missing.into_iter().rev() {
            if let Ok(meta) = self.folder().stat_at(&folder) {
                let entry = NewEntry::new(folder, &meta);
                changes.push(change(ChangeKind::Created, &entry));
                self.edit(|catalogue| catalogue.apply(vec![Edit::Put(entry)]));
            }
        }
        changes
    }

    /// The spelling in the folder's listing: a case-insensitive file system finds `note.md` under
    /// any.
    fn spelling_on_disk(&self, path: &VaultPath, meta: &Meta) -> Option<VaultPath> {
        let key = path.fold_key();
        if !self.known().folded(&key).iter().any(|entry| entry.id == meta.id) {
            return None;
        }
        let parent = path.parent()?;
        let folder = self.folder().open_folder_at(&parent).ok()?;
        // A case-sensitive file system needs no listing, which is slow in large folders.
        if let Some(other) = other_case(path.name())
            && let Ok(name) = Name::new(&other)
            && folder.stat(name).is_err_and(|error| is_absence(&error))
        {
            return None;
        }
        let listed = folder.list().ok()?;
        let mut same = listed.iter().filter(|one| one.meta.id == meta.id);
        let exact = same.clone().any(|one| one.name.to_str() == Some(path.name()));
        if exact {
            return Some(path.clone());
        }
        same.find_map(|one| parent.join(one.name.to_str()?))
    }

    /// Lists one folder and updates the catalogue; returns whether anything had changed in it.
    pub fn recheck_folder(&self, path: &VaultPath) -> bool {
        let Ok(listed) = self.folder().open_folder_at(path).and_then(|folder| folder.list()) else {
            return self.recheck(path).is_none() && !path.is_root();
        };
        let mut on_disk: HashMap<VaultPath, Meta> = listed
            .iter()
            .filter_map(|one| Some((path.join(one.name.to_str()?)?, one.meta)))
            .filter(|(path, _)| !is_hidden_name(path.name()))
            .collect();
        let mut gone = Vec::new();
        for entry in self.known().directly_in(path) {
            if entry.path().parent() != Some(path.borrowed()) || entry.unnameable {
                continue;
            }
            match on_disk.get(entry.path().as_str()) {
                None => gone.push(entry.path().to_path()),
                Some(meta) if entry.agrees_with_ctime(meta) => {
                    on_disk.remove(entry.path().as_str());
                }
                Some(_) => {}
            }
        }
        let changed = !gone.is_empty() || !on_disk.is_empty();
        gone.iter().for_each(|path| self.forget(path));
        on_disk.keys().for_each(|path| {
            self.recheck_reported(path);
        });
        changed
    }

    /// Updates the catalogue after a rename of a file or folder.
    pub(super) fn renamed(&self, from: &VaultPath, to: &VaultPath) {
        let is_moved = self.move_known(from, to);
        // The old name may belong to another file by now: two names can be exchanged in one step.
        if from.fold_key() != to.fold_key() {
            self.recheck_deep(from);
        } else if let Some(folder) = from.parent() {
            // A case-insensitive file system also finds the old spelling; the listing has one
            // alone.
            self.recheck_folder(&folder);
        }
        if !is_moved {
            // Already applied, or one end is hidden. A folder moved during a scan may be known
            // without its content.
            self.recheck_deep(to);
        }
        self.touch(from);
        self.touch(to);
    }

    fn is_unlisted(&self, folder: &VaultPath) -> bool {
        read(&self.unreadable).iter().any(|(unlisted, _)| unlisted == folder)
    }

    /// Everything below an unknown folder. Folders that cannot be listed are recorded and retried
    /// at the next recheck.
    fn list_below(&self, path: &VaultPath) -> Vec<NewEntry> {
        let found = self.walk().below(path);
        let mut unreadable = write(&self.unreadable);
        unreadable.retain(|(folder, _)| folder != path && !folder.is_within(path));
        match found {
            Ok(scan) => {
                unreadable.extend(scan.unreadable);
                scan.entries
            }
            Err(error) => {
                unreadable.push((path.clone(), error.to_string()));
                Vec::new()
            }
        }
    }

    /// Rechecks `path` and, if it is a folder, everything below it: files put into a new folder
    /// before it was watched cause no events.
    pub(super) fn recheck_deep(&self, path: &VaultPath) {
        if self.recheck_reported(path).is_none_or(|meta| meta.kind != Kind::Folder) {
            return;
        }
        self.recheck_folder(path);
        let below: Vec<VaultPath> = self
            .known()
            .within(path)
            .filter(|entry| entry.kind == Kind::Folder)
            .map(|entry| entry.path().to_path())
            .collect();
        below.iter().for_each(|folder| {
            self.recheck_folder(folder);
        });
    }

    /// Moves the entries known at `from` to `to`, if they are there; returns whether they were.
    fn move_known(&self, from: &VaultPath, to: &VaultPath) -> bool {
        let _changing = lock(&self.changing);
        let id = |path: &VaultPath| self.known().get(path.as_str()).map(|entry| entry.id);
        let (Some(moved), replaced) = (id(from), id(to)) else { return false };
        let stat = self.folder().stat_at(to).ok();
        let Some(meta) = stat.filter(|_| !is_hidden(to)) else { return false };
        // Another file, already known at `to`: the rename was applied before, or undone.
        if replaced == Some(meta.id) && moved != meta.id {
            return false;
        }
        let below = match meta.kind {
            Kind::Folder => match self.walk().below(to) {
                Ok(scan) => Some(scan),
                // Unreadable is not empty.
                Err(_) => return false,
            },
            _ => None,
        };
        let Some(entry) = self.entry(to, &meta) else { return false };
        let mut changes = self.missing_parents(to);
        let mut edits = vec![Edit::Remove(from.clone()), Edit::Remove(to.clone())];
        let below = below.into_iter().flat_map(|scan| scan.entries);
        edits.extend(std::iter::once(entry).chain(below).map(Edit::Put));
        let mut removed = self.edit(|catalogue| catalogue.apply(edits));
        removed.retain(|entry| !entry.path.is_within(from));
        changes.extend(removed_below(to, &removed));
        let kind = ChangeKind::Renamed { from: from.clone() };
        changes.push(VaultChange { kind, path: to.clone(), entry: meta.kind });
        self.emit(&changes);
        true
    }
}

/// Guard: ends the collection when the scan ends or fails.
pub(super) struct Touched<'a>(&'a Mutex<Option<Vec<VaultPath>>>);

impl<'a> Touched<'a> {
    fn collect(touched: &'a Mutex<Option<Vec<VaultPath>>>) -> Self {
        *lock(touched) = Some(Vec::new());
        Self(touched)
    }
}

impl Drop for Touched<'_> {
    fn drop(&mut self) {
        *lock(self.0) = None;
    }
}

/// An ASCII name in another letter case.
fn other_case(name: &str) -> Option<String> {
    let other = if name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        name.to_ascii_uppercase()
    } else {
        name.to_ascii_lowercase()
    };
    (name.is_ascii() && other != name).then_some(other)
}

/// The removals to report for a replaced folder's content; for `path` itself the new entry is
/// reported.
fn removed_below(path: &VaultPath, removed: &[NewEntry]) -> impl Iterator<Item = VaultChange> {
    let below = removed.iter().filter(move |entry| entry.path != *path);
    below.map(|entry| change(ChangeKind::Removed, entry))
}

fn change(kind: ChangeKind, entry: &NewEntry) -> VaultChange {
    VaultChange { kind, path: entry.path.clone(), entry: entry.kind }
}
