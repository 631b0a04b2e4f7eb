//! Proposals of the mode `plan`: lists those that wait, and applies or rejects all or parts of a
//! turn's proposals for a person.

use serde_json::{Value, json};

use super::info::{local, numbered};
use super::proposal_state::{self, Change, Hunk, Proposal, ProposedTurn, Verdict, decision};
use crate::agent::entry::Entry;
use crate::agent::toolbox::turn_name;
use crate::agent::{Conversations, memory};
use crate::calls::{Answerer, Calls, Decision, Outcome, Question, Request};
use crate::conversation::{Conversation, ConversationId, EndKind, Item, TurnId};
use crate::note::code::ErrorCode;
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::proposals::{
    ProposalInfo, ProposalPart, ProposalsApplyParams, ProposalsApplyResult, ProposalsListParams,
    ProposalsListResult, ProposalsRejectParams, ProposalsRejectResult, ProposedChange,
    ProposedHunk, WaitingProposals,
};
use crate::server::table::Client;
use crate::tools::{EditFile, Tool as _, ToolError};
use crate::vault::Cancel;

/// The number of recent conversations that are searched for waiting proposals.
const SEARCHED_CONVERSATIONS: u32 = 50;

/// The proposals and plans that wait for the person.
pub fn list(
    conversations: &Conversations,
    params: &ProposalsListParams,
) -> Result<ProposalsListResult> {
    let among = match params.session_id.as_deref() {
        Some(session) => vec![conversations.get(numbered(session)?)?],
        None => {
            let [proposed, planned] = proposal_state::marks();
            let found = conversations.with_results([&proposed, &planned], SEARCHED_CONVERSATIONS);
            found?
        }
    };
    let mut waiting = Vec::new();
    let is_over = |one: &Conversation| match &one.ended {
        Some(end) => matches!(end.kind, EndKind::Person | EndKind::Agent),
        None => one.is_working,
    };
    for one in among.into_iter().filter(|one| !is_over(one)) {
        let items = history(conversations, one.id)?;
        let last = proposal_state::turns(&items).pop().filter(ProposedTurn::waits);
        let plan = proposal_state::plan(&items);
        let (turn, time) = match (&last, &plan) {
            (Some(last), _) => (last.turn, last.time),
            (None, Some((turn, time, _))) => (*turn, *time),
            (None, None) => continue,
        };
        let proposals = last.iter().flat_map(|last| &last.proposals);
        waiting.push(WaitingProposals {
            session_id: one.id.to_string(),
            turn: turn.to_string(),
            time: local(time),
            proposals: proposals.filter(|one| !one.is_decided()).map(info).collect(),
            plan: plan.map(|(_, _, plan)| plan),
        });
    }
    Ok(ProposalsListResult { waiting })
}

fn info(proposal: &Proposal) -> ProposalInfo {
    let change = |change: &Change| {
        let hunks: Vec<ProposedHunk> = proposal
            .waiting_hunks(change)
            .map(|hunk| ProposedHunk { number: hunk.number, diff: hunk.text.clone() })
            .collect();
        ProposedChange {
            action: change.action.clone(),
            path: change.path.clone(),
            from: change.from.clone(),
            diff: if change.hunks.is_empty() { change.diff.clone() } else { String::new() },
            hunks,
        }
    };
    ProposalInfo {
        number: proposal.number,
        title: proposal.title.clone(),
        changes: proposal.changes.iter().map(change).collect(),
    }
}

/// A proposal, or hunks of one, applied as one change set.
enum Step<'a> {
    Whole(&'a Proposal),
    Hunk { proposal: &'a Proposal, edit: Value, number: u64 },
}

impl Step<'_> {
    fn proposal(&self) -> &Proposal {
        match self {
            Self::Whole(proposal) | Self::Hunk { proposal, .. } => proposal,
        }
    }

    fn part(&self) -> ProposalPart {
        match self {
            Self::Whole(proposal) => ProposalPart { proposal: proposal.number, hunk: None },
            Self::Hunk { proposal, number, .. } => {
                ProposalPart { proposal: proposal.number, hunk: Some(*number) }
            }
        }
    }
}

/// Asks a person about a change; blocks.
pub(super) type Ask<'a> = dyn Fn(&Question) -> (Decision, Answerer) + 'a;

/// Calls a tool, after a person's approval if required.
pub(super) fn call(
    calls: &Calls,
    request: Request,
    ask: Option<&Ask<'_>>,
    cancel: &Cancel,
) -> Result<Value, ToolError> {
    let mut outcome = calls.call(request, cancel);
    loop {
        match (outcome, ask) {
            (Outcome::Answered(answer), _) => {
                return answer.map(|answer| answer.data.value().clone());
            }
            (Outcome::Ask(question), Some(ask)) => {
                let (decision, by) = ask(&question);
                outcome = question.answer(decision, by, cancel);
            }
            (Outcome::Ask(question), None) => {
                return Err(ToolError::plain(ErrorCode::ApprovalNeeded, question.title()));
            }
        }
    }
}

/// The context for applying one turn's proposals.
struct Applying<'a> {
    calls: &'a Calls,
    by: &'a Client,
    /// For a client that does not represent a person.
    ask: Option<&'a Ask<'a>>,
    cancel: &'a Cancel,
    conversation: ConversationId,
    turn: TurnId,
}

impl Applying<'_> {
    fn call(&self, tool: &str, arguments: &Value, dry_run: bool) -> Result<Value, ToolError> {
        let request = Request {
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            caller: self.by.caller(),
            conversation: Some(self.conversation.to_string()),
            turn: Some(turn_name(self.conversation, self.turn)),
            confirmed: !dry_run && self.by.scope.is_person(),
            dry_run,
            applies_proposal: true,
            ..Request::default()
        };
        call(self.calls, request, self.ask, self.cancel)
    }

    /// Whether a proposal would still do what was shown.
    fn fits(&self, proposal: &Proposal) -> Result<()> {
        match self.call(&proposal.tool, &proposal.arguments, true) {
            Ok(shown) if shown["identity"] == proposal.identity.as_str() => Ok(()),
            Ok(_) => Err(changed_error(proposal, "it would do something else now")),
            Err(error) => Err(changed_error(proposal, &error.message)),
        }
    }

    /// The edit for one hunk: its lines with their context, or alone if the context has changed.
    fn edit(&self, proposal: &Proposal, path: &str, hunk: &Hunk) -> Result<Value> {
        let edits = [true, false].map(|whole| {
            let (before, after) = hunk.texts(whole);
            json!({"path": path, "old_text": before, "new_text": after})
        });
        let mut error = changed_error(proposal, "its lines have changed since");
        for edit in edits {
            match self.call(EditFile::NAME, &edit, true) {
                Ok(_) => return Ok(edit),
                Err(why) => error = changed_error(proposal, &why.message),
            }
        }
        Err(error)
    }

    /// The steps that apply the waiting hunks of a proposal, or one of them.
    fn hunks<'p>(&self, proposal: &'p Proposal, only: Option<u64>) -> Result<Vec<Step<'p>>> {
        let mut steps = Vec::new();
        for change in &proposal.changes {
            let selected = |hunk: &&Hunk| only.is_none_or(|only| only == hunk.number);
            for hunk in proposal.waiting_hunks(change).filter(selected) {
                let edit = self.edit(proposal, &change.path, hunk)?;
                steps.push(Step::Hunk { proposal, edit, number: hunk.number });
            }
        }
        Ok(steps)
    }

    /// The steps that apply the undecided parts of a proposal.
    fn steps<'p>(&self, proposal: &'p Proposal, was_touched: bool) -> Result<Vec<Step<'p>>> {
        if proposal.is_partly_decided() {
            return self.hunks(proposal, None);
        }
        match self.fits(proposal) {
            Ok(()) => Ok(vec![Step::Whole(proposal)]),
            // Another proposal for the same note was applied first.
            Err(_) if was_touched && proposal.is_by_hunks() => self.hunks(proposal, None),
            Err(error) => Err(error),
        }
    }
}

/// Applies a turn's proposals, or parts of them, in order, as one change set. Nothing is applied if
/// any of them would no longer do what was shown; the first failure ends it.
///
/// # Errors
/// Kinds `unknown_session`, `turn_running`, `invalid_params`; `not_found` if nothing was proposed;
/// `failed` if it was already decided, or the notes have changed since.
pub fn apply(
    calls: &Calls,
    conversations: &Conversations,
    params: &ProposalsApplyParams,
    by: &Client,
    ask: Option<&Ask<'_>>,
    cancel: &Cancel,
) -> Result<ProposalsApplyResult> {
    let (id, turn) = turn_of(conversations, &params.session_id, params.turn.as_deref())?;
    let applying = Applying { calls, by, ask, cancel, conversation: id, turn: turn.turn };
    let mut steps = Vec::new();
    for (proposal, hunk) in selected(&turn, &params.only)? {
        let has_more = proposal.changes.iter().flat_map(|change| &change.hunks).nth(1).is_some();
        steps.extend(match hunk {
            Some(_) if has_more => applying.hunks(proposal, hunk)?,
            _ => applying.steps(proposal, turn.was_touched)?,
        });
    }
    let mut result =
        ProposalsApplyResult { total: steps.len() as u64, ..ProposalsApplyResult::default() };
    let mut parts = Vec::new();
    for step in &steps {
        let done = match step {
            Step::Whole(proposal) => applying.call(&proposal.tool, &proposal.arguments, false),
            Step::Hunk { edit, .. } => applying.call(EditFile::NAME, edit, false),
        };
        match done {
            Ok(answer) => {
                result.applied += 1;
                parts.push(step.part());
                result.change_set = answer["change_set"].as_u64().or(result.change_set);
            }
            Err(error) => {
                result.failed = Some(format!("{}: {}", step.proposal().title, error.message));
                break;
            }
        }
    }
    let ProposalsApplyResult { applied, total, failed: why, .. } = &result;
    let is_all = params.only.is_empty() && !turn.was_touched;
    // Nothing was decided.
    if why.is_some() && parts.is_empty() {
        return Ok(result);
    }
    let words = match why {
        None if is_all => {
            format!("{} All {total} of them.", decision(Verdict::Applied, turn.turn, &[]))
        }
        Some(why) if is_all => format!(
            "{} {applied} of {total}; then it failed: {why}",
            decision(Verdict::Applied, turn.turn, &[])
        ),
        _ => decision(Verdict::Applied, turn.turn, &parts),
    };
    record_decision(conversations, id, turn.turn, words)?;
    Ok(result)
}

/// Rejects a turn's proposals, or parts of them.
pub fn reject(
    conversations: &Conversations,
    params: &ProposalsRejectParams,
) -> Result<ProposalsRejectResult> {
    let (id, turn) = turn_of(conversations, &params.session_id, params.turn.as_deref())?;
    let rejected = selected(&turn, &params.only)?;
    let is_all = params.only.is_empty() && !turn.was_touched;
    let parts: Vec<ProposalPart> = rejected
        .iter()
        .map(|(proposal, hunk)| ProposalPart { proposal: proposal.number, hunk: *hunk })
        .collect();
    let words = decision(Verdict::Rejected, turn.turn, if is_all { &[] } else { &parts });
    record_decision(conversations, id, turn.turn, words)?;
    Ok(ProposalsRejectResult { rejected: rejected.len() as u64 })
}

/// Rejects a waiting plan.
///
/// # Errors
/// Kinds `unknown_session` and `failed`.
pub(super) fn reject_plan(conversations: &Conversations, session: &str, plan: u64) -> Result<()> {
    let id = numbered(session)?;
    let Some((turn, ..)) = proposal_state::plan(&history(conversations, id)?) else {
        return Ok(());
    };
    record_decision(conversations, id, turn, proposal_state::plan_rejected(plan))
}

/// Stores a decision as a notice to the model, and tells every client.
fn record_decision(
    conversations: &Conversations,
    id: ConversationId,
    turn: TurnId,
    words: String,
) -> Result<()> {
    let notice = memory::item(&Entry::notice(words))
        .map_err(|error| ErrorObject::new(Kind::Failed, error.to_string()))?;
    conversations.append(id, Some(turn), &[notice])?;
    conversations.notify_decided(id);
    Ok(())
}

/// The named parts of a turn, or all its undecided ones: each proposal with its hunk, if one is
/// meant.
fn selected<'a>(
    turn: &'a ProposedTurn,
    only: &[ProposalPart],
) -> Result<Vec<(&'a Proposal, Option<u64>)>> {
    if only.is_empty() {
        let waiting = turn.proposals.iter().filter(|one| !one.is_decided());
        return Ok(waiting.map(|one| (one, None)).collect());
    }
    only.iter()
        .map(|&ProposalPart { proposal, hunk }| {
            let found = turn.proposals.iter().find(|one| one.number == proposal);
            let found = found.ok_or_else(|| unknown(format!("proposal {proposal}")))?;
            let all = found.changes.iter().flat_map(|change| &change.hunks);
            if let Some(hunk) = hunk
                && !all.clone().any(|one| one.number == hunk)
            {
                return Err(unknown(format!("hunk {hunk} of proposal {proposal}")));
            }
            let waits = |hunk: u64| {
                let mut left = found.changes.iter().flat_map(|one| found.waiting_hunks(one));
                left.any(|one| one.number == hunk)
            };
            if found.is_decided() || hunk.is_some_and(|hunk| !waits(hunk)) {
                Err(before_turn_error(turn.turn))
            } else {
                Ok((found, hunk))
            }
        })
        .collect()
}

fn unknown(what: String) -> ErrorObject {
    let error = ErrorObject::new(Kind::InvalidParams, format!("there is no {what} in this turn"));
    error.hint("`_vault/proposals/list` has their numbers")
}

fn before_turn_error(turn: TurnId) -> ErrorObject {
    let error = ErrorObject::new(Kind::Failed, "these proposals were decided before");
    error.hint("ask for new ones").detail(json!({ "turn": turn.to_string() }))
}

fn changed_error(proposal: &Proposal, why: &str) -> ErrorObject {
    let message = format!("nothing was applied: `{}` no longer fits ({why})", proposal.title);
    ErrorObject::new(Kind::Failed, message).hint("ask for a new proposal")
}

fn history(conversations: &Conversations, id: ConversationId) -> Result<Vec<Item>> {
    let items = conversations.history_with_gaps(id)?;
    Ok(items.into_iter().flatten().collect())
}

/// The turn with that number, or the last with undecided proposals.
fn turn_of(
    conversations: &Conversations,
    session: &str,
    selected: Option<&str>,
) -> Result<(ConversationId, ProposedTurn)> {
    let id = numbered(session)?;
    if conversations.get(id)?.is_working {
        let error = ErrorObject::new(Kind::TurnRunning, "the agent is still at work");
        return Err(error.hint("wait for the end of the turn, or stop it"));
    }
    let turns = proposal_state::turns(&history(conversations, id)?);
    let of_wanted = |one: &ProposedTurn| selected.is_none_or(|name| one.turn.to_string() == name);
    let Some(turn) = turns.into_iter().rev().find(of_wanted) else {
        let error = ErrorObject::new(Kind::NotFound, "nothing was proposed in this turn");
        return Err(error.hint("in the mode `plan` the agent proposes changes"));
    };
    if turn.proposals.iter().all(Proposal::is_decided) {
        return Err(before_turn_error(turn.turn));
    }
    Ok((id, turn))
}
