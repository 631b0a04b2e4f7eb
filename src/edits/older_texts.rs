//! Determines which texts are older than a change that is being undone.
//!
//! A link written before a change means its target at that time: undoing the change makes it
//! correct again, so it is left alone. A link written since means its present target. Nothing
//! records when a link was written, so a text is judged as a whole: by its file's times, and by the
//! journal's records.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};

use crate::index::links::names::NameChange;
use crate::journal::{Action, ChangeSetId, Journal, ListedSet, Query, SetKind, Target, TrashItem};
use crate::note::path::VaultPath;
use crate::vault::{Revision, Vault};

/// Maximum number of change sets to read, newest first.
const MAX_SETS: usize = 2_000;

/// How far a file's timestamp may lag: a tick of the system's clock,
const BEHIND: TimeDelta = TimeDelta::milliseconds(20);
/// or two seconds where the file system stores coarse times, as FAT and exFAT do.
const COARSELY_BEHIND: TimeDelta = TimeDelta::seconds(2);
/// Coarse timestamps are multiples of this many nanoseconds; fine ones hardly ever are.
const COARSE: i64 = 10_000_000;

/// How long before the change to start reading the journal, for files written just before it.
const BEFORE: TimeDelta = TimeDelta::seconds(60);

/// The change that is undone: texts from before it are older.
#[derive(Debug, Clone, Copy)]
pub(super) struct Since {
    /// Its change set, and its number in the set; 0: the whole set.
    change: Option<(ChangeSetId, u32)>,
    time: DateTime<Utc>,
}

impl Since {
    /// The target of an undo, whose change set is `set`.
    pub fn undone(target: Target, set: &ListedSet) -> Self {
        let number = match target {
            Target::Set(_) => 0,
            Target::Change(change) => change.number,
        };
        Self { change: Some((set.id, number)), time: set.time }
    }

    /// The deletion of an item that is restored. The time of its change set is the most exact: a
    /// trash keeps whole seconds, and the item may have been changed there. `None` if the time is
    /// unknown.
    pub fn deleted(item: &TrashItem, set: Option<&ListedSet>) -> Option<Self> {
        let change = item.change.map(|change| (change.set, change.number));
        let time = set.map(|set| set.time).or(item.deleted)?;
        Some(Self { change, time })
    }

    /// The members of `paths` whose text is older. `names` is how undoing the change affects names.
    pub fn older(
        &self,
        vault: &Vault,
        journal: &Journal,
        names: &NameChange,
        paths: HashSet<VaultPath>,
    ) -> HashSet<VaultPath> {
        let (mut older, doubtful): (HashSet<_>, HashSet<_>) =
            paths.into_iter().partition(|path| self.is_before(vault, path));
        if doubtful.is_empty() {
            return older;
        }
        let texts = self.texts(journal, names);
        older.extend(doubtful.into_iter().filter(|path| {
            // In a file that moves every link counts, with any target.
            let moves = names.moved().contains_key(path);
            let may_mean_new = if moves { texts.has_new_files } else { texts.has_new_names };
            let content = vault.read(path);
            content.is_ok_and(|content| texts.is_older(&content.revision, may_mean_new))
        }));
        older
    }

    /// Whether the file was both written and created before the change. A file that arrived later
    /// may carry an older modification time.
    fn is_before(&self, vault: &Vault, path: &VaultPath) -> bool {
        let Ok(meta) = vault.stat(path) else { return false };
        let newest = meta.created.unwrap_or_default().max(meta.modified);
        let behind = if newest % COARSE == 0 { COARSELY_BEHIND } else { BEHIND };
        let time = (self.time - behind).timestamp_nanos_opt();
        time.is_some_and(|time| newest < time)
    }

    /// The journal's records of texts and names.
    fn texts(&self, journal: &Journal, names: &NameChange) -> Texts {
        let mut texts = Texts::default();
        let Some(since) = self.change else { return texts };
        let query = Query { since: Some(self.time - BEFORE), limit: MAX_SETS, ..Query::default() };
        let sets = journal.history().change_sets(&query).unwrap_or_else(|error| {
            tracing::warn!(%error, "later changes cannot be determined");
            Vec::new()
        });
        let (mut written, mut gone) = (HashSet::new(), HashSet::new());
        for set in sets.iter().rev() {
            // An undone change and its undo count as if they had not happened.
            let undoes_later = matches!(set.kind, SetKind::Undo(target) if target.set() >= since.0);
            for change in &set.changes {
                if (set.id, change.id.number) < since {
                    texts.before.extend(change.before.into_iter().chain(change.after));
                    continue;
                }
                texts.overwritten.extend(change.before.filter(|text| !written.contains(text)));
                written.extend(change.after);
                let path = &change.path;
                let comes =
                    matches!(change.action, Action::Created | Action::Restored | Action::Moved)
                        && set.id > since.0
                        && change.undone_by.is_none()
                        && !undoes_later
                        && !was_removed(&gone, path);
                texts.has_new_files |= comes;
                texts.has_new_names |= comes && names.concerns(path);
                gone.extend(change.from.clone());
                gone.extend((change.action == Action::Deleted).then(|| path.clone()));
            }
        }
        texts
    }
}

/// Whether the path, or a folder above it, was removed.
fn was_removed(gone: &HashSet<VaultPath>, path: &VaultPath) -> bool {
    std::iter::successors(Some(path.clone()), VaultPath::parent).any(|path| gone.contains(&path))
}

/// The journal's records of texts and names before and since the change.
#[derive(Default)]
struct Texts {
    before: HashSet<Revision>,
    /// Texts by others that the steward overwrote later.
    overwritten: HashSet<Revision>,
    /// Whether a file appeared since that did not exist before.
    has_new_files: bool,
    /// Whether a file appeared that a link could mean instead of one that comes or goes now.
    has_new_names: bool,
}

impl Texts {
    /// Whether a text is older. Other programs' writes are not dated: if a file appeared since
    /// (`meant`), their links are assumed to mean it.
    fn is_older(&self, text: &Revision, may_mean_new: bool) -> bool {
        self.before.contains(text) || (!may_mean_new && self.overwritten.contains(text))
    }
}
