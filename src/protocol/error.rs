//! Protocol errors: `{code, message, data: {kind, retryable, hint?, detail?, retryAfterMs?}}`.
//!
//! Clients may rely on `kind`. The code is JSON-RPC's, the message is for people. The error of a
//! *tool* (no such note, stale revision) is not a protocol error but a result with `isError: true`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::ClientNotification;

/// The kind of an error, as a stable word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The text is not JSON, or ambiguous JSON (duplicate keys), or nested deeper than 127 levels. The answer's
    /// id is null.
    ParseError,
    /// JSON, but not JSON-RPC 2.0.
    InvalidRequest,
    /// An array: batches are not supported.
    BatchNotSupported,
    /// The id is neither an integer nor a string of at most 256 bytes.
    InvalidId,
    /// A request without an id, whose answer could not be matched.
    MissingId,
    /// A request with this id is still pending on this connection.
    DuplicateId,
    /// `initialize` must come first.
    NotInitialized,
    /// `initialize` came a second time.
    AlreadyInitialized,
    /// The method does not exist.
    UnknownMethod,
    /// The params do not fit the method.
    InvalidParams,
    /// The tool does not exist.
    UnknownTool,
    /// Too many pending requests on this connection.
    Overloaded,
    /// Too many requests per second on this connection.
    RateLimited,
    /// The client cancelled the request.
    Cancelled,
    /// The request exceeded its deadline. A change may still have been made.
    Timeout,
    /// The work was done, but its answer exceeds the maximum message size.
    ReplyTooLarge,
    /// The request could not be carried out; the message gives the reason.
    Failed,
    /// No setting has that name, or it cannot have that value.
    InvalidSetting,
    /// The setting can only be changed in the settings file; or a hook refused the message.
    NotPermitted,
    /// Only a person's own program may do this; the token is not one of a person's own program.
    Forbidden,
    /// The message or branch does not exist in the conversation.
    NotFound,
    /// A turn is running in the conversation: wait for its end, or cancel it.
    TurnRunning,
    /// The conversation does not exist.
    UnknownSession,
    /// The model failed; the message gives the reason, `detail` has the conversation and turn.
    ModelFailed,
    /// No connected program has the vault open, or it does not support the request.
    HostUnavailable,
    /// No model is set up, and the client offered that its user can do that. The code is ACP's.
    AuthRequired,
    /// The client or the daemon is too old for the other; the message says which, the hint how to update it.
    Outdated,
    /// A bug of the daemon; its log says more.
    Internal,
}

impl Kind {
    /// The JSON-RPC code. Application errors are in 1000 to 1999, outside the range that JSON-RPC
    /// reserves.
    pub fn code(self) -> i32 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest
            | Self::BatchNotSupported
            | Self::InvalidId
            | Self::MissingId
            | Self::DuplicateId
            | Self::NotInitialized
            | Self::AlreadyInitialized => -32600,
            Self::UnknownMethod => -32601,
            Self::InvalidParams | Self::UnknownTool | Self::InvalidSetting => -32602,
            Self::Internal => -32603,
            Self::Overloaded | Self::RateLimited => -32001,
            Self::Cancelled => -32800,
            Self::AuthRequired => -32000,
            Self::Timeout => 1007,
            Self::ReplyTooLarge => 1008,
            Self::Failed => 1009,
            Self::NotPermitted => 1010,
            Self::Outdated => 1011,
            Self::Forbidden => -32003,
            Self::UnknownSession | Self::NotFound => -32002,
            Self::TurnRunning => 1001,
            Self::HostUnavailable => 1003,
            Self::ModelFailed => 1005,
        }
    }

    /// Whether the same request may succeed when it is sent again later.
    pub fn retryable(self) -> bool {
        matches!(self, Self::Overloaded | Self::RateLimited | Self::Timeout | Self::TurnRunning)
    }
}

/// The `data` of an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ErrorData {
    pub kind: Kind,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Advice for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Details that depend on the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
    /// The time to wait before the next attempt, in milliseconds; with `overloaded` and
    /// `rate_limited`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

pub type Result<T, E = ErrorObject> = std::result::Result<T, E>;

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, thiserror::Error)]
#[error("{message}")]
pub struct ErrorObject {
    /// The JSON-RPC code.
    pub code: i32,
    /// The problem, in one line for people.
    pub message: String,
    pub data: ErrorData,
}

impl ErrorObject {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            code: kind.code(),
            message: message.into(),
            data: ErrorData {
                kind,
                retryable: kind.retryable(),
                hint: None,
                detail: None,
                retry_after_ms: None,
            },
        }
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.data.hint = Some(hint.into());
        self
    }

    /// Adds a hint, if there is one.
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.data.hint = hint;
        self
    }

    /// Adds details for programs.
    pub fn detail(mut self, detail: Value) -> Self {
        self.data.detail = Some(detail);
        self
    }

    /// Adds a time to wait, in milliseconds.
    pub fn retry_after_ms(mut self, milliseconds: u64) -> Self {
        self.data.retry_after_ms = Some(milliseconds);
        self
    }

    pub fn unknown_method(method: &str) -> Self {
        let shown: String = method.chars().take(80).collect();
        let shown = shown.escape_debug();
        if ClientNotification::knows(method) {
            let message = format!("`{shown}` is a notification, and came as a request");
            return Self::new(Kind::UnknownMethod, message).hint("send it without an `id`");
        }
        Self::new(Kind::UnknownMethod, format!("there is no method `{shown}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_sent_as_a_request_is_named_as_such() {
        let refused = ErrorObject::unknown_method("session/cancel");
        assert_eq!(refused.message, "`session/cancel` is a notification, and came as a request");
        assert_eq!(refused.data.hint.as_deref(), Some("send it without an `id`"));
        let refused = ErrorObject::unknown_method("session/fly");
        assert_eq!(
            (&*refused.message, refused.data.hint),
            ("there is no method `session/fly`", None)
        );
    }

    #[test]
    fn the_kind_is_a_stable_word_and_absent_members_are_left_out() {
        let error = ErrorObject::new(Kind::NotInitialized, "`initialize` must come first");
        assert_eq!(
            serde_json::to_string(&error).unwrap(),
            r#"{"code":-32600,"message":"`initialize` must come first","data":{"kind":"not_initialized","retryable":false}}"#
        );
    }
}
