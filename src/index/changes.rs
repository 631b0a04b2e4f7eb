//! The change feed: which files have changed since each listener last took its changes.
//!
//! The feed subscribes to the vault once. Each [`Listener`] names the files that it needs and collects their
//! changes until it takes them, independently of others. A listener that has not taken any yet collects none:
//! it has to read all files anyway.
//!
//! Every listener verifies the state on disk in three steps: [`Listener::settle`] processes what
//! the system has reported, and compares the known files with the disk if the system does not
//! report every change; [`Listener::take`] and [`Pending::files`] give the files to read again; and
//! [`unsure_for`] tells whether the time of a file just read identifies its text.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use rayon::prelude::*;

use crate::locks::{lock, read, write};
use crate::note::path::{PathRef, VaultPath};
use crate::vault::{ChangeKind, Entry, FileId, Kind, Meta, Vault, VaultChange};

/// Maximum number of pending renamed folders; beyond it, every file counts as changed.
const MAX_FOLDERS: usize = 64;

/// Size and mtime of a file, to see whether it has changed.
pub(super) type Stamp = (u64, i64);

pub(super) fn stamp(meta: &Meta) -> Stamp {
    (meta.size, meta.modified)
}

/// A file's inode and ctime as one number, to detect a different file with the same size and mtime:
/// programs cannot set the ctime.
pub(super) fn identity(id: FileId, change_mark: u32) -> u64 {
    // Windows reports both for an open file, and a start would have to open each. What a folder's list says of them may be
    // old: NTFS updates it late.
    let inode = if cfg!(windows) { 0 } else { id.inode };
    inode ^ u64::from(change_mark) << 32
}

/// How long after `now` a file last changed at `modified` could change again with the same mtime.
/// The Linux kernel uses the time of its last tick, up to 10 ms ago. FAT counts in two seconds,
/// exFAT in hundredths, some drivers in whole seconds; their times are round numbers.
pub(super) fn unsure_for(modified: i64, now: i64) -> Option<Duration> {
    const TICK: i64 = 10_000_000;
    const COARSE: i64 = 2_000_000_000;
    let step = if modified % TICK == 0 { COARSE } else { 2 * TICK };
    let step = Duration::from_nanos(step.unsigned_abs());
    step.checked_sub(Duration::from_nanos(now.abs_diff(modified))).filter(|left| !left.is_zero())
}

/// The files that a listener needs.
pub(super) type PathFilter = fn(PathRef<'_>) -> bool;

/// The vault's changes, for any number of listeners.
pub(super) struct Feed {
    vault: Vault,
    /// Shared with the vault's callback, which must not own the vault.
    queues: Arc<RwLock<Vec<Arc<Queue>>>>,
}

impl Feed {
    pub fn new(vault: Vault) -> Self {
        let queues = Arc::<RwLock<Vec<Arc<Queue>>>>::default();
        let fed = Arc::clone(&queues);
        vault.subscribe(Box::new(move |change| {
            let queues = read(&fed);
            queues.iter().for_each(|queue| queue.push(change));
        }));
        Self { vault, queues }
    }

    /// A listener for the files that `accepts` selects. With more than `most` pending changes, every file counts as changed.
    /// `wake` is called after each added change, on the thread that noticed it.
    pub fn listen(
        &self,
        accepts: PathFilter,
        most: usize,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Listener {
        let pending = Mutex::new(Pending::everything());
        let queue = Arc::new(Queue { accepts, most, pending, wake: Box::new(wake) });
        write(&self.queues).push(Arc::clone(&queue));
        Listener { vault: self.vault.clone(), queue }
    }
}

struct Queue {
    accepts: PathFilter,
    most: usize,
    pending: Mutex<Pending>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Queue {
    fn push(&self, change: &VaultChange) {
        let mut pending = lock(&self.pending);
        let mut added = false;
        if let ChangeKind::Renamed { from } = &change.kind {
            added |= self.add(&mut pending, from, change.entry);
            added |= self.add(&mut pending, &change.path, change.entry);
        } else if change.entry != Kind::Folder || matches!(change.kind, ChangeKind::Modified) {
            // The files of a new or removed folder are reported one by one. A folder that is modified was a file before.
            added |= self.add(&mut pending, &change.path, Kind::File);
        }
        drop(pending);
        if added {
            (self.wake)();
        }
    }

    fn add(&self, pending: &mut Pending, path: &VaultPath, entry: Kind) -> bool {
        if pending.is_everything() {
            return false;
        }
        match entry {
            Kind::Folder => pending.folders.push(path.clone()),
            _ if (self.accepts)(path.borrowed()) => pending.name(path.clone()),
            _ => return false,
        }
        if pending.files.len() > self.most || pending.folders.len() > MAX_FOLDERS {
            *pending = Pending::everything();
        }
        true
    }
}

/// Reported changes. Only the current state matters, so each file is stored once, at its first
/// change.
#[derive(Debug, Default)]
pub(super) struct Pending {
    files: Vec<VaultPath>,
    /// The same, for lookup.
    named: HashSet<VaultPath>,
    /// Everything in these folders.
    folders: Vec<VaultPath>,
}

/// A file to read again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changed {
    pub path: VaultPath,
    /// Its stamp in the catalogue; `None` if it is gone.
    pub stamp: Option<Stamp>,
    /// Whether the file itself was reported, so that it changed even if its stamp is the same;
    /// otherwise its folder was.
    pub named: bool,
}

impl Pending {
    fn everything() -> Self {
        Self { folders: vec![VaultPath::root()], ..Self::default() }
    }

    fn is_everything(&self) -> bool {
        self.folders.first().is_some_and(VaultPath::is_root)
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty()
    }

    pub fn name(&mut self, path: VaultPath) {
        if self.named.insert(path.clone()) {
            self.files.push(path);
        }
    }
}

/// Receives the changes of the files that it needs.
pub(super) struct Listener {
    vault: Vault,
    queue: Arc<Queue>,
}

impl Listener {
    /// Processes what the system has reported so far. If it does not report every change, the `known` files are
    /// compared with the disk, until `over`. These changes are in the next [`Self::take`].
    pub fn settle(
        &self,
        known: impl FnOnce() -> Vec<(VaultPath, Stamp)>,
        over: impl Fn() -> bool + Sync,
    ) {
        self.vault.settle();
        if self.vault.is_watched() {
            return;
        }
        known().par_iter().for_each(|(path, stamp)| {
            if !over() && !self.is_same(path, *stamp) {
                self.vault.recheck(path);
            }
        });
    }

    /// Whether no change is pending; `false` if that is not known without waiting.
    pub fn is_idle(&self) -> bool {
        self.queue.pending.try_lock().is_ok_and(|pending| pending.is_empty())
    }

    /// Whether a file on disk has this stamp.
    pub fn is_same(&self, path: &VaultPath, stamp: Stamp) -> bool {
        self.vault.stat(path).is_ok_and(|meta| self::stamp(&meta) == stamp)
    }

    /// The changes since the last call; the first time, all files.
    pub fn take(&self) -> Pending {
        std::mem::take(&mut *lock(&self.queue.pending))
    }

    /// Makes these files pending again, even with unchanged stamps.
    pub fn again(&self, paths: impl Iterator<Item = VaultPath>) {
        let mut pending = lock(&self.queue.pending);
        for path in paths {
            self.queue.add(&mut pending, &path, Kind::File);
        }
    }

    /// Makes all files pending again.
    pub fn reset(&self) {
        *lock(&self.queue.pending) = Pending::everything();
    }

    /// The files to read again for `pending`, each once: first reported files, then those of folders. `known` are
    /// the files that the listener has.
    pub fn files<'k>(
        &self,
        pending: Pending,
        known: impl Iterator<Item = PathRef<'k>>,
    ) -> Vec<Changed> {
        let Pending { files, named: mut seen, folders } = pending;
        let catalogue = self.vault.catalogue();
        let named = files.into_iter().map(|path| {
            let entry = catalogue.get(path.as_str()).filter(|entry| self.wants(entry));
            Changed { stamp: entry.map(|entry| (entry.size, entry.modified)), path, named: true }
        });
        let mut changed: Vec<Changed> = named.collect();
        if folders.is_empty() {
            return changed;
        }
        for entry in folders.iter().flat_map(|folder| catalogue.within(folder)) {
            let path = entry.path().to_path();
            if self.wants(&entry) && !seen.contains(&path) {
                if folders.len() > 1 {
                    // A folder may contain another.
                    seen.insert(path.clone());
                }
                let stamp = Some((entry.size, entry.modified));
                changed.push(Changed { path, stamp, named: false });
            }
        }
        let known = known.filter(|path| folders.iter().any(|folder| path.is_within(folder)));
        let is_there = |path: &PathRef<'_>| {
            catalogue.get(path.as_str()).is_some_and(|entry| self.wants(&entry))
        };
        let gone = known.filter(|path| !is_there(path)).map(PathRef::to_path);
        let gone = gone.filter(|path| seen.insert(path.clone()));
        changed.extend(gone.map(|path| Changed { path, stamp: None, named: false }));
        changed
    }

    /// Whether the listener needs this file.
    pub fn wants(&self, entry: &Entry<'_>) -> bool {
        entry.kind == Kind::File && !entry.unnameable && (self.queue.accepts)(entry.path())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::vault;

    struct Bench {
        feed: Feed,
        folder: tempfile::TempDir,
    }

    impl Bench {
        fn new(files: &[&str]) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let (place, state) = (folder.path().join("vault"), folder.path().join("state"));
            files.iter().for_each(|path| put(&place.join(path)));
            let opened = Vault::open(&place, &state, vault::Settings::default(), &|_| ());
            Self { feed: Feed::new(opened.expect("the vault opens").0), folder }
        }

        fn listen(&self, most: usize) -> (Listener, Arc<AtomicUsize>) {
            let wakes = Arc::<AtomicUsize>::default();
            let rung = Arc::clone(&wakes);
            let wake = move || {
                rung.fetch_add(1, Ordering::Relaxed);
            };
            let image = |path: PathRef<'_>| path.extension() == Some("png");
            (self.feed.listen(image, most, wake), wakes)
        }

        fn create(&self, paths: &[&str]) {
            for path in paths {
                put(&self.folder.path().join("vault").join(path));
                self.feed.vault.recheck(&self::path(path));
            }
        }

        #[expect(clippy::disallowed_methods, reason = "tests change the vaults they look at")]
        fn rename(&self, from: &str, to: &str) {
            let place = self.folder.path().join("vault");
            std::fs::rename(place.join(from), place.join(to)).expect("renamed");
            self.feed.vault.rescan().expect("scanned");
        }
    }

    #[expect(clippy::disallowed_methods, reason = "tests make the vaults they look at")]
    fn put(place: &std::path::Path) {
        std::fs::create_dir_all(place.parent().expect("a file is in a folder")).expect("made");
        std::fs::write(place, "png").expect("written");
    }

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text, None).expect("a path")
    }

    /// The changed files as text: `?` before one of a reported folder, `-` after one that is gone.
    fn given(listener: &Listener, known: &[&str]) -> Vec<String> {
        let known: Vec<VaultPath> = known.iter().map(|text| path(text)).collect();
        let changed = listener.files(listener.take(), known.iter().map(VaultPath::borrowed));
        let show = |Changed { path, stamp, named }| {
            let (before, after) =
                (["?", ""][usize::from(named)], ["-", ""][stamp.map_or(0, |_| 1)]);
            format!("{before}{path}{after}")
        };
        changed.into_iter().map(show).collect()
    }

    #[test]
    fn every_listener_gets_every_change_once_and_in_order() {
        let bench = Bench::new(&["a.png", "f/b.png", "note.md"]);
        let (first, first_wakes) = bench.listen(100);
        let (second, _) = bench.listen(100);
        let (third, _) = bench.listen(100);
        bench.create(&["z.png"]);
        assert_eq!(first_wakes.load(Ordering::Relaxed), 0, "it has to read all files anyway");
        for listener in [&first, &second, &third] {
            assert_eq!(
                given(listener, &["gone.png"]),
                ["?a.png", "?f/b.png", "?z.png", "?gone.png-"]
            );
            assert_eq!(given(listener, &["a.png"]), [""; 0], "taken is taken");
        }
        bench.create(&["y.png", "x.png", "other.md"]);
        assert_eq!(first_wakes.load(Ordering::Relaxed), 2, "notes are not images");
        assert_eq!(given(&second, &[]), ["y.png", "x.png"]);
        bench.create(&["w.png"]);
        // A rescan reports removed files, then added ones.
        bench.rename("f", "g");
        assert_eq!(given(&first, &[]), ["y.png", "x.png", "w.png", "f/b.png-", "g/b.png"]);
        assert_eq!(given(&second, &[]), ["w.png", "f/b.png-", "g/b.png"]);
        bench.rename("g", "h");
        bench.rename("h", "g");
        let all = ["y.png", "x.png", "w.png", "f/b.png-", "g/b.png", "h/b.png-"];
        assert_eq!(given(&third, &[]), all, "what is there now counts, once");
        assert_eq!(given(&second, &[]), ["g/b.png", "h/b.png-"]);
        assert_eq!(given(&third, &[]), [""; 0]);
        // A renamed folder that is reported as one.
        bench.create(&["r/c.png"]);
        let (kind, path) = (ChangeKind::Renamed { from: path("q") }, path("r"));
        third.queue.push(&VaultChange { kind, path, entry: Kind::Folder });
        assert_eq!(given(&third, &["q/c.png", "x.png"]), ["r/c.png", "?q/c.png-"]);
    }

    #[test]
    fn too_many_changes_are_a_change_of_everything() {
        let bench = Bench::new(&["a.png"]);
        let ((small, wakes), (large, _)) = (bench.listen(2), bench.listen(100));
        assert!(!small.take().is_empty() && !large.take().is_empty());
        bench.create(&["1.png", "2.png", "3.png", "4.png"]);
        assert_eq!(wakes.load(Ordering::Relaxed), 3, "after the third nothing is collected");
        assert_eq!(
            given(&small, &["5.png"]),
            ["?1.png", "?2.png", "?3.png", "?4.png", "?a.png", "?5.png-"]
        );
        assert_eq!(given(&large, &[]), ["1.png", "2.png", "3.png", "4.png"]);
        bench.create(&["5.png"]);
        assert_eq!(given(&small, &[]), ["5.png"]);
        small.reset();
        bench.create(&["6.png"]);
        assert_eq!(given(&small, &[]).len(), 7, "everything is pending again");
    }

    #[test]
    fn a_vault_that_reports_nothing_is_compared_with_the_disk() {
        let bench = Bench::new(&["a.png", "b.png"]);
        let (listener, _) = bench.listen(100);
        let known: Vec<_> = listener
            .files(listener.take(), std::iter::empty())
            .into_iter()
            .map(|file| (file.path, file.stamp.expect("it is there")))
            .collect();
        #[expect(clippy::disallowed_methods, reason = "a change that nobody reports")]
        std::fs::write(bench.folder.path().join("vault/b.png"), "longer").expect("written");
        listener.settle(|| known.clone(), || true);
        assert!(listener.take().is_empty(), "there was no time");
        listener.settle(|| known.clone(), || false);
        assert_eq!(given(&listener, &[]), ["b.png"]);
    }

    #[test]
    fn a_stamp_is_unsure_while_the_next_change_may_have_the_same() {
        let is_unsure = |modified, now| unsure_for(modified, now).is_some();
        let second = 1_000_000_000;
        // To the nanosecond: two ticks.
        assert!(is_unsure(second + 1, second + 15_000_000));
        assert!(!is_unsure(second + 1, second + 25_000_000));
        // A round number: the coarsest clock.
        assert!(is_unsure(second, 2 * second + second / 2));
        assert!(!is_unsure(second, 4 * second));
        // A clock that is behind or ahead.
        assert!(is_unsure(second, 0));
        assert!(!is_unsure(9 * second, 0));
        assert!(!is_unsure(i64::MIN, i64::MAX));
    }
}
