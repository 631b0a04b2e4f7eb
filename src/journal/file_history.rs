//! Follows a file through the journal's own moves and deletions.

use super::step::{DELETE, MOVE, RecordedStep};
use crate::note::path::VaultPath;
use crate::store::StoreError;
use crate::store::journal::{Changes, StepRow};

/// The path to which the journal has moved the file that was at `path` after the step `row`, and
/// the row of the last move; `row` itself if there was none.
pub(super) fn after_moves(
    rows: &Changes,
    path: &VaultPath,
    row: &StepRow,
) -> Result<(VaultPath, StepRow), StoreError> {
    let (mut at, mut last) = (path.clone(), row.clone());
    while let Some(row) = rows.later_steps(MOVE, at.as_str(), last.id)?.into_iter().next() {
        let Some(next) = row.other.as_deref().and_then(|to| {
            let rest = at.as_str().strip_prefix(row.path.as_str())?;
            VaultPath::from_disk(&format!("{to}{rest}"))
        }) else {
            break;
        };
        (at, last) = (next, row);
    }
    Ok((at, last))
}

/// The path to which the journal has moved the file of a step, and its deletion by the journal
/// unless that was undone.
pub(super) fn after_moves_and_deletion(
    rows: &Changes,
    step: &RecordedStep,
) -> Result<(VaultPath, Option<RecordedStep>), StoreError> {
    let is_standing = |row: &StepRow| row.kind == DELETE && row.undone_by.is_none();
    if is_standing(&step.row) {
        return Ok((step.path.clone(), Some(step.clone())));
    }
    let (at, last) = after_moves(rows, &step.path, &step.row)?;
    let deletion = rows.later_steps(DELETE, at.as_str(), last.id)?.into_iter().find(is_standing);
    Ok((at, deletion.map(RecordedStep::read).transpose()?))
}
