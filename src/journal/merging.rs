//! Taking a change out of a text in which somebody has written since: what they wrote stays, where
//! the two do not meet.

use super::change::{Change, ChangeSet, ChangeSetId};
use super::error::{JournalError, UndoError};
use super::follow::{Follow, written};
use super::obstacle::difference;
use super::plan;
use super::step::{Act, Recorded, Step, WRITE};
use super::undoing::{Merged, Undoing};
use crate::note::merge::{self, Unmerged};
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::Revision;

/// What comes of taking a change out of a text.
enum TakenOut {
    Text(Vec<u8>),
    /// Nothing is to be done, as this sentence says.
    Nothing(String),
    /// It cannot be: in this line both changed it, if they are texts that can be compared.
    Not(Option<usize>),
}

/// Plans to take a change out of a text that is neither as it was before nor as it was
/// afterwards.
pub(super) fn take_out(
    undoing: &mut Undoing,
    step: &Recorded,
    path: &VaultPath,
    (before, after): (BlobHash, BlobHash),
    (found, disk): (Revision, Option<VaultPath>),
) -> Result<(), UndoError> {
    let now = undoing.now(found, disk.as_ref());
    let taken = now.as_deref().map(|now| taken_out(undoing, step, path, before, after, now));
    let clash = match (taken.transpose()?, now.as_ref()) {
        (Some(TakenOut::Nothing(why)), _) => {
            undoing.notes.push(why);
            return Ok(());
        }
        (Some(TakenOut::Text(content)), Some(now)) => {
            undoing.notes.push(format!(
                "`{path}` was changed since: that stays, and only this change is taken out of it"
            ));
            return write_merged(undoing, step, path, now.clone(), content, disk);
        }
        (Some(TakenOut::Not(clash)), _) => clash,
        _ => None,
    };
    let old = changed(undoing, step, path, after, now, clash)?;
    let content = undoing.text(step, before)?;
    undoing.write(step, path, old, content, true);
    Ok(())
}

fn taken_out(
    undoing: &Undoing,
    step: &Recorded,
    path: &VaultPath,
    before: BlobHash,
    after: BlobHash,
    now: &[u8],
) -> Result<TakenOut, UndoError> {
    let (blobs, limit) = (&undoing.parts.blobs, undoing.parts.vault().max_file_bytes());
    let is_small = |text| blobs.length(text).is_ok_and(|length| length <= limit);
    if !step.row.texts_kept || !is_small(before) || !is_small(after) {
        return Ok(TakenOut::Not(None));
    }
    let before = undoing.text(step, before)?;
    // Without it nobody knows what the change was.
    let Ok(done) = undoing.text(step, after) else { return Ok(TakenOut::Not(None)) };
    let of_links = is_of_links(&before, &done);
    let merged = match merge::lines(&done, &before, now) {
        // A paragraph is one line: a link goes back in it beside what was written there.
        Err(Unmerged::Clash { line }) if of_links => {
            merge::without(&done, &before, now).ok_or(Some(line))
        }
        Err(Unmerged::Clash { line }) => Err(Some(line)),
        Err(Unmerged::NotText) => Err(None),
        Ok(merged) => Ok(merged),
    };
    Ok(match merged {
        Ok(merged) if merged == now => TakenOut::Nothing(format!(
            "`{path}` holds nothing of the change any more, and stays as it is"
        )),
        Ok(merged) => TakenOut::Text(merged),
        // It is followed like any other link that was written since.
        Err(Some(_)) if undoing.moves && of_links => TakenOut::Nothing(format!(
            "a link in `{path}` was changed since, and is not what it was"
        )),
        Err(clash) => TakenOut::Not(clash),
    })
}

fn write_merged(
    undoing: &mut Undoing,
    step: &Recorded,
    path: &VaultPath,
    now: Vec<u8>,
    content: Vec<u8>,
    disk: Option<VaultPath>,
) -> Result<(), UndoError> {
    let old = undoing.texts.keep(now.clone())?;
    let index = undoing.steps.len();
    let known = undoing.merged.iter_mut().find(|merged| merged.path == *path);
    let follows = match (disk, known) {
        (Some(disk), _) => {
            undoing.merged.push(Merged { disk, now, path: path.clone(), step: index });
            true
        }
        (None, Some(merged)) => {
            merged.step = index;
            true
        }
        (None, None) => false,
    };
    undoing.write(step, path, old, content, !follows);
    Ok(())
}

/// Asks what is to be written with it, and puts it first; how many changes that is.
pub(super) fn follow(undoing: &mut Undoing, follow: Follow<'_>) -> Result<usize, JournalError> {
    let mut changes = follow(&undoing.names);
    changes.retain(|change| !weave(undoing, change));
    if changes.is_empty() {
        return Ok(0);
    }
    let set = ChangeSet { title: String::new(), changes };
    let mut steps: Vec<Step> = plan::steps(undoing.parts, &set, &mut undoing.texts)?;
    for step in &mut undoing.steps {
        step.change += set.changes.len();
    }
    for step in &steps {
        let Act::Write { path, content, .. } = &step.act else { continue };
        written(&mut undoing.steps, path, content);
    }
    steps.append(&mut undoing.steps);
    undoing.steps = steps;
    Ok(set.changes.len())
}

/// Lets the links that were written since follow in a text that is merged, if this is one: what
/// follows is told of the text that is there now. Those that went back stay as they were.
fn weave(undoing: &mut Undoing, change: &Change) -> bool {
    let Change::Write { path, content: followed, .. } = change else { return false };
    let Some(merged) = undoing.merged.iter().find(|merged| merged.disk == *path) else {
        return false;
    };
    let (mine, later) = undoing.steps.split_at_mut(merged.step + 1);
    if let Some(Step { act: Act::Write { content, .. }, .. }) = mine.last_mut()
        && !is_written(later, &merged.path)
        && let Some(woven) = merge::following(&merged.now, content, followed)
    {
        written(later, &merged.path, &woven);
        *content = woven;
    }
    true
}

/// The text that a file has now, kept where the undo goes over it by force.
pub(super) fn changed(
    undoing: &mut Undoing,
    step: &Recorded,
    path: &VaultPath,
    after: BlobHash,
    now: Option<Vec<u8>>,
    clash: Option<usize>,
) -> Result<BlobHash, UndoError> {
    if let (true, Some(now)) = (undoing.force, &now) {
        let text = undoing.texts.keep(now.clone())?;
        undoing
            .notes
            .push(format!("the newer text of `{path}` is kept; undo this undo to have it back"));
        return Ok(text);
    }
    let rows = undoing.parts.rows.changes.later_steps(WRITE, step.path.as_str(), step.row.id)?;
    // Where somebody else has written after them, to undo those would not help.
    let is_ours = rows.last().is_some_and(|row| row.after == now.as_deref().map(BlobHash::of));
    let by = rows.first().filter(|_| is_ours).map(|row| ChangeSetId(row.set.cast_unsigned()));
    let diff = difference(undoing, path, after, now);
    Err(UndoError::Changed { path: path.clone(), diff, by, clash })
}

/// Whether a change of a text was one of its links alone.
pub(super) fn is_of_links(before: &[u8], after: &[u8]) -> bool {
    merge::differ_in_links_alone(before, after)
}

/// Whether one of these steps writes the file at `path`, wherever they have moved it by then.
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
