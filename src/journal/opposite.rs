//! The opposite of each step, and whether it can be done.

use super::error::UndoError;
use super::merging::{changed, take_out};
use super::obstacle::{by_number, elsewhere, is_in_trash, later, not_there};
use super::picture::There;
use super::plan;
use super::step::{Act, Deed, Deletion, MOVE, Recorded, Thing, revision};
use super::trashed::find_deleted;
use super::undoing::Undoing;
use super::whereabouts::{unwrite_gone, whereabouts};
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{Before, Keeping, Kind, Trashed, temp_name};

/// Plans the opposite of a step.
///
/// # Errors
/// What stands in the way, and as the system says.
pub(super) fn take_back(undoing: &mut Undoing, step: &Recorded) -> Result<(), UndoError> {
    let planned = plan_opposite(undoing, step);
    // What stands in the way may be what could not be seen.
    planned.map_err(|error| undoing.picture.failure().map_or(error, UndoError::from))
}

fn plan_opposite(undoing: &mut Undoing, step: &Recorded) -> Result<(), UndoError> {
    let id = Some(step.row.id);
    let path = step.path.clone();
    let before = undoing.steps.len();
    match &step.deed {
        Deed::Folder => {
            if matches!(undoing.picture.at(&path), There::Folder) {
                undoing.add(Act::RemoveFolder { path }, id, Vec::new());
            }
        }
        Deed::RemoveFolder => {
            let path = undoing.picture.spelt(&path);
            if undoing.picture.is_free(&path) && !undoing.picture.has_twin(&path) {
                undoing.make_parent(&path);
                undoing.add(Act::Folder { path }, id, Vec::new());
            }
        }
        Deed::Write { before: None, after } => uncreate(undoing, step, *after)?,
        Deed::Write { before: Some(before), after } => unwrite(undoing, step, *before, *after)?,
        Deed::Move { to, thing } => unmove(undoing, step, to, *thing)?,
        Deed::Delete { .. } => {
            undelete(undoing, step, None)?;
        }
        Deed::Restore { thing, .. } => unrestore(undoing, step, *thing)?,
    }
    undoing.change += usize::from(undoing.steps.len() > before);
    Ok(())
}

/// A file that was made goes, to the trash like any other.
fn uncreate(undoing: &mut Undoing, step: &Recorded, after: BlobHash) -> Result<(), UndoError> {
    let Some(path) = place(undoing, step)? else {
        let path = &step.path;
        let is_nothing = matches!(undoing.picture.at(path), There::Nothing);
        if !is_nothing
            || later(undoing, step, MOVE)?.is_some()
            || elsewhere(undoing, step)?.is_some()
        {
            return Err(not_there(undoing, step)?);
        }
        undoing.notes.push(format!("`{path}` was gone already"));
        return Ok(());
    };
    let There::File { revision: found, disk } = undoing.picture.at(&path) else {
        return Err(not_there(undoing, step)?);
    };
    let text = match found == revision(after) {
        true => after,
        false => {
            let now = undoing.now(found, disk.as_ref());
            changed(undoing, step, &path, after, now, None)?
        }
    };
    delete(undoing, step, &path, Some(text))
}

/// Where a step's file is, said where that is no longer its path.
fn place(undoing: &mut Undoing, step: &Recorded) -> Result<Option<VaultPath>, UndoError> {
    let place = whereabouts(undoing, step)?;
    if let Some(place) = place.as_ref().filter(|place| **place != step.path) {
        undoing.notes.push(format!("`{}` is `{place}` by now", step.path));
    }
    Ok(place)
}

fn delete(
    undoing: &mut Undoing,
    step: &Recorded,
    path: &VaultPath,
    text: Option<BlobHash>,
) -> Result<(), UndoError> {
    let meta = undoing.picture.meta(path);
    let size = |text| undoing.parts.blobs.length(text).unwrap_or(0);
    let thing = match (&meta, text) {
        (Some(meta), _) => Thing::of(meta),
        (None, text) => Thing::written(text.map_or(0, size)),
    };
    let deletion = Deletion {
        path: path.clone(),
        before: text.map_or(Before::Any, |text| Before::Revision(revision(text))),
        thing,
        text,
        files: Vec::new(),
        counted: 0,
        keeping: Keeping::new(),
    };
    undoing.add(Act::Delete(Box::new(deletion)), Some(step.row.id), Vec::new());
    Ok(())
}

fn unwrite(
    undoing: &mut Undoing,
    step: &Recorded,
    before: BlobHash,
    after: BlobHash,
) -> Result<(), UndoError> {
    let Some(path) = place(undoing, step)? else {
        return unwrite_gone(undoing, step, before, after);
    };
    let There::File { revision: found, disk } = undoing.picture.at(&path) else {
        return Err(not_there(undoing, step)?);
    };
    if found == revision(before) {
        undoing.notes.push(format!("`{path}` was as before already"));
        return Ok(());
    }
    if found != revision(after) {
        return take_out(undoing, step, &path, (before, after), (found, disk));
    }
    let content = undoing.text(step, before)?;
    undoing.write(step, &path, after, content, true);
    Ok(())
}

fn unmove(
    undoing: &mut Undoing,
    step: &Recorded,
    to: &VaultPath,
    thing: Thing,
) -> Result<(), UndoError> {
    let from = &undoing.picture.spelt(&step.path);
    let there = matches!(
        (undoing.picture.at(to), thing.kind()),
        (There::File { .. }, Kind::File)
            | (There::Folder, Kind::Folder)
            | (There::Other, Kind::Link | Kind::Other)
    );
    // The same name may be another file's by now.
    let meta = undoing.picture.meta(to);
    let moved_on = meta.is_some_and(|meta| !thing.is(&meta))
        && (by_number(undoing, thing).is_some() || is_in_trash(undoing, to, thing));
    if !there || moved_on {
        return Err(not_there(undoing, step)?);
    }
    let respelt = from.fold_key() == to.fold_key();
    if !respelt {
        let taken = match undoing.picture.is_free(from) {
            true if thing.had_twin => None,
            true => undoing.picture.twin(from),
            false => Some(from.clone()),
        };
        if let Some(taken) = taken {
            return Err(UndoError::Taken { path: to.clone(), taken });
        }
    }
    undoing.make_parent(from);
    let planned = match undoing.picture.at(to) {
        There::File { disk: None, revision } => undoing.planned(revision),
        _ => None,
    };
    // What this same undo writes there before is another file by then, known by its text.
    let text = planned.as_deref().map(BlobHash::of);
    let written = planned.map_or(thing, |text| Thing::written(text.len() as u64));
    let thing = undoing.picture.meta(to).map_or(written, |meta| Thing::of(&meta));
    let (from, to) = (to.clone(), from.clone());
    let act = Act::Move { from, to, thing, text, counted: 0 };
    undoing.add(act, Some(step.row.id), Vec::new());
    Ok(())
}

/// Plans to bring a deleted thing back, to where it was or to `to`; gives where it comes to.
pub(super) fn undelete(
    undoing: &mut Undoing,
    step: &Recorded,
    to: Option<&VaultPath>,
) -> Result<VaultPath, UndoError> {
    let Deed::Delete { thing } = step.deed else {
        return Err(UndoError::NotInTrash { path: step.path.clone() });
    };
    let wanted = to.unwrap_or(&step.path);
    let path = match to.is_none() && thing.had_twin && undoing.picture.is_free(wanted) {
        true => wanted.clone(),
        false => undoing.free_name(wanted),
    };
    if path.name() != wanted.name() {
        undoing.notes.push(format!("`{wanted}` is taken, so it comes back as `{path}`"));
    }
    let files = undoing.parts.rows.changes.files(step.row.id)?;
    let id = Some(step.row.id);
    if let Some(from) = find_deleted(undoing.parts, step, thing) {
        undoing.make_parent(&path);
        let text = text_in_trash(undoing, &from).or(step.row.before);
        let thing =
            undoing.parts.writer.look_at_trashed(&from).map_or(thing, |meta| Thing::of(&meta));
        let (to, temp) = (path.clone(), temp_name());
        undoing.add(Act::Restore { from, to, thing, text, temp }, id, files);
        return Ok(path);
    }
    match (thing.kind(), step.row.before) {
        (Kind::File, Some(text)) if step.row.texts_kept => {
            let content = undoing.text(step, text)?;
            undoing.make_parent(&path);
            let temp = temp_name();
            let write = Act::Write { path: path.clone(), old: None, content, temp };
            undoing.add(write, id, Vec::new());
        }
        (Kind::Folder, _) if step.row.texts_kept && files.iter().any(|file| file.1.is_some()) => {
            undoing.make_parent(&path);
            undoing.add(Act::Folder { path: path.clone() }, id, Vec::new());
            undoing.notes.push(format!(
                "`{path}` is no longer in the trash: its files come back from the journal, which \
                 has no links, empty folders and rights"
            ));
            for (below, text) in files {
                let mut parts = below.split('/');
                let file = parts.try_fold(path.clone(), |at, name| at.join(name));
                let (Some(file), Some(text)) = (file, text) else {
                    undoing.notes.push(format!("`{path}/{below}` was not kept"));
                    continue;
                };
                let content = undoing.text(step, text)?;
                undoing.make_parent(&file);
                let temp = temp_name();
                undoing.add(Act::Write { path: file, old: None, content, temp }, id, Vec::new());
            }
        }
        _ if step.detail.emptied => {
            return Err(UndoError::Emptied { path: step.path.clone() });
        }
        _ => return Err(UndoError::NotInTrash { path: step.path.clone() }),
    }
    Ok(path)
}

/// Plans to bring back what others put into `.trash/`.
pub(super) fn bring_back(
    undoing: &mut Undoing,
    from: Trashed,
    thing: Thing,
    to: &VaultPath,
) -> VaultPath {
    let path = undoing.free_name(to);
    if path != *to {
        undoing.notes.push(format!("`{to}` is taken, so it comes back as `{path}`"));
    }
    undoing.make_parent(&path);
    let text = text_in_trash(undoing, &from);
    let below = match thing.kind() {
        Kind::Folder => undoing.parts.writer.trashed_files(&from),
        _ => Vec::new(),
    };
    let files = below.into_iter().map(|file| (file.as_str().to_owned(), None)).collect();
    let (to, temp) = (path.clone(), temp_name());
    undoing.add(Act::Restore { from, to, thing, text, temp }, None, files);
    path
}

/// The text of a file in a trash, which is kept with the step that brings it back.
fn text_in_trash(undoing: &mut Undoing, from: &Trashed) -> Option<BlobHash> {
    let bytes = undoing.parts.writer.read_trashed(from)?;
    undoing.texts.keep(bytes).ok()
}

fn unrestore(undoing: &mut Undoing, step: &Recorded, thing: Thing) -> Result<(), UndoError> {
    match (undoing.picture.at(&step.path), thing.kind()) {
        (There::File { revision: found, disk }, Kind::File) => {
            let text = match step.row.after {
                Some(after) if found != revision(after) => {
                    let now = undoing.now(found, disk.as_ref());
                    Some(changed(undoing, step, &step.path, after, now, None)?)
                }
                after => after,
            };
            delete(undoing, step, &step.path, text)
        }
        (There::Folder, Kind::Folder) => {
            let plan = plan::deletion(undoing.parts, &step.path, Before::Any, &mut undoing.texts);
            let mut deletion = plan?;
            deletion.counted = 0;
            let act = Act::Delete(Box::new(deletion));
            undoing.add(act, Some(step.row.id), Vec::new());
            Ok(())
        }
        (There::Other, Kind::Link | Kind::Other) => delete(undoing, step, &step.path, None),
        _ => Err(not_there(undoing, step)?),
    }
}
