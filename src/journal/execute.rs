//! Executes steps, and reverts them when one fails.

use std::collections::HashSet;
use std::sync::Arc;

use super::change::{Outcome, Phase, Progress};
use super::error::JournalError;
use super::rollback::Rollback;
use super::step::{Act, Detail, Old, Step, TrashRecord};
use crate::note::path::VaultPath;
use crate::vault::{Precondition, Staged, Trashed, VaultError, Writer, temp_name};

/// A completed action, to be reverted in reverse order.
pub(super) enum Done {
    Write {
        /// The index of its step.
        step: usize,
        /// `None` if it had to be finished, so that only its stored texts can revert it.
        staged: Option<Box<Staged>>,
    },
    Folder(VaultPath),
    RemovedFolder(VaultPath),
    Move(VaultPath, VaultPath),
    Delete(VaultPath, Trashed),
    Restore(VaultPath, Trashed),
}

#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub outcome: Outcome,
    /// There was nothing to do: the row is removed.
    pub no_op: bool,
    /// A folder was not empty, perhaps only because of this operation's hidden files: remove it
    /// once those are gone.
    pub is_late: bool,
}

pub(super) struct Failed {
    pub error: VaultError,
    /// The index of the failed step, if it may be partly done.
    pub at: Option<usize>,
}

/// Executes the steps in order; they are durable when this returns. Consecutive writes are staged
/// together and made durable before the first is put in place; all are durable in place before the
/// next step.
///
/// # Errors
/// The error that stopped it; `done` has what must be reverted.
pub(super) fn execute(
    writer: &Writer,
    steps: &[Step],
    done: &mut Vec<Done>,
    progress: &dyn Progress,
) -> Result<Vec<Ended>, Failed> {
    let files = steps.iter().filter(|step| matches!(step.act, Act::Write { .. } | Act::Delete(_)));
    let batch = writer.sync_batch(files.count());
    let sync = || batch.sync().map_err(|error| Failed { error, at: None });
    let mut ends = Vec::with_capacity(steps.len());
    let mut rest = steps;
    while let Some(step) = rest.first() {
        // A second write of one file rests on the first.
        let mut paths = HashSet::new();
        let writes = rest.iter().take_while(|step| match &step.act {
            Act::Write { path, .. } => paths.insert(path),
            _ => false,
        });
        let writes = writes.count();
        if writes > 0 {
            let placed = |done| progress.advanced(Phase::Placing, done, steps.len());
            let staged = |done| progress.advanced(Phase::Writing, done, writes);
            execute_writes(writer, &rest[..writes], &sync, done, &mut ends, (&staged, &placed))?;
            rest = &rest[writes..];
            sync()?;
            continue;
        }
        let ended = execute_step(writer, &step.act, done);
        ends.push(ended.map_err(|error| Failed { error, at: Some(ends.len()) })?);
        // Folders are made before anything is written.
        if !matches!(step.act, Act::Folder { .. }) {
            progress.advanced(Phase::Placing, ends.len(), steps.len());
        }
        rest = &rest[1..];
    }
    sync()?;
    Ok(ends)
}

fn execute_writes(
    writer: &Writer,
    steps: &[Step],
    sync: &dyn Fn() -> Result<(), Failed>,
    done: &mut Vec<Done>,
    ends: &mut Vec<Ended>,
    (staged_now, placed): (&dyn Fn(usize), &dyn Fn(usize)),
) -> Result<(), Failed> {
    let mut staged = Vec::with_capacity(steps.len());
    for step in steps {
        if let Act::Write { path, old, content, temp } = &step.act {
            let before = match old {
                None => Precondition::Absent,
                Some(Old { read: Some(read), .. }) => Precondition::Read(Arc::clone(read)),
                Some(old) => Precondition::Revision(super::step::revision(old.text)),
            };
            let one = writer.stage(path, content, &before, temp);
            staged.push(one.map_err(|error| Failed { error, at: None })?);
            staged_now(staged.len());
        }
    }
    sync()?;
    for mut staged in staged {
        let saved = writer.commit(&mut staged);
        let saved = saved.map_err(|error| Failed { error, at: Some(ends.len()) })?;
        done.push(Done::Write { step: ends.len(), staged: Some(Box::new(staged)) });
        ends.push(Ended { outcome: Outcome::Written(saved), no_op: false, is_late: false });
        placed(ends.len());
    }
    Ok(())
}

fn execute_step(writer: &Writer, act: &Act, done: &mut Vec<Done>) -> Result<Ended, VaultError> {
    let (mut no_op, mut is_late) = (false, false);
    let outcome = match act {
        Act::Folder { path } => {
            let created = writer.create_folders(path)?;
            done.extend(created.iter().cloned().map(Done::Folder));
            // Another program created it first, so we must not remove it.
            no_op = created.is_empty();
            Outcome::Folders(created)
        }
        Act::RemoveFolder { path } => {
            finish_below(writer, path, done);
            let removed = match writer.remove_empty_folder(path) {
                Err(VaultError::NotFound { .. }) => false,
                other => {
                    let removed = other?;
                    is_late = !removed;
                    removed
                }
            };
            if removed {
                done.push(Done::RemovedFolder(path.clone()));
            }
            no_op = !removed;
            Outcome::FolderRemoved(removed)
        }
        Act::Move { from, to, .. } => {
            finish_below(writer, from, done);
            writer.rename(from, to)?;
            done.push(Done::Move(from.clone(), to.clone()));
            Outcome::Moved
        }
        Act::Delete(deletion) => {
            finish_below(writer, &deletion.path, done);
            let trashed = writer.delete(&deletion.path, &deletion.before, &deletion.keeping)?;
            done.push(Done::Delete(deletion.path.clone(), trashed.clone()));
            Outcome::Deleted(trashed)
        }
        Act::Restore { from, to, temp, .. } => {
            writer.restore(from, to, temp)?;
            done.push(Done::Restore(to.clone(), from.clone()));
            Outcome::Restored(to.clone())
        }
        Act::Write { .. } => unreachable!("writes are done together"),
    };
    Ok(Ended { outcome, no_op, is_late })
}

/// Finishes the writes that would prevent a folder from being renamed or removed.
fn finish_below(writer: &Writer, folder: &VaultPath, done: &mut [Done]) {
    for one in done {
        if let Done::Write { staged, .. } = one
            && let Some(staged) = staged.take_if(|staged| staged.needs(folder))
        {
            writer.finish(*staged);
        }
    }
}

/// Cleans up after a recorded operation: removes displaced versions and trash entries.
pub(super) fn finish(writer: &Writer, done: Vec<Done>) {
    for done in done {
        match done {
            Done::Write { staged: Some(staged), .. } => writer.finish(*staged),
            Done::Restore(path, trashed) => writer.finish_restore(&trashed, &path),
            _ => {}
        }
    }
}

/// Reverts everything in reverse order; adds what could not be reverted to `rollback.left`.
pub(super) fn revert(rollback: &mut Rollback<'_>, done: Vec<Done>) {
    let writer = &rollback.parts.writer;
    let batch = writer.sync_batch(0);
    for done in done.into_iter().rev() {
        let result = match done {
            Done::Write { staged: Some(staged), .. } => writer.revert(*staged),
            Done::Write { step, staged: None } => {
                if let Some(step) = rollback.steps.get(step) {
                    rollback.roll_back_step(step);
                }
                Ok(())
            }
            Done::Folder(path) => writer.remove_empty_folder(&path).map(|_| ()),
            Done::RemovedFolder(path) => writer.create_folders(&path).map(|_| ()),
            Done::Move(from, to) => writer.rename(&to, &from),
            Done::Delete(path, trashed) => {
                let back = writer.restore(&trashed, &path, &temp_name());
                if back.is_ok() {
                    writer.finish_restore(&trashed, &path);
                }
                back
            }
            Done::Restore(path, trashed) => writer.undo_restore(&path, &trashed),
        };
        if let Err(error) = result {
            rollback.left.push(error.to_string());
        }
    }
    rollback.left.extend(batch.sync().err().map(|error| error.to_string()));
}

/// The error of a failed set, with the files that could not be reverted.
pub(super) fn failure(error: impl Into<JournalError>, left: Vec<String>) -> JournalError {
    if left.is_empty() {
        error.into()
    } else {
        JournalError::Half { error: Box::new(error.into()), left }
    }
}

/// A row's detail completed by the result of executing its step; `None` if it adds nothing.
pub(super) fn detail_after(intended: &str, ended: &Ended) -> Option<String> {
    let place = match &ended.outcome {
        Outcome::Deleted(trashed) => Some(TrashRecord::of(trashed)),
        _ if ended.is_late => None,
        _ => return None,
    };
    let detail: Detail = serde_json::from_str(intended).unwrap_or_default();
    Some(Detail { place, is_late: ended.is_late, ..detail }.json())
}
