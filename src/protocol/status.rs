//! `_vault/status`: the state of the daemon and the vault.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::host::HostState;
use super::inbox::SmartHoleState;
use super::policy::ModeResult;
use super::settings::ConfigProblem;

/// No params.
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
    /// The time since its start, in seconds.
    pub uptime_seconds: u64,
    /// Current connections, including this one.
    pub connections: u32,
    /// The id of this run of the daemon.
    pub epoch: String,
    /// The number of the last event so far.
    pub seq: u64,
    pub settings: SettingsState,
    /// The confinement of the daemon by the operating system, in case a bug is exploited.
    pub confinement: Confinement,
    /// The connection to SmartHole, which receives voice messages.
    pub smarthole: SmartHoleState,
    /// The approval mode; null if it cannot be read: then nothing is changed.
    pub mode: Option<ModeResult>,
    /// The client that has the vault open, which opens notes on request; null if none is connected.
    pub host: Option<HostState>,
    pub memory: MemoryState,
    /// The state of the search in notes; null for callers that may not see the whole vault.
    pub knowledge: Option<KnowledgeState>,
    pub vault: VaultState,
}

/// The state of the indexes that `search_notes` uses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct KnowledgeState {
    /// Number of notes in the word index; 0 before the first search.
    pub notes: u64,
    /// The embedding model; null if search by meaning is switched off.
    pub model: Option<String>,
    /// Whether notes still have to be embedded, from the first search on.
    pub meaning_pending: bool,
    /// Number of embedded chunks.
    pub chunks: u64,
    /// The model that can be installed; null if the settings do not name it.
    pub better: Option<BetterState>,
    /// PDFs whose text was read; null if the settings do not allow it.
    pub pdfs: Option<u64>,
}

/// A model of meaning that is installed in addition to the built-in one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BetterState {
    pub model: String,
    pub state: BetterModel,
    /// Notes that it has read.
    pub read: u64,
    /// Notes that it is to read.
    pub all: u64,
    /// Why it does not read the rest now; null if nothing prevents it.
    pub paused: Option<Pause>,
}

/// What prevents work in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// The computer runs on its battery.
    Battery,
}

/// Whether a model can be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum BetterModel {
    #[default]
    Ready,
    /// It is not installed.
    Missing,
    /// Its file is damaged.
    Damaged,
}

/// Memory use in bytes, by part. A part's own figure does not include the allocator's overhead.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MemoryState {
    /// All memory of the process; null if the system does not report it.
    pub total: Option<u64>,
    /// Mapped files, such as the program's, which the system shares between processes and can
    /// evict; null if the system does not report it.
    pub program: Option<u64>,
    /// The catalogue: path, size and times of each file.
    pub catalogue: u64,
    /// Links and tags of all notes; 0 before they are first needed.
    pub links: u64,
    /// The text index.
    pub text_index: u64,
    /// Texts of notes that are cached for searching.
    pub resident_text: u64,
    /// The word index of all notes, for ranking; 0 before the first search.
    pub words: u64,
    /// The embeddings of all notes.
    pub meaning: u64,
    /// The maximum size of the database's page cache.
    pub store: u64,
    /// Everything else: compiled patterns, stacks, pending requests, and memory that the allocator
    /// keeps; null if it is unknown.
    pub other: Option<u64>,
}

/// State of the settings file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SettingsState {
    /// The file's path; it need not exist.
    pub file: String,
    /// The reason why the file is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub problem: Option<ConfigProblem>,
    /// Settings whose new value takes effect at the next start.
    pub needs_restart: Vec<String>,
}

/// The confinement of the daemon.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct Confinement {
    pub state: ConfinementState,
    /// The missing restrictions, or the reason why the daemon is not confined; one per line.
    pub lacks: Vec<String>,
}

/// The confinement of the daemon.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ConfinementState {
    /// It can write only to its vault and its own folders, and open no connections.
    Full,
    /// The same, except for the listed restrictions.
    Partial,
    /// Switched off in the settings.
    Off,
    /// The system does not support it.
    #[default]
    NotPossible,
}

/// State of the vault.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct VaultState {
    /// The name of its folder.
    pub name: String,
    /// Its absolute path.
    pub path: String,
    /// Number of Markdown files.
    pub notes: u64,
    /// Number of all files, including notes.
    pub files: u64,
    pub folders: u64,
    /// Symbolic links that lead out of the vault or nowhere; listed, not followed.
    pub links: u64,
    /// Conflict copies of sync programs, by their names; `list_files` marks them.
    pub conflicts: u64,
    /// Duration of the last scan in milliseconds.
    pub scanned_ms: u64,
    pub watching: Watching,
    /// Information for a person, one line each.
    pub warnings: Vec<String>,
}

/// The way in which changes by other programs are noticed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Watching {
    /// By the system's notifications.
    Events,
    /// By periodic scans.
    Polling {
        /// The interval in seconds.
        seconds: u32,
        /// The reason why the system's notifications are not used.
        reason: String,
    },
    /// Not at all.
    #[default]
    Off,
}
