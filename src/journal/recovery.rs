//! Crash recovery: completes an unfinished operation's record or rolls the operation back.

use super::error::JournalError;
use super::now;
use super::parts::Parts;
use super::progress::{complete_texts, count_begun};
use super::rollback::Rollback;
use super::status::details_if_done;
use super::step::{Detail, RecordedAct, RecordedStep};
use crate::note::path::VaultPath;
use crate::store::StoreError;
use crate::store::journal::{Mark, StepResult};
use crate::vault::VaultError;

/// The result of crash recovery.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Operations whose steps had all been done.
    pub completed: usize,
    /// Operations that were rolled back.
    pub rolled_back: usize,
    /// Files left unchanged because another program has changed them since, one sentence each.
    pub left: Vec<String>,
    /// Warnings about the store, one sentence each.
    pub warnings: Vec<String>,
}

/// Completes or rolls back operations that a crash interrupted.
pub(super) fn recover(parts: &Parts, warnings: Vec<String>) -> Result<Recovered, JournalError> {
    let mut recovered = Recovered { warnings, ..Recovered::default() };
    parts.blobs.sweep();
    recover_unfinished(parts, &mut recovered)?;
    // A crash after the last record leaves the displaced versions of that one operation.
    match parts.rows.changes.last_applied().and_then(RecordedStep::read_all) {
        Ok(last) => {
            let rollback = Rollback { parts, steps: &last, left: &mut recovered.left };
            last.iter().for_each(|step| rollback.clear_temp(step));
            let late = last.iter().filter(|step| step.detail.is_late);
            remove_late_folders(parts, late.map(|step| (step.row.id, &step.path)));
        }
        // The sweep moves what it left in the vault to the recovery folder.
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

/// Newest first, since a later operation may rest on an earlier one. The caller must have exclusive
/// access.
pub(super) fn recover_unfinished(
    parts: &Parts,
    recovered: &mut Recovered,
) -> Result<(), JournalError> {
    for (operation, rows) in parts.rows.operations.unfinished()?.into_iter().rev() {
        let steps = match rows.and_then(RecordedStep::read_all) {
            Ok(mut steps) => {
                complete_texts(&mut steps);
                steps
            }
            Err(error) => {
                recovered.left.push(format!("operation {operation} is left alone: {error}"));
                parts.rows.operations.roll_back(operation, now())?;
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
    steps: &[RecordedStep],
    recovered: &mut Recovered,
) -> Result<(), JournalError> {
    let mut rollback = Rollback { parts, steps, left: &mut recovered.left };
    steps.iter().for_each(|step| rollback.finish_exchanges(step));
    // The status of each step is determined as if the later steps of the operation were undone.
    let all_readable = steps.iter().all(|step| rollback.check_readable(step).is_ok());
    let details = if all_readable { details_if_done(parts, steps) } else { None };
    if let Some(details) = details {
        let is_late = |step: &RecordedStep| {
            step.act == RecordedAct::RemoveFolder && parts.vault().stat(&step.path).is_ok()
        };
        let late: Vec<_> = steps.iter().filter(|step| is_late(step)).collect();
        let results = steps.iter().zip(details).filter(|(step, detail)| step.row.detail != *detail);
        let mut results: Vec<StepResult> = results
            .map(|(step, detail)| StepResult { step: step.row.id, detail, drop: false })
            .collect();
        results.extend(late.iter().map(|step| StepResult {
            step: step.row.id,
            detail: Detail { is_late: true, ..Detail::default() }.json(),
            drop: false,
        }));
        let undone: Vec<i64> = steps.iter().filter_map(|step| step.row.undoes).collect();
        let set = steps.first().map_or(0, |step| step.row.set);
        let marks = undo_marks(parts, &undone, &|_| true, set)?;
        parts.rows.operations.finish(operation, &results, &marks, now())?;
        steps.iter().for_each(|step| rollback.clear_temp(step));
        remove_late_folders(parts, late.into_iter().map(|step| (step.row.id, &step.path)));
        recovered.completed += 1;
        return Ok(());
    }
    let batch = parts.writer.sync_batch(0);
    // Files at the paths of steps that never began belong to others.
    let begun = if all_readable { count_begun(parts, steps) } else { steps.len() };
    for step in steps[..begun].iter().rev() {
        rollback.roll_back_if_readable(step);
    }
    batch.sync()?;
    drop(batch);
    // If the disk went away meanwhile, the rollback still has to be done.
    parts.vault().check_disk()?;
    parts.rows.operations.roll_back(operation, now())?;
    recovered.rolled_back += 1;
    Ok(())
}

/// Removes the folders of these steps that are empty now that the hidden files of their operation are gone. Removes the
/// steps of other folders from the record: those folders stay. Returns for each whether it was removed.
pub(super) fn remove_late_folders<'a>(
    parts: &Parts,
    folders: impl IntoIterator<Item = (i64, &'a VaultPath)>,
) -> Vec<bool> {
    let remove = |path| match parts.writer.remove_empty_folder(path) {
        Err(VaultError::NotFound { .. }) => true,
        removed => matches!(removed, Ok(true)),
    };
    let removed: Vec<(i64, bool)> =
        folders.into_iter().map(|(step, path)| (step, remove(path))).collect();
    let result = |(step, removed): &(i64, bool)| StepResult {
        step: *step,
        detail: Detail::default().json(),
        drop: !removed,
    };
    if !removed.is_empty() {
        let results: Vec<StepResult> = removed.iter().map(result).collect();
        if let Err(error) = parts.rows.operations.record_late(&results) {
            tracing::warn!(%error, "the removal of folders is not recorded");
        }
    }
    removed.into_iter().map(|(_, removed)| removed).collect()
}

/// The marks that undoing these steps sets: each is undone by `set`; a step that it had undone is
/// in effect again; a step that this one had undone is undone again; and so on. If a step needed
/// nothing done (`acted` is false), the present state is another program's: a folder created again
/// since is not the one that the step had removed.
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
