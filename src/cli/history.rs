//! `steward log`, `steward undo` and `steward restore`: the tools `list_changes`, `undo` and
//! `restore` with arguments for hands.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::output::Output;
use super::reach::{self, Way};
use super::session::Session;
use crate::tools::{ListChanges, Restore, Tool, Undo};

/// Of `log`.
#[derive(Debug, Args)]
pub struct LogArguments {
    /// Only what touched this file, or something in this folder
    pub path: Option<String>,
    /// Show what changed in each text
    #[arg(long, short)]
    pub diff: bool,
    /// Only changes since then: a date, a date and time, or an age such as 2h, 3d, 1w
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Change sets shown at most, up to 200
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
    /// Only change sets with a smaller number than this: what is older
    #[arg(long, value_name = "N")]
    pub before: Option<u64>,
    /// Only this change set, with all its changes, a hundred at once
    #[arg(long, value_name = "N", conflicts_with_all = ["path", "since", "before", "limit"])]
    pub change_set: Option<u64>,
    /// The first change shown of that set, from 1
    #[arg(long, value_name = "N", default_value_t = 1, requires = "change_set")]
    pub first_change: u64,
}

/// Of `undo`.
#[derive(Debug, Args)]
pub struct UndoArguments {
    /// A change set (17) or one change of it (17.2) [default: the last change set]
    pub id: Option<String>,
    /// Also where a file has changed since in the same lines, or is gone; its newer text is kept in
    /// the journal
    #[arg(long)]
    pub force: bool,
    /// Agree to what needs a person's agreement
    #[arg(long, short)]
    pub yes: bool,
}

/// Of `restore`.
#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// What to restore: its name in the trash, or the path it had
    pub item: String,
    /// Where to put it [default: where it was]
    #[arg(long, value_name = "PATH")]
    pub to: Option<String>,
    /// Agree to what needs a person's agreement
    #[arg(long, short)]
    pub yes: bool,
}

/// Prints what was changed, newest first.
///
/// # Errors
/// A path that cannot be one, a time that is none; why the journal could not be reached.
pub fn log(session: &Session, log: &LogArguments, output: &Output) -> Result<ExitCode, Failure> {
    let mut arguments = json!({ "limit": log.limit, "diff": log.diff });
    if let Some(path) = &log.path {
        arguments["path"] = json!(path);
    }
    if let Some(since) = &log.since {
        arguments["since"] = json!(since);
    }
    if let Some(before) = log.before {
        arguments["before"] = json!(before);
    }
    if let Some(set) = log.change_set {
        arguments["change_set"] = json!(set);
        arguments["first_change"] = json!(log.first_change);
    }
    answer(session, ListChanges::NAME, arguments, output)
}

/// What a tool says of how to go on, in the words of the command line; all else as it is.
fn in_own_words(text: &str) -> String {
    text.lines()
        .map(|line| line_in_own_words(line).unwrap_or_else(|| line.to_owned()))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The lines of [`in_own_words`]. Those of a note in a diff are indented further, so that none of them is
/// taken for one.
fn line_in_own_words(line: &str) -> Option<String> {
    let number = |text: &str| text.parse::<u64>().ok();
    if let Some(before) = line.strip_prefix("[older ones with before: ") {
        let before = number(before.strip_suffix(']')?)?;
        return Some(format!("[older ones with --before {before}]"));
    }
    if let Some((rest, place)) = line.strip_prefix("and ").and_then(|line| line.split_once("; ")) {
        let (first, _) = place.strip_prefix("first_result: ")?.split_once(',')?;
        let command = format!("steward trash list --first-result {}", number(first)?);
        return Some(format!("and {rest}; `{command}` shows them"));
    }
    let (rest, place) = line.strip_prefix("    and ")?.split_once("; ")?;
    let (set, first) = place.split_once("change_set: ")?.1.split_once(", first_change: ")?;
    let first = first.strip_suffix(" shows them").unwrap_or(first);
    let (set, first) = (number(set)?, number(first)?);
    let command = format!("steward log --change-set {set} --first-change {first}");
    Some(format!("    and {rest}; `{command}` shows them"))
}

/// Takes a change set back, or one change.
///
/// # Errors
/// As the tool `undo` says.
pub fn undo(session: &Session, undo: &UndoArguments, output: &Output) -> Result<ExitCode, Failure> {
    let mut arguments = json!({ "force": undo.force });
    match undo.id.as_deref() {
        None => {}
        Some(id) if id.contains('.') => arguments["change"] = json!(id),
        Some(id) => match id.parse::<u64>() {
            Ok(id) => arguments["change_set"] = json!(id),
            Err(_) => {
                return Err(Failure::usage(
                    format!("`{id}` is no change set and no change"),
                    "`steward log` shows their numbers, such as 17 and 17.2",
                ));
            }
        },
    }
    agreed(session, Undo::NAME, arguments, undo.yes, output)
}

/// Brings something back from the trash.
///
/// # Errors
/// As the tool `restore` says.
pub fn restore(
    session: &Session,
    restore: &RestoreArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let mut arguments = json!({ "item": restore.item });
    if let Some(to) = &restore.to {
        arguments["to"] = json!(to);
    }
    agreed(session, Restore::NAME, arguments, restore.yes, output)
}

/// Calls a tool and prints its answer.
pub(super) fn answer(
    session: &Session,
    tool: &str,
    arguments: Value,
    output: &Output,
) -> Result<ExitCode, Failure> {
    agreed(session, tool, arguments, false, output)
}

fn agreed(
    session: &Session,
    tool: &str,
    arguments: Value,
    confirmed: bool,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
    let way = Way { confirmed, ..Way::default() };
    let answer = call(session, tool, arguments, way, output)?;
    output.answer(&answer.data, in_own_words(&answer.text))?;
    Ok(ExitCode::SUCCESS)
}

fn call(
    session: &Session,
    tool: &str,
    arguments: Map<String, Value>,
    way: Way,
    output: &Output,
) -> Result<crate::tools::Answer<Value>, Failure> {
    let root = session.vault(output)?;
    reach::call(session, &root, tool, arguments, way)
}
