//! What is kept and for how long, and whether it is sound.

use std::collections::BTreeSet;
use std::time::{Duration, UNIX_EPOCH};

use super::apply::Executor;
use super::error::JournalError;
use super::now;
use super::settings::Settings;
use crate::store::journal::Limits;
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

/// Who lets texts go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// A person, who has seen what would go.
    ByPerson,
    /// The daemon, by itself.
    Daily,
}

/// The kept texts, and how long they are kept.
pub struct KeptTexts<'a>(pub(super) &'a Executor);

impl KeptTexts<'_> {
    /// Compares every kept text with its hash. Reads all of them.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub fn verify(&self) -> Result<Verified, JournalError> {
        let blobs = &self.0.parts.blobs;
        let named: BTreeSet<BlobHash> =
            self.0.parts.rows.retention.named_texts()?.into_iter().map(|(_, text)| text).collect();
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

    /// Lets texts go that are beyond the limits of the settings: older than `days` by the clock and
    /// by the days on which the steward ran, or with `versions` newer changes of the same file,
    /// whatever it was called then. With `dry_run` it only says what would go. The changes
    /// themselves stay listed. Never a text of an operation that is under way, and one that no
    /// change names only after `days`, and while no database lies beside that was moved aside: such
    /// a one may name it.
    ///
    /// Limits that are the defaults may come of a settings file that is away: they hold once they
    /// did so for some days.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub fn gc(&self, dry_run: bool) -> Result<Freed, JournalError> {
        self.free(dry_run, Asked::ByPerson)
    }

    fn free(&self, dry_run: bool, asked: Asked) -> Result<Freed, JournalError> {
        let _alone = self.0.alone();
        if !dry_run {
            self.0.ready()?;
        }
        let limits = self.limits(asked)?;
        let outlived: BTreeSet<i64> =
            self.0.parts.rows.retention.outlived(now(), limits)?.into_iter().collect();
        let (mut kept, mut let_go) = (BTreeSet::new(), BTreeSet::new());
        for (step, text) in self.0.parts.rows.retention.named_texts()? {
            let side = if outlived.contains(&step) { &mut let_go } else { &mut kept };
            side.insert(text);
        }
        let mut freed = Freed { changes: outlived.len(), ..Freed::default() };
        if !dry_run && !outlived.is_empty() {
            // First the rows, then the texts: a row never promises what is not there.
            self.0.parts.rows.retention.let_go(&outlived.into_iter().collect::<Vec<_>>())?;
        }
        let blobs = &self.0.parts.blobs;
        let moved_aside = self.0.database.has_moved_aside()?;
        let unnamed_before = match limits.days {
            0 => None,
            days => self.0.parts.rows.retention.unnamed_before(days)?.map(|time| {
                time.min(now().saturating_sub(i64::from(days).saturating_mul(86_400_000)))
            }),
        };
        let unnamed_before = unnamed_before.filter(|_| !moved_aside);
        for stored in blobs.list().map_err(StoreError::from)? {
            // What was named until now goes at once. What nothing names may belong to a change that
            // a crash is just cutting short, or to the days that a restored copy does not know.
            let written = stored.modified.duration_since(UNIX_EPOCH).unwrap_or(Duration::MAX);
            let old = unnamed_before.and_then(|time| u64::try_from(time).ok());
            let old = old.is_some_and(|time| written < Duration::from_millis(time));
            let goes = let_go.contains(&stored.hash) || old;
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

    /// The limits that texts go by now.
    fn limits(&self, asked: Asked) -> Result<Limits, StoreError> {
        let wanted = self.0.settings.load().limits();
        let holding = self.0.parts.rows.retention.holding(wanted)?;
        if asked == Asked::Daily {
            return Ok(holding);
        }
        let default = Settings::default().limits();
        let chosen = |wanted, holding, default| if wanted == default { holding } else { wanted };
        Ok(Limits {
            versions: chosen(wanted.versions, holding.versions, default.versions),
            days: chosen(wanted.days, holding.days, default.days),
        })
    }

    /// What is done once a day: the database is copied, the day is counted, texts beyond the limits
    /// are let go.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub fn daily(&self) -> Result<Freed, JournalError> {
        self.0.database.back_up()?;
        self.0.parts.rows.retention.count_day(now(), self.0.settings.load().limits())?;
        self.free(false, Asked::Daily)
    }
}
