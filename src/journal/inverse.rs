//! Plans the inverse of each step, or finds out why it cannot be done.

use super::error::UndoError;
use super::location::{locate, unwrite_gone};
use super::merging::{current_text, revert_in_text};
use super::obstacle::{find_by_id, first_later_change, is_in_trash, moved_to, not_there};
use super::overlay::OverlayEntry;
use super::plan;
use super::step::{Act, Deletion, FileIdentity, MOVE, RecordedAct, RecordedStep, revision};
use super::trashed::find_deleted;
use super::undo_plan::UndoPlan;
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{Keeping, Kind, Precondition, Trashed, temp_name};

pub(super) fn plan_inverse(plan: &mut UndoPlan, step: &RecordedStep) -> Result<(), UndoError> {
    let planned = add_inverse(plan, step);
    // A failed read may be the real cause of the obstacle.
    planned.map_err(|error| plan.overlay.failure().map_or(error, UndoError::from))
}

fn add_inverse(plan: &mut UndoPlan, step: &RecordedStep) -> Result<(), UndoError> {
    let id = Some(step.row.id);
    let path = step.path.clone();
    let before = plan.steps.len();
    match &step.act {
        RecordedAct::Folder => {
            if matches!(plan.overlay.at(&path), OverlayEntry::Folder) {
                plan.add(Act::RemoveFolder { path }, id, Vec::new());
            }
        }
        RecordedAct::RemoveFolder => {
            let path = plan.overlay.spelt(&path);
            if plan.overlay.is_free(&path) && !plan.overlay.has_case_variant(&path) {
                plan.make_parent(&path);
                plan.add(Act::Folder { path }, id, Vec::new());
            }
        }
        RecordedAct::Write { before: None, after } => uncreate(plan, step, *after)?,
        RecordedAct::Write { before: Some(before), after } => unwrite(plan, step, *before, *after)?,
        RecordedAct::Move { to, identity } => unmove(plan, step, to, *identity)?,
        RecordedAct::Delete { .. } => {
            undelete(plan, step, None)?;
        }
        RecordedAct::Restore { identity, .. } => unrestore(plan, step, *identity)?,
    }
    plan.change += usize::from(plan.steps.len() > before);
    Ok(())
}

/// Deletes a file that the step created; it goes to the trash like any other.
fn uncreate(plan: &mut UndoPlan, step: &RecordedStep, after: BlobHash) -> Result<(), UndoError> {
    let Some(path) = locate_noted(plan, step)? else {
        let path = &step.path;
        let is_nothing = matches!(plan.overlay.at(path), OverlayEntry::Nothing);
        if !is_nothing
            || first_later_change(plan, step, MOVE)?.is_some()
            || moved_to(plan, step)?.is_some()
        {
            return Err(not_there(plan, step)?);
        }
        plan.notes.push(format!("`{path}` was gone already"));
        return Ok(());
    };
    let OverlayEntry::File { revision: found, disk } = plan.overlay.at(&path) else {
        return Err(not_there(plan, step)?);
    };
    let text = if found == revision(after) {
        after
    } else {
        let now = plan.now(found, disk.as_ref());
        current_text(plan, step, &path, after, now, None)?
    };
    delete(plan, step, &path, Some(text))
}

/// The current path of a step's file; adds a note if it has changed.
fn locate_noted(plan: &mut UndoPlan, step: &RecordedStep) -> Result<Option<VaultPath>, UndoError> {
    let place = locate(plan, step)?;
    if let Some(place) = place.as_ref().filter(|place| **place != step.path) {
        plan.notes.push(format!("`{}` is `{place}` by now", step.path));
    }
    Ok(place)
}

fn delete(
    plan: &mut UndoPlan,
    step: &RecordedStep,
    path: &VaultPath,
    text: Option<BlobHash>,
) -> Result<(), UndoError> {
    let meta = plan.overlay.meta(path);
    let size = |text| plan.parts.blobs.length(text).unwrap_or(0);
    let identity = match (&meta, text) {
        (Some(meta), _) => FileIdentity::of(meta),
        (None, text) => FileIdentity::written(text.map_or(0, size)),
    };
    let deletion = Deletion {
        path: path.clone(),
        before: text.map_or(Precondition::Any, |text| Precondition::Revision(revision(text))),
        identity,
        text,
        files: Vec::new(),
        counted: 0,
        keeping: Keeping::new(),
    };
    plan.add(Act::Delete(Box::new(deletion)), Some(step.row.id), Vec::new());
    Ok(())
}

fn unwrite(
    plan: &mut UndoPlan,
    step: &RecordedStep,
    before: BlobHash,
    after: BlobHash,
) -> Result<(), UndoError> {
    let Some(path) = locate_noted(plan, step)? else {
        return unwrite_gone(plan, step, before, after);
    };
    let OverlayEntry::File { revision: found, disk } = plan.overlay.at(&path) else {
        return Err(not_there(plan, step)?);
    };
    if found == revision(before) {
        plan.notes.push(format!("`{path}` was as before already"));
        return Ok(());
    }
    if found != revision(after) {
        return revert_in_text(plan, step, &path, (before, after), (found, disk));
    }
    let content = plan.text(step, before)?;
    plan.put_back(step, (&path, disk), after, content);
    Ok(())
}

fn unmove(
    plan: &mut UndoPlan,
    step: &RecordedStep,
    to: &VaultPath,
    identity: FileIdentity,
) -> Result<(), UndoError> {
    let from = &plan.overlay.spelt(&step.path);
    let there = matches!(
        (plan.overlay.at(to), identity.kind()),
        (OverlayEntry::File { .. }, Kind::File)
            | (OverlayEntry::Folder, Kind::Folder)
            | (OverlayEntry::Other, Kind::Link | Kind::Other)
    );
    // The same name may belong to another file by now.
    let meta = plan.overlay.meta(to);
    let moved_on = meta.is_some_and(|meta| !identity.matches(&meta))
        && (find_by_id(plan, identity).is_some() || is_in_trash(plan, to, identity));
    if !there || moved_on {
        return Err(not_there(plan, step)?);
    }
    let respelt = from.fold_key() == to.fold_key();
    if !respelt {
        let taken = if !plan.overlay.is_free(from) {
            Some(from.clone())
        } else if identity.had_case_variant {
            None
        } else {
            plan.overlay.case_variant(from)
        };
        if let Some(taken) = taken {
            return Err(UndoError::Taken { path: to.clone(), taken });
        }
    }
    plan.make_parent(from);
    let planned = match plan.overlay.at(to) {
        OverlayEntry::File { disk: None, revision } => plan.planned(revision),
        _ => None,
    };
    // If this undo rewrites the file before, it has a new inode and is identified by its text.
    let text = planned.as_deref().map(BlobHash::of);
    let written = planned.map_or(identity, |text| FileIdentity::written(text.len() as u64));
    let identity = plan.overlay.meta(to).map_or(written, |meta| FileIdentity::of(&meta));
    let (from, to) = (to.clone(), from.clone());
    let act = Act::Move { from, to, identity, text, counted: 0 };
    plan.add(act, Some(step.row.id), Vec::new());
    Ok(())
}

/// Plans to restore a deleted file or folder to its former path or to `to`; returns the path.
pub(super) fn undelete(
    plan: &mut UndoPlan,
    step: &RecordedStep,
    to: Option<&VaultPath>,
) -> Result<VaultPath, UndoError> {
    let RecordedAct::Delete { identity } = step.act else {
        return Err(UndoError::NotInTrash { path: step.path.clone() });
    };
    let target = to.unwrap_or(&step.path);
    let path = if to.is_none() && identity.had_case_variant && plan.overlay.is_free(target) {
        target.clone()
    } else {
        plan.free_name(target)
    };
    if path.name() != target.name() {
        plan.notes.push(format!("`{target}` is taken, so it comes back as `{path}`"));
    }
    let files = plan.parts.rows.changes.files(step.row.id)?;
    let id = Some(step.row.id);
    if let Some(from) = find_deleted(plan.parts, step, identity) {
        plan.make_parent(&path);
        let text = text_in_trash(plan, &from).or(step.row.before);
        let identity =
            plan.parts.writer.stat_trashed(&from).map_or(identity, |meta| FileIdentity::of(&meta));
        let (to, temp) = (path.clone(), temp_name());
        plan.add(Act::Restore { from, to, identity, text, temp }, id, files);
        return Ok(path);
    }
    match (identity.kind(), step.row.before) {
        (Kind::File, Some(text)) if step.row.texts_kept => {
            let content = plan.text(step, text)?;
            plan.make_parent(&path);
            let temp = temp_name();
            let write = Act::Write { path: path.clone(), old: None, content, temp };
            plan.add(write, id, Vec::new());
        }
        (Kind::Folder, _) if step.row.texts_kept && files.iter().any(|file| file.1.is_some()) => {
            plan.make_parent(&path);
            plan.add(Act::Folder { path: path.clone() }, id, Vec::new());
            plan.notes.push(format!(
                "`{path}` is no longer in the trash: its files come back from the journal, which does not store links, empty folders and permissions"
            ));
            for (below, text) in files {
                let mut parts = below.split('/');
                let file = parts.try_fold(path.clone(), |at, name| at.join(name));
                let (Some(file), Some(text)) = (file, text) else {
                    plan.notes.push(format!("`{path}/{below}` was not kept"));
                    continue;
                };
                let content = plan.text(step, text)?;
                plan.make_parent(&file);
                let temp = temp_name();
                plan.add(Act::Write { path: file, old: None, content, temp }, id, Vec::new());
            }
        }
        _ if step.detail.emptied => {
            return Err(UndoError::Emptied { path: step.path.clone() });
        }
        _ => return Err(UndoError::NotInTrash { path: step.path.clone() }),
    }
    Ok(path)
}

/// Plans to restore what others put into `.trash/`.
pub(super) fn restore(
    plan: &mut UndoPlan,
    from: Trashed,
    identity: FileIdentity,
    to: &VaultPath,
) -> VaultPath {
    let path = plan.free_name(to);
    if path != *to {
        plan.notes.push(format!("`{to}` is taken, so it comes back as `{path}`"));
    }
    plan.make_parent(&path);
    let text = text_in_trash(plan, &from);
    let below = match identity.kind() {
        Kind::Folder => plan.parts.writer.files_in_trashed(&from).unwrap_or_default(),
        _ => Vec::new(),
    };
    let files = below.into_iter().map(|file| (file.as_str().to_owned(), None)).collect();
    let (to, temp) = (path.clone(), temp_name());
    plan.add(Act::Restore { from, to, identity, text, temp }, None, files);
    path
}

/// The text of a file in a trash, stored with the step that restores it.
fn text_in_trash(plan: &mut UndoPlan, from: &Trashed) -> Option<BlobHash> {
    let bytes = plan.parts.writer.read_trashed(from)?;
    plan.texts.add(bytes).ok()
}

fn unrestore(
    plan: &mut UndoPlan,
    step: &RecordedStep,
    identity: FileIdentity,
) -> Result<(), UndoError> {
    match (plan.overlay.at(&step.path), identity.kind()) {
        (OverlayEntry::File { revision: found, disk }, Kind::File) => {
            let text = match step.row.after {
                Some(after) if found != revision(after) => {
                    let now = plan.now(found, disk.as_ref());
                    Some(current_text(plan, step, &step.path, after, now, None)?)
                }
                after => after,
            };
            delete(plan, step, &step.path, text)
        }
        (OverlayEntry::Folder, Kind::Folder) => {
            let mut deletion =
                plan::deletion(plan.parts, &step.path, Precondition::Any, &mut plan.texts)?;
            deletion.counted = 0;
            let act = Act::Delete(Box::new(deletion));
            plan.add(act, Some(step.row.id), Vec::new());
            Ok(())
        }
        (OverlayEntry::Other, Kind::Link | Kind::Other) => delete(plan, step, &step.path, None),
        _ => Err(not_there(plan, step)?),
    }
}
