//! Rules drafted by a model from a person's sentence.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::model_usage::count;
use crate::agent::clock::SystemClock;
use crate::agent::drafting::{self, DraftError, DraftRequest};
use crate::agent::ports::Models as _;
use crate::bases::functions;
use crate::calls::{Calls, Outcome, Request};
use crate::config::models::ChosenModels;
use crate::llm::Origin;
use crate::note::code::ErrorCode;
use crate::organize::sentence::sentence;
use crate::policy::{Caller, Scope};
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::organize::{OrganizeDraftParams, OrganizeDraftResult};
use crate::server::table::{Context, Later};
use crate::store::usage::Usage;
use crate::tools::{Answer, DescribeVault, PlanChanges, Tool as _, ToolError, rules};
use crate::vault::Cancel;

/// The most characters of a sentence.
const MAX_SENTENCE: usize = 4_000;

/// Bytes of the vault's profile in the prompt.
const PROFILE: u64 = 20_000;

/// Lets the configured model draft rules. The drafted rules are only planned, neither enabled nor
/// applied.
pub fn draft(
    calls: &Calls,
    models: &ChosenModels,
    used: &Usage,
    params: OrganizeDraftParams,
    by: &Context,
) -> Later<OrganizeDraftResult> {
    let (calls, models, cancel) = (calls.clone(), models.clone(), by.cancel.clone());
    let used = used.clone();
    let caller = by.client.caller();
    Box::pin(async move {
        let sentence = params.text.trim().to_owned();
        if sentence.is_empty() || sentence.chars().count() > MAX_SENTENCE {
            let message = "say in a sentence what the rules are to do";
            return Err(ErrorObject::new(Kind::InvalidParams, message));
        }
        let Some(model) = models.current() else {
            let error = ErrorObject::new(Kind::Failed, "no language model is set up");
            return Err(error.hint(models.advice().await));
        };
        let existing = params.rules.unwrap_or_default();
        let runtime = Handle::current();
        let done = tokio::task::spawn_blocking(move || {
            let ask =
                |tool: &str, arguments: Value| call(&calls, &caller, &cancel, tool, arguments);
            let profile =
                ask(DescribeVault::NAME, json!({ "bytes": PROFILE })).map_err(failed)?.text;
            let draft_request = DraftRequest {
                sentence: &sentence,
                language: functions::card(),
                profile: &profile,
                rules: &existing,
            };
            let check = |yaml: &str| {
                ask(PlanChanges::NAME, json!({ "rules": yaml })).map_err(|error| match error.hint {
                    Some(hint) => format!("{}\n{hint}", error.message),
                    None => error.message,
                })
            };
            let clock = SystemClock::default();
            let count = |origin: Option<&Origin>, usage| count(&models, &used, origin, usage);
            let drafted = drafting::draft(&*model.provider, &clock, draft_request, check, count);
            let draft = runtime.block_on(drafted).map_err(not_drafted)?;
            let plan = draft.rules.data["plan"].as_u64().unwrap_or_default();
            let text = meaning(&calls, plan).map_err(failed)?;
            Ok(OrganizeDraftResult {
                text: format!("{text}\n{}", draft.rules.text),
                rules: draft.yaml,
                model: draft.origin.model,
                plan: draft.rules.data,
            })
        });
        done.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a draft stopped unexpectedly");
            Err(ErrorObject::new(Kind::Internal, "this is a bug in the steward"))
        })
    })
}

/// Describes the rules of a plan in words, derived from the rules themselves; with files that they match and why,
/// probable mistakes, and files that they nearly match.
fn meaning(calls: &Calls, plan: u64) -> Result<String, ToolError> {
    let described = rules::described(&calls.context_for(Scope::Person), plan)?;
    let mut text = String::new();
    for one in &described.rules {
        let files = if one.fits == 1 { "file" } else { "files" };
        let (name, does) = (&one.rule.name, sentence(&one.rule));
        let _ = writeln!(text, "{name}\n  {does}\n  Fits {} {files} now.", one.fits);
        for (path, parts) in &one.examples {
            let _ = writeln!(text, "    {path}");
            for part in parts {
                let _ = writeln!(text, "      {part}");
            }
        }
    }
    for found in &described.found {
        let _ = writeln!(text, "{found}");
    }
    let near: Vec<_> = described.rules.iter().flat_map(|one| &one.near).collect();
    if !near.is_empty() {
        let _ = writeln!(text, "Nearly taken:");
    }
    for one in near {
        let _ = writeln!(text, "  {}\n    {}", one.path, one.part);
    }
    Ok(text)
}

/// Calls a tool that changes no note.
pub(super) fn call(
    calls: &Calls,
    caller: &Caller,
    cancel: &Cancel,
    tool: &str,
    arguments: Value,
) -> Result<Answer<Value>, ToolError> {
    let request =
        Request { tool: tool.to_owned(), arguments, caller: caller.clone(), ..Request::default() };
    match calls.call(request, cancel) {
        Outcome::Answered(answer) => answer.map(|facts| facts.read()),
        // A mode may ask for everything.
        Outcome::Ask(question) => {
            let message = format!("a person has to approve this first: {}", question.title());
            Err(ToolError::plain(ErrorCode::ApprovalNeeded, message))
        }
    }
}

pub(super) fn failed(error: ToolError) -> ErrorObject {
    ErrorObject::new(Kind::Failed, error.message).maybe_hint(error.hint)
}

fn not_drafted(error: DraftError) -> ErrorObject {
    let message = error.to_string();
    match error {
        DraftError::Unreadable { yaml, faults } => {
            let hint = format!("rephrase it, or correct its last try:\n{yaml}\n\n{faults}");
            ErrorObject::new(Kind::Failed, message).hint(hint)
        }
        DraftError::Model(error) => ErrorObject::new(Kind::Failed, format!("{message}: {error}")),
    }
}
