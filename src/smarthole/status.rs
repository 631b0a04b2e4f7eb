//! How the connection to SmartHole stands.

/// How it stands, with why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub state: State,
    /// The name that it is registered by, or is to be.
    pub name: String,
    /// Why, for people, with what to do about it; empty where there is nothing to say.
    pub reason: String,
}

/// The states of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Switched off in the settings.
    Disabled,
    /// SmartHole is there and has not said yes or no.
    Connecting,
    /// Registered: messages come.
    Connected,
    /// SmartHole does not take the registration.
    Refused,
    /// SmartHole is not there, or has gone; it is tried again.
    Disconnected,
}

impl State {
    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Refused => "refused",
            Self::Disconnected => "disconnected",
        }
    }
}
