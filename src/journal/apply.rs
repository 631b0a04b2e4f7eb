//! The order of every change: look, keep, record, do, record.

use super::change::{Applied, Change, ChangeSet, ChangeSetId, Origin, Outcome, Target};
use super::error::JournalError;
use super::execute::{Ended, Failed, detail_after, execute, failure, finish, take_back};
use super::plan::{self, Texts};
use super::recovery::Recovered;
use super::rollback::Rollback;
use super::step::{Act, Recorded, Step};
use super::{Journal, lock, now};
use crate::store::StoreError;
use crate::store::journal::{Mark, NewSet, StepResult};

/// Below so many notes the share of the vault does not count.
const FEW: usize = 10;

/// Something to be done and recorded.
pub(super) struct Job<'a> {
    pub kind: &'static str,
    pub title: &'a str,
    pub origin: &'a Origin,
    /// Whether it belongs to the turn that the origin names.
    pub joins_turn: bool,
    pub undoes: Option<Target>,
    pub steps: &'a [Step],
    /// Recorded steps that this undoes.
    pub undone: &'a [i64],
}

impl Journal {
    /// Applies a set: durable when this returns.
    ///
    /// The old and the new texts are kept and what is intended is recorded before anything is
    /// changed; that it was done is recorded before this returns.
    ///
    /// # Errors
    /// [`JournalError::Change`], [`JournalError::Store`], [`JournalError::Limit`], and everything
    /// is as it was; [`JournalError::Half`] where something could not be taken back.
    pub fn apply(&self, set: &ChangeSet, origin: &Origin) -> Result<Applied, JournalError> {
        let _alone = self.alone();
        self.ready()?;
        let mut texts = Texts::new(&self.store().blobs);
        let steps = plan::steps(self, set, &mut texts)?;
        self.check_limits(&steps, origin)?;
        texts.finish(&steps)?;
        let job = Job {
            kind: "change",
            title: &set.title,
            origin,
            joins_turn: true,
            undoes: None,
            steps: &steps,
            undone: &[],
        };
        let (change_set, ends) = self.run(&job)?;
        Ok(Applied { change_set, outcomes: outcomes(set, &steps, &ends) })
    }

    /// Whether anything can be recorded; ends what an earlier failure left open in the store.
    pub(super) fn ready(&self) -> Result<(), JournalError> {
        self.store().database.check()?;
        let mut unrecorded = lock(&self.0.unrecorded);
        while let Some(operation) = unrecorded.last() {
            self.store().journal.operations.take_back(*operation, now())?;
            unrecorded.pop();
        }
        drop(unrecorded);
        // What failed and could be taken back in part only, or was ended by a panic.
        if self.store().journal.operations.has_unfinished()? {
            // On a disk that is gone another attempt would only give up.
            self.vault().check_root()?;
            let mut recovered = Recovered::default();
            self.recover_unfinished(&mut recovered)?;
            recovered.left.into_iter().for_each(|sentence| self.vault().warn(sentence));
        }
        Ok(())
    }

    /// Records, does, records. The texts are durable already; the caller holds [`Self::alone`].
    pub(super) fn run(&self, job: &Job) -> Result<(ChangeSetId, Vec<Ended>), JournalError> {
        let rows: Vec<_> = job.steps.iter().map(Step::row).collect();
        let set = NewSet {
            kind: job.kind,
            title: job.title,
            caller: &job.origin.caller,
            conversation: job.origin.conversation.as_deref(),
            turn: job.origin.turn.as_deref().filter(|_| job.joins_turn),
            undoes_set: job.undoes.map(|target| target.set().0.cast_signed()),
            undoes_number: match job.undoes {
                Some(Target::Change(change)) => Some(change.number.into()),
                _ => None,
            },
            began: now(),
        };
        let intent = self.store().journal.operations.intend(&set, &rows)?;
        let change_set = ChangeSetId(intent.set.cast_unsigned());
        let writer = self.writer();
        let mut done = Vec::new();
        let ends = match execute(writer, job.steps, &mut done) {
            Ok(ends) => ends,
            Err(failed) => {
                let mut left = self.settle(&failed, intent.operation);
                left.extend(take_back(writer, done));
                self.end_taking_back(intent.operation, &left);
                return Err(failure(failed.error, left));
            }
        };
        if job.undoes.is_some() && ends.iter().all(|ended| ended.nothing) {
            // Nothing was changed, so there is nothing to remember.
            self.end_taking_back(intent.operation, &[]);
            return Ok((change_set, ends));
        }
        let results: Vec<StepResult> = intent
            .steps
            .iter()
            .zip(rows.iter().zip(&ends))
            .map(|(step, (row, ended))| StepResult {
                step: *step,
                detail: detail_after(&row.row.detail, ended),
                drop: ended.nothing,
            })
            .collect();
        let acted = |step: i64| {
            let mut steps = job.steps.iter().zip(&ends);
            steps.any(|(act, ended)| act.undoes == Some(step) && !ended.nothing)
        };
        let recorded = self.marks(job.undone, &acted, intent.set).and_then(|marks| {
            self.store().journal.operations.finish(intent.operation, &results, &marks, now())
        });
        if let Err(error) = recorded {
            let left = take_back(writer, done);
            self.end_taking_back(intent.operation, &left);
            return Err(failure(error, left));
        }
        finish(writer, done);
        self.note_renames(intent.operation);
        tracing::info!(
            %change_set,
            title = job.title,
            changes = ends.len(),
            caller = job.origin.caller,
            "applied"
        );
        match self.listed(intent.set, Some(intent.operation)) {
            Ok(Some(listed)) => self.tell(&listed),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "the change cannot be told to those who listen"),
        }
        Ok((change_set, ends))
    }

    /// The marks that undoing these steps sets: each is undone by `set`; what it had undone itself
    /// holds again; what that had undone is undone again; and so on. Where nothing had to be done
    /// for a step (`acted`), what is there is somebody else's: a folder that was made anew meanwhile
    /// is not taken for the one that the step had removed.
    pub(super) fn marks(
        &self,
        undone: &[i64],
        acted: &dyn Fn(i64) -> bool,
        set: i64,
    ) -> Result<Vec<Mark>, StoreError> {
        let mut marks = Vec::new();
        for step in undone {
            let (mut step, mut by) = (*step, Some(set));
            let acted = acted(step);
            loop {
                marks.push(Mark { step, undone_by: by });
                if !acted {
                    break;
                }
                let Some(row) = self.store().journal.changes.step(step)? else { break };
                let Some(next) = row.undoes else { break };
                by = if by.is_some() { None } else { Some(row.set) };
                step = next;
            }
        }
        Ok(marks)
    }

    /// Takes back the step that failed as far as it came: an error does not say that nothing
    /// happened. Gives what could not be taken back.
    fn settle(&self, failed: &Failed, operation: i64) -> Vec<String> {
        let Some(at) = failed.at else { return Vec::new() };
        if let Err(error) = self.vault().check_root() {
            return vec![error.to_string()];
        }
        let step = self
            .store()
            .journal
            .operations
            .unfinished_steps(operation)
            .and_then(|rows| rows.into_iter().nth(at).map(Recorded::read).transpose());
        let mut left = Vec::new();
        match step {
            Ok(Some(step)) => {
                let mut rollback = Rollback { journal: self, left: &mut left };
                rollback.failed(&step, &failed.error);
            }
            Ok(None) => {}
            Err(error) => left.push(format!("how far it came is not known: {error}")),
        }
        left
    }

    /// Records that an operation was taken back, if all of it was. Else it stays unfinished: the
    /// next change, or the next start, takes back the rest.
    fn end_taking_back(&self, operation: i64, left: &[String]) {
        if left.is_empty() && self.vault().check_disk().is_err() {
            // Whatever was found, it was not the disk that answered.
            tracing::error!(
                "the vault's disk is gone: the next change or start takes back the rest"
            );
        } else if !left.is_empty() {
            tracing::error!(?left, "a change that failed could be taken back in part only");
        } else if let Err(error) = self.store().journal.operations.take_back(operation, now()) {
            tracing::warn!(%error, "that a change was taken back is not recorded yet");
            lock(&self.0.unrecorded).push(operation);
        }
    }

    /// Refuses what goes beyond the limits of one turn.
    fn check_limits(&self, steps: &[Step], origin: &Origin) -> Result<(), JournalError> {
        if origin.confirmed {
            return Ok(());
        }
        let (mut deleted, mut moved) = (0, 0);
        for step in steps {
            match &step.act {
                Act::Delete(deletion) => deleted += deletion.counted,
                Act::Move { counted, .. } => moved += counted,
                _ => {}
            }
        }
        let (deletes, moves) = (deleted > 0, moved > 0);
        if !deletes && !moves {
            return Ok(());
        }
        let mut gone = 0;
        if let Some(turn) = &origin.turn {
            let before = self.store().journal.changes.notes_of_turn(turn)?;
            (deleted, moved) = (deleted + before.0, moved + before.1);
            gone = before.0;
        }
        let settings = self.settings();
        let over = |count, limit| limit > 0 && count > limit;
        if deletes && over(deleted, settings.max_deleted) {
            let limit = settings.max_deleted;
            return Err(JournalError::Limit { action: "delete", count: deleted, limit });
        }
        if moves && over(moved, settings.max_moved) {
            let limit = settings.max_moved;
            return Err(JournalError::Limit { action: "move", count: moved, limit });
        }
        let notes = self.vault().catalogue().counts().notes + gone;
        let limit = FEW.max(notes * settings.max_percent / 100);
        let count = deleted + moved;
        if settings.max_percent > 0 && count > limit {
            return Err(JournalError::Limit { action: "delete or move", count, limit });
        }
        Ok(())
    }
}

/// What became of each change, from what became of its steps.
fn outcomes(set: &ChangeSet, steps: &[Step], ends: &[Ended]) -> Vec<Outcome> {
    let of = |change: usize| {
        let own = steps.iter().zip(ends).filter(move |(step, _)| step.change == change);
        own.map(|(_, ended)| &ended.outcome)
    };
    let each = set.changes.iter().enumerate().map(|(change, asked)| match asked {
        Change::CreateFolder { .. } => Outcome::Folders(
            of(change)
                .filter_map(|outcome| match outcome {
                    Outcome::Folders(made) => Some(made.clone()),
                    _ => None,
                })
                .flatten()
                .collect(),
        ),
        _ => of(change)
            .find(|outcome| !matches!(outcome, Outcome::Folders(_)))
            .expect("every change but a folder has a step of its own")
            .clone(),
    });
    each.collect()
}
