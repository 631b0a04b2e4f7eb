//! Doing the steps, and taking them back when one fails.

use std::collections::HashSet;
use std::sync::Arc;

use super::change::Outcome;
use super::error::JournalError;
use super::step::{Act, Detail, Old, Place, Step};
use crate::note::path::VaultPath;
use crate::vault::{Before, Staged, Trashed, VaultError, Writer, temp_name};

/// What was done, to be taken back in reverse.
pub(super) enum Done {
    Write(Staged),
    Folder(VaultPath),
    RemovedFolder(VaultPath),
    Move(VaultPath, VaultPath),
    Delete(VaultPath, Trashed),
    Restore(VaultPath, Trashed),
}

/// How a step ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub outcome: Outcome,
    /// There was nothing to do: the row goes.
    pub nothing: bool,
}

/// What stopped a set.
pub(super) struct Failed {
    pub error: VaultError,
    /// Which step it was, where that one may have come half-way.
    pub at: Option<usize>,
}

/// Does the steps in their order. Writes that follow each other are all staged before the first of
/// them is put in place.
///
/// # Errors
/// What stopped it; `done` has what must be taken back.
pub(super) fn execute(
    writer: &Writer,
    steps: &[Step],
    done: &mut Vec<Done>,
) -> Result<Vec<Ended>, Failed> {
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
            write(writer, &rest[..writes], done, &mut ends)?;
            rest = &rest[writes..];
            continue;
        }
        let ended = one(writer, &step.act, done);
        ends.push(ended.map_err(|error| Failed { error, at: Some(ends.len()) })?);
        rest = &rest[1..];
    }
    Ok(ends)
}

fn write(
    writer: &Writer,
    steps: &[Step],
    done: &mut Vec<Done>,
    ends: &mut Vec<Ended>,
) -> Result<(), Failed> {
    let mut staged = Vec::with_capacity(steps.len());
    for step in steps {
        if let Act::Write { path, old, content, temp } = &step.act {
            let before = match old {
                None => Before::Absent,
                Some(Old { read: Some(read), .. }) => Before::Read(Arc::clone(read)),
                Some(old) => Before::Revision(super::step::revision(old.text)),
            };
            let one = writer.stage(path, content, &before, temp);
            staged.push(one.map_err(|error| Failed { error, at: None })?);
        }
    }
    for mut staged in staged {
        let saved = writer.commit(&mut staged);
        let saved = saved.map_err(|error| Failed { error, at: Some(ends.len()) })?;
        done.push(Done::Write(staged));
        ends.push(Ended { outcome: Outcome::Written(saved), nothing: false });
    }
    Ok(())
}

fn one(writer: &Writer, act: &Act, done: &mut Vec<Done>) -> Result<Ended, VaultError> {
    let mut nothing = false;
    let outcome = match act {
        Act::Folder { path } => {
            let made = writer.create_folders(path)?;
            done.extend(made.iter().cloned().map(Done::Folder));
            // Somebody else was faster: then it is not ours to take away.
            nothing = made.is_empty();
            Outcome::Folders(made)
        }
        Act::RemoveFolder { path } => {
            let removed = match writer.remove_empty_folder(path) {
                Err(VaultError::NotFound { .. }) => false,
                other => other?,
            };
            if removed {
                done.push(Done::RemovedFolder(path.clone()));
            }
            nothing = !removed;
            Outcome::FolderRemoved(removed)
        }
        Act::Move { from, to, .. } => {
            writer.rename(from, to)?;
            done.push(Done::Move(from.clone(), to.clone()));
            Outcome::Moved
        }
        Act::Delete(deletion) => {
            let trashed = writer.delete(&deletion.path, &deletion.before, &deletion.keeping)?;
            done.push(Done::Delete(deletion.path.clone(), trashed.clone()));
            Outcome::Deleted(trashed)
        }
        Act::Restore { from, to, temp, .. } => {
            writer.bring_back(from, to, temp)?;
            done.push(Done::Restore(to.clone(), from.clone()));
            Outcome::Restored(to.clone())
        }
        Act::Write { .. } => unreachable!("writes are done together"),
    };
    Ok(Ended { outcome, nothing })
}

/// The end of what was done and recorded: displaced versions go, trashes forget.
pub(super) fn finish(writer: &Writer, done: Vec<Done>) {
    for done in done {
        match done {
            Done::Write(staged) => writer.finish(staged),
            Done::Restore(path, trashed) => writer.finish_bringing_back(&trashed, &path),
            _ => {}
        }
    }
}

/// Takes everything back, in reverse; says what could not be.
pub(super) fn take_back(writer: &Writer, done: Vec<Done>) -> Vec<String> {
    let mut left = Vec::new();
    for done in done.into_iter().rev() {
        let result = match done {
            Done::Write(staged) => writer.revert(staged),
            Done::Folder(path) => writer.remove_empty_folder(&path).map(|_| ()),
            Done::RemovedFolder(path) => writer.create_folders(&path).map(|_| ()),
            Done::Move(from, to) => writer.rename(&to, &from),
            Done::Delete(path, trashed) => {
                let back = writer.bring_back(&trashed, &path, &temp_name());
                if back.is_ok() {
                    writer.finish_bringing_back(&trashed, &path);
                }
                back
            }
            Done::Restore(path, trashed) => writer.put_back(&path, &trashed),
        };
        if let Err(error) = result {
            left.push(error.to_string());
        }
    }
    left
}

/// The error of a set that failed, with what could not be taken back.
pub(super) fn failure(error: impl Into<JournalError>, left: Vec<String>) -> JournalError {
    match left.is_empty() {
        true => error.into(),
        false => JournalError::Half { error: Box::new(error.into()), left },
    }
}

/// A row's detail with what is known after its step was done.
pub(super) fn detail_after(intended: &str, ended: &Ended) -> String {
    let Outcome::Deleted(trashed) = &ended.outcome else { return intended.to_owned() };
    let mut detail: Detail = serde_json::from_str(intended).unwrap_or_default();
    detail.place = Some(Place::of(trashed));
    detail.json()
}
