//! Jobs: plans that are applied, piece by piece, and what the journal knows of them.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::json;

use super::marks;
use super::news::News;
use super::plans::{self, not_kept, sentence};
use super::text_file::count;
use super::{Context, ToolError};
use crate::edits::{Editor, EditsError, ReadOnly, Whole};
use crate::journal::{ChangeSetId, JournalError, ListedChange, Origin, UndoError};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::organize::applying::{self, Stale};
use crate::organize::job::{self, State, changes_of, follow_own_changes};
use crate::organize::plan::{Item, Plan};
use crate::organize::views::View;
use crate::store::enabled_rules::RuleHit;
use crate::store::jobs::JobRow;

/// Items that an error names.
const MAX_NAMED: usize = 20;

/// Characters of what a person is shown who has to agree.
const OUTLINE: usize = 4_000;

/// A job, with what the journal has of it.
pub(super) struct Job {
    pub row: JobRow,
    /// All its items, on the revisions that they were planned on.
    pub items: Vec<Item>,
    /// The numbers of the items of each piece. The first ones are done.
    pub pieces: Vec<Vec<u32>>,
    /// What each piece did that is done.
    pub done: Vec<Vec<ListedChange>>,
}

/// The turn of a job in the journal: what it changes is one change set.
fn turn(id: i64) -> String {
    format!("job-{id}")
}

impl Job {
    /// A job as it is kept.
    ///
    /// # Errors
    /// Its row or its changes cannot be read.
    pub fn read(context: &Context, row: JobRow) -> Result<Self, ToolError> {
        let fault = |error: serde_json::Error| {
            ToolError::plain(ErrorCode::IoError, format!("job {} cannot be read: {error}", row.id))
        };
        let items = serde_json::from_str(&row.items).map_err(fault)?;
        let pieces = serde_json::from_str(&row.pieces).map_err(fault)?;
        let mut job = Self { row, items, pieces, done: Vec::new() };
        job.look(context)?;
        Ok(job)
    }

    /// Asks the journal what is done.
    fn look(&mut self, context: &Context) -> Result<(), ToolError> {
        self.done = context.journal.history().operations_of_turn(&turn(self.row.id))?;
        Ok(())
    }

    /// The job of this number, if the caller may see all of its notes.
    ///
    /// # Errors
    /// There is none.
    pub fn find(context: &Context, id: u64) -> Result<Self, ToolError> {
        let row = context.journal.store().jobs.get(id.cast_signed()).map_err(not_kept)?;
        let job = row.map(|row| Self::read(context, row)).transpose()?;
        job.filter(|job| plans::is_seen(context.vault.view(), &job.items)).ok_or_else(|| {
            let hint = "list_jobs shows those that there are";
            ToolError::new(ErrorCode::NotFound, format!("there is no job {id}"), hint)
        })
    }

    /// Its number.
    pub fn id(&self) -> u64 {
        self.row.id.cast_unsigned()
    }

    /// The enabled rules by which it was begun, by number; none where somebody asked for it.
    pub fn enabled_rules(&self) -> Vec<i64> {
        serde_json::from_str(&self.row.rules).unwrap_or_default()
    }

    /// The change set that it is.
    pub fn change_set(&self) -> Option<ChangeSetId> {
        self.done.first()?.first().map(|change| change.id.set)
    }

    /// The items that are done, each with what was done for it.
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

    /// How many items are done, and how many of these were taken back.
    pub fn counts(&self) -> (usize, usize) {
        let items = self.done_items();
        (items.len(), items.iter().filter(|(_, changes)| is_undone(changes)).count())
    }

    /// Where it stands, as the journal knows it.
    pub fn state(&self) -> State {
        let kept = State::of(&self.row.state).unwrap_or(State::Failed);
        match (kept, self.counts()) {
            (State::Running, _) | (_, (_, 0)) => kept,
            (_, (done, undone)) if done == undone => State::Undone,
            _ => State::PartlyUndone,
        }
    }

    /// Tells where it stands.
    pub fn tell(&self, context: &Context, state: &'static str) {
        let done = self.pieces.iter().zip(&self.done).map(|(piece, _)| piece.len()).sum();
        context.listeners.tell(&News::Job {
            job: self.id(),
            plan: self.row.plan.cast_unsigned(),
            state,
            done,
            total: self.items.len(),
            folders: plans::folders(&self.items),
        });
    }

    /// Keeps that it stands otherwise.
    fn set(
        &mut self,
        context: &Context,
        state: State,
        failure: Option<String>,
    ) -> Result<(), ToolError> {
        self.row.state = state.word().to_owned();
        self.row.failure = failure;
        self.row.ended = (state != State::Running).then(|| context.clock.now().timestamp_millis());
        self.row.pieces = json(&self.pieces);
        if state != State::Running {
            marks::keep(context, self.done_items())?;
            self.store_hits(context)?;
        }
        context.journal.store().jobs.update(&self.row).map_err(not_kept)?;
        self.tell(context, state.word());
        Ok(())
    }

    /// Stores what was done, where rules began it by themselves.
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
        context.journal.store().enabled_rules.add_hits(&hits).map_err(not_kept)
    }

    /// The items that are not done, as the vault is now as far as this job itself changed it.
    pub fn left(&self) -> Vec<Item> {
        let done: HashSet<u32> =
            self.pieces.iter().zip(&self.done).flat_map(|(piece, _)| piece).copied().collect();
        let mut left: Vec<Item> =
            self.items.iter().filter(|item| !done.contains(&item.id)).cloned().collect();
        follow_own_changes(&mut left, &self.done);
        left
    }

    /// The error for what cannot be done with a job where it stands.
    pub fn wrong_state(&self, hint: impl Into<String>) -> ToolError {
        let state = self.state().word();
        let words = state.replace('_', " ");
        ToolError {
            data: Some(json!({ "job": self.id(), "state": state })),
            ..ToolError::new(ErrorCode::WrongState, format!("job {} is {words}", self.id()), hint)
        }
    }
}

/// Whether all of this was taken back.
pub(super) fn is_undone(changes: &[&ListedChange]) -> bool {
    !changes.is_empty() && changes.iter().all(|change| change.undone_by.is_some())
}

/// What is to be applied.
pub(super) struct Wanted<'a> {
    /// The number of the plan.
    pub plan: u64,
    /// The identity of that plan.
    pub identity: &'a str,
    /// The items, each on the revision that it has to be.
    pub items: Vec<Item>,
    /// Whether items that do not fit the vault any more are left out.
    pub skip_stale: bool,
}

/// What was applied, or would be.
pub(super) struct Applied {
    pub items: Vec<Item>,
    /// Items that were left out, since they do not fit the vault any more.
    pub skipped: Vec<Stale>,
    /// Files in which links follow.
    pub relinked: usize,
}

/// Looks at every item before anything changes: those that fit the vault, and those that do not, which are an error
/// unless they are to be left out.
///
/// # Errors
/// [`ErrorCode::StalePlan`] with all that do not fit.
pub(super) fn look(
    context: &Context,
    mut items: Vec<Item>,
    skip_stale: bool,
) -> Result<(Vec<Item>, Vec<Stale>), ToolError> {
    let mut skipped: Vec<Stale> = Vec::new();
    // What is left out keeps its place, where another may have wanted to go.
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
    let message = format!("{} no longer {fit} the vault: {lines}", count(stale.len(), "item"));
    let hint =
        "nothing was changed; make the plan again, or leave these items out with `skip_stale`";
    ToolError {
        data: Some(json!({ "stale": items })),
        ..ToolError::new(ErrorCode::StalePlan, message, hint)
    }
}

/// Says what applying these items would do to links; nothing is changed.
pub(super) fn preview(context: &Context, items: &[Item]) -> Result<usize, ToolError> {
    let changes = applying::changes(&context.vault, &items.iter().collect::<Vec<_>>())
        .map_err(|stale| stale_plan(&stale))?;
    Ok(context.editor().preview(&changes, ReadOnly::Refuse)?.plan.rewrites.len())
}

/// Whether these items of a plan can be a new job.
///
/// # Errors
/// [`ErrorCode::WrongState`]: a job of the plan runs or can be resumed, or all of them are done already.
pub(super) fn check_not_begun(
    context: &Context,
    plan: u64,
    identity: &str,
    items: &[Item],
) -> Result<(), ToolError> {
    for row in context.journal.store().jobs.list().map_err(not_kept)? {
        if row.plan != plan.cast_signed() {
            continue;
        }
        let job = Job::read(context, row)?;
        let id = job.id();
        let has = |item: &Item| job.items.iter().any(|one| one.id == item.id);
        match job.state() {
            State::Running => return Err(job.wrong_state("wait for its end")),
            State::Interrupted => {
                let hint = format!(
                    "resume it: apply_plan with `job`: {id}; or take it back: rollback_job"
                );
                return Err(job.wrong_state(hint));
            }
            State::Completed if job.row.identity == identity && items.iter().all(has) => {
                return Err(job.wrong_state("it applied all of this; plan anew with plan_changes"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Begins a job and applies its items.
///
/// # Errors
/// [`ErrorCode::StalePlan`]; the gate's refusal, a person who has to agree, and then there is no job; what
/// stops it later, as [`go_on`] says.
pub(super) fn begin(context: &Context, wanted: Wanted<'_>) -> Result<(Job, Applied), ToolError> {
    let (items, skipped) = look(context, wanted.items, wanted.skip_stale)?;
    let row = JobRow {
        plan: wanted.plan.cast_signed(),
        identity: wanted.identity.to_owned(),
        state: State::Running.word().to_owned(),
        began: context.clock.now().timestamp_millis(),
        caller: context.origin.caller.clone(),
        whole: context.vault.view().is_all(),
        items: json(&items),
        pieces: json(&cut(context, &items)),
        rules: json(&context.rules),
        ..JobRow::default()
    };
    let most = context.settings.organize.keep_jobs;
    let id = context.journal.store().jobs.begin(&row, most).map_err(not_kept)?;
    let mut job = Job::read(context, JobRow { id, ..row })?;
    match run(context, &mut job) {
        Ok(relinked) => Ok((job, Applied { items, skipped, relinked })),
        Err(Stopped::BeforeAnything(error)) => {
            context.journal.store().jobs.delete(id).map_err(not_kept)?;
            Err(error)
        }
        Err(Stopped::Later(error)) => Err(error),
    }
}

/// Goes on with a job that was interrupted.
///
/// # Errors
/// [`ErrorCode::WrongState`] of any other; as [`begin`].
pub(super) fn go_on(
    context: &Context,
    job: &mut Job,
    skip_stale: bool,
) -> Result<Applied, ToolError> {
    if job.state() != State::Interrupted {
        return Err(job.wrong_state("only a job that was interrupted can be resumed"));
    }
    let (items, skipped) = look(context, job.left(), skip_stale)?;
    let before = job.row.clone();
    job.pieces.truncate(job.done.len());
    job.pieces.extend(cut(context, &items));
    let out: HashSet<u32> = skipped.iter().map(|one| one.item).collect();
    job.items.retain(|item| !out.contains(&item.id));
    job.row.items = json(&job.items);
    job.set(context, State::Running, None)?;
    match run(context, job) {
        Ok(relinked) => Ok(Applied { items, skipped, relinked }),
        Err(Stopped::BeforeAnything(error)) => {
            context.journal.store().jobs.update(&before).map_err(not_kept)?;
            job.tell(context, State::Interrupted.word());
            Err(error)
        }
        Err(Stopped::Later(error)) => Err(error),
    }
}

fn cut(context: &Context, items: &[Item]) -> Vec<Vec<u32>> {
    let all: Vec<&Item> = items.iter().collect();
    let atomic = context.settings.organize.atomic_items.max(1);
    match all.len() {
        0 => Vec::new(),
        number if number <= atomic => vec![all.iter().map(|item| item.id).collect()],
        _ => job::pieces(&all, job::PIECE.min(atomic)),
    }
}

/// What stopped a job.
enum Stopped {
    /// It was not agreed to, so that there is none.
    BeforeAnything(ToolError),
    Later(ToolError),
}

/// Applies the pieces that are not done, and gives the number of files in which links followed.
fn run(context: &Context, job: &mut Job) -> Result<usize, Stopped> {
    use Stopped::{BeforeAnything, Later};
    let running = context.running_jobs.begin(job.row.id);
    let left = job.left();
    let all: Vec<&Item> = left.iter().collect();
    let pieces = job.pieces.len() - job.done.len();
    let identity = identity(&job.row.identity, &all);
    let outline = outline(&all);
    let reason = format!(
        "it is too long to be applied all at once: {} in {pieces} pieces",
        count(all.len(), "item")
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
        let changes = applying::changes(&context.vault, &all)
            .map_err(|stale| BeforeAnything(stale_plan(&stale)))?;
        editor.propose(&title, changes).map_err(|error| BeforeAnything(error.into()))?;
        let number = |is: &dyn Fn(&Item) -> bool| all.iter().filter(|item| is(item)).count();
        let (deleted, moved) = (number(&|item| item.trash), number(&Item::moves));
        let limits = context.journal.check_limits(deleted, moved, &origin);
        limits.map_err(|error| BeforeAnything(error.into()))?;
        job.tell(context, State::Running.word());
    }
    let parts = Whole { is_part: pieces > 1, ..whole };
    let editor = Editor { whole: Some(parts), ..editor };
    let mut relinked = 0;
    while job.done.len() < job.pieces.len() {
        if context.cancel.is_cancelled() || running.is_to_stop() {
            return Err(stop(context, job, ToolError::cancelled()));
        }
        match piece(context, job, editor, &title) {
            Ok(files) => relinked += files,
            Err(PieceError::NotAgreed(error)) if job.done.is_empty() => {
                return Err(BeforeAnything(error));
            }
            Err(PieceError::NotAgreed(error) | PieceError::Other(error)) => {
                return Err(stop(context, job, error));
            }
        }
        if pieces > 1 {
            job.tell(context, State::Running.word());
        }
    }
    job.set(context, State::Completed, None).map_err(Later)?;
    Ok(relinked)
}

enum PieceError {
    /// The gate refused, or a person has to agree first.
    NotAgreed(ToolError),
    Other(ToolError),
}

/// Applies the next piece, and gives the number of files in which links followed.
fn piece(
    context: &Context,
    job: &mut Job,
    editor: Editor<'_>,
    title: &str,
) -> Result<usize, PieceError> {
    let next: HashSet<u32> = job.pieces[job.done.len()].iter().copied().collect();
    let mut left = job.left();
    left.retain(|item| next.contains(&item.id));
    let changes = applying::changes(&context.vault, &left.iter().collect::<Vec<_>>())
        .map_err(|stale| PieceError::Other(stale_plan(&stale)))?;
    if changes.is_empty() {
        // Nothing that the journal could know of.
        let at = job.done.len();
        job.pieces.remove(at);
        job.row.pieces = json(&job.pieces);
        let kept = context.journal.store().jobs.update(&job.row);
        kept.map_err(|error| PieceError::Other(not_kept(error)))?;
        return Ok(0);
    }
    let applied = editor.apply_with_links(title.to_owned(), changes, ReadOnly::Refuse);
    let (_, followed) = applied.map_err(|error| match error {
        EditsError::Refused(_) | EditsError::Journal(JournalError::Limit { .. }) => {
            PieceError::NotAgreed(error.into())
        }
        error => PieceError::Other(error.into()),
    })?;
    job.look(context).map_err(PieceError::Other)?;
    Ok(followed.plan.rewrites.len())
}

/// Ends a job before its end, and gives the error that says so.
fn stop(context: &Context, job: &mut Job, error: ToolError) -> Stopped {
    let state = match error.code {
        _ if job.done.is_empty() && error.code != ErrorCode::Cancelled => State::Failed,
        ErrorCode::Cancelled if !context.cancel.is_late() => State::Cancelled,
        _ => State::Interrupted,
    };
    if let Err(error) = job.set(context, state, Some(error.text())) {
        tracing::error!(%error, job = job.row.id, "that a job ended early was not kept");
    }
    let (done, all) = (job.counts().0, job.items.len());
    let mut data = error.data.unwrap_or_else(|| json!({}));
    data["job"] = json!(job.id());
    data["state"] = json!(state.word());
    data["done"] = json!(done);
    let id = job.id();
    let hint = match (state, error.hint) {
        (State::Interrupted, _) => {
            format!("resume it: apply_plan with `job`: {id}; or take it back: rollback_job")
        }
        (_, _) if done > 0 => format!("rollback_job takes back what is done of job {id}"),
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

/// What stands for these items of a plan: what a person agrees to.
fn identity(plan: &str, items: &[&Item]) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(plan.as_bytes());
    for item in items {
        hash.update(&item.id.to_le_bytes());
    }
    hash.finalize().to_hex().to_string()
}

/// The folders as they are and as they will be, for who has to agree.
fn outline(items: &[&Item]) -> String {
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

/// An item that could not be taken back.
pub(super) struct Blocked {
    /// Its number.
    pub item: u32,
    pub path: String,
    pub reason: String,
}

/// What was taken back.
pub(super) struct TakenBack {
    /// How many items.
    pub undone: usize,
    pub blocked: Vec<Blocked>,
    /// The change set that did it; none where every item is blocked.
    pub change_set: Option<u64>,
    /// What a person should hear of it, one sentence each.
    pub notes: Vec<String>,
}

/// Takes back what a job did: all of it, or the items of these numbers with what stands on them. Items that cannot be
/// taken back stay and are named.
///
/// # Errors
/// [`ErrorCode::WrongState`]: it runs, or nothing of it stands. The gate's refusal. Nothing was changed then.
pub(super) fn take_back(
    context: &Context,
    job: &mut Job,
    only: &[u32],
) -> Result<TakenBack, ToolError> {
    let (done, undone) = job.counts();
    if job.state() == State::Running || done == undone {
        return Err(job.wrong_state("list_jobs shows what is done of each job"));
    }
    let set = job.change_set().map(|set| context.journal.history().change_set(set)).transpose()?;
    let set =
        set.flatten().ok_or_else(|| job.wrong_state("the journal does not have it any more"))?;
    let standing = job.done_items();
    let all: Vec<&Item> = standing.iter().map(|(item, _)| *item).collect();
    if let Some(id) = only.iter().find(|id| !all.iter().any(|item| item.id == **id)) {
        let message = format!("job {} did nothing with an item {id}", job.id());
        return Err(ToolError::new(
            ErrorCode::InvalidInput,
            message,
            "list_jobs with `job` has the numbers",
        ));
    }
    let is_all = only.is_empty();
    let chosen: HashSet<u32> = match is_all {
        true => all.iter().map(|item| item.id).collect(),
        false => job::with_dependents(&all, only).into_iter().collect(),
    };
    let mut left: Vec<(Item, BTreeSet<u32>)> = standing
        .iter()
        .filter(|(item, changes)| chosen.contains(&item.id) && !is_undone(changes))
        .map(|(item, changes)| {
            ((*item).clone(), changes.iter().map(|change| change.id.number).collect())
        })
        .collect();
    // Links that followed in other files go back with the whole.
    let own: BTreeSet<u32> =
        standing.iter().flat_map(|(_, changes)| changes).map(|change| change.id.number).collect();
    let others: BTreeSet<u32> = set
        .changes
        .iter()
        .map(|change| change.id.number)
        .filter(|one| !own.contains(one))
        .collect();
    let mut blocked = Vec::new();
    let taken = loop {
        if left.is_empty() {
            break None;
        }
        let mut numbers: BTreeSet<u32> =
            left.iter().flat_map(|(_, numbers)| numbers).copied().collect();
        // Not where an item stays: links to it stay as well, and the others follow what goes back.
        if is_all && blocked.is_empty() {
            numbers.extend(&others);
        }
        let items: Vec<&Item> = left.iter().map(|(item, _)| item).collect();
        let outline = outline(&items);
        let whole = Whole { identity: None, outline: &outline, reason: None, is_part: false };
        let editor = Editor { whole: Some(whole), ..context.editor() };
        let title = format!("undo job {}: {}", job.id(), sentence(&items));
        match editor.undo_some(&title, &set, &numbers) {
            Ok((undone, _)) => break Some(undone),
            Err(EditsError::Undo(error)) => {
                let at = in_the_way(&error)
                    .and_then(|path| left.iter().position(|(item, _)| is_of(item, path)));
                let Some(at) = at else { return Err(error.into()) };
                let (item, _) = left.remove(at);
                let path = item.to.clone().unwrap_or_else(|| item.path.clone());
                blocked.push(Blocked { item: item.id, path, reason: error.to_string() });
            }
            Err(error) => return Err(error.into()),
        }
    };
    job.look(context)?;
    job.tell(context, job.state().word());
    Ok(TakenBack {
        undone: if taken.is_some() { left.len() } else { 0 },
        blocked,
        change_set: taken.as_ref().map(|taken| taken.applied.change_set.0),
        notes: taken.map(|taken| taken.notes).unwrap_or_default(),
    })
}

/// The file that keeps an undo from being made.
fn in_the_way(error: &UndoError) -> Option<&VaultPath> {
    match error {
        UndoError::Changed { path, .. }
        | UndoError::NotThere { path, .. }
        | UndoError::Taken { path, .. }
        | UndoError::NotKept { path, .. }
        | UndoError::NotInTrash { path }
        | UndoError::Emptied { path } => Some(path),
        UndoError::Unknown(_)
        | UndoError::AlreadyUndone { .. }
        | UndoError::Nothing { .. }
        | UndoError::Refused
        | UndoError::Journal(_) => None,
    }
}

fn is_of(item: &Item, path: &VaultPath) -> bool {
    item.path == path.as_str() || item.to.as_deref() == Some(path.as_str())
}

/// After a start, for whoever holds the vault alone: jobs that ran are interrupted, or done if the journal has all of
/// them.
///
/// # Errors
/// What cannot be read or kept.
pub fn settle(context: &Context) -> Result<(), ToolError> {
    let jobs = &context.journal.store().jobs;
    for row in jobs.list().map_err(not_kept)? {
        if row.state != State::Running.word() {
            continue;
        }
        let mut job = Job::read(context, row)?;
        let state = match job.done.len() >= job.pieces.len() {
            true => State::Completed,
            false => State::Interrupted,
        };
        job.set(context, state, None)?;
    }
    Ok(())
}

fn json(value: &impl serde::Serialize) -> String {
    // Texts, numbers and lists of these cannot fail to be written.
    serde_json::to_string(value).unwrap_or_default()
}
