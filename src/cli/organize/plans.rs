//! `steward organize plan`, `show`, `why` and `edit`.

#![expect(clippy::disallowed_methods, reason = "a rule file that is named on the command line")]

use std::io::Read as _;
use std::path::Path;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::cli::{Failure, Result, Session, completions};
use crate::tools::enabled::{self, JobChanges};
use crate::tools::{PlanChanges, ShowPlan, Tool as _};

#[derive(Debug, Clone, Args)]
pub struct PlanArguments {
    /// A file with rules, on this machine or in the vault; `-` reads them from stdin
    #[arg(required_unless_present = "items")]
    pub rules: Option<String>,
    /// A JSON file with a list of changes, such as [{"path": "a.md", "to": "b.md"}]; `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub items: Option<String>,
    /// Only notes in this folder
    #[arg(long = "in", value_name = "FOLDER", add = completions::notes())]
    pub within: Option<String>,
    /// Add to this plan
    #[arg(long, value_name = "PLAN")]
    pub append: Option<u64>,
}

#[derive(Debug, Clone, Args)]
pub struct ShowArguments {
    /// The plan
    pub plan: u64,
    /// How it is printed
    #[arg(long, short, value_enum, default_value = "tree")]
    pub format: PlanFormat,
    /// The grouping of items
    #[arg(long, value_enum, default_value = "action", value_name = "WHAT")]
    pub by: PlanGroup,
    /// Also show the files to which nothing happens
    #[arg(long)]
    pub unchanged: bool,
    /// The first item shown
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub first_item: u64,
}

/// How a plan is printed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum PlanFormat {
    /// Folders before and after
    Tree,
    /// A line an item
    Table,
    /// The texts that change
    Diff,
    /// One JSON value, by group
    Json,
    /// One HTML file
    Html,
}

/// The grouping of items.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum PlanGroup {
    /// By change
    Action,
    /// The rules that took them
    Rule,
    /// Where they are
    Source,
    /// Where they will be
    Destination,
}

#[derive(Debug, Clone, Args)]
pub struct WhyArguments {
    /// The note
    #[arg(add = completions::notes())]
    pub note: String,
    /// The plan whose effect to explain [default: past changes by rules, and the rules of now]
    #[arg(long, value_name = "PLAN")]
    pub plan: Option<u64>,
    /// Also print the rules as they were enabled
    #[arg(long, conflicts_with = "plan")]
    pub rules: bool,
}

#[derive(Debug, Clone, Args)]
pub struct EditPlanArguments {
    /// The plan
    pub plan: u64,
    /// Take this item out; repeat it for more
    #[arg(long, value_name = "ITEM", required_unless_present = "to")]
    pub take_out: Vec<u32>,
    /// Give an item another path, such as 3=Archive/Note.md; repeat it for more
    #[arg(long, value_name = "ITEM=PATH")]
    pub to: Vec<String>,
}

pub fn plan(session: &Session, arguments: &PlanArguments) -> Result<()> {
    let mut tool_arguments = json!({});
    if let Some(rules) = &arguments.rules {
        // A path that does not exist here is one in the vault.
        tool_arguments["rules"] = json!(if rules == "-" || Path::new(rules).is_file() {
            text(rules)?
        } else {
            rules.clone()
        });
    }
    if let Some(file) = &arguments.items {
        tool_arguments["items"] = serde_json::from_str(&text(file)?).map_err(|error| {
            let hint = "write a list, such as [{\"path\": \"a.md\", \"to\": \"b.md\"}]";
            Failure::usage(format!("`{file}` is not JSON: {error}"), hint)
        })?;
    }
    if let Some(folder) = &arguments.within {
        tool_arguments["path"] = json!(folder);
    }
    if let Some(plan) = arguments.append {
        tool_arguments["plan"] = json!(plan);
        tool_arguments["mode"] = json!("append");
    }
    make_plan(session, tool_arguments)
}

/// Changes a plan, and prints it.
pub fn edit(session: &Session, arguments: &EditPlanArguments) -> Result<()> {
    let target = |text: &String| {
        let parts =
            text.split_once('=').and_then(|(item, to)| Some((item.parse::<u32>().ok()?, to)));
        parts.map(|(item, to)| json!({ "item": item, "to": to })).ok_or_else(|| {
            let hint = "write the number of the item, `=` and the path: `--to 3=Archive/Note.md`";
            Failure::usage(format!("`{text}` is not an item and a path"), hint)
        })
    };
    let targets: Vec<Value> = arguments.to.iter().map(target).collect::<Result<_, _>>()?;
    let tool_arguments =
        json!({ "plan": arguments.plan, "take_out": arguments.take_out, "targets": targets });
    make_plan(session, tool_arguments)
}

fn make_plan(session: &Session, tool_arguments: Value) -> Result<()> {
    let made = session.call(PlanChanges::NAME, tool_arguments)?;
    if session.output.json() {
        return session.output.json_value(&made.data);
    }
    let plan = &made.data["plan"];
    for fault in made.data["faults"].as_array().into_iter().flatten() {
        let text = |key: &str| fault[key].as_str().unwrap_or_default();
        session.output.notice(&format!(
            "rule `{}` failed for {} of the files, such as `{}`: {}",
            text("rule"),
            fault["files"],
            text("path"),
            text("message")
        ));
    }
    for warning in made.data["warnings"].as_array().into_iter().flatten() {
        session.output.notice(warning.as_str().unwrap_or_default());
    }
    if made.data["items"] == 0 {
        return session.output.text("Nothing to do: all is in order.");
    }
    let shown = session.call(ShowPlan::NAME, json!({ "plan": plan }))?;
    session.output.paged().text(&without_identity(&shown.text))?;
    session
        .output
        .text(&format!("\nNothing is changed yet. To do it: steward organize apply {plan}"))
}

/// The identity is for programs, which have it in the JSON.
pub(super) fn without_identity(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("identity "));
    lines.collect::<Vec<_>>().join("\n")
}

pub fn show(session: &Session, arguments: &ShowArguments) -> Result<()> {
    let word = |value: Option<PossibleValue>| value.map(|value| value.get_name().to_owned());
    let tool_arguments = json!({
        "plan": arguments.plan,
        "first_item": arguments.first_item,
        "format": word(arguments.format.to_possible_value()),
        "group_by": word(arguments.by.to_possible_value()),
        "include_unchanged": arguments.unchanged,
    });
    let mut answer = session.call(ShowPlan::NAME, tool_arguments)?;
    answer.text = without_identity(&answer.text);
    session.print_answer(&session.output.paged(), &answer)
}

/// Prints which rules took a note.
pub fn why(session: &Session, arguments: &WhyArguments) -> Result<()> {
    let Some(plan) = arguments.plan else { return why_now(session, arguments) };
    let tool_arguments = json!({ "plan": plan, "why": arguments.note });
    let mut answer = session.call(ShowPlan::NAME, tool_arguments)?;
    answer.text = without_identity(&answer.text);
    session.print_answer(&session.output, &answer)
}

/// Prints the past changes of a note by rules, and the present result of each rule.
fn why_now(session: &Session, arguments: &WhyArguments) -> Result<()> {
    let why = session.here(false, |context| Ok(enabled::explain(context, &arguments.note)?))?;
    let mut lines = vec![why.path.clone()];
    for done in &why.done {
        lines.push(String::new());
        lines.extend(item_lines(done, arguments.rules));
    }
    if why.done.is_empty() {
        lines.push("  No rule has changed it.".to_owned());
    }
    if !why.now.is_empty() {
        lines.push("\nWhat enabled rules say of it now:".to_owned());
        lines.extend(enabled::lines(&why.now));
    }
    let done: Vec<Value> = why.done.iter().map(done_data).collect();
    let data = json!({ "path": why.path, "done": done, "now": why.now });
    session.output.answer(&data, lines.join("\n"))
}

/// The changes of a note by rules in one job.
fn item_lines(done: &JobChanges, with_rules: bool) -> Vec<String> {
    let rules = done.item.rules.join(", ");
    let time = local(done.time, "%Y-%m-%d %H:%M:%S");
    let how = if done.enabled.is_empty() {
        format!("in a plan that `{}` applied", done.caller)
    } else {
        "automatically".to_owned()
    };
    let undone = if done.is_undone { ", undone since" } else { "" };
    let mut lines = vec![
        format!("  {time}  {rules}, {how}{undone}"),
        format!("    {}  (job {}, change set {})", done.line(), done.job, done.change_set),
    ];
    let took = done.item.why.iter().filter(|asked| asked.took);
    lines.extend(took.flat_map(|asked| &asked.parts).map(|part| format!("    {part}")));
    for rule in &done.enabled {
        let enabled = local(rule.enabled, "%Y-%m-%d");
        lines.push(format!("    {} (`{}`, enabled {enabled})", rule.sentence, rule.source));
        if with_rules {
            let text = enabled::text_of(rule).lines();
            lines.extend(text.map(|line| format!("      {line}")));
        }
    }
    lines
}

fn done_data(done: &JobChanges) -> Value {
    let enabled = done.enabled.iter().map(|rule| {
        json!({
            "name": rule.name, "source": rule.source, "hash": rule.hash, "does": rule.sentence,
            "enabled": local(rule.enabled, "%Y-%m-%dT%H:%M:%S%:z"), "enabled_by": rule.enabled_by,
            "text": enabled::text_of(rule),
        })
    });
    json!({
        "time": local(done.time, "%Y-%m-%dT%H:%M:%S%:z"), "job": done.job,
        "change_set": done.change_set, "caller": done.caller, "rules": done.item.rules,
        "path": done.item.path, "to": done.item.to, "why": done.item.why,
        "by_itself": !done.enabled.is_empty(), "undone": done.is_undone,
        "enabled": enabled.collect::<Vec<_>>(),
    })
}

fn local(millis: i64, format: &str) -> String {
    let time = chrono::DateTime::from_timestamp_millis(millis).unwrap_or_default();
    time.with_timezone(&chrono::Local).format(format).to_string()
}

fn text(file: &str) -> Result<String> {
    let read = match file {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        }
        file => std::fs::read_to_string(file),
    };
    read.map_err(|error| {
        let hint = "give the path of a text file, or `-` for stdin";
        Failure::other("not_found", format!("`{file}` could not be read: {error}"), hint)
    })
}
