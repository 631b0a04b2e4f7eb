//! A table with a record for each of many files, synchronised with the vault: finds the files to read again, and reads
//! them.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rayon::prelude::*;

use super::changes::{Changed, Feed, Listener, Stamp, stamp};
use crate::locks::{lock, read, write};
use crate::note::path::{PathRef, VaultPath};
use crate::vault::{Cancel, Vault};

/// Maximum number of pending changes; beyond it, all files are compared with the catalogue.
const MAX_CHANGES: usize = 20_000;

/// The files read before their records are stored; the second number is for slow reading.
const BATCH: [usize; 2] = [512, 8];

/// The most files that are read before all others.
const MAX_URGENT: usize = 200;

/// The caller cancelled before the records were up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cancelled while the notes were being read")]
pub struct Cancelled;

/// A table with a record for each of many files.
pub(super) trait RecordTable: Default + Send + Sync {
    /// Whether reading is so slow that the newest files are read first, few at a time.
    const IS_SLOWEST: bool = false;
    /// The record of a file.
    type Record;
    /// The record as it is read.
    type Read: Send;

    /// Whether this file has a record.
    fn wants(path: PathRef<'_>) -> bool;
    /// Reads a file with this stamp in the catalogue; `None` if it is gone.
    fn read(vault: &Vault, path: &VaultPath, file_stamp: Stamp) -> Option<Self::Read>;
    /// The same, unless it is cancelled or currently impossible.
    fn read_until(
        vault: &Vault,
        path: &VaultPath,
        file_stamp: Stamp,
        _: &Cancel,
    ) -> Result<Option<Self::Read>, Cancelled> {
        Ok(Self::read(vault, path, file_stamp))
    }
    /// The stamp of the file when it was read, and whether its next change may have the same.
    fn stamp(record: &Self::Record) -> (Stamp, bool);

    /// The record of a file.
    fn get(&self, path: &VaultPath) -> Option<&Self::Record>;
    /// All records, in no order.
    fn iter(&self) -> impl Iterator<Item = (&VaultPath, &Self::Record)>;
    /// Stores or replaces a record.
    fn put(&mut self, path: VaultPath, read: Self::Read);
    fn remove(&mut self, path: &VaultPath);
    /// The files that must be read again regardless of their stamps.
    fn unsure(&self) -> impl Iterator<Item = &VaultPath>;
}

/// A table of the vault's files, with the changes since it was last brought up to date.
pub(super) struct Synced<K: RecordTable> {
    pub vault: Vault,
    table: RwLock<K>,
    changes: Listener,
    /// Held while the records are brought up to date.
    turn: Mutex<()>,
    /// Whether a record changed since the last save.
    is_unsaved: AtomicBool,
    /// Files to read before all others if reading is slow, most urgent first.
    urgent: Mutex<Vec<VaultPath>>,
}

impl<K: RecordTable> Synced<K> {
    /// Records of `vault`. Nothing is read yet.
    pub fn new(vault: Vault, feed: &Feed) -> Self {
        let changes = feed.listen(K::wants, MAX_CHANGES, || ());
        Self {
            vault,
            table: RwLock::default(),
            changes,
            turn: Mutex::default(),
            is_unsaved: AtomicBool::new(false),
            urgent: Mutex::default(),
        }
    }

    pub fn table(&self) -> RwLockReadGuard<'_, K> {
        read(&self.table)
    }

    /// The records, to adapt them to changed settings.
    pub fn table_mut(&self) -> RwLockWriteGuard<'_, K> {
        write(&self.table)
    }

    /// Replaces the table by an empty one: every file is read again.
    pub fn reset(&self, table: K) {
        *self.table_mut() = table;
        self.changes.reset();
    }

    /// Whether a record changed since the last call.
    pub fn take_unsaved(&self) -> bool {
        self.is_unsaved.swap(false, Ordering::Relaxed)
    }

    /// Brings the records up to date; the first time, every file is read.
    pub fn refresh(&self, cancel: &Cancel) -> Result<(), Cancelled> {
        self.refresh_while(cancel, &|| true)
    }

    /// The same, while `goes_on` returns true; it is called every few files.
    ///
    /// # Errors
    /// [`Cancelled`], also if `goes_on` returns false.
    pub fn refresh_while(
        &self,
        cancel: &Cancel,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Cancelled> {
        let _turn = lock(&self.turn);
        let stamps = |(path, record): (&VaultPath, &K::Record)| (path.clone(), K::stamp(record).0);
        self.changes.settle(|| self.table().iter().map(stamps).collect(), || false);
        self.read_stale(self.stale(), cancel, goes_on)
    }

    /// Whether no record is outdated according to the changes reported so far; `false` if that is
    /// not known without waiting.
    pub fn is_current(&self) -> bool {
        self.changes.is_idle() && self.table().unsure().next().is_none()
    }

    /// Reads these files before the other pending ones, if reading is slow.
    pub fn prioritise(&self, paths: impl Iterator<Item = VaultPath>) {
        let mut urgent = lock(&self.urgent);
        let earlier = std::mem::replace(&mut *urgent, paths.collect());
        urgent.extend(earlier);
        urgent.truncate(MAX_URGENT);
    }

    #[cfg(test)]
    pub fn urgent(&self) -> Vec<VaultPath> {
        lock(&self.urgent).clone()
    }

    /// Compares the files of an answer with the disk, and reads those again that may have changed.
    pub fn check<'p>(&self, paths: impl Iterator<Item = &'p VaultPath>) {
        let stale: Vec<_> = {
            let known = self.table();
            let is_same = |path, record| {
                let (stamp, unsure) = K::stamp(record);
                !unsure && self.changes.is_same(path, stamp)
            };
            let records = paths.filter_map(|path| Some((path, known.get(path)?)));
            let stale = records.filter(|(path, record)| !is_same(path, record));
            stale.map(|(path, record)| (path.clone(), K::stamp(record).0)).collect()
        };
        for (path, known) in stale {
            // A file that cannot be accessed for a moment is not gone.
            let file_stamp = self.vault.recheck(&path).map_or(known, |meta| stamp(&meta));
            let fresh = K::read(&self.vault, &path, file_stamp);
            self.put(path, fresh);
        }
    }

    /// Reads a file without a record.
    pub fn read(&self, path: &VaultPath) {
        if let (true, Ok(meta)) = (K::wants(path.borrowed()), self.vault.stat(path)) {
            self.put(path.clone(), K::read(&self.vault, path, stamp(&meta)));
        }
    }

    /// The files to read again.
    fn stale(&self) -> Vec<Changed> {
        let table = self.table();
        let mut pending = self.changes.take();
        table.unsure().for_each(|path| pending.name(path.clone()));
        let known = table.iter().map(|(path, _)| path.borrowed());
        let mut files = self.changes.files(pending, known);
        let stamp = |path: &VaultPath| table.get(path).map(|record| K::stamp(record).0);
        files.retain(|file| file.named || stamp(&file.path) != file.stamp);
        if K::IS_SLOWEST {
            files.sort_by_key(|file| Reverse(file.stamp.map(|stamp| stamp.1)));
        }
        files
    }

    fn read_stale(
        &self,
        stale: Vec<Changed>,
        cancel: &Cancel,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Cancelled> {
        let mut rest = VecDeque::from(self.without_gone(stale));
        while !rest.is_empty() {
            if K::IS_SLOWEST {
                self.arrange(&mut rest);
            }
            let size = BATCH[usize::from(K::IS_SLOWEST)].min(rest.len());
            let batch: Vec<Changed> = rest.drain(..size).collect();
            let read = |file: &Changed| {
                let file_stamp = file.stamp.filter(|_| !cancel.is_cancelled()).ok_or(Cancelled)?;
                K::read_until(&self.vault, &file.path, file_stamp, cancel)
            };
            let fresh: Vec<_> = batch.par_iter().map(|file| (&file.path, read(file))).collect();
            let mut is_whole = true;
            for (path, read) in fresh {
                match read {
                    Ok(read) => self.put(path.clone(), read),
                    Err(Cancelled) => is_whole = false,
                }
            }
            if !is_whole || (!goes_on() && !rest.is_empty()) {
                self.changes.again(batch.into_iter().chain(rest).map(|file| file.path));
                return Err(Cancelled);
            }
        }
        Ok(())
    }

    /// Adds files that changed since the reading began, which may be hours ago, and puts urgent
    /// ones first.
    fn arrange(&self, rest: &mut VecDeque<Changed>) {
        if !self.changes.is_idle() {
            let fresh = self.without_gone(self.stale());
            let paths: HashSet<&VaultPath> = fresh.iter().map(|file| &file.path).collect();
            rest.retain(|file| !paths.contains(&file.path));
            fresh.into_iter().rev().for_each(|file| rest.push_front(file));
        }
        let urgent = std::mem::take(&mut *lock(&self.urgent));
        if !urgent.is_empty() {
            // A path may occur twice: its first position counts.
            let places = urgent.iter().enumerate().rev().map(|(place, path)| (path, place));
            let places: HashMap<&VaultPath, usize> = places.collect();
            let place = |file: &Changed| places.get(&file.path).copied().unwrap_or(urgent.len());
            rest.make_contiguous().sort_by_key(place);
        }
    }

    /// Removes the records of files that are gone, and returns the others.
    fn without_gone(&self, stale: Vec<Changed>) -> Vec<Changed> {
        let (there, gone): (Vec<_>, Vec<_>) =
            stale.into_iter().partition(|file| file.stamp.is_some());
        gone.into_iter().for_each(|file| self.put(file.path, None));
        there
    }

    /// Stores the record of a file, or removes it.
    pub fn put(&self, path: VaultPath, read: Option<K::Read>) {
        self.is_unsaved.store(true, Ordering::Relaxed);
        let mut table = self.table_mut();
        match read {
            Some(read) => table.put(path, read),
            None => table.remove(&path),
        }
    }
}
