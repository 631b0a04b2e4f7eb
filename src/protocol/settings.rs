//! Settings: `_vault/settings/get`, `_vault/settings/set`, and what is told when the file changes.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::events::EventMeta;

/// Nothing to say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SettingsGetParams {}

/// Every setting as it holds in the daemon. A file that has changed and is right is taken first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SettingsGetResult {
    /// The file.
    pub file: String,
    /// Whether it is there; it need not be.
    pub exists: bool,
    /// Why the file as it is now does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub problem: Option<ConfigProblem>,
    /// The settings, sorted by name.
    pub settings: Vec<Setting>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Setting {
    /// Its section and its name: `server.port`.
    pub key: String,
    /// The value that holds; null where there is none.
    pub value: Value,
    /// The value without file, environment and flags.
    pub default: Value,
    /// Where the value comes from.
    pub source: SettingSource,
    /// The variable or the flag it comes from; the file cannot change it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub from: Option<String>,
    /// From when on a new value holds.
    pub takes_effect: TakesEffect,
    /// The value from the next start on, where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub after_restart: Option<Value>,
    /// Whether `_vault/settings/set` can change it: what loosens security is for the file alone, and the
    /// daemon has to be able to write that.
    pub settable: bool,
    /// What it is for.
    pub doc: String,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SettingSource {
    /// Nothing says otherwise.
    Default,
    /// The settings file.
    File,
    /// A variable of the environment.
    Environment,
    /// A flag of the command line.
    Flag,
}

/// From when on a new value holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum TakesEffect {
    /// From the next call on.
    NextCall,
    /// From the next connection on.
    NextConnection,
    /// From the next start of the daemon on.
    Restart,
}

/// What to change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct SettingsSetParams {
    /// Its section and its name: `server.port`.
    pub key: String,
    /// Its new value; null takes it out of the file.
    pub value: Value,
}

/// What came of it; the file is written and read again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SettingsSetResult {
    /// Settings that have another value now.
    pub changed: Vec<String>,
    /// Settings that the file gives another value from the next start on.
    pub needs_restart: Vec<String>,
    /// The variable or flag that is stronger than the file and keeps the value as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub overridden_by: Option<String>,
}

/// Why the settings file does not hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ConfigProblem {
    /// The file.
    pub file: String,
    /// The line, from 1, where the problem has a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub line: Option<u32>,
    /// The column in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub column: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub hint: Option<String>,
}

/// New settings hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigReloadedParams {
    /// Settings that have another value now.
    pub changed: Vec<String>,
    /// Settings that the file gives another value from the next start on.
    pub needs_restart: Vec<String>,
    /// The event's number.
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// The settings file is wrong; the old settings hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ConfigRejectedParams {
    /// What is wrong, and where.
    #[serde(flatten)]
    pub problem: ConfigProblem,
    /// The event's number.
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}
