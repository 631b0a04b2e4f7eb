//! The settings of a guest: its program and its permissions.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::hooks::program_path::at_home;

/// The program and permissions of a guest, from `[agents.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    pub env: Variables,
    /// Folders that it may write, besides its own.
    pub config_folders: Vec<PathBuf>,
    /// The `_meta` of the request that begins its session.
    pub meta: Value,
    /// The mode of its sessions, by the guest's name for it.
    pub session_mode: Option<String>,
    /// TCP ports that it may connect to, besides 443 and the daemon's own.
    pub ports: Vec<u16>,
    /// The memory limit for it and everything that it starts, in MB.
    pub memory_mb: u32,
    /// Whether it passes its environment to its MCP servers, so that the token can be in it.
    pub passes_env: bool,
}

/// Environment variables. Their values may be keys: neither `Debug` nor serialization shows them.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Variables(pub BTreeMap<String, String>);

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Serialize for Variables {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, mark(value))))
    }
}

/// A fingerprint of a value, stable within this run, to notice changes.
fn mark(value: &str) -> String {
    static KEY: OnceLock<[u8; 32]> = OnceLock::new();
    let key = KEY.get_or_init(|| {
        let mut key = [0; 32];
        let _ = getrandom::fill(&mut key);
        key
    });
    let hash = blake3::keyed_hash(key, value.as_bytes()).to_hex();
    format!("… ({})", &hash[..8])
}

impl Variables {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is wrong with the names, for people.
    pub fn fault(&self) -> Option<String> {
        let is_wrong = |name: &&String| {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            name.is_empty() || !name.chars().all(plain) || name.starts_with("STEWARD_")
        };
        let wrong = self.0.keys().find(is_wrong)?;
        Some(format!("`env`: `{}` cannot be set", wrong.escape_debug()))
    }
}

/// What is wrong with a command, for people.
pub fn command_fault(command: &[String]) -> Option<String> {
    let program = command.first()?;
    let bare = !program.contains(['/', '\\']);
    let is_fit = !program.is_empty() && (bare || at_home(program).is_absolute());
    (!is_fit).then(|| {
        format!(
            "`command`: `{}` must be the name of a program or an absolute path; its arguments follow it as \
             entries of their own",
            program.escape_debug()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_variables_are_not_shown() {
        let variables = Variables([("KEY".to_owned(), "sk-secret".to_owned())].into());
        let shown = format!("{variables:?} {}", serde_json::to_string(&variables).unwrap());
        assert!(shown.contains("KEY") && !shown.contains("sk-secret"), "{shown}");
        let ours = Variables([("STEWARD_GUEST".to_owned(), "x".to_owned())].into());
        assert!(variables.fault().is_none() && ours.fault().is_some());
    }

    #[test]
    fn a_command_is_a_program_and_not_a_line() {
        let fault = |program: &str| command_fault(&[program.to_owned(), "x".to_owned()]);
        let absolute = if cfg!(windows) { r"C:\gemini" } else { "/opt/gemini" };
        assert!(fault("gemini").is_none() && fault(absolute).is_none());
        assert!(fault("~/bin/gemini").is_none());
        assert!(fault("./gemini").is_some() && fault("").is_some());
    }
}
