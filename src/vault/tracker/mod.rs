//! Telling the catalogue what the disk says, and everyone who listens what has changed.
//!
//! A [`Tracker`] takes in what it is told to look at. When to look is for `watch` to say.

pub(super) mod absorb;
mod renames;
pub(super) mod scan;

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, RwLock, RwLockReadGuard};

use super::catalogue::{Catalogue, Difference, Edit, Entry, NewEntry};
use super::dir::{Kind, Meta, Name, is_absence};
use super::glance;
use super::locks::{lock, read, write};
use super::protect::{is_hidden, is_hidden_name};
use super::root::Root;
use crate::note::path::{MAX_DEPTH, VaultPath};
use renames::Renames;
use scan::{Scan, Walk};

/// What happened to a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// Its content or kind is another.
    Modified,
    /// It is gone.
    Removed,
    /// It has another name; what is below a renamed folder is not told one by one.
    Renamed {
        /// The name before.
        from: VaultPath,
    },
}

/// A change of the vault, whoever made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultChange {
    pub kind: ChangeKind,
    pub path: VaultPath,
    pub entry: Kind,
}

type Sink = Box<dyn Fn(&VaultChange) + Send + Sync>;

/// The catalogue of a vault, and who hears of its changes.
pub struct Tracker {
    root: Root,
    pub(super) catalogue: RwLock<Catalogue>,
    /// Folders that could not be listed, with the reason.
    pub(super) unreadable: RwLock<Vec<(VaultPath, String)>>,
    sinks: RwLock<Vec<Sink>>,
    pub(super) renames: Mutex<Renames>,
    /// Held while the catalogue changes and its changes are told, so that all hear them in order.
    changing: Mutex<()>,
    /// Set when everything is to end: a scan under way gives up.
    pub(super) stopping: AtomicBool,
    /// While a full scan runs: what else was looked at or changed meanwhile.
    pub(super) touched: Mutex<Option<Vec<VaultPath>>>,
}

/// Whoever knows of changes knows the folder.
impl Deref for Tracker {
    type Target = Root;

    fn deref(&self) -> &Root {
        &self.root
    }
}

impl Tracker {
    /// Knows nothing yet.
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

    /// Everything known to be in the vault. Hold it shortly: changes wait for it.
    pub(super) fn known(&self) -> RwLockReadGuard<'_, Catalogue> {
        read(&self.catalogue)
    }

    /// The folders that the last scan could not list: of what is in them nothing newer is known.
    pub fn unlisted_folders(&self) -> Vec<VaultPath> {
        read(&self.unreadable).iter().map(|(folder, _)| folder.clone()).collect()
    }

    /// A walk that gives up when everything is to end.
    pub(super) fn walk(&self) -> Walk<'_> {
        Walk::new(self.folder(), &self.stopping)
    }

    /// How many renames were noticed since the vault was opened: a mark for
    /// [`Watcher::renamed_since`](super::watch::Watcher::renamed_since).
    pub fn renames(&self) -> u64 {
        lock(&self.renames).count()
    }

    /// Calls `sink` for each change noticed from now on, in order, on the thread that noticed.
    /// It must be quick and must not ask the vault for changes itself.
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

    /// Collects what is looked at or changed from now on, until the scan that begins is over.
    pub(super) fn collect_touched(&self) -> Touched<'_> {
        Touched::collect(&self.touched)
    }

    /// Takes in what a walk over the whole vault has found, the first one with the catalogue that an
    /// earlier run kept; gives what was looked at meanwhile. `taken` is called before it is told.
    pub(super) fn take_walk(
        &self,
        found: Scan,
        first: Option<Option<Catalogue>>,
        taken: impl FnOnce(),
    ) -> Vec<VaultPath> {
        let _turn = lock(&self.changing);
        let changes = match first {
            Some(saved) => self.take_first(found, saved),
            None => self.take_scan(found),
        };
        let touched = lock(&self.touched).take().unwrap_or_default();
        taken();
        self.emit(&changes);
        touched
    }

    /// Makes the catalogue of the first scan and of what there was before.
    fn take_first(&self, scan: Scan, saved: Option<Catalogue>) -> Vec<VaultChange> {
        let Scan { entries, met, unreadable, hidden, .. } = scan;
        self.note_folders(hidden, unreadable);
        let catalogue = match saved {
            None => Catalogue::build(entries),
            Some(mut saved) => {
                let difference = saved.difference(&met, entries);
                saved.apply(difference.edits());
                saved
            }
        };
        self.edit(|before| *before = catalogue);
        Vec::new()
    }

    /// Brings the catalogue to what a later scan has found.
    fn take_scan(&self, scan: Scan) -> Vec<VaultChange> {
        let Scan { mut entries, unreadable, hidden, .. } = scan;
        // A folder that cannot be listed for a moment is not empty: what was known of it stays.
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
        self.met(hidden);
        *write(&self.unreadable) = unreadable;
    }

    /// What a difference tells.
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

    /// Looks at `path` and tells the catalogue; gives what is there, links not followed. A new
    /// folder is scanned.
    pub fn recheck(&self, path: &VaultPath) -> Option<Meta> {
        if path.is_root() || is_hidden(path) {
            return None;
        }
        if glance::is_on() {
            let meta = self.folder().stat_cached(path).ok();
            match meta {
                Some(meta) => self.saw(path, &meta),
                None => {
                    glance::would_wait();
                }
            }
            return meta;
        }
        match self.folder().stat_at(path) {
            Ok(meta) => {
                self.saw(path, &meta);
                Some(meta)
            }
            Err(error) if is_absence(&error) => {
                self.forget(path);
                None
            }
            // Unreadable is not gone: what was known stays.
            Err(_) => None,
        }
    }

    /// As [`Self::recheck`], where the system told of a change. One that kept the size and the time is a
    /// change too, which the time that nobody can set gives away: another text, or another file that has
    /// the name now.
    fn recheck_told(&self, path: &VaultPath) -> Option<Meta> {
        let meta = self.recheck(path)?;
        let is_kept = |meta: &Meta| {
            let known = self.known();
            let known = known.get(path.as_str()).filter(|known| known.kind == Kind::File);
            known.is_some_and(|known| known.agrees(meta) && !known.is_as_found(meta))
        };
        if is_kept(&meta) {
            let _turn = lock(&self.changing);
            // In its turn once more: somebody else may have taken in a newer state.
            if let Ok(meta) = self.folder().stat_at(path)
                && is_kept(&meta)
            {
                let found = NewEntry::new(path.clone(), &meta);
                let told = change(ChangeKind::Modified, &found);
                self.edit(|catalogue| catalogue.apply(vec![Edit::Put(found)]));
                self.emit(&[told]);
                self.touch(path);
            }
        }
        Some(meta)
    }

    /// Takes in that `path` is in this state.
    pub(super) fn saw(&self, path: &VaultPath, meta: &Meta) {
        let agrees = self.known().get(path.as_str()).is_some_and(|entry| entry.agrees(meta));
        if !agrees && !glance::would_wait() {
            self.take_in(path);
        }
    }

    /// Takes in that nothing is at `path` any more.
    pub(super) fn forget(&self, path: &VaultPath) {
        if self.known().get(path.as_str()).is_some() {
            self.take_in(path);
        }
        self.touch(path);
    }

    /// Brings the catalogue up to date about `path`. Looks again in its turn: what was seen before
    /// may be older than what another has taken in meanwhile.
    fn take_in(&self, path: &VaultPath) {
        let _turn = lock(&self.changing);
        match self.folder().stat_at(path) {
            Ok(meta) => {
                let spelt = self.real_spelling(path, &meta);
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

    /// Puts what is at `path` into the catalogue, with the folders on the way and, for a new
    /// folder, all that is in it, and tells what changed by that. Only in one's turn.
    fn put(&self, path: &VaultPath, meta: &Meta) {
        // Deeper folders are not listed either.
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
        let come: Vec<_> = below.iter().map(|entry| change(ChangeKind::Created, entry)).collect();
        edits.extend(std::iter::once(entry).chain(below).map(Edit::Put));
        let taken = self.edit(|catalogue| catalogue.apply(edits));
        changes.extend(gone_below(path, &taken));
        changes.push(VaultChange { kind, path: path.clone(), entry: meta.kind });
        changes.extend(come);
        self.emit(&changes);
    }

    /// The catalogue's entry for what is at `path`.
    fn entry(&self, path: &VaultPath, meta: &Meta) -> Option<NewEntry> {
        let parent = path.parent()?;
        if meta.kind != Kind::Link {
            return (!is_hidden_name(path.name())).then(|| NewEntry::new(path.clone(), meta));
        }
        let folder = self.folder().open_folder_at(&parent).ok()?;
        scan::entry(&folder, &parent, path.name().as_ref(), meta)
    }

    /// Puts folders on the way to something new in the catalogue, outermost first.
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

    /// Where names ignore case, the system finds `note.md` under any spelling: what the folder
    /// itself says counts.
    fn real_spelling(&self, path: &VaultPath, meta: &Meta) -> Option<VaultPath> {
        let key = path.fold_key();
        let twin = self.known().folded(&key).iter().any(|entry| entry.id == meta.id);
        if !twin {
            return None;
        }
        let parent = path.parent()?;
        let folder = self.folder().open_folder_at(&parent).ok()?;
        // Where another case does not lead here, this is the name. A folder of many notes is not listed
        // for each change of one.
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

    /// Lists one folder and takes in what has come, changed or gone in it; whether anything had.
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
                Some(meta) if entry.is_as_found(meta) => {
                    on_disk.remove(entry.path().as_str());
                }
                Some(_) => {}
            }
        }
        let changed = !gone.is_empty() || !on_disk.is_empty();
        gone.iter().for_each(|path| self.forget(path));
        on_disk.keys().for_each(|path| {
            self.recheck_told(path);
        });
        changed
    }

    /// Takes in a rename that was seen or made, of a file or of a folder with all in it.
    pub(super) fn renamed(&self, from: &VaultPath, to: &VaultPath) {
        let is_taken_in = self.rename_known(from, to);
        // The old name may be another's by now: two can change places in one step.
        if from.fold_key() != to.fold_key() {
            self.look_through(from);
        } else if let Some(folder) = from.parent() {
            // A file system that ignores case finds the new name by the old one; its list does not.
            self.recheck_folder(&folder);
        }
        if !is_taken_in {
            // Told of before, or one end out of sight: what is there now counts. A folder that went to
            // and fro while a walk passed may be known without what is in it.
            self.look_through(to);
        }
        self.touch(from);
        self.touch(to);
    }

    fn is_unlisted(&self, folder: &VaultPath) -> bool {
        read(&self.unreadable).iter().any(|(unlisted, _)| unlisted == folder)
    }

    /// All below a folder of which nothing is known yet. What cannot be listed is noted, and listed when it
    /// is looked at again.
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

    /// Looks at `path` and, if it is a folder, at all below it.
    pub(super) fn look_through(&self, path: &VaultPath) {
        if self.recheck_told(path).is_some_and(|meta| meta.kind == Kind::Folder) {
            self.recheck_tree(path);
        }
    }

    /// Looks at a folder with all below it once more, as at a new one after it is watched: what was
    /// put into it before is not told.
    fn recheck_tree(&self, path: &VaultPath) {
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

    /// Takes in that what the catalogue knew as `from` is at `to`; whether it is.
    fn rename_known(&self, from: &VaultPath, to: &VaultPath) -> bool {
        let _turn = lock(&self.changing);
        let id = |path: &VaultPath| self.known().get(path.as_str()).map(|entry| entry.id);
        let (Some(moved), replaced) = (id(from), id(to)) else { return false };
        let Some(meta) = self.look(to).filter(|_| !is_hidden(to)) else { return false };
        // Known to be there, and not as what had the old name: it was looked at since, or is back.
        if replaced == Some(meta.id) && moved != meta.id {
            return false;
        }
        let below = match meta.kind {
            Kind::Folder => match self.walk().below(to) {
                Ok(scan) => Some(scan),
                // Not taken for empty: it is looked at by itself.
                Err(_) => return false,
            },
            _ => None,
        };
        let Some(entry) = self.entry(to, &meta) else { return false };
        let mut changes = self.missing_parents(to);
        let mut edits = vec![Edit::Remove(from.clone()), Edit::Remove(to.clone())];
        let below = below.into_iter().flat_map(|scan| scan.entries);
        edits.extend(std::iter::once(entry).chain(below).map(Edit::Put));
        let mut taken = self.edit(|catalogue| catalogue.apply(edits));
        taken.retain(|entry| !entry.path.is_within(from));
        changes.extend(gone_below(to, &taken));
        let kind = ChangeKind::Renamed { from: from.clone() };
        changes.push(VaultChange { kind, path: to.clone(), entry: meta.kind });
        self.emit(&changes);
        true
    }

    fn look(&self, path: &VaultPath) -> Option<Meta> {
        let (folder, name) = self.folder().open_parent(path).ok()?;
        folder.stat(Name::new(name.as_str()).ok()?).ok()
    }
}

/// Collects what is looked at while a scan is under way, and no longer, however that ends.
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

/// The name in another case; for a plain one, of which nothing but the case can be spelt otherwise.
fn other_case(name: &str) -> Option<String> {
    let other = if name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        name.to_ascii_uppercase()
    } else {
        name.to_ascii_lowercase()
    };
    (name.is_ascii() && other != name).then_some(other)
}

/// What was below a folder whose name is another's now, as gone; of the name itself the other is told.
fn gone_below(path: &VaultPath, taken: &[NewEntry]) -> impl Iterator<Item = VaultChange> {
    let below = taken.iter().filter(move |entry| entry.path != *path);
    below.map(|entry| change(ChangeKind::Removed, entry))
}

fn change(kind: ChangeKind, entry: &NewEntry) -> VaultChange {
    VaultChange { kind, path: entry.path.clone(), entry: entry.kind }
}
