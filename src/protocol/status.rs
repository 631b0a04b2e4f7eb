//! `_vault/status`: what the daemon knows of the vault and of itself.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::host::HostState;
use super::inbox::SmartHoleState;
use super::policy::ModeResult;
use super::settings::ConfigProblem;

/// Nothing to say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct StatusParams {}

/// The daemon's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StatusResult {
    /// The daemon's version.
    pub version: String,
    /// The daemon's process id.
    pub pid: u32,
    /// How long it has been running, in seconds.
    pub uptime_seconds: u64,
    /// Connections at the moment, this one included.
    pub connections: u32,
    /// This run of the daemon.
    pub epoch: String,
    /// The number of the last event so far.
    pub seq: u64,
    /// How the settings file stands.
    pub settings: SettingsState,
    /// What holds the daemon in, should a fault of its own be turned against its user.
    pub confinement: Confinement,
    /// The connection to SmartHole, which hears what is spoken.
    pub smarthole: SmartHoleState,
    /// How far callers are trusted with changes; null while that cannot be read, and nothing is
    /// changed then.
    pub mode: Option<ModeResult>,
    /// The client that has the vault open, which is asked to open notes; null where none is
    /// connected.
    pub host: Option<HostState>,
    /// Where the daemon's memory goes.
    pub memory: MemoryState,
    /// The vault.
    pub vault: VaultState,
}

/// Bytes of memory by part. What a part says of itself leaves the allocator's losses out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MemoryState {
    /// All that the process holds; null where the system does not say.
    pub total: Option<u64>,
    /// What is in memory of the program's file, and of other files that are mapped: the system
    /// shares it between processes and can let go of it; null where it does not say.
    pub program: Option<u64>,
    /// What is known of each file: its path, size and times.
    pub catalogue: u64,
    /// Links and tags of all notes; nothing before they are first asked for.
    pub links: u64,
    /// What the search knows of each note's text.
    pub text_index: u64,
    /// Texts of notes that are kept to be searched sooner.
    pub resident_text: u64,
    /// Pages of the database that are kept, at most.
    pub store: u64,
    /// The rest of it all: compiled patterns, stacks, what is under way, and what the allocator keeps
    /// of what was; null where that is not known.
    pub other: Option<u64>,
}

/// How the settings file stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SettingsState {
    /// The file; it need not exist.
    pub file: String,
    /// Why the file as it is now does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub problem: Option<ConfigProblem>,
    /// Settings that the file gives another value from the next start on.
    pub needs_restart: Vec<String>,
}

/// What holds the daemon in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct Confinement {
    /// How far.
    pub state: ConfinementState,
    /// What it lacks, or why there is none; a line each.
    pub lacks: Vec<String>,
}

/// How far the daemon is held in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ConfinementState {
    /// It writes to its vault and its own folders only, and opens no connections.
    Full,
    /// The same but for what is listed.
    Partial,
    /// Switched off in the settings.
    Off,
    /// The system knows no such thing.
    #[default]
    NotPossible,
}

/// What is known of the vault.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct VaultState {
    /// Its name: the name of its folder.
    pub name: String,
    /// Where it lies on this machine.
    pub path: String,
    /// Markdown files.
    pub notes: u64,
    /// Files of all kinds, notes included.
    pub files: u64,
    /// Folders.
    pub folders: u64,
    /// Symbolic links that lead out of the vault or nowhere; listed, never followed.
    pub links: u64,
    /// Conflict copies that sync programs left, by their names; `list_files` marks them.
    pub conflicts: u64,
    /// How long the last scan took, in milliseconds.
    pub scanned_ms: u64,
    /// How changes from outside are noticed.
    pub watching: Watching,
    /// What a person should know, one line each.
    pub warnings: Vec<String>,
}

/// How changes from outside are noticed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Watching {
    /// The system tells.
    Events,
    /// By looking now and then.
    Polling {
        /// How often, in seconds.
        seconds: u32,
        /// Why the system does not tell.
        reason: String,
    },
    /// Not at all.
    #[default]
    Off,
}
