//! The input of a layer, and its decision.

use serde_json::{Value, json};

use super::active::Finding;
use super::caller::Caller;
use super::settings::{Mode, Permission};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;

/// A tool call, as the layers see it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub tool: &'a str,
    pub permission: Permission,
    pub schema: &'a Value,
    pub arguments: &'a Value,
    pub caller: &'a Caller,
    /// Whether the caller asserts that a person has agreed.
    pub confirmed: bool,
    /// Whether only a preview is requested.
    pub dry_run: bool,
    pub mode: Mode,
    pub turn: Option<&'a str>,
    /// The folders that the call may change, resolved; `None` for all.
    pub write: Option<&'a [VaultPath]>,
    /// For an enabled rule, the person's agreement.
    pub agreement: Option<&'a RuleApproval>,
    /// For a tool of a foreign server, whose effects are unknown.
    pub foreign: Option<ForeignCall<'a>>,
}

/// The origin of a foreign tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignCall<'a> {
    pub server: &'a str,
    /// Whether the settings let it be called without a question.
    pub is_allowed: bool,
    /// Whether it can send the content of a call off this machine.
    pub reaches_out: bool,
}

/// A person's approval of enabled rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleApproval {
    /// The folders that the rules may touch.
    pub folders: Vec<VaultPath>,
    /// Whether they may move files to the trash.
    pub trash: bool,
    /// Number of files that they may still change now.
    pub left: usize,
}

impl Call<'_> {
    /// Whether the call is to change anything.
    pub fn changes(&self) -> bool {
        self.permission > Permission::Read && !self.dry_run
    }

    /// Whether the mode turns the call into a proposal, a dry run that a person can apply.
    pub fn only_proposes(&self) -> bool {
        self.mode == Mode::Plan && !self.caller.scope.is_person() && self.changes()
    }
}

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    Write,
    CreateFolder,
    RemoveFolder,
    Move,
    /// Moves to the trash, or deletes permanently.
    Delete,
    /// Restores an earlier state: an undo, or out of the trash.
    Restore,
}

/// One change that a call would make, with resolved paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    pub action: Action,
    /// The action as shown to people: a restoration may delete or move.
    pub shown: Action,
    /// The changed file; for a move, the destination.
    pub path: VaultPath,
    /// For a move, the source.
    pub from: Option<VaultPath>,
    pub folder: bool,
    pub files: usize,
    pub bytes: u64,
    /// Number of those bytes that differ from the old text.
    pub changed: u64,
    /// Whether it restores a permanently deleted file.
    pub was_gone: bool,
    /// Active content in the new text that was not in the old.
    pub active: Vec<Finding>,
}

impl Effect {
    pub fn paths(&self) -> impl Iterator<Item = &VaultPath> {
        std::iter::once(&self.path).chain(&self.from)
    }
}

/// Why a person must approve a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    pub layer: &'static str,
    /// Such as "it deletes the folder `Old`".
    pub text: String,
    /// Whether a person may give a standing approval for such calls.
    pub lasting: bool,
    /// Whether only a person's own program may relay the approval: no other could prove that a person
    /// gave it.
    pub personal: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub layer: &'static str,
    pub code: ErrorCode,
    pub reason: String,
    pub hint: Option<String>,
}

impl Refusal {
    /// A refusal with the code `denied`.
    pub fn denied(layer: &'static str, reason: impl Into<String>, hint: &str) -> Self {
        Self { layer, code: ErrorCode::Denied, reason: reason.into(), hint: Some(hint.to_owned()) }
    }

    /// Details as JSON: the layer, so that a person can find the setting.
    pub fn data(&self) -> Option<Value> {
        (self.code != ErrorCode::InvalidInput).then(|| json!({ "layer": self.layer }))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No objection.
    Pass,
    /// A person must approve, for each of these reasons.
    Ask(Vec<Reason>),
    Refuse(Refusal),
}
