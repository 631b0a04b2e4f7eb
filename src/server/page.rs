//! Serves the chat page, for use without Obsidian: its files, and an endpoint that exchanges a code
//! for a token.
//!
//! The files contain no user data and need no token; everything else does. The page gets its token
//! for a code that `steward open` puts after the `#` of the URL: browsers do not send that part
//! anywhere, and the page removes it from the URL at once.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router, routing};

use super::SharedServer;
use super::page_keys::{CODE_SECONDS, PAGE_DAYS, is_our_page, page_token};
use super::reply::{Refusal, is_json, paced, plain, read_body};
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::page::{ExchangeAnswer, ExchangeBody, PageCodeResult};
use crate::protocol::strict;

/// Built by `npm run build` in `plugin-shim`, and committed so that building the program does not
/// need Node.
const INDEX: &[u8] = include_bytes!("../../plugin-shim/dist/page/index.html");
const SCRIPT: &[u8] = include_bytes!("../../plugin-shim/dist/page/view.js");
const CHUNK: &[u8] = include_bytes!("../../plugin-shim/dist/page/chunk.js");
const CARDS: &[u8] = include_bytes!("../../plugin-shim/dist/page/cards.js");
const FORMULAS: &[u8] = include_bytes!("../../plugin-shim/dist/page/formulas.js");
const STYLE: &[u8] = include_bytes!("../../plugin-shim/dist/page/view.css");

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// The largest request body of an exchange, in bytes.
const MAX_BODY: usize = 1024;

pub fn routes() -> Router<Arc<SharedServer>> {
    let file = |kind: &'static str, bytes: &'static [u8]| {
        routing::get(move |State(shared): State<Arc<SharedServer>>| {
            std::future::ready(response_of(&shared, kind, bytes))
        })
    };
    Router::new()
        .route("/", file("text/html; charset=utf-8", INDEX))
        .route("/view.js", file(JAVASCRIPT, SCRIPT))
        .route("/chunk.js", file(JAVASCRIPT, CHUNK))
        .route("/cards.js", file(JAVASCRIPT, CARDS))
        .route("/formulas.js", file(JAVASCRIPT, FORMULAS))
        .route("/view.css", file("text/css; charset=utf-8", STYLE))
        .route("/v1/exchange", routing::post(exchange))
}

pub fn opened_by(code: &str, port: u16) -> PageCodeResult {
    PageCodeResult { url: format!("http://127.0.0.1:{port}/#code={code}"), seconds: CODE_SECONDS }
}

fn response_of(shared: &SharedServer, kind: &'static str, bytes: &'static [u8]) -> Response {
    let mut response = bytes.into_response();
    guard(response.headers_mut(), shared.port);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Response headers for the page: load only from here, run only our scripts, no frames, no caching,
/// no referrer.
fn guard(headers: &mut HeaderMap, port: u16) {
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self' ws://127.0.0.1:{port} ws://localhost:{port}; frame-ancestors 'none'; \
         base-uri 'none'; form-action 'none'"
    );
    let policy = HeaderValue::from_str(&policy).expect("a number and plain words");
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    let fixed: [(HeaderName, &'static str); 6] = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// `POST /v1/exchange`: a code for a token.
async fn exchange(State(shared): State<Arc<SharedServer>>, request: Request) -> Response {
    let exchanged = exchanged(&shared, request).await;
    let mut response = exchanged.map(Json).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn exchanged(shared: &SharedServer, request: Request) -> Result<ExchangeAnswer, Refusal> {
    let (parts, body) = request.into_parts();
    // Only our page needs this endpoint.
    if !is_our_page(&parts.headers, shared.port) || parts.uri.query().is_some() {
        return Err(plain(StatusCode::FORBIDDEN));
    }
    paced(shared, &shared.settings.load_full())?;
    if !is_json(&parts.headers) {
        return Err(plain(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    let body = read_body(&parts.headers, body, MAX_BODY).await?;
    let text = std::str::from_utf8(&body).unwrap_or_default();
    let read = strict::parse(text).and_then(serde_json::from_value);
    // The error does not quote the body, which may be a mistyped code.
    let Ok(ExchangeBody { code }) = read else {
        return Err(ErrorObject::new(Kind::InvalidParams, "the body holds no code").into());
    };
    if !shared.pages.take(code.as_bytes(), Instant::now()) {
        let wait = shared.failures.count(Instant::now());
        tracing::warn!("refused an invalid code for the page");
        tokio::time::sleep(wait).await;
        return Err(plain(StatusCode::UNAUTHORIZED));
    }
    let token = page_token(&shared.token.current(), SystemTime::now())
        .map_err(|error| ErrorObject::new(Kind::Failed, error.to_string()))?;
    tracing::info!("the page was opened");
    Ok(ExchangeAnswer { token, days: PAGE_DAYS })
}
