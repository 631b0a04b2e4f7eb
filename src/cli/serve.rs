//! `steward serve`: the daemon, in the foreground.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::output::{Output, Paint};
use super::progress::Progress;
use super::session::Session;
use crate::daemon::{self, Options, Ready};
use crate::llm::tape::Tape;

/// Of `serve`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// The port on 127.0.0.1; 0 takes any free one [default: 27180]
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,

    /// Record what models are asked and what they answer into this folder, to report a fault with.
    /// It holds what was said and read, and no keys
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,

    /// Ask no model, but answer as was recorded in this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "record")]
    pub replay: Option<PathBuf>,
}

/// Serves until a signal says stop. The port is among the settings already.
///
/// # Errors
/// Why it could not start or go on.
pub fn run(
    session: &Session,
    arguments: &ServeArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let root = session.vault(output)?;
    let tape = match (&arguments.record, &arguments.replay) {
        (Some(folder), _) => Tape::record(folder)?,
        (None, Some(folder)) => Tape::replay(folder)?,
        (None, None) => Tape::Off,
    };
    let progress = Progress::new();
    daemon::run(Options {
        root: &root,
        folders: &session.folders,
        live: Arc::new(session.live()),
        environment: session.environment.clone(),
        tape,
        log_level: Box::new({
            let log = session.log.clone();
            move |level| log.set_level(level)
        }),
        progress: &|entries| progress.seen(entries),
        ready: &|ready| announce(ready, output),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The one line that says everything is up. A script waits for it, a person copies from it.
fn announce(ready: &Ready, output: &Output) {
    let said = if output.json() {
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
        output.text(&format!(
            "{} serving {} ({} notes) at {}; clients need the token that `steward token` prints",
            output.paint(Paint::Green, "ready:"),
            output.paint(Paint::Bold, &ready.path),
            ready.notes,
            ready.url,
        ))
    };
    if let Err(error) = said {
        tracing::warn!(%error, "could not print the ready line");
    }
}
