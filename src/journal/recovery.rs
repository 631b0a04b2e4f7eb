//! After a crash: what was begun is found done whole, or taken back.

use super::error::JournalError;
use super::rollback::Rollback;
use super::step::Recorded;
use super::{Journal, lock, now};
use crate::store::journal::StepResult;
use crate::store::{Prepared, StoreError};

/// What was found after a crash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Operations that had been done whole.
    pub completed: usize,
    /// Operations that were taken back.
    pub taken_back: usize,
    /// What was left alone because somebody has changed it since, one sentence each.
    pub left: Vec<String>,
    /// What a person should hear of the store, one sentence each.
    pub warnings: Vec<String>,
}

impl Journal {
    /// Makes the store sound, then finds out how far each unfinished operation came: one that was
    /// done whole counts as done, any other is taken back, in reverse. What somebody has changed
    /// since is left alone.
    ///
    /// What the journal does not know of is moved out of the vault then, never deleted. For whoever
    /// holds the vault alone. It may be cut short at any moment and called again.
    ///
    /// # Errors
    /// [`JournalError::Store`] if the store cannot be used.
    pub fn recover(&self) -> Result<Recovered, JournalError> {
        self.recover_prepared(self.store().database.prepare())
    }

    /// The second half of [`Self::recover`], with what came of making the store sound: that needs no
    /// vault, so a start does it meanwhile.
    ///
    /// # Errors
    /// As [`Self::recover`].
    pub fn recover_prepared(
        &self,
        prepared: Result<Prepared, StoreError>,
    ) -> Result<Recovered, JournalError> {
        let _alone = self.alone();
        let mut recovered = Recovered { warnings: prepared?.warnings, ..Recovered::default() };
        lock(&self.0.unrecorded).clear();
        self.store().blobs.sweep();
        self.recover_unfinished(&mut recovered)?;
        // A crash after the last record leaves the displaced versions of that one operation.
        let last =
            self.store().journal.changes.last_applied().and_then(|rows| {
                rows.into_iter().map(Recorded::read).collect::<Result<Vec<_>, _>>()
            });
        match last {
            Ok(last) => {
                let rollback = Rollback { journal: self, left: &mut recovered.left };
                last.iter().for_each(|step| rollback.clear_temp(step));
            }
            // What it left in the vault is swept to the recovery folder.
            Err(error @ StoreError::Row { .. }) => {
                recovered.warnings.push(format!("the last change cannot be read: {error}"));
            }
            Err(error) => return Err(error.into()),
        }
        for warning in recovered.left.iter().chain(&recovered.warnings) {
            tracing::warn!("{warning}");
        }
        self.writer().sweep();
        Ok(recovered)
    }

    /// Newest first: a later one may rest on an earlier. The caller holds [`Self::alone`].
    pub(super) fn recover_unfinished(&self, recovered: &mut Recovered) -> Result<(), JournalError> {
        for (operation, rows) in self.store().journal.operations.unfinished()?.into_iter().rev() {
            let steps = rows.and_then(|rows| {
                rows.into_iter().map(Recorded::read).collect::<Result<Vec<_>, _>>()
            });
            let steps = match steps {
                Ok(steps) => steps,
                Err(error) => {
                    recovered.left.push(format!("operation {operation} is left alone: {error}"));
                    self.store().journal.operations.take_back(operation, now())?;
                    continue;
                }
            };
            self.recover_one(operation, &steps, recovered)?;
        }
        Ok(())
    }

    fn recover_one(
        &self,
        operation: i64,
        steps: &[Recorded],
        recovered: &mut Recovered,
    ) -> Result<(), JournalError> {
        let mut rollback = Rollback { journal: self, left: &mut recovered.left };
        // Each as it would look if all after it were undone; a step moved on by a later one of the
        // same operation is seen through it.
        let sees_all = steps.iter().all(|step| rollback.can_see(step).is_ok());
        let whole = if sees_all { rollback.is_whole(steps) } else { None };
        if let Some(details) = whole {
            let results: Vec<StepResult> = steps
                .iter()
                .zip(details)
                .map(|(step, detail)| StepResult { step: step.row.id, detail, drop: false })
                .collect();
            let undone: Vec<i64> = steps.iter().filter_map(|step| step.row.undoes).collect();
            let set = steps.first().map_or(0, |step| step.row.set);
            let marks = self.marks(&undone, &|_| true, set)?;
            self.store().journal.operations.finish(operation, &results, &marks, now())?;
            steps.iter().for_each(|step| rollback.clear_temp(step));
            recovered.completed += 1;
            return Ok(());
        }
        for step in steps.iter().rev() {
            rollback.one_that_is_seen(step);
        }
        // A disk that went away meanwhile has everything still to be done.
        self.vault().check_disk()?;
        self.store().journal.operations.take_back(operation, now())?;
        recovered.taken_back += 1;
        Ok(())
    }
}
