//! The vault as it was at an earlier moment.
//!
//! The journal knows its own changes. It learns of others' changes only later: at its next change
//! of the file, or from the current file. So a file's state is derived from both sides, from the
//! last change before the moment and the first one after it; if they disagree, the answer gives the
//! times between which another program changed the file.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::change::ChangeSetId;
use super::error::JournalError;
use super::overlay::joined;
use super::step::{RecordedAct, RecordedStep, revision};
use super::{Journal, now};
use crate::note::path::VaultPath;
use crate::store::journal::{Changes, StepRow};
use crate::store::{BlobHash, StoreError};
use crate::vault::{Kind, Revision, is_temp_path};

/// A way to name a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointInTime {
    Now,
    Time(DateTime<Utc>),
    /// Before the first change of a set.
    Before(ChangeSetId),
    /// After the last change of a set.
    After(ChangeSetId),
}

/// A moment in the recorded changes.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The last step before it.
    pub(super) last: i64,
    /// Milliseconds since the Unix epoch.
    time: i64,
    /// The change set directly before it, if it is named by one: the state that the set left is known.
    follows: Option<i64>,
    /// The change set directly after it, if it is named by one: the set recorded the state that it found.
    precedes: Option<i64>,
    /// The last change set that had begun at that time.
    pub change_set: Option<ChangeSetId>,
}

impl Moment {
    /// As a time; for a change set, the end of the operation at its edge.
    pub fn time(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.time).unwrap_or_default()
    }

    /// Whether this is the present.
    pub fn is_now(&self) -> bool {
        self.last == i64::MAX
    }
}

/// The state of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PastState {
    Nothing,
    Folder,
    File(Content),
    /// A symbolic link or a special file.
    Other,
}

/// Where the content of a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Stored(BlobHash),
    /// The file that is at this path now.
    Disk(VaultPath),
    /// It was never stored: the file was too large.
    Unknown,
}

/// A span of time in which another program changed a file, or may have, so that its state is
/// unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// When the journal last knew the file; `None` if it did not know it before.
    pub from: Option<DateTime<Utc>>,
    /// When the journal knew the file again; `None` if unknown.
    pub to: Option<DateTime<Utc>>,
}

/// A path at an earlier moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsOf {
    pub path: VaultPath,
    pub was: PastState,
    /// Set if the state is uncertain: the state given is that at the beginning of the gap if it is known, else that at
    /// its end.
    pub gap: Option<Gap>,
    /// The change set that left it so, if the journal did.
    pub left_by: Option<ChangeSetId>,
    /// The path now, unless it is gone.
    pub now: Option<VaultPath>,
}

/// An entry of the vault at an earlier moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeEntry {
    pub kind: Kind,
    /// Whether another program created, changed or removed it since, so that it may have been
    /// different.
    pub is_unsure: bool,
}

/// The state of a path by one source.
struct Evidence {
    was: PastState,
    /// When this was seen, in milliseconds since the Unix epoch; `None` for the present.
    seen: Option<i64>,
    set: Option<i64>,
    /// Since when the file has not changed, by its own time, in milliseconds.
    unchanged_since: Option<i64>,
}

impl Evidence {
    fn of(row: &StepRow, was: PastState) -> Self {
        Self { was, seen: row.ended, set: Some(row.set), unchanged_since: None }
    }
}

impl Journal {
    /// The moment of `when`; `None` if there is no such change set.
    pub fn moment(&self, when: PointInTime) -> Result<Option<Moment>, JournalError> {
        let rows = &self.parts().rows.changes;
        let is_before = matches!(when, PointInTime::Before(_));
        let (last, time, follows, precedes) = match when {
            PointInTime::Now => (i64::MAX, now(), None, None),
            PointInTime::Time(time) => {
                let time = time.timestamp_millis();
                (rows.applied_by(time)?.1, time, None, None)
            }
            PointInTime::Before(set) | PointInTime::After(set) => {
                let steps = rows.steps(set.0.cast_signed())?;
                let edge = if is_before { steps.first() } else { steps.last() };
                let Some(edge) = edge else { return Ok(None) };
                let (ended, set) = (edge.ended.unwrap_or_default(), Some(edge.set));
                if is_before {
                    (edge.id - 1, ended, None, set)
                } else {
                    (edge.id, ended, set, None)
                }
            }
        };
        let set = rows.set_by(last)?;
        let change_set = set.map(|set| ChangeSetId(set.cast_unsigned()));
        Ok(Some(Moment { last, time, follows, precedes, change_set }))
    }

    /// The state of the path `path` at a moment, by the path that it had then.
    pub fn as_of(&self, path: &VaultPath, moment: &Moment) -> Result<AsOf, JournalError> {
        let (later, now) = self.later(path, moment.last)?;
        let earlier = self.earlier(path, moment.last)?;
        let answer = |was, gap, set: Option<i64>| AsOf {
            path: path.clone(),
            was,
            gap,
            left_by: set.map(|set| ChangeSetId(set.cast_unsigned())),
            now,
        };
        if moment.is_now() {
            return Ok(answer(later.was, None, None));
        }
        let time = |ms: Option<i64>| ms.and_then(DateTime::from_timestamp_millis);
        // According to its modification time the file had its later state.
        let is_settled = later.unchanged_since.is_some_and(|since| since <= moment.time);
        if moment.precedes.is_some() && later.set == moment.precedes {
            return Ok(answer(later.was, None, None));
        }
        let Some(earlier) = earlier else {
            let is_known = is_settled || !matches!(later.was, PastState::File(_));
            let to = time(later.seen.or(later.unchanged_since));
            let gap = (!is_known).then_some(Gap { from: None, to });
            return Ok(answer(later.was, gap, None));
        };
        if moment.follows.is_some() && earlier.set == moment.follows {
            return Ok(answer(earlier.was, None, earlier.set));
        }
        if self.agree(&earlier.was, &later.was)? {
            return Ok(answer(earlier.was, None, earlier.set));
        }
        let to = time(later.seen.or(later.unchanged_since));
        let gap = Some(Gap { from: time(earlier.seen), to });
        if is_settled {
            Ok(answer(later.was, gap, None))
        } else {
            Ok(answer(earlier.was, gap, earlier.set))
        }
    }

    /// Whether both are the same, files by their content.
    fn agree(&self, earlier: &PastState, later: &PastState) -> Result<bool, JournalError> {
        Ok(match (earlier, later) {
            (PastState::File(Content::Stored(text)), PastState::File(Content::Disk(path))) => {
                let (file, _) = self.parts().vault().open_file(path)?;
                Revision::of_reader(file).is_ok_and(|found| found == revision(*text))
            }
            (earlier, later) => earlier == later,
        })
    }

    /// The state that the first change after a step found at `path`, or the present state; and its present path.
    fn later(
        &self,
        path: &VaultPath,
        after: i64,
    ) -> Result<(Evidence, Option<VaultPath>), JournalError> {
        let (parts, rows) = (self.parts(), &self.parts().rows.changes);
        let (mut at, mut after, mut found) = (path.clone(), after, None);
        while let Some(row) = rows.nearest_on(&lineage(&at), after, false)? {
            after = row.id;
            let step = RecordedStep::read(row)?;
            if let RecordedAct::Move { to, .. } = &step.act
                && let Some(rest) = at.relative_to(&step.path)
            {
                at = joined(to, rest);
                continue;
            }
            if found.is_none() {
                found = found_by(rows, &step, &at)?;
            }
        }
        let meta = parts.vault().stat(&at).ok();
        let there = meta.as_ref().map(|_| at.clone());
        let of_disk = || {
            let (was, modified) = match &meta {
                None => (PastState::Nothing, None),
                Some(meta) => {
                    let was = match meta.kind {
                        Kind::File => PastState::File(Content::Disk(at.clone())),
                        Kind::Folder => PastState::Folder,
                        Kind::Link | Kind::Other => PastState::Other,
                    };
                    (was, Some(milliseconds(meta.modified)))
                }
            };
            Evidence { was, seen: None, set: None, unchanged_since: modified }
        };
        Ok((found.unwrap_or_else(of_disk), there))
    }

    /// The state of `path` after the last change up to a step; `None` if the journal does not know.
    fn earlier(&self, path: &VaultPath, last: i64) -> Result<Option<Evidence>, JournalError> {
        let rows = &self.parts().rows.changes;
        let (mut at, mut last) = (path.clone(), last);
        while let Some(row) = rows.nearest_on(&lineage(&at), last, true)? {
            last = row.id - 1;
            let step = RecordedStep::read(row)?;
            let is_own = at == step.path;
            let is_in = at.is_within(&step.path);
            let was = match &step.act {
                RecordedAct::Write { .. } if !is_own => continue,
                RecordedAct::Write { after, .. } => PastState::File(Content::Stored(*after)),
                RecordedAct::Move { to, .. } => match at.relative_to(to).map(str::to_owned) {
                    Some(rest) => match step.row.after.filter(|_| rest.is_empty()) {
                        Some(text) => PastState::File(Content::Stored(text)),
                        None => {
                            at = joined(&step.path, &rest);
                            continue;
                        }
                    },
                    None => PastState::Nothing,
                },
                RecordedAct::Folder if is_own => PastState::Folder,
                RecordedAct::Restore { identity, .. } if is_own => {
                    match (identity.kind(), step.row.after) {
                        (Kind::File, Some(text)) => PastState::File(Content::Stored(text)),
                        (Kind::File, None) => return Ok(None),
                        (Kind::Folder, _) => PastState::Folder,
                        (Kind::Link | Kind::Other, _) => PastState::Other,
                    }
                }
                RecordedAct::Restore { .. } => match step.row.undoes {
                    Some(deletion) => in_folder(rows, deletion, &at, &step.path)?,
                    None => return Ok(None),
                },
                _ if is_in => PastState::Nothing,
                _ => continue,
            };
            return Ok(Some(Evidence::of(&step.row, was)));
        }
        Ok(None)
    }

    /// The path that the file at `path` at the moment `from` had at the earlier moment `to`, as far as
    /// the journal has moved it.
    pub fn earlier_path(
        &self,
        path: &VaultPath,
        from: &Moment,
        to: &Moment,
    ) -> Result<VaultPath, JournalError> {
        let rows = &self.parts().rows.changes;
        // `last_move_to` looks at the steps before the one it is given.
        let (mut at, mut before) = (path.clone(), from.last.saturating_add(1));
        while let Some(row) = rows.last_move_to(at.as_str(), before)?.filter(|row| row.id > to.last)
        {
            before = row.id;
            let step = RecordedStep::read(row)?;
            let RecordedAct::Move { to, .. } = &step.act else { break };
            let Some(rest) = at.relative_to(to) else { break };
            at = joined(&step.path, rest);
        }
        Ok(at)
    }

    /// The bytes of a file's content, or why there are none. At most `most` bytes.
    pub fn content(
        &self,
        content: &Content,
        most: u64,
    ) -> Result<Result<Vec<u8>, String>, JournalError> {
        let blobs = &self.parts().blobs;
        let too_large = |bytes| format!("it is too large to show: {bytes} bytes");
        Ok(match content {
            Content::Disk(path) => {
                let meta = self.parts().vault().stat(path)?;
                if meta.size > most {
                    Err(too_large(meta.size))
                } else {
                    Ok(self.parts().vault().read(path)?.bytes)
                }
            }
            Content::Unknown => Err("its text was never stored".to_owned()),
            Content::Stored(text) => match blobs.length(*text) {
                Ok(bytes) if bytes > most => Err(too_large(bytes)),
                Ok(_) => blobs.get(*text).map_err(|error| error.to_string()),
                Err(crate::store::BlobError::Missing { .. }) => {
                    Err("its text is no longer stored".to_owned())
                }
                Err(error) => Err(error.to_string()),
            },
        })
    }

    /// Everything in the vault at a moment, by path. Empty folders inside a folder that was deleted
    /// since are not known.
    pub fn tree_at(&self, moment: &Moment) -> Result<BTreeMap<String, TreeEntry>, JournalError> {
        let rows = &self.parts().rows.changes;
        let mut tree = Tree::default();
        for entry in self.parts().vault().catalogue().within(&VaultPath::root()) {
            let is_unsure = !moment.is_now()
                && entry.kind == Kind::File
                && milliseconds(entry.modified) > moment.time;
            let entry_then = TreeEntry { kind: entry.kind, is_unsure };
            tree.0.insert(entry.path().as_str().to_owned(), entry_then);
        }
        if !moment.is_now() {
            for step in readable(rows.tree_steps(moment.last, i64::MAX, true)?) {
                tree.revert(rows, &step)?;
            }
            let mut recorded = Tree::default();
            for step in readable(rows.tree_steps(0, moment.last, false)?) {
                recorded.apply(rows, &step)?;
            }
            for (path, entry) in recorded.0 {
                let gone = TreeEntry { is_unsure: true, ..entry };
                tree.0.entry(path).or_insert(gone);
            }
        }
        let is_missing = |folder: &&str| !tree.0.contains_key(*folder);
        let missing = tree.0.keys().flat_map(|path| parents(path).filter(is_missing));
        let folders: BTreeSet<String> = missing.map(str::to_owned).collect();
        for folder in folders {
            tree.0.insert(folder, TreeEntry { kind: Kind::Folder, is_unsure: false });
        }
        tree.0
            .retain(|path, _| VaultPath::from_disk(path).is_some_and(|path| !is_temp_path(&path)));
        Ok(tree.0)
    }
}

fn readable(rows: Vec<Result<StepRow, StoreError>>) -> Vec<RecordedStep> {
    let read = |row: Result<StepRow, StoreError>| match row.and_then(RecordedStep::read) {
        Ok(step) => Some(step),
        Err(error) => {
            tracing::warn!(%error, "a change is left out of the vault's earlier state");
            None
        }
    };
    rows.into_iter().filter_map(read).collect()
}

/// The state that a step found at a path that it names, or below it.
fn found_by(
    rows: &Changes,
    step: &RecordedStep,
    at: &VaultPath,
) -> Result<Option<Evidence>, StoreError> {
    let is_own = *at == step.path;
    let mut unchanged_since = None;
    let was = match &step.act {
        RecordedAct::Write { .. } if !is_own => return Ok(None),
        RecordedAct::Write { before: None, .. } => PastState::Nothing,
        RecordedAct::Write { before: Some(text), .. } => PastState::File(Content::Stored(*text)),
        RecordedAct::Move { to, .. } if !at.is_within(to) => return Ok(None),
        RecordedAct::RemoveFolder if is_own => PastState::Folder,
        RecordedAct::Delete { identity } if is_own => match (identity.kind(), step.row.before) {
            (Kind::File, text) => {
                unchanged_since = identity.modified_ms();
                PastState::File(text.map_or(Content::Unknown, Content::Stored))
            }
            (Kind::Folder, _) => PastState::Folder,
            (Kind::Link | Kind::Other, _) => PastState::Other,
        },
        RecordedAct::Delete { .. } => in_folder(rows, step.row.id, at, &step.path)?,
        RecordedAct::Move { .. }
        | RecordedAct::RemoveFolder
        | RecordedAct::Folder
        | RecordedAct::Restore { .. } => PastState::Nothing,
    };
    Ok(Some(Evidence { unchanged_since, ..Evidence::of(&step.row, was) }))
}

/// The entry of a deleted folder at `at`.
fn in_folder(
    rows: &Changes,
    deletion: i64,
    at: &VaultPath,
    folder: &VaultPath,
) -> Result<PastState, StoreError> {
    let rest = at.relative_to(folder).unwrap_or_default();
    let below = format!("{rest}/");
    let mut was = PastState::Nothing;
    for (path, text) in rows.files(deletion)? {
        if path == rest {
            return Ok(PastState::File(text.map_or(Content::Unknown, Content::Stored)));
        }
        if path.starts_with(&below) {
            was = PastState::Folder;
        }
    }
    Ok(was)
}

#[derive(Default)]
struct Tree(BTreeMap<String, TreeEntry>);

impl Tree {
    fn put(&mut self, path: &str, kind: Kind) {
        self.0.insert(path.to_owned(), TreeEntry { kind, is_unsure: false });
    }

    fn below(&self, folder: &str) -> Vec<String> {
        // `0` follows `/` in ASCII: the end of the range of paths in the folder.
        let range = self.0.range(format!("{folder}/")..format!("{folder}0"));
        range.map(|(path, _)| path.clone()).collect()
    }

    fn remove(&mut self, path: &str) {
        for below in self.below(path) {
            self.0.remove(&below);
        }
        self.0.remove(path);
    }

    fn rename(&mut self, from: &str, to: &str) {
        let mut paths = self.below(from);
        paths.push(from.to_owned());
        let moved: Vec<(String, TreeEntry)> = paths
            .into_iter()
            .filter_map(|path| {
                let entry = self.0.remove(&path)?;
                Some((format!("{to}{}", &path[from.len()..]), entry))
            })
            .collect();
        self.0.extend(moved);
    }

    fn put_files(&mut self, rows: &Changes, folder: &str, step: i64) -> Result<(), StoreError> {
        for (path, _) in rows.files(step)? {
            let path = format!("{folder}/{path}");
            for parent in parents(&path) {
                let folder = TreeEntry { kind: Kind::Folder, is_unsure: false };
                self.0.entry(parent.to_owned()).or_insert(folder);
            }
            self.put(&path, Kind::File);
        }
        Ok(())
    }

    fn revert(&mut self, rows: &Changes, step: &RecordedStep) -> Result<(), StoreError> {
        let path = step.path.as_str();
        match &step.act {
            RecordedAct::Folder => {
                if self.below(path).is_empty() {
                    self.0.remove(path);
                }
            }
            RecordedAct::RemoveFolder => self.put(path, Kind::Folder),
            RecordedAct::Write { before: None, .. } | RecordedAct::Restore { .. } => {
                self.remove(path);
            }
            RecordedAct::Write { before: Some(_), .. } => self.put(path, Kind::File),
            RecordedAct::Move { to, .. } => self.rename(to.as_str(), path),
            RecordedAct::Delete { identity } => {
                self.put(path, identity.kind());
                self.put_files(rows, path, step.row.id)?;
            }
        }
        Ok(())
    }

    fn apply(&mut self, rows: &Changes, step: &RecordedStep) -> Result<(), StoreError> {
        let path = step.path.as_str();
        match &step.act {
            RecordedAct::Folder => self.put(path, Kind::Folder),
            RecordedAct::Write { .. } => self.put(path, Kind::File),
            RecordedAct::RemoveFolder | RecordedAct::Delete { .. } => self.remove(path),
            RecordedAct::Move { to, identity } => {
                self.put(path, identity.kind());
                self.rename(path, to.as_str());
            }
            RecordedAct::Restore { identity, .. } => {
                self.put(path, identity.kind());
                if let Some(deletion) = step.row.undoes {
                    self.put_files(rows, path, deletion)?;
                }
            }
        }
        Ok(())
    }
}

/// A path and the folders above it.
fn lineage(path: &VaultPath) -> Vec<&str> {
    let text = path.as_str();
    let folders = text.match_indices('/').map(|(at, _)| &text[..at]);
    folders.chain([text]).collect()
}

/// The folders above a path.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

fn milliseconds(nanoseconds: i64) -> i64 {
    nanoseconds.div_euclid(1_000_000)
}
