//! `/proposals`, `/apply` and `/reject` in a message of an ACP client: its user decides on the
//! agent's proposals in the mode `plan`, and on its plan.
//!
//! The client may not represent a person, so the command is not an approval: each change needs one,
//! as in the mode `ask`, and some only a person's own program can give.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::proposals::{self, Ask};
use crate::agent::Conversations;
use crate::calls::{Calls, Request};
use crate::note::path::{visible, visible_lines};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::proposals::{
    ProposalPart, ProposalsApplyParams, ProposalsListParams, ProposalsRejectParams, ProposedChange,
    WaitingPlan, WaitingProposals,
};
use crate::server::table::Client;
use crate::tools::{ApplyPlan, ShowPlan, Tool as _};
use crate::vault::Cancel;

/// The commands: name, description, and hint for the argument.
pub(super) const COMMANDS: [(&str, &str, &str); 3] = [
    ("proposals", "show what the agent proposes in the mode plan", "nothing"),
    ("apply", "apply what it proposes, or parts of it", "1 for a proposal, 1.2 for a hunk of it"),
    ("reject", "reject what it proposes, or parts of it", "1 for a proposal, 1.2 for a hunk of it"),
];

/// The most lines of diffs in one answer.
const MAX_LINES: usize = 400;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Show,
    Apply(Vec<ProposalPart>),
    Reject(Vec<ProposalPart>),
}

impl Command {
    /// Parses a message; `None` if it is not one of these commands.
    pub fn read(text: &str) -> Option<Result<Self>> {
        let rest = text.trim().strip_prefix('/')?;
        let (name, typed) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if !COMMANDS.iter().any(|(known, ..)| *known == name) {
            return None;
        }
        let parts =
            ProposalPart::read_all(typed).filter(|parts| name != "proposals" || parts.is_empty());
        Some(match (name, parts) {
            ("apply", Some(parts)) => Ok(Self::Apply(parts)),
            ("reject", Some(parts)) => Ok(Self::Reject(parts)),
            (_, Some(_)) => Ok(Self::Show),
            (name, None) => {
                let hint = match name {
                    "proposals" => "it takes nothing more",
                    _ => "it takes numbers, such as `1` or `2.3`, as `/proposals` shows them",
                };
                let message = format!("`/{name}` cannot be read");
                Err(ErrorObject::new(Kind::InvalidParams, message).hint(hint))
            }
        })
    }
}

/// The services of a command.
pub(super) struct Deciding<'a> {
    pub calls: &'a Calls,
    pub conversations: &'a Conversations,
    pub session: &'a str,
    pub by: &'a Client,
    /// Asks a person about a change.
    pub ask: &'a Ask<'a>,
    pub cancel: &'a Cancel,
}

impl Deciding<'_> {
    /// Runs a command; returns the reply to the user, in Markdown.
    pub fn run(&self, command: Command) -> Result<String> {
        match (command, self.plan()?) {
            (Command::Show, _) => self.show(),
            (Command::Apply(parts), Some(plan)) if parts.is_empty() => self.apply_plan(&plan),
            (Command::Apply(parts), _) => self.apply(parts),
            (Command::Reject(parts), Some(plan)) if parts.is_empty() => {
                proposals::reject_plan(self.conversations, self.session, plan.number)?;
                Ok(format!("Rejected plan {}.", plan.number))
            }
            (Command::Reject(parts), _) => self.reject(parts),
        }
    }

    fn waiting(&self) -> Result<Option<WaitingProposals>> {
        let params = ProposalsListParams { session_id: Some(self.session.to_owned()) };
        Ok(proposals::list(self.conversations, &params)?.waiting.pop())
    }

    /// The waiting plan, if nothing else waits.
    fn plan(&self) -> Result<Option<WaitingPlan>> {
        let waiting = self.waiting()?.filter(|one| one.proposals.is_empty());
        Ok(waiting.and_then(|one| one.plan))
    }

    fn show(&self) -> Result<String> {
        let Some(WaitingProposals { proposals, plan, .. }) = self.waiting()? else {
            return Ok("No proposed change waits in this conversation.".to_owned());
        };
        let mut text = String::new();
        let mut lines_left = MAX_LINES;
        for proposal in &proposals {
            for change in &proposal.changes {
                let _ = write!(text, "{}. {}\n\n", proposal.number, titled(change));
                let several = change.hunks.len() > 1;
                for hunk in &change.hunks {
                    if several {
                        let _ = write!(text, "{}.{}\n\n", proposal.number, hunk.number);
                    }
                    text.push_str(&fenced(&hunk.diff, &mut lines_left));
                }
                text.push_str(&fenced(&change.diff, &mut lines_left));
            }
        }
        if let Some(plan) = plan {
            let (number, title) = (plan.number, visible(&plan.title));
            let _ = write!(text, "Plan {number}: {title}\n\n");
        }
        text.push_str("Nothing has been changed yet. `/apply` applies it, ");
        if !proposals.is_empty() {
            text.push_str("`/apply 1` or `/apply 1.2` a part of it, ");
        }
        Ok(text + "`/reject` rejects it.")
    }

    fn apply(&self, only: Vec<ProposalPart>) -> Result<String> {
        let params = ProposalsApplyParams { session_id: self.session.to_owned(), turn: None, only };
        let (calls, conversations) = (self.calls, self.conversations);
        let ask = Some(self.ask);
        let done = proposals::apply(calls, conversations, &params, self.by, ask, self.cancel)?;
        let mut words = format!("Applied {} of {}.", done.applied, done.total);
        if let Some(set) = done.change_set {
            let _ = write!(words, " `steward undo {set}` undoes it.");
        }
        if let Some(why) = done.failed {
            let _ = write!(words, "\n\nThen it stopped: {}", visible(&why));
        }
        Ok(words)
    }

    fn reject(&self, only: Vec<ProposalPart>) -> Result<String> {
        let params =
            ProposalsRejectParams { session_id: self.session.to_owned(), turn: None, only };
        let done = proposals::reject(self.conversations, &params)?;
        Ok(format!("Rejected {}.", done.rejected))
    }

    fn apply_plan(&self, plan: &WaitingPlan) -> Result<String> {
        let make = |tool: &str, arguments: Value| {
            let request = Request {
                tool: tool.to_owned(),
                arguments,
                caller: self.by.caller(),
                conversation: Some(self.session.to_owned()),
                applies_proposal: true,
                ..Request::default()
            };
            let done = proposals::call(self.calls, request, Some(self.ask), self.cancel);
            done.map_err(|error| {
                let object = ErrorObject::new(Kind::Failed, error.message);
                error.hint.into_iter().fold(object, ErrorObject::hint)
            })
        };
        let shown = make(ShowPlan::NAME, json!({ "plan": plan.number }))?;
        let apply_arguments = json!({ "plan": plan.number, "identity": shown["identity"] });
        let done = make(ApplyPlan::NAME, apply_arguments)?;
        let number = |name: &str| done[name].as_u64().unwrap_or_default();
        Ok(format!(
            "Applied plan {}: {} of {} as job {}. `steward undo {}` undoes it.",
            plan.number,
            number("done"),
            number("total"),
            number("job"),
            number("change_set"),
        ))
    }
}

fn titled(change: &ProposedChange) -> String {
    let from = change.from.as_deref().map(|from| format!("`{}` to ", visible(from)));
    let action = change.action.replace('_', " ");
    format!("{action} {}`{}`", from.unwrap_or_default(), visible(&change.path))
}

/// A diff as a code block, with as many lines as fit; empty without a diff.
fn fenced(diff: &str, lines_left: &mut usize) -> String {
    if diff.is_empty() || *lines_left == 0 {
        return String::new();
    }
    let all = visible_lines(diff);
    let lines: Vec<&str> = all.lines().take(*lines_left).collect();
    *lines_left -= lines.len();
    let text = lines.join("\n");
    // Longer than any in the text.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let cut = if lines.len() < all.lines().count() { "(the rest is left out)\n\n" } else { "" };
    format!("{fence}diff\n{text}\n{fence}\n\n{cut}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_with_its_parts() {
        let read = |text: &str| Command::read(text).map(Result::ok);
        let part = |proposal, hunk| ProposalPart { proposal, hunk };
        assert_eq!(read(" /proposals "), Some(Some(Command::Show)));
        assert_eq!(read("/apply"), Some(Some(Command::Apply(Vec::new()))));
        let parts = vec![part(1, None), part(2, Some(3))];
        assert_eq!(read("/reject 1, 2.3"), Some(Some(Command::Reject(parts))));
        for wrong in ["/apply it", "/proposals 1"] {
            assert_eq!(read(wrong), Some(None), "{wrong}");
        }
        for other in ["/applying", "apply", "/etc/apply", "/undo"] {
            assert!(Command::read(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_diff_does_not_end_its_block_of_code() {
        let mut lines_left = 10;
        assert_eq!(fenced("+```\n+a\n", &mut lines_left), "````diff\n+```\n+a\n````\n\n");
        assert_eq!(lines_left, 8);
        assert!(fenced(&"+a\n".repeat(9), &mut lines_left).ends_with("(the rest is left out)\n\n"));
        assert_eq!(fenced("+a\n", &mut lines_left), "");
    }
}
