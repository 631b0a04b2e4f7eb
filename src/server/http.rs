//! HTTP for scripts, beside the WebSocket: begin, read and delete a conversation, say something in
//! it. One request a connection, answered when the work is done.
//!
//! The gate is the same: peer, Host and Origin, then the token, in a header. No page can send such
//! a request: what changes anything is JSON that says so, which a browser asks about first, and it
//! is told nothing (there are no CORS headers).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Router, routing};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::Notify;

use super::acp::Attached;
use super::reply::{Refusal, answer, is_json, paced, plain, whole};
use super::table::{Afterwards, Client, Context, Prepared};
use super::{Shared, gate};
use crate::calls::run::{Stopped, Task, Work};
use crate::calls::tracker::Guard;
use crate::policy::Scope;
use crate::protocol::MethodParams;
use crate::protocol::conversations::{ConversationParams, DeleteConversationParams};
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::http::{MessageAnswer, MessageBody};
use crate::protocol::session::{
    PromptContent, PromptMeta, PromptVaultMeta, SessionNewParams, SessionPromptParams,
};
use crate::protocol::strict;
use crate::vault::Cancel;

/// The name under which such a request speaks.
const CALLER: &str = "http";

/// The session that stands for the conversation that goes on, or a new one.
const CURRENT: &str = "current";

/// Told when a request has been let in: from then on it may take as long as it takes.
#[derive(Debug, Clone, Default)]
pub struct LetIn(pub Arc<Notify>);

/// Of an answer that comes piece by piece: told when there are no more, and from then on it has to be read.
#[derive(Debug, Clone, Default)]
pub struct Lasting(pub Arc<Notify>);

impl Lasting {
    /// Tells it when this is let go of.
    #[must_use]
    pub fn ends(self) -> Ends {
        Ends(self)
    }
}

/// The end of such an answer.
#[derive(Debug)]
pub struct Ends(Lasting);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.0.notify_one();
    }
}

/// The routes.
pub fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/v1/sessions", routing::post(create))
        .route("/v1/sessions/{id}", routing::get(read).delete(delete))
        .route("/v1/sessions/{id}/after/{item}", routing::get(read_on))
        .route("/v1/sessions/{id}/branches/{branch}/after/{item}", routing::get(read_branch))
        .route("/v1/sessions/{id}/messages", routing::post(say))
}

/// A request that has the token, has been read, and has a place among the connections.
pub(super) struct Entered {
    pub(super) shared: Arc<Shared>,
    pub(super) scope: Scope,
    pub(super) body: Vec<u8>,
    _place: Guard,
}

async fn create(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let begun = async {
        let entered = enter(shared, request).await?;
        let params: SessionNewParams = entered.json()?;
        entered.method(&params).await
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
        let params = ConversationParams {
            session_id: named(id),
            branch,
            after,
            ..ConversationParams::default()
        };
        entered.method(&params).await
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
        // Never a conversation that the caller has not named.
        let params = DeleteConversationParams { session_id: Some(id), ..Default::default() };
        entered.method(&params).await
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
        let result = entered.method(&params).await?;
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
pub(super) async fn enter(shared: Arc<Shared>, request: Request) -> Result<Entered, Refusal> {
    let (parts, body) = request.into_parts();
    let entry = gate::authorize(&shared, &parts.headers, &parts.uri).await;
    let scope = entry.map_err(Refusal::Plain)?.scope;
    let settings = shared.settings.load_full();
    paced(&shared, &settings)?;
    let place = match shared.connections.begin_below(settings.places(scope)) {
        Some(place) if !shared.backend.runner.is_closing() => place,
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

impl Entered {
    fn json<T: DeserializeOwned>(&self) -> Result<T, ErrorObject> {
        let invalid = |error: &dyn std::fmt::Display| {
            ErrorObject::new(Kind::InvalidParams, format!("could not read the body: {error}"))
        };
        let text = std::str::from_utf8(&self.body).map_err(|error| invalid(&error))?;
        let value = strict::parse(text).map_err(|error| invalid(&error))?;
        serde_json::from_value(value).map_err(|error| invalid(&error))
    }

    /// Has a method done, as a client that is gone once it is answered.
    async fn method<P: MethodParams>(&self, params: &P) -> Result<P::Result, Refusal> {
        let backend = &self.shared.backend;
        let params = match serde_json::to_value(params) {
            Ok(Value::Object(params)) => params,
            _ => Map::new(),
        };
        let task = Task::new(Work::Read, None);
        let context = Context {
            client: Client {
                name: CALLER.to_owned(),
                scope: self.scope,
                connection: self.shared.next_connection.fetch_add(1, Ordering::Relaxed),
            },
            max_bytes: self.shared.settings.load().max_reply_bytes,
            cancel: task.cancelled().clone(),
            shared: Arc::clone(&self.shared),
            outbox: None,
            attached: Attached::default(),
            afterwards: Afterwards::default(),
        };
        let done = match backend.methods.prepare(P::METHOD, params, self.scope)? {
            Prepared::Queued(work, write) => {
                let job = move |_: &Cancel| {
                    let mut json = Vec::new();
                    write(&context, &mut json).map(|()| json)
                };
                backend.runner.run(&Task::new(work, None), job).await
            }
            Prepared::Later(begin) => backend.runner.wait(&task, begin(&context)).await,
            Prepared::Now(_) | Prepared::Subscribe(_) | Prepared::Tool(_) => {
                return Err(ErrorObject::unknown_method(P::METHOD).into());
            }
        };
        let json = done.map_err(|stopped| match stopped {
            Stopped::Ending => ErrorObject::new(Kind::Overloaded, stopped.to_string())
                .hint(stopped.hint().unwrap_or_default()),
            stopped => {
                tracing::error!(error = ?stopped, "a request broke off");
                ErrorObject::new(Kind::Internal, "this is a fault of the steward's")
            }
        })??;
        Ok(serde_json::from_slice(&json).expect("a result is read as it was written"))
    }
}
