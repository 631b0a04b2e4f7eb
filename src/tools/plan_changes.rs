//! `plan_changes`

use serde_json::{Map, Value, json};

use super::plans::{self, StoredPlan, sentence};
use super::prelude::*;
use super::rules;
use super::rules_input::GivenRules;
use super::show_plan::{Problem, faults, problems};
use crate::note::counted::counted;
use crate::organize::plan::{Item, Plan};
use crate::organize::planner;
use crate::vault::Want;

/// Warnings and faults of rules in one answer.
const MAX_WARNINGS: usize = 20;

/// Plans changes of many notes, by rules or one by one; changes nothing. The plan is stored with a
/// number and an identity: review it with `show_plan`, then apply exactly that with `apply_plan`.
/// Links follow every move, and no note is overwritten.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanChanges {
    /// Rules: YAML as text, or the path of a rule file or of a note with a block `rules`. `name`, `in` (folders),
    /// `when` (a condition as in `query_notes`), `do` (`move`, `rename`, `set`, `tag`, `trash` and others).
    rules: Option<Rules>,
    /// Changes of single notes.
    #[serde(default)]
    items: Vec<Wish>,
    /// `replace`: a new plan. `append`: add to `plan`; notes in it keep their items.
    #[serde(default)]
    mode: Mode,
    /// The number of a plan to add to or change. It keeps its number and gets a new identity.
    plan: Option<u64>,
    /// Only notes in this folder.
    path: Option<String>,
    /// Items of `plan` to remove, by number.
    #[serde(default)]
    take_out: Vec<u32>,
    /// New paths for items of `plan`.
    #[serde(default)]
    targets: Vec<Target>,
}

/// Rules as text, as a path, or as the objects that the text would parse to.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Rules {
    Text(String),
    List(Vec<Map<String, Value>>),
    File(Map<String, Value>),
}

impl Rules {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::List(rules) => json!({ "rules": rules }).to_string(),
            Self::File(file) => json!(file).to_string(),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Append,
    #[default]
    Replace,
}

/// The change of a note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// The note or attachment.
    path: String,
    /// Its new path, name included.
    to: Option<String>,
    /// Properties and their new values.
    #[serde(default)]
    set: Map<String, Value>,
    /// Properties that are removed.
    #[serde(default)]
    remove: Vec<String>,
    /// Tags to add to the frontmatter.
    #[serde(default)]
    tag: Vec<String>,
    /// Tags to remove from the frontmatter.
    #[serde(default)]
    untag: Vec<String>,
    /// Text added at the end.
    #[serde(default)]
    append: String,
    /// Text added after the frontmatter.
    #[serde(default)]
    prepend: String,
    /// Whether it is moved to the trash.
    #[serde(default)]
    trash: bool,
}

/// Another path for an item.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Its number.
    item: u32,
    /// The new path, name included.
    to: String,
}

/// The plan, in short.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Its number.
    plan: u64,
    /// The identity with which `apply_plan` applies exactly this plan.
    identity: String,
    /// Notes and attachments that would change.
    items: usize,
    /// The changes in words: `move 12 notes, trash 1`.
    summary: String,
    /// Files for which rules were evaluated.
    looked_at: usize,
    /// Items with problems, the first 20.
    problems: Vec<Problem>,
    /// The number of all of those.
    total_problems: usize,
    /// Probable mistakes in the rules, such as a property that no note has; the first 20, each with its place.
    warnings: Vec<String>,
    /// Rules that failed for some files; the others were evaluated.
    faults: Vec<Value>,
    /// The folders that it touches; `/` is the vault itself.
    folders: Vec<String>,
}

impl Tool for PlanChanges {
    const NAME: &'static str = "plan_changes";
    const OTHER_NAMES: &'static [&'static str] = &["apply_organization_rules"];
    const TITLE: &'static str = "Plan changes of many notes";
    const TIER: Tier = Tier::Safe;
    const SELDOM: bool = true;
    const IDEMPOTENT: bool = false;
    const HEAVY: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"items": [{"path": "a.md", "to": "b.md"}]}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let within = match &self.path {
            Some(path) => Some(context.vault.resolve(path, Want::Folder)?.path),
            None => None,
        };
        let before = self.plan.map(|plan| plans::find(context, plan)).transpose()?;
        let changes_plan = !(self.take_out.is_empty() && self.targets.is_empty());
        if before.is_none() && (self.mode == Mode::Append || changes_plan) {
            let message = "no plan was given to add to or to change";
            return Err(ToolError::invalid(message, "give its number as `plan`"));
        }
        let mut items = Vec::new();
        for wish in self.items {
            items.push(item(context, wish)?);
        }
        let (mut joins, mut given) = (None, Vec::new());
        if let Some(before) = before.as_ref().filter(|_| self.mode == Mode::Append || changes_plan)
        {
            joins = Some(changed_plan(context, before, &self.take_out, &self.targets)?);
            given.clone_from(&before.rules);
        }
        let rules = self.rules.map(Rules::text).filter(|rules| !rules.trim().is_empty());
        let (rules, warnings) = match rules {
            Some(rules) => {
                let rules = GivenRules::find(context, &rules)?;
                let file = rules.read(context)?;
                let found = rules::held(context, &file)?.found;
                let warnings = found.iter().take(MAX_WARNINGS);
                let warnings = warnings.map(|one| one.render(&rules.source)).collect();
                given.push(rules);
                (file.rules, warnings)
            }
            None => (Vec::new(), Vec::new()),
        };
        if items.is_empty() && joins.is_none() && rules.is_empty() {
            return Err(ToolError::invalid(
                "nothing was given to plan",
                "give `rules`, or `items` such as [{\"path\": \"a.md\", \"to\": \"Archive/a.md\"}]",
            ));
        }
        let wanted = planner::PlanRequest { rules: &rules, items, within, only: None, joins };
        let plan = plans::with_snapshot(context, &rules, |world| planner::plan(world, wanted))?;
        let stored_plan = plans::store(context, before.map(|before| before.id), plan, given)?;
        Ok(answer(&stored_plan, warnings))
    }
}

fn item(context: &Context, wish: Wish) -> Result<Item, ToolError> {
    let path = context.resolve_to_modify(&wish.path)?.path;
    let to = wish.to.map(|to| context.vault.new_path(&to)).transpose()?;
    Ok(Item {
        path: path.as_str().to_owned(),
        to: to.map(|to| to.as_str().to_owned()),
        set: wish.set,
        remove: wish.remove,
        tag: wish.tag,
        untag: wish.untag,
        append: wish.append,
        prepend: wish.prepend,
        trash: wish.trash,
        ..Item::default()
    })
}

/// A plan without some items, and with other paths for others.
fn changed_plan(
    context: &Context,
    before: &StoredPlan,
    take_out: &[u32],
    targets: &[Target],
) -> Result<Plan, ToolError> {
    let mut plan = before.plan.clone();
    let named = take_out.iter().copied().chain(targets.iter().map(|target| target.item));
    for number in named {
        if !plan.items.iter().any(|item| item.id == number) {
            let message = format!("plan {} has no item {number}", before.id);
            return Err(ToolError::invalid(message, "show_plan has the numbers"));
        }
    }
    for target in targets {
        let to = context.vault.new_path(&target.to)?;
        let items = plan.items.iter_mut().filter(|item| item.id == target.item);
        items.for_each(|item| {
            item.to = Some(to.as_str().to_owned());
            // The earlier reasons for its name no longer apply.
            item.clear_numbering();
        });
    }
    plan.items.retain(|item| !take_out.contains(&item.id));
    Ok(plan)
}

fn answer(stored_plan: &StoredPlan, warnings: Vec<String>) -> Answer<Output> {
    let StoredPlan { id, identity, plan, .. } = stored_plan;
    let all: Vec<&Item> = plan.items.iter().collect();
    let summary = sentence(&all);
    let (problems, total_problems) = problems(&plan.items);
    let mut lines = if plan.items.is_empty() {
        vec![format!("plan {id}: nothing to do, all is in order")]
    } else {
        vec![
            format!("plan {id}: {summary}"),
            format!("identity {identity}"),
            format!("show_plan with plan: {id} shows it; nothing is changed yet"),
        ]
    };
    if total_problems > 0 {
        lines.push(format!("{} with problems:", counted(total_problems, "item")));
        lines.extend(
            problems.iter().map(|one| format!("  {} `{}`: {}", one.item, one.path, one.message)),
        );
        if total_problems > problems.len() {
            lines.push(format!("  and {} more", total_problems - problems.len()));
        }
    }
    lines.extend(warnings.iter().cloned());
    lines.extend(plan.faults.iter().map(|fault| {
        let files = counted(fault.files, "file");
        format!(
            "rule `{}` failed for {files}, such as `{}`: {}",
            fault.rule, fault.path, fault.message
        )
    }));
    let data = Output {
        plan: *id,
        identity: identity.clone(),
        items: plan.items.len(),
        summary,
        looked_at: plan.looked_at,
        problems,
        total_problems,
        warnings,
        faults: faults(plan),
        folders: plans::folders(&plan.items),
    };
    Answer::new(lines.join("\n"), data)
}
