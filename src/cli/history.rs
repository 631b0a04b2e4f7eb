//! `steward log`, `steward undo` and `steward restore`: the tools `list_changes`, `undo` and
//! `restore` with shorter arguments.

use clap::Args;
use serde_json::json;

use super::{CallOptions, Failure, Result, Session, completions};
use crate::tools::{ListChanges, Restore, Tool as _, Undo};

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
pub fn log(session: &Session, log: &LogArguments) -> Result<()> {
    let arguments = json!({
        "path": log.path,
        "diff": log.diff,
        "since": log.since,
        "limit": log.limit,
        "before": log.before,
        "change_set": log.change_set,
        "first_change": log.change_set.map(|_| log.first_change),
    });
    let found = session.call(ListChanges::NAME, arguments)?;
    session.print_answer(&session.output.paged(), &found)
}

/// Undoes a change set or one change.
pub fn undo(session: &Session, undo: &UndoArguments) -> Result<()> {
    let (mut change, mut change_set) = (None, None);
    match undo.id.as_deref() {
        None => {}
        Some(id) if id.contains('.') => change = Some(id),
        Some(id) => {
            change_set = Some(id.parse::<u64>().map_err(|_| {
                let hint = "`steward log` shows them, such as 17 and 17.2";
                Failure::usage(format!("\"{id}\" is not a change number"), hint)
            })?);
        }
    }
    let arguments = json!({ "change": change, "change_set": change_set, "force": undo.force });
    session.print_with(Undo::NAME, arguments, CallOptions::agreed(undo.yes))
}

pub fn restore(session: &Session, restore: &RestoreArguments) -> Result<()> {
    let arguments = json!({ "item": restore.item, "to": restore.to });
    session.print_with(Restore::NAME, arguments, CallOptions::agreed(restore.yes))
}
