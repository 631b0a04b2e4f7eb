//! Displaced versions, watched for a moment: an editor that had the file open may still write into
//! the version it knows.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Recovery;
use crate::note::path::VaultPath;
use crate::vault::locks::lock;
use crate::vault::revision::Revision;

/// How long a displaced version is watched for late writes.
pub(in crate::vault) const LATE: Duration = Duration::from_secs(3);

/// Displaced versions that an editor may still have open.
#[derive(Default)]
pub(in crate::vault) struct LateWrites(Mutex<Vec<Late>>);

pub(in crate::vault) struct Late {
    pub path: VaultPath,
    pub file: File,
    /// What it held when it was displaced.
    pub revision: Revision,
    /// When to look for the last time.
    pub until: Instant,
}

/// Versions watched at once. Each holds a file open; beyond that the oldest is looked at early.
const MOST: usize = 64;

impl LateWrites {
    /// Watches one more, and looks at those whose time is over.
    pub fn watch(&self, recovery: &Recovery, late: Late) {
        let crowded = {
            let mut watched = lock(&self.0);
            watched.push(late);
            (watched.len() > MOST).then(|| watched.remove(0))
        };
        crowded.into_iter().for_each(|late| look(recovery, late));
        self.check(recovery, Instant::now());
    }

    /// Whether nothing is watched.
    pub fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Looks at those whose time is over at `now`.
    pub fn check(&self, recovery: &Recovery, now: Instant) {
        let due: Vec<Late> = lock(&self.0).extract_if(.., |late| late.until <= now).collect();
        due.into_iter().for_each(|late| look(recovery, late));
    }

    /// Looks at all of them now.
    pub fn finish(&self, recovery: &Recovery) {
        self.check(recovery, Instant::now() + LATE);
    }
}

fn look(recovery: &Recovery, mut late: Late) {
    let read = late.file.seek(SeekFrom::Start(0));
    let found = read.and_then(|_| Revision::of_reader(&mut late.file));
    if found.is_ok_and(|found| found != late.revision) {
        recovery.keep_late_write(&late.path, &mut late.file);
    }
}
