//! Questions of servers to a person, asked like those about calls.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::runtime::Handle;

use super::client_bridge::ClientBridge;
use crate::agent::toolbox::Person as _;
use crate::calls::{Answerer, Calls, Decision, Request};
use crate::policy::{Caller, Scope};
use crate::servers::elicitation::{Ask, PersonAnswer, PersonQuestion, TOOL};

/// How often a cancellation is checked for.
const POLL: Duration = Duration::from_millis(50);

/// Asks a person for servers.
pub(super) struct ServerQuestions {
    calls: Calls,
    client_bridge: Arc<ClientBridge>,
}

impl ServerQuestions {
    /// Asks through `client_bridge`; `calls` records the answers.
    pub fn new(calls: Calls, client_bridge: Arc<ClientBridge>) -> Self {
        Self { calls, client_bridge }
    }
}

impl Ask for ServerQuestions {
    fn ask(&self, person_question: &PersonQuestion, withdrawn: &dyn Fn() -> bool) -> PersonAnswer {
        // Calls run on threads of the daemon's runtime.
        let Ok(runtime) = Handle::try_current() else {
            return PersonAnswer::Nothing("nobody can be asked here".to_owned());
        };
        let PersonQuestion { server, call, conversation, title, reasons, .. } =
            person_question.clone();
        let request = Request {
            tool: TOOL.to_owned(),
            arguments: json!({ "title": title, "reasons": reasons, "call": call }),
            caller: Caller { scope: Scope::Client, name: server },
            conversation,
            ..Request::default()
        };
        let question = match self.calls.question(request, title, reasons, false) {
            Ok(question) => question,
            Err(error) => {
                tracing::error!(%error, "a question could not be recorded");
                return PersonAnswer::Nothing("the question could not be recorded".to_owned());
            }
        };
        let gone = async {
            while !withdrawn() {
                tokio::time::sleep(POLL).await;
            }
        };
        let (decision, by) = runtime.block_on(async {
            let call = format!("server-{}", question.number());
            tokio::select! {
                answer = self.client_bridge.ask(&question, call) => answer,
                () = gone => (Decision::Withdrawn, Answerer::default()),
            }
        });
        let words = by.words.clone();
        question.settle(decision, &by);
        match decision {
            Decision::Once | Decision::Always => PersonAnswer::Yes(words),
            Decision::Reject => PersonAnswer::No,
            Decision::Pending { question, .. } => PersonAnswer::Nothing(format!(
                "no program in which a person could answer is open; question {question} waits in Obsidian and in \
                 `steward approvals pending`, and the same call gets the answer once it is there"
            )),
            Decision::Crowded => {
                PersonAnswer::Nothing("too many questions wait already".to_owned())
            }
            _ => PersonAnswer::Nothing("nobody answered".to_owned()),
        }
    }
}
