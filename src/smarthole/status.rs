//! The status of the connection to SmartHole.

/// The state for subscribers and `steward status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionStatus {
    pub state: ConnectionState,
    /// The registered name, or the one to be registered.
    pub name: String,
    /// The cause and advice, for people; may be empty.
    pub reason: String,
}

/// Whether messages can arrive, and why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionState {
    Disabled,
    /// The registration is not answered yet.
    Connecting,
    Connected,
    Refused,
    /// SmartHole is not reachable; retrying.
    Disconnected,
}

// For logs.
words!(pub ConnectionState::word {
    Disabled => "disabled", Connecting => "connecting", Connected => "connected",
    Refused => "refused", Disconnected => "disconnected",
});
