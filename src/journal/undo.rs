//! Taking back what was done.
//!
//! An undo is a change set like any other: steps that do the opposite, in the reverse order,
//! recorded as they are done. Everything that stands in its way is found first, on a picture of the
//! vault in which the steps planned so far are done.

use super::Journal;
use super::apply::Job;
use super::change::{Applied, ChangeSetId, Origin, Outcome, Target};
use super::error::UndoError;
use super::follow::Follow;
use super::listing::ListedSet;
use super::opposite::Undoing;
use super::prospect::Review;
use super::step::{Act, Recorded, WRITE};
use crate::store::StoreError;
use crate::store::journal::StepRow;

/// An undo that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The change set that did it, which can be undone itself. Its outcomes are those of its own
    /// steps, in their order.
    pub applied: Applied,
    /// What a person should hear, one sentence each: "`a.md` is back as `a (restored).md`".
    pub notes: Vec<String>,
}

impl Journal {
    /// Takes back a change set or one change of it, as a new change set. All or nothing: what
    /// stands in the way is found before anything is done.
    ///
    /// Out of a file that has changed since only this change is taken, where the two are of other
    /// lines; wherever it is by now. Where they are of the same ones, `force` puts the whole file
    /// back: the newer text is kept with the undo, whose own undo brings it back. A file that is gone
    /// is written anew by `force`.
    ///
    /// # Errors
    /// [`UndoError`]; nothing was changed then.
    pub fn undo(&self, target: Target, force: bool, origin: &Origin) -> Result<Undone, UndoError> {
        self.undo_with(target, force, origin, &mut |_| Vec::new(), &mut |_| true)
    }

    /// As [`Self::undo`], and writes with it what `follow` gives, in the same change set, if
    /// `review` lets it.
    ///
    /// # Errors
    /// As [`Self::undo`], and [`UndoError::Refused`].
    pub fn undo_with(
        &self,
        target: Target,
        force: bool,
        origin: &Origin,
        follow: Follow<'_>,
        review: Review<'_>,
    ) -> Result<Undone, UndoError> {
        let _alone = self.alone();
        self.ready()?;
        let set = target.set();
        let mut rows = self.store().journal.changes.steps(set.0.cast_signed())?;
        if let Target::Change(change) = target {
            rows.retain(|row| row.number == change.number);
        }
        if rows.is_empty() {
            return Err(UndoError::Unknown(target));
        }
        if let Some(by) = rows.iter().filter_map(|row| row.undone_by).max()
            && rows.iter().all(|row| row.undone_by.is_some())
        {
            let by = ChangeSetId(by.cast_unsigned());
            return Err(UndoError::AlreadyUndone { target, by });
        }
        rows.retain(|row| row.undone_by.is_none());
        let mut undoing = Undoing::new(self, force);
        undoing.moves = rows.iter().any(|row| row.kind != WRITE || row.before.is_none());
        let mut undone = Vec::new();
        for row in rows.into_iter().rev() {
            for row in self.as_last_done(row)?.into_iter().rev() {
                let step = Recorded::read(row)?;
                undone.push(step.row.id);
                undoing.take_back(&step)?;
            }
        }
        let following = undoing.follow(follow)?;
        let title = match self.listed(set.0.cast_signed(), None)? {
            Some(listed) => format!("undo {target}: {}", title_of(&listed, target)),
            None => format!("undo {target}"),
        };
        let (steps, mut notes) = undoing.finish()?;
        if steps.is_empty() {
            return Err(UndoError::Nothing { target, notes });
        }
        if !review(self.prospects(&steps, following)) {
            return Err(UndoError::Refused);
        }
        let job = Job {
            kind: "undo",
            title: &title,
            origin,
            joins_turn: false,
            undoes: Some(target),
            steps: &steps,
            undone: &undone,
        };
        let (change_set, ends) = self.run(&job)?;
        for (step, ended) in steps.iter().zip(&ends) {
            if let (Act::RemoveFolder { path }, Outcome::FolderRemoved(false)) =
                (&step.act, &ended.outcome)
            {
                notes.push(format!("the folder `{path}` stays: it is not empty"));
            }
        }
        if ends.iter().all(|ended| ended.nothing) {
            return Err(UndoError::Nothing { target, notes });
        }
        let outcomes = ends.into_iter().map(|ended| ended.outcome).collect();
        Ok(Undone { applied: Applied { change_set, outcomes }, notes })
    }

    /// The steps to take back for this one. What was undone and done again by undoing that is as
    /// it was done last: a folder that went to the trash a second time lies elsewhere there, and
    /// holds what it held by then.
    fn as_last_done(&self, row: StepRow) -> Result<Vec<StepRow>, StoreError> {
        let again = self.store().journal.changes.done_again(row.id)?;
        if again.is_empty() {
            return Ok(vec![row]);
        }
        let each = again.into_iter().map(|row| self.as_last_done(row));
        Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
    }
}

/// What is undone, in words: of one change among others what that did, and not the whole set.
fn title_of(set: &ListedSet, target: Target) -> String {
    let one = match target {
        Target::Change(id) if set.changes.len() > 1 => {
            set.changes.iter().find(|change| change.id == id)
        }
        _ => None,
    };
    one.map_or_else(
        || set.title.clone(),
        |one| format!("{} `{}`", one.action.word().replace('_', " "), one.path),
    )
}
