//! Errors of a model request, classified by the caller's possible reactions.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::message::{Block, Usage};

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The key is missing, wrong, or lacks permission.
    Auth,
    /// No credit, or a spending limit is reached. Retrying does not help.
    Billing,
    RateLimit,
    Overloaded,
    /// The connection failed or broke.
    Network,
    /// The server sent nothing for too long.
    Timeout,
    InvalidRequest,
    /// The history exceeds the model's context window.
    ContextLength,
    /// The model or address does not exist.
    NotFound,
    /// The vendor declined to answer.
    Refused,
    /// The answer broke off.
    Truncated,
    /// The response violates the vendor's API format.
    Protocol,
    /// The answer exceeds the size limit in the settings.
    TooLarge,
}

words!(pub ErrorKind::words {
    Auth => "the key was refused", Billing => "there is no credit, or a spending limit is reached",
    RateLimit => "too many requests",
    Overloaded => "the model's server is overloaded or broken", Network => "the connection failed",
    Timeout => "the server sent nothing for too long", InvalidRequest => "the request was not accepted",
    ContextLength => "the conversation is longer than the model can read",
    NotFound => "there is no such model or address",
    Refused => "the vendor declined to answer this", Truncated => "the answer was interrupted",
    Protocol => "the answer could not be understood",
    TooLarge => "the answer is larger than allowed",
});

/// A failed request. Contains no key: it is removed from the vendor's text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("`{provider}`: {}{}", kind.words(), self.suffix())]
pub struct LlmError {
    pub kind: ErrorKind,
    /// The provider or model asked, such as `anthropic/claude-sonnet-5-5`.
    pub provider: String,
    /// The vendor's or system's message: one line, at most 1,000 bytes once it has left the
    /// endpoint, possibly empty.
    pub message: String,
    pub status: Option<u16>,
    /// How long the vendor asks us to wait.
    pub retry_after: Option<Duration>,
    pub detail: Box<Detail>,
}

/// Details of a failure that few callers need.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// The vendor's error code.
    pub code: Option<String>,
    pub request_id: Option<String>,
    /// The vendor's own advice on retrying; overrides the kind.
    pub should_retry: Option<bool>,
    /// The partial answer. Must not go back to the model as its own words.
    pub partial: Vec<Block>,
    /// Token usage up to the failure, if known.
    pub usage: Option<Usage>,
}

/// The longest message, in bytes.
const MAX_MESSAGE: usize = 1_000;
/// The longest vendor code or id, in bytes.
const MAX_WORD: usize = 200;
/// The most bytes of a message to examine.
const MAX_EXAMINED: usize = 64 << 10;

impl LlmError {
    /// Folds `message` into one line.
    pub fn new(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        Self {
            kind,
            provider: "model".to_owned(),
            message: one_line(message.as_ref(), MAX_EXAMINED),
            status: None,
            retry_after: None,
            detail: Box::default(),
        }
    }

    /// Whether the same request to the same provider may succeed after a pause.
    pub fn retry_same(&self) -> bool {
        use ErrorKind::{Network, Overloaded, Protocol, RateLimit, Timeout, Truncated};
        self.detail.should_retry.unwrap_or(matches!(
            self.kind,
            RateLimit | Overloaded | Network | Timeout | Truncated | Protocol
        ))
    }

    /// Whether another provider may succeed.
    pub fn try_next(&self) -> bool {
        use ErrorKind::{Auth, Billing, ContextLength, NotFound};
        self.retry_same() || matches!(self.kind, Auth | Billing | NotFound | ContextLength)
    }

    pub fn hint(&self) -> Option<String> {
        let provider = self.provider.split('/').next().unwrap_or_default();
        Some(match self.kind {
            ErrorKind::Auth => {
                format!("`steward key set {provider}` stores a key and checks it")
            }
            ErrorKind::Billing => "look at the vendor's billing page".to_owned(),
            ErrorKind::NotFound => "`steward models` lists the models".to_owned(),
            ErrorKind::ContextLength => {
                "begin a new conversation, or choose a model with a larger window".to_owned()
            }
            ErrorKind::Network => {
                format!(
                    "check `[models.providers.{provider}] base_url`, and that the server is running"
                )
            }
            ErrorKind::TooLarge => "`[models] max_answer_bytes` sets the limit".to_owned(),
            _ => return None,
        })
    }

    /// Removes `secret` from all texts, then shortens them. In the other order, half a secret could
    /// remain.
    pub(super) fn redact(mut self, secret: &str) -> Self {
        let clear = |text: &str, limit| {
            let text = one_line(text, MAX_EXAMINED);
            let is_there = !secret.is_empty() && text.contains(secret);
            one_line(&if is_there { text.replace(secret, "…") } else { text }, limit)
        };
        self.message = clear(&self.message, MAX_MESSAGE);
        self.detail.code = self.detail.code.map(|code| clear(&code, MAX_WORD));
        self.detail.request_id = self.detail.request_id.map(|id| clear(&id, MAX_WORD));
        self
    }

    fn suffix(&self) -> String {
        let status = self.status.map(|status| format!(" ({status})")).unwrap_or_default();
        let colon = if self.message.is_empty() { "" } else { ": " };
        format!("{status}{colon}{}", self.message)
    }
}

/// One line without control characters, at most `limit` bytes, with `…` where it is cut.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            if line.len() + c.len_utf8() > limit {
                line.push('…');
                return line;
            }
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vendors_message_is_one_bounded_line_without_the_key() {
        // The key also occurs where the line is cut.
        let message = format!("no\r\n\u{1b}[31m key sk-secret {} sk-secret", "x".repeat(972));
        let error = LlmError::new(ErrorKind::Auth, message).redact("sk-secret");
        assert!(error.message.starts_with("no [31m key … xxx"), "{}", error.message);
        assert!(error.message.len() < MAX_MESSAGE + 8 && !error.message.contains('\n'));
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("sk-"), "{shown}");
    }

    #[test]
    fn what_can_be_done_depends_on_the_kind() {
        let tried = |kind| {
            let error = LlmError::new(kind, "");
            (error.retry_same(), error.try_next())
        };
        assert_eq!(tried(ErrorKind::RateLimit), (true, true));
        assert_eq!(tried(ErrorKind::Billing), (false, true));
        assert_eq!(tried(ErrorKind::Refused), (false, false));
        assert_eq!(tried(ErrorKind::InvalidRequest), (false, false));
        assert_eq!(tried(ErrorKind::TooLarge), (false, false));
        let mut final_error = LlmError::new(ErrorKind::Overloaded, "");
        final_error.detail.should_retry = Some(false);
        assert!(!final_error.retry_same());
    }
}
