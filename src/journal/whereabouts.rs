//! Where a file is by now that a step wrote: others may have renamed it, or taken it away.

use super::Journal;
use super::error::UndoError;
use super::opposite::Undoing;
use super::picture::There;
use super::step::{Act, DELETE, MOVE, Recorded};
use super::{lock, merging};
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::store::journal::StepRow;
use crate::vault::temp_name;

/// How many marks are kept: there is one for each noticed rename at most, and the vault remembers
/// no more of those.
const MARKS: usize = 1_000;

/// How many renames had been noticed when an operation ended, where that had become another number:
/// what was renamed before it was done is not renamed since.
#[derive(Debug, Default)]
pub(super) struct Marks(Vec<(i64, u64)>);

impl Marks {
    fn note(&mut self, operation: i64, renames: u64) {
        if self.0.last().map_or(0, |last| last.1) == renames {
            return;
        }
        if self.0.len() >= MARKS {
            self.0.remove(0);
        }
        self.0.push((operation, renames));
    }

    /// Of an operation before the first: none was noticed yet, or it was another process's.
    fn of(&self, operation: i64) -> u64 {
        let after = self.0.partition_point(|mark| mark.0 <= operation);
        after.checked_sub(1).map_or(0, |at| self.0[at].1)
    }
}

impl Journal {
    /// Notes which renames an operation that ends now came after.
    pub(super) fn note_renames(&self, operation: i64) {
        let renames = self.vault().renames();
        lock(&self.0.marks).note(operation, renames);
    }
}

impl Undoing<'_> {
    /// Where the file is that a step wrote: at its path, or where it was moved through the journal
    /// or renamed by others, as far as that was noticed.
    pub(super) fn whereabouts(&self, step: &Recorded) -> Result<Option<VaultPath>, UndoError> {
        if let There::File { .. } = self.picture.at(&step.path) {
            return Ok(Some(step.path.clone()));
        }
        let (at, last) = self.moved_on(step)?;
        let mark = lock(&self.journal.0.marks).of(last.operation);
        let at = self.journal.vault().renamed_since(&at, mark).unwrap_or(at);
        let at = self.picture.now_at(&at);
        Ok(matches!(self.picture.at(&at), There::File { .. }).then_some(at))
    }

    /// Where the journal has moved what a step wrote, and the row that did so last; its own if none
    /// did.
    fn moved_on(&self, step: &Recorded) -> Result<(VaultPath, StepRow), UndoError> {
        let (mut at, mut last) = (step.path.clone(), step.row.clone());
        let store = self.journal.store();
        while let Some(row) =
            store.journal.changes.later_steps(MOVE, at.as_str(), last.id)?.into_iter().next()
        {
            let Some(next) = row.other.as_deref().and_then(|to| {
                let rest = at.as_str().strip_prefix(row.path.as_str())?;
                VaultPath::from_disk(&format!("{to}{rest}"))
            }) else {
                break;
            };
            (at, last) = (next, row);
        }
        Ok((at, last))
    }

    /// Whether the journal itself has deleted what a step wrote, and nobody took that back.
    fn is_deleted(&self, step: &Recorded) -> Result<bool, UndoError> {
        let (at, last) = self.moved_on(step)?;
        let rows =
            self.journal.store().journal.changes.later_steps(DELETE, at.as_str(), last.id)?;
        Ok(rows.iter().any(|row| row.undone_by.is_none()))
    }

    /// Plans the opposite of writing a file that is nowhere any more: its text from before the
    /// change is written anew, by force alone.
    pub(super) fn unwrite_gone(
        &mut self,
        step: &Recorded,
        before: BlobHash,
        after: BlobHash,
    ) -> Result<(), UndoError> {
        if self.is_deleted(step)? {
            return Err(self.not_there(step)?);
        }
        let path = self.picture.spelt(&step.path);
        if self.moves && self.picture.is_free(&path) && self.is_of_links(step, before, after) {
            self.notes.push(format!("`{path}` is gone, and the links in it that had followed"));
            return Ok(());
        }
        let taken = match self.picture.is_free(&path) {
            true => self.picture.twin(&path),
            false => Some(path.clone()),
        };
        match (self.force, taken) {
            (true, Some(taken)) => return Err(UndoError::Taken { path, taken }),
            (false, taken) => return Err(self.not_there(step)?.with_anew(taken.is_none())),
            (true, None) => {}
        }
        let content = self.text(step, before)?;
        self.make_parent(&path);
        self.notes
            .push(format!("`{path}` was gone: its text from before the change is written anew"));
        let write = Act::Write { path, old: None, content, temp: temp_name() };
        self.add(write, Some(step.row.id), Vec::new());
        Ok(())
    }

    /// Whether a step changed nothing but links, as those do that follow a move.
    fn is_of_links(&self, step: &Recorded, before: BlobHash, after: BlobHash) -> bool {
        let texts = (self.text(step, before), self.text(step, after));
        matches!(texts, (Ok(before), Ok(after)) if merging::is_of_links(&before, &after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_has_the_mark_of_the_last_before_it() {
        let mut marks = Marks::default();
        for (operation, renames) in [(3, 0), (4, 2), (6, 2), (9, 5)] {
            marks.note(operation, renames);
        }
        assert_eq!(marks.0.len(), 2);
        let of = |operation| marks.of(operation);
        assert_eq!([of(1), of(3), of(4), of(6), of(8), of(9), of(10)], [0, 0, 2, 2, 2, 5, 5]);
        (0..2_000).for_each(|n| marks.note(10 + n, 10 + n.cast_unsigned()));
        assert_eq!((marks.0.len(), marks.of(2_009)), (MARKS, 2_009));
    }
}
