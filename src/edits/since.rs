//! Which texts are older than what is taken back.
//!
//! A link that was written before a change means what it meant then: once the change is taken back
//! it leads there again by itself, and is left alone. One that was written since means what it leads
//! to now. No system says when a link was written, so a text is taken as a whole: by its file's
//! times, and by what the journal saw of it.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};

use crate::index::links::names::NameChange;
use crate::journal::{Action, ChangeSetId, Journal, ListedSet, Query, SetKind, Target, TrashItem};
use crate::note::path::VaultPath;
use crate::vault::{Revision, Vault};

/// Change sets looked through, the newest.
const MOST_SETS: usize = 2_000;

/// How far the time that a file system gives a file may be behind: a tick of the system's clock,
const BEHIND: TimeDelta = TimeDelta::milliseconds(20);
/// or where it keeps times coarsely, as FAT and exFAT do, two seconds.
const COARSELY_BEHIND: TimeDelta = TimeDelta::seconds(2);
/// Nanoseconds that coarse times are multiples of; of others hardly one is.
const COARSE: i64 = 10_000_000;

/// How long before the change the journal's texts are looked at, for files that were written just
/// before it.
const BEFORE: TimeDelta = TimeDelta::seconds(60);

/// What is taken back: texts that were there before it are older.
#[derive(Debug, Clone, Copy)]
pub(super) struct Since {
    /// Its change set, and the number of its change in it; 0: all.
    change: Option<(ChangeSetId, u32)>,
    time: DateTime<Utc>,
}

impl Since {
    /// An undo's target, whose change set is `set`.
    pub fn undone(target: Target, set: &ListedSet) -> Self {
        let number = match target {
            Target::Set(_) => 0,
            Target::Change(change) => change.number,
        };
        Self { change: Some((set.id, number)), time: set.time }
    }

    /// The deletion of what is restored, and the change set that did it, which knows the time best: a
    /// trash keeps whole seconds, and what lies there may have been changed. `None` where it is not known.
    pub fn deleted(item: &TrashItem, set: Option<&ListedSet>) -> Option<Self> {
        let change = item.change.map(|change| (change.set, change.number));
        let time = set.map(|set| set.time).or(item.deleted)?;
        Some(Self { change, time })
    }

    /// Those of `paths` whose text is older. `names` is what taking it back does to names.
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
            // Of a file that moves every link counts, whatever it names.
            let moves = names.moved().contains_key(path);
            let meant = if moves { texts.came } else { texts.came_by_name };
            let content = vault.read(path);
            content.is_ok_and(|content| texts.is_older(&content.revision, meant))
        }));
        older
    }

    /// Whether the file was written and made before. One that came later may bring an older time.
    fn is_before(&self, vault: &Vault, path: &VaultPath) -> bool {
        let Ok(meta) = vault.stat(path) else { return false };
        let newest = meta.created.unwrap_or_default().max(meta.modified);
        let behind = if newest % COARSE == 0 { COARSELY_BEHIND } else { BEHIND };
        let time = (self.time - behind).timestamp_nanos_opt();
        time.is_some_and(|time| newest < time)
    }

    /// What the journal saw.
    fn texts(&self, journal: &Journal, names: &NameChange) -> Texts {
        let mut texts = Texts::default();
        let Some(since) = self.change else { return texts };
        let query = Query { since: Some(self.time - BEFORE), limit: MOST_SETS, ..Query::default() };
        let sets = journal.history().change_sets(&query).unwrap_or_else(|error| {
            tracing::warn!(%error, "what was written since cannot be known");
            Vec::new()
        });
        let (mut written, mut gone) = (HashSet::new(), HashSet::new());
        for set in sets.iter().rev() {
            // What was undone, and what undid it, is as if it had not been.
            let undoes_later = matches!(set.kind, SetKind::Undo(target) if target.set() >= since.0);
            for change in &set.changes {
                if (set.id, change.id.number) < since {
                    texts.before.extend(change.before.into_iter().chain(change.after));
                    continue;
                }
                texts.met.extend(change.before.filter(|text| !written.contains(text)));
                written.extend(change.after);
                let path = &change.path;
                let comes =
                    matches!(change.action, Action::Created | Action::Restored | Action::Moved)
                        && set.id > since.0
                        && change.undone_by.is_none()
                        && !undoes_later
                        && !was_there(&gone, path);
                texts.came |= comes;
                texts.came_by_name |= comes && names.concerns(path);
                gone.extend(change.from.clone());
                gone.extend((change.action == Action::Deleted).then(|| path.clone()));
            }
        }
        texts
    }
}

/// Whether the path, or a folder it is in, is among those that were taken away.
fn was_there(gone: &HashSet<VaultPath>, path: &VaultPath) -> bool {
    std::iter::successors(Some(path.clone()), VaultPath::parent).any(|path| gone.contains(&path))
}

/// What the journal saw of texts and names before and since.
#[derive(Default)]
struct Texts {
    /// Texts that were there before.
    before: HashSet<Revision>,
    /// Texts that were there when the steward wrote over them later, and that it had not written.
    met: HashSet<Revision>,
    /// Whether a file came since that was not there before.
    came: bool,
    /// Whether one came that a link can mean for one that comes or goes now.
    came_by_name: bool,
}

impl Texts {
    /// Whether a text is older. Of one that others wrote nobody knows whether they did so before:
    /// it is taken to mean what came since, if anything did (`meant`).
    fn is_older(&self, text: &Revision, meant: bool) -> bool {
        self.before.contains(text) || (!meant && self.met.contains(text))
    }
}
