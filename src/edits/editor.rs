//! The only way for changes to reach the journal.

use std::collections::BTreeSet;

use super::error::EditsError;
use super::gate::{self, Gate, Whole};
use super::links::{self, Followed};
use super::older_texts::Since;
use super::rights::ReadOnly;
use crate::index::Index;
use crate::index::links::names::NameChange;
use crate::index::links::rewrite;
use crate::journal::{
    Applied, Change, ChangeSet, Follow, Journal, JournalError, ListedSet, NameStep, Origin,
    Progress, Restored, Review, Target, TrashItem, UndoError, Undone,
};
use crate::note::path::VaultPath;
use crate::vault::{Cancel, Precondition, Vault, VaultError};

/// How often a change is planned again because a note with links to rewrite changed meanwhile, such
/// as when Obsidian rewrites the same links.
const ATTEMPTS: usize = 6;

/// Makes changes on behalf of a caller.
#[derive(Debug, Clone, Copy)]
pub struct Editor<'a> {
    /// The vault, as far as the caller may see it.
    pub vault: &'a Vault,
    pub journal: &'a Journal,
    pub index: &'a Index,
    /// Judges changes before they are made; `None` permits all.
    pub gate: Option<&'a dyn Gate>,
    /// The program and turn that request the changes.
    pub origin: &'a Origin,
    /// Set when the caller cancels.
    pub cancel: &'a Cancel,
    /// The changes that a person approves, if those are more than these.
    pub whole: Option<Whole<'a>>,
    /// Receives the journal's progress.
    pub progress: &'a dyn Progress,
}

impl Editor<'_> {
    /// Applies changes as one set; leaves links as they are.
    ///
    /// # Errors
    /// The gate's refusal or the journal's error; nothing has changed.
    pub fn apply(&self, title: String, changes: Vec<Change>) -> Result<Applied, EditsError> {
        let set = ChangeSet { title, changes };
        let Some(gate) = self.gate else {
            return Ok(self.journal.apply_with_progress(&set, self.origin, self.progress)?);
        };
        let mut proposal = gate::changes(self.vault, &set.title, &set.changes);
        proposal.whole = self.whole;
        gate.check(&proposal).map_err(EditsError::Refused)?;
        let applied = self.journal.apply_with_progress(&set, self.origin, self.progress);
        match &applied {
            Ok(applied) => gate.applied(applied.change_set),
            Err(limit @ JournalError::Limit { .. }) => gate.limited(&proposal, limit),
            Err(_) => {}
        }
        Ok(applied?)
    }

    /// Submits changes, with the links that follow them, to the gate without applying them. For
    /// work that is applied in several parts: each part is then judged as such, by an editor whose
    /// [`Whole::is_part`] is set.
    pub fn propose(&self, title: &str, changes: Vec<Change>) -> Result<Followed, EditsError> {
        let mut followed = self.preview(&changes, ReadOnly::Refuse)?;
        let Some(gate) = self.gate else { return Ok(followed) };
        let changes = followed.merge_into(changes);
        let mut proposal = gate::changes(self.vault, title, &changes);
        proposal.whole = self.whole;
        gate.check(&proposal).map_err(EditsError::Refused)?;
        Ok(followed)
    }

    /// Applies changes as one set, and rewrites every link that they would redirect. The outcomes
    /// of `changes` precede those of links.
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
                        && changed_file(&error).is_some_and(|path| {
                            rewritten.contains(path) && !links::writes(&changes, path)
                        }) =>
                {
                    self.rescan_moved(&error);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The effect of [`Editor::apply_with_links`] on links, without changing anything.
    pub fn preview(&self, changes: &[Change], read_only: ReadOnly) -> Result<Followed, EditsError> {
        links::follow(self.vault, self.index, self.cancel, changes, read_only)
    }

    /// Copies a file: makes a new file at `to` with the content of the one at `from`. Links in it
    /// lead where those of the original lead; links in other files keep their targets. With
    /// `dry_run` nothing changes.
    pub fn copy(
        &self,
        (from, to): (&VaultPath, &VaultPath),
        content: Vec<u8>,
        dry_run: bool,
    ) -> Result<(Option<Applied>, Followed), EditsError> {
        let mut names = NameChange::default();
        names.add(to.clone());
        let (content, own) = rewrite::copied(self.vault, &names, (from, to), content);
        let changes =
            vec![Change::Write { path: to.clone(), content, before: Precondition::Absent }];
        let (applied, mut followed) = if dry_run {
            (None, self.preview(&changes, ReadOnly::Refuse)?)
        } else {
            let title = format!("copy `{from}` to `{to}`");
            let done = self.apply_with_links(title, changes, ReadOnly::Refuse)?;
            (Some(done.0), done.1)
        };
        followed.plan.rewrites.splice(0..0, own.rewrites);
        followed.plan.stuck.splice(0..0, own.stuck);
        Ok((applied, followed))
    }

    /// Undoes a change set or one change, and lets links follow.
    ///
    /// # Errors
    /// The gate's refusal or the journal's error; nothing has changed.
    pub fn undo(&self, target: Target, force: bool) -> Result<(Undone, Followed), EditsError> {
        // An obstacle is reported with its text, so the undo is only tried where the caller may see
        // it.
        let set = self.journal.history().change_set(target.set())?;
        if set.as_ref().is_some_and(|set| !set.is_seen_through(self.vault.view())) {
            return Err(UndoError::Unknown(target).into());
        }
        let since = set.as_ref().map(|set| Since::undone(target, set));
        let part = set.as_ref().filter(|set| match target {
            Target::Set(_) => false,
            Target::Change(one) => is_part(set, |number| number == one.number),
        });
        let run = |follow: Follow<'_>, review: Review<'_>| {
            self.journal.undo_with(target, force, self.origin, follow, review)
        };
        self.reviewed(&format!("undo {target}"), (since, part), run, |done| &done.applied)
    }

    /// Undoes the changes of a set with the numbers `only`, all or none, and lets links follow.
    pub fn undo_some(
        &self,
        title: &str,
        set: &ListedSet,
        only: &BTreeSet<u32>,
    ) -> Result<(Undone, Followed), EditsError> {
        let since = Some(Since::undone(Target::Set(set.id), set));
        let part = Some(set).filter(|set| is_part(set, |number| only.contains(&number)));
        let run = |follow: Follow<'_>, review: Review<'_>| {
            self.journal.undo_some(set.id, only, self.origin, follow, review)
        };
        self.reviewed(title, (since, part), run, |done| &done.applied)
    }

    /// Restores a deleted file or folder, and lets links follow.
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
        self.reviewed(&format!("restore `{place}`"), (since, None), run, |done| &done.applied)
    }

    /// Runs an undo or a restoration. The gate judges its plan, with the texts that follow, like
    /// any other change before anything is done.
    fn reviewed<T>(
        &self,
        title: &str,
        since: (Option<Since>, Option<&ListedSet>),
        mut run: impl FnMut(Follow<'_>, Review<'_>) -> Result<T, UndoError>,
        applied: impl FnOnce(&T) -> &Applied,
    ) -> Result<(T, Followed), EditsError> {
        let (mut proposal, mut refused) = (None, None);
        let done = self.following(since, |follow| {
            run(follow, &mut |steps| {
                let Some(gate) = self.gate else { return true };
                let mut steps = gate::preview(self.vault, self.journal, title, steps);
                steps.whole = self.whole;
                refused = gate.check(proposal.insert(steps)).err();
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

    /// Runs an undo or a restoration, and rewrites in the same change set every link that it would redirect. A text
    /// that the undo itself restores stays as it was, and so does a text that is older than the undone changes, as far
    /// as `older_texts` can tell. If only a part of a set is undone, links to files of the other part keep their targets.
    fn following<T>(
        &self,
        (since, part): (Option<Since>, Option<&ListedSet>),
        mut run: impl FnMut(Follow<'_>) -> Result<T, UndoError>,
    ) -> Result<(T, Followed), UndoError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut followed = Followed::default();
            let mut follow = |steps: &[NameStep]| {
                followed =
                    links::follow_back(self.vault, self.journal, self.index, since, part, steps);
                followed.merge_into(Vec::new())
            };
            match run(&mut follow) {
                Err(UndoError::Journal(JournalError::Change(error)))
                    if attempts < ATTEMPTS
                        && changed_file(&error)
                            .is_some_and(|path| followed.rewritten().contains(path)) =>
                {
                    self.rescan_moved(&error);
                }
                result => return Ok((result?, followed)),
            }
        }
    }

    /// Rescans the vault for a moved file: without a watcher its new name is not known yet.
    fn rescan_moved(&self, error: &VaultError) {
        if matches!(error, VaultError::Stale { current: None, .. } | VaultError::Renamed { .. })
            && let Err(error) = self.vault.rescan()
        {
            tracing::warn!(%error, "the vault could not be rescanned");
        }
    }
}

/// Whether part of the set remains when the changes with these numbers are undone.
fn is_part(set: &ListedSet, undone: impl Fn(u32) -> bool) -> bool {
    set.changes.iter().any(|change| change.undone_by.is_none() && !undone(change.id.number))
}

/// The file that somebody changed or removed since it was read.
fn changed_file(error: &VaultError) -> Option<&VaultPath> {
    match error {
        VaultError::Stale { path, .. } | VaultError::Renamed { path, .. } => Some(path),
        _ => None,
    }
}
