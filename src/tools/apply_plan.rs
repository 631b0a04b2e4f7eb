//! `apply_plan`

use std::collections::{BTreeSet, HashSet};

use super::jobs::{self, Applied, JobRequest, check_items, preview};
use super::plans::{self, StoredPlan, sentence};
use super::prelude::*;
use super::stored_job::Job;
use super::{ReadUpdate, enabled, rules_input};
use crate::note::code::ErrorCode;
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::organize::applying::Stale;
use crate::organize::job::{JobState, with_dependencies};
use crate::organize::plan::Item;
use crate::organize::planner;

/// Edited notes that the text of an answer names.
const MAX_NAMED: usize = 20;

/// Applies a plan, or some of its items, exactly as `show_plan` shows it. All items are checked
/// first; if one no longer fits the vault, nothing changes. The changes form one job, which
/// `rollback_job` or a single `undo` undoes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyPlan {
    /// The number of the plan.
    plan: u64,
    /// The plan's identity from `show_plan`: exactly the items shown are applied.
    identity: String,
    /// Only these items, by number, and those that they depend on.
    #[serde(default)]
    items: Vec<u32>,
    /// Leave out items that no longer fit the vault.
    #[serde(default)]
    skip_stale: bool,
    /// Only report what would change.
    #[serde(default)]
    dry_run: bool,
    /// Resume this interrupted job of the plan.
    job: Option<u64>,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The job; none in a dry run.
    job: Option<u64>,
    /// The plan.
    plan: u64,
    /// `completed`, `partly_undone` if some of it was undone meanwhile, or `undone`; `planned` in a dry run.
    state: &'static str,
    /// Completed items, including earlier ones of a resumed job; in a dry run those that would be.
    done: usize,
    /// All items of the job.
    total: usize,
    /// The applied changes in words.
    summary: String,
    /// Items that were added because others depend on them.
    came_along: Vec<u32>,
    /// Notes that were edited since the plan was made, for which its rules give the same result.
    edited: Vec<String>,
    /// Items that were left out, with the reason.
    skipped: Vec<Skipped>,
    /// Files in which links follow.
    relinked: usize,
    /// Folders that were not removed because they are not empty.
    folders_left: Vec<String>,
    /// The change set, for `undo`.
    change_set: Option<u64>,
    /// The moved notes: the path before, and the path now.
    moved: Vec<(String, String)>,
    /// Whether this was a dry run.
    dry_run: bool,
}

/// An item that was left out.
#[derive(Serialize, JsonSchema)]
pub struct Skipped {
    /// Its number.
    item: u32,
    /// Its path.
    path: String,
    /// Why.
    reason: String,
}

impl From<Stale> for Skipped {
    fn from(stale: Stale) -> Self {
        Self { item: stale.item, path: stale.path, reason: stale.reason }
    }
}

impl Tool for ApplyPlan {
    const NAME: &'static str = "apply_plan";
    const OTHER_NAMES: &'static [&'static str] = &["commit_plan"];
    const TITLE: &'static str = "Apply a plan";
    const TIER: Tier = Tier::Dangerous;
    const SELDOM: bool = true;
    const KIND: ToolKind = ToolKind::Edit;
    const HEAVY: bool = true;
    // The identity of the plan that the example of `plan_changes` makes there.
    const EXAMPLE: &'static str = r#"{"plan": 1,
        "identity": "d2a7fe94682ef311e9dca3ad68ce263aa65c6a5951c9d45033b8ac6d81197d73"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        match self.job {
            Some(job) => resume(context, job, &self),
            None => apply(context, self),
        }
    }

    fn read_updates(done: &Output) -> Vec<ReadUpdate> {
        let moved = |(from, to): &(String, String)| ReadUpdate::Moved {
            from: from.clone(),
            to: to.clone(),
        };
        if done.dry_run { Vec::new() } else { done.moved.iter().map(moved).collect() }
    }
}

fn resume(context: &Context, job: u64, input: &ApplyPlan) -> Result<Answer<Output>, ToolError> {
    let mut job = Job::find(context, job)?;
    if job.row.plan.cast_unsigned() != input.plan || input.identity != job.row.identity {
        return Err(ToolError::new(
            ErrorCode::StalePlan,
            format!("job {} is of another plan or identity", job.id()),
            "list_jobs has its plan and identity",
        ));
    }
    if !input.items.is_empty() {
        let message = "a job is resumed with all that is left of it";
        return Err(ToolError::invalid(message, "leave `items` out"));
    }
    if job.state() != JobState::Interrupted {
        return Err(job.wrong_state("only a job that was interrupted can be resumed"));
    }
    if let Some(reason) = enabled::authorization_lost(context, &job.enabled_rules())? {
        let message = format!("job {} is not resumed: {reason}", job.id());
        let hint =
            "nothing was changed; undo what was done with rollback_job, or enable the rule again";
        return Err(ToolError::new(ErrorCode::StalePlan, message, hint));
    }
    let edited = ask_again(context, &mut job)?;
    if input.dry_run {
        let (items, skipped) = check_items(context, job.remaining(), input.skip_stale)?;
        let relinked = preview(context, &items)?;
        let applied = Applied { items, skipped, relinked, folders_left: Vec::new() };
        return Ok(answer(
            input,
            None,
            applied,
            MentionedItems { edited, ..MentionedItems::default() },
        ));
    }
    let applied = jobs::resume(context, &mut job, input.skip_stale)?;
    Ok(answer(input, Some(&job), applied, MentionedItems { edited, ..MentionedItems::default() }))
}

/// Evaluates the rules of a job's plan again for edited notes whose items are not done, as [`asked_again`] does. If the
/// plan is no longer stored, such items are stale.
fn ask_again(context: &Context, job: &mut Job) -> Result<Vec<String>, ToolError> {
    let stored_plan = plans::find(context, job.row.plan.cast_unsigned()).ok();
    let Some(stored_plan) =
        stored_plan.filter(|stored_plan| stored_plan.identity == job.row.identity)
    else {
        return Ok(Vec::new());
    };
    let (remaining, edited) = asked_again(context, &stored_plan, job.remaining())?;
    for now in remaining.into_iter().filter(|now| edited.contains(&now.path)) {
        if let Some(item) = job.items.iter_mut().find(|item| item.id == now.id) {
            item.revision = now.revision;
        }
    }
    Ok(edited)
}

fn apply(context: &Context, input: ApplyPlan) -> Result<Answer<Output>, ToolError> {
    let stored_plan = plans::find(context, input.plan)?;
    if input.identity != stored_plan.identity {
        return Err(ToolError::new(
            ErrorCode::StalePlan,
            format!("plan {} has changed since it was shown: its identity differs", stored_plan.id),
            "look at it with show_plan, and give the identity that it has",
        ));
    }
    let (items, came_along) = chosen_items(&stored_plan, &input.items)?;
    jobs::check_not_begun(context, stored_plan.id, &stored_plan.identity, &items)?;
    let (items, edited) = asked_again(context, &stored_plan, items)?;
    if input.dry_run {
        let (items, skipped) = check_items(context, items, input.skip_stale)?;
        let relinked = preview(context, &items)?;
        let applied = Applied { items, skipped, relinked, folders_left: Vec::new() };
        return Ok(answer(&input, None, applied, MentionedItems { along: came_along, edited }));
    }
    let wanted = JobRequest {
        plan: stored_plan.id,
        identity: &stored_plan.identity,
        items,
        skip_stale: input.skip_stale,
    };
    let (job, applied) = jobs::begin(context, wanted)?;
    Ok(answer(&input, Some(&job), applied, MentionedItems { along: came_along, edited }))
}

#[derive(Default)]
struct MentionedItems {
    along: Vec<u32>,
    /// Notes that were edited since the plan was made, for which its rules give the same result.
    edited: Vec<String>,
}

/// Evaluates the rules again for notes whose text changed since they were planned. If the effects on a note are the
/// same, they apply to its current text; otherwise its item is unchanged and stale. Returns the paths of the former.
fn asked_again(
    context: &Context,
    stored_plan: &StoredPlan,
    mut items: Vec<Item>,
) -> Result<(Vec<Item>, Vec<String>), ToolError> {
    let is_edited = |item: &Item| {
        let path = VaultPath::from_disk(&item.path);
        let now = path.and_then(|path| context.vault.read(&path).ok());
        let now = now.map(|read| read.revision.to_string());
        item.revision.is_some() && now.is_some() && item.revision != now
    };
    let by_rules = |item: &Item| !item.rules.is_empty();
    let edited: HashSet<String> = items
        .iter()
        .filter(|item| by_rules(item) && is_edited(item))
        .map(|item| item.path.clone())
        .collect();
    if edited.is_empty() || stored_plan.rules.is_empty() {
        return Ok((items, Vec::new()));
    }
    let rules = rules_input::all(context, &stored_plan.rules)?;
    let by_hand = stored_plan.plan.items.iter().filter(|item| !by_rules(item)).cloned().collect();
    let wanted =
        planner::PlanRequest { rules: &rules, items: by_hand, ..planner::PlanRequest::default() };
    let anew = plans::with_snapshot(context, &rules, |world| planner::plan(world, wanted))?;
    let bare = |item: &Item| Item {
        id: 0,
        revision: None,
        why: Vec::new(),
        problems: Vec::new(),
        empties: Vec::new(),
        ..item.clone()
    };
    let mut same = Vec::new();
    for item in items.iter_mut().filter(|item| edited.contains(&item.path)) {
        let now = anew.applicable().find(|now| now.path == item.path);
        if let Some(now) = now.filter(|now| bare(now) == bare(item)) {
            item.revision.clone_from(&now.revision);
            same.push(item.path.clone());
        }
    }
    Ok((items, same))
}

/// The items to apply, and the numbers of those that they depend on.
fn chosen_items(
    stored_plan: &StoredPlan,
    only: &[u32],
) -> Result<(Vec<Item>, Vec<u32>), ToolError> {
    let all: Vec<&Item> = stored_plan.plan.items.iter().collect();
    let invalid = |message: String, hint: &str| ToolError::invalid(message, hint);
    let find = |id: &u32| all.iter().find(|item| item.id == *id).copied();
    for id in only {
        let Some(item) = find(id) else {
            let message = format!("plan {} has no item {id}", stored_plan.id);
            return Err(invalid(message, "show_plan has the numbers"));
        };
        if let Some(problem) = item.problems.iter().find(|problem| problem.blocks) {
            return Err(invalid(
                format!("item {id} `{}` cannot be applied: {}", item.path, problem.message),
                "give it another path, or leave it out",
            ));
        }
    }
    let wanted: BTreeSet<u32> = match only {
        [] => stored_plan.plan.applicable().map(|item| item.id).collect(),
        only => with_dependencies(&all, only).into_iter().collect(),
    };
    let came_along = match only {
        [] => Vec::new(),
        only => wanted.iter().filter(|id| !only.contains(id)).copied().collect(),
    };
    let items: Vec<Item> =
        stored_plan.plan.applicable().filter(|item| wanted.contains(&item.id)).cloned().collect();
    if items.is_empty() {
        let hint = "show_plan shows why; a plan without items means that all is in order";
        return Err(invalid(format!("plan {} has nothing to apply", stored_plan.id), hint));
    }
    Ok((items, came_along))
}

fn answer(
    input: &ApplyPlan,
    job: Option<&Job>,
    applied: Applied,
    came: MentionedItems,
) -> Answer<Output> {
    let MentionedItems { along: came_along, edited } = came;
    let all: Vec<&Item> = applied.items.iter().collect();
    let summary = sentence(&all);
    let mut lines = vec![match job {
        Some(job) => {
            let set = job.change_set().map(|set| format!(", change set {set}")).unwrap_or_default();
            format!("job {} of plan {}{set}: {summary}", job.id(), input.plan)
        }
        None => format!("plan {} would {summary}; nothing was changed", input.plan),
    }];
    if !came_along.is_empty() {
        let numbers: Vec<String> = came_along.iter().map(u32::to_string).collect();
        lines.push(format!("also applied, since others depend on them: {}", numbers.join(", ")));
    }
    lines.extend(edited.iter().take(MAX_NAMED).map(|path| {
        format!("`{path}` was edited since it was planned; the rules say the same of it")
    }));
    if applied.relinked > 0 {
        lines.push(format!("links follow in {}", counted(applied.relinked, "file")));
    }
    lines.extend(
        applied.skipped.iter().map(|one| format!("left out: `{}`: {}", one.path, one.reason)),
    );
    lines.extend(
        applied
            .folders_left
            .iter()
            .map(|path| format!("the folder `{path}` stays: it is not empty")),
    );
    if let Some(job) = job {
        lines.push(format!("rollback_job with job: {} undoes it", job.id()));
    }
    let moved = all.iter().filter_map(|item| Some((item.path.clone(), item.to.clone()?)));
    let data = Output {
        job: job.map(Job::id),
        plan: input.plan,
        state: job.map_or("planned", |job| job.state().word()),
        done: job.map_or(all.len(), |job| job.counts().0),
        total: job.map_or(all.len(), |job| job.items.len()),
        summary,
        came_along,
        edited,
        relinked: applied.relinked,
        folders_left: applied.folders_left,
        change_set: job.and_then(Job::change_set).map(|set| set.0),
        moved: moved.collect(),
        dry_run: job.is_none(),
        skipped: applied.skipped.into_iter().map(Skipped::from).collect(),
    };
    Answer::new(lines.join("\n"), data)
}
