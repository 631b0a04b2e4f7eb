//! Enabled rules: their state, their next effect, and their past effect on a note.
//!
//! Only a person's own program can call [`enable`] and [`disable`]: they are not tools, so no text
//! of the vault can trigger them.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::organize_events::OrganizeEvent;
use super::plans;
use super::rules_input::{self, GivenRules};
use super::show_plan::asked_lines;
use super::{Context, ToolError, jobs};
use crate::journal::{ListedChange, Query};
use crate::note::code::ErrorCode;
use crate::note::diff;
use crate::note::path::VaultPath;
use crate::note::text::Text;
use crate::organize::plan::{Item, Plan, ProblemKind, RuleResult};
use crate::organize::planner;
use crate::organize::reach;
use crate::organize::rule::{Action, Rule, Trigger};
use crate::organize::rules_file::MAX_BYTES;
use crate::organize::sentence::sentence;
use crate::store::enabled_rules::EnabledRule;
use crate::vault::Want;

/// The most change sets of a note that are searched for changes by rules.
const MAX_SETS: usize = 100;

/// The state of an enabled rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleStatus {
    /// It runs automatically.
    Automatic,
    /// Its changes wait for a person.
    Ask,
    Stopped(String),
    /// Its file no longer contains the enabled rule, with the reason.
    Changed(String),
}

impl RuleStatus {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::Ask => "ask",
            Self::Stopped(_) => "stopped",
            Self::Changed(_) => "changed",
        }
    }

    /// Why it does not run.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Automatic | Self::Ask => None,
            Self::Stopped(reason) | Self::Changed(reason) => Some(reason),
        }
    }
}

/// An enabled rule with the current content of its file.
#[derive(Debug, Clone)]
pub struct Enabled {
    pub row: EnabledRule,
    pub status: RuleStatus,
    /// The rule, if its file still contains it.
    pub rule: Option<Rule>,
    rule_file: Option<GivenRules>,
}

impl Enabled {
    /// The changes in its file since it was enabled, as a unified diff; empty if unchanged.
    pub fn diff(&self) -> String {
        let now = self.rule_file.as_ref().map_or("", |rule_file| &rule_file.text);
        diff::unified(self.row.definition.as_bytes(), now.as_bytes(), &self.row.source)
    }

    /// The folders that it may change; `/` is the whole vault.
    pub fn folders(&self) -> Vec<String> {
        serde_json::from_str(&self.row.folders).unwrap_or_default()
    }

    pub fn actions(&self) -> Vec<String> {
        serde_json::from_str(&self.row.actions).unwrap_or_default()
    }

    /// The rule and its trigger, if it is active.
    pub fn runs(&self) -> Option<(&Rule, Trigger)> {
        let rule = self.rule.as_ref()?;
        self.status.reason().is_none().then_some((rule, rule.trigger))
    }
}

/// The enabled rules with their current state, in the order in which they were enabled.
pub fn all(context: &Context) -> Result<Vec<Enabled>, ToolError> {
    let rows = context.journal.store().enabled_rules.list()?;
    let mut read: HashMap<String, Result<(GivenRules, Vec<Rule>), String>> = HashMap::new();
    let mut found = Vec::with_capacity(rows.len());
    for mut row in rows {
        row.waiting = row.waiting.filter(|plan| waiting(context, plan.cast_unsigned()).is_some());
        let file = read.entry(row.source.clone()).or_insert_with(|| {
            let rule_file = read_rule_file(context, &row.source)?;
            let rules = rule_file.read(context).map_err(|error| error.message)?.rules;
            Ok((rule_file, rules))
        });
        found.push(status(row, file));
    }
    Ok(found)
}

fn status(row: EnabledRule, file: &Result<(GivenRules, Vec<Rule>), String>) -> Enabled {
    let rule = file.as_ref().ok().and_then(|(_, rules)| {
        rules.iter().find(|rule| rule.hash == row.hash && rule.name == row.name)
    });
    let status = match (file, rule) {
        (Err(reason), _) => RuleStatus::Changed(reason.clone()),
        (Ok(_), None) => {
            let reason = format!("`{}` has changed since it was enabled", row.source);
            RuleStatus::Changed(reason)
        }
        _ if row.state == "stopped" => RuleStatus::Stopped(row.reason.clone().unwrap_or_default()),
        _ if row.state == "ask" => RuleStatus::Ask,
        _ => RuleStatus::Automatic,
    };
    let rule_file = file.as_ref().ok().map(|(rule_file, _)| rule_file.clone());
    Enabled { rule: rule.cloned(), status, rule_file, row }
}

/// The current text of a rule file.
fn read_rule_file(context: &Context, source: &str) -> Result<GivenRules, String> {
    let is_note = Path::new(source).extension().is_some_and(|it| it.eq_ignore_ascii_case("md"));
    let text = if Path::new(source).is_absolute() {
        read_outside(Path::new(source))?
    } else {
        let path = VaultPath::from_disk(source);
        let path = path.ok_or_else(|| format!("`{source}` is not a path of the vault"))?;
        let content = context.vault.read(&path).map_err(|error| error.to_string())?;
        let text = Text::decode(&content.bytes, path.name());
        text.map_err(|fault| format!("`{path}` is {fault}"))?.body().to_owned()
    };
    Ok(GivenRules { source: source.to_owned(), text, is_note, only: Vec::new() })
}

#[expect(clippy::disallowed_methods, reason = "a rule file of the person's, outside of the vault")]
fn read_outside(path: &Path) -> Result<String, String> {
    use std::io::Read as _;
    let mut text = String::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(text),
        Err(error) => Err(format!("`{}` could not be read: {error}", path.display())),
    }
}

#[derive(Debug, Clone, Default)]
pub struct Enabling {
    /// A rule file in the vault, or an absolute path; or the name of an enabled rule, or of one in a file of
    /// `organize.rules`.
    pub file: String,
    /// Only the rules with these names.
    pub names: Vec<String>,
    /// Whether they may move files to the trash without approval.
    pub with_trash: bool,
    /// Whether their changes wait for a person.
    pub ask: bool,
    /// The hashes of the rules shown to the person. Other rules are not enabled.
    pub agreed: Vec<String>,
    /// Whether to only preview what would be enabled.
    pub dry_run: bool,
    /// The person's program.
    pub by: String,
}

/// Enables rules, so that they run automatically from now on.
///
/// # Errors
/// The file or rule does not exist or cannot be read; no rule has a trigger; a rule would change its own result again;
/// a rule of another file with the same name is enabled; the rules differ from those shown to the person.
pub fn enable(context: &Context, request: &Enabling) -> Result<Vec<Enabled>, ToolError> {
    let (rule_file, rules) = find(context, request)?;
    let settings = &context.settings.organize;
    check(context, &rule_file, &rules)?;
    let store = &context.journal.store().enabled_rules;
    let before = store.list()?;
    let now = context.clock.now().timestamp_millis();
    let mut enabled = Vec::with_capacity(rules.len());
    for rule in &rules {
        let other =
            before.iter().find(|row| row.name == rule.name && row.source != rule_file.source);
        if let Some(other) = other {
            let message =
                format!("a rule `{}` of `{}` is enabled already", rule.name, other.source);
            let hint = "give one of them another name, or disable the other";
            return Err(ToolError::new(ErrorCode::AlreadyExists, message, hint));
        }
        let folders: Vec<String> = reach::folders(rule, settings)
            .iter()
            .map(|folder| if folder.is_root() { "/".to_owned() } else { folder.to_string() })
            .collect();
        let trashes = rule.actions.iter().any(|action| matches!(action, Action::Trash));
        let row = EnabledRule {
            source: rule_file.source.clone(),
            name: rule.name.clone(),
            hash: rule.hash.clone(),
            definition: rule_file.text.clone(),
            sentence: sentence(rule),
            folders: serde_json::to_string(&folders).unwrap_or_default(),
            actions: serde_json::to_string(&reach::actions(rule)).unwrap_or_default(),
            with_trash: request.with_trash && trashes,
            state: if request.ask { "ask" } else { "automatic" }.to_owned(),
            enabled: now,
            enabled_by: request.by.clone(),
            since: now,
            ..EnabledRule::default()
        };
        enabled.push(row);
    }
    if !request.agreed.is_empty() {
        let hashes: HashSet<&String> = rules.iter().map(|rule| &rule.hash).collect();
        if hashes != request.agreed.iter().collect() {
            let message = "the rules differ from those that were shown; nothing was enabled";
            return Err(ToolError::new(ErrorCode::StaleRevision, message, "look at them again"));
        }
    }
    if !request.dry_run {
        for row in &mut enabled {
            row.id = store.enable(row)?;
        }
        context.listeners.notify(&OrganizeEvent::Rules);
    }
    let file = Ok((rule_file, rules));
    Ok(enabled.into_iter().map(|row| status(row, &file)).collect())
}

fn find(context: &Context, request: &Enabling) -> Result<(GivenRules, Vec<Rule>), ToolError> {
    let (rule_file, mut rules) = named(context, &request.file, &request.names)?;
    // From a whole file, the rules with a trigger.
    if request.names.is_empty() && !rules.iter().all(|rule| rule.name == request.file) {
        rules.retain(|rule| rule.trigger != Trigger::Manual);
    }
    let manual = rules.iter().find(|rule| rule.trigger == Trigger::Manual);
    if rules.is_empty() || manual.is_some() {
        let what = match manual {
            Some(rule) => format!("the rule `{}` does not say when it runs", rule.name),
            None => format!("no rule of `{}` says when it runs", rule_file.source),
        };
        let hint = "write `run: change`, or `run: {every: 1d, at: \"03:00\"}`";
        return Err(ToolError::new(ErrorCode::InvalidRule, what, hint));
    }
    Ok((rule_file, rules))
}

/// The rules of a file, or those with these names in it, with the file. Instead of a file, `file` may name an enabled
/// rule, or a rule in a file of `organize.rules`.
pub(super) fn named(
    context: &Context,
    file: &str,
    names: &[String],
) -> Result<(GivenRules, Vec<Rule>), ToolError> {
    let mut names = names.to_vec();
    let rule_file = match source(context, file) {
        Ok(source) => read_rule_file(context, &source)
            .map_err(|message| ToolError::plain(ErrorCode::InvalidRule, message))?,
        Err(error) => {
            let rows = context.journal.store().enabled_rules.list()?;
            let enabled = rows.into_iter().filter(|row| row.name == file).map(|row| row.source);
            let listed = context.settings.organize.rules.iter();
            let listed = listed.filter_map(|file| source(context, file).ok());
            let mut files =
                enabled.chain(listed).filter_map(|file| read_rule_file(context, &file).ok());
            let having = files.find(|rule_file| {
                let parsed = rule_file.parse(context);
                parsed.is_ok_and(|parsed| parsed.rules.iter().any(|rule| rule.name == file))
            });
            names = vec![file.to_owned()];
            having.ok_or(error)?
        }
    };
    let mut rules = rule_file.read(context)?.rules;
    if let Some(name) = names.iter().find(|name| !rules.iter().any(|rule| rule.name == **name)) {
        let there: Vec<&str> = rules.iter().map(|rule| &*rule.name).collect();
        let hint = format!("its rules are `{}`", there.join("`, `"));
        return Err(ToolError::not_found(
            format!("`{}` has no rule `{name}`", rule_file.source),
            hint,
        ));
    }
    rules.retain(|rule| names.is_empty() || names.contains(&rule.name));
    Ok((rule_file, rules))
}

/// The path of the rule file: in the vault, or absolute.
fn source(context: &Context, file: &str) -> Result<String, ToolError> {
    let path = Path::new(file);
    let inside = path.strip_prefix(context.vault.root()).ok().and_then(Path::to_str);
    match inside {
        None if path.is_absolute() => Ok(file.to_owned()),
        inside => {
            let found = context.vault.resolve(inside.unwrap_or(file), Want::File)?;
            Ok(found.path.as_str().to_owned())
        }
    }
}

/// Rejects rules that would change their own result again.
fn check(context: &Context, rule_file: &GivenRules, rules: &[Rule]) -> Result<(), ToolError> {
    let request = planner::PlanRequest { rules, ..planner::PlanRequest::default() };
    let plan = plans::with_snapshot(context, rules, |world| planner::plan(world, request));
    let plan = match plan {
        Ok(plan) => plan,
        Err(error) if error.code == ErrorCode::Cancelled => return Err(error),
        // Too many files, or an occupied path: existing files need a plan anyway.
        Err(_) => return Ok(()),
    };
    let unsettled = plan.items.iter().find_map(|item| {
        let mut problems = item.problems.iter();
        Some((item, problems.find(|problem| problem.kind == ProblemKind::Unsettled)?))
    });
    let Some((item, problem)) = unsettled else { return Ok(()) };
    let message = format!(
        "the rules of `{}` have no end, such as for `{}`: {}",
        rule_file.source, item.path, problem.message
    );
    let hint = "narrow them so that no rule takes what one of them made";
    Err(ToolError::new(ErrorCode::InvalidRule, message, hint))
}

pub fn disable(context: &Context, name: &str) -> Result<Enabled, ToolError> {
    let store = &context.journal.store().enabled_rules;
    let found = all(context)?.into_iter().find(|one| one.row.name == name);
    let found = found.ok_or_else(|| {
        let hint = "`steward organize rules list` shows those that are";
        ToolError::not_found(format!("no rule `{name}` is enabled"), hint)
    })?;
    store.disable(found.row.id)?;
    context.listeners.notify(&OrganizeEvent::Rules);
    Ok(found)
}

/// The reason why a job of these rules is no longer authorised: one of them is no longer enabled, or its meaning
/// changed. `None` if all are still enabled unchanged.
pub(super) fn authorization_lost(
    context: &Context,
    rules: &[i64],
) -> Result<Option<String>, ToolError> {
    if rules.is_empty() {
        return Ok(None);
    }
    let now = all(context)?;
    for id in rules {
        let row = context.journal.store().enabled_rules.get(*id)?;
        let Some(row) = row else { return Ok(Some("its rule is no longer known".to_owned())) };
        // A rule that was enabled again with the same meaning counts as the same.
        let same = now.iter().find(|one| one.row.name == row.name && one.row.hash == row.hash);
        match same.map(|one| &one.status) {
            None => return Ok(Some(format!("its rule `{}` is no longer enabled", row.name))),
            Some(RuleStatus::Changed(_)) => {
                return Ok(Some(format!("its rule `{}` has changed since", row.name)));
            }
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Stops a rule until a person enables it again.
pub fn stop(context: &Context, id: i64, reason: &str) -> Result<(), ToolError> {
    context.journal.store().enabled_rules.stop(id, reason)?;
    context.listeners.notify(&OrganizeEvent::Rules);
    Ok(())
}

/// Plans what these rules would do now to these files, or to all.
pub fn plan(
    context: &Context,
    rules: &[&Enabled],
    only: Option<&HashSet<VaultPath>>,
) -> Result<Plan, ToolError> {
    let rules: Vec<Rule> = rules.iter().filter_map(|one| one.rule.clone()).collect();
    let request = planner::PlanRequest { rules: &rules, only, ..planner::PlanRequest::default() };
    plans::with_snapshot(context, &rules, |world| planner::plan(world, request))
}

/// Stores these items as a plan of these rules. A plan that `waits` for a person is published, unless it waited before.
/// Returns its number and identity.
pub fn store_plan(
    context: &Context,
    rules: &[&Enabled],
    plan: &Plan,
    mut items: Vec<Item>,
    waits: Option<Option<u64>>,
) -> Result<(u64, String), ToolError> {
    let mut rule_files: Vec<GivenRules> = Vec::new();
    for one in rules {
        let Some(from) = &one.rule_file else { continue };
        match rule_files.iter_mut().find(|known| known.source == from.source) {
            Some(known) => known.only.push(one.row.hash.clone()),
            None => {
                rule_files.push(GivenRules { only: vec![one.row.hash.clone()], ..from.clone() })
            }
        }
    }
    for (id, item) in (1..).zip(&mut items) {
        item.id = id;
    }
    let plan = Plan { items, ..plan.clone() };
    let before = waits.flatten();
    let same = before.and_then(|id| plans::find(context, id).ok());
    if let Some(same) = same.filter(|same| same.identity == plan.identity()) {
        return Ok((same.id, same.identity));
    }
    let stored_plan = match waits {
        None => plans::store_unpublished(context, None, plan, rule_files)?,
        Some(before) => plans::store(context, before, plan, rule_files)?,
    };
    Ok((stored_plan.id, stored_plan.identity))
}

/// The paths of a plan that waits for a person; `None` if it no longer does: it was applied, dropped or
/// forgotten.
pub fn waiting(context: &Context, plan: u64) -> Option<HashSet<VaultPath>> {
    let stored_plan = plans::find(context, plan).ok()?;
    let jobs = context.journal.store().jobs.list().ok()?;
    let is_begun = jobs.iter().any(|job| job.plan == plan.cast_signed());
    let paths = stored_plan.plan.items.iter().filter_map(|item| VaultPath::from_disk(&item.path));
    (!is_begun && !stored_plan.plan.items.is_empty()).then(|| paths.collect())
}

/// The history of a note with rules, and their present evaluation.
#[derive(Debug, Clone)]
pub struct NoteHistory {
    pub path: String,
    /// Newest first.
    pub done: Vec<JobChanges>,
    /// The traces of the enabled rules for the note's current state.
    pub now: Vec<RuleResult>,
}

/// The changes of a note by rules in one job.
#[derive(Debug, Clone)]
pub struct JobChanges {
    pub job: u64,
    pub change_set: u64,
    /// Milliseconds since the Unix epoch.
    pub time: i64,
    /// The program that applied it.
    pub caller: String,
    /// Descriptions of the changes.
    pub item: Item,
    /// Whether none of the changes is left.
    pub is_undone: bool,
    /// The enabled rules that acted automatically; empty if a caller applied a plan.
    pub enabled: Vec<EnabledRule>,
}

/// Explains a note: changes by rules from the journal and the store, and the traces of enabled rules.
pub fn explain(context: &Context, asked: &str) -> Result<NoteHistory, ToolError> {
    // A trashed note can be named by its path.
    let (path, is_there) = match context.find(asked, Want::File) {
        Ok(found) => (found.path, true),
        Err(error) => {
            let path = VaultPath::from_disk(asked).ok_or(error)?;
            (path, false)
        }
    };
    let done = done(context, &path)?;
    if !is_there && done.is_empty() {
        context.find(asked, Want::File)?;
    }
    let enabled = all(context)?;
    let rules: Vec<Rule> = enabled.iter().filter_map(|one| Some(one.runs()?.0.clone())).collect();
    let now = if is_there && !rules.is_empty() {
        plans::with_snapshot(context, &rules, |world| planner::why(world, &rules, &path))?
    } else {
        None
    };
    Ok(NoteHistory { path: path.as_str().to_owned(), done, now: now.unwrap_or_default() })
}

fn done(context: &Context, path: &VaultPath) -> Result<Vec<JobChanges>, ToolError> {
    let store = context.journal.store();
    let seen = context.vault.view().clone();
    let query = Query { path: Some(path.clone()), seen, limit: MAX_SETS, ..Query::default() };
    let mut name = path.clone();
    let mut found = Vec::new();
    for set in context.journal.history().change_sets(&query)? {
        let of_note: Vec<&ListedChange> = follow(&set.changes, &mut name);
        let job = set.turn.as_deref().and_then(|turn| turn.strip_prefix("job-")?.parse().ok());
        let (Some(job), Some(last)) = (job, of_note.first()) else { continue };
        let hits = store.enabled_rules.hits_of(set.id.0.cast_signed())?;
        let hits: Vec<_> = hits.into_iter().filter(|hit| hit.number == last.id.number).collect();
        let item = match hits.first() {
            Some(hit) => serde_json::from_str(&hit.why).ok(),
            None => of_job(context, job, &name, path)?,
        };
        let Some(item) = item else { continue };
        let mut enabled = Vec::new();
        for hit in &hits {
            enabled.extend(store.enabled_rules.get(hit.rule)?);
        }
        found.push(JobChanges {
            job,
            change_set: set.id.0,
            time: set.time.timestamp_millis(),
            caller: set.caller.clone(),
            is_undone: of_note.iter().all(|change| change.undone_by.is_some()),
            item,
            enabled,
        });
    }
    Ok(found)
}

/// The changes of a set to the file that had this name after it, newest first. Updates the name to that before.
fn follow<'s>(changes: &'s [ListedChange], name: &mut VaultPath) -> Vec<&'s ListedChange> {
    let mut found = Vec::new();
    for change in changes.iter().rev() {
        // A folder above it moves it too, but is not its change.
        let Some(below) = name.relative_to(&change.path) else { continue };
        if below.is_empty() {
            found.push(change);
        }
        let before = change.from.as_ref().and_then(|from| from.join_all(below));
        if let Some(before) = before {
            *name = before;
        }
    }
    found
}

/// The item of an applied job for the file that was at `before`.
fn of_job(
    context: &Context,
    job: u64,
    before: &VaultPath,
    now: &VaultPath,
) -> Result<Option<Item>, ToolError> {
    let row = context.journal.store().jobs.get(job.cast_signed())?;
    let items: Option<Vec<Item>> = row.and_then(|row| serde_json::from_str(&row.items).ok());
    let is_it = |item: &Item| item.path == before.as_str() || item.path == now.as_str();
    Ok(items.into_iter().flatten().find(|item| is_it(item) && !item.rules.is_empty()))
}

impl JobChanges {
    /// `Inbox/a.md -> Archive/a.md`.
    pub fn line(&self) -> String {
        jobs::line(&self.item)
    }
}

/// The traces of rules as text: one line each, with the parts of its condition below.
pub fn lines(asked: &[RuleResult]) -> Vec<String> {
    asked_lines(asked)
}

/// The text of a rule if it can be found in its file, else the whole file.
pub fn text_of(row: &EnabledRule) -> &str {
    rules_input::part(&row.definition, &row.name)
}
