//! `steward log`, `steward undo` and `steward restore`: the tools `list_changes`, `undo` and
//! `restore` with shorter arguments.

use clap::Args;
use serde_json::{Value, json};

use super::completions;
use super::failure::Failure;
use super::output::Output;
use super::paint;
use super::reach::{self, Way};
use super::session::Session;
use super::words;
use crate::tools::{Answer, ListChanges, Restore, Tool, Undo};

/// The arguments of `log`.
#[derive(Debug, Args)]
pub struct LogArguments {
    /// Only changes to this file, or in this folder
    #[arg(add = completions::notes())]
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
    /// Only change sets before this number
    #[arg(long, value_name = "N")]
    pub before: Option<u64>,
    /// One change set with all its changes, 100 at a time
    #[arg(long, value_name = "N", conflicts_with_all = ["path", "since", "before", "limit"])]
    pub change_set: Option<u64>,
    /// The first change of that set to show
    #[arg(long, value_name = "N", default_value_t = 1, requires = "change_set")]
    pub first_change: u64,
}

/// The arguments of `undo`.
#[derive(Debug, Args)]
pub struct UndoArguments {
    /// A change set (17) or one change of it (17.2) [default: the last change set]
    #[arg(add = completions::changes())]
    pub id: Option<String>,
    /// Undo even if a file has changed in the same lines since, or is gone; the newer text stays
    /// in the journal
    #[arg(long)]
    pub force: bool,
    /// Skip confirmation prompts
    #[arg(long, short)]
    pub yes: bool,
}

/// The arguments of `restore`.
#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// The file or folder: its name in the trash, or its former path
    #[arg(add = completions::trashed())]
    pub item: String,
    /// Where to put it [default: where it was]
    #[arg(long, value_name = "PATH")]
    pub to: Option<String>,
    /// Skip confirmation prompts
    #[arg(long, short)]
    pub yes: bool,
}

/// Prints the changes, newest first.
pub fn log(session: &Session, log: &LogArguments, output: &Output) -> Result<(), Failure> {
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
    let found = call(session, ListChanges::NAME, arguments, Way::default(), output)?;
    shown(&found, &output.paged())
}

/// Undoes a change set or one change.
pub fn undo(session: &Session, undo: &UndoArguments, output: &Output) -> Result<(), Failure> {
    let mut arguments = json!({ "force": undo.force });
    match undo.id.as_deref() {
        None => {}
        Some(id) if id.contains('.') => arguments["change"] = json!(id),
        Some(id) => match id.parse::<u64>() {
            Ok(id) => arguments["change_set"] = json!(id),
            Err(_) => {
                return Err(Failure::usage(
                    format!("\"{id}\" is not a change number"),
                    "`steward log` shows them, such as 17 and 17.2",
                ));
            }
        },
    }
    answer(session, Undo::NAME, arguments, Way::agreed(undo.yes), output)
}

pub fn restore(
    session: &Session,
    restore: &RestoreArguments,
    output: &Output,
) -> Result<(), Failure> {
    let mut arguments = json!({ "item": restore.item });
    if let Some(to) = &restore.to {
        arguments["to"] = json!(to);
    }
    answer(session, Restore::NAME, arguments, Way::agreed(restore.yes), output)
}

/// Calls a tool and prints its answer.
pub(super) fn answer(
    session: &Session,
    tool: &str,
    arguments: Value,
    way: Way,
    output: &Output,
) -> Result<(), Failure> {
    let answer = call(session, tool, arguments, way, output)?;
    shown(&answer, output)
}

/// Prints a tool's answer, adapted to the command line.
pub(super) fn shown(answer: &Answer<Value>, output: &Output) -> Result<(), Failure> {
    let text = paint::differences(output, &words::answer(&answer.text));
    Ok(output.answer(&answer.data, text)?)
}

/// Calls a tool; `arguments` is an object.
pub(super) fn call(
    session: &Session,
    tool: &str,
    arguments: Value,
    way: Way,
    output: &Output,
) -> Result<Answer<Value>, Failure> {
    let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
    let root = session.vault(output)?;
    reach::call(session, &root, tool, arguments, way)
}
