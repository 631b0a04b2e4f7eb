//! Events: `_vault/subscribe`, `_vault/changed`, `_vault/changes`, `_vault/plan` and `_vault/job`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// From where to hear events. Without members: from now on. With both: from after event `after` of
/// the run `epoch`, as a client does that lost its connection.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SubscribeParams {
    /// The run of the daemon that `after` counts in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub epoch: Option<String>,
    /// The last event the client has seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub after: Option<u64>,
}

/// What follows this answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct SubscribeResult {
    /// What follows.
    pub mode: SubscribeMode,
    /// This run of the daemon.
    pub epoch: String,
    /// The number of the last event so far; a replay ends with it.
    pub seq: u64,
}

/// What follows the answer to a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SubscribeMode {
    /// Every event from now on.
    Live,
    /// Every event after `after`, then those from now on. Nothing is missing.
    Replay,
    /// Events were missed that are no longer kept, or the daemon has been restarted: look at the
    /// vault anew. Then every event from now on.
    Snapshot,
}

/// One change in the vault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ChangedParams {
    /// What happened.
    pub kind: ChangedKind,
    /// What it happened to; the new path of something renamed.
    pub path: String,
    /// The old path of something renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub from: Option<String>,
    /// What lies, or lay, there.
    pub entry: EntryKind,
    /// The event's number.
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ChangedKind {
    /// It is new.
    Created,
    /// Its content is another.
    Modified,
    /// It is gone.
    Removed,
    /// It has another path.
    Renamed,
}

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link that is not followed.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// What was applied, for a client to show and undo. The calls of a turn add to one change set: here is
/// what one of them did, and nothing that was told before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChangesParams {
    /// What was applied.
    pub change_set: ChangeSetInfo,
    /// The event's number.
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// Changes that went together, as `list_changes` shows them too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChangeSetInfo {
    /// Its number, which `undo` takes.
    pub id: u64,
    /// What it did, for people.
    pub title: String,
    /// When it was begun, local time.
    pub time: String,
    /// The program that asked for it.
    pub caller: String,
    /// The conversation it was asked for in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub conversation: Option<String>,
    /// The agent's turn it belongs to, as `_meta.vault.turn` of its events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub turn: Option<String>,
    /// What it took back: a change set (`17`) or one change (`17.2`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub undoes: Option<String>,
    /// Whether every change of it has been undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub undone: bool,
    /// The changes, at most a hundred.
    pub changes: Vec<ChangeInfo>,
    /// How many changes there are in all.
    pub total: u64,
}

/// One change of a change set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChangeInfo {
    /// Its number within the change set: `17.2`. `undo` takes it too.
    pub id: String,
    /// `created`, `modified`, `moved`, `deleted`, `restored`, `folder_made` or `folder_removed`.
    pub action: String,
    /// The path it has, or had, afterwards.
    pub path: String,
    /// The path before, of something moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub from: Option<String>,
}

/// A plan was made or changed. `show_plan` shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PlanParams {
    /// The plan.
    #[serde(flatten)]
    pub plan: PlanInfo,
    /// The event's number.
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// A plan, in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PlanInfo {
    /// Its number.
    pub plan: u64,
    /// What `apply_plan` takes to apply exactly this.
    pub identity: String,
    /// Notes and attachments that it would change.
    pub items: u64,
    /// The folders that it touches, by name.
    pub folders: Vec<String>,
}

/// A job began, came further, or stands otherwise. `list_jobs` has the whole of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct JobParams {
    /// The job.
    #[serde(flatten)]
    pub job: JobInfo,
    /// The event's number.
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// A job, in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct JobInfo {
    /// Its number.
    pub job: u64,
    /// The plan that it applies.
    pub plan: u64,
    /// `running`, `completed`, `failed`, `interrupted`, `cancelled`, `undone` or `partly_undone`.
    pub state: String,
    /// Items that are done.
    pub done: u64,
    /// All its items.
    pub total: u64,
    /// The folders that it touches, by name.
    pub folders: Vec<String>,
}

/// An event that is not for this client, in whose place this stands, so that numbers have no gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HiddenParams {
    /// The event's number.
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// What every event carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct EventMeta {
    /// Ours.
    pub vault: EventVaultMeta,
}

/// The event's place among all events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct EventVaultMeta {
    /// Its number, counted from 1 in each run of the daemon, without gaps.
    pub seq: u64,
}
