//! `steward mode`, `steward approvals` and `steward audit`: what may run, and what ran.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;

use super::failure::Failure;
use super::output::Output;
use super::reach;
use super::session::Session;
use crate::calls::Calls;
use crate::daemon;
use crate::methods::policy;
use crate::protocol::MethodParams;
use crate::protocol::error::ErrorObject;
use crate::protocol::policy::{ApprovalsParams, AuditParams, AuditedCall, ModeParams};
use crate::tools::when;

/// How often `--follow` looks for more.
const FOLLOW: Duration = Duration::from_millis(500);

/// Of `mode`.
#[derive(Debug, Args)]
pub struct ModeArguments {
    /// The mode from now on; `settings` goes back to what the settings say [default: only say it]
    #[arg(value_parser = ["ask", "auto", "read-only", "settings"])]
    pub mode: Option<String>,
}

/// Of `approvals`.
#[derive(Debug, Args)]
pub struct ApprovalsArguments {
    /// What to do with them.
    #[command(subcommand)]
    pub action: ApprovalsAction,
}

/// What can be done with what was agreed to for good.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum ApprovalsAction {
    /// List it
    List,
    /// Take one back; from the next call on it is asked about again
    Revoke {
        /// Its number
        id: i64,
    },
}

/// Of `audit`.
#[derive(Debug, Args)]
pub struct AuditArguments {
    /// Only calls of this tool
    #[arg(long, value_name = "TOOL")]
    pub tool: Option<String>,
    /// Only calls of this caller
    #[arg(long, value_name = "NAME")]
    pub caller: Option<String>,
    /// Only those that were allowed, refused, a dry_run, or are being asked about
    #[arg(long, value_parser = ["allowed", "refused", "dry_run", "asked"])]
    pub decision: Option<String>,
    /// Only calls since then: a date, a date and time, or an age such as 2h, 3d, 1w
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Calls shown at most, the newest
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    pub limit: u32,
    /// Go on showing calls as they come, until Ctrl-C
    #[arg(long, short)]
    pub follow: bool,
}

/// Says or sets how far callers are trusted with changes.
///
/// # Errors
/// As the daemon or the store says.
pub fn mode(
    session: &Session,
    arguments: &ModeArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let root = session.vault(output)?;
    let params = ModeParams { mode: arguments.mode.clone() };
    let work = |calls: &Calls| policy::mode(calls, &params);
    let found = asked(session, &root, &params, work)?;
    let by = if found.set_live { "set by `steward mode`" } else { "as in the settings" };
    output.answer(&found, format!("{} ({by})", found.mode))?;
    Ok(ExitCode::SUCCESS)
}

/// Lists what a person agreed to for good, or takes it back.
///
/// # Errors
/// A number that names nothing; as the daemon or the store says.
pub fn approvals(
    session: &Session,
    action: ApprovalsAction,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let root = session.vault(output)?;
    let revoke = match action {
        ApprovalsAction::List => None,
        ApprovalsAction::Revoke { id } => Some(id),
    };
    let params = ApprovalsParams { revoke };
    let work = |calls: &Calls| policy::approvals(calls, &params);
    let found = asked(session, &root, &params, work)?;
    if let Some(id) = revoke.filter(|_| !found.revoked) {
        let hint = "`steward approvals list` has their numbers";
        return Err(Failure::other("not_found", format!("there is no approval {id}"), hint));
    }
    if output.json() {
        output.json_value(&found)?;
        return Ok(ExitCode::SUCCESS);
    }
    let line = |one: &crate::protocol::policy::Approval| {
        format!(
            "{}  {}  {} in `{}`, by {}",
            one.id,
            short(&one.time),
            one.tool,
            one.folder,
            one.agreed_by
        )
    };
    let lines: Vec<String> = found.approvals.iter().map(line).collect();
    match (revoke, lines.is_empty()) {
        (Some(id), _) => output.text(&format!("took approval {id} back"))?,
        (None, true) => output.text("nothing was agreed to for good")?,
        (None, false) => output.text(&lines.join("\n"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists calls and what was decided on them; with `--follow` goes on until it is stopped.
///
/// # Errors
/// A time that is none; as the daemon or the store says.
pub fn audit(
    session: &Session,
    arguments: &AuditArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let root = session.vault(output)?;
    let since = match &arguments.since {
        Some(text) => {
            let time = when::parse(text, chrono::Local::now());
            Some(time.map_err(Failure::from)?.timestamp_millis())
        }
        None => None,
    };
    let mut params = AuditParams {
        tool: arguments.tool.clone(),
        caller: arguments.caller.clone(),
        decision: arguments.decision.clone(),
        since,
        after: None,
        limit: Some(arguments.limit),
    };
    loop {
        let given = params.clone();
        let work = |calls: &Calls| policy::audit(calls, given.clone());
        let found = asked(session, &root, &params, work)?;
        match (output.json(), arguments.follow) {
            (true, false) => output.json_value(&found)?,
            (true, true) => {
                for call in &found.calls {
                    output.text(&json!(call).to_string())?;
                }
            }
            (false, _) => {
                let lines: Vec<String> = found.calls.iter().map(line).collect();
                if !lines.is_empty() {
                    output.text(&lines.join("\n"))?;
                } else if !arguments.follow {
                    output.text("no such call was written down")?;
                }
            }
        }
        if !arguments.follow {
            return Ok(ExitCode::SUCCESS);
        }
        let last = found.calls.last().map(|call| call.id);
        params.after = last.or(params.after).or(Some(0));
        std::thread::sleep(FOLLOW);
    }
}

/// Asks the daemon, or where there is none does it here.
fn asked<P: MethodParams>(
    session: &Session,
    root: &Path,
    params: &P,
    work: impl Fn(&Calls) -> Result<P::Result, ErrorObject>,
) -> Result<P::Result, Failure> {
    if let Some(found) = reach::ask(session, root, params)? {
        return Ok(found);
    }
    reach::here(session, root, false, |context| {
        let state = session.folders.prepare(root)?;
        let calls = daemon::calls(context.clone(), &state, &session.settings.config);
        work(&calls).map_err(|error| {
            Failure::other("failed", error.message, error.data.hint.unwrap_or_default())
        })
    })
}

fn line(call: &AuditedCall) -> String {
    let mut line = format!(
        "{}  {}  {} ({})  {}  {}",
        short(&call.time),
        call.decision,
        if call.caller.is_empty() { "-" } else { &call.caller },
        call.scope,
        call.tool,
        call.outcome.as_deref().unwrap_or("-"),
    );
    for path in &call.paths {
        line.push_str(&format!("  `{path}`"));
    }
    let why = [call.layer.as_deref(), call.reason.as_deref()];
    let why: Vec<&str> = why.into_iter().flatten().collect();
    if !why.is_empty() {
        line.push_str(&format!("  [{}]", why.join(": ")));
    }
    if let Some(by) = &call.answered_by {
        line.push_str(&format!("  answered by {by}"));
    }
    if let Some(set) = call.change_set {
        line.push_str(&format!("  change set {set}"));
    }
    line
}

fn short(time: &str) -> String {
    time.get(..19).unwrap_or(time).replace('T', " ")
}
