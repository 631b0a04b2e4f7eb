//! Proposals of the mode `plan` and the decisions on them, parsed from a conversation's items. A
//! decision is stored as a notice to the model, which is parsed here.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use serde_json::Value;

use crate::agent::entry::{Entry, result_text};
use crate::agent::memory;
use crate::conversation::{Item, TurnId};
use crate::llm::{Message, ToolArgs, ToolCall};
use crate::protocol::proposals::{ProposalPart, WaitingPlan};
use crate::tools::{PlanChanges, Tool as _};

/// The texts that identify results of proposing calls, and of calls that made a plan.
pub(super) fn marks() -> [String; 2] {
    [r#""proposed":true"#.to_owned(), format!("\"{}\"", PlanChanges::NAME)]
}

#[derive(Debug)]
pub(super) struct Proposal {
    /// From 1 in its turn.
    pub number: u64,
    pub tool: String,
    pub arguments: Value,
    pub title: String,
    /// Identifies the changes that were shown.
    pub identity: String,
    pub changes: Vec<Change>,
    /// All of it was applied or rejected.
    is_decided: bool,
    decided_hunks: BTreeSet<u64>,
}

#[derive(Debug)]
pub(super) struct Change {
    pub action: String,
    pub path: String,
    pub from: Option<String>,
    pub diff: String,
    /// The hunks of an edit with a complete diff.
    pub hunks: Vec<Hunk>,
}

/// Lines of a diff that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    /// From 1.
    pub number: u64,
    pub text: String,
}

#[derive(Debug)]
pub(super) struct ProposedTurn {
    pub turn: TurnId,
    /// The time of the last proposal, in milliseconds since the Unix epoch.
    pub time: i64,
    pub proposals: Vec<Proposal>,
    /// Whether any part of it was applied or rejected.
    pub was_touched: bool,
    /// Whether the person has sent a message since.
    pub is_over: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Applied,
    Rejected,
}

impl Proposal {
    pub fn is_decided(&self) -> bool {
        let mut hunks = self.changes.iter().flat_map(|change| &change.hunks);
        let is_each = |hunk: &Hunk| self.decided_hunks.contains(&hunk.number);
        self.is_decided || (self.is_by_hunks() && hunks.all(is_each))
    }

    /// Whether some of it was decided hunk by hunk.
    pub fn is_partly_decided(&self) -> bool {
        !self.decided_hunks.is_empty()
    }

    /// Whether it is an edit that can be applied one hunk at a time.
    pub fn is_by_hunks(&self) -> bool {
        self.changes.iter().any(|change| !change.hunks.is_empty())
    }

    pub fn waiting_hunks<'a>(&'a self, change: &'a Change) -> impl Iterator<Item = &'a Hunk> {
        change.hunks.iter().filter(|hunk| !self.decided_hunks.contains(&hunk.number))
    }
}

impl Change {
    /// Parses a change in a dry run's result. One of several, such as a link that follows a move,
    /// is only applied with the others.
    fn read(change: &Value, is_alone: bool) -> Self {
        let text = |name: &str| change[name].as_str().unwrap_or_default().to_owned();
        let (action, diff) = (text("action"), text("diff"));
        let is_whole = change["more"].as_u64().unwrap_or(0) == 0;
        let from = change["from"].as_str().map(str::to_owned);
        let hunks = if action == "write" && is_alone && is_whole && from.is_none() {
            hunks(&diff)
        } else {
            Vec::new()
        };
        Self { action, path: text("path"), from, diff, hunks }
    }
}

/// The hunks of a unified diff. Empty if one replaces nothing, as in a new file: the diff can then
/// only be applied as a whole.
fn hunks(diff: &str) -> Vec<Hunk> {
    let mut found: Vec<Hunk> = Vec::new();
    for line in diff.lines() {
        match (line.starts_with("@@ "), found.last_mut()) {
            (true, _) => {
                let number = found.len() as u64 + 1;
                found.push(Hunk { number, text: format!("{line}\n") });
            }
            (false, Some(hunk)) => {
                hunk.text.push_str(line);
                hunk.text.push('\n');
            }
            (false, None) => {}
        }
    }
    if found.iter().all(|hunk| !hunk.texts(true).0.is_empty()) { found } else { Vec::new() }
}

impl Hunk {
    /// Its lines before and after, with context (`whole`) or without.
    pub fn texts(&self, whole: bool) -> (String, String) {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for line in self.text.lines().skip(1) {
            match (line.split_at_checked(1), whole) {
                (Some(("-", text)), _) => before.push(text),
                (Some(("+", text)), _) => after.push(text),
                (Some((" ", text)), true) => {
                    before.push(text);
                    after.push(text);
                }
                _ => {}
            }
        }
        (before.join("\n"), after.join("\n"))
    }
}

/// The turns with proposals, earliest first.
pub(super) fn turns(items: &[Item]) -> Vec<ProposedTurn> {
    let mut calls: HashMap<String, ToolCall> = HashMap::new();
    let mut found: Vec<ProposedTurn> = Vec::new();
    for item in items {
        let Ok(Some(entry)) = memory::entry(item) else { continue };
        match (entry, item.turn) {
            (Entry::Message { message: Message::Assistant { content, .. }, .. }, _) => {
                let made = content.iter().filter_map(|block| block.call());
                calls.extend(made.map(|call| (call.id.clone(), call.clone())));
            }
            (Entry::Message { message: Message::User { .. }, .. }, turn) => {
                let others = found.iter_mut().filter(|one| Some(one.turn) != turn);
                others.for_each(|one| one.is_over = true);
            }
            (Entry::Message { message: Message::Notice { text }, .. }, _) => {
                let Some((turn, parts)) = read_decision(&text) else { continue };
                found.iter_mut().filter(|one| one.turn == turn).for_each(|one| one.record(&parts));
            }
            (Entry::Result { result, data: Some(data), .. }, Some(turn))
                if data["proposed"] == true =>
            {
                let Some(ToolArgs::Object(arguments)) =
                    calls.get(&result.call_id).map(|call| call.args.clone())
                else {
                    continue;
                };
                if found.last().is_none_or(|last| last.turn != turn) {
                    found.push(ProposedTurn {
                        turn,
                        time: 0,
                        proposals: Vec::new(),
                        was_touched: false,
                        is_over: false,
                    });
                }
                let Some(last) = found.last_mut() else { continue };
                last.time = item.time;
                let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
                let changes = data["changes"].as_array().cloned().unwrap_or_default();
                let is_alone = changes.len() == 1;
                last.proposals.push(Proposal {
                    number: last.proposals.len() as u64 + 1,
                    tool: result.name,
                    arguments: Value::Object(arguments),
                    title: text("title"),
                    identity: text("identity"),
                    changes: changes.iter().map(|one| Change::read(one, is_alone)).collect(),
                    is_decided: false,
                    decided_hunks: BTreeSet::new(),
                });
            }
            _ => {}
        }
    }
    found
}

impl ProposedTurn {
    /// Records a decision; without named parts it is on the whole turn.
    fn record(&mut self, parts: &[ProposalPart]) {
        self.was_touched = true;
        for proposal in &mut self.proposals {
            let own = parts.iter().filter(|part| part.proposal == proposal.number);
            let hunks: Vec<Option<u64>> = own.map(|part| part.hunk).collect();
            proposal.is_decided |= parts.is_empty() || hunks.contains(&None);
            proposal.decided_hunks.extend(hunks.into_iter().flatten());
        }
    }

    pub fn waits(&self) -> bool {
        !self.is_over && !self.proposals.iter().all(Proposal::is_decided)
    }
}

/// The last plan of `plan_changes` with its turn and time, unless the person has sent a message
/// since.
pub(super) fn plan(items: &[Item]) -> Option<(TurnId, i64, WaitingPlan)> {
    let mut found: Option<(TurnId, i64, WaitingPlan)> = None;
    for item in items {
        let Ok(Some(entry)) = memory::entry(item) else { continue };
        match (entry, item.turn) {
            (Entry::Message { message: Message::User { .. }, .. }, turn) => {
                found = found.take_if(|(of, _, _)| Some(*of) == turn);
            }
            (Entry::Message { message: Message::Notice { text }, .. }, _) => {
                found = found.take_if(|(.., plan)| text != plan_rejected(plan.number));
            }
            (Entry::Result { result, .. }, Some(turn))
                if result.name == PlanChanges::NAME && !result.is_error =>
            {
                let text = result_text(&result);
                let line = text.lines().find_map(|line| {
                    let (number, title) = line.strip_prefix("plan ")?.split_once(": ")?;
                    Some(WaitingPlan { number: number.parse().ok()?, title: title.to_owned() })
                });
                found = line.map(|plan| (turn, item.time, plan)).or(found);
            }
            _ => {}
        }
    }
    found
}

/// The notice to the model that a plan was rejected.
pub(super) fn plan_rejected(plan: u64) -> String {
    format!("The user has rejected plan {plan}.")
}

/// The notice to the model of a decision; without named parts it is on the whole turn.
pub(super) fn decision(verdict: Verdict, turn: TurnId, parts: &[ProposalPart]) -> String {
    let verb = match verdict {
        Verdict::Applied => "applied",
        Verdict::Rejected => "rejected",
    };
    if parts.is_empty() {
        return format!("The user has {verb} the proposals of turn {turn}.");
    }
    let mut words = format!("The user has {verb} some of the proposals of turn {turn}: ");
    for (at, part) in parts.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        let _ = write!(words, "{comma}{}", part.proposal);
        if let Some(hunk) = part.hunk {
            let _ = write!(words, " (hunk {hunk})");
        }
    }
    words + "."
}

/// The turn and the parts in a notice of [`decision`].
fn read_decision(text: &str) -> Option<(TurnId, Vec<ProposalPart>)> {
    let rest = text.strip_prefix("The user has ")?;
    let rest = rest.strip_prefix("applied ").or_else(|| rest.strip_prefix("rejected "))?;
    let (rest, _) = rest.split_once('.')?;
    if let Some(turn) = rest.strip_prefix("the proposals of turn ") {
        return Some((turn.parse().ok()?, Vec::new()));
    }
    let (turn, parts) = rest.strip_prefix("some of the proposals of turn ")?.split_once(": ")?;
    let part = |text: &str| -> Option<ProposalPart> {
        let (proposal, hunk) = match text.split_once(" (hunk ") {
            Some((proposal, hunk)) => (proposal, Some(hunk.strip_suffix(')')?.parse().ok()?)),
            None => (text, None),
        };
        Some(ProposalPart { proposal: proposal.parse().ok()?, hunk })
    };
    Some((turn.parse().ok()?, parts.split(", ").map(part).collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_read_as_it_was_written() {
        let all = decision(Verdict::Applied, TurnId(5), &[]);
        assert_eq!(read_decision(&format!("{all} All 3 of them.")), Some((TurnId(5), Vec::new())));
        let parts = [
            ProposalPart { proposal: 1, hunk: None },
            ProposalPart { proposal: 12, hunk: Some(2) },
        ];
        let some = decision(Verdict::Rejected, TurnId(7), &parts);
        assert_eq!(some, "The user has rejected some of the proposals of turn 7: 1, 12 (hunk 2).");
        assert_eq!(read_decision(&some), Some((TurnId(7), parts.to_vec())));
        for other in ["The user has applied the plan.", "The user has gone.", "Salt."] {
            assert_eq!(read_decision(other), None, "{other}");
        }
    }

    #[test]
    fn hunks_have_the_lines_before_and_after_them() {
        let diff = "--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -9,2 +9,3 @@\n nine\n+9½\n ten\n";
        let found = hunks(diff);
        assert_eq!((found.len(), found[1].number), (2, 2));
        assert_eq!(found[0].texts(true), ("one\ntwo\nthree".into(), "one\n2\nthree".into()));
        assert_eq!(found[0].texts(false), ("two".into(), "2".into()));
        assert_eq!(found[1].texts(false), (String::new(), "9½".into()));
        assert_eq!(hunks("@@ -0,0 +1,1 @@\n+new\n"), Vec::new());
    }
}
