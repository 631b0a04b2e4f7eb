//! Where a file is by now that a step wrote: others may have renamed it, or taken it away.

use super::error::UndoError;
use super::fate::{fate, moved_on};
use super::lock;
use super::merging;
use super::obstacle::not_there;
use super::picture::There;
use super::step::{Act, Recorded};
use super::undoing::Undoing;
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::temp_name;

/// Where the file is that a step wrote: at its path, or where it was moved through the journal
/// or renamed by others, as far as that was noticed.
pub(super) fn whereabouts(
    undoing: &Undoing,
    step: &Recorded,
) -> Result<Option<VaultPath>, UndoError> {
    if let There::File { .. } = undoing.picture.at(&step.path) {
        return Ok(Some(step.path.clone()));
    }
    let rows = &undoing.parts.rows.changes;
    let (at, last) = moved_on(rows, step)?;
    let mark = lock(undoing.marks).of(last.operation);
    let at = undoing.parts.vault().renamed_since(&at, mark).unwrap_or(at);
    let at = undoing.picture.now_at(&at);
    Ok(matches!(undoing.picture.at(&at), There::File { .. }).then_some(at))
}

/// Plans the opposite of writing a file that is nowhere any more: its text from before the
/// change is written anew, by force alone.
pub(super) fn unwrite_gone(
    undoing: &mut Undoing,
    step: &Recorded,
    before: BlobHash,
    after: BlobHash,
) -> Result<(), UndoError> {
    if fate(&undoing.parts.rows.changes, step)?.1.is_some() {
        return Err(not_there(undoing, step)?);
    }
    let path = undoing.picture.spelt(&step.path);
    if undoing.moves && undoing.picture.is_free(&path) && is_of_links(undoing, step, before, after)
    {
        undoing.notes.push(format!("`{path}` is gone, and the links in it that had followed"));
        return Ok(());
    }
    let taken = match undoing.picture.is_free(&path) {
        true => undoing.picture.twin(&path),
        false => Some(path.clone()),
    };
    match (undoing.force, taken) {
        (true, Some(taken)) => return Err(UndoError::Taken { path, taken }),
        (false, taken) => return Err(not_there(undoing, step)?.with_anew(taken.is_none())),
        (true, None) => {}
    }
    let content = undoing.text(step, before)?;
    undoing.make_parent(&path);
    undoing
        .notes
        .push(format!("`{path}` was gone: its text from before the change is written anew"));
    let write = Act::Write { path, old: None, content, temp: temp_name() };
    undoing.add(write, Some(step.row.id), Vec::new());
    Ok(())
}

/// Whether a step changed nothing but links, as those do that follow a move.
fn is_of_links(undoing: &Undoing, step: &Recorded, before: BlobHash, after: BlobHash) -> bool {
    let texts = (undoing.text(step, before), undoing.text(step, after));
    matches!(texts, (Ok(before), Ok(after)) if merging::is_of_links(&before, &after))
}
