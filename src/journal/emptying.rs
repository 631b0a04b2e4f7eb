//! Removes deleted files and folders for good.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::apply::Executor;
use super::change::{ChangeId, ChangeSetId};
use super::deleted::{TrashItem, deleted};
use super::error::JournalError;
use super::parts::Parts;
use super::step::{Detail, RecordedAct, RecordedStep};
use super::trashed::is_deleted;
use crate::store::journal::StepResult;
use crate::store::{BlobHash, StoreError};
use crate::vault::Trashed;

/// The files to remove permanently.
#[derive(Debug, Clone)]
pub enum Empty {
    /// These items, by [`TrashItem::id`] or the change that deleted them, however new, and their
    /// texts in the journal.
    Named(Vec<String>),
    /// Everything deleted before this time.
    Older(DateTime<Utc>),
}

/// The result of a permanent removal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Emptied {
    pub items: Vec<TrashItem>,
    /// Bytes freed on disk.
    pub bytes: u64,
    /// Messages about texts that the journal still stores, one sentence each.
    pub notes: Vec<String>,
    /// The files that could not be removed, one sentence each.
    pub left: Vec<String>,
}

pub(super) fn empty(executor: &Executor, what: &Empty) -> Result<Emptied, JournalError> {
    let _guard = executor.exclusive();
    executor.check_ready()?;
    let mut emptied = Emptied::default();
    let all = deleted(&executor.parts)?;
    if let Empty::Named(names) = what {
        for name in names.iter().filter(|name| !all.iter().any(|one| one.0.is_called(name))) {
            emptied.left.push(format!("`{name}` is not in the trash"));
        }
    }
    let listed: BTreeSet<i64> =
        all.iter().filter_map(|one| one.1.as_ref()).map(|step| step.row.id).collect();
    for (item, step, place) in all {
        let bytes = match (what, &place) {
            (Empty::Named(names), _) if !names.iter().any(|name| item.is_called(name)) => {
                continue;
            }
            (Empty::Named(_), Some(Trashed::System { .. })) => {
                let why = "is in the system's trash, which is emptied there";
                emptied.left.push(format!("`{}` {why}", item.id));
                continue;
            }
            // Only the journal has it.
            (Empty::Named(_), None) => Ok(item.size),
            (Empty::Older(_), None | Some(Trashed::System { .. })) => continue,
            (Empty::Older(than), Some(place))
                if item.deleted.is_none_or(|deleted| deleted >= *than)
                    || !is_still_older(&executor.parts, step.as_ref(), place, *than) =>
            {
                continue;
            }
            (_, Some(place)) => executor.parts.writer.remove_trashed(place),
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => {
                emptied.left.push(error.to_string());
                continue;
            }
        };
        if let (Empty::Named(_), Some(step)) = (what, step) {
            emptied.notes.extend(forget(&executor.parts, step, &listed)?);
        }
        tracing::info!(item = item.id, bytes, "permanently removed from the trash");
        emptied.bytes += bytes;
        emptied.items.push(item);
    }
    Ok(emptied)
}

/// Whether the item in a trash is exactly what this step deleted, and untouched since that time.
/// Checked again here because the removal is final.
fn is_still_older(
    parts: &Parts,
    step: Option<&RecordedStep>,
    place: &Trashed,
    than: DateTime<Utc>,
) -> bool {
    let Some(one) = parts.writer.trash_entry(place) else { return false };
    let is_old = |touched: i64| DateTime::from_timestamp_nanos(touched) < than;
    let same = match step.map(|step| (step, &step.act)) {
        Some((step, RecordedAct::Delete { identity })) => {
            is_deleted(parts, step, *identity, place, &one.meta)
        }
        _ => true,
    };
    same && one.touched.is_some_and(is_old)
}

/// Removes the texts of a deletion; returns a message if other changes need some of them. `listed`:
/// the deletions that the trash lists.
fn forget(
    parts: &Parts,
    deletion: RecordedStep,
    listed: &BTreeSet<i64>,
) -> Result<Option<String>, JournalError> {
    let path = deletion.path.clone();
    let mut steps = vec![deletion];
    // Of several deletions of one text at one path only the newest is listed.
    for row in parts.rows.changes.deletions()? {
        let Ok(step) = row.and_then(RecordedStep::read) else { continue };
        let (first, row) = (&steps[0].row, &step.row);
        let same = row.before.is_some() && (&row.path, row.before) == (&first.path, first.before);
        if same && row.texts_kept && !listed.contains(&row.id) {
            steps.push(step);
        }
    }
    let mut texts: BTreeSet<BlobHash> = BTreeSet::new();
    for step in &steps {
        texts.extend(step.row.before);
        texts.extend(parts.rows.changes.files(step.row.id)?.into_iter().filter_map(|file| file.1));
    }
    // Rows first, then texts: a row never promises a text that is missing.
    let emptied = |step: &RecordedStep| StepResult {
        step: step.row.id,
        detail: Detail { emptied: true, ..step.detail.clone() }.json(),
        drop: false,
    };
    parts.rows.retention.release_for_good(&steps.iter().map(emptied).collect::<Vec<_>>())?;
    let mut needed: BTreeMap<BlobHash, i64> = BTreeMap::new();
    for (step, text) in parts.rows.retention.named_texts()? {
        needed.entry(text).or_insert(step);
    }
    let mut by = None;
    for text in texts {
        match needed.get(&text) {
            Some(step) => by = by.or(Some(*step)),
            None => parts.blobs.remove(text).map_err(StoreError::from)?,
        }
    }
    let Some(step) = by else { return Ok(None) };
    let change = parts.rows.changes.step(step)?.map(|row| {
        let set = ChangeSetId(row.set.cast_unsigned());
        format!("change `{}` has", ChangeId { set, number: row.number })
    });
    let has = change.unwrap_or_else(|| "other changes have".to_owned());
    Ok(Some(format!(
        "the journal keeps text of `{path}` that {has} too, until its retention time (`[journal]` in the settings) ends"
    )))
}
