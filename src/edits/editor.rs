//! The one way for changes on their way to the journal.

use super::error::EditsError;
use super::gate::{self, Gate};
use super::links::{self, Followed};
use super::rights::ReadOnly;
use super::since::Since;
use crate::index::Index;
use crate::journal::{
    Applied, Change, ChangeSet, Follow, Journal, JournalError, NameStep, Origin, Restored, Review,
    Target, TrashItem, UndoError, Undone,
};
use crate::note::path::VaultPath;
use crate::vault::{Cancel, Vault, VaultError};

/// How often a change is planned anew because a note with links to rewrite changed meanwhile, as
/// when Obsidian rewrites the same links.
const ATTEMPTS: usize = 6;

/// Makes changes in a caller's name.
#[derive(Debug, Clone, Copy)]
pub struct Editor<'a> {
    /// The vault, as the caller may see it.
    pub vault: &'a Vault,
    /// The way to change it.
    pub journal: &'a Journal,
    pub index: &'a Index,
    /// Decides on changes before they are made; without it all are.
    pub gate: Option<&'a dyn Gate>,
    /// Who asks for them.
    pub origin: &'a Origin,
    /// Set when the caller does not want them any more.
    pub cancel: &'a Cancel,
}

impl Editor<'_> {
    /// Applies changes that go together; links stay as they are.
    ///
    /// # Errors
    /// The gate's refusal, or the journal's error; all is as it was.
    pub fn apply(&self, title: String, changes: Vec<Change>) -> Result<Applied, EditsError> {
        let set = ChangeSet { title, changes };
        let Some(gate) = self.gate else { return Ok(self.journal.apply(&set, self.origin)?) };
        let proposal = gate::changes(self.vault, &set.title, &set.changes);
        gate.check(&proposal).map_err(EditsError::Refused)?;
        let applied = self.journal.apply(&set, self.origin);
        match &applied {
            Ok(applied) => gate.applied(applied.change_set),
            Err(limit @ JournalError::Limit { .. }) => gate.limited(&proposal, limit),
            Err(_) => {}
        }
        Ok(applied?)
    }

    /// Applies changes that go together, and with them the rewriting of every link that would lead
    /// elsewhere for them. The outcomes of `changes` come first in what was applied.
    ///
    /// # Errors
    /// As [`Editor::apply`] and [`Editor::preview`]; all is as it was.
    pub fn apply_with_links(
        &self,
        title: String,
        changes: Vec<Change>,
        read_only: ReadOnly,
    ) -> Result<(Applied, Followed), EditsError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut followed = self.preview(&changes, read_only)?;
            let rewritten = followed.rewritten();
            if rewritten.is_empty() {
                return Ok((self.apply(title, changes)?, followed));
            }
            let merged = followed.merge_into(changes.clone());
            match self.apply(title.clone(), merged) {
                Ok(applied) => return Ok((applied, followed)),
                Err(EditsError::Journal(JournalError::Change(error)))
                    if attempts < ATTEMPTS
                        && met(&error).is_some_and(|path| {
                            rewritten.contains(path) && !links::writes(&changes, path)
                        }) =>
                {
                    self.look_again(&error);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// What [`Editor::apply_with_links`] would do to links; nothing is changed.
    ///
    /// # Errors
    /// The caller withdrew; what the system would refuse.
    pub fn preview(&self, changes: &[Change], read_only: ReadOnly) -> Result<Followed, EditsError> {
        links::follow(self.vault, self.index, self.cancel, changes, read_only)
    }

    /// Takes a change set or one change back, and lets links follow.
    ///
    /// # Errors
    /// The gate's refusal, or the journal's error; all is as it was.
    pub fn undo(&self, target: Target, force: bool) -> Result<(Undone, Followed), EditsError> {
        // What stands in the way is told with its text, so it is only looked for where it may be
        // seen.
        let set = self.journal.history().change_set(target.set())?;
        if set.as_ref().is_some_and(|set| !set.is_seen_through(self.vault.view())) {
            return Err(UndoError::Unknown(target).into());
        }
        let since = set.map(|set| Since::undone(target, &set));
        let run = |follow: Follow<'_>, review: Review<'_>| {
            self.journal.undo_with(target, force, self.origin, follow, review)
        };
        self.reviewed(&format!("undo {target}"), since, run, |done| &done.applied)
    }

    /// Brings a deleted thing back, and lets links follow.
    ///
    /// # Errors
    /// The gate's refusal, or the journal's error; all is as it was.
    pub fn restore(
        &self,
        item: &TrashItem,
        to: Option<&VaultPath>,
    ) -> Result<(Restored, Followed), EditsError> {
        let place = to.or(item.was.as_ref()).cloned().unwrap_or_else(VaultPath::root);
        let run = |follow: Follow<'_>, review: Review<'_>| {
            self.journal.trash().restore_with(&item.id, to, self.origin, follow, review)
        };
        let set = match item.change {
            Some(change) => self.journal.history().change_set(change.set)?,
            None => None,
        };
        let since = Since::deleted(item, set.as_ref());
        self.reviewed(&format!("restore `{place}`"), since, run, |done| &done.applied)
    }

    /// Runs an undo or a restoration whose plan, with the texts that follow, is judged like any
    /// other change before anything is done.
    fn reviewed<T>(
        &self,
        title: &str,
        since: Option<Since>,
        mut run: impl FnMut(Follow<'_>, Review<'_>) -> Result<T, UndoError>,
        applied: impl FnOnce(&T) -> &Applied,
    ) -> Result<(T, Followed), EditsError> {
        let (mut proposal, mut refused) = (None, None);
        let done = self.following(since, |follow| {
            run(follow, &mut |prospects| {
                let Some(gate) = self.gate else { return true };
                let prospects = gate::prospects(self.vault, self.journal, title, prospects);
                refused = gate.check(proposal.insert(prospects)).err();
                refused.is_none()
            })
        });
        if let (Some(gate), Some(proposal)) = (self.gate, &proposal) {
            match &done {
                Ok((done, _)) => gate.applied(applied(done).change_set),
                Err(UndoError::Journal(limit @ JournalError::Limit { .. })) => {
                    gate.limited(proposal, limit);
                }
                Err(_) => {}
            }
        }
        match (done, refused) {
            (Err(UndoError::Refused), Some(refused)) => Err(EditsError::Refused(refused)),
            (done, _) => Ok(done?),
        }
    }

    /// Runs an undo or a restoration, and with it the rewriting of every link that would lead
    /// elsewhere for it, in the same change set. A text that it puts back itself stays as it was
    /// then, and so does one that is older than what is taken back, as far as `since` tells.
    fn following<T>(
        &self,
        since: Option<Since>,
        mut run: impl FnMut(Follow<'_>) -> Result<T, UndoError>,
    ) -> Result<(T, Followed), UndoError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut followed = Followed::default();
            let mut follow = |steps: &[NameStep]| {
                followed = links::follow_back(self.vault, self.journal, self.index, since, steps);
                followed.merge_into(Vec::new())
            };
            match run(&mut follow) {
                Err(UndoError::Journal(JournalError::Change(error)))
                    if attempts < ATTEMPTS
                        && met(&error).is_some_and(|path| followed.rewritten().contains(path)) =>
                {
                    self.look_again(&error);
                }
                result => return Ok((result?, followed)),
            }
        }
    }

    /// Finds what is not where it was: where no watcher tells, nobody knows its new name yet.
    fn look_again(&self, error: &VaultError) {
        if matches!(error, VaultError::Stale { current: None, .. } | VaultError::Renamed { .. })
            && let Err(error) = self.vault.rescan()
        {
            tracing::warn!(%error, "the vault could not be looked through again");
        }
    }
}

/// The file that somebody changed, or took away, since it was looked at.
fn met(error: &VaultError) -> Option<&VaultPath> {
    match error {
        VaultError::Stale { path, .. } | VaultError::Renamed { path, .. } => Some(path),
        _ => None,
    }
}
