//! What comes of a call: an answer, or a question to a person first.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::call::{Answerer, Decision, Request, ShownChange};
use super::judge::{Agreed, Asked};
use super::saved_answers::Key;
use super::{Calls, audit};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::policy::{Caller, layers};
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
    pub fn changes(&self) -> &Arc<[ShownChange]> {
        &self.asked.changes
    }

    /// The folder for which [`Decision::Always`] would hold; none where it cannot be said.
    pub fn folder(&self) -> Option<&str> {
        self.asked.folder.as_ref().map(|folder| folder.as_str())
    }

    /// Whether a person's own program alone brings the answer.
    pub fn is_personal(&self) -> bool {
        self.asked.personal
    }

    /// Its number: that of its row in the audit, until it is answered.
    pub fn number(&self) -> i64 {
        self.row.id
    }

    /// When the call came, in milliseconds since the Unix epoch.
    pub fn time(&self) -> i64 {
        self.row.time
    }

    /// What a call has to have in common with this one to be the same.
    pub fn key(&self) -> Key {
        Key::of(&self.request, &self.asked.identity)
    }

    /// How long it waits while nobody is there who could answer, and how long an answer is kept.
    pub fn patience(&self) -> Duration {
        patience(&self.calls)
    }

    /// What stays of it when the call ends before a person has answered.
    pub fn left(&self) -> Left {
        let (calls, tool) = (self.calls.clone(), self.request.tool.clone());
        Left { calls, tool, folder: self.asked.folder.clone(), row: self.row.clone() }
    }

    /// Goes on with the call, or ends it, as was decided; on a thread that may block.
    pub fn answer(self, decision: Decision, by: Answerer, cancel: &Cancel) -> Outcome {
        let Self { calls, request, asked, mut row } = self;
        if decision == Decision::Always {
            calls.agree(&request.tool, asked.folder.as_ref(), &by);
        }
        if matches!(decision, Decision::Once | Decision::Always) {
            let agreed = Agreed { identity: asked.identity, row: row.id, by };
            let tool = calls.tools().find(&request.tool).cloned();
            return calls.run(tool, request, Some(agreed), cancel);
        }
        let what = format!("{}, since {}", asked.title, asked.reasons.join("; "));
        let (code, why, hint) = match decision {
            Decision::Pending { question, shown } => {
                pending(question, shown, patience(&calls))
            }
            Decision::Crowded => (
                ErrorCode::RateLimited,
                "too many questions wait for a person already".to_owned(),
                "tell the user what waits for them, and call again once they have answered".to_owned(),
            ),
            Decision::Reject => refused(&by.words),
            Decision::Late => (
                ErrorCode::Denied,
                NOBODY.to_owned(),
                "a person has to agree: tell the user what it is about, and call again when they are there"
                    .to_owned(),
            ),
            Decision::Anew => (
                ErrorCode::Denied,
                "the answer was for another call like this one, which is judged anew".to_owned(),
                String::new(),
            ),
            _ => (
                ErrorCode::Cancelled,
                "the call was withdrawn before a person agreed".to_owned(),
                "nothing was done".to_owned(),
            ),
        };
        (row.decision, row.layer) = ("refused".to_owned(), Some(layers::APPROVAL.to_owned()));
        row.reason = Some(audit::cut(&why));
        row.answered_by = (decision == Decision::Reject).then(|| by.program.clone());
        let mut data = json!({ "layer": layers::APPROVAL, "reasons": asked.reasons });
        match decision {
            Decision::Pending { question, .. } => data["question"] = question.into(),
            Decision::Reject => data["refused"] = json!({ "by": by.program, "words": by.words }),
            _ => {}
        }
        let error =
            ToolError { data: Some(data), ..ToolError::new(code, format!("{why}: {what}"), hint) };
        let result = Err(error);
        audit::result(&mut row, &result);
        // The row of a question stands until that is answered (`Left`).
        let waits = matches!(decision, Decision::Pending { question, .. } if question == row.id);
        if !waits {
            calls.0.audit.record(row);
        }
        if decision == Decision::Anew {
            let tool = calls.tools().find(&request.tool).cloned();
            return calls.run(tool, request, None, cancel);
        }
        Outcome::Answered(result)
    }
}

/// Why a call came to nothing about which a person was asked who never answered.
const NOBODY: &str = "nobody answered";

/// What is said of a call that a person refused, with these words or none.
fn refused(words: &str) -> (ErrorCode, String, String) {
    let (why, hint) = match words {
        "" => ("a person refused it".to_owned(), "do not try it again in another way"),
        words => (
            format!("a person refused it and said \"{words}\""),
            "go by what they said; do not try the same in another way",
        ),
    };
    (ErrorCode::Denied, why, hint.to_owned())
}

/// What is said of a call that ends before its question is answered.
fn pending(question: i64, shown: bool, patience: Duration) -> (ErrorCode, String, String) {
    let kept = match patience.as_secs() {
        1 => "1 second".to_owned(),
        seconds if seconds >= 120 && seconds % 60 == 0 => format!("{} minutes", seconds / 60),
        seconds => format!("{seconds} seconds"),
    };
    let why = match shown {
        true => format!("a person is asked (question {question}) and has not answered yet"),
        false => format!(
            "a person has to agree, and no program in which they could is open; question {question} \
             waits {kept} for one"
        ),
    };
    let hint = format!(
        "tell the user that it waits for them in Obsidian and in `steward approvals pending`; once they \
         agree, this very call succeeds once within {kept}"
    );
    (ErrorCode::ApprovalPending, why, hint)
}

fn patience(calls: &Calls) -> Duration {
    Duration::from_secs(u64::from(calls.policy().settings().pending_seconds))
}

impl Calls {
    /// Keeps an agreement for good, where it can be said for what.
    fn agree(&self, tool: &str, folder: Option<&VaultPath>, by: &Answerer) {
        let Some(folder) = folder else { return };
        if let Err(error) = self.0.agreements.add(tool, folder, &by.program) {
            tracing::warn!(%error, "an agreement for good was not kept; it holds this once");
        }
    }
}

/// A question whose call is over: what its answer still has to change.
#[derive(Debug)]
pub struct Left {
    calls: Calls,
    tool: String,
    folder: Option<VaultPath>,
    row: AuditRow,
}

impl Left {
    /// Writes down how it was decided; on a thread that may block.
    pub fn settle(self, decision: Decision, by: &Answerer) {
        let Self { calls, tool, folder, mut row } = self;
        if decision == Decision::Always {
            calls.agree(&tool, folder.as_ref(), by);
        }
        let (word, why) = match decision {
            Decision::Once | Decision::Always => {
                ("allowed", "a person agreed later: the same call may be made once".to_owned())
            }
            Decision::Reject => ("refused", refused(&by.words).1),
            _ => ("refused", NOBODY.to_owned()),
        };
        (row.decision, row.layer) = (word.to_owned(), Some(layers::APPROVAL.to_owned()));
        row.reason = Some(audit::cut(&why));
        row.answered_by = (decision != Decision::Late).then(|| by.program.clone());
        row.outcome = Some(ErrorCode::ApprovalPending.to_string());
        calls.0.audit.record(row);
    }
}
