//! Decides on the changes of a call, after its tool has planned them.

use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::Calls;
use super::call::{Answerer, Content, Request, ShownChange, word};
use crate::edits::{Gate, Proposal, Whole};
use crate::journal::{ChangeSetId, JournalError};
use crate::locks::lock;
use crate::note::code::ErrorCode;
use crate::note::diff;
use crate::note::path::{VaultPath, visible_lines};
use crate::policy::{Call, Effect, Mode, Permission, Reason, Refusal, RuleApproval, layers};
use crate::tools::{Answer, Facts, Foreign, ToolError};
use crate::vault::Cancel;

/// Changes whose diffs are shown to a person.
const MAX_SHOWN: usize = 50;

/// Bytes of all diffs that are shown at first.
const MAX_DIFFS: usize = 256 << 10;

/// Bytes of text held in memory, so that a person can see a question in full.
const MAX_HELD: usize = 16 << 20;

/// Characters of a foreign tool's arguments that are shown to a person.
const MAX_ARGUMENTS: usize = 8_000;

/// The answer to a caller whose change became a proposal.
const PROPOSED: &str = "the mode is `plan`, so this is a proposal: the person sees it, and can apply all proposals of the \
    turn together. Do not repeat it; later proposals see the vault as it is now. At the end, sum up what you propose";

/// A person's approval of exactly these changes.
#[derive(Debug, Clone)]
pub(super) struct Agreed {
    pub identity: String,
    /// The audit row of the question.
    pub row: i64,
    pub by: Answerer,
}

#[derive(Debug, Clone)]
pub(super) struct ApprovalRequest {
    pub title: String,
    pub reasons: Vec<String>,
    pub layer: &'static str,
    /// Whether only a person's own program can answer.
    pub personal: bool,
    pub changes: Arc<[ShownChange]>,
    pub folder: Option<VaultPath>,
    pub identity: String,
    /// Whether an answer holds in every conversation.
    pub is_general: bool,
    /// A short summary of all changes, if `changes` lists only the first.
    pub outline: Option<String>,
}

impl ApprovalRequest {
    /// The error for a caller that can ask the person itself.
    pub fn needed(&self) -> ToolError {
        let changes: Vec<Value> = self.changes.iter().map(change_json).collect();
        let mut data = json!({
            "title": self.title,
            "layer": self.layer,
            "reasons": self.reasons,
            "changes": changes,
            "identity": self.identity,
        });
        if let Some(outline) = &self.outline {
            data["outline"] = json!(outline);
        }
        ToolError {
            data: Some(data),
            ..ToolError::new(
                ErrorCode::ApprovalNeeded,
                format!("this needs a person's approval, since {}", self.reasons.join("; ")),
                "ask the person; if they approve, call again with `confirmed` and with this `identity` as \
                 `agreed` (on the command line: `--yes`)",
            )
        }
    }
}

fn change_json(change: &ShownChange) -> Value {
    json!({
        "action": word(change.action),
        "path": change.path,
        "from": change.from,
        "diff": change.diff,
        "added": change.added,
        "removed": change.removed,
        "more": change.more,
    })
}

/// Events during the judgement of a call.
#[derive(Debug, Default)]
pub(super) struct Judgement {
    pub paths: Vec<String>,
    pub bytes: u64,
    pub decision: Option<&'static str>,
    pub refusal: Option<Refusal>,
    pub change_set: Option<u64>,
    preview: Option<ApprovalRequest>,
    question: Option<ApprovalRequest>,
    /// The effects that the call is about to have.
    effects: Vec<Effect>,
    /// The identity of a whole plan that was judged and is being applied in parts.
    whole: Option<String>,
}

pub(super) struct Judged {
    pub result: Result<Answer<Facts>, ToolError>,
    pub judgement: Judgement,
    pub question: Option<ApprovalRequest>,
}

impl Judged {
    pub fn refused(refusal: Refusal) -> Self {
        let judgement = Judgement { refusal: Some(refusal.clone()), ..Judgement::default() };
        Self { result: Err(refusal.into()), judgement, question: None }
    }

    pub fn refused_early(error: ToolError) -> Self {
        Self { result: Err(error), judgement: Judgement::default(), question: None }
    }

    /// Whether the call was refused or has to run again.
    pub fn did_nothing(&self) -> bool {
        self.judgement.refusal.is_some() || self.question.is_some()
    }
}

/// The gate of one call: it judges the call's changes.
pub(super) struct Judge {
    calls: Calls,
    permission: Permission,
    foreign: Option<Foreign>,
    request: Request,
    mode: Mode,
    write: Option<Vec<VaultPath>>,
    agreement: Option<RuleApproval>,
    agreed: Option<Agreed>,
    cancel: Cancel,
    judgement: Mutex<Judgement>,
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").field("tool", &self.request.tool).finish_non_exhaustive()
    }
}

impl Judge {
    pub fn new(
        calls: &Calls,
        call: &Call,
        request: &Request,
        agreed: Option<Agreed>,
        cancel: &Cancel,
    ) -> Self {
        Self {
            calls: calls.clone(),
            permission: call.permission,
            foreign: call.foreign.map(|foreign| Foreign {
                server: foreign.server.to_owned(),
                is_allowed: foreign.is_allowed,
                reaches_out: foreign.reaches_out,
            }),
            request: request.clone(),
            mode: call.mode,
            write: call.write.map(<[VaultPath]>::to_vec),
            agreement: call.agreement.cloned(),
            agreed,
            cancel: cancel.clone(),
            judgement: Mutex::default(),
        }
    }

    /// Whether a person approved different changes.
    fn differs_from_approved(&self, proposal: &Proposal) -> bool {
        let is_said = self.request.confirmed && self.request.caller.scope.is_person();
        let agreed = self.request.agreed.as_ref().filter(|_| is_said);
        agreed.is_some_and(|agreed| *agreed != identity(proposal))
    }

    /// Whether a person has approved this call, in advance or as shown.
    pub fn has_agreement(&self) -> bool {
        self.agreed.is_some() || (self.request.confirmed && self.request.caller.scope.is_person())
    }

    /// Whether the mode turned the call into a dry run, which a person can apply.
    fn is_proposal(&self) -> bool {
        self.mode == Mode::Plan && !self.request.caller.scope.is_person()
    }

    pub fn end(&self, result: Result<Answer<Facts>, ToolError>) -> Judged {
        let mut judgement = std::mem::take(&mut *lock(&self.judgement));
        let question = judgement.question.take();
        let result = match judgement.preview.take() {
            Some(preview) => {
                // The identity covers all changes, including those hidden from a limited program.
                let request = &self.request;
                let shows = request.caller.scope.is_person() || request.conversation.is_some();
                Ok(dry_run_answer(&preview, self.is_proposal(), shows))
            }
            None => result,
        };
        Judged { result, judgement, question }
    }

    fn call(&self) -> Call<'_> {
        Call {
            tool: &self.request.tool,
            permission: self.permission,
            schema: &Value::Null,
            arguments: &Value::Null,
            caller: &self.request.caller,
            confirmed: self.request.confirmed,
            dry_run: self.request.dry_run,
            mode: self.mode,
            turn: self.request.turn.as_deref(),
            write: self.write.as_deref(),
            agreement: self.agreement.as_ref(),
            foreign: self.foreign.as_ref().map(super::foreign_call),
        }
    }

    /// Judges a call whose effects are unknown, by its arguments; `Ok` if it may be made.
    pub fn check_foreign(&self) -> Result<(), Refusal> {
        let (tool, arguments) = (&self.request.tool, &self.request.arguments);
        let identity = blake3::hash(format!("{tool} {arguments}").as_bytes()).to_hex().to_string();
        let shown = serde_json::to_string_pretty(arguments).unwrap_or_default();
        let outline: String = visible_lines(&shown).chars().take(MAX_ARGUMENTS).collect();
        self.check(&Proposal {
            title: &format!("call `{tool}`"),
            changes: Vec::new(),
            whole: Some(Whole {
                identity: Some(&identity),
                outline: &format!("arguments: {outline}"),
                reason: None,
                is_part: false,
            }),
        })
    }

    fn approval_request(&self, proposal: &Proposal, reasons: &[Reason]) -> ApprovalRequest {
        let (mut room, mut left) = (MAX_DIFFS, MAX_HELD);
        let mut changes = Vec::new();
        // A whole plan has an outline that covers all of it.
        let most = if proposal.whole.is_some() { MAX_SHOWN } else { usize::MAX };
        for change in proposal.changes.iter().take(most) {
            let effect = &change.effect;
            let mut shown = ShownChange {
                action: effect.shown,
                path: effect.path.as_str().to_owned(),
                from: effect.from.as_ref().map(|from| from.as_str().to_owned()),
                diff: String::new(),
                more: 0,
                added: 0,
                removed: 0,
                content: None,
            };
            if let Some((old, new)) = change.content() {
                let part = diff::part(old, new, &shown.path, 0, false);
                (shown.added, shown.removed) = (part.added, part.removed);
                if room > 0 && changes.len() < MAX_SHOWN {
                    room = room.saturating_sub(part.text.len());
                    (shown.diff, shown.more) = (part.text, part.more + part.cut);
                } else {
                    shown.more = part.text.lines().count() + part.more;
                }
                if let Some(rest) = left.checked_sub(old.len() + new.len()) {
                    left = rest;
                    let old = (!change.is_new()).then(|| old.to_vec());
                    shown.content = Some(Arc::new(Content { old, new: new.to_vec() }));
                }
            }
            changes.push(shown);
        }
        let lasting = !reasons.is_empty() && reasons.iter().all(|reason| reason.lasting);
        ApprovalRequest {
            title: proposal.title.to_owned(),
            reasons: reasons.iter().map(|reason| reason.text.clone()).collect(),
            layer: reasons.first().map_or(layers::APPROVAL, |reason| reason.layer),
            personal: reasons.iter().any(|reason| reason.personal),
            changes: changes.into(),
            // All calls of a foreign tool are alike, so they get the root.
            folder: match self.foreign {
                Some(_) => lasting.then(VaultPath::root),
                None => common_folder(proposal).filter(|folder| lasting && !folder.is_root()),
            },
            identity: identity(proposal),
            is_general: false,
            outline: proposal.whole.map(|whole| whole.outline.to_owned()),
        }
    }

    /// Whether a person's permanent approvals cover the call.
    fn is_agreed(&self, effects: &[Effect]) -> bool {
        let (agreements, tool) = (&self.calls.0.agreements, &self.request.tool);
        match self.foreign {
            Some(_) => agreements.cover_tool(tool),
            None => agreements.cover(tool, effects),
        }
    }

    /// Records that a whole plan was approved; its parts are judged next.
    fn begin_parts(&self, proposal: &Proposal, identity: String) {
        if proposal.whole.is_some() {
            lock(&self.judgement).whole = Some(identity);
        }
    }

    fn refuse(&self, refusal: Refusal) -> Refusal {
        lock(&self.judgement).refusal = Some(refusal.clone());
        refusal
    }

    /// Ends the call; it runs again once a person has approved.
    fn ask(&self, approval_request: ApprovalRequest) -> Refusal {
        let reason = "a person has to approve this first".to_owned();
        let (layer, code) = (approval_request.layer, ErrorCode::ApprovalNeeded);
        lock(&self.judgement).question = Some(approval_request);
        Refusal { layer, code, reason, hint: None }
    }
}

impl Gate for Judge {
    fn check(&self, proposal: &Proposal) -> Result<(), Refusal> {
        let effects: Vec<Effect> =
            proposal.changes.iter().map(|change| change.effect.clone()).collect();
        let identity = identity(proposal);
        let is_judged_part = {
            let mut judgement = lock(&self.judgement);
            judgement.effects.clone_from(&effects);
            let is_part = proposal.whole.is_some_and(|whole| whole.is_part)
                && judgement.whole.as_ref() == Some(&identity);
            if !is_part {
                judgement.paths =
                    effects.iter().flat_map(Effect::paths).map(|path| path.to_string()).collect();
                judgement.bytes = effects.iter().map(|effect| effect.bytes).sum();
            }
            is_part
        };
        let call = self.call();
        let mut reasons = match self.calls.0.policy.judge(&call, &effects) {
            Ok(reasons) => reasons,
            Err(refusal) => return Err(self.refuse(refusal)),
        };
        if is_judged_part {
            return Ok(());
        }
        if let Some(text) = proposal.whole.and_then(|whole| whole.reason)
            && self.calls.0.policy.is_on(layers::APPROVAL)
        {
            let text = text.to_owned();
            reasons.push(Reason { layer: layers::APPROVAL, text, lasting: false, personal: false });
        }
        // Hooks run first: a person is not asked about a change that their own hook refuses.
        if self.agreed.is_none() {
            let shown = || self.approval_request(proposal, &reasons);
            let answer = self.calls.ask_before_change(&self.request, &effects, shown, &self.cancel);
            answer.map_err(|refusal| self.refuse(refusal))?;
        }
        if self.request.dry_run {
            let approval_request = self.approval_request(proposal, &reasons);
            let mut judgement = lock(&self.judgement);
            (judgement.preview, judgement.decision) = (Some(approval_request), Some("dry_run"));
            return Err(Refusal::denied("dry_run", "this is a dry run", "nothing was done"));
        }
        if let Some(agreed) = &self.agreed {
            if agreed.identity == identity {
                self.begin_parts(proposal, identity);
                return Ok(());
            }
            return Err(self.refuse(Refusal {
                layer: layers::APPROVAL,
                code: ErrorCode::StaleRevision,
                reason: "what a person approved has changed meanwhile; nothing was done".to_owned(),
                hint: Some("look again and repeat the call".to_owned()),
            }));
        }
        if self.differs_from_approved(proposal) {
            let mut approval_request = self.approval_request(proposal, &reasons);
            approval_request.layer = layers::APPROVAL;
            approval_request
                .reasons
                .insert(0, "what was shown and approved has changed meanwhile".to_owned());
            return Err(self.ask(approval_request));
        }
        let lasting = reasons.iter().all(|reason| reason.lasting);
        if reasons.is_empty() || self.has_agreement() || (lasting && self.is_agreed(&effects)) {
            self.begin_parts(proposal, identity);
            return Ok(());
        }
        Err(self.ask(self.approval_request(proposal, &reasons)))
    }

    fn limited(&self, proposal: &Proposal, limit: &JournalError) {
        if self.has_agreement() || !self.calls.0.policy.is_on(layers::APPROVAL) {
            return;
        }
        let text = limit.to_string();
        let reason = Reason { layer: "blast_radius", text, lasting: false, personal: false };
        let approval_request = self.approval_request(proposal, &[reason]);
        lock(&self.judgement).question = Some(approval_request);
    }

    fn applied(&self, change_set: ChangeSetId) {
        let effects = {
            let mut judgement = lock(&self.judgement);
            judgement.change_set = Some(change_set.0);
            std::mem::take(&mut judgement.effects)
        };
        self.calls.0.policy.applied(&self.call(), &effects);
        self.calls.notify_applied(&self.request, change_set);
    }
}

fn identity(proposal: &Proposal) -> String {
    if let Some(identity) = proposal.whole.and_then(|whole| whole.identity) {
        return identity.to_owned();
    }
    let mut hash = blake3::Hasher::new();
    proposal.changes.iter().for_each(|change| change.identity(&mut hash));
    hash.finalize().to_hex().to_string()
}

/// The deepest folder that contains everything touched.
fn common_folder(proposal: &Proposal) -> Option<VaultPath> {
    let mut paths = proposal.changes.iter().flat_map(|change| change.effect.paths());
    let mut folder = paths.next()?.parent()?;
    for path in paths {
        while !path.is_within(&folder) {
            folder = folder.parent()?;
        }
    }
    Some(folder)
}

fn dry_run_answer(
    preview: &ApprovalRequest,
    is_proposal: bool,
    shows_identity: bool,
) -> Answer<Facts> {
    let mut lines = vec![format!("would {}; nothing was done", preview.title)];
    if is_proposal {
        lines.push(PROPOSED.to_owned());
    }
    lines.extend(preview.outline.clone());
    for change in preview.changes.iter() {
        match (&change.from, change.diff.trim_end()) {
            (Some(from), _) => {
                lines.push(format!("{} `{from}` to `{}`", word(change.action), change.path))
            }
            (None, "") => lines.push(format!("{} `{}`", word(change.action), change.path)),
            (None, diff) => lines.push(diff.to_owned()),
        }
        if change.more > 0 {
            lines.push(format!(
                "[{} more lines of the diff of `{}`; it adds {} and removes {}]",
                change.more, change.path, change.added, change.removed
            ));
        }
    }
    if !preview.reasons.is_empty() {
        lines.push(format!("a person would be asked, since {}", preview.reasons.join("; ")));
    }
    let changes: Vec<Value> = preview.changes.iter().map(change_json).collect();
    let mut facts = json!({
        "dryRun": true,
        "title": preview.title,
        "changes": changes,
        "reasons": preview.reasons,
    });
    if is_proposal {
        facts["proposed"] = json!(true);
    }
    if shows_identity {
        facts["identity"] = json!(preview.identity);
    }
    Answer::new(lines.join("\n"), Facts::from(facts))
}
