//! What is asked of a tool, and what comes of it.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::Calls;
use super::judge::{Agreed, Asked};
use crate::note::code::ErrorCode;
use crate::policy::{Action, Caller};
use crate::store::audit::AuditRow;
use crate::tools::{Answer, Facts, ToolError};
use crate::vault::Cancel;

/// A call of a tool, with all that is decided from.
#[derive(Clone, Default)]
pub struct Request {
    /// The tool.
    pub tool: String,
    /// Its arguments.
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

/// What came of a call.
#[derive(Debug)]
pub enum Outcome {
    /// It is over.
    Answered(Result<Answer<Facts>, ToolError>),
    /// A person has to agree first. Nothing has been done yet.
    Ask(Box<Question>),
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

/// A call that waits for a person. It holds nothing: dropping it is refusing it, though the audit
/// then says so only after the next start.
#[derive(Debug)]
pub struct Question {
    calls: Calls,
    request: Request,
    asked: Asked,
    row: AuditRow,
}

impl Question {
    pub(super) fn new(calls: Calls, request: Request, asked: Asked, row: AuditRow) -> Self {
        Self { calls, request, asked, row }
    }

    /// The way that the call came.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// What the call does: "edit `Projects/Garden.md`".
    pub fn title(&self) -> &str {
        &self.asked.title
    }

    /// Why a person is asked, one sentence each.
    pub fn reasons(&self) -> &[String] {
        &self.asked.reasons
    }

    /// The tool.
    pub fn tool(&self) -> &str {
        &self.request.tool
    }

    /// Its arguments.
    pub fn arguments(&self) -> &Value {
        &self.request.arguments
    }

    /// Who calls.
    pub fn caller(&self) -> &Caller {
        &self.request.caller
    }

    /// The conversation the call belongs to.
    pub fn conversation(&self) -> Option<&str> {
        self.request.conversation.as_deref()
    }

    /// What would be done.
    pub fn changes(&self) -> &[ShownChange] {
        &self.asked.changes
    }

    /// The folder for which [`Decision::Always`] would hold; none where it cannot be said.
    pub fn folder(&self) -> Option<&str> {
        self.asked.folder.as_ref().map(|folder| folder.as_str())
    }

    /// How long to wait for a person's answer.
    pub fn patience(&self) -> Duration {
        Duration::from_secs(u64::from(self.calls.policy().settings().approval_seconds))
    }

    /// Goes on with the call, or ends it, as was decided; on a thread that may block.
    pub fn answer(self, decision: Decision, by: Answerer, cancel: &Cancel) -> Outcome {
        let Self { calls, request, asked, mut row } = self;
        if decision == Decision::Always
            && let Some(folder) = &asked.folder
            && let Err(error) = calls.0.agreements.add(&request.tool, folder, &by)
        {
            tracing::warn!(%error, "an agreement for good was not kept; it holds this once");
        }
        if matches!(decision, Decision::Once | Decision::Always) {
            let agreed = Agreed { identity: asked.identity, row: row.id, by };
            let tool = calls.tools().find(&request.tool).cloned();
            return calls.run(tool, request, Some(agreed), cancel);
        }
        let (why, hint) = match decision {
            Decision::Reject => ("a person said no", "do not try it again in another way"),
            Decision::Nobody => (
                "a person has to agree, and no program in which one could is connected",
                "open the chat in Obsidian, or do it with `steward call` and `--yes`",
            ),
            Decision::Late => (
                "a person has to agree, and nobody answered in time",
                "tell the user what is waiting for their agreement",
            ),
            _ => ("the call was withdrawn before a person agreed", "nothing was done"),
        };
        row.decision = "refused".to_owned();
        row.reason = Some(why.to_owned());
        row.answered_by = (decision == Decision::Reject).then_some(by);
        let code = match decision {
            Decision::Withdrawn => ErrorCode::Cancelled,
            _ => ErrorCode::Denied,
        };
        let error = ToolError {
            data: Some(json!({ "layer": "approval", "reasons": asked.reasons })),
            ..ToolError::new(code, format!("{why}: {}", asked.title), hint)
        };
        let result = Err(error);
        super::audit::result(&mut row, &result);
        calls.0.audit.record(row);
        Outcome::Answered(result)
    }
}
