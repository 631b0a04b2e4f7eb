//! Applies changes: check, store texts, record the intent, execute, record the end.

use std::collections::HashSet;
use std::sync::{Mutex, RwLock};

use arc_swap::ArcSwap;

use super::change::{Applied, Change, ChangeSet, ChangeSetId, Origin, Outcome, Progress, Target};
use super::error::JournalError;
use super::execute::{Done, Ended, Failed, detail_after, execute, failure, finish, revert};
use super::listing::{History, ListedSet};
use super::now;
use super::parts::Parts;
use super::plan::{self, TextBatch};
use super::recovery::{self, Recovered, recover_unfinished, remove_late_folders, undo_marks};
use super::rename_counts::RenameCounts;
use super::rollback::Rollback;
use super::settings::Settings;
use super::step::{Act, RecordedStep, Step};
use crate::locks::{lock, read};
use crate::store::journal::{NewSet, StepResult};
use crate::store::{Database, Store};
use crate::vault::Writer;

/// The percentage limit always allows at least this many files.
const ALWAYS_ALLOWED: usize = 10;

/// A planned operation to execute and record.
pub(super) struct Job<'a> {
    pub kind: &'static str,
    pub title: &'a str,
    pub origin: &'a Origin,
    /// Whether it joins the change set of the origin's turn.
    pub joins_turn: bool,
    pub undoes: Option<Target>,
    pub steps: &'a [Step],
    /// The recorded steps that it undoes.
    pub undone: &'a [i64],
    pub progress: &'a dyn Progress,
}

/// Called with every change set that was applied, undone or restored.
pub type Sink = Box<dyn Fn(&ListedSet) + Send + Sync>;

/// Executes planned operations one at a time, and records them.
pub(super) struct Executor {
    pub parts: Parts,
    pub history: History,
    pub database: Database,
    pub rename_counts: Mutex<RenameCounts>,
    pub settings: ArcSwap<Settings>,
    /// Held while a change set is applied.
    turn: Mutex<()>,
    /// Operations that were rolled back but whose end could not be recorded. Nothing new begins
    /// before it is.
    unrecorded: Mutex<Vec<i64>>,
    pub sinks: RwLock<Vec<Sink>>,
}

impl Executor {
    pub fn new(writer: Writer, store: &Store, settings: Settings) -> Self {
        let (rows, blobs) = (store.journal.clone(), store.blobs.clone());
        Self {
            history: History::new(rows.changes.clone(), blobs.clone(), writer.vault().clone()),
            parts: Parts { writer, rows, blobs },
            database: store.database.clone(),
            rename_counts: Mutex::default(),
            settings: ArcSwap::from_pointee(settings),
            turn: Mutex::default(),
            unrecorded: Mutex::default(),
            sinks: RwLock::default(),
        }
    }

    /// Waits for exclusive access. While the guard is held, the vault's folder is not replaced
    /// either.
    pub fn exclusive(&self) -> impl Sized {
        let turn = lock(&self.turn);
        (self.parts.vault().hold(), turn)
    }

    pub fn apply(
        &self,
        set: &ChangeSet,
        origin: &Origin,
        progress: &dyn Progress,
    ) -> Result<Applied, JournalError> {
        let _guard = self.exclusive();
        self.check_ready()?;
        let mut texts = TextBatch::new(&self.parts.blobs);
        let steps = plan::steps(&self.parts, set, &mut texts)?;
        self.check_limits(&steps, origin)?;
        texts.finish(&steps, progress)?;
        let job = Job {
            kind: "change",
            title: &set.title,
            origin,
            joins_turn: true,
            undoes: None,
            steps: &steps,
            undone: &[],
            progress,
        };
        let (change_set, ends) = self.run(&job)?;
        Ok(Applied { change_set, outcomes: outcomes(set, &steps, &ends) })
    }

    /// Checks that the store can record, and ends what an earlier failure left open.
    pub fn check_ready(&self) -> Result<(), JournalError> {
        self.database.check()?;
        let mut unrecorded = lock(&self.unrecorded);
        while let Some(operation) = unrecorded.last() {
            self.parts.rows.operations.roll_back(*operation, now())?;
            unrecorded.pop();
        }
        drop(unrecorded);
        // Left by a partial rollback or a panic.
        if self.parts.rows.operations.has_unfinished()? {
            // If the disk is gone, another attempt would only give up.
            self.parts.vault().check_root()?;
            let mut recovered = Recovered::default();
            recover_unfinished(&self.parts, &mut recovered)?;
            recovered.left.into_iter().for_each(|sentence| self.parts.vault().warn(sentence));
        }
        Ok(())
    }

    /// Records the intent, executes, records the end. The texts are durable already; the caller
    /// holds [`Self::exclusive`].
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
        let mut ends = match execute(writer, job.steps, &mut done, job.progress) {
            Ok(ends) => ends,
            Err(failed) => {
                let left = self.roll_back(intent.operation, Some(&failed), done);
                self.record_rollback(intent.operation, &left);
                return Err(failure(failed.error, left));
            }
        };
        if job.undoes.is_some() && ends.iter().all(|ended| ended.no_op) {
            // Nothing was changed, so nothing is recorded.
            self.record_rollback(intent.operation, &[]);
            return Ok((change_set, ends));
        }
        let results: Vec<StepResult> = intent
            .steps
            .iter()
            .zip(rows.iter().zip(&ends))
            .filter_map(|(step, (row, ended))| {
                let detail = detail_after(&row.row.detail, ended);
                let has_result = ended.no_op || detail.is_some();
                let detail = detail.unwrap_or_default();
                let drop = ended.no_op && !ended.is_late;
                has_result.then_some(StepResult { step: *step, detail, drop })
            })
            .collect();
        let done_steps = job.steps.iter().zip(&ends).filter(|(_, ended)| !ended.no_op);
        let acted: HashSet<i64> = done_steps.filter_map(|(step, _)| step.undoes).collect();
        let acted = |step: i64| acted.contains(&step);
        let recorded = undo_marks(&self.parts, job.undone, &acted, intent.set).and_then(|marks| {
            self.parts.rows.operations.finish(intent.operation, &results, &marks, now())
        });
        if let Err(error) = recorded {
            let left = self.roll_back(intent.operation, None, done);
            self.record_rollback(intent.operation, &left);
            return Err(failure(error, left));
        }
        finish(writer, done);
        // The displaced versions are gone now, and some folders are empty. A folder that is needed
        // later is created again.
        let late = intent.steps.iter().zip(job.steps.iter().zip(&mut ends));
        let late = late.filter_map(|(id, (step, ended))| match &step.act {
            Act::RemoveFolder { path } if ended.is_late => Some((*id, path, ended)),
            _ => None,
        });
        let late: Vec<_> = late.collect();
        let removed =
            remove_late_folders(&self.parts, late.iter().map(|(id, path, _)| (*id, *path)));
        for ((.., ended), removed) in late.into_iter().zip(removed) {
            ended.outcome = Outcome::FolderRemoved(removed);
        }
        lock(&self.rename_counts).record(intent.operation, self.parts.vault().renames());
        tracing::info!(
            %change_set,
            title = job.title,
            changes = ends.len(),
            caller = job.origin.caller,
            "applied"
        );
        match self.history.listed(intent.set, Some(intent.operation)) {
            Ok(Some(listed)) => {
                let sinks = read(&self.sinks);
                sinks.iter().for_each(|sink| sink(&listed));
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "the subscribers could not be informed of a change")
            }
        }
        Ok((change_set, ends))
    }

    /// Rolls an operation back; returns what could not be rolled back.
    fn roll_back(&self, operation: i64, failed: Option<&Failed>, done: Vec<Done>) -> Vec<String> {
        let mut left = Vec::new();
        // An error does not mean that nothing happened.
        let half = failed.and_then(|failed| Some((failed.at?, &failed.error)));
        let is_finished = |one: &Done| matches!(one, Done::Write { staged: None, .. });
        let steps = if half.is_some() || done.iter().any(is_finished) {
            self.recorded_steps(operation).unwrap_or_else(|error| {
                left.push(error);
                Vec::new()
            })
        } else {
            Vec::new()
        };
        let mut rollback = Rollback { parts: &self.parts, steps: &steps, left: &mut left };
        if let Some((at, error)) = half
            && let Some(step) = steps.get(at)
        {
            rollback.roll_back_failed(step, error);
        }
        revert(&mut rollback, done);
        left
    }

    /// The steps of an unfinished operation. An error is a sentence.
    fn recorded_steps(&self, operation: i64) -> Result<Vec<RecordedStep>, String> {
        self.parts.vault().check_root().map_err(|error| error.to_string())?;
        let steps = self.parts.rows.operations.unfinished_steps(operation);
        let steps = steps.and_then(RecordedStep::read_all);
        steps.map_err(|error| format!("its progress is unknown: {error}"))
    }

    /// Records that an operation was rolled back, if all of it was. Otherwise it stays unfinished,
    /// and the next change or start rolls back the rest.
    fn record_rollback(&self, operation: i64, left: &[String]) {
        if left.is_empty() && self.parts.vault().check_disk().is_err() {
            // The disk was gone, so an empty `left` proves nothing.
            tracing::error!("the vault's disk is gone: the next change or start undoes the rest");
        } else if !left.is_empty() {
            tracing::error!(?left, "a failed change could only be rolled back in part");
        } else if let Err(error) = self.parts.rows.operations.roll_back(operation, now()) {
            tracing::warn!(%error, "the rollback of a change is not recorded yet");
            lock(&self.unrecorded).push(operation);
        }
    }

    pub fn recover(&self, warnings: Vec<String>) -> Result<Recovered, JournalError> {
        lock(&self.unrecorded).clear();
        recovery::recover(&self.parts, warnings)
    }

    /// Refuses an operation beyond the limits of one turn.
    fn check_limits(&self, steps: &[Step], origin: &Origin) -> Result<(), JournalError> {
        let (mut deleted, mut moved) = (0, 0);
        for step in steps {
            match &step.act {
                Act::Delete(deletion) => deleted += deletion.counted,
                Act::Move { counted, .. } => moved += counted,
                _ => {}
            }
        }
        self.check_counts(deleted, moved, origin)
    }

    /// Refuses this many deletions and moves if they exceed the limits of one turn.
    pub fn check_counts(
        &self,
        mut deleted: usize,
        mut moved: usize,
        origin: &Origin,
    ) -> Result<(), JournalError> {
        let (deletes, moves) = (deleted > 0, moved > 0);
        if origin.confirmed || (!deletes && !moves) {
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
        let limit = ALWAYS_ALLOWED.max(notes * settings.max_percent / 100);
        let count = deleted + moved;
        if settings.max_percent > 0 && count > limit {
            return Err(JournalError::Limit { action: "delete or move", count, limit });
        }
        Ok(())
    }
}

fn outcomes(set: &ChangeSet, steps: &[Step], ends: &[Ended]) -> Vec<Outcome> {
    let mut own: Vec<Vec<&Outcome>> = vec![Vec::new(); set.changes.len()];
    for (step, ended) in steps.iter().zip(ends) {
        own[step.change].push(&ended.outcome);
    }
    let each = set.changes.iter().zip(own).map(|(asked, own)| match asked {
        Change::CreateFolder { .. } => Outcome::Folders(
            own.into_iter()
                .filter_map(|outcome| match outcome {
                    Outcome::Folders(made) => Some(made.clone()),
                    _ => None,
                })
                .flatten()
                .collect(),
        ),
        // The steps of a move over a hidden name belong to the move that led there.
        Change::Move { .. } => Outcome::Moved,
        _ => own
            .into_iter()
            .find(|outcome| !matches!(outcome, Outcome::Folders(_)))
            .expect("every write and deletion has a step of its own")
            .clone(),
    });
    each.collect()
}
