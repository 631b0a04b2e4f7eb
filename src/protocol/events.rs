//! Events: `_vault/subscribe`, `_vault/changed`, `_vault/changes`, `_vault/plan` and `_vault/job`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The event to start after. Without members: only new events. With both: the events after event
/// `after` of the run `epoch`, for a client that lost its connection.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct SubscribeParams {
    /// The run of the daemon in which `after` is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// The last event that the client has received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// The subscription has started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct SubscribeResult {
    pub mode: SubscribeMode,
    /// The current run of the daemon.
    pub epoch: String,
    /// Number of the last event so far; a replay ends with it.
    pub seq: u64,
}

/// The events that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SubscribeMode {
    /// New events.
    Live,
    /// Events after `after`, then new ones. None is missing.
    Replay,
    /// Events were missed that are no longer stored, or the daemon was restarted: read the vault's
    /// state again. New events follow.
    Snapshot,
}

/// A change of a file or folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ChangedParams {
    pub kind: ChangedKind,
    /// The path; the new one for a rename.
    pub path: String,
    /// The old path for a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub from: Option<String>,
    pub entry: EntryKind,
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// The kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ChangedKind {
    Created,
    Modified,
    Removed,
    Renamed,
}

/// The kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    File,
    Folder,
    /// A symbolic link that is not followed.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// A change set was applied, for clients to show and undo. The calls of a turn add to one change set: this event
/// has only the new changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChangesParams {
    pub change_set: ChangeSetInfo,
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// A change set, as in `list_changes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ChangeSetInfo {
    /// Its number, which `undo` takes.
    pub id: u64,
    pub title: String,
    /// Local time of its start.
    pub time: String,
    /// The program that requested it.
    pub caller: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The agent's turn, as in `_meta.vault.turn` of its events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The change set (`17`) or change (`17.2`) that it undid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// Whether all its changes have been undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub undone: bool,
    /// At most a hundred.
    pub changes: Vec<ChangeInfo>,
    /// Number of all changes.
    pub total: u64,
}

/// A change of a change set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChangeInfo {
    /// Number of the change set and of the change: `17.2`. `undo` takes it, too.
    pub id: String,
    /// `created`, `modified`, `moved`, `deleted`, `restored`, `folder_made` or `folder_removed`.
    pub action: String,
    /// The path after the change.
    pub path: String,
    /// The path before a move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub from: Option<String>,
}

/// A plan was created or changed. `show_plan` shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PlanParams {
    #[serde(flatten)]
    pub plan: PlanInfo,
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// A summary of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PlanInfo {
    /// The plan's number.
    pub plan: u64,
    /// The hash that `apply_plan` takes, so that exactly this plan is applied.
    pub identity: String,
    /// Number of notes and attachments that the plan would change.
    pub items: u64,
    /// The folders that it touches, sorted by name.
    pub folders: Vec<String>,
}

/// A job began, progressed, or changed its state. `list_jobs` has the details.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct JobParams {
    #[serde(flatten)]
    pub job: JobInfo,
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// A summary of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct JobInfo {
    /// The job's number.
    pub job: u64,
    /// The plan that it applies.
    pub plan: u64,
    /// `running`, `completed`, `failed`, `interrupted`, `cancelled`, `undone` or `partly_undone`.
    pub state: String,
    /// Number of items that are done.
    pub done: u64,
    /// Number of all items.
    pub total: u64,
    /// The folders that it touches, sorted by name.
    pub folders: Vec<String>,
    /// While a job runs that is applied in one piece: how far its change set is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub progress: Option<JobProgress>,
}

/// Progress of the change set that a job applies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct JobProgress {
    /// `storing` the texts in the journal, `writing` new texts next to their files, `placing` files.
    pub phase: String,
    /// Files of this phase that are done.
    pub done: u64,
    /// All files of this phase, with those in which links follow.
    pub total: u64,
}

/// Placeholder for an event that this client may not see, so that numbers have no gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HiddenParams {
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// The extension member `_meta` of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct EventMeta {
    pub vault: EventVaultMeta,
}

/// The event's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct EventVaultMeta {
    /// Counted from 1 in each run of the daemon, without gaps.
    pub seq: u64,
}
