//! Starts a vault's daemon in the background, to outlive the starting process.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cli::{Failure, Result, Session};

/// Such a daemon exits after this many minutes without a client.
pub const IDLE_MINUTES: u32 = 30;

/// How long to wait for a daemon that is starting or ending.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// Starts a daemon and returns once one is ready, even if another program started it. The daemon on port
/// `gone` does not count: it is ending or has ended.
pub fn start(session: &Session, root: &Path, gone: Option<u16>) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    let failure = loop {
        let Err(failure) = begin(session, root, &[]) else { return Ok(()) };
        if session.running(root).is_some_and(|(running, _)| Some(running.port) != gone) {
            return Ok(());
        }
        if failure.code != "already_running" || Instant::now() >= until {
            break failure;
        }
        std::thread::sleep(PAUSE);
    };
    // Another vault's daemon may use the port of the settings.
    begin(session, root, &["--port", "0"]).map_err(|_| failure)
}

fn begin(session: &Session, root: &Path, more: &[&str]) -> Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    let idle_seconds = (IDLE_MINUTES * 60).to_string();
    command.args(["serve", "--json", "--idle-exit", &idle_seconds]).args(more);
    command.arg("--vault").arg(root);
    if let Some(file) = &session.flags.config {
        command.arg("--config").arg(file);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    detach(&mut command);
    let mut child = command.spawn()?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    let event: Value = serde_json::from_str(&line).unwrap_or_default();
    if event["event"] == "ready" {
        return Ok(());
    }
    let _ = child.wait();
    let hint = "run `steward serve` in a terminal to see why";
    let message = event["message"].as_str().unwrap_or("the daemon ended at its start");
    let code = event["code"].as_str().unwrap_or("not_running");
    Err(Failure::other(code, message, event["hint"].as_str().unwrap_or(hint)))
}

/// Shields the daemon from signals meant for the starter, such as Ctrl-C.
#[cfg(unix)]
fn detach(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

/// Also gives it a console without a window, which the programs that it starts share: with none, each of them would
/// open a window.
#[cfg(windows)]
fn detach(command: &mut Command) {
    const CREATE_NO_WINDOW: u32 = 0x0800_0000;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
    let flags = CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP;
    std::os::windows::process::CommandExt::creation_flags(command, flags);
}
