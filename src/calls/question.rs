//! What comes of a call: an answer, or a question to a person first.

use std::time::Duration;

use serde_json::{Value, json};

use super::call::{Answerer, Decision, Request, ShownChange};
use super::judge::{Agreed, Asked};
use super::{Calls, audit};
use crate::note::code::ErrorCode;
use crate::policy::Caller;
use crate::store::audit::AuditRow;
use crate::tools::{Answer, Facts, ToolError};
use crate::vault::Cancel;

/// What came of a call.
#[derive(Debug)]
pub enum Outcome {
    /// It is over.
    Answered(Result<Answer<Facts>, ToolError>),
    /// A person has to agree first. Nothing has been done yet.
    Ask(Box<Question>),
}

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
        audit::result(&mut row, &result);
        calls.0.audit.record(row);
        Outcome::Answered(result)
    }
}
