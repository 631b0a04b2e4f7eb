//! `steward organize`: plans made by rules or by hand, and the jobs that apply them.

mod draft;
mod jobs;
mod plans;
mod rules;

use std::io::Write;
use std::process::ExitCode;

use clap::Subcommand;

use super::consent;
use crate::cli::{Failure, Result, Session};
use crate::note::path::visible;
use jobs::{ApplyArguments, JobsArguments, ResumeArguments, StopArguments, UndoJobArguments};
use plans::{EditPlanArguments, PlanArguments, ShowArguments, WhyArguments};

#[derive(Debug, Clone, Subcommand)]
pub enum OrganizeAction {
    /// Plan what rules or a list of changes would do; changes nothing
    Plan(PlanArguments),
    /// Show a plan
    Show(ShowArguments),
    /// Say which rules changed a note, and why
    Why(WhyArguments),
    /// Take items out of a plan, or give them another path
    Edit(EditPlanArguments),
    /// Apply a plan (asks first)
    Apply(ApplyArguments),
    /// Have a model draft rules from a sentence; changes nothing
    Draft(draft::DraftArguments),
    /// List jobs: plans that were applied
    Jobs(JobsArguments),
    /// Stop a running job of any caller; applied pieces stay
    Stop(StopArguments),
    /// Go on with a job that was interrupted
    Resume(ResumeArguments),
    /// Take a job back, or some of its items
    Undo(UndoJobArguments),
    /// Check rules, and run them automatically
    #[command(subcommand)]
    Rules(rules::RulesAction),
}

pub fn run(session: &Session, action: &OrganizeAction) -> Result<ExitCode> {
    match action {
        OrganizeAction::Plan(arguments) => plans::plan(session, arguments)?,
        OrganizeAction::Show(arguments) => plans::show(session, arguments)?,
        OrganizeAction::Why(arguments) => plans::why(session, arguments)?,
        OrganizeAction::Edit(arguments) => plans::edit(session, arguments)?,
        OrganizeAction::Apply(arguments) => jobs::apply(session, arguments)?,
        OrganizeAction::Draft(arguments) => draft::run(session, arguments)?,
        OrganizeAction::Jobs(arguments) => jobs::list(session, arguments)?,
        OrganizeAction::Stop(arguments) => jobs::stop(session, arguments)?,
        OrganizeAction::Resume(arguments) => jobs::resume(session, arguments)?,
        OrganizeAction::Undo(arguments) => return jobs::undo(session, arguments),
        OrganizeAction::Rules(action) => return rules::run(session, action),
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the person agrees to the changes in `shown`: beforehand by `yes`, or now on the terminal.
fn agreed(yes: bool, shown: &str, question: &str) -> Result<bool> {
    if yes {
        return Ok(true);
    }
    if !consent::has_terminal() {
        let hint = "add `--yes` to do it without being asked";
        return Err(Failure::other(
            "approval_needed",
            format!("this needs confirmation: {question}"),
            hint,
        ));
    }
    let mut terminal = std::io::stderr().lock();
    for line in shown.lines() {
        writeln!(terminal, "{}", visible(line))?;
    }
    consent::says_yes(&format!("{}?", visible(question)))
}
