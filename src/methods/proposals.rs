//! Proposals of the mode `plan`: a person applies those of a turn together.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::info::{failed, numbered};
use crate::agent::entry::Entry;
use crate::agent::toolbox::turn_name;
use crate::agent::{Conversations, memory};
use crate::calls::{Calls, Outcome, Request};
use crate::conversation::{Item, TurnId};
use crate::llm::{Message, ToolArgs, ToolCall};
use crate::note::code::ErrorCode;
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::proposals::{ProposalsApplyParams, ProposalsApplyResult};
use crate::server::table::Client;
use crate::tools::ToolError;
use crate::vault::Cancel;

/// A call that only proposed.
struct Proposal {
    tool: String,
    arguments: Value,
    title: String,
    /// Identifies the changes that were shown.
    identity: String,
}

/// Applies the proposals of a turn, one after another, as one change set. Nothing is applied where one of them
/// would do something else by now than was shown; the first that fails ends it.
///
/// # Errors
/// Kinds `unknown_session`, `turn_running`; `not_found` where nothing was proposed; `failed` where it was applied before, or
/// the notes have changed since.
pub fn apply(
    calls: &Calls,
    conversations: &Conversations,
    params: &ProposalsApplyParams,
    by: &Client,
    cancel: &Cancel,
) -> Result<ProposalsApplyResult, ErrorObject> {
    let id = numbered(&params.session_id)?;
    if conversations.get(id).map_err(failed)?.is_working {
        let error = ErrorObject::new(Kind::TurnRunning, "the agent is still at work");
        return Err(error.hint("wait for the end of the turn, or stop it"));
    }
    let items = conversations.history_with_gaps(id).map_err(failed)?;
    let items: Vec<Item> = items.into_iter().flatten().collect();
    let (turn, proposals) = of_turn(&items, params.turn.as_deref())?;
    let name = turn_name(id, turn);
    let request = |proposal: &Proposal, dry_run: bool| Request {
        tool: proposal.tool.clone(),
        arguments: proposal.arguments.clone(),
        caller: by.caller(),
        conversation: Some(id.to_string()),
        turn: Some(name.clone()),
        confirmed: !dry_run,
        dry_run,
        ..Request::default()
    };
    for proposal in &proposals {
        let shown = match calls.call(request(proposal, true), cancel) {
            Outcome::Answered(answer) => {
                answer.map_err(|error| changed(proposal, &error.message))?
            }
            Outcome::Ask(_) => return Err(changed(proposal, "it needs an answer")),
        };
        if shown.data.value()["identity"] != proposal.identity.as_str() {
            return Err(changed(proposal, "it would do something else now"));
        }
    }
    let total = proposals.len() as u64;
    let mut result = ProposalsApplyResult { total, ..ProposalsApplyResult::default() };
    for proposal in &proposals {
        let done = match calls.call(request(proposal, false), cancel) {
            Outcome::Answered(answer) => answer,
            Outcome::Ask(question) => {
                Err(ToolError::plain(ErrorCode::ApprovalNeeded, question.title()))
            }
        };
        match done {
            Ok(answer) => {
                result.applied += 1;
                let set = answer.data.value()["change_set"].as_u64();
                result.change_set = set.or(result.change_set);
            }
            Err(error) => {
                result.failed = Some(format!("{}: {}", proposal.title, error.message));
                break;
            }
        }
    }
    let words = match &result.failed {
        None => format!("{} All {total} of them.", applied(turn)),
        Some(why) => {
            format!("{} {} of {total}; then it failed: {why}", applied(turn), result.applied)
        }
    };
    let notice = memory::item(&Entry::notice(words))
        .map_err(|error| ErrorObject::new(Kind::Failed, error.to_string()))?;
    conversations.append(id, Some(turn), &[notice]).map_err(failed)?;
    Ok(result)
}

/// How the notice to the model begins that says that the proposals of a turn were applied.
fn applied(turn: TurnId) -> String {
    format!("The user has applied the proposals of turn {turn}.")
}

fn changed(proposal: &Proposal, why: &str) -> ErrorObject {
    let message = format!("nothing was applied: `{}` no longer fits ({why})", proposal.title);
    ErrorObject::new(Kind::Failed, message).hint("ask for a new proposal")
}

/// The proposals of the turn of that number, or of the last that has any.
fn of_turn(items: &[Item], wanted: Option<&str>) -> Result<(TurnId, Vec<Proposal>), ErrorObject> {
    let mut calls: HashMap<String, ToolCall> = HashMap::new();
    let mut found: Vec<(TurnId, Vec<Proposal>)> = Vec::new();
    let mut notices = Vec::new();
    for item in items {
        let Ok(Some(entry)) = memory::entry(item) else { continue };
        match (entry, item.turn) {
            (Entry::Message { message: Message::Assistant { content, .. }, .. }, _) => {
                let made = content.iter().filter_map(|block| block.call());
                calls.extend(made.map(|call| (call.id.clone(), call.clone())));
            }
            (Entry::Message { message: Message::Notice { text }, .. }, _) => notices.push(text),
            (Entry::Result { result, data: Some(data), .. }, Some(turn))
                if data["proposed"] == true =>
            {
                let Some(ToolArgs::Object(arguments)) =
                    calls.get(&result.call_id).map(|call| call.args.clone())
                else {
                    continue;
                };
                let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
                let proposal = Proposal {
                    tool: result.name,
                    arguments: Value::Object(arguments),
                    title: text("title"),
                    identity: text("identity"),
                };
                match found.last_mut().filter(|(last, _)| *last == turn) {
                    Some((_, proposals)) => proposals.push(proposal),
                    None => found.push((turn, vec![proposal])),
                }
            }
            _ => {}
        }
    }
    let of_wanted = |turn: TurnId| wanted.is_none_or(|wanted| turn.to_string() == wanted);
    let Some((turn, proposals)) = found.into_iter().rev().find(|(turn, _)| of_wanted(*turn)) else {
        let error = ErrorObject::new(Kind::NotFound, "nothing was proposed in this turn");
        return Err(error.hint("in the mode `plan` the agent proposes changes"));
    };
    if notices.iter().any(|text| text.starts_with(&applied(turn))) {
        let error = ErrorObject::new(Kind::Failed, "these proposals were applied before");
        return Err(error.hint("ask for new ones").detail(json!({ "turn": turn.to_string() })));
    }
    Ok((turn, proposals))
}
