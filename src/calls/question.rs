//! The outcome of a call: an answer, or a question to a person first.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::call::{Answerer, Decision, Request, ShownChange};
use super::judge::{Agreed, ApprovalRequest};
use super::saved_answers::Key;
use super::{Calls, audit};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::policy::{Caller, layers};
use crate::store::StoreError;
use crate::store::audit::AuditRow;
use crate::tools::{Answer, Facts, ToolError};
use crate::vault::Cancel;

#[derive(Debug)]
pub enum Outcome {
    /// The call has ended.
    Answered(Result<Answer<Facts>, ToolError>),
    /// A person has to approve first. Nothing has been done yet.
    Ask(Box<Question>),
}

/// A call that waits for a person. It holds no resources. Dropping it refuses the call, though the
/// audit shows that only after the next start.
#[derive(Debug)]
pub struct Question {
    calls: Calls,
    request: Request,
    approval_request: ApprovalRequest,
    row: AuditRow,
}

impl Question {
    pub(super) fn new(
        calls: Calls,
        request: Request,
        approval_request: ApprovalRequest,
        row: AuditRow,
    ) -> Self {
        Self { calls, request, approval_request, row }
    }

    /// The calls that this one belongs to.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// The call's description: "edit `Projects/Garden.md`".
    pub fn title(&self) -> &str {
        &self.approval_request.title
    }

    /// Why a person has to approve, one sentence each.
    pub fn reasons(&self) -> &[String] {
        &self.approval_request.reasons
    }

    pub fn tool(&self) -> &str {
        &self.request.tool
    }

    pub fn caller(&self) -> &Caller {
        &self.request.caller
    }

    pub fn conversation(&self) -> Option<&str> {
        self.request.conversation.as_deref()
    }

    pub fn changes(&self) -> &Arc<[ShownChange]> {
        &self.approval_request.changes
    }

    /// A short summary of all changes, if [`Self::changes`] lists only the first.
    pub fn outline(&self) -> Option<&str> {
        self.approval_request.outline.as_deref()
    }

    /// The folder that [`Decision::Always`] would cover; `None` if there is none, and empty for a server's tool.
    pub fn folder(&self) -> Option<&str> {
        self.approval_request.folder.as_ref().map(|folder| folder.as_str())
    }

    /// Whether only a person's own program can answer.
    pub fn is_personal(&self) -> bool {
        self.approval_request.personal
    }

    /// Its id: that of its audit row, until it is answered.
    pub fn number(&self) -> i64 {
        self.row.id
    }

    /// When the call arrived, in milliseconds since the Unix epoch.
    pub fn time(&self) -> i64 {
        self.row.time
    }

    /// The key that equal calls share.
    pub fn key(&self) -> Key {
        let mut request = self.request.clone();
        if self.approval_request.is_general {
            request.conversation = None;
        }
        Key::of(&request, &self.approval_request.identity)
    }

    /// How long the question stays open without an answer, and how long an answer is saved.
    pub fn answer_time(&self) -> Duration {
        answer_time(&self.calls)
    }

    /// The data that remains if the call ends before a person answers.
    pub fn unanswered(&self) -> UnansweredQuestion {
        let (calls, tool) = (self.calls.clone(), self.request.tool.clone());
        UnansweredQuestion {
            calls,
            tool,
            folder: self.approval_request.folder.clone(),
            row: self.row.clone(),
        }
    }

    /// Records the decision on a question that no call waits for ([`Calls::question`]); may block.
    pub fn settle(self, decision: Decision, by: &Answerer) {
        let mut row = self.row;
        let (word, answered) = match decision {
            // The row stays until the question is answered (`UnansweredQuestion`).
            Decision::Pending { .. } => return,
            Decision::Once | Decision::Always => ("allowed", true),
            Decision::Reject => ("refused", true),
            _ => ("refused", false),
        };
        row.decision = word.to_owned();
        row.answered_by = answered.then(|| by.program.clone());
        self.calls.0.audit.record(row);
    }

    /// Continues or ends the call as decided; may block.
    pub fn answer(self, decision: Decision, by: Answerer, cancel: &Cancel) -> Outcome {
        let Self { calls, request, approval_request, mut row } = self;
        if decision == Decision::Always {
            calls.add_standing_approval(&request.tool, approval_request.folder.as_ref(), &by);
        }
        if matches!(decision, Decision::Once | Decision::Always) {
            let agreed = Agreed { identity: approval_request.identity, row: row.id, by };
            let tool = calls.tools().find(&request.tool).cloned();
            return calls.run(tool, request, Some(agreed), cancel);
        }
        let what =
            format!("{}, since {}", approval_request.title, approval_request.reasons.join("; "));
        let (code, why, hint) = match decision {
            Decision::Pending { question, shown } => {
                pending(question, shown, answer_time(&calls))
            }
            Decision::Crowded => (
                ErrorCode::RateLimited,
                "too many questions wait for a person already".to_owned(),
                "tell the user what waits for them, and call again once they have answered".to_owned(),
            ),
            Decision::Reject => refusal_error(&by),
            Decision::Late => (
                ErrorCode::Denied,
                NOBODY.to_owned(),
                "a person has to agree: tell the user what it is about, and call again when they are there"
                    .to_owned(),
            ),
            Decision::JudgeAgain => (
                ErrorCode::Denied,
                "the answer was for another call like this one, which is judged again".to_owned(),
                String::new(),
            ),
            _ => (
                ErrorCode::Cancelled,
                "the call was cancelled before a person agreed".to_owned(),
                "nothing was done".to_owned(),
            ),
        };
        (row.decision, row.layer) = ("refused".to_owned(), Some(layers::APPROVAL.to_owned()));
        row.reason = Some(audit::cut(&why));
        row.answered_by = (decision == Decision::Reject).then(|| by.program.clone());
        let mut data = json!({ "layer": layers::APPROVAL, "reasons": approval_request.reasons });
        match decision {
            Decision::Pending { question, .. } => data["question"] = question.into(),
            Decision::Reject => data["refused"] = json!({ "by": by.program, "words": by.words }),
            _ => {}
        }
        let error =
            ToolError { data: Some(data), ..ToolError::new(code, format!("{why}: {what}"), hint) };
        let result = Err(error);
        audit::result(&mut row, &result);
        // The row of an open question stays until it is answered (`UnansweredQuestion`).
        let waits = matches!(decision, Decision::Pending { question, .. } if question == row.id);
        if !waits {
            calls.0.audit.record(row);
        }
        if decision == Decision::JudgeAgain {
            let tool = calls.tools().find(&request.tool).cloned();
            return calls.run(tool, request, None, cancel);
        }
        Outcome::Answered(result)
    }
}

/// The reason in the audit for a question without an answer.
const NOBODY: &str = "nobody answered";

fn refusal_error(by: &Answerer) -> (ErrorCode, String, String) {
    let who = if by.is_client { format!("`{}`", by.program) } else { "a person".to_owned() };
    let (why, hint) = match &*by.words {
        "" => (format!("{who} refused it"), "do not try it again in another way"),
        words => (
            format!("{who} refused it and said \"{words}\""),
            "follow what they said; do not try the same in another way",
        ),
    };
    (ErrorCode::Denied, why, hint.to_owned())
}

/// The error of a call that ends before its question is answered.
fn pending(question: i64, shown: bool, answer_time: Duration) -> (ErrorCode, String, String) {
    let duration = match answer_time.as_secs() {
        1 => "1 second".to_owned(),
        seconds if seconds >= 120 && seconds % 60 == 0 => format!("{} minutes", seconds / 60),
        seconds => format!("{seconds} seconds"),
    };
    let why = if shown {
        format!("a person is asked (question {question}) and has not answered yet")
    } else {
        format!(
            "a person has to agree, and no program in which they could is open; question {question} \
             waits {duration} for one"
        )
    };
    let hint = format!(
        "tell the user that it waits for them in Obsidian and in `steward approvals pending`; once they \
         agree, this very call succeeds once within {duration}"
    );
    (ErrorCode::ApprovalPending, why, hint)
}

fn answer_time(calls: &Calls) -> Duration {
    Duration::from_secs(u64::from(calls.policy().settings().pending_seconds))
}

impl Calls {
    /// Asks a person about something other than a tool call, such as a program that wants to run.
    /// Only a person's own program can answer it. If it `is_general`, an answer holds in every
    /// conversation. Blocks.
    ///
    /// # Errors
    /// The audit cannot be written, so no question may be asked.
    pub fn question(
        &self,
        request: Request,
        title: String,
        reasons: Vec<String>,
        is_general: bool,
    ) -> Result<Question, StoreError> {
        let mut row = audit::begin(&request);
        (row.decision, row.layer) = ("asked".to_owned(), Some(layers::APPROVAL.to_owned()));
        row.reason = Some(audit::cut(&title));
        let row = self.0.audit.write_question(row)?;
        let approval_request = ApprovalRequest {
            title,
            reasons,
            layer: layers::APPROVAL,
            personal: true,
            changes: Arc::default(),
            folder: None,
            identity: String::new(),
            is_general,
            outline: None,
        };
        Ok(Question::new(self.clone(), request, approval_request, row))
    }

    /// Stores a permanent approval, if there is a folder for it.
    fn add_standing_approval(&self, tool: &str, folder: Option<&VaultPath>, by: &Answerer) {
        let Some(folder) = folder else { return };
        if let Err(error) = self.0.agreements.add(tool, folder, &by.program) {
            tracing::warn!(%error, "a permanent approval could not be stored; it counts once");
        }
    }
}

/// A question whose call ended without an answer: the data that the answer still changes.
#[derive(Debug)]
pub struct UnansweredQuestion {
    calls: Calls,
    tool: String,
    folder: Option<VaultPath>,
    row: AuditRow,
}

impl UnansweredQuestion {
    /// Records the decision; may block.
    pub fn settle(self, decision: Decision, by: &Answerer) {
        let Self { calls, tool, folder, mut row } = self;
        if decision == Decision::Always {
            calls.add_standing_approval(&tool, folder.as_ref(), by);
        }
        let (word, why) = match decision {
            Decision::Once | Decision::Always => {
                ("allowed", "a person agreed later: the same call may be made once".to_owned())
            }
            Decision::Reject => ("refused", refusal_error(by).1),
            _ => ("refused", NOBODY.to_owned()),
        };
        (row.decision, row.layer) = (word.to_owned(), Some(layers::APPROVAL.to_owned()));
        row.reason = Some(audit::cut(&why));
        row.answered_by = (decision != Decision::Late).then(|| by.program.clone());
        row.outcome = Some(ErrorCode::ApprovalPending.to_string());
        calls.0.audit.record(row);
    }
}
