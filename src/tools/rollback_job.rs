//! `rollback_job`

use super::prelude::*;
use super::stored_job::Job;
use super::undo_job::{self, BlockedItem};
use crate::note::counted::counted;

/// Undoes a job, or some of its items. Later changes of the same notes are kept, and links follow.
/// If an item cannot be undone, for example because its old path is taken, the others are undone
/// and it is listed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackJob {
    /// The number of the job.
    job: u64,
    /// Only these items, by number, and those that have to move out of their way.
    #[serde(default)]
    items: Vec<u32>,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The job.
    job: u64,
    /// `undone` or `partly_undone`.
    state: &'static str,
    /// Items that were undone now.
    undone: usize,
    /// Items of the job that are still applied.
    standing: usize,
    /// Items that could not be undone, with the reason.
    blocked: Vec<BlockedItem>,
    /// The change set of the undo, for `undo`; none if every item is blocked.
    change_set: Option<u64>,
    /// Notes for a person.
    notes: Vec<String>,
}

impl Tool for RollbackJob {
    const NAME: &'static str = "rollback_job";
    const TITLE: &'static str = "Undo a job";
    const TIER: Tier = Tier::Dangerous;
    const KIND: ToolKind = ToolKind::Edit;
    const HEAVY: bool = true;
    const SELDOM: bool = true;
    const EXAMPLE: &'static str = r#"{"job": 1}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let mut job = Job::find(context, self.job)?;
        let taken = undo_job::undo_job(context, &mut job, &self.items)?;
        let (done, undone) = job.counts();
        let mut lines =
            vec![format!("undid {} of job {}", counted(taken.undone, "item"), job.id())];
        lines.extend(
            taken.blocked.iter().map(|one| format!("stays: `{}`: {}", one.path, one.reason)),
        );
        lines.extend(taken.notes.iter().cloned());
        let data = Output {
            job: job.id(),
            state: job.state().word(),
            undone: taken.undone,
            standing: done - undone,
            blocked: taken.blocked,
            change_set: taken.change_set,
            notes: taken.notes,
        };
        Ok(Answer::new(lines.join("\n"), data))
    }
}
