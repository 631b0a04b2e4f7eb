//! What is kept and for how long, and whether it is sound.

use std::collections::BTreeSet;
use std::time::Duration;

use super::error::JournalError;
use super::{Journal, now};
use crate::store::{BlobError, BlobHash, StoreError};

/// What a look at every kept text found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Texts looked at.
    pub texts: usize,
    /// Bytes they take on the disk.
    pub bytes: u64,
    /// Damaged ones: the hash and what is wrong.
    pub damaged: Vec<(String, String)>,
    /// Hashes of those that a change names and that are not there.
    pub missing: Vec<String>,
    /// Texts that no change names: a crash leaves them, and so does a database that was lost. `gc`
    /// takes them away when they are as old as a change whose texts it lets go.
    pub orphans: usize,
}

impl Verified {
    /// Whether all is as it should be.
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty() && self.missing.is_empty()
    }
}

/// What was, or would be, taken away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Freed {
    /// Changes whose texts are beyond the limits.
    pub changes: usize,
    /// Texts that no change needs any more.
    pub texts: usize,
    /// Bytes that they take on the disk.
    pub bytes: u64,
}

const DAY: Duration = Duration::from_secs(86_400);

impl Journal {
    /// Compares every kept text with its hash. Reads all of them.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub fn verify(&self) -> Result<Verified, JournalError> {
        let blobs = self.store().blobs();
        let named: BTreeSet<BlobHash> =
            self.store().named_texts()?.into_iter().map(|(_, text)| text).collect();
        let mut verified = Verified::default();
        let mut there = BTreeSet::new();
        for stored in blobs.list().map_err(StoreError::from)? {
            verified.texts += 1;
            verified.bytes += stored.bytes;
            verified.orphans += usize::from(!named.contains(&stored.hash));
            there.insert(stored.hash);
            match blobs.verify(stored.hash) {
                // Let go while we looked.
                Ok(()) | Err(BlobError::Missing { .. }) => {}
                Err(error) => {
                    verified.damaged.push((stored.hash.to_string(), error.to_string()));
                }
            }
        }
        let missing = named.difference(&there).filter(|text| !blobs.has(**text));
        verified.missing = missing.map(BlobHash::to_string).collect();
        Ok(verified)
    }

    /// Lets texts go that are beyond the limits of the settings: older than `days`, or with
    /// `versions` newer changes of the same file. With `dry_run` it only says what would go. The
    /// changes themselves stay listed. Never a text of an operation that is under way, and one that
    /// no change names only after `days`, and while no database lies beside that was moved aside:
    /// such a one may name it.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub fn gc(&self, dry_run: bool) -> Result<Freed, JournalError> {
        let _alone = self.alone();
        if !dry_run {
            self.ready()?;
        }
        let settings = self.settings();
        let age = (settings.days > 0).then(|| i64::from(settings.days) * 86_400_000);
        let outlived: BTreeSet<i64> =
            self.store().outlived(now(), age, settings.versions)?.into_iter().collect();
        let (mut kept, mut let_go) = (BTreeSet::new(), BTreeSet::new());
        for (step, text) in self.store().named_texts()? {
            let side = if outlived.contains(&step) { &mut let_go } else { &mut kept };
            side.insert(text);
        }
        let mut freed = Freed { changes: outlived.len(), ..Freed::default() };
        if !dry_run && !outlived.is_empty() {
            // First the rows, then the texts: a row never promises what is not there.
            self.store().let_go(&outlived.into_iter().collect::<Vec<_>>())?;
        }
        let blobs = self.store().blobs();
        let unnamed_go = settings.days > 0 && !self.store().has_moved_aside()?;
        for stored in blobs.list().map_err(StoreError::from)? {
            // What was named until now goes at once. What nothing names may belong to a change that
            // a crash is just cutting short, or to the days that a restored copy does not know.
            let old = stored.modified.elapsed().is_ok_and(|age| age > DAY * settings.days);
            let goes = let_go.contains(&stored.hash) || (unnamed_go && old);
            if kept.contains(&stored.hash) || !goes {
                continue;
            }
            if !dry_run {
                blobs.remove(stored.hash).map_err(StoreError::from)?;
            }
            freed.texts += 1;
            freed.bytes += stored.bytes;
        }
        Ok(freed)
    }

    /// What is done once a day: the database is copied, texts beyond the limits are let go.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub fn daily(&self) -> Result<Freed, JournalError> {
        self.store().back_up()?;
        self.gc(false)
    }
}
