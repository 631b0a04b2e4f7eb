//! Questions of guests to a person, asked like those about calls; and where guests run.

use futures_util::future::BoxFuture;
use serde_json::json;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::client_bridge::ClientBridge;
use super::confine;
use crate::agent::toolbox::Person as _;
use crate::calls::{Calls, Decision, Request};
use crate::config::folders::{self, Folders};
use crate::guests::{Ask, GuestQuestion, GuestSandbox, Guests};
use crate::policy::{Caller, Scope};
use crate::protocol::status::ConfinementState;

/// Used for such questions where a tool's name is expected.
const TOOL: &str = "guest";

pub struct GuestQuestions {
    calls: Calls,
    client_bridge: Arc<ClientBridge>,
}

impl GuestQuestions {
    /// Asks through `client_bridge`; `calls` records the answers.
    pub fn new(calls: Calls, client_bridge: Arc<ClientBridge>) -> Self {
        Self { calls, client_bridge }
    }
}

impl Ask for GuestQuestions {
    fn ask(&self, guest_question: GuestQuestion) -> BoxFuture<'static, bool> {
        let (calls, client_bridge) = (self.calls.clone(), Arc::clone(&self.client_bridge));
        Box::pin(async move {
            let GuestQuestion { guest, conversation, is_general, title, reasons, details } =
                guest_question;
            let request = Request {
                tool: TOOL.to_owned(),
                arguments: json!({ "title": title, "details": details }),
                caller: Caller { scope: Scope::Client, name: guest },
                conversation: Some(conversation),
                ..Request::default()
            };
            let write = move || calls.question(request, title, reasons, is_general);
            let written = tokio::task::spawn_blocking(write).await;
            let question = match written {
                Ok(Ok(question)) => question,
                Ok(Err(error)) => {
                    tracing::error!(%error, "a question could not be recorded");
                    return false;
                }
                Err(_) => return false,
            };
            let call = format!("guest-{}", question.number());
            let (decision, by) = client_bridge.ask(&question, call).await;
            let agreed = matches!(decision, Decision::Once | Decision::Always);
            let settled = tokio::task::spawn_blocking(move || question.settle(decision, &by)).await;
            agreed && settled.is_ok()
        })
    }
}

/// The guests of the vault at `root`. Starts nothing.
pub(super) fn guests(root: &Path, state: &Path, own: &Folders) -> Guests {
    let possible = confine::possible();
    let steward = std::env::current_exe().unwrap_or_default();
    let unconfined = (possible.state == ConfinementState::NotPossible
        || steward.as_os_str().is_empty())
    .then(|| possible.lacks.join("; "));
    Guests::new(GuestSandbox {
        folder: folders::guests_folder(state),
        steward,
        hidden: vec![root.to_owned(), own.state.clone(), state.to_owned(), own.config.clone()],
        unconfined,
        port: OnceLock::new(),
    })
}
