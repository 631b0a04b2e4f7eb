//! Settings: `_vault/settings/get`, `_vault/settings/set`, and the events when the file changes.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::events::EventMeta;

/// No params.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SettingsGetParams {}

/// All settings in effect. A settings file that has changed and is valid is loaded first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SettingsGetResult {
    /// The settings file.
    pub file: String,
    /// Whether the file exists; it need not.
    pub exists: bool,
    /// The reason why the file is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub problem: Option<ConfigProblem>,
    /// The settings, sorted by name.
    pub settings: Vec<Setting>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Setting {
    /// Section and name: `server.port`.
    pub key: String,
    /// The value in effect; null if there is none.
    pub value: Value,
    /// The value without file, environment and flags.
    pub default: Value,
    pub source: SettingSource,
    /// The variable or flag that sets the value, which the file cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub takes_effect: TakesEffect,
    /// The value after the next start, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_restart: Option<Value>,
    /// Whether `_vault/settings/set` can change it: settings that weaken security can only be changed in the
    /// file, and the daemon must be able to write to the file.
    pub settable: bool,
    /// A description of the setting.
    pub doc: String,
}

/// The origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SettingSource {
    /// The default.
    Default,
    /// The settings file.
    File,
    /// An environment variable.
    Environment,
    /// A command-line flag.
    Flag,
}

/// When a new value takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum TakesEffect {
    NextCall,
    NextConnection,
    /// At the next start of the daemon.
    Restart,
}

/// The setting to change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct SettingsSetParams {
    /// Section and name: `server.port`.
    pub key: String,
    /// The new value; null removes it from the file.
    pub value: Value,
}

/// The effect of the change; the file was written and loaded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SettingsSetResult {
    /// Settings whose value in effect changed.
    pub changed: Vec<String>,
    /// Settings whose new value takes effect at the next start.
    pub needs_restart: Vec<String>,
    /// The variable or flag that overrides the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub overridden_by: Option<String>,
}

/// The reason why the settings file is invalid.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct ConfigProblem {
    /// The settings file.
    pub file: String,
    /// Line number, from 1, if the problem has a position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The problem.
    pub message: String,
    /// Advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// New settings are in effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigReloadedParams {
    /// Settings whose value in effect changed.
    pub changed: Vec<String>,
    /// Settings whose new value takes effect at the next start.
    pub needs_restart: Vec<String>,
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}

/// The settings file is invalid; the old settings stay in effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ConfigRejectedParams {
    /// The problem and its position.
    #[serde(flatten)]
    pub problem: ConfigProblem,
    #[serde(rename = "_meta")]
    pub meta: EventMeta,
}
