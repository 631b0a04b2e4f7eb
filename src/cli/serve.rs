//! `steward serve`: the daemon, in the foreground.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::failure::NO_VAULT;
use super::maintenance::agreed;
use super::output::Paint;
use super::progress::Progress;
use super::{Failure, Output, Result, Session, consent};
use crate::config::vaults;
use crate::daemon::{self, Options, Ready};
use crate::llm::tape::Tape;
use crate::note::counted::counted;

#[derive(Debug, Args)]
pub struct ServeArguments {
    /// The port on 127.0.0.1; 0 takes any free one [default: 27180]
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,

    /// Record model requests and answers in this folder, for a bug report. It holds messages and
    /// text of notes, and no keys
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,

    /// Answer from a recording in this folder; no model is asked
    #[arg(long, value_name = "FOLDER", conflicts_with = "record")]
    pub replay: Option<PathBuf>,

    /// Exit after this long without a connection
    #[arg(long, value_name = "SECONDS")]
    pub idle_exit: Option<u64>,

    /// Serve the folder even if it is not a vault
    #[arg(long, short)]
    pub yes: bool,
}

/// The options of `serve` that are not settings.
const NEXT: &str = "\
next, in another terminal: `steward search WORDS`, `steward open` for the chat in a browser, `steward plugin install`
for Obsidian, `steward models` for a language model. Ctrl-C stops the daemon; `steward service install` keeps it running.";

/// Runs the daemon until a signal stops it. The port is already in the settings.
pub fn run(session: &Session, arguments: &ServeArguments) -> Result<()> {
    if !arguments.yes {
        confirm_folder(session)?;
    }
    let root = session.vault()?;
    let tape = match (&arguments.record, &arguments.replay) {
        (Some(folder), _) => Tape::record(folder)?,
        (None, Some(folder)) => Tape::replay(folder)?,
        (None, None) => Tape::Off,
    };
    let progress = Progress::new();
    daemon::run(Options {
        root,
        folders: &session.folders,
        live: Arc::new(session.live()),
        environment: session.environment.clone(),
        tape,
        idle_exit: arguments.idle_exit.map(Duration::from_secs),
        log_level: Box::new({
            let log = session.log.clone();
            move |level| log.set_level(level)
        }),
        progress: &|entries| progress.report(entries),
        ready: &|ready| announce(ready, &session.output),
    })?;
    Ok(())
}

/// Whether to serve a folder that is not a vault: asks on a terminal, refuses the home folder and
/// system folders. A service, which cannot ask, serves any other folder.
fn confirm_folder(session: &Session) -> Result<()> {
    let choice = session.choose()?;
    let is_too_much = vaults::is_too_broad(&choice.root, &session.environment);
    let own = session.folders.of_vault(&choice.root);
    let was_served = || session.folders.remembered().iter().any(|(state, _)| *state == own);
    if choice.is_vault || !is_too_much && was_served() {
        return Ok(());
    }
    let root = choice.root.display();
    let can_ask = consent::has_terminal();
    let question = || {
        format!("`{root}` is not a vault yet; every file in it can be read and changed. Serve it?")
    };
    let is_agreed =
        if can_ask && !session.output.json() { agreed(false, &question)? } else { !is_too_much };
    if is_agreed {
        Ok(())
    } else {
        Err(Failure {
            exit: NO_VAULT,
            ..Failure::other(
                "no_vault",
                format!("`{root}` is not a vault"),
                "name the vault's folder with `--vault PATH`; `--yes` serves this one",
            )
        })
    }
}

/// The line that reports that the daemon is ready. Scripts wait for it, people copy from it.
fn announce(ready: &Ready, output: &Output) {
    let printed = if output.json() {
        output.json_value(&json!({
            "event": "ready",
            "vault": ready.vault,
            "path": ready.path,
            "notes": ready.notes,
            "url": ready.url,
            "port": ready.port,
            "pid": std::process::id(),
        }))
    } else {
        output
            .text(&format!(
                "{} serving {} ({}) at {}; clients need the token that `steward token` prints",
                output.paint(Paint::Green, "ready:"),
                output.paint(Paint::Bold, &ready.path),
                counted(ready.notes, "note"),
                ready.url,
            ))
            .and_then(|()| if std::io::stdout().is_terminal() { output.text(NEXT) } else { Ok(()) })
    };
    if let Err(failure) = printed {
        tracing::warn!(error = failure.message, "could not print the ready line");
    }
}
