//! Undoes jobs: all of one, or some items.

use std::collections::{BTreeSet, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::jobs::outline;
use super::plans::sentence;
use super::stored_job::{Job, is_undone};
use super::{Context, ToolError};
use crate::edits::{Editor, EditsError, Whole};
use crate::journal::{Action, UndoError};
use crate::note::path::VaultPath;
use crate::organize::job::{self, JobState};
use crate::organize::plan::Item;

/// An item that could not be undone.
#[derive(Serialize, JsonSchema)]
pub struct BlockedItem {
    /// Its number.
    pub item: u32,
    /// Where it is.
    pub path: String,
    /// Why.
    pub reason: String,
}

#[derive(Default)]
pub(super) struct JobUndo {
    pub undone: usize,
    pub blocked: Vec<BlockedItem>,
    /// The change set of the undo; `None` if every item is blocked.
    pub change_set: Option<u64>,
    /// Notes for the person, one sentence each.
    pub notes: Vec<String>,
}

/// Undoes a job: all of it, or these items with those that depend on them. Items that cannot be undone stay and are
/// listed.
///
/// # Errors
/// [`ErrorCode::WrongState`](crate::note::code::ErrorCode::WrongState): it runs, or there is nothing to undo. The gate's
/// refusal. Nothing was changed then.
pub(super) fn undo_job(
    context: &Context,
    job: &mut Job,
    only: &[u32],
) -> Result<JobUndo, ToolError> {
    let (done_count, undone) = job.counts();
    if only.is_empty() && job.state() == JobState::Interrupted && done_count == 0 {
        // Nothing is to be undone, and its plan can be applied again.
        job.set(context, JobState::Undone, None)?;
        return Ok(JobUndo::default());
    }
    if job.state() == JobState::Running || done_count == undone {
        return Err(job.wrong_state("list_jobs shows what is done of each job"));
    }
    let set = job.change_set().map(|set| context.journal.history().change_set(set)).transpose()?;
    let set = set.flatten().ok_or_else(|| job.wrong_state("the journal no longer has it"))?;
    let done = job.done_items();
    let all: Vec<&Item> = done.iter().map(|(item, _)| *item).collect();
    if let Some(id) = only.iter().find(|id| !all.iter().any(|item| item.id == **id)) {
        let message = format!("job {} did nothing with an item {id}", job.id());
        return Err(ToolError::invalid(message, "list_jobs with `job` has the numbers"));
    }
    let chosen: HashSet<u32> = if only.is_empty() {
        all.iter().map(|item| item.id).collect()
    } else {
        job::with_dependents(&all, only).into_iter().collect()
    };
    let is_all = done.iter().all(|(item, changes)| chosen.contains(&item.id) || is_undone(changes));
    let mut left: Vec<(Item, BTreeSet<u32>)> = done
        .iter()
        .filter(|(item, changes)| chosen.contains(&item.id) && !is_undone(changes))
        .map(|(item, changes)| {
            ((*item).clone(), changes.iter().map(|change| change.id.number).collect())
        })
        .collect();
    // A complete undo also restores links in other files.
    let own: BTreeSet<u32> =
        done.iter().flat_map(|(_, changes)| changes).map(|change| change.id.number).collect();
    let others: BTreeSet<u32> = set
        .changes
        .iter()
        .map(|change| change.id.number)
        .filter(|one| !own.contains(one))
        .collect();
    let mut blocked = Vec::new();
    let mut restores_others = is_all;
    let taken = loop {
        if left.is_empty() {
            break None;
        }
        let mut numbers: BTreeSet<u32> =
            left.iter().flat_map(|(_, numbers)| numbers).copied().collect();
        // If an item stays, links to it stay too; other links follow the restored items.
        if restores_others {
            numbers.extend(&others);
        } else {
            // A removed folder is restored with the first item that returns to it.
            let is_above = |folder: &VaultPath| {
                let sources = left.iter().filter_map(|(item, _)| VaultPath::from_disk(&item.path));
                sources.into_iter().any(|path| path.is_within(folder))
            };
            let removed = set.changes.iter().filter(|change| {
                change.action == Action::FolderRemoved
                    && change.undone_by.is_none()
                    && is_above(&change.path)
            });
            numbers.extend(removed.map(|change| change.id.number));
        }
        let items: Vec<&Item> = left.iter().map(|(item, _)| item).collect();
        let outline = outline(&items);
        let whole = Whole { identity: None, outline: &outline, reason: None, is_part: false };
        let editor = Editor { whole: Some(whole), ..context.editor() };
        let title = format!("undo job {}: {}", job.id(), sentence(&items));
        match editor.undo_some(&title, &set, &numbers) {
            Ok((undone, _)) => break Some(undone),
            Err(EditsError::Undo(error)) => {
                let Some(path) = blocking_path(&error) else { return Err(error.into()) };
                let at = left.iter().position(|(item, _)| is_of(item, path));
                // A changed file that is not an item does not block: its links follow the items.
                let is_other = at.is_none() && restores_others;
                restores_others = false;
                if is_other {
                    continue;
                }
                let Some(at) = at else { return Err(error.into()) };
                let (item, _) = left.remove(at);
                let path = item.to.clone().unwrap_or_else(|| item.path.clone());
                blocked.push(BlockedItem { item: item.id, path, reason: error.to_string() });
            }
            Err(error) => return Err(error.into()),
        }
    };
    job.reload(context)?;
    job.notify(context, job.state().word());
    Ok(JobUndo {
        undone: if taken.is_some() { left.len() } else { 0 },
        blocked,
        change_set: taken.as_ref().map(|taken| taken.applied.change_set.0),
        notes: taken.map(|taken| taken.notes).unwrap_or_default(),
    })
}

fn blocking_path(error: &UndoError) -> Option<&VaultPath> {
    match error {
        UndoError::Changed { path, .. }
        | UndoError::NotThere { path, .. }
        | UndoError::Taken { path, .. }
        | UndoError::NotKept { path, .. }
        | UndoError::NotInTrash { path }
        | UndoError::Emptied { path } => Some(path),
        UndoError::Unknown(_)
        | UndoError::AlreadyUndone { .. }
        | UndoError::Nothing { .. }
        | UndoError::Refused
        | UndoError::Journal(_) => None,
    }
}

fn is_of(item: &Item, path: &VaultPath) -> bool {
    item.path == path.as_str() || item.to.as_deref() == Some(path.as_str())
}
