//! What became of a file that a step was done to, as far as the journal itself did it.

use super::step::{DELETE, MOVE, Recorded};
use crate::note::path::VaultPath;
use crate::store::StoreError;
use crate::store::journal::{Changes, StepRow};

/// Where the journal has moved what a step wrote, and the row that did so last; its own if none
/// did.
pub(super) fn moved_on(
    rows: &Changes,
    step: &Recorded,
) -> Result<(VaultPath, StepRow), StoreError> {
    let (mut at, mut last) = (step.path.clone(), step.row.clone());
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

/// Where the journal has moved what a step was done to, and its deletion, if the journal itself has
/// deleted it and nobody took that back.
pub(super) fn fate(
    rows: &Changes,
    step: &Recorded,
) -> Result<(VaultPath, Option<Recorded>), StoreError> {
    let is_standing = |row: &StepRow| row.kind == DELETE && row.undone_by.is_none();
    if is_standing(&step.row) {
        return Ok((step.path.clone(), Some(step.clone())));
    }
    let (at, last) = moved_on(rows, step)?;
    let deletion = rows.later_steps(DELETE, at.as_str(), last.id)?.into_iter().find(is_standing);
    Ok((at, deletion.map(Recorded::read).transpose()?))
}
