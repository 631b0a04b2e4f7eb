//! What the journal tells of the past.

use chrono::{DateTime, Utc};

use super::change::{ChangeId, ChangeSetId, Target};
use super::error::{JournalError, UndoError};
use super::fate::fate;
use super::step::{Deed, Place, Recorded, revision};
use crate::note::diff;
use crate::note::path::VaultPath;
use crate::store::journal::{Changes, SetRow, StepRow, Wanted};
use crate::store::{BlobHash, Blobs, StoreError};
use crate::vault::{Kind, Revision, View};

/// Which change sets are asked for; all conditions hold together.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Those that touched this path, something below it, or the file under an earlier name of its.
    pub path: Option<VaultPath>,
    /// Those begun at or after this time.
    pub since: Option<DateTime<Utc>>,
    /// Those before this one: how to go on where a listing ended.
    pub before: Option<ChangeSetId>,
    /// Those of which all can be seen through this.
    pub seen: View,
    /// At most so many, the newest. 0: as many as there are.
    pub limit: usize,
}

/// How a change set came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    /// Asked for.
    Change,
    Undo(Target),
    /// Something brought back from the trash.
    Restore,
}

/// A change set with its changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSet {
    pub id: ChangeSetId,
    /// How it came to be.
    pub kind: SetKind,
    /// What it does, for people.
    pub title: String,
    /// The program that asked.
    pub caller: String,
    /// The conversation it was asked for in.
    pub conversation: Option<String>,
    /// The turn it belongs to.
    pub turn: Option<String>,
    /// When it was begun.
    pub time: DateTime<Utc>,
    /// Its changes, in the order in which they were done.
    pub changes: Vec<ListedChange>,
}

impl ListedSet {
    /// Whether every change of it is undone.
    pub fn is_undone(&self) -> bool {
        !self.changes.is_empty() && self.changes.iter().all(|change| change.undone_by.is_some())
    }

    /// Whether all of it is of what can be seen. Of one that cannot be read nobody knows.
    pub fn is_seen_through(&self, view: &View) -> bool {
        let mut paths =
            self.changes.iter().flat_map(|one| std::iter::once(&one.path).chain(&one.from));
        view.is_all() || (!self.changes.is_empty() && paths.all(|path| view.holds(path)))
    }
}

/// What one change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A file was made.
    Created,
    /// A file got another content.
    Modified,
    FolderMade,
    /// Something got another path.
    Moved,
    /// Something was deleted.
    Deleted,
    /// Something was brought back.
    Restored,
    /// An empty folder was taken away.
    FolderRemoved,
}

impl Action {
    /// The word for it: `created`, `modified`, `folder_made`, `moved`, `deleted`, `restored`,
    /// `folder_removed`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::FolderMade => "folder_made",
            Self::Moved => "moved",
            Self::Deleted => "deleted",
            Self::Restored => "restored",
            Self::FolderRemoved => "folder_removed",
        }
    }
}

/// One change of a change set. A change that had to make folders first is several of these under
/// one number, the folders first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedChange {
    /// What names it.
    pub id: ChangeId,
    /// What it did.
    pub action: Action,
    /// Where the thing was afterwards; for what was deleted or taken away, where it was before.
    pub path: VaultPath,
    /// For a move, where it was before.
    pub from: Option<VaultPath>,
    /// What the thing is.
    pub entry: Kind,
    pub before: Option<Revision>,
    /// The revision afterwards.
    pub after: Option<Revision>,
    /// For what was deleted, where it went, as far as that is known: a path in the vault
    /// (`.trash/…`) or on this machine.
    pub place: Option<String>,
    /// The change set that undid it.
    pub undone_by: Option<ChangeSetId>,
    /// Whether its texts are still kept, so that it can be shown and undone.
    pub texts_kept: bool,
}

/// A file's text before a change and after it.
pub type Texts = (Option<String>, Option<String>);

/// A file's bytes before a change and after it.
struct Sides {
    path: VaultPath,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

/// What a change did to a file's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A unified diff; empty where the text is the same.
    Text(String),
    /// The bytes are no text.
    Binary,
    /// More than is compared, in bytes of both sides together.
    TooLarge(u64),
    /// A text is no longer kept, or never was.
    NotKept,
    /// A change that touches no text: a folder, a move.
    None,
}

/// Bytes of both sides of a diff together, at most.
const MOST_COMPARED: u64 = 20 << 20;

/// Change sets read at once where one of them is looked for.
const READ_AT_ONCE: usize = 100;

/// Earlier names of a file that are followed.
const NAMES: usize = 16;

/// What was done, as people and programs are shown it.
#[derive(Debug)]
pub struct History {
    rows: Changes,
    blobs: Blobs,
}

impl History {
    pub(super) fn new(rows: Changes, blobs: Blobs) -> Self {
        Self { rows, blobs }
    }

    /// Change sets, newest first, each with all its changes.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub fn change_sets(&self, query: &Query) -> Result<Vec<ListedSet>, JournalError> {
        let most = if query.limit == 0 { usize::MAX } else { query.limit };
        let everywhere = |folder: &VaultPath| (folder.as_str().to_owned(), i64::MAX);
        let mut wanted = Wanted {
            paths: match &query.path {
                Some(path) if !path.is_root() => self.names_of(path)?,
                _ if query.seen.is_all() => Vec::new(),
                _ => query.seen.parts(&VaultPath::root()).iter().map(everywhere).collect(),
            },
            since: query.since.map(|since| since.timestamp_millis()),
            before: query.before.map(|before| before.0.cast_signed()),
            limit: most,
        };
        let mut listed = Vec::new();
        loop {
            let sets = self.rows.sets(&wanted)?;
            let (found, before) = (sets.len(), wanted.before);
            for set in sets {
                let one = set.and_then(|set| {
                    wanted.before = Some(set.id);
                    let steps = self.rows.each_step(set.id)?;
                    list(set, steps)
                });
                match one {
                    Ok(set) if set.is_seen_through(&query.seen) => listed.push(set),
                    Ok(_) => {}
                    Err(error @ StoreError::Row { .. }) => {
                        tracing::warn!(%error, "a change set cannot be listed");
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            // What cannot be seen makes room for older ones.
            let is_end = found < wanted.limit || wanted.before == before;
            wanted.limit = most - listed.len();
            if is_end || wanted.limit == 0 {
                return Ok(listed);
            }
        }
    }

    /// The newest change set of all that is `wanted`, of those that can be seen through `seen`, stand and
    /// are no undo, however many are newer.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub fn newest_standing(
        &self,
        seen: &View,
        mut wanted: impl FnMut(&ListedSet) -> bool,
    ) -> Result<Option<ListedSet>, JournalError> {
        let mut query = Query { limit: READ_AT_ONCE, seen: seen.clone(), ..Query::default() };
        let is_standing =
            |set: &ListedSet| !matches!(set.kind, SetKind::Undo(_)) && !set.is_undone();
        loop {
            let sets = self.change_sets(&query)?;
            query.before = sets.last().map(|oldest| oldest.id);
            if let Some(found) = sets.into_iter().find(|set| is_standing(set) && wanted(set)) {
                return Ok(Some(found));
            }
            if query.before.is_none() {
                return Ok(None);
            }
        }
    }

    /// A path and the names that its file had before, each with the newest step that may count.
    fn names_of(&self, path: &VaultPath) -> Result<Vec<(String, i64)>, StoreError> {
        let mut names = vec![(path.as_str().to_owned(), i64::MAX)];
        let (mut name, mut before) = (path.as_str().to_owned(), i64::MAX);
        while names.len() < NAMES {
            let Some(step) = self.rows.last_move_to(&name, before)? else {
                break;
            };
            let to = step.other.as_deref().unwrap_or_default();
            let rest = name.strip_prefix(to).unwrap_or_default();
            (name, before) = (format!("{}{rest}", step.path), step.id);
            names.push((name.clone(), before));
        }
        Ok(names)
    }

    /// One change set.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub fn change_set(&self, id: ChangeSetId) -> Result<Option<ListedSet>, JournalError> {
        Ok(self.listed(id.0.cast_signed(), None)?.filter(|set| !set.changes.is_empty()))
    }

    /// The change set of a turn, by the name that the origin of its changes gave the turn.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub fn change_set_of_turn(&self, turn: &str) -> Result<Option<ListedSet>, JournalError> {
        match self.rows.set_of_turn(turn)? {
            Some(id) => self.change_set(ChangeSetId(id.cast_unsigned())),
            None => Ok(None),
        }
    }

    /// A change set with the changes of one of its operations, or of all.
    pub(super) fn listed(
        &self,
        set: i64,
        operation: Option<i64>,
    ) -> Result<Option<ListedSet>, StoreError> {
        let Some(row) = self.rows.set(set)? else { return Ok(None) };
        let mut steps = self.rows.each_step(set)?;
        steps.retain(|step| match step {
            Ok(step) => operation.is_none_or(|operation| step.operation == operation),
            Err(_) => operation.is_none(),
        });
        list(row, steps).map(Some)
    }

    /// The step of a change that is of the file itself: it comes after those of the folders that were
    /// made for it.
    fn step(&self, change: ChangeId) -> Result<Recorded, UndoError> {
        let steps = self.rows.steps(change.set.0.cast_signed())?;
        let own = steps.into_iter().rfind(|step| step.number == change.number);
        Ok(Recorded::read(own.ok_or(UndoError::Unknown(Target::Change(change)))?)?)
    }

    /// Where the file of a change is by now, as far as the journal has moved it, and whether it was
    /// deleted for good since.
    ///
    /// # Errors
    /// [`UndoError::Unknown`], the store's.
    pub fn fate(&self, change: ChangeId) -> Result<(VaultPath, bool), UndoError> {
        let (at, deletion) = fate(&self.rows, &self.step(change)?)?;
        Ok((at, deletion.is_some_and(|deletion| deletion.is_for_good())))
    }

    /// What a change did to a file's text.
    ///
    /// # Errors
    /// [`UndoError::Unknown`], [`UndoError::NotKept`] for a damaged text, the store's.
    pub fn diff(&self, change: ChangeId) -> Result<Difference, UndoError> {
        Ok(match self.sides(change, MOST_COMPARED)? {
            Ok(Sides { path, before, after }) => {
                difference(&before.unwrap_or_default(), &after.unwrap_or_default(), &path)
            }
            Err(why) => why,
        })
    }

    /// The text of a change's file before it and after it, where both are text and together no longer
    /// than `most` bytes: none before for a file that was not there, and none after for one that is gone.
    ///
    /// # Errors
    /// As [`Self::diff`].
    pub fn texts(&self, change: ChangeId, most: u64) -> Result<Option<Texts>, UndoError> {
        let Ok(Sides { before, after, .. }) = self.sides(change, most)? else { return Ok(None) };
        let text = |bytes: Option<Vec<u8>>| bytes.map(String::from_utf8).transpose();
        Ok(text(before).ok().zip(text(after).ok()))
    }

    /// The bytes of a change's file before it and after it, or why there are none.
    fn sides(&self, change: ChangeId, most: u64) -> Result<Result<Sides, Difference>, UndoError> {
        let recorded = self.step(change)?;
        let (before, after) = match (&recorded.deed, recorded.row.before, recorded.row.after) {
            (Deed::Write { .. }, before, after) => (before, after),
            (Deed::Delete { thing }, before, _) if thing.kind() == Kind::File => match before {
                None => return Ok(Err(Difference::NotKept)),
                before => (before, None),
            },
            (Deed::Restore { thing, .. }, _, after) if thing.kind() == Kind::File => match after {
                None => return Ok(Err(Difference::NotKept)),
                after => (None, after),
            },
            _ => return Ok(Err(Difference::None)),
        };
        if !recorded.row.texts_kept {
            return Ok(Err(Difference::NotKept));
        }
        let (blobs, path) = (&self.blobs, recorded.path);
        let unkept = |error: crate::store::BlobError| UndoError::NotKept {
            path: path.clone(),
            reason: error.to_string(),
        };
        let length = |text: Option<BlobHash>| text.map_or(Ok(0), |text| blobs.length(text));
        let together =
            length(before).map_err(unkept)?.saturating_add(length(after).map_err(unkept)?);
        if together > most {
            return Ok(Err(Difference::TooLarge(together)));
        }
        let text = |text: Option<BlobHash>| text.map(|text| blobs.get(text)).transpose();
        let (before, after) = (text(before).map_err(unkept)?, text(after).map_err(unkept)?);
        Ok(Ok(Sides { path, before, after }))
    }
}

/// The difference between two texts.
pub(super) fn difference(before: &[u8], after: &[u8], path: &VaultPath) -> Difference {
    let is_text = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'));
    match is_text(before) && is_text(after) {
        true => Difference::Text(diff::unified(before, after, path.as_str())),
        false => Difference::Binary,
    }
}

/// A set with those of its changes that can be read; its title says how many cannot.
fn list(set: SetRow, steps: Vec<Result<StepRow, StoreError>>) -> Result<ListedSet, StoreError> {
    let id = ChangeSetId(set.id.cast_unsigned());
    let fault = |reason: String| StoreError::Row { table: "change_set", row: set.id, reason };
    let kind = match (set.kind.as_str(), set.undoes_set, set.undoes_number) {
        ("change", ..) => SetKind::Change,
        ("restore", ..) => SetKind::Restore,
        ("undo", Some(undone), None) => {
            SetKind::Undo(Target::Set(ChangeSetId(undone.cast_unsigned())))
        }
        ("undo", Some(undone), Some(number)) => SetKind::Undo(Target::Change(ChangeId {
            set: ChangeSetId(undone.cast_unsigned()),
            number: u32::try_from(number).map_err(|error| fault(error.to_string()))?,
        })),
        (other, ..) => return Err(fault(format!("`{other}` is no kind of change set"))),
    };
    let time = DateTime::from_timestamp_millis(set.began)
        .ok_or_else(|| fault(format!("{} is no time", set.began)))?;
    let (mut changes, mut unreadable, mut title) = (Vec::new(), 0, set.title);
    let mut operations: Vec<i64> = steps.iter().flatten().map(|step| step.operation).collect();
    operations.sort_unstable();
    operations.dedup();
    // It was given by the first call of the turn.
    if operations.len() > 1 {
        title.push_str(&format!(" and {} more", operations.len() - 1));
    }
    for step in steps {
        match step.and_then(Recorded::read) {
            Ok(step) => changes.push(change(id, step)),
            Err(error) => {
                tracing::warn!(%error, "a change cannot be listed");
                unreadable += 1;
            }
        }
    }
    if unreadable > 0 {
        title.push_str(&format!(" (damaged in the journal: {unreadable} of its steps)"));
    }
    Ok(ListedSet {
        id,
        kind,
        title,
        caller: set.caller,
        conversation: set.conversation,
        turn: set.turn,
        time,
        changes,
    })
}

fn change(set: ChangeSetId, step: Recorded) -> ListedChange {
    let Recorded { row, path, deed, detail } = step;
    let (action, path, from, entry) = match deed {
        Deed::Folder => (Action::FolderMade, path, None, Kind::Folder),
        Deed::RemoveFolder => (Action::FolderRemoved, path, None, Kind::Folder),
        Deed::Write { before: None, .. } => (Action::Created, path, None, Kind::File),
        Deed::Write { before: Some(_), .. } => (Action::Modified, path, None, Kind::File),
        Deed::Move { to, thing } => (Action::Moved, to, Some(path), thing.kind()),
        Deed::Delete { thing } => (Action::Deleted, path, None, thing.kind()),
        Deed::Restore { thing, .. } => (Action::Restored, path, None, thing.kind()),
    };
    ListedChange {
        id: ChangeId { set, number: row.number },
        action,
        path,
        from,
        entry,
        before: row.before.map(revision),
        after: row.after.map(revision),
        place: detail.place.as_ref().filter(|_| action == Action::Deleted).and_then(Place::shown),
        undone_by: row.undone_by.map(|by| ChangeSetId(by.cast_unsigned())),
        texts_kept: row.texts_kept,
    }
}
