//! The data that hooks receive about a call, and the effect of their answers.

use serde_json::{Value, json};

use super::Calls;
use super::call::Request;
use super::judge::{ApprovalRequest, Judgement};
use crate::hooks::{Event, Kind, Refused};
use crate::journal::ChangeSetId;
use crate::note::code::ErrorCode;
use crate::policy::{Caller, Effect, Refusal, layers};
use crate::store::audit::AuditRow;
use crate::tools::{Answer, Definition, Facts, ToolError};
use crate::vault::Cancel;

/// The prefix of the command line's caller name if a hook started it; the hook's name follows.
pub const CALLER: &str = "hook ";

/// Bytes of an answer that are sent to a hook.
const MAX_ANSWER: usize = 64 << 10;

/// Changes of an applied change set that are listed for hooks.
const MAX_CHANGES: usize = 1_000;

/// A workflow step as described to hooks.
#[derive(Debug, Clone, Copy)]
pub struct StepShown<'a> {
    pub caller: &'a Caller,
    pub run: i64,
    pub workflow: &'a str,
    pub step: &'a str,
    /// The 0-based index of the `for_each` element.
    pub item: Option<usize>,
    /// The tool, `model` or `ask`.
    pub does: &'a str,
    pub input: &'a Value,
}

impl StepShown<'_> {
    fn event(&self, kind: Kind) -> Event {
        Event::new(kind)
            .of_tool(self.does)
            .field("caller", self.caller.name.as_str())
            .field("scope", self.caller.scope.word())
            .field("run", self.run)
            .field("workflow", self.workflow)
            .field("step", self.step)
            .field("item", self.item)
            .text("input", self.input.clone())
    }
}

/// Whether a hook made this call; notifying hooks of it could loop forever. Trusted only from a
/// person's own program, since others could claim it to avoid the hooks.
fn is_by_hook(caller: &Caller) -> bool {
    caller.scope.is_person() && caller.name.starts_with(CALLER)
}

fn event_of(request: &Request, kind: Kind) -> Event {
    Event::new(kind)
        .of_tool(&request.tool)
        .field("caller", request.caller.name.as_str())
        .field("scope", request.caller.scope.word())
        .field("conversation", request.conversation.as_deref())
        .field("turn", request.turn.as_deref())
        .field("dryRun", request.dry_run)
}

impl Calls {
    pub(super) fn receives(&self, request: &Request, kind: Kind) -> bool {
        self.is_notified(&request.caller, kind)
    }

    fn is_notified(&self, caller: &Caller, kind: Kind) -> bool {
        self.0.hooks.receives(kind) && !is_by_hook(caller) && self.0.policy.is_on(layers::HOOKS)
    }

    /// Asks the hooks whether a workflow step may begin.
    pub fn ask_before_step(&self, step: StepShown<'_>, cancel: &Cancel) -> Result<(), ToolError> {
        if !self.is_notified(step.caller, Kind::BeforeStep) {
            return Ok(());
        }
        let asked = self.0.hooks.ask(step.event(Kind::BeforeStep), &|| cancel.is_cancelled());
        asked.map(drop).map_err(|refused| {
            let Refusal { code, reason, hint, .. } = refusal(refused);
            ToolError { hint, ..ToolError::plain(code, reason) }
        })
    }

    /// Tells the hooks how a workflow step ended.
    pub fn notify_after_step(&self, step: StepShown<'_>, state: &str) {
        if self.is_notified(step.caller, Kind::AfterStep) {
            self.0.hooks.notify(step.event(Kind::AfterStep).field("state", state));
        }
    }

    /// Asks the hooks about a call whose arguments are valid; returns the arguments if a hook
    /// replaced them.
    pub(super) fn ask_before_call(
        &self,
        tool: &Definition,
        request: &Request,
        cancel: &Cancel,
    ) -> Result<Option<Value>, Refusal> {
        if !self.receives(request, Kind::BeforeToolCall) {
            return Ok(None);
        }
        let event = event_of(request, Kind::BeforeToolCall)
            .place("named", tool.places(&request.arguments).collect::<Vec<_>>())
            .with_input(request.arguments.clone());
        self.0.hooks.ask(event, &|| cancel.is_cancelled()).map_err(refusal)
    }

    /// Asks the hooks about the changes that a call is about to make.
    pub(super) fn ask_before_change(
        &self,
        request: &Request,
        effects: &[Effect],
        shown: impl FnOnce() -> ApprovalRequest,
        cancel: &Cancel,
    ) -> Result<(), Refusal> {
        if !self.receives(request, Kind::BeforeChange) {
            return Ok(());
        }
        let change = |effect: &Effect| {
            json!({
                "action": super::call::word(effect.action),
                "path": effect.path.as_str(),
                "from": effect.from.as_ref().map(|from| from.as_str()),
                "folder": effect.folder,
                "files": effect.files,
                "bytes": effect.bytes,
            })
        };
        let shown = shown();
        let diffs: Vec<Value> = shown
            .changes
            .iter()
            .filter(|change| !change.diff.is_empty())
            .map(|change| json!({"path": change.path, "diff": change.diff}))
            .collect();
        let event = event_of(request, Kind::BeforeChange)
            .place("title", shown.title)
            .place("changes", effects.iter().map(change).collect::<Vec<_>>())
            .text("diffs", diffs);
        let asked = self.0.hooks.ask(event, &|| cancel.is_cancelled());
        asked.map(drop).map_err(refusal)
    }

    pub(super) fn notify_applied(&self, request: &Request, set: ChangeSetId) {
        if !self.receives(request, Kind::ChangeApplied) {
            return;
        }
        let Ok(Some(listed)) = self.0.context.journal.history().change_set(set) else { return };
        let changes: Vec<Value> = listed
            .changes
            .iter()
            .take(MAX_CHANGES)
            .map(|change| {
                json!({
                    "action": change.action.word(),
                    "path": change.path.as_str(),
                    "from": change.from.as_ref().map(|from| from.as_str()),
                })
            })
            .collect();
        let event = event_of(request, Kind::ChangeApplied)
            .field("changeSet", set.0)
            .field("total", listed.changes.len())
            .place("title", listed.title)
            .place("changes", changes);
        self.0.hooks.notify(event);
    }

    pub(super) fn notify_after_call(
        &self,
        request: &Request,
        row: &AuditRow,
        judgement: &Judgement,
        result: &Result<Answer<Facts>, ToolError>,
    ) {
        if judgement.refusal.is_some() || !self.receives(request, Kind::AfterToolCall) {
            return;
        }
        let text = match result {
            Ok(answer) => answer.text.clone(),
            Err(error) => error.text(),
        };
        let whole = |at: &usize| text.is_char_boundary(*at);
        let end = (0..=MAX_ANSWER.min(text.len())).rev().find(whole).unwrap_or_default();
        let event = event_of(request, Kind::AfterToolCall)
            .field("decision", row.decision.as_str())
            .field("outcome", row.outcome.as_deref())
            .field("microseconds", row.microseconds)
            .field("bytes", row.bytes)
            .field("changeSet", row.change_set)
            .place("paths", judgement.paths.clone())
            .text("input", request.arguments.clone())
            .text("answer", &text[..end]);
        self.0.hooks.notify(event);
    }
}

fn refusal(refused: Refused) -> Refusal {
    let Refused { hook, reason, failed } = refused;
    let (reason, hint) = if failed {
        (
            format!("the hook `{hook}` failed, and it is critical: {reason}"),
            "`[hooks]` in the user's settings has it; `steward status` says what went wrong",
        )
    } else {
        (
            format!("the hook `{hook}` refuses: {reason}"),
            "do not try it another way: the user's own hook decides",
        )
    };
    Refusal { layer: layers::HOOKS, code: ErrorCode::Denied, reason, hint: Some(hint.to_owned()) }
}
