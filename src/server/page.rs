//! The chat as a page of our own, for use without Obsidian: three files, and the exchange of a code
//! that opens it for a token.
//!
//! The files hold nothing of anybody's and are for whoever asks. Nothing else does without a token,
//! which the page gets for a code that `steward open` puts behind the address's `#`: no browser
//! sends that anywhere, and the page takes it out of the address at once.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Router, routing};

use super::Shared;
use super::page_keys::{CODE_SECONDS, PAGE_DAYS, is_our_page, page_token};
use super::reply::{Refusal, answer, is_json, paced, plain, whole};
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::page::{ExchangeAnswer, ExchangeBody, PageCodeResult};
use crate::protocol::strict;

/// Built by `npm run build` in `plugin-shim`, and kept with the sources so that no Node is needed
/// to build the program.
const INDEX: &[u8] = include_bytes!("../../plugin-shim/dist/page/index.html");
const SCRIPT: &[u8] = include_bytes!("../../plugin-shim/dist/page/view.js");
const STYLE: &[u8] = include_bytes!("../../plugin-shim/dist/page/view.css");

/// The largest body of an exchange, in bytes.
const MOST: usize = 1024;

/// The routes.
pub fn routes() -> Router<Arc<Shared>> {
    let file = |kind: &'static str, bytes: &'static [u8]| {
        routing::get(move |State(shared): State<Arc<Shared>>| {
            std::future::ready(served(&shared, kind, bytes))
        })
    };
    Router::new()
        .route("/", file("text/html; charset=utf-8", INDEX))
        .route("/view.js", file("text/javascript; charset=utf-8", SCRIPT))
        .route("/view.css", file("text/css; charset=utf-8", STYLE))
        .route("/v1/exchange", routing::post(exchange))
}

/// Where the page is that this code opens.
#[must_use]
pub fn opened_by(code: &str, port: u16) -> PageCodeResult {
    PageCodeResult { url: format!("http://127.0.0.1:{port}/#code={code}"), seconds: CODE_SECONDS }
}

fn served(shared: &Shared, kind: &'static str, bytes: &'static [u8]) -> Response {
    let mut response = bytes.into_response();
    guard(response.headers_mut(), shared.port);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// What a browser is told about the page: to load from here alone, to run no script but the file,
/// to show it in no frame, to keep none of it and to tell nobody where it was.
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
async fn exchange(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let exchanged = exchanged(&shared, request).await;
    let mut response = answer(StatusCode::OK, exchanged);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn exchanged(shared: &Shared, request: Request) -> Result<ExchangeAnswer, Refusal> {
    let (parts, body) = request.into_parts();
    // Nobody else has a use for it.
    if !is_our_page(&parts.headers, shared.port) || parts.uri.query().is_some() {
        return Err(plain(StatusCode::FORBIDDEN));
    }
    paced(shared, &shared.settings.load_full())?;
    if !is_json(&parts.headers) {
        return Err(plain(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    let body = whole(&parts.headers, body, MOST).await?;
    let text = std::str::from_utf8(&body).unwrap_or_default();
    let read = strict::parse(text).and_then(serde_json::from_value);
    // What is wrong with it is not told: it may be a code that somebody mistyped.
    let Ok(ExchangeBody { code }) = read else {
        return Err(ErrorObject::new(Kind::InvalidParams, "the body holds no code").into());
    };
    if !shared.pages.take(code.as_bytes(), Instant::now()) {
        let wait = shared.failures.count(Instant::now());
        tracing::warn!("refused a code that opens no page");
        tokio::time::sleep(wait).await;
        return Err(plain(StatusCode::UNAUTHORIZED));
    }
    let token = page_token(&shared.token.current(), SystemTime::now())
        .map_err(|error| ErrorObject::new(Kind::Failed, error.to_string()))?;
    tracing::info!("the page was opened");
    Ok(ExchangeAnswer { token, days: PAGE_DAYS })
}
