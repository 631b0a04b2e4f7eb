//! Reverts a change in a text that was edited since: later edits stay unless both touch the same
//! lines.

use super::change::{Change, ChangeSet, ChangeSetId};
use super::error::{JournalError, UndoError};
use super::follow::{Follow, written};
use super::obstacle::difference;
use super::plan;
use super::step::{Act, RecordedStep, Step, WRITE};
use super::undo_plan::{Merged, UndoPlan};
use crate::note::merge::{self, Unmerged};
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::store::journal::StepRow;
use crate::vault::Revision;

/// The result of reverting a change in an edited text.
enum Reverted {
    Text(Vec<u8>),
    /// Nothing to do, for the reason in this sentence.
    Nothing(String),
    /// Impossible: both edited this line. `None` if the texts cannot be compared.
    Impossible(Option<usize>),
}

/// Plans to revert a change in a text that equals neither the text before the change nor the one
/// after it.
pub(super) fn revert_in_text(
    plan: &mut UndoPlan,
    step: &RecordedStep,
    path: &VaultPath,
    (before, after): (BlobHash, BlobHash),
    (found, disk): (Revision, Option<VaultPath>),
) -> Result<(), UndoError> {
    let now = plan.now(found, disk.as_ref());
    let taken = now.as_deref().map(|now| reverted_text(plan, step, path, before, after, now));
    let clash = match (taken.transpose()?, now.as_ref()) {
        (Some(Reverted::Nothing(why)), _) => {
            plan.notes.push(why);
            return Ok(());
        }
        (Some(Reverted::Text(content)), Some(now)) => {
            plan.notes.push(format!(
                "`{path}` was changed since: that stays, and only this change is removed from it"
            ));
            return write_merged(plan, step, path, now.clone(), content, disk);
        }
        (Some(Reverted::Impossible(clash)), _) => clash,
        _ => None,
    };
    let old = current_text(plan, step, path, after, now, clash)?;
    let content = plan.text(step, before)?;
    plan.write(step, path, old, content, true);
    Ok(())
}

fn reverted_text(
    plan: &UndoPlan,
    step: &RecordedStep,
    path: &VaultPath,
    before: BlobHash,
    after: BlobHash,
    now: &[u8],
) -> Result<Reverted, UndoError> {
    let (blobs, limit) = (&plan.parts.blobs, plan.parts.vault().max_file_bytes());
    let is_small = |text| blobs.length(text).is_ok_and(|length| length <= limit);
    if !step.row.texts_kept || !is_small(before) || !is_small(after) {
        return Ok(Reverted::Impossible(None));
    }
    let before = plan.text(step, before)?;
    // Without the text after the change, the change itself is unknown.
    let Ok(done) = plan.text(step, after) else { return Ok(Reverted::Impossible(None)) };
    let of_links = merge::differ_in_links_alone(&before, &done);
    let merged = match merge::lines(&done, &before, now) {
        // A paragraph is one line, so that a link is restored next to text that others wrote there.
        Err(Unmerged::Clash { line }) if of_links => {
            merge::without(&done, &before, now).ok_or(Some(line))
        }
        // Only links were changed since: they stay, and are followed like any other.
        Err(Unmerged::Clash { line }) => {
            merge::reverted_except_links(&done, &before, now).ok_or(Some(line))
        }
        Err(Unmerged::NotText) => Err(None),
        Ok(merged) => Ok(merged),
    };
    Ok(match merged {
        Ok(merged) if merged == now => {
            Reverted::Nothing(format!("`{path}` no longer contains the change, and stays as it is"))
        }
        Ok(merged) => Reverted::Text(merged),
        // The link is followed like any other link that was written since.
        Err(Some(_)) if plan.moves && of_links => {
            Reverted::Nothing(format!("a link in `{path}` was changed since, and is not restored"))
        }
        Err(clash) => Reverted::Impossible(clash),
    })
}

fn write_merged(
    plan: &mut UndoPlan,
    step: &RecordedStep,
    path: &VaultPath,
    now: Vec<u8>,
    content: Vec<u8>,
    disk: Option<VaultPath>,
) -> Result<(), UndoError> {
    let old = plan.texts.add(now.clone())?;
    let index = plan.steps.len();
    let known = plan.merged.iter_mut().find(|merged| merged.path == *path);
    let follows = match (disk, known) {
        (Some(disk), _) => {
            plan.merged.push(Merged { disk, now, path: path.clone(), step: index });
            true
        }
        (None, Some(merged)) => {
            merged.step = index;
            true
        }
        (None, None) => false,
    };
    plan.write(step, path, old, content, !follows);
    Ok(())
}

/// Asks `follow` what to write with the undo and puts those writes first; returns their number.
pub(super) fn follow(plan: &mut UndoPlan, follow: Follow<'_>) -> Result<usize, JournalError> {
    let mut changes = follow(&plan.names);
    changes.retain(|change| !follow_in_merged(plan, change));
    if changes.is_empty() {
        return Ok(0);
    }
    let set = ChangeSet { title: String::new(), changes };
    let mut steps: Vec<Step> = plan::steps(plan.parts, &set, &mut plan.texts)?;
    for step in &mut plan.steps {
        step.change += set.changes.len();
    }
    let texts = steps.iter().filter_map(|step| match &step.act {
        Act::Write { path, content, .. } => Some((path, content.as_slice())),
        _ => None,
    });
    written(&mut plan.steps, texts);
    steps.append(&mut plan.steps);
    plan.steps = steps;
    Ok(set.changes.len())
}

/// If the undo merges this text, applies the link rewrites to the merged text as well; returns
/// whether it does. `follow` bases its rewrites on the text now on disk. Links that the undo itself
/// restored stay.
fn follow_in_merged(plan: &mut UndoPlan, change: &Change) -> bool {
    let Change::Write { path, content: followed, .. } = change else { return false };
    let Some(merged) = plan.merged.iter().find(|merged| merged.disk == *path) else {
        return false;
    };
    let (mine, later) = plan.steps.split_at_mut(merged.step + 1);
    if let Some(Step { act: Act::Write { content, .. }, .. }) = mine.last_mut()
        && !is_written(later, &merged.path)
        && let Some(followed_text) = merge::following(&merged.now, content, followed)
    {
        written(later, [(&merged.path, followed_text.as_slice())]);
        *content = followed_text;
    }
    true
}

/// The hash of the file's current text, stored if `force` overwrites it. Without `force`, the error
/// that says what changed.
pub(super) fn current_text(
    plan: &mut UndoPlan,
    step: &RecordedStep,
    path: &VaultPath,
    after: BlobHash,
    now: Option<Vec<u8>>,
    clash: Option<usize>,
) -> Result<BlobHash, UndoError> {
    if let (true, Some(now)) = (plan.force, &now) {
        let text = plan.texts.add(now.clone())?;
        plan.notes
            .push(format!("the newer text of `{path}` is stored; undo this undo to restore it"));
        return Ok(text);
    }
    let rows = plan.parts.rows.changes.later_steps(WRITE, step.path.as_str(), step.row.id)?;
    // If another program wrote before, between or after those changes, undoing them may not help.
    let mut text = Some(after);
    let is_ours = rows.iter().all(|row| std::mem::replace(&mut text, row.after) == row.before)
        && text == now.as_deref().map(BlobHash::of);
    let is_undo_of = |row: &StepRow| rows.iter().any(|other| row.undoes == Some(other.id));
    let counts = |row: &&StepRow| row.undone_by.is_none() && !is_undo_of(row);
    let by = rows.iter().find(counts).filter(|_| is_ours);
    let by = by.map(|row| ChangeSetId(row.set.cast_unsigned()));
    let diff = difference(plan, path, after, now);
    Err(UndoError::Changed { path: path.clone(), diff, by, clash })
}

/// Whether one of these steps writes the file at `path`, including after the steps move it.
fn is_written(steps: &[Step], path: &VaultPath) -> bool {
    let mut at = path.clone();
    steps.iter().any(|step| match &step.act {
        Act::Write { path, .. } => *path == at,
        Act::Delete(deletion) => deletion.path == at,
        Act::Move { from, to, .. } => {
            if at == *from {
                at = to.clone();
            }
            false
        }
        _ => false,
    })
}
