//! `steward trash` and `steward journal`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use serde_json::json;

use super::failure::OTHER;
use super::history::{self, RestoreArguments};
use super::{Failure, Result, Session, consent};
use crate::config::folders;
use crate::daemon;
use crate::methods::maintenance;
use crate::note::counted::counted;
use crate::protocol::maintenance::{
    JournalGcParams, JournalGcResult, JournalVerifyParams, JournalVerifyResult, TrashEmptyParams,
};
use crate::store::Store;
use crate::tools::{ListTrash, Tool, size};

/// The most names shown; the rest is counted.
const SHOWN: usize = 20;

#[derive(Debug, Subcommand)]
pub enum TrashAction {
    /// List the trash, newest first
    List {
        /// Items shown at most
        #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
        limit: u32,
        /// The first item shown, to continue a list that was cut
        #[arg(long, value_name = "N", default_value_t = 1)]
        first_result: u64,
    },
    /// Restore something from the trash
    Restore(RestoreArguments),
    /// Delete items from the trash for good: those named, or the old ones
    Empty {
        /// The entries to remove, as `trash list` names them
        items: Vec<String>,
        /// Without names: entries deleted more than so many days ago, at least 30
        #[arg(long, value_name = "DAYS", default_value_t = 30, conflicts_with = "items")]
        older_than: u32,
        /// Skip the confirmation
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Clone, Subcommand)]
pub enum JournalAction {
    /// Check every stored text against its hash; exit code 1 if one is damaged or missing
    Verify,
    /// Delete old history (asks first)
    Gc {
        /// Only show what would be freed
        #[arg(long, conflicts_with = "yes")]
        dry_run: bool,
        /// Skip the confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Keep using the history of a vault that was moved to another disk or restored elsewhere
    Adopt {
        /// Take the history of the vault that was at this path
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
    },
}

pub fn trash(session: &Session, action: &TrashAction) -> Result<()> {
    match action {
        TrashAction::List { limit, first_result } => {
            let arguments = json!({ "limit": limit, "first_result": first_result });
            session.print(ListTrash::NAME, arguments)
        }
        TrashAction::Restore(restore) => history::restore(session, restore),
        TrashAction::Empty { items, older_than, yes } => {
            let older_than_days = items.is_empty().then_some(*older_than);
            let params = TrashEmptyParams { items: items.clone(), older_than_days, dry_run: true };
            empty(session, params, *yes)
        }
    }
}

/// Shows what `params` would delete, asks, and deletes it.
fn empty(session: &Session, mut params: TrashEmptyParams, yes: bool) -> Result<()> {
    let ask = |params: &TrashEmptyParams| {
        session.ask_or(params, !params.dry_run, |calls| maintenance::empty_trash(calls, params))
    };
    let found = ask(&params)?;
    let question = || {
        let mut lines: Vec<String> = found.items.iter().take(SHOWN).cloned().collect();
        if found.items.len() > SHOWN {
            lines.push(format!("and {} more", found.items.len() - SHOWN));
        }
        let (things, size) = (counted(found.items.len(), "thing"), size(found.bytes));
        lines.push(format!("remove {things} from the trash for good, {size}?"));
        lines.join("\n")
    };
    if found.items.is_empty() || !agreed(yes, &question)? {
        let nothing = found.items.is_empty();
        let text = if nothing { "nothing in the trash is that old" } else { "nothing was removed" };
        return session.output.answer(&found, text);
    }
    params.dry_run = false;
    let done = ask(&params)?;
    let (things, size) = (counted(done.items.len(), "thing"), size(done.bytes));
    let mut lines = vec![format!("removed {things} from the trash, {size}")];
    lines.extend(done.notes.iter().cloned());
    session.output.answer(&done, lines.join("\n"))
}

/// Checks or cleans up the journal.
pub fn journal(session: &Session, action: &JournalAction) -> Result<ExitCode> {
    match action {
        JournalAction::Verify => return verify(session),
        JournalAction::Gc { dry_run, yes } => gc(session, *dry_run, *yes)?,
        JournalAction::Adopt { from } => adopt(session, from.as_deref())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn adopt(session: &Session, from: Option<&Path>) -> Result<()> {
    let root = session.vault()?;
    let ours = &session.folders;
    let state = ours.prepare(root)?;
    // Makes sure that no other process uses it.
    drop(daemon::lock(ours, root, &state, Duration::ZERO)?);
    if let Some(from) = from {
        ours.adopt(root, from)?;
    }
    Store::at(&state).database.set_owner(&folders::owner(root)).map_err(|error| {
        let hint = error.hint();
        Failure::other("journal", error.to_string(), hint)
    })?;
    let text =
        format!("the history in `{}` is of the vault at `{}`", state.display(), root.display());
    session.output.answer(&json!({ "state": state, "vault": root }), text)
}

fn verify(session: &Session) -> Result<ExitCode> {
    let found = session.ask_or(&JournalVerifyParams {}, false, |calls| {
        maintenance::verify_journal(calls.context())
    })?;
    let sound = found.damaged.is_empty() && found.missing.is_empty();
    session.output.answer(&found, report(&found))?;
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::from(OTHER) })
}

fn report(found: &JournalVerifyResult) -> String {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(found.damaged.iter().map(|hash| format!("damaged  {hash}")));
    lines.extend(found.missing.iter().map(|hash| format!("missing  {hash}")));
    lines.push(format!(
        "{} stored texts intact ({}), {} damaged, {} missing, {} unused",
        found.sound,
        size(found.bytes),
        found.damaged.len(),
        found.missing.len(),
        found.unused
    ));
    lines.join("\n")
}

fn gc(session: &Session, dry_run: bool, yes: bool) -> Result<()> {
    let ask = |dry_run| {
        let params = JournalGcParams { dry_run };
        session
            .ask_or(&params, !dry_run, |calls| maintenance::free_journal(calls.context(), &params))
    };
    let words = |it: &JournalGcResult| {
        format!(
            "{} of {}, {}",
            counted(it.texts, "text"),
            counted(it.changes, "change"),
            size(it.bytes)
        )
    };
    let found = ask(true)?;
    let text = words(&found);
    let nothing = found.texts == 0 && found.changes == 0;
    if dry_run || nothing || !agreed(yes, &|| format!("free {text}?"))? {
        let text = if nothing {
            "nothing is older than the settings keep".to_owned()
        } else {
            format!("could free {text}; nothing was freed")
        };
        return session.output.answer(&found, text);
    }
    let done = ask(false)?;
    session.output.answer(&done, format!("freed {}", words(&done)))
}

/// Asks for confirmation on the terminal, unless `yes` is set.
pub(super) fn agreed(yes: bool, question: &dyn Fn() -> String) -> Result<bool> {
    if yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        let message = format!("this needs confirmation: {}", question().replace('\n', ", "));
        return Err(Failure::usage(message, "add `--yes` to confirm"));
    }
    consent::says_yes(&question())
}
