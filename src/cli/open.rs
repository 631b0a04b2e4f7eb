//! `steward open`: opens the chat in the browser.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::{Failure, Result, Session};
use crate::protocol::page::PageCodeParams;

/// The time limit for the opener to report a failure.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug, Args)]
pub struct OpenArguments {
    /// Only print the address; it works once, within a minute
    #[arg(long)]
    pub print: bool,
}

/// Requests a code from the daemon, prints the address of the page and opens it.
pub fn run(session: &Session, arguments: &OpenArguments) -> Result<()> {
    let root = session.vault()?;
    let Some(opened) = session.ask(&PageCodeParams {})? else {
        let message = format!("the daemon of `{}` is not running", root.display());
        return Err(Failure::other("not_running", message, "start it with `steward serve`"));
    };
    if arguments.print || session.output.json() {
        return session.output.answer(&json!(opened), &opened.url);
    }
    let browsed = browse(&opened.url);
    session.output.text(&format!("{}\n", opened.url))?;
    let seconds = opened.seconds;
    match browsed {
        Ok(()) => session.output.text(&format!("opened in the browser; the address works once, for {seconds} s"))?,
        Err(why) => session.output.notice(&format!(
            "could not open a browser: {why}; open the address yourself, it works once, for {seconds} s"
        )),
    }
    Ok(())
}

/// Opens an address with the system's opener, without a shell; the address has only URL characters.
pub(super) fn browse(url: &str) -> Result<(), String> {
    let (program, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let mut child = Command::new(program)
        .args(before)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("`{program}`: {error}"))?;
    // Some openers run as long as the browser: one that has not failed within this time has succeeded.
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(50)),
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("`{program}` ended with {status}")),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}
