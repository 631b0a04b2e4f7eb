//! What is asked of a tool, and what a person is shown and says.

use std::fmt;

use serde_json::Value;

use crate::policy::{Action, Caller};

/// A call of a tool, with all that is decided from.
#[derive(Clone, Default)]
pub struct Request {
    pub tool: String,
    pub arguments: Value,
    /// Who calls.
    pub caller: Caller,
    /// The conversation it belongs to.
    pub conversation: Option<String>,
    /// The turn it belongs to: what is changed in one turn is one change set.
    pub turn: Option<String>,
    /// Whether the caller says that a person has agreed to what needs it. Only a person's own
    /// program can.
    pub confirmed: bool,
    /// The identity of what a person was shown and agreed to (an `approval_needed` has it): with
    /// `confirmed` exactly that is done, or they are asked anew. `None` where they agreed beforehand to
    /// whatever the call comes to.
    pub agreed: Option<String>,
    /// Whether it is only to be said what would be done.
    pub dry_run: bool,
    /// Characters of text that the caller takes; what it cannot take is cut off an answer that is longer,
    /// so that tools that can go on at a place stop before. `None`: as many as a tool gives.
    pub room: Option<usize>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The arguments hold what is written into notes.
        f.debug_struct("Request")
            .field("tool", &self.tool)
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}

/// One change as a person is shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownChange {
    /// What is done.
    pub action: Action,
    /// To what; for a move, its path afterwards.
    pub path: String,
    /// For a move, its path before.
    pub from: Option<String>,
    /// The old text, where there was one, and the new one, where both are short.
    pub texts: Option<(Option<String>, String)>,
    /// The change of its text as a unified diff.
    pub diff: String,
}

/// The word for what is done.
pub fn word(action: Action) -> &'static str {
    match action {
        Action::Write => "write",
        Action::CreateFolder => "create_folder",
        Action::Move => "move",
        Action::Delete => "delete",
        Action::Restore => "restore",
    }
}

/// What a person said, or that none did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Yes, this once.
    Once,
    /// Yes, and for this tool in this folder from now on.
    Always,
    /// No.
    Reject,
    /// Nobody who may answer was there.
    Nobody,
    /// Nobody answered in time.
    Late,
    /// The caller withdrew the call, or the steward ends.
    Withdrawn,
}

/// Who answered: the name of the program the person used.
pub type Answerer = String;
