//! Stored plans, and their description by tools.

use std::collections::BTreeSet;

use serde_json::json;

use super::once_marks;
use super::organize_events::OrganizeEvent;
use super::rules_input::GivenRules;
use super::{Context, ToolError};
use crate::bases::Scope;
use crate::bases::date::Times;
use crate::bases::source::Source as _;
use crate::note::code::ErrorCode;
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::organize::plan::{Item, Plan};
use crate::organize::planner::{PlanError, World};
use crate::organize::rule::Rule;
use crate::store::plans::{NewPlan, PlanRow};
use crate::vault::View;

const DAY: i64 = 24 * 60 * 60 * 1000;

/// The most folders listed in an event or result.
const MAX_FOLDERS: usize = 20;

pub(super) struct StoredPlan {
    pub id: u64,
    pub identity: String,
    /// The time of its creation, in milliseconds since the Unix epoch.
    pub made: i64,
    pub caller: String,
    pub plan: Plan,
    /// The rules of the plan; `None` for a caller that may not see them.
    pub rules: Vec<GivenRules>,
}

/// Runs a function on a snapshot of the vault in the caller's view. Those of `rules` with `once`
/// know the files that they took.
pub(super) fn with_snapshot<T>(
    context: &Context,
    rules: &[Rule],
    work: impl FnOnce(&World<'_>) -> Result<T, PlanError>,
) -> Result<T, ToolError> {
    let zone = context.clock.zone();
    let times = Times::new(&*zone);
    let (index, vault) = (&context.index, &context.vault);
    let snapshot = context.snapshot()?.in_zone(&times);
    let now = context.clock.now().timestamp_millis();
    let scope = Scope {
        source: &snapshot,
        now,
        zone: &*zone,
        this: None,
        seed: now.cast_unsigned(),
        formulas: &[],
    };
    let taken = once_marks::processed_files(context, rules)?;
    let world = World {
        vault,
        index,
        snapshot: &snapshot,
        scope,
        settings: &context.settings.organize,
        taken_once: &|rule, path| taken.has(rule, path),
        cancel: &context.cancel,
    };
    let found = work(&world).map_err(not_planned)?;
    if snapshot.is_cancelled() || context.cancel.is_cancelled() {
        Err(ToolError::cancelled())
    } else {
        Ok(found)
    }
}

fn not_planned(error: PlanError) -> ToolError {
    match error {
        PlanError::Cancelled => ToolError::cancelled(),
        PlanError::Taken { .. } => {
            let hint = "choose another path, or another `on_conflict`";
            ToolError::new(ErrorCode::AlreadyExists, error.to_string(), hint)
        }
        PlanError::TooMany { count, most, ref largest } => {
            let folders: Vec<String> =
                largest.iter().map(|(folder, files)| format!("`{folder}` {files}")).collect();
            let hint = format!(
                "most of them are in {}; narrow the rules, give a folder in `path`, or raise \
                 `organize.max_items`",
                folders.join(", ")
            );
            let data = json!({ "count": count, "most": most, "largest": largest });
            let error = ToolError::new(ErrorCode::TooMany, error.to_string(), hint);
            ToolError { data: Some(data), ..error }
        }
    }
}

/// The time before which stored plans expire.
fn expiry_time(context: &Context) -> i64 {
    let days = i64::try_from(context.settings.organize.keep_plans_days).unwrap_or(i64::MAX);
    context.clock.now().timestamp_millis().saturating_sub(days.saturating_mul(DAY))
}

/// Stores a plan, replacing the one with this number if given, and publishes it.
pub(super) fn store(
    context: &Context,
    id: Option<u64>,
    plan: Plan,
    rules: Vec<GivenRules>,
) -> Result<StoredPlan, ToolError> {
    let stored_plan = store_unpublished(context, id, plan, rules)?;
    context.listeners.notify(&OrganizeEvent::Plan {
        plan: stored_plan.id,
        identity: stored_plan.identity.clone(),
        items: stored_plan.plan.items.len(),
        folders: folders(&stored_plan.plan.items),
    });
    Ok(stored_plan)
}

/// Stores a plan that is applied at once, without publishing it.
pub(super) fn store_unpublished(
    context: &Context,
    id: Option<u64>,
    plan: Plan,
    rules: Vec<GivenRules>,
) -> Result<StoredPlan, ToolError> {
    let identity = plan.identity();
    let made = context.clock.now().timestamp_millis();
    let fault = |error: serde_json::Error| {
        ToolError::plain(ErrorCode::IoError, format!("the plan could not be written: {error}"))
    };
    let content = serde_json::to_string(&plan).map_err(fault)?;
    let texts = serde_json::to_string(&rules).map_err(fault)?;
    let new = NewPlan {
        identity: &identity,
        made,
        caller: &context.origin.caller,
        whole: context.vault.view().is_all(),
        content: &content,
        rules: &texts,
    };
    let plans = &context.journal.store().plans;
    let id = id.map(u64::cast_signed);
    let id = plans.store(id, &new, expiry_time(context))?.cast_unsigned();
    let caller = context.origin.caller.clone();
    Ok(StoredPlan { id, identity, made, caller, plan, rules })
}

/// The plan with this number, if it is stored and the caller may see all its notes.
pub(super) fn find(context: &Context, id: u64) -> Result<StoredPlan, ToolError> {
    let plans = &context.journal.store().plans;
    let row = plans.get(id.cast_signed(), expiry_time(context))?;
    let stored_plan = row.map(|row| read_plan(context.vault.view(), row)).transpose()?;
    stored_plan.flatten().ok_or_else(|| {
        let days = context.settings.organize.keep_plans_days;
        let hint = format!("plans are forgotten after {days} days; plan_changes makes one");
        ToolError::not_found(format!("there is no plan {id}"), hint)
    })
}

/// The plan of a row; `None` if the caller may not see all of it.
fn read_plan(view: &View, row: PlanRow) -> Result<Option<StoredPlan>, ToolError> {
    let fault = |error: serde_json::Error| {
        let message = format!("plan {} cannot be read: {error}", row.id);
        ToolError::new(ErrorCode::IoError, message, "make it again with plan_changes")
    };
    let mut plan: Plan = serde_json::from_str(&row.content).map_err(fault)?;
    let mut rules: Vec<GivenRules> = serde_json::from_str(&row.rules).map_err(fault)?;
    if !is_seen(view, &plan.items) {
        return Ok(None);
    }
    if row.whole && !view.is_all() {
        // The other parts come from notes that this caller may not see.
        rules.clear();
        plan.faults.clear();
        plan.rules.clear();
        plan.looked_at = plan.items.len();
        plan.links = Default::default();
        let is_seen =
            |path: &String| VaultPath::from_disk(path).is_some_and(|path| view.holds(&path));
        for item in &mut plan.items {
            item.why.clear();
            item.empties.retain(is_seen);
            // Its reason names another note, which may be hidden.
            item.clear_numbering();
        }
    }
    let id = row.id.cast_unsigned();
    let PlanRow { identity, made, caller, .. } = row;
    Ok(Some(StoredPlan { id, identity, made, caller, plan, rules }))
}

/// Whether the caller may see all notes of these items.
pub(super) fn is_seen(view: &View, items: &[Item]) -> bool {
    let holds = |path: &str| VaultPath::from_disk(path).is_some_and(|path| view.holds(&path));
    view.is_all()
        || items.iter().all(|item| holds(&item.path) && item.to.as_deref().is_none_or(holds))
}

/// The source and target folders of the items, by name; `/` is the vault's root. At most 20; if there are more, their
/// nearest common folder.
pub(super) fn folders(items: &[Item]) -> Vec<String> {
    let folder = |path: &str| match path.rsplit_once('/') {
        Some((folder, _)) => folder.to_owned(),
        None => "/".to_owned(),
    };
    let paths = items.iter().flat_map(|item| std::iter::once(&item.path).chain(&item.to));
    let mut found: BTreeSet<String> = paths.map(|path| folder(path)).collect();
    let depth = |one: &String| if one == "/" { 0 } else { 1 + one.matches('/').count() };
    while found.len() > MAX_FOLDERS {
        let deepest = found.iter().map(depth).max().unwrap_or(0);
        let lift = |one: String| if depth(&one) == deepest { folder(&one) } else { one };
        found = found.into_iter().map(lift).collect();
    }
    found.into_iter().collect()
}

/// `move 12 notes, change 3, create 1, trash 2`; `change nothing`.
pub(super) fn sentence(items: &[&Item]) -> String {
    let number = |fits: &dyn Fn(&Item) -> bool| items.iter().filter(|item| fits(item)).count();
    let parts = [
        ("move", number(&|item| item.to.is_some())),
        ("change", number(&|item| !item.create && item.changes_text())),
        ("create", number(&|item| item.create)),
        ("trash", number(&|item| item.trash)),
    ];
    let mut clauses = Vec::new();
    for (verb, number) in parts.into_iter().filter(|(_, number)| *number > 0) {
        if clauses.is_empty() {
            clauses.push(format!("{verb} {}", counted(number, "note")))
        } else {
            clauses.push(format!("{verb} {number}"))
        }
    }
    match items.iter().map(|item| item.empties.len()).sum() {
        0 => {}
        folders => clauses.push(format!("remove {}", counted(folders, "empty folder"))),
    }
    if clauses.is_empty() { "change nothing".to_owned() } else { clauses.join(", ") }
}
