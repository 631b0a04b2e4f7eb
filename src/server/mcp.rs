//! MCP over HTTP: `POST /mcp` with one message per request, behind the same checks as all other
//! requests.
//!
//! There are no sessions: each message is self-contained and answered in its own response. Only
//! tokens of the scope `mcp` are accepted, so that a model never represents a person because
//! someone pasted a token in the wrong place.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Router, routing};

use super::approvals::WaitPolicy;
use super::gate::MCP_PATH;
use super::http::{Entered, LongLived};
use super::mcp_asks::{self, ClientQuestion};
use super::mcp_streams::{self, json};
use super::reply::{KeptOpen, Refusal};
use super::{Settings, SharedServer, mcp_guests};
use crate::calls::Request as Asked;
use crate::calls::run::{Stopped, Task, Work};
use crate::mcp::ask::Choice;
use crate::mcp::call::Answered;
use crate::mcp::{self, Call, Dispatched, Headers};
use crate::policy::{Caller, Scope};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::http::RELAYED_FOR;

/// How long a call waits for a person: clients time out after a minute without learning that it
/// waits.
const PATIENCE: Duration = Duration::from_secs(45);

/// A question that the client asks its own user does not wait: the client repeats the call with the
/// answer.
const AT_ONCE: WaitPolicy = WaitPolicy { limit: Some(Duration::ZERO), for_somebody: false };

/// How long a call runs before progress messages start.
const QUIET: Duration = Duration::from_secs(1);

/// The most characters of a client's name.
const MAX_CALLER_CHARS: usize = 60;

/// The name of a client that does not give one.
const NAMELESS: &str = "mcp";

pub fn routes() -> Router<Arc<SharedServer>> {
    Router::new().route(MCP_PATH, routing::post(post))
}

async fn post(given: HeaderMap, entered: Entered) -> Result<Response, Refusal> {
    admit(entered.scope)?;
    // Lines from a relay have no HTTP headers.
    let relayed = text(&given, RELAYED_FOR);
    let headers = relayed.is_none().then(|| headers(&given));
    let accepts = text(&given, "accept");
    let streams = accepts.is_some_and(|kinds| kinds.contains("text/event-stream"));
    let mut response = respond(entered, headers.as_ref(), relayed.as_deref(), streams).await;
    if response.extensions().get::<LongLived>().is_none() {
        response.extensions_mut().insert(KeptOpen);
    }
    Ok(response)
}

/// Admits only tokens of MCP clients.
fn admit(scope: Scope) -> Result<()> {
    if scope == Scope::Mcp {
        return Ok(());
    }
    let message = format!("a token of the kind `{}` is not for MCP clients", scope.word());
    Err(ErrorObject::new(Kind::Forbidden, message)
        .hint("`steward token --scope mcp` prints theirs"))
}

fn headers(all: &HeaderMap) -> Headers {
    Headers {
        version: text(all, "mcp-protocol-version"),
        method: text(all, "mcp-method"),
        name: text(all, "mcp-name"),
    }
}

/// A header's text. Invalid text becomes one that matches no body.
fn text(all: &HeaderMap, name: &str) -> Option<String> {
    all.get(name).map(|value| value.to_str().unwrap_or_default().to_owned())
}

async fn respond(
    entered: Entered,
    headers: Option<&Headers>,
    client: Option<&str>,
    streams: bool,
) -> Response {
    // Invalid UTF-8 is invalid JSON as well.
    let text = String::from_utf8_lossy(&entered.body);
    let tools = entered.shared.backend.tools.registry();
    if let Some(token) = &entered.guest {
        return mcp_guests::respond(&entered.shared, &token.reveal(), &text, headers, &tools).await;
    }
    let request = mcp::dispatch(&text, headers, &tools, &entered.shared.mcp.load());
    match request {
        // Over HTTP, clients cancel by closing the request.
        Dispatched::Nothing | Dispatched::Cancel(_) => StatusCode::ACCEPTED.into_response(),
        Dispatched::Response(response) => json((response.status, response.text)),
        Dispatched::Call(call) => called(entered, &Arc::new(*call), client, streams).await,
        Dispatched::Listen(listen) => mcp_streams::listen(entered, listen),
        #[cfg(feature = "conformance")]
        Dispatched::Fixture(fixture) => super::mcp_fixtures::answer(&entered, fixture),
    }
}

async fn called(
    entered: Entered,
    call: &Arc<Call>,
    client: Option<&str>,
    streams: bool,
) -> Response {
    let (shared, settings) = (&entered.shared, entered.shared.settings.load_full());
    let (backend, most) = (&shared.backend, settings.max_reply_bytes);
    let work = if call.is_lookup() { Some(Work::Read) } else { backend.tools.work(&call.tool) };
    let Some(work) = work else {
        return json(call.refused(ErrorObject::new(Kind::UnknownTool, "the tool is gone")));
    };
    let request = request(call, client);
    let may_ask = call.can_ask && shared.mcp.load().ask_in_client;
    if let Some(reply) = call.reply.as_ref().filter(|_| may_ask)
        && let Err(fault) = mcp_asks::answered(shared, reply, &request)
    {
        return json(call.refused(fault));
    }
    // A client that dismissed the question is not asked it again at once.
    let is_dismissed = call.reply.as_ref().is_some_and(|reply| reply.choice == Choice::Dismissed);
    let client_question = (may_ask && !is_dismissed).then(|| Arc::new(ClientQuestion::default()));
    if matches!(work, Work::Read | Work::Search) {
        let look = || Some(call.answer(backend.tools.call_nonblocking(&request)?, most));
        if let Some((Ok(answered), _)) = backend.runner.run_nonblocking(look) {
            return json(answered);
        }
    }
    let task = Task::new(work, Some(settings.request_deadline()));
    let open = Open(task.clone());
    let (asks, answers) = (Arc::clone(shared), Arc::clone(call));
    let (usual, of_client) = (wait_policy(&settings), client_question.clone());
    let (door, made) = (Arc::clone(shared), request.clone());
    let done = backend.runner.call(
        &task,
        Arc::clone(&backend.tools),
        request,
        move |question| {
            let is_for_client =
                of_client.as_ref().is_some_and(|client_question| client_question.note(question));
            let wait_policy = if is_for_client { AT_ONCE } else { usual };
            asks.approvals.ask_about(question, None, wait_policy)
        },
        move |answered| {
            let asked = match (&client_question, &answered) {
                (Some(client_question), Err(error)) => {
                    client_question.result(&door, &answers, &made, error)
                }
                _ => None,
            };
            asked.unwrap_or_else(|| answers.answer(answered, most))
        },
    );
    let asked = Arc::clone(call);
    let mut done =
        Box::pin(
            async move { done.await.unwrap_or_else(|stopped| nothing_came(&asked, &stopped)) },
        );
    if !streams || !call.wants_progress() {
        return json(done.await);
    }
    match tokio::time::timeout(QUIET, &mut done).await {
        Ok(answered) => json(answered),
        Err(_) => mcp_streams::progress(Arc::clone(call), task, done, (entered, open)),
    }
}

/// The answer to a call that did not complete.
fn nothing_came(call: &Call, stopped: &Stopped) -> Answered {
    if let Stopped::Crashed(error) = stopped {
        tracing::error!(%error, "a tool call stopped unexpectedly");
    }
    call.failed(&stopped.to_string(), stopped.hint())
}

/// How long a call waits for a person.
fn wait_policy(settings: &Settings) -> WaitPolicy {
    WaitPolicy { limit: Some(PATIENCE.min(settings.request_deadline())), for_somebody: false }
}

/// The request to the runner. `client` is the name to use if the message has none.
fn request(call: &Call, client: Option<&str>) -> Asked {
    let name = call.client.as_deref().or(client).unwrap_or_default();
    let name: String = name.chars().filter(|c| !c.is_control()).take(MAX_CALLER_CHARS).collect();
    let name = if name.trim().is_empty() { NAMELESS.to_owned() } else { name };
    Asked {
        tool: call.tool.clone(),
        arguments: call.arguments.clone().into(),
        caller: Caller { scope: Scope::Mcp, name },
        ..Asked::default()
    }
}

/// An open request. When its client disconnects, reads are cancelled.
struct Open(Task);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.abandon();
    }
}
