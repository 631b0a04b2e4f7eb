//! Late writes: an editor that had a file open may still write into the version that a save
//! displaced.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Recovery;
use crate::locks::lock;
use crate::note::path::VaultPath;
use crate::vault::revision::Revision;

/// How long a displaced version is watched.
pub(in crate::vault) const LATE: Duration = Duration::from_secs(3);

/// The displaced versions that are watched.
#[derive(Default)]
pub(in crate::vault) struct LateWrites(Mutex<Vec<Late>>);

pub(in crate::vault) struct Late {
    pub path: VaultPath,
    pub file: File,
    /// The revision of the file when it was displaced.
    pub revision: Revision,
    /// When to check it.
    pub until: Instant,
}

/// Versions watched at once, each with an open file; beyond this the oldest is checked early.
const MAX_WATCHED: usize = 64;

impl LateWrites {
    /// Adds a version, and checks those that are due.
    pub fn watch(&self, recovery: &Recovery, late: Late) {
        let crowded = {
            let mut watched = lock(&self.0);
            watched.push(late);
            (watched.len() > MAX_WATCHED).then(|| watched.remove(0))
        };
        crowded.into_iter().for_each(|late| check(recovery, late));
        self.check(recovery, Instant::now());
    }

    pub fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Checks those that are due at `now`.
    pub fn check(&self, recovery: &Recovery, now: Instant) {
        self.check_those(recovery, |late| late.until <= now);
    }

    /// Checks those below a folder now.
    pub fn finish_below(&self, recovery: &Recovery, folder: &VaultPath) {
        self.check_those(recovery, |late| late.path != *folder && late.path.is_within(folder));
    }

    fn check_those(&self, recovery: &Recovery, which: impl Fn(&Late) -> bool) {
        let those: Vec<Late> = lock(&self.0).extract_if(.., |late| which(late)).collect();
        those.into_iter().for_each(|late| check(recovery, late));
    }

    /// Checks all of them now.
    pub fn finish(&self, recovery: &Recovery) {
        self.check(recovery, Instant::now() + LATE);
    }
}

fn check(recovery: &Recovery, mut late: Late) {
    let read = late.file.seek(SeekFrom::Start(0));
    let found = read.and_then(|_| Revision::of_reader(&mut late.file));
    if found.is_ok_and(|found| found != late.revision) {
        recovery.keep_late_write(&late.path, &mut late.file);
    }
}
