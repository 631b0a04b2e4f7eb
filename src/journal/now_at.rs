//! The current paths of files that earlier changes left somewhere.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};

use super::Journal;
use super::change::{ChangeId, ChangeSetId};
use super::error::JournalError;
use super::file_history::after_moves;
use super::step::{DELETE, MOVE, RecordedStep};
use crate::locks::lock;
use crate::note::path::VaultPath;
use crate::store::journal::StepRow;
use crate::vault::{Kind, View};

/// A file that is followed from the change that left it somewhere.
struct Follower {
    number: usize,
    /// The last step that the journal applied to it.
    last: StepRow,
}

/// Where a file that left its path is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trace {
    At {
        /// The path that it left.
        was: VaultPath,
        /// Its present path.
        path: VaultPath,
        /// When the journal last moved it; `None` if another program renamed it since.
        moved: Option<DateTime<Utc>>,
    },
    Deleted {
        /// The path that it left.
        was: VaultPath,
        /// Its last path.
        path: VaultPath,
        when: DateTime<Utc>,
    },
}

impl Trace {
    /// Its present or last path.
    fn path(&self) -> &VaultPath {
        match self {
            Self::At { path, .. } | Self::Deleted { path, .. } => path,
        }
    }
}

impl Journal {
    /// Traces the file that was last at this path, with or without `.md`, or else the last one with this name in any
    /// folder, through moves by the journal and through renames by others that the vault has noticed since it was
    /// opened. `None` if no such file is known to have left. A file of which `view` hides the path that it left, or the
    /// present or last one, counts as if it did not exist.
    pub fn trace(&self, name: &VaultPath, view: &View) -> Result<Option<Trace>, JournalError> {
        let note = VaultPath::from_disk(&format!("{name}.md")).filter(|_| !name.is_note());
        let names: Vec<&VaultPath> = note.iter().chain([name]).collect();
        for is_name in [false, true] {
            for path in &names {
                for row in self.parts().rows.changes.departures(path.as_str(), is_name)? {
                    let was = if is_name {
                        VaultPath::from_disk(&row.path)
                    } else {
                        Some((*path).clone())
                    };
                    let Some(was) = was.filter(|was| view.holds(was)) else { continue };
                    let trace = self.since_departure(was, &row)?;
                    if let Some(trace) = trace.filter(|trace| view.holds(trace.path())) {
                        return Ok(Some(trace));
                    }
                }
            }
        }
        let mut names = names.into_iter().filter(|path| view.holds(path));
        Ok(names.find_map(|was| {
            let path = self.renamed_by_others(was, 0).filter(|path| view.holds(path))?;
            Some(Trace::At { was: was.clone(), path, moved: None })
        }))
    }

    /// Traces the file that was at `was` from the step `row`, which moved or deleted it or a folder above it.
    fn since_departure(
        &self,
        was: VaultPath,
        row: &StepRow,
    ) -> Result<Option<Trace>, JournalError> {
        let rows = &self.parts().rows.changes;
        let below = was.as_str().strip_prefix(row.path.as_str()).unwrap_or_default();
        let place = |at: &str| VaultPath::from_disk(&format!("{at}{below}"));
        let to = row.other.as_deref().filter(|_| row.kind == MOVE);
        let Some(left) = place(to.unwrap_or(&row.path)) else { return Ok(None) };
        let (at, last) = match to {
            Some(_) => after_moves(rows, &left, row)?,
            None => (left, row.clone()),
        };
        // If `row` is a deletion, it is included.
        let deletions = rows.later_steps(DELETE, at.as_str(), last.id - i64::from(to.is_none()))?;
        for deletion in deletions.into_iter().filter(|row| row.undone_by.is_none()) {
            let within = at.as_str().strip_prefix(deletion.path.as_str()).unwrap_or_default();
            let within = within.trim_start_matches('/');
            let Some(when) = deletion.ended.and_then(DateTime::from_timestamp_millis) else {
                continue;
            };
            let was_file = if within.is_empty() {
                RecordedStep::read(deletion)?.deleted_kind() == Some(Kind::File)
            } else {
                rows.files(deletion.id)?.iter().any(|(path, _)| path == within)
            };
            if was_file {
                return Ok(Some(Trace::Deleted { was, path: at, when }));
            }
        }
        if self.is_file(&at) {
            let moved = last.ended.and_then(DateTime::from_timestamp_millis);
            return Ok(Some(Trace::At { was, path: at, moved }));
        }
        let mark = lock(&self.0.executor.rename_counts).at_end_of(last.operation);
        let renamed = self.renamed_by_others(&at, mark);
        Ok(renamed.map(|path| Trace::At { was, path, moved: None }))
    }

    fn renamed_by_others(&self, path: &VaultPath, mark: u64) -> Option<VaultPath> {
        let vault = self.parts().vault();
        let now = vault.renamed_since(path, mark)?;
        self.is_file(&now).then_some(now)
    }

    fn is_file(&self, path: &VaultPath) -> bool {
        let catalogue = self.parts().vault().catalogue();
        catalogue.get(path.as_str()).is_some_and(|entry| entry.kind == Kind::File)
    }

    /// The current path of each file that a change left at a path: moved on by the journal, or
    /// renamed by others as far as the vault has noticed since it was opened. `None` if the change
    /// was undone. A file that the journal no longer knows is assumed to be where it was left.
    pub fn now_at(
        &self,
        left: &[(ChangeId, VaultPath)],
    ) -> Result<Vec<Option<VaultPath>>, JournalError> {
        let rows = &self.parts().rows.changes;
        let mut now: Vec<Option<VaultPath>> =
            left.iter().map(|(_, path)| Some(path.clone())).collect();
        let mut steps: HashMap<ChangeSetId, HashMap<u32, StepRow>> = HashMap::new();
        let mut waiting: Vec<(VaultPath, Follower)> = Vec::new();
        for (number, (change, path)) in left.iter().enumerate() {
            let of_set = match steps.entry(change.set) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(new) => {
                    // In a change with several steps, the last step concerns the file.
                    let found = rows.steps(change.set.0.cast_signed())?;
                    new.insert(found.into_iter().map(|row| (row.number, row)).collect())
                }
            };
            let Some(row) = of_set.get(&change.number) else { continue };
            match RecordedStep::read(row.clone())?.row.undone_by {
                Some(_) if rows.redone_by(row.id)?.is_empty() => now[number] = None,
                _ => waiting.push((path.clone(), Follower { number, last: row.clone() })),
            }
        }
        waiting.sort_by_key(|(_, follower)| follower.last.id);
        let Some(first) = waiting.first().map(|(_, follower)| follower.last.id) else {
            return Ok(now);
        };
        let mut waiting = waiting.into_iter().peekable();
        let mut there: BTreeMap<String, Vec<Follower>> = BTreeMap::new();
        for step in rows.moves_after(first)? {
            while let Some((path, one)) = waiting.next_if(|(_, one)| one.last.id < step.id) {
                there.entry(path.as_str().to_owned()).or_default().push(one);
            }
            let Some(to) = step.other.as_deref() else { continue };
            let below = format!("{}/", step.path);
            let within =
                there.range(below.clone()..).take_while(|(path, _)| path.starts_with(&below));
            let mut moved: Vec<String> = within.map(|(path, _)| path.clone()).collect();
            moved.extend(there.contains_key(&step.path).then(|| step.path.clone()));
            for path in moved {
                let ones = there.remove(&path).unwrap_or_default();
                let ones = ones.into_iter().map(|one| Follower { last: step.clone(), ..one });
                let path = format!("{to}{}", &path[step.path.len()..]);
                there.entry(path).or_default().extend(ones);
            }
        }
        for (path, one) in waiting {
            there.entry(path.as_str().to_owned()).or_default().push(one);
        }
        let vault = self.parts().vault();
        let catalogue = vault.catalogue();
        for (path, ones) in there {
            let is_there = catalogue.get(&path).is_some();
            let Some(path) = VaultPath::from_disk(&path) else { continue };
            for Follower { number, last } in ones {
                let at = if is_there {
                    None
                } else {
                    let mark = lock(&self.0.executor.rename_counts).at_end_of(last.operation);
                    vault.renamed_since(&path, mark)
                };
                now[number] = Some(at.unwrap_or_else(|| path.clone()));
            }
        }
        Ok(now)
    }
}
