//! The vault's tools as a model is given them, called in the one way there is.

use std::sync::Arc;

use serde_json::{Value, json};

use super::called::Called;
use super::changed;
pub use super::guard::turn_name;
use super::guard::{self, Guarded};
use super::own_tools;
use super::ports::{Answer, Later, Pending, Toolbox, Wanted};
use super::turn::Changes;
use crate::calls::{Answerer, Calls, Decision, Outcome, Question, Request};
use crate::llm::{ToolArgs, ToolSpec};
use crate::note::code::ErrorCode;
use crate::policy::Caller;
use crate::tools::{Tier, ToolError};
use crate::vault::Cancel;

/// What the agent calls itself.
pub const NAME: &str = "agent";

/// Whoever can ask a person.
pub trait Person: Send + Sync + 'static {
    /// Puts a question to every client that can ask one; dropping the wait takes it back. `call`
    /// names the call to them.
    fn ask(&self, question: &Question, call: String) -> Later<(Decision, Answerer)>;
}

/// The tools of one vault.
#[derive(Clone)]
pub struct VaultToolbox {
    calls: Calls,
    person: Arc<dyn Person>,
}

impl VaultToolbox {
    /// The tools that `calls` leads to; what needs agreement is asked of `person`.
    pub fn new(calls: Calls, person: Arc<dyn Person>) -> Self {
        Self { calls, person }
    }

    /// What a call came to, on a thread that may block.
    fn answer(&self, outcome: Outcome, made: Made) -> Answer {
        match outcome {
            Outcome::Answered(Ok(answer)) => {
                let data = answer.data.value();
                let journal = &self.calls.context().journal;
                let files = match made.before {
                    Some(before) => changed::files(journal, &made.turn, before, &data),
                    None => Vec::new(),
                };
                let (text, learnt) = (answer.text, answer.learnt);
                Answer::Done(Called { text, data, is_error: false, learnt, files })
            }
            Outcome::Answered(Err(error)) => {
                let is_there = error.code == ErrorCode::AlreadyExists;
                let error = match made.guarded {
                    Guarded::OnlyNew if is_there => guard::unread(error),
                    _ => error,
                };
                Answer::Done(failed(&error))
            }
            Outcome::Ask(question) => {
                Answer::Asks(Box::new(Waiting { toolbox: self.clone(), question, made }))
            }
        }
    }
}

/// How a call was made.
struct Made {
    /// Its name among all calls.
    call: String,
    /// The name of its turn.
    turn: String,
    /// How many changes the turn had made before; none for a call that changes nothing.
    before: Option<usize>,
    guarded: Guarded,
}

impl Toolbox for VaultToolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        let tools = self.calls.tools();
        let of_the_vault = tools.offered(self.calls.context()).map(|tool| {
            let mut schema = tool.input_schema.clone();
            // It is the tool's own, once is enough.
            if let Some(object) = schema.as_object_mut() {
                object.remove("description");
            }
            ToolSpec { name: tool.name.clone(), description: tool.description.clone(), schema }
        });
        let mut specs: Vec<ToolSpec> = of_the_vault.chain(own_tools::specs()).collect();
        specs.sort_by(|a, b| a.name.cmp(&b.name));
        specs
    }

    fn changes(&self) -> Changes {
        let tools = self.calls.tools();
        Arc::new(tools.iter().map(|tool| (tool.name.clone(), tool.tier != Tier::Safe)).collect())
    }

    fn call(&self, wanted: Wanted, cancel: Cancel) -> Later<Answer> {
        let Wanted { call, scope, conversation, turn, room, known } = wanted;
        let mut arguments = match call.args {
            ToolArgs::Object(arguments) => Value::Object(arguments),
            // The turn lets none of these through.
            ToolArgs::Invalid(_) => {
                let why = "the arguments are no JSON object";
                return Box::pin(std::future::ready(Answer::Done(Called::error(why))));
            }
        };
        let toolbox = self.clone();
        let id = format!("{turn}/{}", call.id);
        Box::pin(async move {
            let calls = toolbox.calls.clone();
            let work = move || {
                let guarded =
                    guard::guard(&calls, scope, conversation, &known, &call.name, &mut arguments)?;
                let turn = turn_name(conversation, turn);
                let changes = calls.tools().get(&call.name).is_some_and(|it| it.tier != Tier::Safe);
                let before = changes.then(|| changed::made(&calls.context().journal, &turn));
                let made = Made { call: id, turn: turn.clone(), before, guarded };
                let request = Request {
                    tool: call.name,
                    arguments,
                    caller: Caller { scope, name: NAME.to_owned() },
                    conversation: Some(conversation.to_string()),
                    turn: Some(turn),
                    confirmed: false,
                    agreed: None,
                    dry_run: false,
                    room: Some(room),
                };
                Ok(toolbox.answer(calls.call(request, &cancel), made))
            };
            match tokio::task::spawn_blocking(work).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) => Answer::Done(failed(&error)),
                Err(error) => Answer::Done(broken(&error)),
            }
        })
    }
}

fn failed(error: &ToolError) -> Called {
    let learnt = error.learnt.iter().map(|learnt| (**learnt).clone()).collect();
    Called { text: error.text(), data: json!(error), is_error: true, learnt, files: Vec::new() }
}

fn broken(error: &tokio::task::JoinError) -> Called {
    tracing::error!(%error, "a tool call broke off");
    Called::error("the tool broke off; list_changes shows whether it changed anything")
}

struct Waiting {
    toolbox: VaultToolbox,
    question: Box<Question>,
    made: Made,
}

impl Pending for Waiting {
    fn title(&self) -> String {
        self.question.title().to_owned()
    }

    fn ask(&self) -> Later<(Decision, Answerer)> {
        self.toolbox.person.ask(&self.question, self.made.call.clone())
    }

    fn answer(self: Box<Self>, decision: Decision, by: Answerer, cancel: Cancel) -> Later<Answer> {
        let Self { toolbox, question, made } = *self;
        Box::pin(async move {
            let work = move || toolbox.answer(question.answer(decision, by, &cancel), made);
            match tokio::task::spawn_blocking(work).await {
                Ok(answer) => answer,
                Err(error) => Answer::Done(broken(&error)),
            }
        })
    }
}
