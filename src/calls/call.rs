//! What is asked of a tool, and what a person is shown and says.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::note::diff;
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
    /// The change of its text as a unified diff, or as much of it as is shown at first.
    pub diff: String,
    /// Lines of the diff that are not shown at first, or not to their end.
    pub more: usize,
    /// Lines that it adds.
    pub added: usize,
    /// Lines that it takes away.
    pub removed: usize,
    /// Its text before and after; `None` where it changes none, or more is changed than is kept in
    /// memory for a question.
    pub content: Option<Arc<Content>>,
}

/// The text of a file before and after a change.
#[derive(Debug, PartialEq, Eq)]
pub struct Content {
    /// `None` for a file that was not there.
    pub old: Option<Vec<u8>>,
    pub new: Vec<u8>,
}

impl ShownChange {
    /// The diff from its line `first` on, from 0, its lines whole; nothing where no text is kept.
    pub fn part(&self, first: usize) -> diff::Part {
        let content = self.content.as_deref();
        content.map(|it| it.part(&self.path, first)).unwrap_or_default()
    }

    /// The old text, where there was one, and the new one, where both are text and together no
    /// longer than `most` bytes.
    pub fn texts(&self, most: usize) -> Option<(Option<&str>, &str)> {
        let content = self.content.as_deref()?;
        let old = content.old.as_deref().map(std::str::from_utf8).transpose().ok()?;
        let new = std::str::from_utf8(&content.new).ok()?;
        (old.map_or(0, str::len) + new.len() <= most).then_some((old, new))
    }
}

impl Content {
    fn part(&self, path: &str, first: usize) -> diff::Part {
        diff::part(self.old.as_deref().unwrap_or_default(), &self.new, path, first, true)
    }
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
    /// Nobody has said anything yet: the call ends, and its question goes on waiting.
    Pending {
        /// The question that waits; another call may have put it.
        question: i64,
        /// Whether a program of the person's shows it.
        shown: bool,
    },
    /// A yes was for another call that asked the same: this one is judged anew.
    Anew,
    /// Nobody answered, and the question waits no longer.
    Late,
    /// Too many questions of such callers wait already.
    Crowded,
    /// The caller withdrew the call, or the steward ends.
    Withdrawn,
}

/// Who answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answerer {
    /// The name of the program the person used.
    pub program: String,
    /// What they said with it; empty for nothing.
    pub words: String,
}

impl From<&str> for Answerer {
    /// The program alone.
    fn from(program: &str) -> Self {
        Self { program: program.to_owned(), words: String::new() }
    }
}
