//! HTTP for scripts, beside the WebSocket: begin, read and delete a conversation, say something in
//! it. One request a connection, answered when the work is done.
//!
//! The gate is the same: peer, Host and Origin, then the token, in a header. No page can send such
//! a request: what changes anything is JSON that says so, which a browser asks about first, and it
//! is told nothing (there are no CORS headers).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router, routing};
use futures_util::StreamExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::Notify;

use super::backend::{ConversationsBackend, Scope, Speaker};
use super::{Settings, Shared, challenge, gate, lock};
use crate::calls::run::{Task, Work};
use crate::calls::tracker::Guard;
use crate::protocol::conversations::{ConversationParams, DeleteConversationParams};
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::http::{MessageAnswer, MessageBody};
use crate::protocol::session::{
    PromptContent, PromptMeta, PromptVaultMeta, SessionNewParams, SessionPromptParams,
};
use crate::protocol::strict;

/// The name under which such a request speaks.
const CALLER: &str = "http";

/// The session that stands for the conversation that goes on, or a new one.
const CURRENT: &str = "current";

/// Told when a request has been let in: from then on it may take as long as it takes.
#[derive(Debug, Clone, Default)]
pub struct LetIn(pub Arc<Notify>);

/// The routes.
pub fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/v1/sessions", routing::post(create))
        .route("/v1/sessions/{id}", routing::get(read).delete(delete))
        .route("/v1/sessions/{id}/after/{item}", routing::get(read_on))
        .route("/v1/sessions/{id}/branches/{branch}/after/{item}", routing::get(read_branch))
        .route("/v1/sessions/{id}/messages", routing::post(say))
        .merge(challenge::routes())
}

/// A request that has the token, has been read, and has a place among the connections.
struct Entered {
    shared: Arc<Shared>,
    scope: Scope,
    body: Vec<u8>,
    _place: Guard,
}

/// Why a request is not answered as it wished.
pub(super) enum Refusal {
    /// A word of HTTP's.
    Plain(Response),
    /// As the protocol says it.
    Error(ErrorObject),
}

impl From<ErrorObject> for Refusal {
    fn from(error: ErrorObject) -> Self {
        Self::Error(error)
    }
}

/// Answers with a value and this status, or with the refusal.
pub(super) fn answer<T: Serialize>(status: StatusCode, answer: Result<T, Refusal>) -> Response {
    match answer {
        Ok(value) => (status, Json(value)).into_response(),
        Err(Refusal::Plain(response)) => response,
        Err(Refusal::Error(error)) => {
            (status_of(error.data.kind), Json(json!({ "error": error }))).into_response()
        }
    }
}

fn status_of(kind: Kind) -> StatusCode {
    match kind {
        Kind::InvalidParams | Kind::ParseError | Kind::InvalidRequest => StatusCode::BAD_REQUEST,
        Kind::Forbidden | Kind::NotPermitted => StatusCode::FORBIDDEN,
        Kind::UnknownSession | Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::TurnRunning => StatusCode::CONFLICT,
        Kind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Kind::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
        Kind::ModelFailed => StatusCode::BAD_GATEWAY,
        Kind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

async fn create(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let begun = async {
        let entered = enter(shared, request).await?;
        let params: SessionNewParams = entered.json()?;
        let scope = entered.scope;
        entered.blocking(move |shared| shared.backend.new_session(params, scope)).await
    };
    answer(StatusCode::CREATED, begun.await)
}

async fn read(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    show(shared, request, id, None, 0).await
}

/// What comes after an item: the rest of a conversation that was too long for one answer.
async fn read_on(
    State(shared): State<Arc<Shared>>,
    Path((id, item)): Path<(String, u64)>,
    request: Request,
) -> Response {
    show(shared, request, id, None, item).await
}

async fn read_branch(
    State(shared): State<Arc<Shared>>,
    Path((id, branch, item)): Path<(String, u64, u64)>,
    request: Request,
) -> Response {
    show(shared, request, id, Some(branch), item).await
}

async fn show(
    shared: Arc<Shared>,
    request: Request,
    id: String,
    branch: Option<u64>,
    after: u64,
) -> Response {
    let found = async {
        let entered = enter(shared, request).await?;
        entered.only_a_person()?;
        // Room for what JSON adds to the texts.
        let most = entered.shared.settings.load().max_reply_bytes / 2;
        let params = ConversationParams {
            session_id: named(id),
            branch,
            after,
            ..ConversationParams::default()
        };
        entered.conversations(move |kept| kept.show(params, most)).await
    };
    answer(StatusCode::OK, found.await)
}

async fn delete(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let deleted = async {
        let entered = enter(shared, request).await?;
        entered.only_a_person()?;
        // Never a conversation that the caller has not named.
        let params = DeleteConversationParams { session_id: Some(id), ..Default::default() };
        entered.conversations(move |kept| kept.delete(params)).await
    };
    answer(StatusCode::OK, deleted.await)
}

async fn say(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let answered = async {
        let entered = enter(shared, request).await?;
        let MessageBody { text, client_message_id } = entered.json()?;
        let vault = PromptVaultMeta { client_message_id, source: Some(CALLER.to_owned()) };
        let params = SessionPromptParams {
            session_id: named(id),
            prompt: vec![PromptContent::Text { text }],
            meta: Some(PromptMeta { vault: Some(vault) }),
        };
        let shared = &entered.shared;
        let connection = shared.next_connection.fetch_add(1, Ordering::Relaxed);
        let speaker = Speaker { name: CALLER.to_owned(), scope: entered.scope, connection };
        let result = tokio::select! {
            result = shared.backend.prompt(params, speaker) => result?,
            () = shared.runner.closed() => {
                let error = ErrorObject::new(Kind::Overloaded, "the steward ends");
                return Err(error.hint("what was said is kept").into());
            }
        };
        let ours = result.meta.vault;
        Ok(MessageAnswer {
            session_id: ours.session_id,
            turn: ours.turn,
            stop_reason: result.stop_reason,
            text: ours.answer,
            waiting: ours.waiting,
        })
    };
    answer(StatusCode::OK, answered.await)
}

fn named(id: String) -> Option<String> {
    (id != CURRENT).then_some(id)
}

/// Lets a request in: its token, its kind, all of its body, a place.
async fn enter(shared: Arc<Shared>, request: Request) -> Result<Entered, Refusal> {
    let (parts, body) = request.into_parts();
    let entry = gate::authorize(&shared, &parts.headers, &parts.uri).await;
    let scope = entry.map_err(Refusal::Plain)?.scope;
    let settings = shared.settings.load_full();
    paced(&shared, &settings)?;
    let place = match shared.connections.begin_below(settings.max_connections as usize) {
        Some(place) if !shared.runner.is_closing() => place,
        _ => return Err(plain(StatusCode::SERVICE_UNAVAILABLE)),
    };
    let has_body = parts.method == axum::http::Method::POST;
    if has_body && !is_json(&parts.headers) {
        return Err(plain(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    let most = usize::try_from(settings.max_message_bytes).unwrap_or(usize::MAX);
    let body = whole(&parts.headers, body, if has_body { most } else { 0 }).await?;
    if let Some(LetIn(let_in)) = parts.extensions.get::<LetIn>() {
        let_in.notify_one();
    }
    Ok(Entered { shared, scope, body, _place: place })
}

/// Takes a request's place in the row; it is refused where too many come.
pub(super) fn paced(shared: &Shared, settings: &Settings) -> Result<(), ErrorObject> {
    let mut requests = lock(&shared.requests);
    requests.set(settings.messages_per_second, settings.message_burst);
    requests.take(Instant::now()).map_err(|wait| {
        ErrorObject::new(Kind::RateLimited, "too many requests")
            .retry_after_ms(u64::try_from(wait.as_millis()).unwrap_or(1).max(1))
    })
}

/// The whole body, if it is no larger than `most` bytes.
pub(super) async fn whole(
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Vec<u8>, Refusal> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let announced = announced.and_then(|length| length.parse::<usize>().ok());
    if announced.is_some_and(|length| length > most) {
        return Err(plain(StatusCode::PAYLOAD_TOO_LARGE));
    }
    let mut bytes = Vec::new();
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| plain(StatusCode::BAD_REQUEST))?;
        if bytes.len() + piece.len() > most {
            return Err(plain(StatusCode::PAYLOAD_TOO_LARGE));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// Exactly one `Content-Type`, and it is JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (kinds.next(), kinds.next()) else { return false };
    let kind = kind.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

pub(super) fn plain(status: StatusCode) -> Refusal {
    Refusal::Plain(status.into_response())
}

impl Entered {
    fn json<T: DeserializeOwned>(&self) -> Result<T, ErrorObject> {
        let invalid = |error: &dyn std::fmt::Display| {
            ErrorObject::new(Kind::InvalidParams, format!("could not read the body: {error}"))
        };
        let text = std::str::from_utf8(&self.body).map_err(|error| invalid(&error))?;
        let value = strict::parse(text).map_err(|error| invalid(&error))?;
        serde_json::from_value(value).map_err(|error| invalid(&error))
    }

    fn only_a_person(&self) -> Result<(), ErrorObject> {
        if self.scope.is_person() {
            return Ok(());
        }
        let message = format!("a caller of the kind `{}` may not do this", self.scope.word());
        Err(ErrorObject::new(Kind::Forbidden, message)
            .hint("it needs the token of a person's own program: `steward token`"))
    }

    async fn conversations<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn ConversationsBackend) -> Result<T, ErrorObject> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.blocking(move |shared| work(shared.backend.conversations())).await
    }

    /// Does something on a thread that may block.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, ErrorObject> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (shared, task) = (Arc::clone(&self.shared), Task::new(Work::Read, None));
        match self.shared.runner.run(&task, move |_| work(&shared)).await {
            Ok(done) => Ok(done?),
            Err(error) => {
                tracing::error!(?error, "a request broke off");
                Err(ErrorObject::new(Kind::Internal, "this is a fault of the steward's").into())
            }
        }
    }
}
