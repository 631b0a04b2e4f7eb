//! The request for a tool call, the changes shown to a person, and the person's decision.

use std::sync::Arc;

use serde_json::Value;

use crate::note::diff;
use crate::policy::{Action, Caller, Mode};

/// A tool call with everything that the policy needs to judge it.
#[derive(Clone, Default)]
pub struct Request {
    pub tool: String,
    pub arguments: Value,
    pub caller: Caller,
    pub conversation: Option<String>,
    /// The turn that makes the call: all changes of a turn form one change set.
    pub turn: Option<String>,
    /// Whether the caller says that a person has approved the call. Only a person's own program
    /// can.
    pub confirmed: bool,
    /// The identity of the changes that a person was shown and approved (an `approval_needed` error
    /// carries it). With `confirmed`, exactly these changes are made, or the person is asked again.
    /// `None` if the person approved any change of the call in advance.
    pub agreed: Option<String>,
    /// Whether the call only reports what it would do.
    pub dry_run: bool,
    /// Whether the call applies a proposal of the mode `plan`: it is judged as in the mode `ask`.
    pub applies_proposal: bool,
    /// Characters of text that the caller accepts. A longer answer is cut, so tools that can answer
    /// in pages stop before. `None`: no limit beyond the tool's own.
    pub max_chars: Option<usize>,
    /// The enabled rules that make the call; empty for other callers.
    pub rules: Vec<i64>,
    /// The calling agent's mode, if stricter than the conversation's.
    pub mode: Option<Mode>,
}

// The arguments can hold note text.
debug_only!(Request, tool, caller);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownChange {
    pub action: Action,
    /// The path; for a move the new one.
    pub path: String,
    /// For a move, the old path.
    pub from: Option<String>,
    /// The unified diff of the text, or the part that is shown at first.
    pub diff: String,
    /// Lines of the diff that are not shown at first, or are cut.
    pub more: usize,
    /// Lines added by the whole diff.
    pub added: usize,
    /// Lines removed by the whole diff.
    pub removed: usize,
    /// The text before and after; `None` if the change has no text, or the texts exceed the memory
    /// limit for a question.
    pub content: Option<Arc<Content>>,
}

/// The text of a file before and after a change.
#[derive(Debug, PartialEq, Eq)]
pub struct Content {
    /// `None` for a new file.
    pub old: Option<Vec<u8>>,
    pub new: Vec<u8>,
}

impl ShownChange {
    /// The diff from line `first` (0-based), in whole lines; empty if the text is not held.
    pub fn part(&self, first: usize) -> diff::DiffPart {
        let content = self.content.as_deref();
        content.map(|it| it.part(&self.path, first)).unwrap_or_default()
    }

    /// The old text, if there was one, and the new one. `None` unless both are UTF-8 and together
    /// at most `most` bytes.
    pub fn texts(&self, most: usize) -> Option<(Option<&str>, &str)> {
        let content = self.content.as_deref()?;
        let old = content.old.as_deref().map(std::str::from_utf8).transpose().ok()?;
        let new = std::str::from_utf8(&content.new).ok()?;
        (old.map_or(0, str::len) + new.len() <= most).then_some((old, new))
    }
}

impl Content {
    fn part(&self, path: &str, first: usize) -> diff::DiffPart {
        diff::part(self.old.as_deref().unwrap_or_default(), &self.new, path, first, true)
    }
}

pub fn word(action: Action) -> &'static str {
    match action {
        Action::Write => "write",
        Action::CreateFolder => "create_folder",
        Action::RemoveFolder => "remove_folder",
        Action::Move => "move",
        Action::Delete => "delete",
        Action::Restore => "restore",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Approved, this once.
    Once,
    /// Approved, and for this tool in this folder from now on.
    Always,
    Reject,
    /// No answer yet: the call ends and the question stays open.
    Pending {
        /// The open question; another call may have asked it.
        question: i64,
        /// Whether one of the person's programs shows it.
        shown: bool,
    },
    /// The approval was for another call with the same question: this call is judged again.
    JudgeAgain,
    /// The question expired without an answer.
    Late,
    /// Too many questions of these callers are open already.
    Crowded,
    /// The caller cancelled the call, or the steward is shutting down.
    Withdrawn,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answerer {
    /// The name of the program that answered.
    pub program: String,
    /// The comment given with the answer; empty for none.
    pub words: String,
    /// Whether it is a client that is allowed to answer, not a person's own program.
    pub is_client: bool,
}

impl From<&str> for Answerer {
    /// An answer without a comment.
    fn from(program: &str) -> Self {
        Self { program: program.to_owned(), ..Self::default() }
    }
}
