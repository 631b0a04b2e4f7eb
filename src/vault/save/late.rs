//! Displaced versions, watched for a moment: an editor that had the file open may still write into
//! the version it knows.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::note::path::VaultPath;
use crate::vault::{Revision, Vault, lock};

/// How long a displaced version is watched for late writes.
pub(super) const LATE: Duration = Duration::from_secs(3);

/// Displaced versions that an editor may still have open.
#[derive(Default)]
pub(in crate::vault) struct LateWrites(Mutex<Vec<Late>>);

pub(super) struct Late {
    pub path: VaultPath,
    pub file: File,
    /// What it held when it was displaced.
    pub revision: Revision,
    /// When to look for the last time.
    pub until: Instant,
}

impl LateWrites {
    /// Watches one more, and looks at those whose time is over. They are few: a save a second
    /// keeps three open.
    pub(super) fn watch(&self, vault: &Vault, late: Late) {
        lock(&self.0).push(late);
        self.check(vault, Instant::now());
        lock(&vault.0.watch).wake();
    }

    /// Whether nothing is watched.
    pub(in crate::vault) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Looks at those whose time is over at `now`.
    pub(in crate::vault) fn check(&self, vault: &Vault, now: Instant) {
        let mut due = Vec::new();
        lock(&self.0).retain_mut(|late| {
            if late.until > now {
                return true;
            }
            if let Ok(file) = late.file.try_clone() {
                due.push((late.path.clone(), file, late.revision));
            }
            false
        });
        for (path, mut file, revision) in due {
            let read = file.seek(SeekFrom::Start(0)).and_then(|_| Revision::of_reader(&mut file));
            if read.is_ok_and(|found| found != revision) {
                vault.keep_late_write(&path, &mut file);
            }
        }
    }

    /// Looks at all of them now.
    pub(in crate::vault) fn finish(&self, vault: &Vault) {
        self.check(vault, Instant::now() + LATE);
    }
}
