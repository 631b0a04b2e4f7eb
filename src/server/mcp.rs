//! MCP over HTTP: `POST /mcp`, one message a request, behind the same gate as all others.
//!
//! No session is kept: each message says all that it needs, and is answered in its own response. Only
//! tokens of the scope `mcp` are let in, so that no model speaks for a person because of a token that was
//! pasted into the wrong place.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Router, routing};

use super::approvals::Patience;
use super::http::{Entered, enter};
use super::mcp_streams;
use super::reply::answer;
use super::{Settings, Shared};
use crate::calls::Request as Asked;
use crate::calls::run::{Stopped, Task, Work};
use crate::mcp::call::Answered;
use crate::mcp::{self, Call, Headers, What};
use crate::policy::{Caller, Scope};
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::http::RELAYED_FOR;

/// How long a call waits for a person: clients give up after a minute, and would not hear that it waits.
const PATIENCE: Duration = Duration::from_secs(45);

/// How long a call may take before its client is told that it is at work.
const QUIET: Duration = Duration::from_secs(1);

/// Characters of a client's name that are kept.
const MAX_CALLER_CHARS: usize = 60;

/// What a client is called that has not said its name.
const NAMELESS: &str = "mcp";

/// The route.
pub fn routes() -> Router<Arc<Shared>> {
    Router::new().route("/mcp", routing::post(post))
}

async fn post(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    // A relay's lines come without the headers of HTTP.
    let relayed = text(request.headers(), RELAYED_FOR);
    let headers = relayed.is_none().then(|| headers(request.headers()));
    let accepts = text(request.headers(), "accept");
    let streams = accepts.is_some_and(|kinds| kinds.contains("text/event-stream"));
    let entered = match enter(shared, request).await {
        Ok(entered) => entered,
        Err(refusal) => return answer::<()>(StatusCode::OK, Err(refusal)),
    };
    match admit(entered.scope) {
        Ok(()) => heard(entered, headers.as_ref(), relayed.as_deref(), streams).await,
        Err(error) => answer::<()>(StatusCode::OK, Err(error.into())),
    }
}

/// Lets programs in that are MCP clients and nothing more.
///
/// # Errors
/// Kind `forbidden`.
fn admit(scope: Scope) -> Result<(), ErrorObject> {
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

/// A header; what is no text agrees with no body.
fn text(all: &HeaderMap, name: &str) -> Option<String> {
    all.get(name).map(|value| value.to_str().unwrap_or_default().to_owned())
}

async fn heard(
    entered: Entered,
    headers: Option<&Headers>,
    client: Option<&str>,
    streams: bool,
) -> Response {
    // What is no text is no JSON either.
    let text = String::from_utf8_lossy(&entered.body);
    let tools = entered.shared.backend.tools.registry();
    let heard = mcp::hear(&text, headers, &tools, &entered.shared.mcp.load());
    match heard {
        // What is given up over HTTP is so by ending the request.
        What::Nothing | What::GivenUp(_) => StatusCode::ACCEPTED.into_response(),
        What::Said(said) => json((said.status, said.text)),
        What::Call(call) => called(entered, &Arc::new(*call), client, streams).await,
        What::Listen(listen) => mcp_streams::listen(entered, listen),
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
    let work = match call.is_lookup() {
        true => Some(Work::Read),
        false => backend.tools.work(&call.tool),
    };
    let Some(work) = work else {
        return json(call.refused(ErrorObject::new(Kind::UnknownTool, "the tool is gone")));
    };
    let request = request(call, client);
    if work == Work::Read {
        let look = || Some(call.answer(backend.tools.glance(&request)?, most));
        if let Some((Ok(answered), _)) = backend.runner.glance(look) {
            return json(answered);
        }
    }
    let task = Task::new(work, Some(settings.request_deadline()));
    let open = Open(task.clone());
    let (asks, answers) = (Arc::clone(shared), Arc::clone(call));
    let patience = patience(&settings);
    let done = backend.runner.call(
        &task,
        Arc::clone(&backend.tools),
        request,
        move |question| asks.approvals.ask_about(question, None, patience),
        move |answered| answers.answer(answered, most),
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
        Err(_) => mcp_streams::progress(Arc::clone(call), task, done, (open, entered)),
    }
}

/// What a call is told that came to nothing.
fn nothing_came(call: &Call, stopped: &Stopped) -> Answered {
    if let Stopped::BrokeOff(error) = stopped {
        tracing::error!(%error, "a tool call broke off");
    }
    call.failed(&stopped.to_string(), stopped.hint())
}

/// How long a call waits for a person.
fn patience(settings: &Settings) -> Patience {
    Patience { limit: Some(PATIENCE.min(settings.request_deadline())), for_somebody: false }
}

/// The call as all doors make it, of a client of this name, where the message itself does not say one.
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

/// A request that is open: when its client hangs up, what only reads is given up.
struct Open(Task);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

fn json((status, text): Answered) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}
