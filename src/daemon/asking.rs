//! What may run and what ran, as the local door shows it: calls and their questions, the mode, what
//! was agreed to, the audit.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{Local, SecondsFormat, TimeZone};
use serde_json::json;

use crate::calls::{self, Calls, Outcome};
use crate::policy::Mode;
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::permission::{
    PermissionChange, PermissionContent, PermissionLocation, PermissionMeta, PermissionToolCall,
    PermissionVaultMeta, RequestPermissionParams,
};
use crate::protocol::policy::{
    Approval, ApprovalsParams, ApprovalsResult, AuditParams, AuditResult, AuditedCall, ModeParams,
    ModeResult,
};
use crate::protocol::tools::{Content, ToolsCallWritten};
use crate::server::backend::{Called, Decision, Question};
use crate::store::StoreError;
use crate::store::audit::AuditWanted;
use crate::tools::{Answer, Facts, ToolError};
use crate::vault::Cancel;

/// Calls shown where no limit is given, and the most that may be.
const CALLS: (u32, u32) = (100, 1000);

/// The word that takes the mode back to what the settings say.
const AS_SET: &str = "settings";

/// What came of a call, for the server.
pub fn called(calls: &Calls, outcome: Outcome) -> Called {
    match outcome {
        Outcome::Ask(question) => {
            let root = calls.context().vault.root().to_owned();
            Called::Ask(Box::new(Waiting { calls: calls.clone(), question, root }))
        }
        Outcome::Answered(answered) => Called::Done(result(answered)),
    }
}

/// What a call answered, as the server sends it.
pub fn result(answered: Result<Answer<Facts>, ToolError>) -> ToolsCallWritten {
    let (text, facts, is_error) = match answered {
        Ok(answer) => (answer.text, answer.data, false),
        Err(error) => (error.text(), Facts::from(json!(error)), true),
    };
    ToolsCallWritten { text, facts: facts.into_json(), is_error }
}

struct Waiting {
    calls: Calls,
    question: Box<calls::Question>,
    root: PathBuf,
}

/// What a person is asked, but for ids, options and time, which are the server's.
pub fn params(question: &calls::Question, root: &Path) -> RequestPermissionParams {
    let absolute = |path: &str| root.join(path).to_string_lossy().into_owned();
    let changes = question.changes();
    let content = changes.iter().filter_map(|change| match &change.texts {
        Some((old_text, new_text)) => Some(PermissionContent::Diff {
            path: absolute(&change.path),
            old_text: old_text.clone(),
            new_text: new_text.clone(),
        }),
        None if change.diff.is_empty() => None,
        None => Some(PermissionContent::Content {
            content: Content::Text { text: change.diff.clone() },
        }),
    });
    let paths = changes.iter().flat_map(|change| change.from.iter().chain([&change.path]));
    let kind = match changes.first().map(|change| change.action) {
        Some("write") => "edit",
        Some("delete") => "delete",
        Some("move") => "move",
        _ => "other",
    };
    RequestPermissionParams {
        session_id: question.conversation().unwrap_or("direct").to_owned(),
        tool_call: PermissionToolCall {
            tool_call_id: String::new(),
            title: question.title().to_owned(),
            kind: kind.to_owned(),
            status: "pending".to_owned(),
            locations: paths.map(|path| PermissionLocation { path: absolute(path) }).collect(),
            content: content.collect(),
        },
        options: Vec::new(),
        meta: PermissionMeta {
            vault: PermissionVaultMeta {
                tool: question.tool().to_owned(),
                caller: question.caller().name.clone(),
                scope: question.caller().scope.word().to_owned(),
                reasons: question.reasons().to_vec(),
                changes: changes
                    .iter()
                    .map(|change| PermissionChange {
                        action: change.action.to_owned(),
                        path: change.path.clone(),
                        from: change.from.clone(),
                        diff: change.diff.clone(),
                    })
                    .collect(),
                folder: question.folder().map(str::to_owned),
                seconds: 0,
            },
        },
    }
}

/// How long a question waits for a person's answer.
pub fn patience(question: &calls::Question) -> Duration {
    let seconds = question.calls().policy().settings().approval_seconds;
    Duration::from_secs(u64::from(seconds))
}

impl Question for Waiting {
    fn params(&self) -> RequestPermissionParams {
        params(&self.question, &self.root)
    }

    fn patience(&self) -> Duration {
        patience(&self.question)
    }

    fn answer(self: Box<Self>, decision: Decision, by: String, cancel: &Cancel) -> Called {
        let Self { calls, question, .. } = *self;
        called(&calls, question.answer(decision, by, cancel))
    }
}

/// Says or sets the mode.
///
/// # Errors
/// Kind `invalid_params` for a word that is no mode, `failed`.
pub fn mode(calls: &Calls, params: &ModeParams) -> Result<ModeResult, ErrorObject> {
    if let Some(word) = params.mode.as_deref() {
        let mode = Mode::parse(word);
        if mode.is_none() && word != AS_SET {
            let shown: String = word.chars().take(40).collect();
            let message = format!("`{}` is no mode", shown.escape_debug());
            return Err(ErrorObject::new(Kind::InvalidParams, message)
                .hint("it is `ask`, `auto`, `read-only` or `settings`"));
        }
        calls.set_mode(mode).map_err(|error| failed(&error))?;
    }
    let (mode, set_live) = calls.mode().map_err(|error| failed(&error))?;
    Ok(ModeResult { mode: mode.word().to_owned(), set_live })
}

/// Whether anything may be changed at all.
///
/// # Errors
/// Kind `failed` in the mode `read-only`.
pub fn may_change(calls: &Calls) -> Result<(), ErrorObject> {
    match calls.mode().map_err(|error| failed(&error))?.0 {
        Mode::ReadOnly => {
            Err(ErrorObject::new(Kind::Failed, "the mode is `read-only`: nothing is changed")
                .hint("`steward mode auto` changes it"))
        }
        Mode::Ask | Mode::Auto => Ok(()),
    }
}

/// Lists what was agreed to for good, one of it taken back first where that is asked.
///
/// # Errors
/// Kind `failed`.
pub fn approvals(calls: &Calls, params: &ApprovalsParams) -> Result<ApprovalsResult, ErrorObject> {
    let revoked = match params.revoke {
        Some(id) => calls.revoke(id).map_err(|error| failed(&error))?,
        None => false,
    };
    let rows = calls.agreements().map_err(|error| failed(&error))?;
    let approval = |row: crate::store::audit::ApprovalRow| Approval {
        id: row.id,
        tool: row.tool,
        folder: row.folder,
        agreed_by: row.agreed_by,
        time: local(row.time),
    };
    Ok(ApprovalsResult { approvals: rows.into_iter().map(approval).collect(), revoked })
}

/// Calls, and what was decided on them.
///
/// # Errors
/// Kind `failed`.
pub fn audit(calls: &Calls, params: AuditParams) -> Result<AuditResult, ErrorObject> {
    let wanted = AuditWanted {
        tool: params.tool,
        caller: params.caller,
        decision: params.decision,
        since: params.since,
        after: params.after,
        limit: params.limit.unwrap_or(CALLS.0).clamp(1, CALLS.1),
    };
    let rows = calls.audited(&wanted).map_err(|error| failed(&error))?;
    let call = |row: crate::store::audit::AuditRow| AuditedCall {
        id: row.id,
        time: local(row.time),
        caller: row.caller,
        scope: row.scope,
        conversation: row.conversation,
        tool: row.tool,
        paths: row.paths.lines().map(str::to_owned).collect(),
        decision: row.decision,
        layer: row.layer,
        reason: row.reason,
        answered_by: row.answered_by,
        outcome: row.outcome,
        microseconds: row.microseconds,
        bytes: row.bytes,
        change_set: row.change_set,
    };
    Ok(AuditResult { calls: rows.into_iter().map(call).collect() })
}

fn local(milliseconds: i64) -> String {
    let time = Local.timestamp_millis_opt(milliseconds).earliest();
    time.map_or_else(String::new, |time| time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

fn failed(error: &StoreError) -> ErrorObject {
    ErrorObject::new(Kind::Failed, error.to_string()).hint(error.hint())
}
