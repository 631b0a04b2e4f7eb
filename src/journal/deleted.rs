//! What was deleted: listed, brought back.

use chrono::{DateTime, TimeDelta, Utc};

use super::apply::{Executor, Job};
use super::change::{Applied, ChangeId, ChangeSetId, Origin};
use super::error::{JournalError, UndoError};
use super::follow::Follow;
use super::merging;
use super::opposite::{bring_back, undelete};
use super::parts::Parts;
use super::prospect::{Review, prospects};
use super::step::{Deed, Place, Recorded, Thing};
use super::trashed::{find_deleted, is_deleted};
use super::undoing::Undoing;
use crate::note::path::VaultPath;
use crate::vault::{InTrash, Kind, Trashed};

/// Where a deleted thing lies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrashPlace {
    /// In the vault's `.trash/`.
    Local,
    /// In the system's trash.
    System,
    /// In the steward's own keeping.
    Kept,
    /// In no trash any more; its text is still kept by the journal.
    Text,
}

impl TrashPlace {
    /// The word for it: `local`, `system`, `kept`, `text`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::System => "system",
            Self::Kept => "kept",
            Self::Text => "text",
        }
    }
}

/// A deleted thing that can be brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashItem {
    /// What names it to [`Trash::restore`] and [`super::Journal::empty_trash`]: `.trash/Note 2.md` for
    /// what lies there, else the change that deleted it, as `17.2`.
    pub id: String,
    /// Where it lies.
    pub place: TrashPlace,
    /// Where exactly: a path in the vault or on this machine; none where it lies in no trash.
    pub location: Option<String>,
    /// Where it was in the vault; none for what others put into `.trash/`.
    pub was: Option<VaultPath>,
    pub kind: Kind,
    /// Bytes of a file; 0 for folders.
    pub size: u64,
    /// When it was deleted, or changed since where it lies, as far as that is known.
    pub deleted: Option<DateTime<Utc>>,
    /// The change that deleted it; none for what others put into `.trash/`.
    pub change: Option<ChangeId>,
}

/// Something that was brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The change set that did it, which can be undone.
    pub applied: Applied,
    /// Where it is now.
    pub path: VaultPath,
    /// What a person should hear, one sentence each.
    pub notes: Vec<String>,
}

/// What was deleted and can be brought back.
pub struct Trash<'a>(pub(super) &'a Executor);

impl Trash<'_> {
    /// What can be brought back, newest first: what this journal deleted, wherever it lies, and
    /// whatever else lies in `.trash/`.
    pub fn list(&self) -> Result<Vec<TrashItem>, JournalError> {
        Ok(deleted(&self.0.parts)?.into_iter().map(|(item, ..)| item).collect())
    }

    /// Brings a deleted thing back to where it was, or to `to`, its whole new path. Where the name
    /// is taken it comes beside it, as `name (restored).md`. What others put into `.trash/` comes
    /// to the vault's root, since nobody knows where it was.
    ///
    /// # Errors
    /// [`UndoError`]; it is where it was then.
    pub fn restore(
        &self,
        item: &str,
        to: Option<&VaultPath>,
        origin: &Origin,
    ) -> Result<Restored, UndoError> {
        self.restore_with(item, to, origin, &mut |_| Vec::new(), &mut |_| true)
    }

    /// As [`Self::restore`], and writes with it what `follow` gives, in the same change set, if
    /// `review` lets it.
    ///
    /// # Errors
    /// As [`Self::restore`], and [`UndoError::Refused`].
    pub fn restore_with(
        &self,
        item: &str,
        to: Option<&VaultPath>,
        origin: &Origin,
        follow: Follow<'_>,
        review: Review<'_>,
    ) -> Result<Restored, UndoError> {
        let _alone = self.0.alone();
        self.0.ready()?;
        let unknown = || UndoError::NotInTrash {
            path: VaultPath::from_disk(item).unwrap_or_else(VaultPath::root),
        };
        let found = deleted(&self.0.parts)?.into_iter().find(|(one, ..)| one.is_called(item));
        let (_, step, place) = found.ok_or_else(unknown)?;
        let mut undoing = Undoing::new(&self.0.parts, &self.0.marks, false);
        let path = match (&step, place) {
            (Some(step), _) => undelete(&mut undoing, step, to)?,
            (None, Some(place)) => {
                let meta = self.0.parts.writer.look_at_trashed(&place).ok_or_else(unknown)?;
                let root = VaultPath::root();
                let name = match &place {
                    Trashed::Local { path, .. } => path.name(),
                    _ => return Err(unknown()),
                };
                let wanted = match to {
                    Some(to) => to.clone(),
                    None => {
                        undoing.notes.push(
                            "where it was is not known, so it is in the vault's root".to_owned(),
                        );
                        root.join(name).ok_or_else(unknown)?
                    }
                };
                bring_back(&mut undoing, place.clone(), Thing::of(&meta), &wanted)
            }
            (None, None) => return Err(unknown()),
        };
        let following = merging::follow(&mut undoing, follow)?;
        let (steps, notes) = undoing.finish()?;
        let undone: Vec<Recorded> = step.into_iter().collect();
        if !review(prospects(&self.0.parts.writer, &steps, following, &undone)) {
            return Err(UndoError::Refused);
        }
        // Not where it was: who may see only where it is now is told the title too.
        let title = format!("restore `{path}`");
        let job = Job {
            kind: "restore",
            title: &title,
            origin,
            joins_turn: false,
            undoes: None,
            steps: &steps,
            undone: &undone.iter().map(|step| step.row.id).collect::<Vec<_>>(),
        };
        let (change_set, ends) = self.0.run(&job)?;
        let outcomes = ends.into_iter().map(|ended| ended.outcome).collect();
        Ok(Restored { applied: Applied { change_set, outcomes }, path, notes })
    }
}

/// The items, each with the step that deleted it and where it lies.
pub(super) fn deleted(parts: &Parts) -> Result<Vec<Deleted>, JournalError> {
    let writer = &parts.writer;
    let mut lying = writer.trashed();
    let mut found: Vec<Deleted> = Vec::new();
    for row in parts.rows.changes.deletions()? {
        // One that is damaged hides no other.
        let step = match row.and_then(Recorded::read) {
            Ok(step) => step,
            Err(error) => {
                tracing::warn!(%error, "a deletion cannot be listed");
                continue;
            }
        };
        let Deed::Delete { thing } = step.deed else { continue };
        let (place, deleted) = match lies(parts, &step, thing, &lying) {
            Some((place, since)) => (Some(place), since),
            None => (None, ended(&step)),
        };
        if let Some(place) = &place {
            lying.retain(|one| one.place != *place);
        }
        let known = |one: &Deleted| match &one.1 {
            Some(other) => other.path == step.path && other.row.before == step.row.before,
            None => false,
        };
        let has_text = step.row.texts_kept && step.row.before.is_some();
        if place.is_none() && (!has_text || found.iter().any(known)) {
            continue;
        }
        found.push((item(&step, thing, place.as_ref(), deleted), Some(step), place));
    }
    // What Obsidian or a person put there; our own keeping holds nothing of theirs.
    for one in lying {
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

/// Where a deleted thing lies, by what is lying about, and since when it lies there as it is.
fn lies(
    parts: &Parts,
    step: &Recorded,
    thing: Thing,
    lying: &[InTrash],
) -> Option<(Trashed, Option<DateTime<Utc>>)> {
    let known = step.detail.place.as_ref().and_then(Place::trashed)?;
    if let Trashed::System { .. } = known {
        return Some((find_deleted(parts, step, thing)?, ended(step)));
    }
    let one = lying.iter().find(|one| one.place == known)?;
    let touched = one.touched.map(DateTime::from_timestamp_nanos);
    // Where nothing has happened to a file since, its text need not be read.
    let untouched = (thing.kind(), one.meta.kind) == (Kind::File, Kind::File)
        && thing.is_unchanged(one.meta.size, one.meta.modified)
        && matches!((touched, ended(step)), (Some(touched), Some(ended)) if touched <= ended + SOON);
    let same = untouched || is_deleted(parts, step, thing, &known, &one.meta);
    // Who took it out, wrote in it and put it back has deleted it then.
    same.then(|| (known, touched.map(|touched| ended(step).map_or(touched, |at| at.max(touched)))))
}

/// How much later than a deletion ended the file system may say that it was: FAT keeps every
/// second second.
const SOON: TimeDelta = TimeDelta::seconds(2);

/// When the operation of a step ended.
fn ended(step: &Recorded) -> Option<DateTime<Utc>> {
    step.row.ended.and_then(DateTime::from_timestamp_millis)
}

/// A deleted thing, the step that deleted it, and where it lies.
pub(super) type Deleted = (TrashItem, Option<Recorded>, Option<Trashed>);

impl TrashItem {
    /// Whether this is what a caller means: its id, or the change that deleted it.
    pub fn is_called(&self, name: &str) -> bool {
        self.id == name || self.change.is_some_and(|change| change.to_string() == name)
    }
}

fn item(
    step: &Recorded,
    thing: Thing,
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
            (change.to_string(), TrashPlace::System, Place::of(other).shown())
        }
        Some(other @ Trashed::Kept { .. }) => {
            (change.to_string(), TrashPlace::Kept, Place::of(other).shown())
        }
        None => (change.to_string(), TrashPlace::Text, None),
    };
    TrashItem {
        id,
        place,
        location,
        was: Some(step.path.clone()),
        kind: thing.kind(),
        size: if thing.kind() == Kind::Folder { 0 } else { thing.size },
        deleted,
        change: Some(change),
    }
}
