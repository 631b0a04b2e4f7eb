//! Shared parts of HTTP requests: rate limit, bodies and answers.

use std::time::Instant;

use axum::Json;
use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use serde_json::json;

use super::{Settings, SharedServer};
use crate::locks::lock;
use crate::protocol::error::{ErrorObject, Kind, Result};

/// Marks an answer after which the connection may be reused.
#[derive(Debug, Clone)]
pub(super) struct KeptOpen;

pub(super) enum Refusal {
    /// An HTTP status.
    Plain(Response),
    Error(ErrorObject),
}

impl From<ErrorObject> for Refusal {
    fn from(error: ErrorObject) -> Self {
        Self::Error(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Plain(response) => response,
            Self::Error(error) => {
                (status_of(error.data.kind), Json(json!({ "error": error }))).into_response()
            }
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

/// Applies the rate limit to a request.
pub(super) fn paced(shared: &SharedServer, settings: &Settings) -> Result<()> {
    let mut requests = lock(&shared.requests);
    requests.set(settings.messages_per_second, settings.message_burst);
    requests.take(Instant::now()).map_err(|wait| {
        ErrorObject::new(Kind::RateLimited, "too many requests")
            .retry_after_ms(u64::try_from(wait.as_millis()).unwrap_or(1).max(1))
    })
}

/// Reads the body, of at most `most` bytes.
pub(super) async fn read_body(
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
