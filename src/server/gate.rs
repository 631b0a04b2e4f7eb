//! Access control, on the HTTP request alone, before any frame is read; a refusal does not tell its reason.
//!
//! In order: the peer is on this machine, `Host` names this server (against DNS rebinding), `Origin` is absent
//! or allowed (against web pages), then the token. The first three apply to every request, `/healthz`
//! included.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CONNECTION, HOST, HeaderValue, ORIGIN, SEC_WEBSOCKET_PROTOCOL, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::guest_entry::guest_of;
use super::page_keys::is_our_page;
use super::reply::KeptOpen;
use super::token::{Entry, TOKEN_CHECK, Token};
use super::{SharedServer, challenge};
use crate::locks::lock;
use crate::policy::Scope;
use crate::protocol::{SUBPROTOCOL, TICKET_SUBPROTOCOL_PREFIX, TOKEN_SUBPROTOCOL_PREFIX};

pub const MCP_PATH: &str = "/mcp";

/// A request's peer address; added to its extensions by the accept loop.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// The credentials of a connection.
#[derive(Debug, Clone, Default)]
pub struct Admitted(Arc<Mutex<Credentials>>);

#[derive(Debug, Default)]
struct Credentials {
    /// Proved by a ticket, which authenticates the connection.
    ticket: Option<Entry>,
    /// Sent in a header, which authenticates one request, and when it was compared with the token file.
    header: Option<(Entry, Instant)>,
}

impl Admitted {
    fn admit(&self, entry: &Entry) {
        lock(&self.0).ticket = Some(entry.clone());
    }

    /// The entry of the token in a header. The token file is read again once a [`TOKEN_CHECK`], as on a
    /// WebSocket: reading it takes longer than most calls.
    fn entry_of(&self, shown: &[u8], shared: &SharedServer) -> Option<Entry> {
        let last = lock(&self.0).header.clone();
        if let Some((entry, read)) = last
            && read.elapsed() < TOKEN_CHECK
            && entry.token.matches(shown)
        {
            return Some(entry);
        }
        let entry = entry_of(shown, &shared.token.current())?;
        lock(&self.0).header = Some((entry.clone(), Instant::now()));
        Some(entry)
    }

    /// The token's entry of a client that authenticated by a ticket, if the token is still valid.
    fn entry(&self, shared: &SharedServer) -> Option<Entry> {
        let entry = lock(&self.0).ticket.clone()?;
        if entry.is_guest {
            return guest_of(shared, |token| *token == entry.token);
        }
        let now = shared.token.current().scoped(entry.scope);
        (now == entry.token).then_some(entry)
    }
}

/// The middleware of every request. A connection carries one request: without an upgrade it is closed, so that useless
/// requests do not occupy a slot. An MCP client may send its next request after authorization, and any client after a
/// challenge ([`KeptOpen`]).
pub async fn check(
    State(shared): State<Arc<SharedServer>>,
    request: Request,
    next: Next,
) -> Response {
    *lock(&shared.last_came) = Instant::now();
    let mut response = pass_or_refuse(&shared, request, next).await;
    let stays = response.extensions().get::<KeptOpen>().is_some();
    if !stays && response.status() != StatusCode::SWITCHING_PROTOCOLS {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn pass_or_refuse(shared: &SharedServer, request: Request, next: Next) -> Response {
    let local = request.extensions().get::<Peer>().is_some_and(|peer| peer.0.ip().is_loopback());
    let headers = request.headers();
    let refused = if !local {
        "the peer is not on this machine"
    } else if !host_is_ours(headers, request.uri(), shared.port) {
        "the host is not this server"
    } else if !origin_is_allowed(headers, &shared.settings.load().allowed_origins, shared.port) {
        "the origin is not allowed"
    } else {
        return next.run(request).await;
    };
    tracing::warn!(reason = refused, "refused a request");
    StatusCode::FORBIDDEN.into_response()
}

/// Whether there is exactly one `Host` and it is this server, also in the target of absolute form.
fn host_is_ours(headers: &HeaderMap, target: &Uri, port: u16) -> bool {
    let port = format!(":{port}");
    let ours = |authority: &[u8]| {
        let host = authority.strip_suffix(port.as_bytes());
        host.is_some_and(|host| [&b"127.0.0.1"[..], b"localhost", b"[::1]"].contains(&host))
    };
    let mut hosts = headers.get_all(HOST).iter();
    let one = hosts.next().is_some_and(|host| ours(host.as_bytes())) && hosts.next().is_none();
    one && target.authority().is_none_or(|authority| ours(authority.as_str().as_bytes()))
}

/// Whether there is no `Origin`, or exactly one that is allowed or our own page's, byte for byte. `null` is
/// never allowed: all sandboxed frames send it.
fn origin_is_allowed(headers: &HeaderMap, allowed: &[String], port: u16) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) => true,
        (Some(origin), None) => {
            origin != "null"
                && (allowed.iter().any(|one| one.as_bytes() == origin.as_bytes())
                    || is_our_page(headers, port))
        }
        (Some(_), Some(_)) => false,
    }
}

/// The subprotocols that a request offers.
#[derive(Debug, Default, PartialEq)]
pub struct Offered<'a> {
    /// [`SUBPROTOCOL`] is offered.
    pub ours: bool,
    tokens: Vec<&'a [u8]>,
    tickets: Vec<&'a [u8]>,
}

/// Parses `Sec-WebSocket-Protocol`, of one header or many.
pub fn offered(headers: &HeaderMap) -> Offered<'_> {
    let mut offered = Offered::default();
    for value in headers.get_all(SEC_WEBSOCKET_PROTOCOL) {
        for protocol in value.as_bytes().split(|byte| *byte == b',') {
            let protocol = protocol.trim_ascii();
            if protocol == SUBPROTOCOL.as_bytes() {
                offered.ours = true;
            } else if let Some(token) = protocol.strip_prefix(TOKEN_SUBPROTOCOL_PREFIX.as_bytes()) {
                offered.tokens.push(token);
            } else if let Some(ticket) = protocol.strip_prefix(TICKET_SUBPROTOCOL_PREFIX.as_bytes())
            {
                offered.tickets.push(ticket);
            }
        }
    }
    offered
}

/// Authenticates a request by a token in a header, or by a ticket ([`challenge`]), and returns the kind of
/// caller. A ticket authenticates its connection: later requests on it need nothing more, until the
/// token is rotated.
///
/// # Errors
/// The refusal, delayed after repeated failures.
pub async fn authorize(
    shared: &SharedServer,
    headers: &HeaderMap,
    target: &Uri,
    admitted: Option<&Admitted>,
) -> Result<Entry, Response> {
    let Offered { tokens: mut shown, tickets, .. } = offered(headers);
    let mut readable = true;
    for value in headers.get_all(AUTHORIZATION) {
        match value.as_bytes().split_at_checked(7) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => {
                shown.push(token.trim_ascii());
            }
            _ => readable = false,
        }
    }
    // URLs end up in logs and histories: a client must not put its token there.
    if readable && target.query().is_none() {
        let entry = match (&shown[..], &tickets[..]) {
            ([token], []) => match admitted {
                Some(admitted) => admitted.entry_of(token, shared),
                None => entry_of(token, &shared.token.current()),
            },
            ([], [ticket]) => {
                let entry = challenge::admit(shared, headers, ticket);
                if let (Some(admitted), Some(entry)) = (admitted, &entry) {
                    admitted.admit(entry);
                }
                entry
            }
            ([], []) => admitted.and_then(|admitted| admitted.entry(shared)),
            _ => None,
        };
        if let Some(entry) = entry.filter(|entry| !entry.is_guest || target.path() == MCP_PATH) {
            return Ok(entry);
        }
    }
    let wait = shared.failures.count(Instant::now());
    tracing::warn!("refused a connection without the right token");
    tokio::time::sleep(wait).await;
    Err((StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")]).into_response())
}

/// The scope that belongs to a token.
fn entry_of(shown: &[u8], main: &Token) -> Option<Entry> {
    // All scopes are compared, so that the time does not depend on the result.
    Scope::ALL
        .into_iter()
        .map(|scope| Entry { scope, token: main.scoped(scope), is_guest: false })
        .filter(|entry| entry.token.matches(shown))
        .fold(None, |first, entry| first.or(Some(entry)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subprotocols_in_one_header_or_many() {
        let mut headers = HeaderMap::new();
        headers
            .append(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("vault.v1 ,vault.token.ab"));
        headers
            .append(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("other,vault.ticket.a.b.c"));
        let (tokens, tickets) = (vec![b"ab".as_slice()], vec![b"a.b.c".as_slice()]);
        assert_eq!(offered(&headers), Offered { ours: true, tokens, tickets });
    }
}
