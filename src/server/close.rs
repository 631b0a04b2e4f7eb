//! Close codes and reasons.

use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Utf8Bytes};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closing {
    pub code: u16,
    /// The reason in it, at most 123 bytes.
    pub reason: &'static str,
}

impl Closing {
    pub const SHUTDOWN: Self = Self { code: 1001, reason: "the daemon is stopping" };
    /// The frames violate the WebSocket protocol.
    pub const PROTOCOL: Self = Self { code: 1002, reason: "protocol error" };
    pub const BINARY: Self = Self { code: 1003, reason: "only text frames are accepted" };
    pub const NOT_UTF8: Self = Self { code: 1007, reason: "the text is not UTF-8" };
    /// `initialize` did not come in time.
    pub const UNINITIALIZED: Self =
        Self { code: 1008, reason: "`initialize` did not come in time" };
    /// The client's token was rotated.
    pub const ROTATED: Self =
        Self { code: 1008, reason: "the token was rotated; connect with the new one" };
    /// More control frames than the rate allows.
    pub const FLOOD: Self = Self { code: 1008, reason: "too many control frames" };
    /// A frame or message over the limit.
    pub const TOO_BIG: Self = Self { code: 1009, reason: "the message is too big" };
    /// The client is gone. Never sent.
    pub const GONE: Self = Self { code: 1006, reason: "the client is gone" };
    /// The client reads too slowly.
    pub const SLOW: Self = Self { code: 4408, reason: "too slow; connect and subscribe again" };

    pub fn frame(self) -> CloseFrame {
        CloseFrame { code: CloseCode::from(self.code), reason: Utf8Bytes::from_static(self.reason) }
    }

    /// The close reason for an error in reading; `None` if the client is gone.
    pub fn for_error(error: &Error) -> Option<Self> {
        match error {
            Error::Capacity(_) => Some(Self::TOO_BIG),
            // From `meter`.
            Error::Io(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                Some(Self::TOO_BIG)
            }
            Error::Utf8(_) => Some(Self::NOT_UTF8),
            Error::Protocol(
                tokio_tungstenite::tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
            ) => None,
            Error::Protocol(_) | Error::AttackAttempt => Some(Self::PROTOCOL),
            _ => None,
        }
    }
}
