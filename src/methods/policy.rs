//! Policy and audit for clients: the mode, the permanent approvals, the audit log.

use chrono::{Local, SecondsFormat, TimeZone};

use crate::calls::{Answerer, Calls};
use crate::policy::Mode;
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::policy::{
    AnswerParams, AnswerResult, Approval, ApprovalsParams, ApprovalsResult, AuditParams,
    AuditResult, AuditedCall, ModeParams, ModeResult, PendingParams, PendingQuestion,
    PendingResult,
};
use crate::server::approvals::{Approvals, Pending};
use crate::server::events::{Event, Events};
use crate::store::audit::AuditFilter;

/// The default and the largest number of calls shown.
const CALLS: (u32, u32) = (100, 1000);

/// The word that resets the mode to that of the settings.
const AS_SET: &str = "settings";

/// Returns or sets the mode.
pub fn mode(calls: &Calls, params: &ModeParams) -> Result<ModeResult> {
    if let Some(word) = params.mode.as_deref() {
        let mode = Mode::parse(word);
        if mode.is_none() && word != AS_SET {
            let shown: String = word.chars().take(40).collect();
            let message = format!("`{}` is not a mode", shown.escape_debug());
            return Err(ErrorObject::new(Kind::InvalidParams, message)
                .hint("it is `ask`, `auto`, `plan`, `read-only` or `settings`"));
        }
        calls.set_mode(mode)?;
    }
    let (mode, set_live) = calls.mode()?;
    Ok(ModeResult { mode: mode.word().to_owned(), set_live })
}

/// Like [`mode`], and tells every client if the mode changed.
pub fn change_mode(calls: &Calls, params: &ModeParams, events: &Events) -> Result<ModeResult> {
    if params.mode.is_none() {
        return mode(calls, params);
    }
    let before = mode(calls, &ModeParams::default()).ok();
    let result = mode(calls, params)?;
    if before.as_ref() != Some(&result) {
        events.publish(Event::ModeChanged(result.clone()));
    }
    Ok(result)
}

/// Whether any change is allowed.
pub fn may_change(calls: &Calls) -> Result<()> {
    match calls.mode()?.0 {
        Mode::ReadOnly => {
            Err(ErrorObject::new(Kind::Failed, "the mode is `read-only`: nothing is changed")
                .hint("`steward mode auto` changes it"))
        }
        Mode::Ask | Mode::Auto | Mode::Plan => Ok(()),
    }
}

/// Lists the permanent approvals, after revoking one if the params name it.
pub fn approvals(calls: &Calls, params: &ApprovalsParams) -> Result<ApprovalsResult> {
    let revoked = match params.revoke {
        Some(id) => calls.revoke(id)?,
        None => false,
    };
    let rows = calls.agreements()?;
    let approval = |row: crate::store::audit::ApprovalRow| Approval {
        id: row.id,
        tool: row.tool,
        folder: row.folder,
        agreed_by: row.agreed_by,
        time: local(row.time),
    };
    Ok(ApprovalsResult { approvals: rows.into_iter().map(approval).collect(), revoked })
}

/// Lists the open questions, or shows one of them.
pub fn pending(approvals: &Approvals, params: &PendingParams) -> Result<PendingResult> {
    let waiting = approvals.pending(params.id);
    if let Some(id) = params.id.filter(|_| waiting.is_empty()) {
        return Err(no_question(id));
    }
    let shown = |one: Pending| {
        let ours = &one.params.meta.vault;
        PendingQuestion {
            id: one.number,
            since: local(one.time),
            session_id: one.params.session_id.clone(),
            title: one.params.tool_call.title.clone(),
            tool: ours.tool.clone(),
            caller: ours.caller.clone(),
            scope: ours.scope.clone(),
            reasons: ours.reasons.clone(),
            changes: u32::try_from(ours.changes.len()).unwrap_or(u32::MAX),
            shown: one.is_shown,
            waits: one.has_call,
            asked: params.id.is_some().then_some(one.params),
        }
    };
    Ok(PendingResult { pending: waiting.into_iter().map(shown).collect() })
}

/// Answers a question for the person who uses `program`.
pub fn answer(approvals: &Approvals, params: &AnswerParams, program: &str) -> Result<AnswerResult> {
    let AnswerParams { id, option_id, words } = params;
    let waiting = approvals.pending(Some(*id)).pop();
    let asked = waiting.ok_or_else(|| no_question(*id))?.params;
    if !asked.options.iter().any(|option| option.option_id == *option_id) {
        let offered: Vec<String> =
            asked.options.iter().map(|option| format!("`{}`", option.option_id)).collect();
        let message = format!("question {id} cannot be answered so");
        return Err(ErrorObject::new(Kind::InvalidParams, message)
            .hint(format!("it is {}", offered.join(" or "))));
    }
    let by = Answerer { words: words.clone(), ..Answerer::from(program) };
    let decided = approvals.decide(*id, option_id, by, None);
    let waited = decided.ok_or_else(|| no_question(*id))?;
    Ok(AnswerResult { title: asked.tool_call.title, waited })
}

pub(super) fn no_question(id: i64) -> ErrorObject {
    ErrorObject::new(Kind::NotFound, format!("no question {id} waits"))
        .hint("it was answered or withdrawn, or has expired; `steward approvals pending` lists what waits")
}

/// The calls and the decisions on them.
pub fn audit(calls: &Calls, params: AuditParams) -> Result<AuditResult> {
    let audit_filter = AuditFilter {
        tool: params.tool,
        caller: params.caller,
        decision: params.decision,
        since: params.since,
        after: params.after,
        limit: params.limit.unwrap_or(CALLS.0).clamp(1, CALLS.1),
    };
    let rows = calls.audited(&audit_filter)?;
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
