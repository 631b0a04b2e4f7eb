//! Lists recorded change sets and their texts.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::change::{ChangeId, ChangeSetId, Target};
use super::error::{JournalError, UndoError};
use super::file_history::{after_moves, after_moves_and_deletion};
use super::step::{MOVE, RecordedAct, RecordedStep, TrashRecord, revision};
use crate::note::diff;
use crate::note::path::VaultPath;
use crate::store::journal::{Changes, SetFilter, SetRow, StepRow};
use crate::store::{BlobHash, Blobs, StoreError};
use crate::vault::{Kind, Reader, Revision, View, is_temp_path};

/// Filters for change sets; all conditions must hold.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Sets that touched this path, something below it, or the file under an earlier name, also by moving, deleting or
    /// restoring a folder above it.
    pub path: Option<VaultPath>,
    /// Sets begun at or after this time.
    pub since: Option<DateTime<Utc>>,
    /// Sets older than this one, to continue a listing.
    pub before: Option<ChangeSetId>,
    /// Sets that are entirely visible through this view.
    pub seen: View,
    /// Maximum number, newest first. 0: no limit.
    pub limit: usize,
}

/// How a change set came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    /// Requested by a caller.
    Change,
    Undo(Target),
    Restore,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSet {
    pub id: ChangeSetId,
    pub kind: SetKind,
    pub title: String,
    pub caller: String,
    pub conversation: Option<String>,
    pub turn: Option<String>,
    /// When it began.
    pub time: DateTime<Utc>,
    /// Its changes, in execution order.
    pub changes: Vec<ListedChange>,
}

impl ListedSet {
    /// Whether all its changes are undone.
    pub fn is_undone(&self) -> bool {
        !self.changes.is_empty() && self.changes.iter().all(|change| change.undone_by.is_some())
    }

    /// Whether all its paths are visible. `false` for a set whose changes cannot be read.
    pub fn is_seen_through(&self, view: &View) -> bool {
        let mut paths =
            self.changes.iter().flat_map(|one| std::iter::once(&one.path).chain(&one.from));
        view.is_all() || (!self.changes.is_empty() && paths.all(|path| view.holds(path)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    Created,
    /// A file got new content.
    Modified,
    FolderMade,
    Moved,
    Deleted,
    Restored,
    FolderRemoved,
}

words!(pub Action::word {
    Created => "created", Modified => "modified", FolderMade => "folder_made", Moved => "moved",
    Deleted => "deleted", Restored => "restored", FolderRemoved => "folder_removed",
});

/// One change of a change set. A change that had to make folders first appears as several entries
/// under one number, the folders first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedChange {
    pub id: ChangeId,
    pub action: Action,
    /// The path afterwards; for a deletion or removal, the path before.
    pub path: VaultPath,
    /// For a move, the path before.
    pub from: Option<VaultPath>,
    /// Whether it is a file, a folder or a link.
    pub entry: Kind,
    pub before: Option<Revision>,
    pub after: Option<Revision>,
    /// For a deletion, where it went, if known: a path in the vault (`.trash/…`) or on this
    /// machine.
    pub place: Option<String>,
    pub undone_by: Option<ChangeSetId>,
    /// Whether its texts are still stored, so that it can be shown and undone.
    pub texts_kept: bool,
}

/// The text of a file before and after a change.
pub type Texts = (Option<String>, Option<String>);

/// The bytes of a file before and after a change.
struct Sides {
    path: VaultPath,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

/// The effect of a change on a file's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A unified diff; empty where the text is the same.
    Text(String),
    Binary,
    /// Too large to compare: bytes of both sides together.
    TooLarge(u64),
    /// A text is no longer stored, or never was.
    NotKept,
    /// The change affects no text: a folder, a move.
    None,
}

/// Maximum bytes of both sides of a diff together.
const MAX_DIFF_BYTES: u64 = 20 << 20;

/// Change sets read per query when searching for one.
const SETS_PER_QUERY: usize = 100;

/// Maximum number of earlier names of a file that are followed.
const MAX_NAMES: usize = 16;

/// Paths, each with the newest step to consider, and steps that count whatever they touch, as in [`SetFilter`].
type Filtered = (Vec<(String, i64)>, Vec<i64>);

/// The recorded changes, as people and programs see them.
pub struct History {
    rows: Changes,
    blobs: Blobs,
    vault: Reader,
}

debug_only!(History);

impl History {
    pub(super) fn new(rows: Changes, blobs: Blobs, vault: Reader) -> Self {
        Self { rows, blobs, vault }
    }

    /// Change sets, newest first, each with all its changes.
    pub fn change_sets(&self, query: &Query) -> Result<Vec<ListedSet>, JournalError> {
        let most = if query.limit == 0 { usize::MAX } else { query.limit };
        let everywhere = |folder: &VaultPath| (folder.as_str().to_owned(), i64::MAX);
        let (paths, steps) = match &query.path {
            Some(path) if !path.is_root() => self.names_of(path, &query.seen)?,
            _ if query.seen.is_all() => Default::default(),
            _ => {
                let parts = query.seen.parts(&VaultPath::root());
                (parts.iter().map(everywhere).collect(), Vec::new())
            }
        };
        let mut wanted = SetFilter {
            paths,
            steps,
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
            // Older sets replace those that are not visible.
            let is_end = found < wanted.limit || wanted.before == before;
            wanted.limit = most - listed.len();
            if is_end || wanted.limit == 0 {
                return Ok(listed);
            }
        }
    }

    /// The newest change set that `wanted` accepts, that is visible through `seen`, not undone and
    /// not an undo itself, however many newer ones there are.
    pub fn newest_standing(
        &self,
        seen: &View,
        mut wanted: impl FnMut(&ListedSet) -> bool,
    ) -> Result<Option<ListedSet>, JournalError> {
        let mut query = Query { limit: SETS_PER_QUERY, seen: seen.clone(), ..Query::default() };
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

    /// A path and the earlier names of its file, each with the newest step to consider; and the steps of folders above
    /// that took the file along.
    /// Follows nothing through what `seen` hides.
    fn names_of(&self, path: &VaultPath, seen: &View) -> Result<Filtered, StoreError> {
        if !seen.holds(path) {
            return Ok((vec![(path.as_str().to_owned(), i64::MAX)], Vec::new()));
        }
        let (mut names, mut steps) = (Vec::new(), Vec::new());
        let (mut name, mut before) = (path.as_str().to_owned(), i64::MAX);
        if self.vault.stat(path).is_err() {
            steps.extend(self.departure(path, seen)?);
            // The record of a folder's move does not name the files in it.
            let is_known = !steps.is_empty()
                || self.rows.nearest_on(&[&name], i64::MAX, true)?.is_some()
                || !self.rows.taken_along(&name, before)?.is_empty();
            if !is_known {
                return Ok((vec![(name, before)], steps));
            }
        }
        loop {
            steps.extend(self.rows.taken_along(&name, before)?);
            names.push((name.clone(), before));
            if names.len() == MAX_NAMES {
                break;
            }
            let Some(step) = self.rows.last_move_to(&name, before)? else { break };
            let to = step.other.as_deref().unwrap_or_default();
            let rest = name.strip_prefix(to).unwrap_or_default();
            // The file may be newer than the folder's move.
            if !rest.is_empty() && self.rows.is_created_between(&name, step.id, before)? {
                break;
            }
            steps.push(step.id);
            (name, before) = (format!("{}{rest}", step.path), step.id);
            if !VaultPath::from_disk(&name).is_some_and(|name| seen.holds(&name)) {
                break;
            }
        }
        Ok((names, steps))
    }

    /// The last step that moved the file that was at `path`, or a folder above it.
    fn departure(&self, path: &VaultPath, seen: &View) -> Result<Option<i64>, StoreError> {
        let Some(row) = self.rows.departures(path.as_str(), false)?.into_iter().next() else {
            return Ok(None);
        };
        let below = path.as_str().strip_prefix(row.path.as_str()).unwrap_or_default();
        let to = row.other.as_deref().filter(|_| row.kind == MOVE);
        let Some(to) = to.and_then(|to| VaultPath::from_disk(&format!("{to}{below}"))) else {
            return Ok(None);
        };
        let (at, _) = after_moves(&self.rows, &to, &row)?;
        if !seen.holds(&at) {
            return Ok(None);
        }
        let is_known = || {
            let known = self.rows.nearest_on(&[path.as_str(), at.as_str()], i64::MAX, true)?;
            Ok::<bool, StoreError>(known.is_some())
        };
        Ok(if self.vault.stat(&at).is_ok() || is_known()? { Some(row.id) } else { None })
    }

    /// A change set by its number; `None` if nothing was changed.
    pub fn change_set(&self, id: ChangeSetId) -> Result<Option<ListedSet>, JournalError> {
        Ok(self.listed(id.0.cast_signed(), None)?.filter(|set| !set.changes.is_empty()))
    }

    /// The change set of a turn, by the turn's name in [`Origin::turn`](super::Origin::turn).
    pub fn change_set_of_turn(&self, turn: &str) -> Result<Option<ListedSet>, JournalError> {
        match self.rows.set_of_turn(turn)? {
            Some(id) => self.change_set(ChangeSetId(id.cast_unsigned())),
            None => Ok(None),
        }
    }

    /// The changes of each call of [`Journal::apply`](super::Journal::apply) in a turn, in order, with the number of its
    /// operation; only those after the operation `since`.
    pub fn operations_of_turn(
        &self,
        turn: &str,
        since: i64,
    ) -> Result<Vec<(i64, Vec<ListedChange>)>, JournalError> {
        let Some(set) = self.rows.set_of_turn(turn)? else { return Ok(Vec::new()) };
        let id = ChangeSetId(set.cast_unsigned());
        let mut operations: Vec<(i64, Vec<ListedChange>)> = Vec::new();
        for row in self.rows.each_step_since(set, since)? {
            let row = row?;
            let operation = row.operation;
            let change = change(id, RecordedStep::read(row)?);
            match operations.last_mut() {
                Some((last, changes)) if *last == operation => changes.push(change),
                _ => operations.push((operation, vec![change])),
            }
        }
        Ok(operations)
    }

    /// A change set with the changes of one of its operations, or of all.
    pub(super) fn listed(
        &self,
        set: i64,
        operation: Option<i64>,
    ) -> Result<Option<ListedSet>, StoreError> {
        let Some(row) = self.rows.set(set)? else { return Ok(None) };
        // An operation is asked for when it has just been applied, as the last one.
        let mut steps =
            self.rows.each_step_since(set, operation.map_or(0, |operation| operation - 1))?;
        steps.retain(|step| match step {
            Ok(step) => operation.is_none_or(|operation| step.operation == operation),
            Err(_) => operation.is_none(),
        });
        list(row, steps).map(Some)
    }

    /// The step of a change that concerns the file itself; it follows those of the folders that
    /// were made for it.
    fn step(&self, change: ChangeId) -> Result<RecordedStep, UndoError> {
        let steps = self.rows.steps(change.set.0.cast_signed())?;
        let own = steps.into_iter().filter(|step| step.number == change.number);
        let own = own.map(RecordedStep::read).collect::<Result<Vec<_>, _>>()?;
        let own = own.into_iter().rfind(|step| !is_temp_path(&step.path));
        own.ok_or(UndoError::Unknown(Target::Change(change)))
    }

    /// The current path of the file of a change, as far as the journal has moved it, and whether it
    /// was deleted for good since.
    pub fn current_path(&self, change: ChangeId) -> Result<(VaultPath, bool), UndoError> {
        let (at, deletion) = after_moves_and_deletion(&self.rows, &self.step(change)?)?;
        Ok((at, deletion.is_some_and(|deletion| deletion.is_for_good())))
    }

    /// The files that a deletion of a folder took along, by their paths below the folder.
    pub fn files(&self, change: ChangeId) -> Result<Vec<String>, UndoError> {
        let files = self.rows.files(self.step(change)?.row.id)?;
        Ok(files.into_iter().map(|(path, _)| path).collect())
    }

    /// The effect of a change on a file's text.
    ///
    /// # Errors
    /// [`UndoError::Unknown`]; [`UndoError::NotKept`] for a damaged text; the store's.
    pub fn diff(&self, change: ChangeId) -> Result<Difference, UndoError> {
        Ok(match self.sides(change, MAX_DIFF_BYTES)? {
            Ok(Sides { path, before, after }) => {
                difference(&before.unwrap_or_default(), &after.unwrap_or_default(), &path)
            }
            Err(why) => why,
        })
    }

    /// The text of a change's file before and after it, if both are text and together at most
    /// `most` bytes. Before is `None` for a new file, after is `None` for a deleted one.
    pub fn texts(&self, change: ChangeId, most: u64) -> Result<Option<Texts>, UndoError> {
        let Ok(Sides { before, after, .. }) = self.sides(change, most)? else { return Ok(None) };
        let text = |bytes: Option<Vec<u8>>| bytes.map(String::from_utf8).transpose();
        Ok(text(before).ok().zip(text(after).ok()))
    }

    /// The bytes of a change's file before and after it, or why there are none.
    fn sides(&self, change: ChangeId, most: u64) -> Result<Result<Sides, Difference>, UndoError> {
        let recorded = self.step(change)?;
        let (before, after) = match (&recorded.act, recorded.row.before, recorded.row.after) {
            (RecordedAct::Write { .. }, before, after) => (before, after),
            (RecordedAct::Delete { identity }, before, _) if identity.kind() == Kind::File => {
                match before {
                    None => return Ok(Err(Difference::NotKept)),
                    before => (before, None),
                }
            }
            (RecordedAct::Restore { identity, .. }, _, after) if identity.kind() == Kind::File => {
                match after {
                    None => return Ok(Err(Difference::NotKept)),
                    after => (None, after),
                }
            }
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
    if is_text(before) && is_text(after) {
        Difference::Text(diff::unified(before, after, path.as_str()))
    } else {
        Difference::Binary
    }
}

/// A set with its readable changes; the title says how many are unreadable.
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
        (other, ..) => return Err(fault(format!("`{other}` is not a kind of change set"))),
    };
    let time = DateTime::from_timestamp_millis(set.began)
        .ok_or_else(|| fault(format!("{} is not a time", set.began)))?;
    let (mut changes, mut unreadable, mut title) = (Vec::new(), 0, set.title);
    let mut over = HashMap::new();
    let mut operations: Vec<i64> = steps.iter().flatten().map(|step| step.operation).collect();
    operations.sort_unstable();
    operations.dedup();
    // The title is from the first call of the turn.
    if operations.len() > 1 {
        title.push_str(&format!(" and {} more", operations.len() - 1));
    }
    for step in steps {
        match step.and_then(RecordedStep::read) {
            Ok(step) => join(&mut changes, &mut over, change(id, step)),
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

/// Adds a change. A move from a hidden name is merged with the move that led there. `over`: the
/// indices of those moves, by hidden name.
fn join(
    changes: &mut Vec<ListedChange>,
    over: &mut HashMap<VaultPath, usize>,
    change: ListedChange,
) {
    if let Some(first) = change.from.as_ref().and_then(|from| over.remove(from)) {
        changes[first].path = change.path;
        return;
    }
    if change.action == Action::Moved && is_temp_path(&change.path) {
        over.insert(change.path.clone(), changes.len());
    }
    changes.push(change);
}

fn change(set: ChangeSetId, step: RecordedStep) -> ListedChange {
    let RecordedStep { row, path, act, detail } = step;
    let (action, path, from, entry) = match act {
        RecordedAct::Folder => (Action::FolderMade, path, None, Kind::Folder),
        RecordedAct::RemoveFolder => (Action::FolderRemoved, path, None, Kind::Folder),
        RecordedAct::Write { before: None, .. } => (Action::Created, path, None, Kind::File),
        RecordedAct::Write { before: Some(_), .. } => (Action::Modified, path, None, Kind::File),
        RecordedAct::Move { to, identity } => (Action::Moved, to, Some(path), identity.kind()),
        RecordedAct::Delete { identity } => (Action::Deleted, path, None, identity.kind()),
        RecordedAct::Restore { identity, .. } => (Action::Restored, path, None, identity.kind()),
    };
    ListedChange {
        id: ChangeId { set, number: row.number },
        action,
        path,
        from,
        entry,
        before: row.before.map(revision),
        after: row.after.map(revision),
        place: detail
            .place
            .as_ref()
            .filter(|_| action == Action::Deleted)
            .and_then(TrashRecord::shown),
        undone_by: row.undone_by.map(|by| ChangeSetId(by.cast_unsigned())),
        texts_kept: row.texts_kept,
    }
}
