//! After a crash: what was begun is found done whole, or taken back.

use super::error::JournalError;
use super::now;
use super::parts::Parts;
use super::rollback::Rollback;
use super::standing::is_whole;
use super::step::Recorded;
use crate::store::StoreError;
use crate::store::journal::{Mark, StepResult};

/// What was found after a crash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Operations that had been done whole.
    pub completed: usize,
    /// Operations that were taken back.
    pub taken_back: usize,
    /// What was left alone because somebody has changed it since, one sentence each.
    pub left: Vec<String>,
    /// What a person should hear of the store, one sentence each.
    pub warnings: Vec<String>,
}

/// Ends what a crash left half-done.
///
/// # Errors
/// [`JournalError::Store`].
pub(super) fn recover(parts: &Parts, warnings: Vec<String>) -> Result<Recovered, JournalError> {
    let mut recovered = Recovered { warnings, ..Recovered::default() };
    parts.blobs.sweep();
    recover_unfinished(parts, &mut recovered)?;
    // A crash after the last record leaves the displaced versions of that one operation.
    let last = parts
        .rows
        .changes
        .last_applied()
        .and_then(|rows| rows.into_iter().map(Recorded::read).collect::<Result<Vec<_>, _>>());
    match last {
        Ok(last) => {
            let rollback = Rollback { parts, left: &mut recovered.left };
            last.iter().for_each(|step| rollback.clear_temp(step));
        }
        // What it left in the vault is swept to the recovery folder.
        Err(error @ StoreError::Row { .. }) => {
            recovered.warnings.push(format!("the last change cannot be read: {error}"));
        }
        Err(error) => return Err(error.into()),
    }
    for warning in recovered.left.iter().chain(&recovered.warnings) {
        tracing::warn!("{warning}");
    }
    parts.writer.sweep();
    Ok(recovered)
}

/// Newest first: a later one may rest on an earlier. The caller changes the vault alone.
pub(super) fn recover_unfinished(
    parts: &Parts,
    recovered: &mut Recovered,
) -> Result<(), JournalError> {
    for (operation, rows) in parts.rows.operations.unfinished()?.into_iter().rev() {
        let steps = rows
            .and_then(|rows| rows.into_iter().map(Recorded::read).collect::<Result<Vec<_>, _>>());
        let steps = match steps {
            Ok(steps) => steps,
            Err(error) => {
                recovered.left.push(format!("operation {operation} is left alone: {error}"));
                parts.rows.operations.take_back(operation, now())?;
                continue;
            }
        };
        recover_one(parts, operation, &steps, recovered)?;
    }
    Ok(())
}

fn recover_one(
    parts: &Parts,
    operation: i64,
    steps: &[Recorded],
    recovered: &mut Recovered,
) -> Result<(), JournalError> {
    let mut rollback = Rollback { parts, left: &mut recovered.left };
    // Each as it would look if all after it were undone; a step moved on by a later one of the
    // same operation is seen through it.
    let sees_all = steps.iter().all(|step| rollback.can_see(step).is_ok());
    let whole = if sees_all { is_whole(parts, steps) } else { None };
    if let Some(details) = whole {
        let results: Vec<StepResult> = steps
            .iter()
            .zip(details)
            .map(|(step, detail)| StepResult { step: step.row.id, detail, drop: false })
            .collect();
        let undone: Vec<i64> = steps.iter().filter_map(|step| step.row.undoes).collect();
        let set = steps.first().map_or(0, |step| step.row.set);
        let marks = undo_marks(parts, &undone, &|_| true, set)?;
        parts.rows.operations.finish(operation, &results, &marks, now())?;
        steps.iter().for_each(|step| rollback.clear_temp(step));
        recovered.completed += 1;
        return Ok(());
    }
    for step in steps.iter().rev() {
        rollback.one_that_is_seen(step);
    }
    // A disk that went away meanwhile has everything still to be done.
    parts.vault().check_disk()?;
    parts.rows.operations.take_back(operation, now())?;
    recovered.taken_back += 1;
    Ok(())
}

/// The marks that undoing these steps sets: each is undone by `set`; what it had undone itself
/// holds again; what that had undone is undone again; and so on. Where nothing had to be done
/// for a step (`acted`), what is there is somebody else's: a folder that was made anew meanwhile
/// is not taken for the one that the step had removed.
pub(super) fn undo_marks(
    parts: &Parts,
    undone: &[i64],
    acted: &dyn Fn(i64) -> bool,
    set: i64,
) -> Result<Vec<Mark>, StoreError> {
    let mut marks = Vec::new();
    for step in undone {
        let (mut step, mut by) = (*step, Some(set));
        let acted = acted(step);
        loop {
            marks.push(Mark { step, undone_by: by });
            if !acted {
                break;
            }
            let Some(row) = parts.rows.changes.step(step)? else { break };
            let Some(next) = row.undoes else { break };
            by = if by.is_some() { None } else { Some(row.set) };
            step = next;
        }
    }
    Ok(marks)
}
