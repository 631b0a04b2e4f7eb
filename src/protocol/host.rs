//! `_vault/host/*`: requests to the program that has the vault open, Obsidian with the plugin. The
//! daemon sends them to the client that had the focus last; that client reports the active note.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// An operation of the program that has the vault open. A client names those that it supports in
/// `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum HostOperation {
    /// Return the active note: `_vault/host/active_note`.
    ActiveNote,
    /// Open a note: `_vault/host/open`.
    Open,
    /// Show a notice: `_vault/host/notice`.
    Notice,
    /// Delete a file with the user's settings: `_vault/host/trash`.
    Trash,
    /// Rename a file and update links: `_vault/host/rename`.
    Rename,
    /// An operation that this version does not know; it is never requested.
    #[serde(other)]
    Unknown,
}

// The operation's name on the wire.
words!(pub HostOperation::word {
    ActiveNote => "active_note", Open => "open", Notice => "notice", Trash => "trash",
    Rename => "rename", Unknown => "unknown",
});

/// Members of every request to a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HostCall {
    /// Id of the operation in this run of the daemon. A repeated operation is not executed again;
    /// its answer is the current state.
    pub op_id: String,
    /// Time limit in milliseconds: an operation that has not begun by then must not begin.
    pub deadline_ms: u64,
}

/// Asks for the active note.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostActiveNoteParams {
    #[serde(flatten)]
    pub call: HostCall,
}

/// The active note.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostActiveNoteResult {
    /// None if no note is open.
    pub note: Option<ActiveNote>,
}

/// The note that the person sees, or saw last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ActiveNote {
    pub path: String,
    /// Line number of the cursor, from 1; undefined in reading view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The selected text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
}

/// Selected text. It may not be saved yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// At most 100,000 characters.
    pub text: String,
    /// First line, from 1.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
}

/// Opens a note.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostOpenParams {
    #[serde(flatten)]
    pub call: HostCall,
    pub path: String,
    /// Line number to show, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub line: Option<u32>,
}

/// The active note after the request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostOpenResult {
    pub path: Option<String>,
}

/// Shows a notice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostNoticeParams {
    #[serde(flatten)]
    pub call: HostCall,
    /// Plain text, at most 1,000 characters.
    pub text: String,
    /// Duration of the notice; by default the program's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub seconds: Option<u32>,
}

/// Whether the notice was shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostNoticeResult {
    pub shown: bool,
}

/// Deletes a file or a folder with the user's settings in Obsidian.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostTrashParams {
    #[serde(flatten)]
    pub call: HostCall,
    pub path: String,
}

/// The state after the request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostTrashResult {
    /// Whether the path exists.
    pub exists: bool,
}

/// Renames a file or a folder and updates links. Requested only if Obsidian does so without asking
/// its user (`alwaysUpdateLinks`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct HostRenameParams {
    #[serde(flatten)]
    pub call: HostCall,
    pub path: String,
    /// The new path, which does not exist.
    pub to: String,
}

/// The state after the request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HostRenameResult {
    /// Whether the old path exists.
    pub exists: bool,
    /// Whether the new path exists.
    pub to_exists: bool,
}

/// The client's window gained or lost the focus.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HostFocusParams {
    pub focused: bool,
}

/// The active note of the client changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ActiveNoteChangedParams {
    /// Its path; none if no note is open.
    pub path: Option<String>,
}

/// A request of a person's program to the program that has the vault open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub enum HostRequestParams {
    /// Return the active note.
    ActiveNote,
    /// Open a note.
    Open {
        /// The path, resolved as in tools.
        path: String,
        /// Line number to show, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        line: Option<u32>,
    },
    /// Show a notice.
    Notice {
        /// Plain text, at most 1,000 characters.
        text: String,
        /// Duration of the notice, up to 60 seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        seconds: Option<u32>,
    },
    /// Delete a file as Obsidian does. It is not in the journal and the steward cannot undo it.
    Trash {
        /// The exact path.
        path: String,
    },
    /// Rename a file as Obsidian does. It is not in the journal and the steward cannot undo it.
    Rename {
        /// The exact path.
        path: String,
        /// The new path.
        to: String,
    },
}

/// The result of a request to the host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct HostRequestResult {
    /// Name of the client that answered.
    pub client: String,
    /// The active note, after `active_note` and `open`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<ActiveNote>,
    /// Whether the operation succeeded, as verified on disk; after `trash` and `rename`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<bool>,
}

/// The client that has the vault open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HostState {
    /// The client's own name.
    pub client: String,
    pub operations: Vec<HostOperation>,
    /// The active note, as the client reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub active_note: Option<String>,
}
