//! Lists and restores deleted files and folders.

use chrono::{DateTime, TimeDelta, Utc};

use super::apply::{Executor, Job};
use super::change::{Applied, ChangeId, ChangeSetId, Origin};
use super::error::{JournalError, UndoError};
use super::follow::Follow;
use super::inverse::{restore, undelete};
use super::merging;
use super::parts::Parts;
use super::preview::{Review, preview};
use super::step::{FileIdentity, RecordedAct, RecordedStep, TrashRecord};
use super::trashed::{find_deleted, is_deleted};
use super::undo_plan::UndoPlan;
use crate::note::path::VaultPath;
use crate::vault::{Kind, TrashEntry, Trashed};

/// Where a deleted file or folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrashPlace {
    /// In the vault's `.trash/`.
    Local,
    System,
    /// In the steward's own `kept` folder.
    Kept,
    /// No longer in a trash; the journal still stores its text.
    Text,
}

words!(pub TrashPlace::word {
    Local => "local", System => "system", Kept => "kept", Text => "text",
});

/// A deleted file or folder that can be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashItem {
    /// The name for [`Trash::restore_with`] and [`super::Journal::empty_trash`]: for an item in the
    /// vault's trash its path, `.trash/Note 2.md`; otherwise the change that deleted it, `17.2`.
    pub id: String,
    pub place: TrashPlace,
    /// The path in the vault or on this machine; `None` if it is not in a trash.
    pub location: Option<String>,
    /// The path before the deletion; `None` if another program put it into `.trash/`.
    pub was: Option<VaultPath>,
    pub kind: Kind,
    /// Bytes of a file; 0 for folders.
    pub size: u64,
    /// When it was deleted, or last changed in the trash, if known.
    pub deleted: Option<DateTime<Utc>>,
    /// The change that deleted it; `None` if another program put it into `.trash/`.
    pub change: Option<ChangeId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The change set of the restoration, which can be undone.
    pub applied: Applied,
    pub path: VaultPath,
    /// Messages for a person, one sentence each.
    pub notes: Vec<String>,
}

/// Deleted files and folders that can be restored.
pub struct Trash<'a>(pub(super) &'a Executor);

impl Trash<'_> {
    /// Everything that can be restored, newest first: what this journal deleted, wherever it is,
    /// and everything else in `.trash/`.
    pub fn list(&self) -> Result<Vec<TrashItem>, JournalError> {
        Ok(deleted(&self.0.parts)?.into_iter().map(|(item, ..)| item).collect())
    }

    /// Restores an item to its former path or to the full path `to`. If the name is taken, it
    /// becomes `name (restored).md` next to it. Files that others put into `.trash/` go to the
    /// vault's root, since their former path is unknown. Writes what `follow` returns in the same change set. Runs only if
    /// `review` returns `true`.
    ///
    /// # Errors
    /// [`UndoError`]; the item stays where it is.
    pub fn restore_with(
        &self,
        item: &str,
        to: Option<&VaultPath>,
        origin: &Origin,
        follow: Follow<'_>,
        review: Review<'_>,
    ) -> Result<Restored, UndoError> {
        let _guard = self.0.exclusive();
        self.0.check_ready()?;
        let unknown = || UndoError::NotInTrash {
            path: VaultPath::from_disk(item).unwrap_or_else(VaultPath::root),
        };
        let found = deleted(&self.0.parts)?.into_iter().find(|(one, ..)| one.is_called(item));
        let (_, step, place) = found.ok_or_else(unknown)?;
        let mut plan = UndoPlan::new(&self.0.parts, &self.0.rename_counts, false);
        let path = match (&step, place) {
            (Some(step), _) => undelete(&mut plan, step, to)?,
            (None, Some(place)) => {
                let meta = self.0.parts.writer.stat_trashed(&place).ok_or_else(unknown)?;
                let root = VaultPath::root();
                let name = match &place {
                    Trashed::Local { path, .. } => path.name(),
                    _ => return Err(unknown()),
                };
                let wanted = match to {
                    Some(to) => to.clone(),
                    None => {
                        plan.notes.push(
                            "where it was is not known, so it is in the vault's root".to_owned(),
                        );
                        root.join(name).ok_or_else(unknown)?
                    }
                };
                restore(&mut plan, place.clone(), FileIdentity::of(&meta), &wanted)
            }
            (None, None) => return Err(unknown()),
        };
        let following = merging::follow(&mut plan, follow)?;
        let (steps, notes) = plan.finish()?;
        let undone: Vec<RecordedStep> = step.into_iter().collect();
        if !review(preview(&self.0.parts.writer, &steps, following, &undone)) {
            return Err(UndoError::Refused);
        }
        // Not the former path: a caller who may see only the new path reads the title too.
        let title = format!("restore `{path}`");
        let job = Job {
            kind: "restore",
            title: &title,
            origin,
            joins_turn: false,
            undoes: None,
            steps: &steps,
            undone: &undone.iter().map(|step| step.row.id).collect::<Vec<_>>(),
            progress: &(),
        };
        let (change_set, ends) = self.0.run(&job)?;
        let outcomes = ends.into_iter().map(|ended_at| ended_at.outcome).collect();
        Ok(Restored { applied: Applied { change_set, outcomes }, path, notes })
    }
}

/// The items, each with the step that deleted it and its place.
pub(super) fn deleted(parts: &Parts) -> Result<Vec<Deleted>, JournalError> {
    let writer = &parts.writer;
    let mut in_trashes = writer.trashed();
    let mut found: Vec<Deleted> = Vec::new();
    for row in parts.rows.changes.deletions()? {
        // A damaged row must not hide the others.
        let step = match row.and_then(RecordedStep::read) {
            Ok(step) => step,
            Err(error) => {
                tracing::warn!(%error, "a deletion cannot be listed");
                continue;
            }
        };
        let RecordedAct::Delete { identity } = step.act else { continue };
        let (place, deleted) = match find_listed(parts, &step, identity, &in_trashes) {
            Some((place, since)) => (Some(place), since),
            None => (None, ended_at(&step)),
        };
        if let Some(place) = &place {
            in_trashes.retain(|one| one.place != *place);
        }
        let known = |one: &Deleted| match &one.1 {
            Some(other) => other.path == step.path && other.row.before == step.row.before,
            None => false,
        };
        let has_text = step.row.texts_kept && step.row.before.is_some();
        if place.is_none() && (!has_text || found.iter().any(known)) {
            continue;
        }
        found.push((item(&step, identity, place.as_ref(), deleted), Some(step), place));
    }
    // Files that Obsidian or a person deleted; they are never in the steward's `kept` folder.
    for one in in_trashes {
        let Trashed::Local { path, .. } = &one.place else { continue };
        let item = TrashItem {
            id: path.as_str().to_owned(),
            place: TrashPlace::Local,
            location: Some(path.as_str().to_owned()),
            was: None,
            kind: one.meta.kind,
            size: if one.meta.kind == Kind::Folder { 0 } else { one.meta.size },
            deleted: one.since().map(DateTime::from_timestamp_nanos),
            change: None,
        };
        found.push((item, None, Some(one.place)));
    }
    found.sort_by_key(|one| std::cmp::Reverse(one.0.deleted));
    Ok(found)
}

/// The place of a deleted file or folder, given a listing of the trashes, and the time of that listing.
fn find_listed(
    parts: &Parts,
    step: &RecordedStep,
    identity: FileIdentity,
    in_trashes: &[TrashEntry],
) -> Option<(Trashed, Option<DateTime<Utc>>)> {
    let known = step.detail.place.as_ref().and_then(TrashRecord::trashed)?;
    if let Trashed::System { .. } = known {
        return Some((find_deleted(parts, step, identity)?, ended_at(step)));
    }
    let one = in_trashes.iter().find(|one| one.place == known)?;
    let touched = one.touched.map(DateTime::from_timestamp_nanos);
    // If nothing has happened to a file since, its text need not be read.
    let untouched = (identity.kind(), one.meta.kind) == (Kind::File, Kind::File)
        && identity.is_unchanged(one.meta.size, one.meta.modified)
        && matches!((touched, ended_at(step)), (Some(touched), Some(ended_at)) if touched <= ended_at + TIME_TOLERANCE);
    // On Windows a listing has no identities.
    let meta = || parts.writer.stat_trashed(&known);
    let same =
        untouched || meta().is_some_and(|meta| is_deleted(parts, step, identity, &known, &meta));
    // If it was taken out, edited and put back, that is its deletion time.
    same.then(|| {
        (known, touched.map(|touched| ended_at(step).map_or(touched, |at| at.max(touched))))
    })
}

/// How much later than the end of a deletion the file system's time may be: FAT stores times in
/// steps of two seconds.
const TIME_TOLERANCE: TimeDelta = TimeDelta::seconds(2);

fn ended_at(step: &RecordedStep) -> Option<DateTime<Utc>> {
    step.row.ended.and_then(DateTime::from_timestamp_millis)
}

pub(super) type Deleted = (TrashItem, Option<RecordedStep>, Option<Trashed>);

impl TrashItem {
    /// Whether `name` is its id or the change that deleted it.
    pub fn is_called(&self, name: &str) -> bool {
        self.id == name || self.change.is_some_and(|change| change.to_string() == name)
    }
}

fn item(
    step: &RecordedStep,
    identity: FileIdentity,
    place: Option<&Trashed>,
    deleted: Option<DateTime<Utc>>,
) -> TrashItem {
    let set = ChangeSetId(step.row.set.cast_unsigned());
    let change = ChangeId { set, number: step.row.number };
    let (id, place, location) = match place {
        Some(Trashed::Local { path, .. }) => {
            (path.as_str().to_owned(), TrashPlace::Local, Some(path.as_str().to_owned()))
        }
        Some(other @ Trashed::System { .. }) => {
            (change.to_string(), TrashPlace::System, TrashRecord::of(other).shown())
        }
        Some(other @ Trashed::Kept { .. }) => {
            (change.to_string(), TrashPlace::Kept, TrashRecord::of(other).shown())
        }
        None => (change.to_string(), TrashPlace::Text, None),
    };
    TrashItem {
        id,
        place,
        location,
        was: Some(step.path.clone()),
        kind: identity.kind(),
        size: if identity.kind() == Kind::Folder { 0 } else { identity.size },
        deleted,
        change: Some(change),
    }
}
