//! Jobs: applying plans piece by piece.

use std::collections::HashSet;

use serde_json::json;

use super::plans::sentence;
use super::running_jobs::{JobProgress, RunningJob};
use super::stored_job::{Job, json, turn};
use super::{Context, ToolError};
use crate::edits::{Editor, EditsError, ReadOnly, Whole};
use crate::journal::{Change, JournalError, Origin, Outcome, Phase, Progress};
use crate::note::code::ErrorCode;
use crate::note::counted::counted;
use crate::organize::applying::{self, Stale};
use crate::organize::job::{self, JobState};
use crate::organize::plan::{Item, Plan};
use crate::organize::views::View;
use crate::store::jobs::JobRow;

/// The most items listed in an error.
const MAX_NAMED: usize = 20;

/// The most characters of an approval's preview.
const OUTLINE: usize = 4_000;

pub(super) struct JobRequest<'a> {
    pub plan: u64,
    pub identity: &'a str,
    /// The items at their required revisions.
    pub items: Vec<Item>,
    /// Whether stale items are left out.
    pub skip_stale: bool,
}

/// The result of applying, or of a dry run.
pub(super) struct Applied {
    pub items: Vec<Item>,
    /// Stale items that were left out.
    pub skipped: Vec<Stale>,
    /// The number of files with updated links.
    pub relinked: usize,
    /// Folders that were not removed because they are not empty.
    pub folders_left: Vec<String>,
}

/// The result of applying pieces of a job, other than its items.
#[derive(Default)]
struct SideEffects {
    /// The number of files with updated links.
    relinked: usize,
    folders_left: Vec<String>,
}

/// Checks every item before anything changes. Stale items are left out with `skip_stale`, else an error.
///
/// # Errors
/// [`ErrorCode::StalePlan`] with all stale items.
pub(super) fn check_items(
    context: &Context,
    mut items: Vec<Item>,
    skip_stale: bool,
) -> Result<(Vec<Item>, Vec<Stale>), ToolError> {
    let mut skipped: Vec<Stale> = Vec::new();
    // An omitted item keeps its path, which may be the target of another.
    loop {
        let stale = match applying::changes(&context.vault, &items.iter().collect::<Vec<_>>()) {
            Ok(_) => return Ok((items, skipped)),
            Err(stale) => stale,
        };
        if !skip_stale {
            return Err(stale_plan(&stale));
        }
        let out: HashSet<u32> = stale.iter().map(|one| one.item).collect();
        let before = items.len();
        items.retain(|item| !out.contains(&item.id));
        if items.len() == before {
            return Err(stale_plan(&stale));
        }
        skipped.extend(stale);
    }
}

fn stale_plan(stale: &[Stale]) -> ToolError {
    let named = stale.iter().take(MAX_NAMED).map(|one| format!("`{}`: {}", one.path, one.reason));
    let mut lines = named.collect::<Vec<_>>().join("; ");
    if stale.len() > MAX_NAMED {
        lines.push_str(&format!("; and {} more", stale.len() - MAX_NAMED));
    }
    let items: Vec<_> = stale
        .iter()
        .map(|one| json!({ "item": one.item, "path": one.path, "reason": one.reason }))
        .collect();
    let fit = if stale.len() == 1 { "fits" } else { "fit" };
    let message = format!("{} no longer {fit} the vault: {lines}", counted(stale.len(), "item"));
    let hint =
        "nothing was changed; make the plan again, or leave these items out with `skip_stale`";
    ToolError {
        data: Some(json!({ "stale": items })),
        ..ToolError::new(ErrorCode::StalePlan, message, hint)
    }
}

/// Previews the link updates of applying these items.
pub(super) fn preview(context: &Context, items: &[Item]) -> Result<usize, ToolError> {
    let changes = applying::changes(&context.vault, &items.iter().collect::<Vec<_>>())
        .map_err(|stale| stale_plan(&stale))?;
    Ok(context.editor().preview(&changes, ReadOnly::Refuse)?.plan.rewrites.len())
}

/// Checks that these items of a plan can be a new job.
///
/// # Errors
/// [`ErrorCode::WrongState`]: a job of the plan runs or can be resumed, or all items are already done.
pub(super) fn check_not_begun(
    context: &Context,
    plan: u64,
    identity: &str,
    items: &[Item],
) -> Result<(), ToolError> {
    for row in context.journal.store().jobs.list()? {
        if row.plan != plan.cast_signed() {
            continue;
        }
        let job = Job::read(context, row)?;
        let id = job.id();
        let has = |item: &Item| job.items.iter().any(|one| one.id == item.id);
        match job.state() {
            JobState::Running => return Err(job.wrong_state("wait for its end")),
            JobState::Interrupted => {
                let hint =
                    format!("resume it: apply_plan with `job`: {id}; or undo it: rollback_job");
                return Err(job.wrong_state(hint));
            }
            JobState::Completed if job.row.identity == identity && items.iter().all(has) => {
                return Err(
                    job.wrong_state("it applied all of this; make a new plan with plan_changes")
                );
            }
            _ => {}
        }
    }
    Ok(())
}

/// Starts a job and applies its items.
///
/// # Errors
/// [`ErrorCode::StalePlan`]; the gate's refusal or a needed approval, without a job; later failures as in [`resume`].
pub(super) fn begin(
    context: &Context,
    request: JobRequest<'_>,
) -> Result<(Job, Applied), ToolError> {
    let (items, skipped) = check_items(context, request.items, request.skip_stale)?;
    let row = JobRow {
        plan: request.plan.cast_signed(),
        identity: request.identity.to_owned(),
        state: JobState::Running.word().to_owned(),
        began: context.clock.now().timestamp_millis(),
        caller: context.origin.caller.clone(),
        whole: context.vault.view().is_all(),
        items: json(&items),
        pieces: json(&pieces_of(context, &items)),
        rules: json(&context.rules),
        ..JobRow::default()
    };
    let most = context.settings.organize.keep_jobs;
    let id = context.journal.store().jobs.begin(&row, most)?;
    let mut job = Job::read(context, JobRow { id, ..row })?;
    match run(context, &mut job) {
        Ok(SideEffects { relinked, folders_left }) => {
            Ok((job, Applied { items, skipped, relinked, folders_left }))
        }
        Err(Stopped::BeforeAnything(error)) => {
            context.journal.store().jobs.delete(id)?;
            Err(error)
        }
        Err(Stopped::Later(error)) => Err(error),
    }
}

/// Resumes an interrupted job.
///
/// # Errors
/// [`ErrorCode::WrongState`] for a job in another state; as [`begin`].
pub(super) fn resume(
    context: &Context,
    job: &mut Job,
    skip_stale: bool,
) -> Result<Applied, ToolError> {
    if job.state() != JobState::Interrupted {
        return Err(job.wrong_state("only a job that was interrupted can be resumed"));
    }
    let (items, skipped) = check_items(context, job.remaining(), skip_stale)?;
    let before = job.row.clone();
    job.pieces.truncate(job.done.len());
    job.pieces.extend(pieces_of(context, &items));
    let out: HashSet<u32> = skipped.iter().map(|one| one.item).collect();
    job.items.retain(|item| !out.contains(&item.id));
    job.row.items = json(&job.items);
    job.set(context, JobState::Running, None)?;
    match run(context, job) {
        Ok(SideEffects { relinked, folders_left }) => {
            Ok(Applied { items, skipped, relinked, folders_left })
        }
        Err(Stopped::BeforeAnything(error)) => {
            context.journal.store().jobs.update(&before)?;
            job.notify(context, JobState::Interrupted.word());
            Err(error)
        }
        Err(Stopped::Later(error)) => Err(error),
    }
}

fn pieces_of(context: &Context, items: &[Item]) -> Vec<Vec<u32>> {
    let all: Vec<&Item> = items.iter().collect();
    let atomic = context.settings.organize.atomic_items.max(1);
    match all.len() {
        0 => Vec::new(),
        number if number <= atomic => vec![all.iter().map(|item| item.id).collect()],
        _ => job::pieces(&all, job::PIECE.min(atomic)),
    }
}

/// Why a job stopped.
enum Stopped {
    /// It was not approved, so there is no job.
    BeforeAnything(ToolError),
    Later(ToolError),
}

/// The fewest files for which a job in one piece reports progress; fewer are done before a person could read it.
const REPORTED_FROM: usize = 100;

/// Reports the progress of a job in one piece; other jobs report each piece.
#[derive(Debug)]
struct ProgressReporter<'a> {
    context: &'a Context,
    running: &'a RunningJob,
    job: &'a Job,
}

impl Progress for ProgressReporter<'_> {
    fn advanced(&self, phase: Phase, done: usize, total: usize) {
        let now = JobProgress { phase: phase.word(), done, total };
        if total >= REPORTED_FROM && self.running.record(now) {
            let event = self.job.event(JobState::Running.word(), Some(now));
            self.context.listeners.notify(&event);
        }
    }
}

/// Applies the remaining pieces.
fn run(context: &Context, job: &mut Job) -> Result<SideEffects, Stopped> {
    use Stopped::{BeforeAnything, Later};
    let running = context.running_jobs.begin(job.row.id);
    let remaining = job.remaining();
    let all: Vec<&Item> = remaining.iter().collect();
    let pieces = job.pieces.len() - job.done.len();
    let identity = identity(&job.row.identity, &all);
    let outline = outline(&all);
    let reason = format!(
        "it is applied in {pieces} pieces, and a crash or a stop between them leaves the rest undone"
    );
    let whole = Whole {
        identity: Some(&identity),
        outline: &outline,
        reason: (pieces > 1).then_some(&*reason),
        is_part: false,
    };
    let origin = Origin { turn: Some(turn(job.row.id)), ..context.origin.clone() };
    let editor = Editor { origin: &origin, whole: Some(whole), ..context.editor() };
    let title = format!("plan {} (job {}): {}", job.row.plan, job.row.id, sentence(&all));
    if pieces > 1 {
        let mut changes = applying::changes(&context.vault, &all)
            .map_err(|stale| BeforeAnything(stale_plan(&stale)))?;
        changes.extend(applying::removals(&context.vault, &job.items));
        editor.propose(&title, changes).map_err(|error| BeforeAnything(error.into()))?;
        let number = |is: &dyn Fn(&Item) -> bool| all.iter().filter(|item| is(item)).count();
        let (deleted, moved) = (number(&|item| item.trash), number(&Item::moves));
        let limits = context.journal.check_limits(deleted, moved, &origin);
        limits.map_err(|error| BeforeAnything(error.into()))?;
        job.notify(context, JobState::Running.word());
    }
    let parts = Whole { is_part: pieces > 1, ..whole };
    let editor = Editor { whole: Some(parts), ..editor };
    let mut beside = SideEffects::default();
    while job.done.len() < job.pieces.len() {
        if context.cancel.is_cancelled() || running.is_to_stop() {
            return Err(stop(context, job, ToolError::cancelled()));
        }
        match piece(context, job, editor, &title, (pieces == 1).then_some(&running)) {
            Ok(done) => {
                beside.relinked += done.relinked;
                beside.folders_left.extend(done.folders_left);
            }
            Err(PieceError::NotAgreed(error)) if job.done.is_empty() => {
                return Err(BeforeAnything(error));
            }
            Err(PieceError::NotAgreed(error) | PieceError::Other(error)) => {
                return Err(stop(context, job, error));
            }
        }
        if pieces > 1 {
            job.notify(context, JobState::Running.word());
        }
    }
    job.set(context, JobState::Completed, None).map_err(Later)?;
    Ok(beside)
}

enum PieceError {
    /// The gate refused, or a person has to approve first.
    NotAgreed(ToolError),
    Other(ToolError),
}

/// Applies the next piece; the last one also removes the folders that the job leaves empty.
fn piece(
    context: &Context,
    job: &mut Job,
    editor: Editor<'_>,
    title: &str,
    running: Option<&RunningJob>,
) -> Result<SideEffects, PieceError> {
    let next: HashSet<u32> = job.pieces[job.done.len()].iter().copied().collect();
    let mut remaining = job.remaining();
    remaining.retain(|item| next.contains(&item.id));
    let mut changes = applying::changes(&context.vault, &remaining.iter().collect::<Vec<_>>())
        .map_err(|stale| PieceError::Other(stale_plan(&stale)))?;
    if changes.is_empty() {
        // The journal has no record of it.
        let at = job.done.len();
        job.pieces.remove(at);
        job.row.pieces = json(&job.pieces);
        let stored = context.journal.store().jobs.update(&job.row);
        stored.map_err(|error| PieceError::Other(error.into()))?;
        return Ok(SideEffects::default());
    }
    if job.done.len() + 1 == job.pieces.len() {
        changes.extend(applying::removals(&context.vault, &job.items));
    }
    let removed: Vec<Option<String>> = changes.iter().map(removed_folder).collect();
    let reporter = running.map(|running| ProgressReporter { context, running, job });
    let progress = reporter.as_ref().map_or(editor.progress, |reporter| reporter);
    let applied =
        Editor { progress, ..editor }.apply_with_links(title.to_owned(), changes, ReadOnly::Refuse);
    let (applied, followed) = applied.map_err(|error| match error {
        EditsError::Refused(_) | EditsError::Journal(JournalError::Limit { .. }) => {
            PieceError::NotAgreed(error.into())
        }
        error => PieceError::Other(error.into()),
    })?;
    job.read_new_pieces(context).map_err(PieceError::Other)?;
    let stays = |(path, outcome): (Option<String>, &Outcome)| {
        path.filter(|_| *outcome == Outcome::FolderRemoved(false))
    };
    let folders_left = removed.into_iter().zip(&applied.outcomes).filter_map(stays).collect();
    Ok(SideEffects { relinked: followed.plan.rewrites.len(), folders_left })
}

fn removed_folder(change: &Change) -> Option<String> {
    match change {
        Change::RemoveFolder { path } => Some(path.as_str().to_owned()),
        _ => None,
    }
}

/// Stops a job early, and returns the error that says so.
fn stop(context: &Context, job: &mut Job, error: ToolError) -> Stopped {
    let state = match error.code {
        _ if job.done.is_empty() && error.code != ErrorCode::Cancelled => JobState::Failed,
        ErrorCode::Cancelled if !context.cancel.is_late() => JobState::Cancelled,
        _ => JobState::Interrupted,
    };
    if let Err(error) = job.set(context, state, Some(error.text())) {
        tracing::error!(%error, job = job.row.id, "cannot store that the job ended early");
    }
    let (done, all) = (job.counts().0, job.items.len());
    let mut data = error.data.unwrap_or_else(|| json!({}));
    data["job"] = json!(job.id());
    data["state"] = json!(state.word());
    data["done"] = json!(done);
    let id = job.id();
    let hint = match (state, error.hint) {
        (JobState::Interrupted, _) => {
            format!("resume it: apply_plan with `job`: {id}; or undo it: rollback_job")
        }
        (_, _) if done > 0 => format!("rollback_job undoes what was done of job {id}"),
        (_, hint) => hint.unwrap_or_default(),
    };
    let (code, what) = match error.code {
        ErrorCode::Cancelled if context.cancel.is_late() => {
            (ErrorCode::Timeout, "its time ran out".to_owned())
        }
        ErrorCode::Cancelled => (ErrorCode::Cancelled, "it was stopped".to_owned()),
        code => (code, error.message),
    };
    Stopped::Later(ToolError {
        code,
        message: format!("job {id} ended after {done} of {all} items: {what}"),
        hint: Some(hint).filter(|hint| !hint.is_empty()),
        data: Some(data),
        ..error
    })
}

/// The identity of these items of a plan, to which an approval refers.
fn identity(plan: &str, items: &[&Item]) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(plan.as_bytes());
    for item in items {
        hash.update(&item.id.to_le_bytes());
    }
    hash.finalize().to_hex().to_string()
}

/// The folders before and after, for an approval.
pub(super) fn outline(items: &[&Item]) -> String {
    let items = items.iter().map(|item| (*item).clone()).collect();
    View::of(&Plan { items, ..Plan::default() }, OUTLINE).tree()
}

/// `Inbox/a.md -> Archive/a.md`.
pub(super) fn line(item: &Item) -> String {
    match &item.to {
        Some(to) => format!("{} -> {to}", item.path),
        None => item.path.clone(),
    }
}

/// At startup, before any other access to the vault: running jobs become interrupted, or done if the journal has all
/// their items.
pub fn settle(context: &Context) -> Result<(), ToolError> {
    let jobs = &context.journal.store().jobs;
    for row in jobs.list()? {
        if row.state != JobState::Running.word() {
            continue;
        }
        let mut job = Job::read(context, row)?;
        let is_done = job.done.len() >= job.pieces.len();
        job.set(context, if is_done { JobState::Completed } else { JobState::Interrupted }, None)?;
    }
    Ok(())
}
