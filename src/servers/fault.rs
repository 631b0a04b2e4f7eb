//! Why a server could not be used.

use std::io;
use std::path::PathBuf;

use serde_json::json;

use super::oauth::challenge::Challenge;
use super::oauth::error::LoginError;
use crate::note::code::ErrorCode;
use crate::tools::ToolError;

/// Why a server could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The settings have no such server.
    #[error("there is no server `{0}` in the settings")]
    Unknown(String),
    /// It is disabled in the settings.
    #[error("the server `{0}` is switched off")]
    Disabled(String),
    /// The program or its script is in the vault.
    #[error("`{}` is in the vault, where others write", .0.display())]
    InVault(PathBuf),
    /// A value that `env` or `headers` refers to is missing.
    #[error("the settings of the server `{server}` name `{name}`, which does not exist")]
    NoValue { server: String, name: String },
    /// A value of `headers` is not a valid header.
    #[error("the header `{name}` of the server `{server}` cannot have this value")]
    NoHeader { server: String, name: String },
    /// The connection failed.
    #[error("the server `{server}` could not be reached: {why}")]
    Unreachable { server: String, why: String },
    /// It answered with an HTTP error status.
    #[error("the server `{server}` answered with HTTP status {status}: {why}")]
    Http { server: String, status: u16, why: String },
    /// It requires a sign-in, or one with more scopes.
    #[error("the server `{server}` answered with HTTP status {status}: {why}")]
    SignIn { server: String, status: u16, why: String, challenge: Box<Challenge> },
    /// A sign-in failed.
    #[error("no sign-in at the server `{server}`: {error}")]
    Login { server: String, error: LoginError },
    /// The session has expired; the request had no effect.
    #[error("the server `{0}` has ended the session")]
    Forgotten(String),
    /// Its folder cannot be created.
    #[error("the folder of the server `{server}` could not be made: {source}")]
    Place { server: String, source: io::Error },
    /// It cannot be started.
    #[error("the server `{server}` could not be started: {source}")]
    Start { server: String, source: io::Error },
    /// It exited, or was ended for exceeding a limit.
    #[error("the server `{server}` was ended: {why}")]
    Ended { server: String, why: String },
    /// It does not read its input or answer in time.
    #[error("the server `{server}` did not answer within {seconds} s")]
    Late { server: String, seconds: u64 },
    /// It failed a short time ago.
    #[error("the server `{server}` failed ({why}) and will be restarted in {seconds} s")]
    Resting { server: String, why: String, seconds: u64 },
    /// Too many calls are in flight.
    #[error("too many calls of the server `{0}` are in flight")]
    Busy(String),
    /// It answered with a protocol error.
    #[error("the server `{server}` refused `{method}`: {message}")]
    Refused { server: String, method: String, code: i64, message: String },
    /// It violated the protocol.
    #[error("the server `{server}` does not speak MCP as expected: {why}")]
    Protocol { server: String, why: String },
    /// No person has reviewed its tools in this form.
    #[error("`{tool}` of the server `{server}` is withheld: {why}")]
    Withheld { server: String, tool: String, why: String },
    /// The caller cancelled the call.
    #[error("the call was cancelled")]
    Withdrawn,
    /// A person's permission cannot be stored.
    #[error("could not write `{}`: {source}", path.display())]
    Store { path: PathBuf, source: io::Error },
}

impl Fault {
    /// Advice for the user.
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown(_) => "`steward servers list` names them".to_owned(),
            Self::Disabled(name) => format!("set `enabled = true` under `[servers.{name}]`"),
            Self::InVault(_) => "put it outside of the vault".to_owned(),
            Self::NoValue { .. } => {
                "`${env:X}` is a variable of the steward's environment, `${key:X}` a file next to its settings"
                    .to_owned()
            }
            Self::NoHeader { .. } => "a header is one line of plain characters".to_owned(),
            Self::Unreachable { server, .. } => format!(
                "is the `url` of `[servers.{server}]` right? A port other than 443 needs a restart of the daemon"
            ),
            Self::Http { server, status: 401 | 403 | 407, .. } => {
                format!("give it a key by `headers` under `[servers.{server}]`")
            }
            Self::SignIn { server, .. } => format!(
                "a person has to run `steward servers login {server}`, or set a key by `headers` under `[servers.{server}]`"
            ),
            Self::Login { server, error } => error.hint(server),
            Self::Http { server, status: 300..=399 | 404 | 405, .. } => {
                format!(
                    "is the `url` of `[servers.{server}]` that of an MCP server (streamable HTTP)?"
                )
            }
            Self::Http { .. } | Self::Forgotten(_) => "try again later".to_owned(),
            Self::Place { .. } | Self::Store { .. } => "is the disk full?".to_owned(),
            Self::Start { .. } => "is the program installed, and executable?".to_owned(),
            Self::Ended { server, .. } | Self::Late { server, .. } => {
                format!("`steward servers log {server}` shows what it wrote")
            }
            Self::Resting { .. } | Self::Busy(_) => "try again later".to_owned(),
            Self::Refused { .. } | Self::Protocol { .. } => {
                "this is between the server and its author".to_owned()
            }
            Self::Withheld { server, .. } => format!(
                "a person sees the difference by `steward servers show {server}` and accepts it by \
                 `steward servers allow {server}`"
            ),
            Self::Withdrawn => "no further request was sent to the server".to_owned(),
        }
    }

    fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown(_) => ErrorCode::NotFound,
            Self::Disabled(_)
            | Self::InVault(_)
            | Self::Withheld { .. }
            | Self::SignIn { .. }
            | Self::Login { .. } => ErrorCode::Denied,
            Self::Late { .. } => ErrorCode::Timeout,
            Self::Resting { .. } | Self::Busy(_) => ErrorCode::RateLimited,
            Self::Refused { .. } => ErrorCode::InvalidInput,
            Self::Withdrawn => ErrorCode::Cancelled,
            _ => ErrorCode::IoError,
        }
    }
}

impl From<Fault> for ToolError {
    fn from(fault: Fault) -> Self {
        let mut data = json!({ "fault": "server" });
        if matches!(fault, Fault::SignIn { .. }) {
            data["wants"] = "sign_in".into();
        }
        let data = Some(data);
        Self { data, ..Self::new(fault.code(), fault.to_string(), fault.hint()) }
    }
}
