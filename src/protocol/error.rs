//! Errors on the wire: `{code, message, data: {kind, retryable, hint?, detail?, retryAfterMs?}}`.
//!
//! `kind` is the contract: a stable word. The number is JSON-RPC's, the message is for people.
//! What a *tool* has to say about its work (no such note, stale revision) is no protocol error: it
//! is a result with `isError: true`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::ClientNotification;

/// What went wrong, as a word that stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The text is not JSON, or JSON that two readers would read differently (duplicate keys), or
    /// nested deeper than 127 levels. The answer's id is null.
    ParseError,
    /// JSON, but no JSON-RPC 2.0 message.
    InvalidRequest,
    /// An array: batches are not part of this protocol.
    BatchNotSupported,
    /// The id is no integer and no string of at most 256 bytes.
    InvalidId,
    /// A request without an id, whose answer could not be told apart.
    MissingId,
    /// A request with this id is still in flight on this connection.
    DuplicateId,
    /// `initialize` must come first.
    NotInitialized,
    /// `initialize` came a second time.
    AlreadyInitialized,
    /// No such method.
    UnknownMethod,
    /// The params do not fit the method.
    InvalidParams,
    /// No tool of that name.
    UnknownTool,
    /// Too many requests in flight on this connection.
    Overloaded,
    /// Too many requests a second on this connection.
    RateLimited,
    /// The client gave the request up.
    Cancelled,
    /// The request took longer than its deadline. A change may still have been made.
    Timeout,
    /// The work was done but its answer is larger than a message may be.
    ReplyTooLarge,
    /// What was asked for could not be done; the message says why.
    Failed,
    /// No setting has that name, or it cannot have that value.
    InvalidSetting,
    /// The setting is for whoever can write the settings file, not for clients; or a hook of the
    /// user's refuses the message.
    NotPermitted,
    /// Only a person's own program may ask for this; the token shown is another's.
    Forbidden,
    /// There is no such message or branch in the conversation.
    NotFound,
    /// A turn is at work in the conversation: wait for its end, or cancel it.
    TurnRunning,
    /// There is no such conversation.
    UnknownSession,
    /// The model could not answer; the message says why, `detail` holds the conversation and turn.
    ModelFailed,
    /// No program that has the vault open is connected, or it cannot do that.
    HostUnavailable,
    /// No model is set up, and the client offered to have its user do that: ACP's own number for it.
    AuthRequired,
    /// A fault of the daemon's own; its log says more.
    Internal,
}

impl Kind {
    /// The JSON-RPC number that goes with the kind. Application errors lie in 1000 to 1999,
    /// outside the range that JSON-RPC keeps for itself.
    #[must_use]
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
            Self::Forbidden => -32003,
            Self::UnknownSession | Self::NotFound => -32002,
            Self::TurnRunning => 1001,
            Self::HostUnavailable => 1003,
            Self::ModelFailed => 1005,
        }
    }

    /// Whether the same request may succeed when it is sent again later.
    #[must_use]
    pub fn retryable(self) -> bool {
        matches!(self, Self::Overloaded | Self::RateLimited | Self::Timeout | Self::TurnRunning)
    }
}

/// The `data` of an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    /// The stable word.
    pub kind: Kind,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// What to do next, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub hint: Option<String>,
    /// Facts that belong to the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub detail: Option<Value>,
    /// How long to wait before the next try, in milliseconds; with `overloaded` and
    /// `rate_limited`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub retry_after_ms: Option<u64>,
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, thiserror::Error)]
#[error("{message}")]
pub struct ErrorObject {
    /// The JSON-RPC number.
    pub code: i32,
    /// What went wrong, in one line for people.
    pub message: String,
    /// What programs read.
    pub data: ErrorData,
}

impl ErrorObject {
    /// An error of `kind` that says `message`.
    #[must_use]
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

    /// The same with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.data.hint = Some(hint.into());
        self
    }

    /// The same with facts for programs.
    #[must_use]
    pub fn detail(mut self, detail: Value) -> Self {
        self.data.detail = Some(detail);
        self
    }

    /// The same with a time to wait, in milliseconds.
    #[must_use]
    pub fn retry_after_ms(mut self, milliseconds: u64) -> Self {
        self.data.retry_after_ms = Some(milliseconds);
        self
    }

    /// No method `method` in this protocol.
    #[must_use]
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
    fn a_notification_that_wants_an_answer_is_told_what_it_is() {
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
    fn a_kind_is_a_stable_word_and_optional_facts_are_left_out() {
        let error = ErrorObject::new(Kind::NotInitialized, "`initialize` must come first");
        assert_eq!(
            serde_json::to_string(&error).unwrap(),
            r#"{"code":-32600,"message":"`initialize` must come first","data":{"kind":"not_initialized","retryable":false}}"#
        );
    }
}
