//! What is kept of each file, brought up to date: which files to read again, and reading them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rayon::prelude::*;

use super::changes::{Changed, Feed, Listener, Stamp, stamp};
use crate::note::path::{PathRef, VaultPath};
use crate::vault::{Cancel, Vault};

/// Changes collected one by one; beyond, all files are compared with the catalogue.
const MAX_CHANGES: usize = 20_000;

/// Files read before what was read is put in.
const BATCH: usize = 512;

/// The caller withdrew before what is kept was up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("withdrawn while the notes were being read")]
pub struct Withdrawn;

/// Keeps something of each of many files.
pub(super) trait Keeper: Default + Send + Sync {
    /// What is kept of one file.
    type Record;
    /// The same as it was read.
    type Read: Send;

    /// Whether something is kept of this file.
    fn wants(path: PathRef<'_>) -> bool;
    /// Reads a file that the catalogue saw so; `None` if it is gone.
    fn read(vault: &Vault, path: &VaultPath, seen: Stamp) -> Option<Self::Read>;
    /// The state in which a file was read, and whether its next change may carry the same one.
    fn stamp(record: &Self::Record) -> (Stamp, bool);

    /// What is kept of this file.
    fn get(&self, path: &VaultPath) -> Option<&Self::Record>;
    /// All that is kept, in no order.
    fn iter(&self) -> impl Iterator<Item = (&VaultPath, &Self::Record)>;
    /// Puts in what was read of a file, in place of what was known.
    fn put(&mut self, path: VaultPath, read: Self::Read);
    /// Forgets a file that is gone.
    fn remove(&mut self, path: &VaultPath);
    /// The files that have to be read again whatever their size and time say.
    fn unsure(&self) -> impl Iterator<Item = &VaultPath>;
}

/// What is kept of a vault's files, and what has changed since it was last brought up to date.
pub(super) struct Fresh<K: Keeper> {
    pub vault: Vault,
    kept: RwLock<K>,
    changes: Listener,
    /// One at a time brings it up to date.
    turn: Mutex<()>,
    /// Something of it changed since it was saved.
    is_unsaved: AtomicBool,
}

impl<K: Keeper> Fresh<K> {
    /// What is kept of `vault`; nothing is read yet.
    pub fn new(vault: Vault, feed: &Feed) -> Self {
        let changes = feed.listen(K::wants, MAX_CHANGES, || ());
        let is_unsaved = AtomicBool::new(false);
        Self { vault, kept: RwLock::default(), changes, turn: Mutex::default(), is_unsaved }
    }

    pub fn kept(&self) -> RwLockReadGuard<'_, K> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, to be put right beside what changes.
    pub fn kept_mut(&self) -> RwLockWriteGuard<'_, K> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets all that is kept for `kept`, which knows of no file yet: every file is read again.
    pub fn begin_anew(&self, kept: K) {
        *self.kept_mut() = kept;
        self.changes.reset();
    }

    /// Whether something of it changed since this was asked before.
    pub fn take_unsaved(&self) -> bool {
        self.is_unsaved.swap(false, Ordering::Relaxed)
    }

    /// Brings it up to date, which the first time reads every file that it wants.
    ///
    /// # Errors
    /// [`Withdrawn`]; what was read by then stays.
    pub fn refresh(&self, cancel: &Cancel) -> Result<(), Withdrawn> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = |(path, record): (&VaultPath, &K::Record)| (path.clone(), K::stamp(record).0);
        self.changes.settle(|| self.kept().iter().map(stamps).collect(), || false);
        let outcome = self.take(self.stale(), cancel);
        if outcome.is_err() {
            self.changes.reset();
        }
        outcome
    }

    /// Compares the files of an answer with the disk, and reads again those that have, or may have,
    /// changed.
    pub fn check<'p>(&self, paths: impl Iterator<Item = &'p VaultPath>) {
        let stale: Vec<_> = {
            let known = self.kept();
            let is_same = |path, record| {
                let (stamp, unsure) = K::stamp(record);
                !unsure && self.changes.is_same(path, stamp)
            };
            let records = paths.filter_map(|path| Some((path, known.get(path)?)));
            let stale = records.filter(|(path, record)| !is_same(path, record));
            stale.map(|(path, record)| (path.clone(), K::stamp(record).0)).collect()
        };
        for (path, known) in stale {
            // What cannot be looked at for a moment is not gone.
            let seen = self.vault.recheck(&path).map_or(known, |meta| stamp(&meta));
            let fresh = K::read(&self.vault, &path, seen);
            self.put(path, fresh);
        }
    }

    /// Reads one file of which nothing is known.
    pub fn read(&self, path: &VaultPath) {
        if let (true, Ok(meta)) = (K::wants(path.borrowed()), self.vault.stat(path)) {
            self.put(path.clone(), K::read(&self.vault, path, stamp(&meta)));
        }
    }

    /// The files to read again.
    fn stale(&self) -> Vec<Changed> {
        let kept = self.kept();
        let mut pending = self.changes.take();
        kept.unsure().for_each(|path| pending.name(path.clone()));
        let known = kept.iter().map(|(path, _)| path.borrowed());
        let mut files = self.changes.files(pending, known);
        let stamp = |path: &VaultPath| kept.get(path).map(|record| K::stamp(record).0);
        files.retain(|file| file.named || stamp(&file.path) != file.stamp);
        files
    }

    fn take(&self, stale: Vec<Changed>, cancel: &Cancel) -> Result<(), Withdrawn> {
        let (there, gone): (Vec<_>, Vec<_>) =
            stale.into_iter().partition(|file| file.stamp.is_some());
        gone.into_iter().for_each(|file| self.put(file.path, None));
        for batch in there.chunks(BATCH) {
            let fresh: Vec<_> = batch
                .par_iter()
                .filter(|_| !cancel.is_cancelled())
                .filter_map(|file| {
                    Some((file.path.clone(), K::read(&self.vault, &file.path, file.stamp?)))
                })
                .collect();
            for (path, record) in fresh {
                self.put(path, record);
            }
            if cancel.is_cancelled() {
                return Err(Withdrawn);
            }
        }
        Ok(())
    }

    fn put(&self, path: VaultPath, read: Option<K::Read>) {
        self.is_unsaved.store(true, Ordering::Relaxed);
        let mut kept = self.kept_mut();
        match read {
            Some(read) => kept.put(path, read),
            None => kept.remove(&path),
        }
    }
}
