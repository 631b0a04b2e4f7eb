//! The order of every change: look, keep, record, do, record.

use std::sync::{Mutex, PoisonError, RwLock};

use arc_swap::ArcSwap;

use super::change::{Applied, Change, ChangeSet, ChangeSetId, Origin, Outcome, Target};
use super::error::JournalError;
use super::execute::{Ended, Failed, detail_after, execute, failure, finish, take_back};
use super::listing::{History, ListedSet};
use super::marks::Marks;
use super::parts::Parts;
use super::plan::{self, Texts};
use super::recovery::{self, Recovered, recover_unfinished, undo_marks};
use super::rollback::Rollback;
use super::settings::Settings;
use super::step::{Act, Recorded, Step};
use super::{lock, now};
use crate::store::journal::{NewSet, StepResult};
use crate::store::{Database, Store};
use crate::vault::Writer;

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

/// Hears of every change set that was applied or undone.
pub type Sink = Box<dyn Fn(&ListedSet) + Send + Sync>;

/// Does what is planned, one after the other, and records it.
pub(super) struct Executor {
    pub parts: Parts,
    pub history: History,
    pub database: Database,
    pub marks: Mutex<Marks>,
    pub settings: ArcSwap<Settings>,
    /// Held while a change set is applied.
    turn: Mutex<()>,
    /// Operations that were taken back and whose end could not be recorded: nothing new is begun
    /// before it is.
    unrecorded: Mutex<Vec<i64>>,
    pub sinks: RwLock<Vec<Sink>>,
}

impl Executor {
    pub fn new(writer: Writer, store: &Store, settings: Settings) -> Self {
        let (rows, blobs) = (store.journal.clone(), store.blobs.clone());
        Self {
            history: History::new(rows.changes.clone(), blobs.clone()),
            parts: Parts { writer, rows, blobs },
            database: store.database.clone(),
            marks: Mutex::default(),
            settings: ArcSwap::from_pointee(settings),
            turn: Mutex::default(),
            unrecorded: Mutex::default(),
            sinks: RwLock::default(),
        }
    }

    /// Waits until nobody else changes the vault. Its folder stays the one that it is for as long.
    pub fn alone(&self) -> impl Sized {
        let turn = lock(&self.turn);
        (self.parts.vault().hold(), turn)
    }

    pub fn apply(&self, set: &ChangeSet, origin: &Origin) -> Result<Applied, JournalError> {
        let _alone = self.alone();
        self.ready()?;
        let mut texts = Texts::new(&self.parts.blobs);
        let steps = plan::steps(&self.parts, set, &mut texts)?;
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
    pub fn ready(&self) -> Result<(), JournalError> {
        self.database.check()?;
        let mut unrecorded = lock(&self.unrecorded);
        while let Some(operation) = unrecorded.last() {
            self.parts.rows.operations.take_back(*operation, now())?;
            unrecorded.pop();
        }
        drop(unrecorded);
        // What failed and could be taken back in part only, or was ended by a panic.
        if self.parts.rows.operations.has_unfinished()? {
            // On a disk that is gone another attempt would only give up.
            self.parts.vault().check_root()?;
            let mut recovered = Recovered::default();
            recover_unfinished(&self.parts, &mut recovered)?;
            recovered.left.into_iter().for_each(|sentence| self.parts.vault().warn(sentence));
        }
        Ok(())
    }

    /// Records, does, records. The texts are durable already; the caller holds [`Self::alone`].
    pub fn run(&self, job: &Job) -> Result<(ChangeSetId, Vec<Ended>), JournalError> {
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
        let intent = self.parts.rows.operations.intend(&set, &rows)?;
        let change_set = ChangeSetId(intent.set.cast_unsigned());
        let writer = &self.parts.writer;
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
        let recorded = undo_marks(&self.parts, job.undone, &acted, intent.set).and_then(|marks| {
            self.parts.rows.operations.finish(intent.operation, &results, &marks, now())
        });
        if let Err(error) = recorded {
            let left = take_back(writer, done);
            self.end_taking_back(intent.operation, &left);
            return Err(failure(error, left));
        }
        finish(writer, done);
        lock(&self.marks).note(intent.operation, self.parts.vault().renames());
        tracing::info!(
            %change_set,
            title = job.title,
            changes = ends.len(),
            caller = job.origin.caller,
            "applied"
        );
        match self.history.listed(intent.set, Some(intent.operation)) {
            Ok(Some(listed)) => {
                let sinks = self.sinks.read().unwrap_or_else(PoisonError::into_inner);
                sinks.iter().for_each(|sink| sink(&listed));
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "the change cannot be told to those who listen"),
        }
        Ok((change_set, ends))
    }

    /// Takes back the step that failed as far as it came: an error does not say that nothing
    /// happened. Gives what could not be taken back.
    fn settle(&self, failed: &Failed, operation: i64) -> Vec<String> {
        let Some(at) = failed.at else { return Vec::new() };
        if let Err(error) = self.parts.vault().check_root() {
            return vec![error.to_string()];
        }
        let step = self
            .parts
            .rows
            .operations
            .unfinished_steps(operation)
            .and_then(|rows| rows.into_iter().nth(at).map(Recorded::read).transpose());
        let mut left = Vec::new();
        match step {
            Ok(Some(step)) => {
                let mut rollback = Rollback { parts: &self.parts, left: &mut left };
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
        if left.is_empty() && self.parts.vault().check_disk().is_err() {
            // Whatever was found, it was not the disk that answered.
            tracing::error!(
                "the vault's disk is gone: the next change or start takes back the rest"
            );
        } else if !left.is_empty() {
            tracing::error!(?left, "a change that failed could be taken back in part only");
        } else if let Err(error) = self.parts.rows.operations.take_back(operation, now()) {
            tracing::warn!(%error, "that a change was taken back is not recorded yet");
            lock(&self.unrecorded).push(operation);
        }
    }

    /// Ends what a crash left half-done.
    pub fn recover(&self, warnings: Vec<String>) -> Result<Recovered, JournalError> {
        lock(&self.unrecorded).clear();
        recovery::recover(&self.parts, warnings)
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
            let before = self.parts.rows.changes.notes_of_turn(turn)?;
            (deleted, moved) = (deleted + before.0, moved + before.1);
            gone = before.0;
        }
        let settings = self.settings.load();
        let over = |count, limit| limit > 0 && count > limit;
        if deletes && over(deleted, settings.max_deleted) {
            let limit = settings.max_deleted;
            return Err(JournalError::Limit { action: "delete", count: deleted, limit });
        }
        if moves && over(moved, settings.max_moved) {
            let limit = settings.max_moved;
            return Err(JournalError::Limit { action: "move", count: moved, limit });
        }
        let notes = self.parts.vault().catalogue().counts().notes + gone;
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
