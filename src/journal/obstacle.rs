//! What stands in the way of an undo: said with what is known of it.

use super::change::{ChangeId, ChangeSetId};
use super::error::UndoError;
use super::listing::{self, Difference};
use super::step::{DELETE, Deed, MOVE, Recorded, Thing};
use super::undoing::Undoing;
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{FileId, Keeping, Kind, Meta};

/// What was changed since, for the error that says so.
pub(super) fn difference(
    undoing: &Undoing,
    path: &VaultPath,
    after: BlobHash,
    now: Option<Vec<u8>>,
) -> String {
    let then = undoing.parts.blobs.get(after);
    match (then, now) {
        (Ok(then), Some(now)) => match listing::difference(&then, &now, path) {
            Difference::Text(diff) => diff,
            _ => "the file is not text".to_owned(),
        },
        _ => "what changed cannot be shown".to_owned(),
    }
}

/// The first change after a step that did `kind` to its thing.
pub(super) fn later(
    undoing: &Undoing,
    step: &Recorded,
    kind: &str,
) -> Result<Option<ChangeId>, UndoError> {
    let at = match &step.deed {
        Deed::Move { to, .. } => to,
        _ => &step.path,
    };
    let rows = undoing.parts.rows.changes.later_steps(kind, at.as_str(), step.row.id)?;
    Ok(rows
        .first()
        .map(|row| ChangeId { set: ChangeSetId(row.set.cast_unsigned()), number: row.number }))
}

/// Where a thing is now that has left its path: followed through the journal.
pub(super) fn elsewhere(
    undoing: &Undoing,
    step: &Recorded,
) -> Result<Option<VaultPath>, UndoError> {
    let (mut at, thing) = match &step.deed {
        Deed::Move { to, thing } => (to.clone(), Some(*thing)),
        _ => (step.path.clone(), None),
    };
    let (mut after, mut moved) = (step.row.id, false);
    while let Some(row) =
        undoing.parts.rows.changes.later_steps(MOVE, at.as_str(), after)?.into_iter().next()
    {
        let to = row.other.as_deref().unwrap_or_default();
        let rest = at.as_str().strip_prefix(row.path.as_str()).unwrap_or_default();
        let Some(next) = VaultPath::from_disk(&format!("{to}{rest}")) else { break };
        (at, after, moved) = (next, row.id, true);
    }
    if moved && !undoing.picture.is_free(&at) {
        return Ok(Some(at));
    }
    Ok(thing.and_then(|thing| by_number(undoing, thing)))
}

/// Where the thing with this number on the disk is, if it is in the vault.
pub(super) fn by_number(undoing: &Undoing, thing: Thing) -> Option<VaultPath> {
    let catalogue = undoing.parts.vault().catalogue();
    // Numbers are given again, so a file has to have its size and time too.
    let root = VaultPath::root();
    let mut all = catalogue.within(&root);
    let found = all.find(|entry| {
        thing.id() != FileId::UNKNOWN
            && entry.id == thing.id()
            && entry.kind == thing.kind()
            && (entry.kind != Kind::File || thing.is_unchanged(entry.size, entry.modified))
    });
    found.map(|entry| entry.path().to_path())
}

/// Whether the thing that had this path lies in a trash: somebody else has deleted it.
pub(super) fn is_in_trash(undoing: &Undoing, path: &VaultPath, thing: Thing) -> bool {
    let unchanged =
        |meta: &Meta| meta.kind != Kind::File || thing.is_unchanged(meta.size, meta.modified);
    let writer = &undoing.parts.writer;
    let found = writer.find_trashed(path, &Keeping::new(), &|meta| {
        thing.id() != FileId::UNKNOWN && thing.id() == meta.id && unchanged(meta)
    });
    found.is_some()
}

pub(super) fn not_there(undoing: &Undoing, step: &Recorded) -> Result<UndoError, UndoError> {
    let path = match &step.deed {
        Deed::Move { to, .. } => to.clone(),
        _ => step.path.clone(),
    };
    let by = match later(undoing, step, MOVE)? {
        Some(by) => Some(by),
        None => later(undoing, step, DELETE)?,
    };
    Ok(UndoError::NotThere { path, now: elsewhere(undoing, step)?, by, anew: false })
}
