//! `steward organize apply`, `jobs`, `stop`, `resume` and `undo`.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::agreed;
use super::plans::without_identity;
use crate::cli::{CallOptions, Failure, Result, Session};
use crate::note::counted::counted;
use crate::protocol::organize::OrganizeStopParams;
use crate::tools::{ApplyPlan, ListJobs, RollbackJob, ShowPlan, Tool as _};

#[derive(Debug, Clone, Args)]
pub struct ApplyArguments {
    /// The plan
    pub plan: u64,
    /// Only this item, with those that it depends on; repeat it for more
    #[arg(long, value_name = "ITEM")]
    pub only: Vec<u32>,
    /// Leave out items that no longer fit the vault
    #[arg(long)]
    pub skip_stale: bool,
    /// Only show what would change
    #[arg(long)]
    pub dry_run: bool,
    /// Skip the confirmation
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Clone, Args)]
pub struct JobsArguments {
    /// One job, with its items
    pub job: Option<u64>,
    /// Only jobs in this state, such as interrupted
    #[arg(long, conflicts_with = "job")]
    pub state: Option<String>,
    /// The first one shown
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub first_result: u64,
}

#[derive(Debug, Clone, Args)]
pub struct StopArguments {
    /// The job
    pub job: u64,
}

#[derive(Debug, Clone, Args)]
pub struct ResumeArguments {
    /// The job
    pub job: u64,
    /// Leave out items that no longer fit the vault
    #[arg(long)]
    pub skip_stale: bool,
    /// Skip the confirmation
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Clone, Args)]
pub struct UndoJobArguments {
    /// The job
    pub job: u64,
    /// Only this item; repeat it for more
    #[arg(long, value_name = "ITEM")]
    pub only: Vec<u32>,
    /// Skip confirmation prompts
    #[arg(long, short)]
    pub yes: bool,
}

/// Shows a plan, asks, and applies it.
pub fn apply(session: &Session, arguments: &ApplyArguments) -> Result<()> {
    let plan = arguments.plan;
    let tool_arguments = json!({ "plan": plan });
    let current_state = session.call(ShowPlan::NAME, tool_arguments)?;
    let mut tool_arguments = json!({
        "plan": plan,
        "identity": current_state.data["identity"],
        "items": arguments.only,
        "skip_stale": arguments.skip_stale,
        "dry_run": arguments.dry_run,
    });
    if !arguments.dry_run {
        let question = match arguments.only.len() {
            0 => format!("apply plan {plan}"),
            1 => format!("apply item {} of plan {plan}", arguments.only[0]),
            number => format!("apply {number} items of plan {plan}"),
        };
        if !agreed(arguments.yes, &without_identity(&current_state.text), &question)? {
            return Err(Failure::other("denied", "nothing was done", ""));
        }
        tool_arguments["dry_run"] = json!(false);
    }
    done(session, tool_arguments)
}

/// Stops a running job of any caller.
pub fn stop(session: &Session, arguments: &StopArguments) -> Result<()> {
    let job = arguments.job;
    let Some(stopped) = session.ask(&OrganizeStopParams { job })? else {
        let message = "no daemon runs for this vault, so no job of another program is running";
        let hint = "`steward organize jobs` lists the jobs with their states";
        return Err(Failure::other("no_daemon", message, hint));
    };
    let done = format!("{} of {} items are done", stopped.done, stopped.total);
    let mut text = match &*stopped.state {
        "running" => format!("Job {job} stops after its current piece; {done}."),
        "completed" => format!("Job {job} was done before it could be stopped; {done}."),
        _ => format!("Job {job} was stopped; {done}."),
    };
    if stopped.done > 0 {
        text.push_str(&format!(" To undo them: steward organize undo {job}"));
    }
    session.output.answer(&stopped, text)
}

pub fn resume(session: &Session, arguments: &ResumeArguments) -> Result<()> {
    let id = arguments.job;
    let tool_arguments = json!({ "job": id });
    let current_state = session.call(ListJobs::NAME, tool_arguments)?;
    let job = &current_state.data["jobs"][0];
    let tool_arguments = json!({
        "plan": job["plan"],
        "identity": job["identity"],
        "job": id,
        "skip_stale": arguments.skip_stale,
    });
    let question =
        format!("go on with job {id}, of which {} of {} items are done", job["done"], job["total"]);
    if job["state"] == "interrupted" && !agreed(arguments.yes, "", &question)? {
        return Err(Failure::other("denied", "nothing was done", ""));
    }
    done(session, tool_arguments)
}

fn done(session: &Session, tool_arguments: Value) -> Result<()> {
    let call_options =
        CallOptions { plan: tool_arguments["plan"].as_u64(), ..CallOptions::agreed(true) };
    let answer = session.call_with(ApplyPlan::NAME, tool_arguments, call_options)?;
    if session.output.json() {
        return session.output.json_value(&answer.data);
    }
    let data = &answer.data;
    let mut lines = Vec::new();
    let summary = data["summary"].as_str().unwrap_or_default();
    match data["job"].as_u64() {
        Some(job) => lines
            .push(format!("Job {job} is done: {summary}. To undo it: steward organize undo {job}")),
        None => lines.push(format!("Would {summary}. Nothing was changed.")),
    }
    if let Some(files) = data["relinked"].as_u64().filter(|files| *files > 0) {
        let verb = if data["job"].is_null() { "would follow" } else { "followed" };
        lines.push(format!("Links {verb} in {}.", counted(files, "file")));
    }
    let came: Vec<String> =
        data["came_along"].as_array().into_iter().flatten().map(Value::to_string).collect();
    if !came.is_empty() {
        lines.push(format!("Also applied, since others depend on them: {}", came.join(", ")));
    }
    session.output.text(&lines.join("\n"))?;
    for one in data["skipped"].as_array().into_iter().flatten() {
        let text = |key: &str| one[key].as_str().unwrap_or_default();
        session.output.notice(&format!("left out: `{}`: {}", text("path"), text("reason")));
    }
    Ok(())
}

/// Prints jobs, or one with its items.
pub fn list(session: &Session, arguments: &JobsArguments) -> Result<()> {
    let JobsArguments { job, state, first_result } = arguments;
    let tool_arguments = json!({ "job": job, "state": state, "first_result": first_result });
    let found = session.call(ListJobs::NAME, tool_arguments)?;
    session.print_answer(&session.output.paged(), &found)
}

/// Takes a job back.
pub fn undo(session: &Session, arguments: &UndoJobArguments) -> Result<ExitCode> {
    let tool_arguments = json!({ "job": arguments.job, "items": arguments.only });
    let answer =
        session.call_with(RollbackJob::NAME, tool_arguments, CallOptions::agreed(arguments.yes))?;
    if session.output.json() {
        session.output.json_value(&answer.data)?;
        return Ok(ExitCode::SUCCESS);
    }
    let data = &answer.data;
    session.output.text(&match data["change_set"].as_u64() {
        Some(set) => format!(
            "Undid {} of {} items of job {}. To do it again: steward undo {set}",
            data["undone"],
            data["undone"].as_u64().unwrap_or(0) + data["standing"].as_u64().unwrap_or(0),
            arguments.job
        ),
        None if data["blocked"].as_array().is_some_and(|blocked| !blocked.is_empty()) => {
            format!("Nothing of job {} could be undone.", arguments.job)
        }
        None => {
            format!("Nothing is left of job {}: what it had begun is rolled back.", arguments.job)
        }
    })?;
    for one in data["blocked"].as_array().into_iter().flatten() {
        let text = |key: &str| one[key].as_str().unwrap_or_default();
        session.output.notice(&format!("stays as it is: `{}`: {}", text("path"), text("reason")));
    }
    for note in data["notes"].as_array().into_iter().flatten() {
        session.output.notice(note.as_str().unwrap_or_default());
    }
    let is_blocked = data["blocked"].as_array().is_some_and(|blocked| !blocked.is_empty());
    Ok(if is_blocked { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
