//! Questions that an MCP client asks its own user, if the settings accept that user's approval.
//!
//! The question is open like all others, so a person's own programs can answer it too. The client
//! gets it as the result of its call, with a state that is valid once, for [`LIFE`], for this
//! question, call and caller; it repeats the call with this state. Questions reserved for a
//! person's own programs are never sent to it.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::SharedServer;
use crate::calls::{Answerer, Question, Request};
use crate::locks::lock;
use crate::mcp::Call;
use crate::mcp::ask::{self, Choice, Reply};
use crate::mcp::call::Answered;
use crate::mcp::fault::Fault;
use crate::note::code::ErrorCode;
use crate::tools::ToolError;

/// The time limit for an answer.
pub(super) const LIFE: Duration = Duration::from_secs(600);

/// The question to the client about a call.
#[derive(Debug, Default)]
pub(super) struct ClientQuestion(Mutex<Option<PendingQuestion>>);

#[derive(Debug)]
struct PendingQuestion {
    title: String,
    reasons: Vec<String>,
    diff: String,
}

impl ClientQuestion {
    /// Records the question; false if the client may not answer it.
    pub(super) fn note(&self, question: &Question) -> bool {
        let diffs = question.changes().iter().map(|change| change.diff.as_str());
        let pending = (!question.is_personal()).then(|| PendingQuestion {
            title: question.title().to_owned(),
            reasons: question.reasons().to_vec(),
            diff: diffs.collect::<Vec<_>>().join("\n"),
        });
        let is_asked = pending.is_some();
        *lock(&self.0) = pending;
        is_asked
    }

    /// The question as the result of the call, if there is one.
    pub(super) fn result(
        &self,
        shared: &SharedServer,
        call: &Call,
        request: &Request,
        error: &ToolError,
    ) -> Option<Answered> {
        if error.code != ErrorCode::ApprovalPending {
            return None;
        }
        let pending = lock(&self.0).take()?;
        let question = error.data.as_ref()?.get("question")?.as_i64()?;
        let mut random = [0; 16];
        getrandom::fill(&mut random).ok()?;
        let purpose = purpose(question, request);
        let nonce = shared.question_challenges.nonce_for(
            &purpose,
            u128::from_le_bytes(random),
            Instant::now(),
        );
        let state = format!("{question}-{nonce}");
        Some((
            200,
            ask::question(&call.id, &pending.title, &pending.reasons, &pending.diff, &state),
        ))
    }
}

/// Applies a client's answer to the question; the call is then made like any other.
pub(super) fn answered(
    shared: &SharedServer,
    reply: &Reply,
    request: &Request,
) -> Result<(), Fault> {
    let wrong = || {
        Fault::params(
            "`requestState` was not issued for this call, was used before, or is too old; make the call \
             again without it",
        )
    };
    let (number, nonce) = reply.state.split_once('-').ok_or_else(wrong)?;
    let number: i64 = number.parse().map_err(|_| wrong())?;
    if !shared.question_challenges.take_for(&purpose(number, request), nonce, Instant::now()) {
        return Err(wrong());
    }
    let option = match reply.choice {
        Choice::Yes => "allow_once",
        Choice::No => "reject_once",
        Choice::Dismissed | Choice::Nothing => return Ok(()),
    };
    let program = format!("mcp {}", request.caller.name);
    let by = Answerer { program, is_client: true, ..Answerer::default() };
    // An earlier answer by someone else counts.
    let _ = shared.approvals.decide(number, option, by, None);
    Ok(())
}

/// The purpose that a state is bound to: one question about one call of one caller.
fn purpose(question: i64, request: &Request) -> String {
    let caller = &request.caller;
    let parts = (question, caller.scope.word(), &caller.name, &request.tool, &request.arguments);
    serde_json::to_string(&parts).unwrap_or_default()
}
