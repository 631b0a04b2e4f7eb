//! How asking a model fails, told apart by what can be done about it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::message::{Block, Usage};

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// No key, a wrong one, or one that may not do this.
    Auth,
    /// No credit, or a spending limit is reached. Waiting does not help.
    Billing,
    /// Too many requests for now.
    RateLimit,
    /// The vendor has too much to do or is broken.
    Overloaded,
    /// The connection could not be made or broke.
    Network,
    /// Nothing came for too long.
    Timeout,
    /// The vendor did not take the request.
    InvalidRequest,
    /// The history is longer than the model's window.
    ContextLength,
    /// No such model or address.
    NotFound,
    /// The vendor declined to answer this.
    Refused,
    /// The answer ended before its end.
    Truncated,
    /// What came is not what the vendor's language allows.
    Protocol,
    /// The answer is larger than the settings allow.
    TooLarge,
}

impl ErrorKind {
    /// In words, for a person.
    pub fn words(self) -> &'static str {
        match self {
            Self::Auth => "the key was refused",
            Self::Billing => "there is no credit, or a spending limit is reached",
            Self::RateLimit => "too many requests for now",
            Self::Overloaded => "the model's server is overloaded or broken",
            Self::Network => "the connection failed",
            Self::Timeout => "nothing came for too long",
            Self::InvalidRequest => "the request was not accepted",
            Self::ContextLength => "the conversation is longer than the model can read",
            Self::NotFound => "there is no such model or address",
            Self::Refused => "the vendor declined to answer this",
            Self::Truncated => "the answer broke off",
            Self::Protocol => "the answer could not be understood",
            Self::TooLarge => "the answer is larger than allowed",
        }
    }
}

/// A failure. Holds no key: what vendors say is cleared of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("`{provider}`: {}{}", kind.words(), self.more())]
pub struct LlmError {
    pub kind: ErrorKind,
    /// Who was asked: `anthropic/claude-sonnet-5-5`.
    pub provider: String,
    /// What the vendor or the system said, one line, of at most 1,000 bytes once it left its
    /// endpoint; may be empty.
    pub message: String,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// How long the vendor asks to wait.
    pub retry_after: Option<Duration>,
    /// The rest.
    pub detail: Box<Detail>,
}

/// What few need to know of a failure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// The vendor's own word for it.
    pub code: Option<String>,
    /// The vendor's id of the request.
    pub request_id: Option<String>,
    /// What the vendor says of trying again, stronger than the kind.
    pub should_retry: Option<bool>,
    /// What had been answered by then; not to be given back to the model as its own.
    pub partial: Vec<Block>,
    /// What it cost until then, where that is known.
    pub usage: Option<Usage>,
}

/// The longest message given out, in bytes.
const MAX_MESSAGE: usize = 1_000;
/// The longest word of a vendor's kept, in bytes.
const MAX_WORD: usize = 200;
/// The longest text looked at, in bytes.
const MAX_SAID: usize = 64 << 10;

impl LlmError {
    /// A failure of `kind`; `message` is made one line.
    pub fn new(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        Self {
            kind,
            provider: "model".to_owned(),
            message: one_line(message.as_ref(), MAX_SAID),
            status: None,
            retry_after: None,
            detail: Box::default(),
        }
    }

    /// Whether the same provider may be asked the same again, after a pause.
    pub fn retry_same(&self) -> bool {
        use ErrorKind::{Network, Overloaded, Protocol, RateLimit, Timeout, Truncated};
        self.detail.should_retry.unwrap_or(matches!(
            self.kind,
            RateLimit | Overloaded | Network | Timeout | Truncated | Protocol
        ))
    }

    /// Whether another provider may succeed where this one failed.
    pub fn try_next(&self) -> bool {
        use ErrorKind::{Auth, Billing, ContextLength, NotFound};
        self.retry_same() || matches!(self.kind, Auth | Billing | NotFound | ContextLength)
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let provider = self.provider.split('/').next().unwrap_or_default();
        Some(match self.kind {
            ErrorKind::Auth => {
                format!("`steward key set {provider}` stores a key and checks it")
            }
            ErrorKind::Billing => "look at the vendor's billing page".to_owned(),
            ErrorKind::NotFound => "`steward models` lists what there is".to_owned(),
            ErrorKind::ContextLength => {
                "begin a new conversation, or choose a model with a larger window".to_owned()
            }
            ErrorKind::Network => {
                format!("is `[models.providers.{provider}] base_url` right, and the server up?")
            }
            ErrorKind::TooLarge => "`[models] max_answer_bytes` sets the limit".to_owned(),
            _ => return None,
        })
    }

    /// Takes `secret` out of everything that was said, and only then shortens it: half a secret
    /// would not be found.
    pub(super) fn without(mut self, secret: &str) -> Self {
        let clear = |text: &str, limit| {
            let text = one_line(text, MAX_SAID);
            let is_there = !secret.is_empty() && text.contains(secret);
            one_line(&if is_there { text.replace(secret, "…") } else { text }, limit)
        };
        self.message = clear(&self.message, MAX_MESSAGE);
        self.detail.code = self.detail.code.map(|code| clear(&code, MAX_WORD));
        self.detail.request_id = self.detail.request_id.map(|id| clear(&id, MAX_WORD));
        self
    }

    fn more(&self) -> String {
        let status = self.status.map(|status| format!(" ({status})")).unwrap_or_default();
        let colon = if self.message.is_empty() { "" } else { ": " };
        format!("{status}{colon}{}", self.message)
    }
}

/// One line without control characters, of at most `limit` bytes and a mark where it is cut.
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
    fn what_was_said_is_one_bounded_line_without_the_key() {
        // The key stands where the line is cut, too.
        let said = format!("no\r\n\u{1b}[31m key sk-secret {} sk-secret", "x".repeat(972));
        let error = LlmError::new(ErrorKind::Auth, said).without("sk-secret");
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
        let mut told = LlmError::new(ErrorKind::Overloaded, "");
        told.detail.should_retry = Some(false);
        assert!(!told.retry_same());
    }
}
