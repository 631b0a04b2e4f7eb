//! A job's stored row, and its progress as the journal has it.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::once_marks;
use super::organize_events::OrganizeEvent;
use super::plans;
use super::running_jobs::JobProgress;
use super::{Context, ToolError};
use crate::journal::{ChangeSetId, ListedChange};
use crate::note::code::ErrorCode;
use crate::organize::job::{JobState, changes_of, follow_own_changes};
use crate::organize::plan::Item;
use crate::store::enabled_rules::RuleHit;
use crate::store::jobs::JobRow;

/// A job with its record in the journal.
#[derive(Debug)]
pub(super) struct Job {
    pub row: JobRow,
    /// All items at their planned revisions.
    pub items: Vec<Item>,
    /// The item numbers of each piece. The first pieces are done.
    pub pieces: Vec<Vec<u32>>,
    /// The changes of each completed piece, from the journal.
    pub done: Vec<Vec<ListedChange>>,
    /// The journal operation of the last completed piece; 0 without any.
    last_operation: i64,
}

/// The journal turn of a job: all its changes are one change set.
pub(super) fn turn(id: i64) -> String {
    format!("job-{id}")
}

impl Job {
    pub fn read(context: &Context, row: JobRow) -> Result<Self, ToolError> {
        let fault = |error: serde_json::Error| {
            ToolError::plain(ErrorCode::IoError, format!("job {} cannot be read: {error}", row.id))
        };
        let items = serde_json::from_str(&row.items).map_err(fault)?;
        let pieces = serde_json::from_str(&row.pieces).map_err(fault)?;
        let mut job = Self { row, items, pieces, done: Vec::new(), last_operation: 0 };
        job.reload(context)?;
        Ok(job)
    }

    /// Loads from the journal what is done, and what of it was undone.
    pub fn reload(&mut self, context: &Context) -> Result<(), ToolError> {
        self.done.clear();
        self.last_operation = 0;
        self.read_new_pieces(context)
    }

    /// Loads what was done after what is loaded already.
    pub fn read_new_pieces(&mut self, context: &Context) -> Result<(), ToolError> {
        let history = context.journal.history();
        for (operation, changes) in
            history.operations_of_turn(&turn(self.row.id), self.last_operation)?
        {
            self.last_operation = operation;
            self.done.push(changes);
        }
        Ok(())
    }

    /// The job with this number, if the caller may see all its notes.
    pub fn find(context: &Context, id: u64) -> Result<Self, ToolError> {
        let row = context.journal.store().jobs.get(id.cast_signed())?;
        let job = row.map(|row| Self::read(context, row)).transpose()?;
        job.filter(|job| plans::is_seen(context.vault.view(), &job.items)).ok_or_else(|| {
            let hint = "list_jobs lists the jobs";
            ToolError::not_found(format!("there is no job {id}"), hint)
        })
    }

    pub fn id(&self) -> u64 {
        self.row.id.cast_unsigned()
    }

    /// The numbers of the enabled rules that began it; empty if a caller did.
    pub fn enabled_rules(&self) -> Vec<i64> {
        serde_json::from_str(&self.row.rules).unwrap_or_default()
    }

    pub fn change_set(&self) -> Option<ChangeSetId> {
        self.done.first()?.first().map(|change| change.id.set)
    }

    pub fn done_items(&self) -> Vec<(&Item, Vec<&ListedChange>)> {
        let by_id: HashMap<u32, &Item> = self.items.iter().map(|item| (item.id, item)).collect();
        let mut found = Vec::new();
        for (piece, operation) in self.pieces.iter().zip(&self.done) {
            let items: Vec<&Item> = piece.iter().filter_map(|id| by_id.get(id).copied()).collect();
            let changes = changes_of(&items, operation);
            found.extend(items.into_iter().zip(changes));
        }
        found
    }

    /// The number of completed items, and of those that were undone.
    pub fn counts(&self) -> (usize, usize) {
        let items = self.done_items();
        (items.len(), items.iter().filter(|(_, changes)| is_undone(changes)).count())
    }

    /// The state according to the journal.
    pub fn state(&self) -> JobState {
        let stored = JobState::parse(&self.row.state).unwrap_or(JobState::Failed);
        match (stored, self.counts()) {
            (JobState::Running, _) | (_, (_, 0)) => stored,
            (_, (done, undone)) if done == undone => JobState::Undone,
            _ => JobState::PartlyUndone,
        }
    }

    pub fn notify(&self, context: &Context, state: &'static str) {
        context.listeners.notify(&self.event(state, None));
    }

    pub fn event(&self, state: &'static str, progress: Option<JobProgress>) -> OrganizeEvent {
        OrganizeEvent::Job {
            job: self.id(),
            plan: self.row.plan.cast_unsigned(),
            state,
            done: self.pieces.iter().zip(&self.done).map(|(piece, _)| piece.len()).sum(),
            total: self.items.len(),
            folders: plans::folders(&self.items),
            progress,
        }
    }

    /// Stores a new state.
    pub fn set(
        &mut self,
        context: &Context,
        state: JobState,
        failure: Option<String>,
    ) -> Result<(), ToolError> {
        self.row.state = state.word().to_owned();
        self.row.failure = failure;
        self.row.ended =
            (state != JobState::Running).then(|| context.clock.now().timestamp_millis());
        self.row.pieces = json(&self.pieces);
        if state != JobState::Running {
            // Somebody may have undone earlier pieces meanwhile.
            self.reload(context)?;
            once_marks::record(context, self.done_items())?;
            self.store_hits(context)?;
        }
        context.journal.store().jobs.update(&self.row)?;
        self.notify(context, state.word());
        Ok(())
    }

    /// Records the changes of a job that rules began.
    fn store_hits(&self, context: &Context) -> Result<(), ToolError> {
        let rules = self.enabled_rules();
        let mut hits = Vec::new();
        for (item, changes) in self.done_items().into_iter().filter(|_| !rules.is_empty()) {
            let Some(last) = changes.last() else { continue };
            hits.extend(rules.iter().map(|rule| RuleHit {
                rule: *rule,
                time: self.row.began,
                job: self.row.id,
                change_set: last.id.set.0.cast_signed(),
                number: last.id.number,
                path: item.path.clone(),
                left_at: last.path.as_str().to_owned(),
                revision: item.revision.clone().unwrap_or_default(),
                why: json(item),
            }));
        }
        Ok(context.journal.store().enabled_rules.add_hits(&hits)?)
    }

    /// The remaining items, adapted to the changes that this job itself made.
    pub fn remaining(&self) -> Vec<Item> {
        let done: HashSet<u32> =
            self.pieces.iter().zip(&self.done).flat_map(|(piece, _)| piece).copied().collect();
        let mut remaining: Vec<Item> =
            self.items.iter().filter(|item| !done.contains(&item.id)).cloned().collect();
        follow_own_changes(&mut remaining, &self.done);
        remaining
    }

    /// The error for an operation that is not possible in the job's state.
    pub fn wrong_state(&self, hint: impl Into<String>) -> ToolError {
        let state = self.state().word();
        let words = state.replace('_', " ");
        ToolError {
            data: Some(json!({ "job": self.id(), "state": state })),
            ..ToolError::new(ErrorCode::WrongState, format!("job {} is {words}", self.id()), hint)
        }
    }
}

/// Whether all of these were undone.
pub(super) fn is_undone(changes: &[&ListedChange]) -> bool {
    !changes.is_empty() && changes.iter().all(|change| change.undone_by.is_some())
}

pub(super) fn json(value: &impl serde::Serialize) -> String {
    // Texts, numbers and lists of these always serialize.
    serde_json::to_string(value).unwrap_or_default()
}
