//! `list_jobs`

use super::jobs;
use super::paging;
use super::plans::{self, sentence};
use super::prelude::*;
use super::running_jobs::JobProgress;
use super::stored_job::{Job, is_undone};
use super::text_file::{local, local_short};
use crate::organize::job::JobState;
use crate::organize::plan::Item;

/// Jobs in one answer.
const MAX_JOBS: usize = 50;

/// Items in one answer.
const MAX_ITEMS: usize = 200;

/// Lists jobs, newest first: plans that were applied, and their progress. With `job` a single job,
/// item by item.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListJobs {
    /// Only this job, with its items.
    job: Option<u64>,
    /// Only jobs in this state: `running`, `completed`, `failed`, `interrupted`, `cancelled`, `undone` or
    /// `partly_undone`.
    state: Option<String>,
    /// The first job, or with `job` the first item, to show, from 1, to continue a list that was
    /// cut off.
    #[serde(default = "paging::default::<1>")]
    first_result: usize,
}

/// Jobs.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Newest first, at most 50.
    jobs: Vec<JobData>,
    /// The number of all.
    total: usize,
    /// The items of the requested job; at most 200.
    items: Vec<JobItem>,
}

/// A job.
#[derive(Serialize, JsonSchema)]
pub struct JobData {
    /// Its number.
    job: u64,
    /// The plan it applies.
    plan: u64,
    /// The identity of that plan when it began.
    identity: String,
    /// Its state.
    state: &'static str,
    /// Its changes in words.
    summary: String,
    /// Items that are done.
    done: usize,
    /// The number of these that were undone.
    undone: usize,
    /// All its items.
    total: usize,
    /// When it began, local time.
    began: String,
    /// When it ended.
    ended: Option<String>,
    /// The program that applied it.
    caller: String,
    /// Why it ended early.
    failure: Option<String>,
    /// Its change set.
    change_set: Option<u64>,
    /// Whether the journal still has all texts needed to undo it.
    texts_kept: bool,
    /// The folders that it touches; `/` is the vault itself.
    folders: Vec<String>,
    /// While it runs in one piece: how far its change set is.
    progress: Option<JobProgress>,
}

/// An item of a job.
#[derive(Serialize, JsonSchema)]
pub struct JobItem {
    /// Its number.
    item: u32,
    /// Its path before the job.
    path: String,
    /// Its new path, if it has one.
    to: Option<String>,
    /// `done`, `undone` or `waiting`.
    state: &'static str,
}

impl Tool for ListJobs {
    const NAME: &'static str = "list_jobs";
    const TITLE: &'static str = "List jobs";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const SELDOM: bool = true;
    const EXAMPLE: &'static str = "{}";
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let skipped = paging::skipped(self.first_result);
        if let Some(job) = self.job {
            return Ok(one(context, &Job::find(context, job)?, skipped));
        }
        let wanted = self.state.as_deref().map(state).transpose()?;
        let mut found = Vec::new();
        for row in context.journal.store().jobs.list()? {
            let job = Job::read(context, row)?;
            let is_wanted = wanted.is_none_or(|state| job.state() == state);
            if is_wanted && plans::is_seen(context.vault.view(), &job.items) {
                found.push(job);
            }
        }
        let total = found.len();
        let shown: Vec<&Job> = found.iter().skip(skipped).take(MAX_JOBS).collect();
        let mut lines: Vec<String> = shown.iter().map(|job| headline(context, job)).collect();
        lines.push(match total {
            0 => "no jobs".to_owned(),
            _ => paging::summary(skipped, shown.len(), total, "or a `state`"),
        });
        let jobs = shown.into_iter().map(|job| data(context, job)).collect();
        Ok(Answer::new(lines.join("\n"), Output { jobs, total, items: Vec::new() }))
    }
}

fn state(word: &str) -> Result<JobState, ToolError> {
    JobState::parse(word).ok_or_else(|| {
        let states: Vec<&str> = JobState::ALL.iter().map(|state| state.word()).collect();
        let hint = format!("give one of {}", states.join(", "));
        ToolError::invalid(format!("`{word}` is not a state of a job"), hint)
    })
}

fn one(context: &Context, job: &Job, skipped: usize) -> Answer<Output> {
    let done = job.done_items();
    let of = |item: &Item| JobItem {
        item: item.id,
        path: item.path.clone(),
        to: item.to.clone(),
        state: match done.iter().find(|(one, _)| one.id == item.id) {
            None => "waiting",
            Some((_, changes)) if is_undone(changes) => "undone",
            Some(_) => "done",
        },
    };
    let shown: Vec<&Item> = job.items.iter().skip(skipped).take(MAX_ITEMS).collect();
    let items: Vec<JobItem> = shown.iter().map(|item| of(item)).collect();
    let mut lines = vec![headline(context, job)];
    lines.extend(job.row.failure.iter().map(|why| format!("  {why}")));
    lines.extend(
        shown
            .iter()
            .zip(&items)
            .map(|(item, is)| format!("{:>4}  {:<7}  {}", item.id, is.state, jobs::line(item))),
    );
    lines.push(paging::summary(skipped, shown.len(), job.items.len(), "to see the rest"));
    Answer::new(lines.join("\n"), Output { jobs: vec![data(context, job)], total: 1, items })
}

fn headline(context: &Context, job: &Job) -> String {
    let items: Vec<&Item> = job.items.iter().collect();
    let (done, undone) = job.counts();
    let state = job.state();
    let words = state.word().replace('_', " ");
    let part = match state {
        JobState::Completed | JobState::Undone => String::new(),
        JobState::PartlyUndone => format!(" {undone} of {done}"),
        _ => format!(" {done} of {}", items.len()),
    };
    let time = local_short(job.row.began.saturating_mul(1_000_000));
    let now = progress(context, job);
    let now = now.map(|now| format!(" ({} {} of {})", now.phase, now.done, now.total));
    let now = now.unwrap_or_default();
    let lost = if texts_kept(job) { "" } else { "; the journal no longer has all of its texts" };
    format!("{}  {time}  {words}{part}{now}  {}{lost}", job.id(), sentence(&items))
}

/// None for a caller with a limited view: links may follow in files outside it.
fn progress(context: &Context, job: &Job) -> Option<JobProgress> {
    context.running_jobs.progress(job.row.id).filter(|_| context.vault.view().is_all())
}

fn texts_kept(job: &Job) -> bool {
    job.done.iter().flatten().all(|change| change.texts_kept)
}

fn data(context: &Context, job: &Job) -> JobData {
    let items: Vec<&Item> = job.items.iter().collect();
    let (done, undone) = job.counts();
    let time = |millis: i64| local(millis.saturating_mul(1_000_000));
    JobData {
        job: job.id(),
        plan: job.row.plan.cast_unsigned(),
        identity: job.row.identity.clone(),
        state: job.state().word(),
        summary: sentence(&items),
        done,
        undone,
        total: items.len(),
        began: time(job.row.began),
        ended: job.row.ended.map(time),
        caller: job.row.caller.clone(),
        failure: job.row.failure.clone(),
        change_set: job.change_set().map(|set| set.0),
        texts_kept: texts_kept(job),
        folders: plans::folders(&job.items),
        progress: progress(context, job),
    }
}
