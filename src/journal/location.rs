//! Locates the file that a step wrote, after others may have renamed or removed it.

use super::error::UndoError;
use super::file_history::{after_moves, after_moves_and_deletion};
use super::obstacle::not_there;
use super::overlay::OverlayEntry;
use super::step::{Act, RecordedStep};
use super::undo_plan::UndoPlan;
use crate::locks::lock;
use crate::note::merge;
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::temp_name;

/// The current path of the file that a step wrote: its own path, or where the journal moved it or
/// others renamed it, as far as the vault noticed.
pub(super) fn locate(plan: &UndoPlan, step: &RecordedStep) -> Result<Option<VaultPath>, UndoError> {
    if let OverlayEntry::File { .. } = plan.overlay.at(&step.path) {
        return Ok(Some(step.path.clone()));
    }
    let rows = &plan.parts.rows.changes;
    let (at, last) = after_moves(rows, &step.path, &step.row)?;
    let mark = lock(plan.rename_counts).at_end_of(last.operation);
    let at = plan.parts.vault().renamed_since(&at, mark).unwrap_or(at);
    let at = plan.overlay.now_at(&at);
    Ok(matches!(plan.overlay.at(&at), OverlayEntry::File { .. }).then_some(at))
}

/// Plans the inverse of writing a file that no longer exists: `force` writes its earlier text
/// again; without `force` it is an error.
pub(super) fn unwrite_gone(
    plan: &mut UndoPlan,
    step: &RecordedStep,
    before: BlobHash,
    after: BlobHash,
) -> Result<(), UndoError> {
    if after_moves_and_deletion(&plan.parts.rows.changes, step)?.1.is_some() {
        return Err(not_there(plan, step)?);
    }
    let path = plan.overlay.spelt(&step.path);
    if plan.moves && plan.overlay.is_free(&path) && is_of_links(plan, step, before, after) {
        plan.notes.push(format!("`{path}` is gone, and the links in it that had followed"));
        return Ok(());
    }
    let taken = if plan.overlay.is_free(&path) {
        plan.overlay.case_variant(&path)
    } else {
        Some(path.clone())
    };
    match (plan.force, taken) {
        (true, Some(taken)) => return Err(UndoError::Taken { path, taken }),
        (false, taken) => return Err(not_there(plan, step)?.with_can_recreate(taken.is_none())),
        (true, None) => {}
    }
    let content = plan.text(step, before)?;
    plan.make_parent(&path);
    plan.notes.push(format!("`{path}` was gone: its text from before the change is written again"));
    let write = Act::Write { path, old: None, content, temp: temp_name() };
    plan.add(write, Some(step.row.id), Vec::new());
    Ok(())
}

/// Whether a step changed only links, like those that follow a move.
fn is_of_links(plan: &UndoPlan, step: &RecordedStep, before: BlobHash, after: BlobHash) -> bool {
    let texts = (plan.text(step, before), plan.text(step, after));
    matches!(texts, (Ok(before), Ok(after)) if merge::differ_in_links_alone(&before, &after))
}
