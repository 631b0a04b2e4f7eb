//! `steward trash` and `steward journal`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use serde_json::json;

use super::consent;
use super::failure::{Failure, OTHER};
use super::history::{self, RestoreArguments};
use super::output::Output;
use super::reach::{self, Way};
use super::session::Session;
use crate::config::folders;
use crate::daemon;
use crate::methods::keeping;
use crate::protocol::error::ErrorObject;
use crate::protocol::keeping::{
    JournalGcParams, JournalVerifyParams, JournalVerifyResult, TrashEmptyParams,
};
use crate::store::Store;
use crate::tools::{ListTrash, Tool, size};

/// The most names shown; the rest is counted.
const SHOWN: usize = 20;

/// Actions on the trash.
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

/// Actions on the journal.
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

/// Lists the trash, restores from it, or empties it.
pub fn trash(session: &Session, action: &TrashAction, output: &Output) -> Result<(), Failure> {
    match action {
        TrashAction::List { limit, first_result } => {
            let arguments = json!({ "limit": limit, "first_result": first_result });
            history::answer(session, ListTrash::NAME, arguments, Way::default(), output)
        }
        TrashAction::Restore(restore) => history::restore(session, restore, output),
        TrashAction::Empty { items, older_than, yes } => {
            let params = |dry_run| TrashEmptyParams {
                items: items.clone(),
                older_than_days: items.is_empty().then_some(*older_than),
                dry_run,
            };
            empty(session, &params, *yes, output)
        }
    }
}

fn empty(
    session: &Session,
    params: &dyn Fn(bool) -> TrashEmptyParams,
    yes: bool,
    output: &Output,
) -> Result<(), Failure> {
    let root = session.vault(output)?;
    let ask = |dry_run| {
        let params = params(dry_run);
        match reach::ask(session, &root, &params)? {
            Some(result) => Ok(result),
            None => reach::here(session, &root, !dry_run, |context| {
                let state = session.folders.prepare(&root)?;
                let calls = daemon::calls(context.clone(), &state, &session.settings.config);
                keeping::empty_trash(&calls, &params).map_err(failed)
            }),
        }
    };
    let found = ask(true)?;
    let question = || {
        let mut lines: Vec<String> = found.items.iter().take(SHOWN).cloned().collect();
        if found.items.len() > SHOWN {
            lines.push(format!("and {} more", found.items.len() - SHOWN));
        }
        lines.push(format!(
            "remove {} from the trash for good, {}?",
            things(found.items.len()),
            size(found.bytes)
        ));
        lines.join("\n")
    };
    if found.items.is_empty() || !agreed(yes, &question)? {
        let nothing = found.items.is_empty();
        let text = if nothing { "nothing in the trash is that old" } else { "nothing was removed" };
        return Ok(output.answer(&found, text)?);
    }
    let done = ask(false)?;
    if output.json() {
        output.json_value(&done)?;
    } else {
        output.text(&format!(
            "removed {} from the trash, {}",
            things(done.items.len()),
            size(done.bytes)
        ))?;
        for note in &done.notes {
            output.text(note)?;
        }
    }
    Ok(())
}

/// Checks or cleans up the journal.
pub fn journal(
    session: &Session,
    action: &JournalAction,
    output: &Output,
) -> Result<ExitCode, Failure> {
    match action {
        JournalAction::Verify => return verify(session, output),
        JournalAction::Gc { dry_run, yes } => gc(session, *dry_run, *yes, output)?,
        JournalAction::Adopt { from } => adopt(session, from.as_deref(), output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn adopt(session: &Session, from: Option<&Path>, output: &Output) -> Result<(), Failure> {
    let root = session.vault(output)?;
    let ours = &session.folders;
    let state = ours.prepare(&root)?;
    // Makes sure that no other process uses it.
    drop(daemon::lock(ours, &root, &state, Duration::ZERO)?);
    if let Some(from) = from {
        ours.adopt(&root, from)?;
    }
    Store::at(&state).database.set_owner(&folders::owner(&root)).map_err(|error| {
        let hint = error.hint();
        Failure::other("journal", error.to_string(), hint)
    })?;
    let said =
        format!("the history in `{}` is of the vault at `{}`", state.display(), root.display());
    Ok(output.answer(&json!({ "state": state, "vault": root }), said)?)
}

fn verify(session: &Session, output: &Output) -> Result<ExitCode, Failure> {
    let root = session.vault(output)?;
    let found = match reach::ask(session, &root, &JournalVerifyParams {})? {
        Some(result) => result,
        None => reach::here(session, &root, false, |context| {
            keeping::verify_journal(context).map_err(failed)
        })?,
    };
    let sound = found.damaged.is_empty() && found.missing.is_empty();
    output.answer(&found, report(&found))?;
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::from(OTHER) })
}

fn report(found: &JournalVerifyResult) -> String {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(found.damaged.iter().map(|hash| format!("damaged  {hash}")));
    lines.extend(found.missing.iter().map(|hash| format!("missing  {hash}")));
    lines.push(format!(
        "{} stored texts sound ({}), {} damaged, {} missing, {} unused",
        found.sound,
        size(found.bytes),
        found.damaged.len(),
        found.missing.len(),
        found.unused
    ));
    lines.join("\n")
}

fn gc(session: &Session, dry_run: bool, yes: bool, output: &Output) -> Result<(), Failure> {
    let root = session.vault(output)?;
    let ask = |dry_run| {
        let params = JournalGcParams { dry_run };
        match reach::ask(session, &root, &params)? {
            Some(result) => Ok(result),
            None => reach::here(session, &root, !dry_run, |context| {
                keeping::free_journal(context, &params).map_err(failed)
            }),
        }
    };
    let found = ask(true)?;
    let said = format!("{} texts of {} changes, {}", found.texts, found.changes, size(found.bytes));
    let nothing = found.texts == 0 && found.changes == 0;
    if dry_run || nothing || !agreed(yes, &|| format!("free {said}?"))? {
        let text = match nothing {
            true => "nothing is older than the settings keep".to_owned(),
            false => format!("could free {said}; nothing was freed"),
        };
        return Ok(output.answer(&found, text)?);
    }
    let done = ask(false)?;
    if output.json() {
        output.json_value(&done)?;
    } else {
        output.text(&format!(
            "freed {} texts of {} changes, {}",
            done.texts,
            done.changes,
            size(done.bytes)
        ))?;
    }
    Ok(())
}

/// Asks for confirmation on the terminal, unless `yes` is set.
pub(super) fn agreed(yes: bool, question: &dyn Fn() -> String) -> Result<bool, Failure> {
    if yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            format!("this needs confirmation: {}", question().replace('\n', ", ")),
            "add `--yes` to confirm",
        ));
    }
    consent::says_yes(&question())
}

fn things(number: usize) -> String {
    if number == 1 { "1 thing".to_owned() } else { format!("{number} things") }
}

fn failed(error: ErrorObject) -> Failure {
    Failure::other("failed", error.message, error.data.hint.unwrap_or_default())
}
