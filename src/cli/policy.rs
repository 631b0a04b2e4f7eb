//! `steward mode`, `steward approvals` and `steward audit`.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;

use super::chat::{approval, safe};
use super::{Failure, Result, Session};
use crate::calls::Calls;
use crate::config::folders;
use crate::guests::Allowed;
use crate::methods::{policy, rules};
use crate::note::path::visible;
use crate::protocol::diff::{DiffChange, DiffParams};
use crate::protocol::organize::RulesListParams;
use crate::protocol::policy::{
    AnswerParams, ApprovalsParams, AuditParams, AuditedCall, ModeParams, PendingParams,
};
use crate::tools::time_text;

/// The polling interval of `--follow`.
const FOLLOW: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub struct ModeArguments {
    /// The mode to set; `settings` restores the mode of the settings file [default: show it]
    #[arg(value_parser = ["ask", "auto", "plan", "read-only", "settings"])]
    pub mode: Option<String>,
}

#[derive(Debug, Clone, Subcommand)]
pub enum ApprovalsAction {
    /// List the questions that wait for you, or show one with everything it would change
    Pending {
        /// Its number
        id: Option<i64>,
    },
    /// Allow one, once, or answer what a server asks
    Allow {
        /// Its number
        id: i64,
        /// A message to the caller, such as the answer to a server's question
        words: Vec<String>,
    },
    /// Refuse one
    Deny {
        /// Its number
        id: i64,
        /// A message to the caller, such as the reason of a refusal
        words: Vec<String>,
    },
    /// List "always allow" answers, and the guests that you let answer
    List,
    /// Revoke an "always allow" answer, or let a guest answer no more
    Revoke {
        /// Its number, or the name of the guest
        id: String,
    },
}

#[derive(Debug, Args)]
pub struct AuditArguments {
    /// Only calls of this tool
    #[arg(long, value_name = "TOOL")]
    pub tool: Option<String>,
    /// Only calls of this caller
    #[arg(long, value_name = "NAME")]
    pub caller: Option<String>,
    /// Only calls with this decision
    #[arg(long, value_parser = ["allowed", "refused", "dry_run", "asked"])]
    pub decision: Option<String>,
    /// Only calls since then: a date, a date and time, or an age such as 2h, 3d, 1w
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Calls shown at most, the newest
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    pub limit: u32,
    /// Keep showing calls as they come, until Ctrl-C
    #[arg(long, short)]
    pub follow: bool,
}

/// Prints or sets the approval mode.
pub fn mode(session: &Session, arguments: &ModeArguments) -> Result<()> {
    let params = ModeParams { mode: arguments.mode.clone() };
    let work = |calls: &Calls| policy::mode(calls, &params);
    let found = session.ask_or(&params, false, work)?;
    let by = if found.set_live { "set by `steward mode`" } else { "as in the settings" };
    session.output.answer(&found, format!("{} ({by})", found.mode))
}

/// Lists and answers questions; lists and revokes "always allow" answers.
pub fn approvals(session: &Session, action: &ApprovalsAction) -> Result<()> {
    let revoke = match action {
        ApprovalsAction::Pending { id } => return pending(session, *id),
        ApprovalsAction::Allow { id, words } => {
            return decide(session, *id, "allow_once", words.join(" "));
        }
        ApprovalsAction::Deny { id, words } => {
            return decide(session, *id, "reject_once", words.join(" "));
        }
        ApprovalsAction::List => None,
        ApprovalsAction::Revoke { id } => match id.parse::<i64>() {
            Ok(id) => Some(id),
            Err(_) => return revoke_guest(session, id),
        },
    };
    let params = ApprovalsParams { revoke };
    let work = |calls: &Calls| policy::approvals(calls, &params);
    let found = session.ask_or(&params, false, work)?;
    if let Some(id) = revoke.filter(|_| !found.revoked) {
        let hint = "`steward approvals list` has their numbers";
        return Err(Failure::other("not_found", format!("there is no approval {id}"), hint));
    }
    let guests = allowed_guests(session)?.all();
    if session.output.json() {
        let mut value = serde_json::to_value(&found).unwrap_or_default();
        value["guests"] = json!(guests);
        return session.output.json_value(&value);
    }
    let line = |one: &crate::protocol::policy::Approval| {
        let place = match one.folder.as_str() {
            "" => String::new(),
            folder => format!(" in `{folder}`"),
        };
        format!("{}  {}  {}{place}, by {}", one.id, short(&one.time), one.tool, one.agreed_by)
    };
    let mut lines: Vec<String> = found.approvals.iter().map(line).collect();
    if revoke.is_none() {
        let params = RulesListParams::default();
        let rules = session.ask_or(&params, false, |calls| rules::list(calls, &params))?.rules;
        lines.extend(rules.iter().map(|rule| {
            format!(
                "rule `{}` runs automatically in {} ({}); `steward organize rules disable` revokes it",
                rule.name,
                rule.folders.join(", "),
                rule.state
            )
        }));
        lines.extend(guests.iter().map(|(name, command)| {
            let command = visible(&command.join(" "));
            format!("the agent `{name}` answers in conversations ({command}); `steward approvals revoke {name}`")
        }));
    }
    match (revoke, lines.is_empty()) {
        (Some(id), _) => session.output.text(&format!("revoked approval {id}"))?,
        (None, true) => session.output.text("no \"always allow\" answers")?,
        (None, false) => session.output.text(&lines.join("\n"))?,
    }
    Ok(())
}

/// Takes back the permanent approvals of these tools.
pub(super) fn revoke_tools(session: &Session, tools: &[String]) -> Result<()> {
    let list = ApprovalsParams { revoke: None };
    let found = session.ask_or(&list, false, |calls| policy::approvals(calls, &list))?;
    for approval in found.approvals.iter().filter(|one| tools.contains(&one.tool)) {
        let params = ApprovalsParams { revoke: Some(approval.id) };
        session.ask_or(&params, false, |calls| policy::approvals(calls, &params))?;
    }
    Ok(())
}

/// The guests that a person let answer.
fn allowed_guests(session: &Session) -> Result<Allowed> {
    Ok(Allowed::new(&folders::guests_folder(&session.folders.prepare(session.vault()?)?)))
}

/// Revokes the agreement to a guest: the person is asked again, and a running daemon ends the guest
/// at its next turn.
fn revoke_guest(session: &Session, name: &str) -> Result<()> {
    let removed = allowed_guests(session)?.remove(name).map_err(|error| {
        Failure::other("io_error", format!("the approval could not be revoked: {error}"), "")
    })?;
    if !removed {
        let message = format!("no agent `{}` was allowed to answer", visible(name));
        return Err(Failure::other("not_found", message, "`steward approvals list` names them"));
    }
    let text = format!("the agent `{name}` no longer answers until you allow it again");
    session.output.answer(&json!({ "revoked": true, "guest": name }), text)
}

/// Lists the open questions, or shows one.
fn pending(session: &Session, id: Option<i64>) -> Result<()> {
    // Only a daemon has open questions.
    let found = session.ask(&PendingParams { id })?.unwrap_or_default();
    if session.output.json() {
        return session.output.json_value(&found);
    }
    let mut text = String::new();
    for one in &found.pending {
        let head = format!("{}  {}", one.id, short(&one.since));
        match &one.asked {
            Some(request) => {
                let changes = changes(session, one.id)?;
                text.push_str(&format!("{head}\n{}", approval::full_text(request, &changes)));
            }
            None => {
                let caller = if one.caller.is_empty() { "-" } else { &one.caller };
                let line = format!("{head}  {caller} ({})  {}", one.scope, one.title);
                text.push_str(&format!("{}\n", safe::line(&line)));
                for reason in &one.reasons {
                    text.push_str(&format!("    asked because {}\n", safe::line(reason)));
                }
            }
        }
    }
    if found.pending.is_empty() {
        session.output.text("nothing waits for you")?
    } else {
        session.output.text(text.trim_end())?
    }
    Ok(())
}

fn changes(session: &Session, id: i64) -> Result<Vec<DiffChange>> {
    let mut params = DiffParams { question: Some(id), ..DiffParams::default() };
    let mut changes = Vec::new();
    while let Some(part) = session.ask(&params)? {
        changes.extend(part.changes);
        if part.next.is_none() {
            break;
        }
        (params.first, params.line) = (part.next, part.next_line);
    }
    Ok(changes)
}

fn decide(session: &Session, id: i64, option: &str, words: String) -> Result<()> {
    let params = AnswerParams { id, option_id: option.to_owned(), words };
    let Some(answered) = session.ask(&params)? else {
        let hint = "only a running daemon has questions; `steward serve` starts it";
        return Err(Failure::other("not_found", format!("no question {id} waits"), hint));
    };
    let word = if option == "reject_once" { "refused" } else { "allowed" };
    let then =
        if answered.waited { "" } else { "; its caller gets the answer when it calls again" };
    let text = format!("{word}: {}{then}", safe::line(&answered.title));
    session.output.answer(&answered, text)
}

/// Lists calls with their decisions; `--follow` continues until interrupted.
pub fn audit(session: &Session, arguments: &AuditArguments) -> Result<()> {
    let since = match &arguments.since {
        Some(text) => {
            let time = time_text::parse(text, chrono::Local::now());
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
        let found = session.ask_or(&params, false, work)?;
        match (session.output.json(), arguments.follow) {
            (true, false) => session.output.json_value(&found)?,
            (true, true) => {
                for call in &found.calls {
                    session.output.text(&json!(call).to_string())?;
                }
            }
            (false, _) => {
                let lines: Vec<String> = found.calls.iter().map(line).collect();
                if !lines.is_empty() {
                    session.output.text(&lines.join("\n"))?;
                } else if !arguments.follow {
                    session.output.text("no such call is recorded")?;
                }
            }
        }
        if !arguments.follow {
            return Ok(());
        }
        let last = found.calls.last().map(|call| call.id);
        params.after = last.or(params.after).or(Some(0));
        std::thread::sleep(FOLLOW);
    }
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
