//! Why a sign-in failed.

use std::path::PathBuf;

/// Why a sign-in failed. Never contains a token.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The server needs no sign-in, and publishes nothing about one.
    #[error("it publishes nothing about a sign-in")]
    NotOffered,
    /// The settings contain a key for it.
    #[error("the settings give it a key in the header `Authorization`")]
    HasKey,
    /// The server is a program on this machine.
    #[error("it is a program, not a server at a `url`")]
    IsProgram,
    /// An address that an untrusted server must not make us contact.
    #[error("it names `{0}`, an address that the steward does not contact")]
    BadAddress(String),
    #[error("`{host}` could not be reached: {why}")]
    Unreachable { host: String, why: String },
    /// A document is missing, too long or invalid.
    #[error("the sign-in metadata of `{host}` cannot be used: {why}")]
    BadDocument { host: String, why: String },
    /// It describes another server.
    #[error("it says that it is `{0}`, and tokens for that are not for it")]
    WrongResource(String),
    #[error("the authorisation server that signs in for it is `{now}`, and not `{before}`")]
    AnotherIssuer { before: String, now: String },
    /// There is no client id in the settings, and no way to get one.
    #[error("`{0}` requires a registered client, and the steward cannot register itself there")]
    NoClient(String),
    /// The authorisation server's error code.
    #[error("`{host}` refused {what}: {code}")]
    Refused { host: String, what: &'static str, code: String },
    /// The redirect comes from another server.
    #[error("the answer does not come from the authorisation server that was asked")]
    WrongIssuer,
    #[error("could not get random bytes for a sign-in: {0}")]
    Random(getrandom::Error),
    /// The store of sign-ins cannot be used.
    #[error("could not {doing} the sign-in in `{}`: {why}", path.display())]
    Store { doing: &'static str, path: PathBuf, why: String },
}

impl LoginError {
    /// Advice for the user.
    pub fn hint(&self, server: &str) -> String {
        match self {
            Self::NotOffered => format!(
                "if it wants a key, give it one by `headers` under `[servers.{server}]`; else `steward servers allow {server}`"
            ),
            Self::HasKey => format!("remove it from `[servers.{server}]` to sign in"),
            Self::IsProgram => format!("give it its secrets by `env` under `[servers.{server}]`"),
            Self::BadAddress(_) => format!(
                "if your authorisation server is within your network, set it as `oauth.issuer` under `[servers.{server}]`; otherwise a server on another machine may name only public `https` addresses"
            ),
            Self::Unreachable { .. } | Self::Random(_) => "try again later".to_owned(),
            Self::BadDocument { .. } | Self::WrongResource(_) | Self::WrongIssuer => {
                "nothing was sent to it; this is between the server and its author".to_owned()
            }
            Self::AnotherIssuer { .. } => format!(
                "if the new one is right, run `steward servers logout {server}` to forget the former one, or change `oauth.issuer` under `[servers.{server}]`"
            ),
            Self::NoClient(_) => format!(
                "register the steward there by hand, and set `oauth.client_id` under `[servers.{server}]`"
            ),
            Self::Refused { .. } => format!(
                "try again; if it is refused again, run `steward servers logout {server}` first, which also forgets the steward's registration there"
            ),
            Self::Store { .. } => "is the folder yours, and the disk not full?".to_owned(),
        }
    }
}
