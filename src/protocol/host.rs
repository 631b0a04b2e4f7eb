//! `_vault/host/*`: what only the program can do that has the vault open, Obsidian with the plugin.
//! The daemon asks the one client that had the focus last; that client tells it what is open.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Something that only the program can do that has the vault open. A client says in `initialize`
/// which it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum HostOperation {
    /// Say which note is open: `_vault/host/active_note`.
    ActiveNote,
    /// Open a note: `_vault/host/open`.
    Open,
    /// Show a notice: `_vault/host/notice`.
    Notice,
    /// Delete a file as its user has set it: `_vault/host/trash`.
    Trash,
    /// Rename a file and let links follow: `_vault/host/rename`.
    Rename,
    /// One that this version does not know; it is never asked for.
    #[serde(other)]
    Unknown,
}

impl HostOperation {
    /// The word for it on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ActiveNote => "active_note",
            Self::Open => "open",
            Self::Notice => "notice",
            Self::Trash => "trash",
            Self::Rename => "rename",
            Self::Unknown => "unknown",
        }
    }
}

/// What goes with every request to a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HostCall {
    /// Names the operation, in this run of the daemon and no other. One that was done already is
    /// answered with how things stand and not done again.
    pub op_id: String,
    /// In so many milliseconds nobody waits any more: what has not begun by then is not to be
    /// begun.
    pub deadline_ms: u64,
}

/// Which note is open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostActiveNoteParams {
    /// What goes with every request to a host.
    #[serde(flatten)]
    pub call: HostCall,
}

/// It.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostActiveNoteResult {
    /// None where no note is open.
    pub note: Option<ActiveNote>,
}

/// The note that a person has before them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ActiveNote {
    /// Its path in the vault.
    pub path: String,
    /// The line with the cursor, from 1; left out where it is only being read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub line: Option<u32>,
    /// What is selected in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub selection: Option<Selection>,
}

/// A selected text. It may not have been saved yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// The text; at most 100,000 characters of it.
    pub text: String,
    /// The line it begins in, from 1.
    pub start_line: u32,
    /// The line it ends in.
    pub end_line: u32,
}

/// Open a note.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostOpenParams {
    /// What goes with every request to a host.
    #[serde(flatten)]
    pub call: HostCall,
    /// Its path in the vault.
    pub path: String,
    /// The line to show, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub line: Option<u32>,
}

/// What is open afterwards.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostOpenResult {
    /// The path of the note that is open now.
    pub path: Option<String>,
}

/// Show a notice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostNoticeParams {
    /// What goes with every request to a host.
    #[serde(flatten)]
    pub call: HostCall,
    /// What it says: plain text, at most 1,000 characters.
    pub text: String,
    /// How long it stays, in seconds; as long as notices do if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub seconds: Option<u32>,
}

/// Whether it is to be seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostNoticeResult {
    /// Whether it was shown.
    pub shown: bool,
}

/// Delete a file or a folder as the user has set it in Obsidian.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostTrashParams {
    /// What goes with every request to a host.
    #[serde(flatten)]
    pub call: HostCall,
    /// Its path in the vault.
    pub path: String,
}

/// How it stands afterwards.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostTrashResult {
    /// Whether something lies at the path.
    pub exists: bool,
}

/// Rename a file or a folder, and let links follow. Asked only where Obsidian does that without
/// asking its user (`alwaysUpdateLinks`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostRenameParams {
    /// What goes with every request to a host.
    #[serde(flatten)]
    pub call: HostCall,
    /// Its path in the vault.
    pub path: String,
    /// The path it is to have; nothing lies there.
    pub to: String,
}

/// How it stands afterwards.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HostRenameResult {
    /// Whether something lies at the old path.
    pub exists: bool,
    /// Whether something lies at the new one.
    pub to_exists: bool,
}

/// The client has, or has no longer, the focus.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HostFocusParams {
    /// Whether it has it.
    pub focused: bool,
}

/// Another note is open in the client, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ActiveNoteChangedParams {
    /// Its path in the vault.
    pub path: Option<String>,
}

/// What a person's program asks of the program that has the vault open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub enum HostRequestParams {
    /// Which note is open.
    ActiveNote,
    /// Open a note.
    Open {
        /// Its path, found as tools find one.
        path: String,
        /// The line to show, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        line: Option<u32>,
    },
    /// Show a notice.
    Notice {
        /// What it says: plain text, at most 1,000 characters.
        text: String,
        /// How long it stays, in seconds, up to 60.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        seconds: Option<u32>,
    },
    /// Delete a file as Obsidian does. It is not recorded and cannot be undone by the steward.
    Trash {
        /// Its path, exactly.
        path: String,
    },
    /// Rename a file as Obsidian does. It is not recorded and cannot be undone by the steward.
    Rename {
        /// Its path, exactly.
        path: String,
        /// The path it is to have.
        to: String,
    },
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostRequestResult {
    /// The name of the client that did it.
    pub client: String,
    /// The note that is open: after `active_note` and `open`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub note: Option<ActiveNote>,
    /// After `trash` and `rename`, what the disk says: whether it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub done: Option<bool>,
}

/// Which client has the vault open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HostState {
    /// The name it gave of itself.
    pub client: String,
    /// What it can do.
    pub operations: Vec<HostOperation>,
    /// The note that is open in it, as far as it told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub active_note: Option<String>,
}
