//! Describes what blocks an undo.

use super::change::{ChangeId, ChangeSetId};
use super::error::UndoError;
use super::file_history::after_moves;
use super::listing::{self, Difference};
use super::step::{DELETE, FileIdentity, MOVE, RecordedAct, RecordedStep};
use super::undo_plan::UndoPlan;
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{FileId, Keeping, Kind, Meta};

/// The later changes, for the error message.
pub(super) fn difference(
    plan: &UndoPlan,
    path: &VaultPath,
    after: BlobHash,
    now: Option<Vec<u8>>,
) -> String {
    let then = plan.parts.blobs.get(after);
    match (then, now) {
        (Ok(then), Some(now)) => match listing::difference(&then, &now, path) {
            Difference::Text(diff) => diff,
            _ => "the file is not text".to_owned(),
        },
        _ => "what changed cannot be shown".to_owned(),
    }
}

/// The first later change that did `kind` to the file of a step.
pub(super) fn first_later_change(
    plan: &UndoPlan,
    step: &RecordedStep,
    kind: &str,
) -> Result<Option<ChangeId>, UndoError> {
    let at = match &step.act {
        RecordedAct::Move { to, .. } => to,
        _ => &step.path,
    };
    let rows = plan.parts.rows.changes.later_steps(kind, at.as_str(), step.row.id)?;
    Ok(rows
        .first()
        .map(|row| ChangeId { set: ChangeSetId(row.set.cast_unsigned()), number: row.number }))
}

/// The current path of a file that has left its path, found through the journal.
pub(super) fn moved_to(
    plan: &UndoPlan,
    step: &RecordedStep,
) -> Result<Option<VaultPath>, UndoError> {
    let (at, identity) = match &step.act {
        RecordedAct::Move { to, identity } => (to.clone(), Some(*identity)),
        _ => (step.path.clone(), None),
    };
    let (at, last) = after_moves(&plan.parts.rows.changes, &at, &step.row)?;
    if last.id != step.row.id && !plan.overlay.is_free(&at) {
        return Ok(Some(at));
    }
    Ok(identity.and_then(|identity| find_by_id(plan, identity)))
}

/// The path of the vault's file or folder with this inode, if there is one.
pub(super) fn find_by_id(plan: &UndoPlan, identity: FileIdentity) -> Option<VaultPath> {
    if identity.id() == FileId::UNKNOWN {
        return None;
    }
    let catalogue = plan.parts.vault().catalogue();
    // Inodes are reused, so a file must also match in size and time.
    let root = VaultPath::root();
    let mut all = catalogue.within(&root);
    let found = all.find(|entry| {
        entry.id == identity.id()
            && entry.kind == identity.kind()
            && (entry.kind != Kind::File || identity.is_unchanged(entry.size, entry.modified))
    });
    found.map(|entry| entry.path().to_path())
}

/// Whether the file that had this path is in a trash because another program deleted it.
pub(super) fn is_in_trash(plan: &UndoPlan, path: &VaultPath, identity: FileIdentity) -> bool {
    if identity.id() == FileId::UNKNOWN {
        return false;
    }
    let unchanged =
        |meta: &Meta| meta.kind != Kind::File || identity.is_unchanged(meta.size, meta.modified);
    let writer = &plan.parts.writer;
    let found = writer
        .find_trashed(path, &Keeping::new(), &|meta| identity.id() == meta.id && unchanged(meta));
    found.is_some()
}

pub(super) fn not_there(plan: &UndoPlan, step: &RecordedStep) -> Result<UndoError, UndoError> {
    let path = match &step.act {
        RecordedAct::Move { to, .. } => to.clone(),
        _ => step.path.clone(),
    };
    let by = match first_later_change(plan, step, MOVE)? {
        Some(by) => Some(by),
        None => first_later_change(plan, step, DELETE)?,
    };
    Ok(UndoError::NotThere { path, now: moved_to(plan, step)?, by, can_recreate: false })
}
