//! The current paths of files that earlier changes left somewhere.

use std::collections::{BTreeMap, HashMap};

use super::Journal;
use super::change::{ChangeId, ChangeSetId};
use super::error::JournalError;
use super::step::RecordedStep;
use crate::locks::lock;
use crate::note::path::VaultPath;
use crate::store::journal::StepRow;

/// A file that is followed from the change that left it somewhere.
struct Follower {
    number: usize,
    /// The last step that the journal applied to it.
    last: StepRow,
}

impl Journal {
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
                let at = match is_there {
                    true => None,
                    false => {
                        let mark = lock(&self.0.executor.rename_counts).at_end_of(last.operation);
                        vault.renamed_since(&path, mark)
                    }
                };
                now[number] = Some(at.unwrap_or_else(|| path.clone()));
            }
        }
        Ok(now)
    }
}
