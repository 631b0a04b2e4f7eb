//! Which files to read again, and reading them.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError, RwLock};

use rayon::prelude::*;

use super::graph::Graph;
use super::record::{self, Record};
use super::{Withdrawn, lock};
use crate::note::path::VaultPath;
use crate::vault::{Cancel, ChangeKind, Kind, Vault, VaultChange};

/// Changes remembered one by one; beyond, everything is compared.
const MAX_CHANGES: usize = 20_000;

/// Renamed folders remembered one by one.
const MAX_FOLDERS: usize = 64;

/// Files read before what was read is put in.
const BATCH: usize = 512;

/// What has changed since the graph was last brought up to date.
#[derive(Debug, Default)]
pub(super) enum Pending {
    /// Nobody knows: nothing was read yet, or too much happened.
    #[default]
    Everything,
    /// These files, and all that is in these folders.
    These { files: HashSet<VaultPath>, folders: Vec<VaultPath> },
}

impl Pending {
    fn nothing() -> Self {
        Self::These { files: HashSet::new(), folders: Vec::new() }
    }

    /// Takes in a change of the vault.
    pub fn hear(&mut self, change: &VaultChange) {
        let Self::These { files, folders } = self else { return };
        let mut touch = |path: &VaultPath| match change.entry {
            Kind::Folder => folders.push(path.clone()),
            _ if record::is_source_path(path) => drop(files.insert(path.clone())),
            _ => {}
        };
        match &change.kind {
            ChangeKind::Renamed { from } => {
                touch(from);
                touch(&change.path);
            }
            // What is in a folder that is new or gone is told file by file.
            _ if change.entry == Kind::Folder => {}
            _ => touch(&change.path),
        }
        if files.len() > MAX_CHANGES || folders.len() > MAX_FOLDERS {
            *self = Self::Everything;
        }
    }
}

/// Brings `graph` up to date.
pub(super) fn refresh(
    vault: &Vault,
    graph: &RwLock<Graph>,
    pending: &Mutex<Pending>,
    cancel: &Cancel,
) -> Result<(), Withdrawn> {
    vault.settle();
    if !vault.is_told_of_changes() {
        look_at_all(vault, graph);
    }
    let changes = std::mem::replace(&mut *lock(pending), Pending::nothing());
    let stale = stale(vault, &read(graph), changes);
    let outcome = take(vault, graph, stale, cancel);
    if outcome.is_err() {
        *lock(pending) = Pending::Everything;
    }
    outcome
}

/// Compares the files of an answer with the disk, and reads again those that have, or may have,
/// changed.
pub(super) fn check<'p>(
    vault: &Vault,
    graph: &RwLock<Graph>,
    paths: impl Iterator<Item = &'p VaultPath>,
) {
    let stale: Vec<_> = {
        let known = read(graph);
        let records = paths.filter_map(|path| Some((path, known.get(path)?)));
        let is_same = |path, record: &Record| {
            !record.unsure && vault.stat(path).is_ok_and(|m| record::stamp(&m) == record.stamp)
        };
        records
            .filter(|(path, record)| !is_same(path, record))
            .map(|(path, _)| path.clone())
            .collect()
    };
    for path in &stale {
        // What cannot be looked at for a moment is not gone.
        let seen = vault.recheck(path).map(|meta| record::stamp(&meta));
        let seen = seen.or_else(|| read(graph).get(path).map(|record| record.stamp));
        let fresh = record::read(vault, path, seen.unwrap_or_default());
        put(graph, path.clone(), fresh);
    }
}

/// Where nobody tells of changes the catalogue is what it was at the start: each known file is
/// looked at, and the vault told.
fn look_at_all(vault: &Vault, graph: &RwLock<Graph>) {
    let known: Vec<(VaultPath, (u64, i64))> =
        read(graph).iter().map(|(path, record)| (path.clone(), record.stamp)).collect();
    known.par_iter().for_each(|(path, stamp)| {
        if !vault.stat(path).is_ok_and(|meta| record::stamp(&meta) == *stamp) {
            vault.recheck(path);
        }
    });
}

/// The files that are gone, and those to read with what the catalogue says of them.
struct Stale {
    gone: Vec<VaultPath>,
    changed: Vec<(VaultPath, (u64, i64))>,
}

fn stale(vault: &Vault, graph: &Graph, changes: Pending) -> Stale {
    let catalogue = vault.catalogue();
    let root = VaultPath::root();
    let (files, folders) = match changes {
        Pending::Everything => (HashSet::new(), vec![root]),
        Pending::These { files, folders } => (files, folders),
    };
    let mut now: HashMap<VaultPath, Option<(u64, i64)>> = HashMap::new();
    // What was told of has changed, though its size and time may be the same.
    let told: HashSet<VaultPath> = files.into_iter().chain(graph.unsure().cloned()).collect();
    if !folders.is_empty() {
        let below = |path: &VaultPath| folders.iter().any(|folder| path.is_within(folder));
        let known = graph.iter().map(|(path, _)| path).filter(|path| below(path));
        now.extend(known.map(|path| (path.clone(), None)));
        for folder in &folders {
            let sources = catalogue.within(folder).filter(|entry| record::is_source(entry));
            now.extend(sources.map(|e| (e.path().to_path(), Some((e.size, e.modified)))));
        }
    }
    for path in &told {
        let entry = catalogue.get(path.as_str()).filter(|entry| record::is_source(entry));
        let stamp = entry.map(|entry| (entry.size, entry.modified));
        now.insert(path.clone(), stamp);
    }
    let mut stale = Stale { gone: Vec::new(), changed: Vec::new() };
    for (path, stamp) in now {
        match stamp {
            None => stale.gone.push(path),
            Some(stamp)
                if !told.contains(&path)
                    && graph.get(&path).is_some_and(|known| known.stamp == stamp) => {}
            Some(stamp) => stale.changed.push((path, stamp)),
        }
    }
    stale
}

fn take(
    vault: &Vault,
    graph: &RwLock<Graph>,
    stale: Stale,
    cancel: &Cancel,
) -> Result<(), Withdrawn> {
    for path in &stale.gone {
        put(graph, path.clone(), None);
    }
    for batch in stale.changed.chunks(BATCH) {
        let fresh: Vec<_> = batch
            .par_iter()
            .filter(|_| !cancel.is_cancelled())
            .map(|(path, stamp)| (path.clone(), record::read(vault, path, *stamp)))
            .collect();
        for (path, record) in fresh {
            put(graph, path, record);
        }
        if cancel.is_cancelled() {
            return Err(Withdrawn);
        }
    }
    Ok(())
}

fn put(graph: &RwLock<Graph>, path: VaultPath, record: Option<Record>) {
    let mut graph = graph.write().unwrap_or_else(PoisonError::into_inner);
    match record {
        Some(record) => graph.put(path, record),
        None => graph.remove(&path),
    }
}

fn read(graph: &RwLock<Graph>) -> std::sync::RwLockReadGuard<'_, Graph> {
    graph.read().unwrap_or_else(PoisonError::into_inner)
}
