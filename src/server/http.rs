//! HTTP for scripts: begin, read and delete conversations, and send messages. One request per
//! connection, answered when the work is done.
//!
//! The checks are the same as for the WebSocket: peer, Host and Origin, then the token, in a
//! header. No web page can send such a request: changes require a JSON content type, for which
//! browsers need a preflight, and there are no CORS headers.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{FromRequest, Path, Request};
use axum::http::StatusCode;
use axum::{Json, Router, routing};
use futures_util::{Stream, stream};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::SharedServer;
use super::acp::Attached;
use super::gate::{self, Admitted};
use super::reply::{Refusal, is_json, paced, plain, read_body};
use super::table::{Afterwards, Client, Context, Prepared};
use super::token::{Entry, Token};
use crate::calls::run::{Stopped, Task, Work};
use crate::calls::tracker::Guard;
use crate::locks::lock;
use crate::policy::Scope;
use crate::protocol::conversations::{
    ConversationParams, ConversationResult, DeleteConversationParams, DeleteConversationResult,
};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::http::{MessageAnswer, MessageBody};
use crate::protocol::session::{
    PromptContent, PromptMeta, PromptVaultMeta, SessionNewParams, SessionNewResult,
    SessionPromptParams,
};
use crate::protocol::{MethodParams, strict};
use crate::vault::Cancel;

/// The caller's name.
const CALLER: &str = "http";

/// The session id of the current conversation, or of a new one.
const CURRENT: &str = "current";

/// The timeout for the body of a request.
const BODY_DEADLINE: Duration = Duration::from_secs(10);

/// Notified when a request is admitted; from then on it has no handshake timeout.
#[derive(Debug, Clone, Default)]
pub struct AdmissionNotice(pub Arc<Notify>);

/// Marks a streamed answer, which reports through [`Unread`] whether the client reads it.
#[derive(Debug, Clone)]
pub struct LongLived;

/// Since when a client has left data unread; `None` while there is none. One per connection.
#[derive(Debug, Clone, Default)]
pub struct Unread(Arc<Mutex<Option<Instant>>>);

impl Unread {
    /// Records that the client has read everything.
    pub fn mark_read(&self) {
        *lock(&self.0) = None;
    }

    /// Records that there is data to read.
    pub fn mark_unread(&self) {
        *lock(&self.0) = Some(Instant::now());
    }

    /// Passes the pieces through, recording when one is handed out and when the next is requested.
    pub fn watch<S: Stream>(self, pieces: S) -> impl Stream<Item = S::Item> {
        let mut pieces = Box::pin(pieces);
        stream::poll_fn(move |context| {
            // A request for more means that the last piece was taken.
            self.mark_read();
            let next = pieces.as_mut().poll_next(context);
            if next.is_ready() {
                self.mark_unread();
            }
            next
        })
    }

    /// Waits until data stays unread for `limit`. No request wakes it: it looks when that could be so.
    pub async fn lasts(&self, limit: Duration) {
        loop {
            let (since, now) = (*lock(&self.0), Instant::now());
            let until = since.unwrap_or(now) + limit;
            if until <= now {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }
}

pub fn routes() -> Router<Arc<SharedServer>> {
    Router::new()
        .route("/v1/sessions", routing::post(create))
        .route("/v1/sessions/{id}", routing::get(read).delete(delete))
        .route("/v1/sessions/{id}/after/{item}", routing::get(read_on))
        .route("/v1/sessions/{id}/branches/{branch}/after/{item}", routing::get(read_branch))
        .route("/v1/sessions/{id}/messages", routing::post(send_message))
}

/// An admitted request: authenticated, fully read, and counted as a connection.
pub(super) struct Entered {
    pub(super) shared: Arc<SharedServer>,
    pub(super) scope: Scope,
    /// The token of the guest's session that sent it.
    pub(super) guest: Option<Token>,
    pub(super) body: Vec<u8>,
    /// Tracks unread data of a streamed answer.
    pub(super) unread: Unread,
    _place: Guard,
}

impl FromRequest<Arc<SharedServer>> for Entered {
    type Rejection = Refusal;

    async fn from_request(request: Request, shared: &Arc<SharedServer>) -> Result<Self, Refusal> {
        enter(Arc::clone(shared), request).await
    }
}

/// The answer of a method as JSON.
type Answer<T> = Result<Json<T>, Refusal>;

async fn create(entered: Entered) -> Result<(StatusCode, Json<SessionNewResult>), Refusal> {
    let params: SessionNewParams = entered.json()?;
    Ok((StatusCode::CREATED, Json(entered.method(&params).await?)))
}

async fn read(Path(id): Path<String>, entered: Entered) -> Answer<ConversationResult> {
    show(entered, id, None, 0).await
}

/// The items after a given one, if a conversation is too long for one answer.
async fn read_on(
    Path((id, item)): Path<(String, u64)>,
    entered: Entered,
) -> Answer<ConversationResult> {
    show(entered, id, None, item).await
}

async fn read_branch(
    Path((id, branch, item)): Path<(String, u64, u64)>,
    entered: Entered,
) -> Answer<ConversationResult> {
    show(entered, id, Some(branch), item).await
}

async fn show(
    entered: Entered,
    id: String,
    branch: Option<u64>,
    after: u64,
) -> Answer<ConversationResult> {
    let session_id = session_number(id);
    let params = ConversationParams { session_id, branch, after, ..ConversationParams::default() };
    Ok(Json(entered.method(&params).await?))
}

async fn delete(Path(id): Path<String>, entered: Entered) -> Answer<DeleteConversationResult> {
    // Never default to the current conversation.
    let params = DeleteConversationParams { session_id: Some(id), ..Default::default() };
    Ok(Json(entered.method(&params).await?))
}

async fn send_message(Path(id): Path<String>, entered: Entered) -> Answer<MessageAnswer> {
    let MessageBody { text, client_message_id } = entered.json()?;
    let vault = PromptVaultMeta { client_message_id, source: Some(CALLER.to_owned()) };
    let params = SessionPromptParams {
        session_id: session_number(id),
        prompt: vec![PromptContent::Text { text }],
        meta: Some(PromptMeta { vault: Some(vault) }),
    };
    let result = entered.method(&params).await?;
    let ours = result.meta.vault;
    Ok(Json(MessageAnswer {
        session_id: ours.session_id,
        turn: ours.turn,
        stop_reason: result.stop_reason,
        text: ours.answer,
        waiting: ours.waiting,
    }))
}

fn session_number(id: String) -> Option<String> {
    (id != CURRENT).then_some(id)
}

/// Admits a request: checks its token and content type, reads its body, and counts it as a
/// connection.
async fn enter(shared: Arc<SharedServer>, request: Request) -> Result<Entered, Refusal> {
    let (parts, body) = request.into_parts();
    let admitted = parts.extensions.get::<Admitted>();
    let entry = gate::authorize(&shared, &parts.headers, &parts.uri, admitted).await;
    let Entry { scope, token, is_guest } = entry.map_err(Refusal::Plain)?;
    let guest = is_guest.then_some(token);
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
    let body = read_body(&parts.headers, body, if has_body { most } else { 0 });
    let body = tokio::time::timeout(BODY_DEADLINE, body).await;
    let body = body.map_err(|_| plain(StatusCode::REQUEST_TIMEOUT))??;
    if let Some(AdmissionNotice(let_in)) = parts.extensions.get::<AdmissionNotice>() {
        let_in.notify_one();
    }
    let unread = parts.extensions.get::<Unread>().cloned().unwrap_or_default();
    Ok(Entered { shared, scope, guest, body, unread, _place: place })
}

impl Entered {
    fn json<T: DeserializeOwned>(&self) -> Result<T> {
        let invalid = |error: &dyn std::fmt::Display| {
            ErrorObject::new(Kind::InvalidParams, format!("could not read the body: {error}"))
        };
        let text = std::str::from_utf8(&self.body).map_err(|error| invalid(&error))?;
        let value = strict::parse(text).map_err(|error| invalid(&error))?;
        serde_json::from_value(value).map_err(|error| invalid(&error))
    }

    /// Runs a method for a client that disconnects after the answer.
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
            cancel: task.cancel_token().clone(),
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
            Stopped::ShuttingDown => ErrorObject::new(Kind::Overloaded, stopped.to_string())
                .hint(stopped.hint().unwrap_or_default()),
            stopped => {
                tracing::error!(error = ?stopped, "a request stopped unexpectedly");
                ErrorObject::new(Kind::Internal, "this is a bug in the steward")
            }
        })??;
        Ok(serde_json::from_slice(&json).expect("a result is read as it was written"))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_client_that_stops_reading_is_noticed() {
        let unread = Unread::default();
        let mut pieces = Box::pin(unread.clone().watch(stream::repeat(1).take(3)));
        let is_left = async |seconds| {
            tokio::time::timeout(Duration::from_secs(seconds), unread.lasts(LIMIT)).await.is_ok()
        };
        assert!(!is_left(3_600).await, "nothing is there yet");
        for _ in 0..3 {
            assert_eq!(pieces.next().await, Some(1));
            assert!(!is_left(29).await, "within the limit");
        }
        assert!(is_left(2).await);
        // The end is an answer, too.
        assert_eq!(pieces.next().await, None);
        assert!(!is_left(29).await);
        assert!(is_left(2).await);
    }
}
