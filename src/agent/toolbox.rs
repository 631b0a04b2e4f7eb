//! The vault's tools for the model; every call goes through `calls`.

use futures_util::future::BoxFuture;
use std::sync::Arc;

use serde_json::{Value, json};

use super::call_result::CallResult;
pub use super::guard::turn_name;
use super::guard::{self, Guarded};
use super::images::Recent;
use super::named::ActiveAgent;
use super::own_tools;
use super::ports::{CallOutcome, CallRequest, Pending, Toolbox};
use super::turn::ToolEffects;
use super::{changed_files, foreign};
use crate::calls::{Answerer, Calls, Decision, Outcome, Question, Request};
use crate::llm::{ToolArgs, ToolSpec};
use crate::note::code::ErrorCode;
use crate::policy::Caller;
use crate::tools::{Image, Tier, ToolError};
use crate::vault::Cancel;

/// The agent's name as a caller.
pub const NAME: &str = "agent";

/// Asks a person for approval.
pub trait Person: Send + Sync + 'static {
    /// Asks every client that can answer. Dropping the future withdraws the question. `call` is the
    /// call's id for clients.
    fn ask(&self, question: &Question, call: String) -> BoxFuture<'static, (Decision, Answerer)>;
}

#[derive(Clone)]
pub struct VaultToolbox {
    calls: Calls,
    person: Arc<dyn Person>,
    images: Recent,
}

impl VaultToolbox {
    /// Calls tools through `calls` and asks `person` for approval.
    pub fn new(calls: Calls, person: Arc<dyn Person>) -> Self {
        Self { calls, person, images: Recent::default() }
    }

    fn answer(&self, outcome: Outcome, details: CallDetails) -> CallOutcome {
        match outcome {
            Outcome::Answered(Ok(answer)) => {
                let data = answer.data.value();
                let journal = &self.calls.context().journal;
                let files = match details.before {
                    Some(before) => changed_files::files(journal, &details.turn, before, &data),
                    None => Vec::new(),
                };
                let (text, read_updates, is_drawn) =
                    (answer.text, answer.read_updates, details.is_drawn);
                let image = answer.image;
                image.iter().cloned().for_each(|image| self.images.add(image));
                let is_error = false;
                let done =
                    CallResult { text, data, is_drawn, is_error, read_updates, files, image };
                CallOutcome::Done(done)
            }
            Outcome::Answered(Err(error)) => {
                let is_there = error.code == ErrorCode::AlreadyExists;
                let error = match details.guarded {
                    Guarded::OnlyNew if is_there => guard::unread(error),
                    _ => error,
                };
                CallOutcome::Done(error_result(&error))
            }
            Outcome::Ask(question) => CallOutcome::NeedsApproval(Box::new(Waiting {
                toolbox: self.clone(),
                question,
                details,
            })),
        }
    }
}

struct CallDetails {
    call: String,
    turn: String,
    /// The number of changes the turn had made before; `None` for a call that changes nothing.
    before: Option<usize>,
    is_drawn: bool,
    guarded: Guarded,
}

impl Toolbox for VaultToolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        let tools = self.calls.tools();
        let built_in = tools.offered(self.calls.context()).filter(|tool| !tool.is_external);
        let of_the_vault = built_in.map(foreign::spec);
        let mut specs: Vec<ToolSpec> = of_the_vault.chain(own_tools::specs()).collect();
        specs.sort_by(|a, b| a.name.cmp(&b.name));
        specs
    }

    fn foreign(&self) -> Vec<ToolSpec> {
        self.calls.renew_tools();
        foreign::specs(&self.calls.tools())
    }

    fn changes(&self) -> ToolEffects {
        let tools = self.calls.tools();
        let named = tools.iter().flat_map(|tool| {
            let names = std::iter::once(&*tool.name).chain(tool.other_names.iter().copied());
            names.map(move |name| (name.to_owned(), tool.tier != Tier::Safe))
        });
        let through = (foreign::CALL.to_owned(), true);
        Arc::new(named.chain(std::iter::once(through)).collect())
    }

    fn call(&self, call_request: CallRequest, cancel: Cancel) -> BoxFuture<'static, CallOutcome> {
        let CallRequest { call, scope, conversation, turn, max_chars, known, agent } = call_request;
        let call = match foreign::read(call, &self.calls.tools()) {
            Ok(call) => call,
            Err(done) => return Box::pin(std::future::ready(CallOutcome::Done(*done))),
        };
        let mut arguments = match call.args {
            ToolArgs::Object(arguments) => Value::Object(arguments),
            // The turn refuses these before they get here.
            ToolArgs::Invalid(_) => {
                let why = "the arguments are not a JSON object";
                return Box::pin(std::future::ready(CallOutcome::Done(CallResult::error(why))));
            }
        };
        let toolbox = self.clone();
        let id = format!("{turn}/{}", call.id);
        Box::pin(async move {
            let calls = toolbox.calls.clone();
            let work = move || {
                if let Some(agent) = &agent {
                    check_tool(&calls, agent, &call.name)?;
                }
                let guarded =
                    guard::guard(&calls, scope, conversation, &known, &call.name, &mut arguments)?;
                let turn = turn_name(conversation, turn);
                let tools = calls.tools();
                let tool = tools.get(&call.name);
                let changes = tool.is_some_and(|it| it.tier != Tier::Safe);
                let is_drawn = tool.is_some_and(|it| it.drawn);
                let before = changes.then(|| changed_files::made(&calls.context().journal, &turn));
                let details =
                    CallDetails { call: id, turn: turn.clone(), before, is_drawn, guarded };
                let request = Request {
                    tool: call.name,
                    arguments,
                    caller: Caller { scope, name: caller_name(agent.as_deref()).to_owned() },
                    conversation: Some(conversation.to_string()),
                    turn: Some(turn),
                    confirmed: false,
                    agreed: None,
                    dry_run: false,
                    applies_proposal: false,
                    max_chars: Some(max_chars),
                    rules: Vec::new(),
                    mode: agent.and_then(|agent| agent.settings.mode),
                };
                Ok(toolbox.answer(calls.call(request, &cancel), details))
            };
            match tokio::task::spawn_blocking(work).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) => CallOutcome::Done(error_result(&error)),
                Err(error) => CallOutcome::Done(panic_result(&error)),
            }
        })
    }

    fn image(&self, path: &str, revision: &str) -> Option<Arc<Image>> {
        let read = || Image::again(&self.calls.context().vault, path, revision);
        self.images.get(path, revision, read)
    }
}

/// The name of the caller; a guest has its own.
fn caller_name(agent: Option<&ActiveAgent>) -> &str {
    agent.filter(|agent| agent.settings.is_guest()).map_or(NAME, |agent| &agent.name)
}

/// Refuses a tool that the agent does not have, under any of its names.
fn check_tool(calls: &Calls, agent: &ActiveAgent, name: &str) -> Result<(), ToolError> {
    let tools = calls.tools();
    let name = tools.get(name).map_or(name, |tool| tool.name.as_str());
    if agent.settings.has_tool(name) {
        return Ok(());
    }
    let text = format!("the agent `{}` does not have the tool `{name}`", agent.name);
    let hint = "the user's settings say so; do what you can with the tools that you have";
    Err(ToolError::new(ErrorCode::Denied, text, hint))
}

fn error_result(error: &ToolError) -> CallResult {
    let read_updates = error.read_update.iter().map(|update| (**update).clone()).collect();
    CallResult { is_error: true, read_updates, ..CallResult::done(error.text(), json!(error)) }
}

fn panic_result(error: &tokio::task::JoinError) -> CallResult {
    tracing::error!(%error, "a tool call stopped unexpectedly");
    CallResult::error(
        "the tool stopped unexpectedly; list_changes shows whether it changed anything",
    )
}

struct Waiting {
    toolbox: VaultToolbox,
    question: Box<Question>,
    details: CallDetails,
}

impl Pending for Waiting {
    fn title(&self) -> String {
        self.question.title().to_owned()
    }

    fn ask(&self) -> BoxFuture<'static, (Decision, Answerer)> {
        self.toolbox.person.ask(&self.question, self.details.call.clone())
    }

    fn answer(
        self: Box<Self>,
        decision: Decision,
        by: Answerer,
        cancel: Cancel,
    ) -> BoxFuture<'static, CallOutcome> {
        let Self { toolbox, question, details } = *self;
        Box::pin(async move {
            let work = move || toolbox.answer(question.answer(decision, by, &cancel), details);
            match tokio::task::spawn_blocking(work).await {
                Ok(answer) => answer,
                Err(error) => CallOutcome::Done(panic_result(&error)),
            }
        })
    }
}
