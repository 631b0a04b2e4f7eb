//! The `[servers.NAME]` sections of the configuration file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, de};

/// The longest time limit of a call, in seconds.
pub const MAX_SECONDS: u32 = 600;

/// The longest name of a server, in characters.
const MAX_NAME: usize = 32;

/// The servers by name, read from the user's settings file alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings {
    /// By name.
    #[serde(deserialize_with = "checked")]
    pub entries: BTreeMap<String, ServerEntry>,
}

/// An MCP server that the steward starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerEntry {
    /// The program, an absolute path or one that begins with `~/`.
    pub command: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Further environment variables; `${env:X}` and `${key:X}` stand for values kept elsewhere.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Whether it may open network connections.
    #[serde(default)]
    pub network: bool,
    /// Its tools that may be called without a question, by their own names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// The time limit of a call.
    #[serde(default = "usual_seconds")]
    pub timeout_seconds: u32,
    /// Whether its tools are offered.
    #[serde(default = "yes")]
    pub enabled: bool,
}

fn usual_seconds() -> u32 {
    60
}

fn yes() -> bool {
    true
}

impl ServerEntry {
    /// A server with this command, and every other setting at its default.
    pub fn new(command: impl Into<String>, args: Vec<String>) -> Self {
        Self {
            command: command.into(),
            args,
            env: BTreeMap::new(),
            network: false,
            allow: Vec::new(),
            timeout_seconds: usual_seconds(),
            enabled: yes(),
        }
    }

    /// The program and its arguments.
    pub fn line(&self) -> Vec<String> {
        std::iter::once(&self.command).chain(&self.args).cloned().collect()
    }

    fn fault(&self) -> Option<String> {
        if !Path::new(&self.command).is_absolute() && !self.command.starts_with("~/") {
            let said = "must be an absolute path, or begin with `~/`: it is looked for nowhere";
            return Some(format!("the program `{}` {said}", self.command));
        }
        if self.line().iter().chain(self.env.values()).any(|part| part.contains('\0')) {
            return Some("its command or `env` holds a NUL".to_owned());
        }
        if !(1..=MAX_SECONDS).contains(&self.timeout_seconds) {
            return Some(format!("`timeout_seconds` must be from 1 to {MAX_SECONDS}"));
        }
        let is_wrong = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        let wrong = self.env.keys().find(is_wrong);
        wrong.map(|name| format!("`{name}` is not the name of an environment variable"))
    }
}

/// Whether a server can have this name. It stands before `__` in the names of tools.
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    let is_whole = !name.contains("__") && !name.starts_with('_') && !name.ends_with('_');
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(plain) && is_whole
}

/// A valid name as near to `name` as possible; `None` if nothing of it can be used.
pub fn nearest_name(name: &str) -> Option<String> {
    let mut near = String::new();
    for c in name.to_ascii_lowercase().chars() {
        match c {
            c if c.is_ascii_lowercase() || c.is_ascii_digit() => near.push(c),
            _ if near.is_empty() || near.ends_with(['-', '_']) => {}
            '_' => near.push('_'),
            _ => near.push('-'),
        }
        if near.len() == MAX_NAME {
            break;
        }
    }
    let near = near.trim_matches(['-', '_']).to_owned();
    is_name(&near).then_some(near)
}

fn checked<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, ServerEntry>, D::Error> {
    let entries = BTreeMap::<String, ServerEntry>::deserialize(deserializer)?;
    for (name, entry) in &entries {
        if !is_name(name) {
            return Err(de::Error::custom(format!(
                "the server's name `{name}` may only hold a-z, 0-9, `-` and single `_`, at most {MAX_NAME}"
            )));
        }
        if let Some(fault) = entry.fault() {
            return Err(de::Error::custom(format!("the server `{name}`: {fault}")));
        }
    }
    Ok(entries)
}
