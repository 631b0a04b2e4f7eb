//! `_vault/proposals/list`, `/apply`, `/reject`: what was proposed in the mode `plan`, and what becomes of it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Which proposals to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProposalsListParams {
    /// Only those of this conversation. Left out: of those active last, unless a person or the agent ended them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub session_id: Option<String>,
}

/// What waits for the person's decision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProposalsListResult {
    /// The conversation that was active last comes first.
    pub waiting: Vec<WaitingProposals>,
}

/// What waits in one conversation: proposals, a plan, or both.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WaitingProposals {
    pub session_id: String,
    /// The turn that proposed them.
    pub turn: String,
    /// Local time of the last of them.
    pub time: String,
    /// What is undecided, in the order in which it was proposed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<ProposalInfo>>", optional)]
    pub proposals: Vec<ProposalInfo>,
    /// The plan of `plan_changes` that the agent made last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub plan: Option<WaitingPlan>,
}

/// A plan, whose jobs tell whether it was applied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WaitingPlan {
    pub number: u64,
    /// Its first line.
    pub title: String,
}

/// A call that only proposed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProposalInfo {
    /// Its number in the turn, from 1.
    pub number: u64,
    pub title: String,
    pub changes: Vec<ProposedChange>,
}

/// A change of one file that a call proposed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProposedChange {
    /// `write`, `create_folder`, `remove_folder`, `move`, `delete`, `restore`.
    pub action: String,
    /// The path; for a move the new one.
    pub path: String,
    /// For a move, the old path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub from: Option<String>,
    /// The undecided hunks of an edit. Empty for a change that is decided only as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<ProposedHunk>>", optional)]
    pub hunks: Vec<ProposedHunk>,
    /// The diff of a change without hunks; empty where there is none to show.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[ts(as = "Option<String>", optional)]
    pub diff: String,
}

/// Lines that belong together in the diff of an edit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProposedHunk {
    /// Its number in the proposal, from 1.
    pub number: u64,
    /// Its own diff, from its `@@` on.
    pub diff: String,
}

/// One proposal, or one hunk of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProposalPart {
    /// Its number in the turn.
    pub proposal: u64,
    /// The hunk's number in the proposal. Left out: all that is undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub hunk: Option<u64>,
}

impl ProposalPart {
    /// The parts that a person names: `2` is a proposal, `2.1` a hunk of it. `None` if it is neither.
    pub fn read_all(typed: &str) -> Option<Vec<Self>> {
        let part = |word: &str| {
            let (proposal, hunk) = match word.split_once('.') {
                Some((proposal, hunk)) => (proposal, Some(hunk.parse().ok()?)),
                None => (word, None),
            };
            Some(Self { proposal: proposal.parse().ok()?, hunk })
        };
        let words = typed.split([' ', ',', '\t']).filter(|word| !word.is_empty());
        words.map(part).collect()
    }
}

/// The proposals to apply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProposalsApplyParams {
    pub session_id: String,
    /// The turn that made the proposals. By default the last turn with proposals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub turn: Option<String>,
    /// Only these parts. Left out: all that is undecided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<ProposalPart>>", optional)]
    pub only: Vec<ProposalPart>,
}

/// The applied proposals, in their order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ProposalsApplyResult {
    /// Number of applied proposals.
    pub applied: u64,
    /// How many were to be.
    pub total: u64,
    /// The change set that they form, which `undo` takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_set: Option<u64>,
    /// The reason why the next one and all after it were not applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The proposals to reject.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProposalsRejectParams {
    pub session_id: String,
    /// The turn that proposed them. Left out: the last one that proposed something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub turn: Option<String>,
    /// Only these parts. Left out: all that is undecided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<ProposalPart>>", optional)]
    pub only: Vec<ProposalPart>,
}

/// What was rejected.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProposalsRejectResult {
    /// How many were rejected.
    pub rejected: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numbers_and_hunks() {
        let part = |proposal, hunk| ProposalPart { proposal, hunk };
        let parts = vec![part(1, None), part(2, Some(3))];
        assert_eq!(ProposalPart::read_all("1, 2.3"), Some(parts));
        assert_eq!(ProposalPart::read_all(""), Some(Vec::new()));
        for wrong in ["all", "1.", "1-2"] {
            assert_eq!(ProposalPart::read_all(wrong), None, "{wrong}");
        }
    }
}
