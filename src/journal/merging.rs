//! Taking a change out of a text in which somebody has written since: what they wrote stays, where
//! the two do not meet.

use super::change::{Change, ChangeSetId};
use super::error::UndoError;
use super::follow::written;
use super::opposite::Undoing;
use super::step::{Act, Old, Recorded, Step, WRITE};
use crate::note::merge::{self, Unmerged};
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{Revision, temp_name};

/// A planned write of a text in which somebody's own lines stay.
pub(super) struct Merged {
    /// Where the file lies on the disk.
    disk: VaultPath,
    /// Its text there.
    now: Vec<u8>,
    /// Its path when it is written.
    path: VaultPath,
    /// Which of the planned steps writes it last.
    step: usize,
}

/// What comes of taking a change out of a text.
enum TakenOut {
    /// This text.
    Text(Vec<u8>),
    /// Nothing is to be done, as this sentence says.
    Nothing(String),
    /// It cannot be: in this line both changed it, if they are texts that can be compared.
    Not(Option<usize>),
}

impl Undoing<'_> {
    /// Plans to take a change out of a text that is neither as it was before nor as it was
    /// afterwards.
    pub(super) fn take_out(
        &mut self,
        step: &Recorded,
        path: &VaultPath,
        (before, after): (BlobHash, BlobHash),
        (found, disk): (Revision, Option<VaultPath>),
    ) -> Result<(), UndoError> {
        let now = self.now(found, disk.as_ref());
        let taken = now.as_deref().map(|now| self.taken_out(step, path, before, after, now));
        let clash = match (taken.transpose()?, now.as_ref()) {
            (Some(TakenOut::Nothing(why)), _) => {
                self.notes.push(why);
                return Ok(());
            }
            (Some(TakenOut::Text(content)), Some(now)) => {
                self.notes.push(format!(
                    "`{path}` was changed since: that stays, and only this change is taken out of it"
                ));
                return self.write_merged(step, path, now.clone(), content, disk);
            }
            (Some(TakenOut::Not(clash)), _) => clash,
            _ => None,
        };
        let old = self.changed(step, path, after, now, clash)?;
        let content = self.text(step, before)?;
        self.write(step, path, old, content, true);
        Ok(())
    }

    fn taken_out(
        &self,
        step: &Recorded,
        path: &VaultPath,
        before: BlobHash,
        after: BlobHash,
        now: &[u8],
    ) -> Result<TakenOut, UndoError> {
        let (blobs, limit) = (&self.journal.store().blobs, self.journal.vault().max_file_bytes());
        let is_small = |text| blobs.length(text).is_ok_and(|length| length <= limit);
        if !step.row.texts_kept || !is_small(before) || !is_small(after) {
            return Ok(TakenOut::Not(None));
        }
        let before = self.text(step, before)?;
        // Without it nobody knows what the change was.
        let Ok(done) = self.text(step, after) else { return Ok(TakenOut::Not(None)) };
        let of_links = is_of_links(&before, &done);
        let merged = match merge::lines(&done, &before, now) {
            // A paragraph is one line: a link goes back in it beside what was written there.
            Err(Unmerged::Clash { line }) if of_links => {
                merge::without(&done, &before, now).ok_or(Some(line))
            }
            Err(Unmerged::Clash { line }) => Err(Some(line)),
            Err(Unmerged::NotText) => Err(None),
            Ok(merged) => Ok(merged),
        };
        Ok(match merged {
            Ok(merged) if merged == now => TakenOut::Nothing(format!(
                "`{path}` holds nothing of the change any more, and stays as it is"
            )),
            Ok(merged) => TakenOut::Text(merged),
            // It is followed like any other link that was written since.
            Err(Some(_)) if self.moves && of_links => TakenOut::Nothing(format!(
                "a link in `{path}` was changed since, and is not what it was"
            )),
            Err(clash) => TakenOut::Not(clash),
        })
    }

    /// Plans to write a text over the one that is there, which is kept already; `names`: whether its
    /// links are as they are to be.
    pub(super) fn write(
        &mut self,
        step: &Recorded,
        path: &VaultPath,
        old: BlobHash,
        content: Vec<u8>,
        names: bool,
    ) {
        let old = Some(Old { text: old, in_place: step.detail.in_place, read: None });
        let act = Act::Write { path: path.clone(), old, content, temp: temp_name() };
        match names {
            true => self.add(act, Some(step.row.id), Vec::new()),
            false => self.plan(act, Some(step.row.id), Vec::new()),
        }
    }

    fn write_merged(
        &mut self,
        step: &Recorded,
        path: &VaultPath,
        now: Vec<u8>,
        content: Vec<u8>,
        disk: Option<VaultPath>,
    ) -> Result<(), UndoError> {
        let old = self.texts.keep(now.clone())?;
        let index = self.steps.len();
        let known = self.merged.iter_mut().find(|merged| merged.path == *path);
        let follows = match (disk, known) {
            (Some(disk), _) => {
                self.merged.push(Merged { disk, now, path: path.clone(), step: index });
                true
            }
            (None, Some(merged)) => {
                merged.step = index;
                true
            }
            (None, None) => false,
        };
        self.write(step, path, old, content, !follows);
        Ok(())
    }

    /// Lets the links that were written since follow in a text that is merged, if this is one: what
    /// follows is told of the text that is there now. Those that went back stay as they were.
    pub(super) fn weave(&mut self, change: &Change) -> bool {
        let Change::Write { path, content: followed, .. } = change else { return false };
        let Some(merged) = self.merged.iter().find(|merged| merged.disk == *path) else {
            return false;
        };
        let (mine, later) = self.steps.split_at_mut(merged.step + 1);
        if let Some(Step { act: Act::Write { content, .. }, .. }) = mine.last_mut()
            && !is_written(later, &merged.path)
            && let Some(woven) = merge::following(&merged.now, content, followed)
        {
            written(later, &merged.path, &woven);
            *content = woven;
        }
        true
    }

    /// The text that a file has now, kept where the undo goes over it by force.
    pub(super) fn changed(
        &mut self,
        step: &Recorded,
        path: &VaultPath,
        after: BlobHash,
        now: Option<Vec<u8>>,
        clash: Option<usize>,
    ) -> Result<BlobHash, UndoError> {
        if let (true, Some(now)) = (self.force, &now) {
            let text = self.texts.keep(now.clone())?;
            self.notes.push(format!(
                "the newer text of `{path}` is kept; undo this undo to have it back"
            ));
            return Ok(text);
        }
        let rows = self.journal.store().journal.changes.later_steps(
            WRITE,
            step.path.as_str(),
            step.row.id,
        )?;
        // Where somebody else has written after them, to undo those would not help.
        let is_ours = rows.last().is_some_and(|row| row.after == now.as_deref().map(BlobHash::of));
        let by = rows.first().filter(|_| is_ours).map(|row| ChangeSetId(row.set.cast_unsigned()));
        let diff = self.difference(path, after, now);
        Err(UndoError::Changed { path: path.clone(), diff, by, clash })
    }
}

/// Whether a change of a text was one of its links alone.
pub(super) fn is_of_links(before: &[u8], after: &[u8]) -> bool {
    merge::differ_in_links_alone(before, after)
}

/// Whether one of these steps writes the file at `path`, wherever they have moved it by then.
fn is_written(steps: &[Step], path: &VaultPath) -> bool {
    let mut at = path.clone();
    steps.iter().any(|step| match &step.act {
        Act::Write { path, .. } => *path == at,
        Act::Delete(deletion) => deletion.path == at,
        Act::Move { from, to, .. } => {
            if at == *from {
                at = to.clone();
            }
            false
        }
        _ => false,
    })
}
