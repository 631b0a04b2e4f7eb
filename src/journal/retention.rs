//! Retention and verification of stored texts.

use std::collections::BTreeSet;
use std::time::{Duration, UNIX_EPOCH};

use super::apply::Executor;
use super::error::JournalError;
use super::now;
use super::settings::Settings;
use crate::store::journal::Limits;
use crate::store::{BlobError, BlobHash, StoreError};

/// The result of verifying every stored text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    pub texts: usize,
    /// Bytes that the texts take on disk.
    pub bytes: u64,
    /// Damaged texts: hash and problem.
    pub damaged: Vec<(String, String)>,
    /// Hashes of texts that a change refers to and that are missing.
    pub missing: Vec<String>,
    /// Texts that no change refers to, left by a crash or a lost database. `gc` removes them once
    /// they are as old as the changes whose texts it removes.
    pub orphans: usize,
}

/// Texts that garbage collection removed, or would remove.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Freed {
    /// Changes whose texts exceed the limits.
    pub changes: usize,
    /// Texts that no change needs.
    pub texts: usize,
    /// Bytes that the texts take on disk.
    pub bytes: u64,
}

/// The caller of a garbage collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trigger {
    /// A person who has seen what would be removed.
    ByPerson,
    /// The daemon's daily run.
    Daily,
}

/// The stored texts, and how long they are kept.
pub struct StoredTexts<'a>(pub(super) &'a Executor);

impl StoredTexts<'_> {
    /// Compares every stored text with its hash. Reads all of them.
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

    /// Removes texts beyond the limits of the settings: older than `days` both by the clock and by
    /// the days on which the steward ran, or followed by `versions` newer changes of the same file
    /// under any name. With `dry_run`, only reports what would be removed. The changes stay listed.
    /// Never removes a text of an unfinished operation. Removes a text that no change refers to
    /// only after `days`, and not while a database that was moved aside is present: that database
    /// may refer to it.
    ///
    /// Limits equal to the defaults may mean that the settings file is missing; they apply only
    /// after they have held for some days.
    pub fn gc(&self, dry_run: bool) -> Result<Freed, JournalError> {
        self.free(dry_run, Trigger::ByPerson)
    }

    fn free(&self, dry_run: bool, trigger: Trigger) -> Result<Freed, JournalError> {
        let _guard = self.0.exclusive();
        if !dry_run {
            self.0.check_ready()?;
        }
        let limits = self.limits(trigger)?;
        let outlived: BTreeSet<i64> =
            self.0.parts.rows.retention.expired(now(), limits)?.into_iter().collect();
        let (mut kept, mut unneeded) = (BTreeSet::new(), BTreeSet::new());
        for (step, text) in self.0.parts.rows.retention.named_texts()? {
            let side = if outlived.contains(&step) { &mut unneeded } else { &mut kept };
            side.insert(text);
        }
        let mut freed = Freed { changes: outlived.len(), ..Freed::default() };
        if !dry_run && !outlived.is_empty() {
            // Rows first, then texts: a row never promises a text that is missing.
            self.0.parts.rows.retention.release(&outlived.into_iter().collect::<Vec<_>>())?;
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
            // Texts that were referred to until now go at once. An unreferenced text may belong to
            // a change that a crash is interrupting, or to days that a restored database copy does
            // not know.
            let written = stored.modified.duration_since(UNIX_EPOCH).unwrap_or(Duration::MAX);
            let old = unnamed_before.and_then(|time| u64::try_from(time).ok());
            let old = old.is_some_and(|time| written < Duration::from_millis(time));
            let goes = unneeded.contains(&stored.hash) || old;
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

    fn limits(&self, trigger: Trigger) -> Result<Limits, StoreError> {
        let configured = self.0.settings.load().limits();
        let holding = self.0.parts.rows.retention.effective(configured)?;
        if trigger == Trigger::Daily {
            return Ok(holding);
        }
        let default = Settings::default().limits();
        let chosen =
            |configured, holding, default| if configured == default { holding } else { configured };
        Ok(Limits {
            versions: chosen(configured.versions, holding.versions, default.versions),
            days: chosen(configured.days, holding.days, default.days),
        })
    }

    /// Daily maintenance: copies the database, counts the day, removes texts beyond the limits.
    pub fn daily(&self) -> Result<Freed, JournalError> {
        self.0.database.back_up()?;
        self.0.parts.rows.retention.count_day(now(), self.0.settings.load().limits())?;
        self.free(false, Trigger::Daily)
    }
}
