//! From a TCP connection to a WebSocket: the accept loop, the HTTP routes, the upgrade.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, Method, StatusCode, Version};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router, middleware, routing};
use hyper::service::Service as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::gate::{self, Admitted, Peer};
use super::http::{self, AdmissionNotice, LongLived, Unread};
use super::repoll::Repoll;
use super::{SharedServer, challenge, connection, mcp, page};
use crate::calls::tracker::Guard;
use crate::protocol::{PROTOCOL_VERSION, SUBPROTOCOL};

/// Timeout for the head of a request, and for the next request on a connection that is kept open.
pub const HEAD_DEADLINE: Duration = Duration::from_secs(1);

/// Timeout of the whole handshake, including delayed refusals.
const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);

/// Timeout for a client to read its answer, or a chunk of it.
const ANSWER_DEADLINE: Duration = Duration::from_secs(30);

/// Maximum size of a request's head, in bytes. Our clients' are far below 1 KiB.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// Maximum number of headers in a request.
const MAX_HEADERS: usize = 64;

/// Accepts connections until dropped.
pub async fn accept(listener: &TcpListener, shared: &Arc<SharedServer>) {
    let router = router(shared);
    let mut pending: VecDeque<Weak<Notify>> = VecDeque::new();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let most = shared.settings.load().max_pending_handshakes as usize;
                // All peers are on this machine and the owner cannot be recognised: the oldest is
                // ended.
                pending.retain(|one| one.strong_count() > 0);
                if pending.len() >= most {
                    let oldest = pending.pop_front();
                    if let Some(oldest) = oldest.and_then(|one| one.upgrade()) {
                        tracing::warn!("too many unfinished handshakes: the oldest is ended");
                        oldest.notify_one();
                    }
                }
                // It frees its place a moment later.
                match shared.handshakes.begin_below(2 * most) {
                    Some(place) => {
                        let ends = Arc::new(Notify::new());
                        pending.push_back(Arc::downgrade(&ends));
                        let place = Pending { _place: place, ends };
                        let served = handshake(stream, peer, router.clone(), place);
                        tokio::spawn(Repoll::new(served));
                    }
                    None => refuse(&stream),
                }
            }
            Err(error) => {
                // Most likely out of file handles: wait for connections to end.
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// A place among the pending handshakes, and the signal to end it.
struct Pending {
    _place: Guard,
    ends: Arc<Notify>,
}

/// Refuses a connection without waiting for the peer to read the answer.
fn refuse(stream: &TcpStream) {
    tracing::warn!("turned a connection away: too many unfinished handshakes");
    let _ = stream.try_write(
        b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    );
}

fn router(shared: &Arc<SharedServer>) -> Router {
    Router::new()
        .route("/v1", routing::get(upgrade))
        .route("/healthz", routing::get(health))
        .merge(http::routes())
        .merge(challenge::routes())
        .merge(page::routes())
        .merge(mcp::routes())
        .layer(middleware::from_fn_with_state(Arc::clone(shared), gate::check))
        .with_state(Arc::clone(shared))
}

/// Serves the HTTP requests of a connection: one, except for MCP clients and after a challenge, whose next
/// request must begin within [`HEAD_DEADLINE`]. Holds its place among the pending handshakes until the first
/// request has been answered, upgraded or authorized.
async fn handshake(stream: TcpStream, peer: SocketAddr, router: Router, place: Pending) {
    // Answers are small and must not be delayed.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "could not set TCP_NODELAY");
    }
    let router = TowerToHyperService::new(router);
    let let_in = AdmissionNotice::default();
    let signal = let_in.clone();
    let unread = Unread::default();
    let answered = unread.clone();
    let admitted = Admitted::default();
    let service = hyper::service::service_fn(move |mut request: hyper::Request<_>| {
        request.extensions_mut().insert(Peer(peer));
        request.extensions_mut().insert(signal.clone());
        request.extensions_mut().insert(answered.clone());
        request.extensions_mut().insert(admitted.clone());
        let response = router.call(request);
        let answered = answered.clone();
        // The next request shows that the last answer was read.
        answered.mark_read();
        async move {
            let response = response.await.into_response();
            // A streamed answer reports its chunks itself.
            if response.extensions().get::<LongLived>().is_none() {
                answered.mark_unread();
            }
            Ok::<Response, Infallible>(response)
        }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = let_in.0.notified() => {
            // It counts as a connection now, and its answer may take minutes.
            drop(place);
            tokio::select! {
                ended = &mut connection => ended,
                () = unread.lasts(ANSWER_DEADLINE) => {
                    tracing::debug!("an answer was not read");
                    return;
                }
            }
        }
        () = place.ends.notified() => return,
        () = tokio::time::sleep(HANDSHAKE_DEADLINE) => {
            tracing::debug!("a handshake took too long");
            return;
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a handshake failed");
    }
}

/// `GET /healthz`: the version, without a token.
async fn health(State(shared): State<Arc<SharedServer>>) -> Response {
    Json(serde_json::json!({
        "status": "ok",
        "version": shared.version,
        "protocol": PROTOCOL_VERSION,
    }))
    .into_response()
}

/// `GET /v1`: the upgrade to a WebSocket.
async fn upgrade(State(shared): State<Arc<SharedServer>>, mut request: Request) -> Response {
    let entry = match gate::authorize(&shared, request.headers(), request.uri(), None).await {
        Ok(entry) => entry,
        Err(refusal) => return refusal,
    };
    let Some(accept) = websocket_accept(&request) else {
        return (StatusCode::UPGRADE_REQUIRED, [(UPGRADE, "websocket")]).into_response();
    };
    let most = shared.settings.load().places(entry.scope);
    let place = match shared.connections.begin_below(most) {
        Some(place) if !shared.backend.runner.is_closing() => place,
        _ => {
            tracing::warn!("turned a connection away: too many, or stopping");
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
    };
    let upgraded = hyper::upgrade::on(&mut request);
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    if gate::offered(request.headers()).ours {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
    }
    tokio::spawn(async move {
        match tokio::time::timeout(HEAD_DEADLINE, upgraded).await {
            Ok(Ok(upgraded)) => connection::serve(upgraded, shared, entry).await,
            Ok(Err(error)) => tracing::debug!(%error, "an upgrade failed"),
            Err(_) => tracing::debug!("an upgrade took too long"),
        }
        drop(place);
    });
    response
}

/// The value of `Sec-WebSocket-Accept`, if the request is a WebSocket handshake.
fn websocket_accept(request: &Request) -> Option<HeaderValue> {
    let headers = request.headers();
    let fits = request.method() == Method::GET
        && request.version() == Version::HTTP_11
        && lists(headers, CONNECTION, "upgrade")
        && lists(headers, UPGRADE, "websocket")
        && headers.get(SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13");
    // 16 random bytes in base64.
    let key = headers.get(SEC_WEBSOCKET_KEY)?.as_bytes();
    (fits && key.len() == 24).then(|| HeaderValue::from_str(&derive_accept_key(key)).ok()).flatten()
}

/// Whether a comma-separated header contains `word`, in any case.
fn lists(headers: &HeaderMap, name: axum::http::HeaderName, word: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .any(|item| item.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}
