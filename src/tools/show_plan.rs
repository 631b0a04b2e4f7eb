//! `show_plan`

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::plans::{self, StoredPlan, sentence};
use super::prelude::*;
use super::text_file::local;
use super::{jobs, paging, rules_input};
use crate::note::path::VaultPath;
use crate::organize::linked;
use crate::organize::plan::{Item, Plan, RuleResult};
use crate::organize::planner;
use crate::organize::views::{self, GroupBy, View};
use crate::vault::{Kind, Want};

/// Items in one answer.
const MAX_ITEMS: usize = 200;

/// Characters of a view.
const MAX_TEXT: usize = 100_000;

/// Problems that an answer names.
const MAX_PROBLEMS: usize = 20;

/// Shows what a plan of `plan_changes` would do, and returns the identity with which `apply_plan`
/// applies exactly that. Changes nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowPlan {
    /// The number of the plan.
    plan: u64,
    /// `tree` (folders before and after), `table` (one line per item), `diff` (the texts that
    /// change), `json` or `html`.
    #[serde(default)]
    format: Format,
    /// The grouping of `table`, `json` and `html`.
    #[serde(default)]
    group_by: Group,
    /// Also show the files that stay as they are.
    #[serde(default)]
    include_unchanged: bool,
    /// The first item to show, from 1, to continue a list that was cut off.
    #[serde(default = "paging::default::<1>")]
    first_item: usize,
    /// Explain why rules took this note: its path, or the number of its item.
    why: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Tree,
    Table,
    Diff,
    Json,
    Html,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Group {
    #[default]
    Action,
    Rule,
    Source,
    Destination,
}

/// A plan.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Its number.
    plan: u64,
    /// The argument of `apply_plan`.
    identity: String,
    /// When it was created, local time.
    made: String,
    /// The program that requested it.
    caller: String,
    /// The planned changes in words.
    summary: String,
    /// The items from `first_item` on, by path; at most 200.
    items: Vec<PlannedItem>,
    /// The number of all items.
    total: usize,
    /// Rules that failed for some files, as in `plan_changes`.
    faults: Vec<Value>,
    /// Folders that the plan leaves empty, to be removed if they are still empty.
    emptied: Vec<String>,
    /// Files in which links would follow.
    relinked: usize,
    /// With `why`: each rule in the order of evaluation, with its result for the note.
    why: Vec<Value>,
}

/// The planned change of a file.
#[derive(Serialize, JsonSchema)]
pub struct PlannedItem {
    /// Its number.
    item: u32,
    /// Its path now.
    path: String,
    /// Its new path, if that differs.
    to: Option<String>,
    /// Properties that are set, with their values.
    set: Map<String, Value>,
    /// Properties that are removed.
    remove: Vec<String>,
    /// Tags that are added.
    tag: Vec<String>,
    /// Tags that are removed.
    untag: Vec<String>,
    /// Text added at the end.
    append: String,
    /// Text added after the frontmatter.
    prepend: String,
    /// Whether it is created.
    create: bool,
    /// Whether it is moved to the trash.
    trash: bool,
    /// The rules that apply to it.
    rules: Vec<String>,
    /// `low`, `medium` or `high`.
    risk: Value,
    /// Its problems.
    problems: Vec<Problem>,
}

/// A problem of an item.
#[derive(Serialize, JsonSchema)]
pub struct Problem {
    /// The number of the item.
    pub item: u32,
    /// Its path.
    pub path: String,
    /// `taken`, `captures_links`, `loses_links`, `link_stuck`, `read_only`, `conflict_copy`, `nothing_to_insert`,
    /// `unsettled`, `name_changed` or `not_applicable`.
    pub kind: Value,
    /// For people.
    pub message: String,
    /// Whether the item is left out until it is changed.
    pub blocks: bool,
}

/// The first problems of these items, and the number of items with problems.
pub(super) fn problems(items: &[Item]) -> (Vec<Problem>, usize) {
    let first = items.iter().flat_map(problems_of).take(MAX_PROBLEMS).collect();
    (first, items.iter().filter(|item| !item.problems.is_empty()).count())
}

fn problems_of(item: &Item) -> impl Iterator<Item = Problem> {
    item.problems.iter().map(|problem| Problem {
        item: item.id,
        path: item.path.clone(),
        kind: serde_json::to_value(problem.kind).unwrap_or_default(),
        message: problem.message.clone(),
        blocks: problem.blocks,
    })
}

impl Tool for ShowPlan {
    const NAME: &'static str = "show_plan";
    const OTHER_NAMES: &'static [&'static str] = &["preview_operations"];
    const TITLE: &'static str = "Show a plan";
    const TIER: Tier = Tier::Safe;
    const SELDOM: bool = true;
    const LONG_ANSWER: bool = true;
    const EXAMPLE: &'static str = r#"{"plan": 1}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let stored_plan = plans::find(context, self.plan)?;
        if let Some(asked) = &self.why {
            return explain(context, &stored_plan, asked);
        }
        let all: Vec<&Item> = stored_plan.plan.items.iter().collect();
        let skipped = paging::skipped(self.first_item).min(all.len());
        let shown: Vec<&Item> = all.iter().skip(skipped).take(MAX_ITEMS).copied().collect();
        let text = match skipped {
            0 => view(context, &stored_plan.plan, &self)?,
            _ => views::lines(&shown),
        };
        let mut lines = vec![format!("plan {}: {}", stored_plan.id, sentence(&all)), text];
        if skipped + shown.len() < all.len() {
            let (rest, next) = (all.len() - skipped - shown.len(), skipped + shown.len() + 1);
            lines.push(format!("[{rest} more items; go on with first_item: {next}]"));
        }
        lines.push(format!("identity {}", stored_plan.identity));
        let text = match self.format {
            // Only a file.
            Format::Json | Format::Html => lines.swap_remove(1),
            Format::Tree | Format::Table | Format::Diff => lines.join("\n"),
        };
        let data = output(&stored_plan, shown.into_iter().map(planned_item).collect(), Vec::new());
        Ok(Answer::new(text, data))
    }
}

fn output(stored_plan: &StoredPlan, items: Vec<PlannedItem>, why: Vec<Value>) -> Output {
    let all: Vec<&Item> = stored_plan.plan.items.iter().collect();
    Output {
        plan: stored_plan.id,
        identity: stored_plan.identity.clone(),
        made: local(stored_plan.made.saturating_mul(1_000_000)),
        caller: stored_plan.caller.clone(),
        summary: sentence(&all),
        items,
        total: all.len(),
        faults: faults(&stored_plan.plan),
        emptied: stored_plan.plan.emptied().into_iter().map(str::to_owned).collect(),
        relinked: stored_plan.plan.links.files,
        why,
    }
}

/// The failed rules of a plan.
pub(super) fn faults(plan: &Plan) -> Vec<Value> {
    plan.faults.iter().map(|fault| json!(fault)).collect()
}

fn view(context: &Context, plan: &Plan, input: &ShowPlan) -> Result<String, ToolError> {
    let unchanged: Option<Vec<String>> = input.include_unchanged.then(|| {
        let planned: HashSet<&str> = plan.items.iter().map(|item| item.path.as_str()).collect();
        let seen = context.vault.catalogue();
        let root = VaultPath::root();
        let files = seen.within(&root).filter(|entry| entry.kind == Kind::File);
        let mut paths: Vec<String> = files
            .map(|entry| entry.path().to_path().as_str().to_owned())
            .filter(|path| !planned.contains(path.as_str()))
            .collect();
        paths.sort_unstable();
        paths
    });
    let view = View {
        group_by: match input.group_by {
            Group::Action => GroupBy::Action,
            Group::Rule => GroupBy::Rule,
            Group::Source => GroupBy::Source,
            Group::Destination => GroupBy::Destination,
        },
        unchanged: unchanged.as_deref(),
        ..View::of(plan, context.max_chars.min(MAX_TEXT))
    };
    Ok(match input.format {
        Format::Tree => view.tree(),
        Format::Table => view.table(),
        Format::Json => view.json().to_string(),
        Format::Html => view.html(),
        Format::Diff => {
            view.diff(&plans::with_snapshot(context, &[], |world| linked::texts(world, plan))?)
        }
    })
}

/// Why rules took a note, or did not.
fn explain(
    context: &Context,
    stored_plan: &StoredPlan,
    asked: &str,
) -> Result<Answer<Output>, ToolError> {
    let items = &stored_plan.plan.items;
    let by_number = asked.parse::<u32>().ok();
    let item = items.iter().find(|item| Some(item.id) == by_number || item.path == asked);
    let (item, path) = match item {
        Some(item) => (Some(item), item.path.clone()),
        None => {
            let path = context.find(asked, Want::File)?.path.as_str().to_owned();
            (items.iter().find(|item| item.path == path), path)
        }
    };
    let asked = match item {
        Some(item) => item.why.clone(),
        // For the note's current state.
        None => {
            let rules = rules_input::all(context, &stored_plan.rules)?;
            let path = context.vault.parse(&path)?;
            plans::with_snapshot(context, &rules, |world| planner::why(world, &rules, &path))?
                .unwrap_or_default()
        }
    };
    let mut lines = vec![item.map_or(path, jobs::line)];
    if asked.is_empty() {
        lines.push("  no rule was asked about it".to_owned());
    }
    lines.extend(asked_lines(&asked));
    let why = asked.iter().map(|asked| json!(asked)).collect();
    let data = output(stored_plan, item.into_iter().map(planned_item).collect(), why);
    Ok(Answer::new(lines.join("\n"), data))
}

/// The result of each rule, one line each, with the parts of its condition below.
pub(super) fn asked_lines(asked: &[RuleResult]) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, asked) in asked.iter().enumerate() {
        let outcome = match (&asked.stopped_by, asked.took) {
            (Some(by), _) => format!("not asked: `{by}` stops"),
            (None, true) => "yes".to_owned(),
            (None, false) => "no".to_owned(),
        };
        lines.push(format!("  {}  {}  {outcome}", at + 1, asked.rule));
        lines.extend(asked.parts.iter().map(|part| format!("       {part}")));
    }
    lines
}

fn planned_item(item: &Item) -> PlannedItem {
    PlannedItem {
        item: item.id,
        path: item.path.clone(),
        to: item.to.clone(),
        set: item.set.clone(),
        remove: item.remove.clone(),
        tag: item.tag.clone(),
        untag: item.untag.clone(),
        append: item.append.clone(),
        prepend: item.prepend.clone(),
        create: item.create,
        trash: item.trash,
        rules: item.rules.clone(),
        risk: serde_json::to_value(item.risk).unwrap_or_default(),
        problems: problems_of(item).collect(),
    }
}
