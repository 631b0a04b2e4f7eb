//! The graph, brought up to date: which files to read again, and reading them.

use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use rayon::prelude::*;

use super::graph::Graph;
use super::record::{self, Record};
use crate::index::changes::{Changed, Feed, Listener, stamp};
use crate::note::path::VaultPath;
use crate::vault::{Cancel, Vault};

/// Changes collected one by one; beyond, all files are compared with the catalogue.
const MAX_CHANGES: usize = 20_000;

/// Files read before what was read is put in.
const BATCH: usize = 512;

/// The caller withdrew before the graph was up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("withdrawn while the links were being read")]
pub struct Withdrawn;

/// The graph of a vault, and what has changed since it was last brought up to date.
pub(super) struct Fresh {
    pub vault: Vault,
    graph: RwLock<Graph>,
    changes: Listener,
    /// One at a time brings the graph up to date.
    turn: Mutex<()>,
}

impl Fresh {
    /// The graph of `vault`; nothing is read yet.
    pub fn new(vault: Vault, feed: &Feed) -> Self {
        let changes = feed.listen(record::is_source, MAX_CHANGES, || ());
        Self { vault, graph: RwLock::default(), changes, turn: Mutex::default() }
    }

    pub fn graph(&self) -> RwLockReadGuard<'_, Graph> {
        self.graph.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the graph up to date.
    pub fn refresh(&self, cancel: &Cancel) -> Result<(), Withdrawn> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = |(path, record): (&VaultPath, &Record)| (path.clone(), record.stamp);
        self.changes.settle(|| self.graph().iter().map(stamps).collect(), || false);
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
            let known = self.graph();
            let is_same =
                |path, record: &Record| !record.unsure && self.changes.is_same(path, record.stamp);
            let records = paths.filter_map(|path| Some((path, known.get(path)?)));
            let stale = records.filter(|(path, record)| !is_same(path, record));
            stale.map(|(path, record)| (path.clone(), record.stamp)).collect()
        };
        for (path, known) in stale {
            // What cannot be looked at for a moment is not gone.
            let seen = self.vault.recheck(&path).map_or(known, |meta| stamp(&meta));
            let fresh = record::read(&self.vault, &path, seen);
            self.put(path, fresh);
        }
    }

    /// The files to read again.
    fn stale(&self) -> Vec<Changed> {
        let graph = self.graph();
        let mut pending = self.changes.take();
        graph.unsure().for_each(|path| pending.name(path.clone()));
        let known = graph.iter().map(|(path, _)| path.borrowed());
        let mut files = self.changes.files(pending, known);
        let stamp = |path: &VaultPath| graph.get(path).map(|record| record.stamp);
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
                    Some((file.path.clone(), record::read(&self.vault, &file.path, file.stamp?)))
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

    fn put(&self, path: VaultPath, record: Option<Record>) {
        let mut graph = self.graph.write().unwrap_or_else(PoisonError::into_inner);
        match record {
            Some(record) => graph.put(path, record),
            None => graph.remove(&path),
        }
    }
}
