//! The failure of a command: one line, a hint, an exit code.

use serde_json::{Value, json};

use super::words;
use crate::config::ConfigError;
use crate::config::folders::FolderError;
use crate::config::vaults::NoVault;
use crate::config::vendor_keys::KeyError;
use crate::daemon::StartError;
use crate::llm::tape::TapeError;
use crate::protocol::error::ErrorObject;
use crate::server::token::TokenError;
use crate::tools::ToolError;

/// Any other error.
pub const OTHER: u8 = 1;
/// Wrong arguments or settings.
pub const USAGE: u8 = 2;
/// Another process serves or changes the vault.
pub const ALREADY_RUNNING: u8 = 3;
/// No vault was found.
pub const NO_VAULT: u8 = 4;
/// The model declined to answer.
pub const DECLINED: u8 = 5;

/// The error code if no model could be asked.
pub const NO_MODEL: &str = "no_model";

pub type Result<T, E = Failure> = std::result::Result<T, E>;

#[derive(Debug, Clone)]
pub struct Failure {
    pub exit: u8,
    /// A stable identifier.
    pub code: String,
    /// The error in one line; for an error in an expression, also that line with a mark below it.
    pub message: String,
    /// The next step; may list items, one per line.
    pub hint: Option<String>,
    pub data: Option<Value>,
}

impl Failure {
    /// A failure with exit code 1.
    pub fn other(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            exit: OTHER,
            code: code.to_owned(),
            message: message.into(),
            hint: Some(hint.into()).filter(|hint: &String| !hint.is_empty()),
            data: None,
        }
    }

    /// No model could be asked; the message `words` says how to set one up.
    pub fn no_model(words: String) -> Self {
        Self::other(NO_MODEL, words, "")
    }

    /// The model declined; its reason was already shown.
    pub fn declined() -> Self {
        let hint = "rephrase it, or choose another model: `steward models`";
        Self { exit: DECLINED, ..Self::other("declined", "the model declined to answer", hint) }
    }

    /// The failure from a tool's error that the daemon returned.
    pub fn of_tool(mut error: Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Self {
            exit: OTHER,
            code: text(&error["code"]).unwrap_or_else(|| "io_error".to_owned()),
            message: text(&error["message"]).unwrap_or_else(|| "the tool failed".to_owned()),
            hint: text(&error["hint"]),
            data: Some(error["data"].take()).filter(|data| !data.is_null()),
        }
    }

    /// Wrong arguments.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { exit: USAGE, ..Self::other("usage", message, hint) }
    }

    /// The identity of the changes that need approval, if the call failed for that.
    pub fn identity(&self) -> Option<String> {
        self.data.as_ref()?["identity"].as_str().map(str::to_owned)
    }

    /// With commands and flags in its hint in place of tools and arguments.
    pub fn in_commands(self) -> Self {
        let hint = self.hint.as_deref().map(words::hint);
        Self { hint, ..self }
    }

    pub fn json(&self) -> Value {
        let mut fields = json!({ "code": self.code, "message": self.message });
        if let Some(hint) = &self.hint {
            fields["hint"] = json!(hint);
        }
        if let Some(data) = &self.data {
            fields["data"] = data.clone();
        }
        fields
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let data = match &error {
            ConfigError::Fault { path, line, column, .. } => {
                Some(json!({ "file": path, "line": line, "column": column }))
            }
            ConfigError::Variable { name, .. } => Some(json!({ "variable": name })),
            ConfigError::Unreadable { path, .. } => Some(json!({ "file": path })),
        };
        let hint = error.hint();
        Self { exit: USAGE, code: "invalid_config".into(), message: error.to_string(), hint, data }
    }
}

impl From<ErrorObject> for Failure {
    fn from(error: ErrorObject) -> Self {
        let code = serde_json::to_value(error.data.kind).ok();
        let code = code.as_ref().and_then(Value::as_str).unwrap_or("internal");
        Self { hint: error.data.hint, ..Self::other(code, error.message, "") }
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        Self { exit: USAGE, ..Self::other("state_folder", error.to_string(), error.hint()) }
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        Self::other("key", error.to_string(), error.hint())
    }
}

impl From<NoVault> for Failure {
    fn from(error: NoVault) -> Self {
        Self {
            exit: NO_VAULT,
            data: Some(error.data()),
            ..Self::other("no_vault", error.to_string(), error.hint())
        }
    }
}

impl From<TokenError> for Failure {
    fn from(error: TokenError) -> Self {
        let hint = error.hint();
        let message = match std::error::Error::source(&error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        };
        Self { hint, ..Self::other("token", message, "") }
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        let code = serde_json::to_value(error.code).ok();
        let code = code.as_ref().and_then(Value::as_str).unwrap_or("io_error").to_owned();
        Self { exit: OTHER, code, message: error.message, hint: error.hint, data: error.data }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::other("io_error", error.to_string(), "`steward doctor` may say more")
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        let message = format!("{error:#}");
        Self::other("io_error", message, "`steward doctor` may say more")
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let message = error.to_string();
        let (exit, code, data, hint) = match error {
            StartError::AlreadyRunning(running) => {
                let hint = "`steward status` says more; `steward call` uses the running daemon automatically";
                (ALREADY_RUNNING, "already_running", Some(json!(running)), Some(hint.to_owned()))
            }
            StartError::Busy { pid } => {
                let hint = "a daemon is starting, or a long change is running; try again soon";
                let data = pid.map(|pid| json!({ "pid": pid }));
                (ALREADY_RUNNING, "already_running", data, Some(hint.to_owned()))
            }
            StartError::PortInUse { port } => {
                let hint =
                    "`--port 0` takes any free port; `--port N` or `[server] port` names another";
                (OTHER, "port_in_use", Some(json!({ "port": port })), Some(hint.to_owned()))
            }
            StartError::NotMounted { root, marker } => {
                let hint = format!(
                    "mount the disk and try again; if the folder was emptied on purpose, delete `{}` first",
                    marker.display()
                );
                let data = json!({ "root": root, "marker": marker });
                (NO_VAULT, "not_mounted", Some(data), Some(hint))
            }
            StartError::Vault { hint, .. } => (OTHER, "vault", None, hint),
            StartError::Journal { hint, .. } => (OTHER, "journal", None, hint),
            StartError::Folder(error) => return error.into(),
            StartError::Other(error) => return error.into(),
        };
        Self { exit, code: code.to_owned(), message, hint, data }
    }
}

impl From<TapeError> for Failure {
    fn from(error: TapeError) -> Self {
        Self::other("recording", error.to_string(), error.hint())
    }
}
