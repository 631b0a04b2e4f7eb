//! What a layer sees and what it says.

use serde_json::{Value, json};

use super::active::Find;
use super::caller::Caller;
use super::settings::{Mode, Permission};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;

/// A call as the layers see it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub tool: &'a str,
    /// What the tool needs.
    pub permission: Permission,
    /// The JSON Schema of its arguments.
    pub schema: &'a Value,
    pub arguments: &'a Value,
    /// Who calls.
    pub caller: &'a Caller,
    /// Whether the caller says that a person has agreed.
    pub confirmed: bool,
    /// Whether only what it would do is asked for.
    pub dry_run: bool,
    /// The mode that holds.
    pub mode: Mode,
    /// The turn it belongs to.
    pub turn: Option<&'a str>,
    /// The folders it may change, resolved; `None` for all.
    pub write: Option<&'a [VaultPath]>,
    /// Of a rule that runs by itself: what a person agreed to when they enabled it.
    pub agreement: Option<&'a Agreement>,
}

/// What a person agreed to for rules that run by themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agreement {
    /// The folders that they may touch.
    pub folders: Vec<VaultPath>,
    /// Whether they may put files into the trash.
    pub trash: bool,
    /// Files that they may still change now.
    pub left: usize,
}

impl Call<'_> {
    /// Whether it is to change something.
    pub fn changes(&self) -> bool {
        self.permission > Permission::Read && !self.dry_run
    }
}

/// What is done to a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A file gets a content.
    Write,
    /// A folder is made.
    CreateFolder,
    /// It gets another path.
    Move,
    /// It goes to the trash.
    Delete,
    /// It comes back as it was before: an undo, or out of the trash.
    Restore,
}

/// One thing that a call would do, on resolved paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// What is done.
    pub action: Action,
    /// What people are shown of that: a restoration may delete what was made, or move a thing.
    pub shown: Action,
    /// To what; for a move, its path afterwards.
    pub path: VaultPath,
    /// For a move, its path before.
    pub from: Option<VaultPath>,
    pub folder: bool,
    /// Files that it is or holds.
    pub files: usize,
    /// Bytes it writes.
    pub bytes: u64,
    /// Of these the bytes that differ from what was there.
    pub changed: u64,
    /// Whether it brings back what was deleted for good.
    pub was_gone: bool,
    /// What is in the new text, and not in the old, that loads or runs by itself.
    pub active: Vec<Find>,
}

impl Effect {
    /// The paths it touches.
    pub fn paths(&self) -> impl Iterator<Item = &VaultPath> {
        std::iter::once(&self.path).chain(&self.from)
    }
}

/// What a person has to agree to, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The layer that asks.
    pub layer: &'static str,
    /// Why: "it deletes the folder `Old`".
    pub text: String,
    /// Whether a person may agree to its like for good.
    pub lasting: bool,
    /// Whether a person's own program alone brings the answer: no other could be sure that a person
    /// gave it.
    pub personal: bool,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The layer that refuses.
    pub layer: &'static str,
    /// The stable word.
    pub code: ErrorCode,
    /// Why.
    pub reason: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Refusal {
    /// A refusal with the word `denied`.
    pub fn denied(layer: &'static str, reason: impl Into<String>, hint: &str) -> Self {
        Self { layer, code: ErrorCode::Denied, reason: reason.into(), hint: Some(hint.to_owned()) }
    }

    /// The facts as JSON: the layer, so that a person can find what to change.
    pub fn data(&self) -> Option<Value> {
        (self.code != ErrorCode::InvalidInput).then(|| json!({ "layer": self.layer }))
    }
}

/// What a layer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing against it.
    Pass,
    /// A person has to agree, for each of these reasons.
    Ask(Vec<Reason>),
    /// No.
    Refuse(Refusal),
}
