//! `_vault/organize/draft`: rules drafted from a sentence. `_vault/organize/stop`: a running job stopped. `_vault/rules/list`, `_vault/rules/enable` and
//! `_vault/rules/disable`: rules that run by themselves. `_vault/rules/marks`: the files that rules with `once` took.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// What rules are to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct OrganizeDraftParams {
    /// In a person's words: "old meeting notes into the archive, by year".
    pub text: String,
    /// Rules that are to be changed so, as YAML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub rules: Option<String>,
}

/// Rules that a model drafted, and the plan that they make. Nothing is enabled, and nothing but the plan is stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct OrganizeDraftResult {
    /// The rules, as YAML.
    pub rules: String,
    /// The model that wrote them.
    pub model: String,
    /// What the rules mean and whom they take, as a text.
    pub text: String,
    /// The plan: what `plan_changes` answers.
    pub plan: Value,
}

/// A job to stop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct OrganizeStopParams {
    /// Its number.
    pub job: u64,
}

/// A job that was asked to stop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OrganizeStopResult {
    /// Its number.
    pub job: u64,
    /// `cancelled`; `completed` where all was done before; `running` while it is still at the piece that it was at.
    pub state: String,
    /// How many of its items are done. They stay.
    pub done: u64,
    /// All its items.
    pub total: u64,
    /// The change set of what is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub change_set: Option<u64>,
}

/// Which enabled rules are told of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesListParams {
    /// Also show what changed in their files since they were enabled.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub diff: bool,
}

/// The rules that a person enabled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesListResult {
    /// They, in the order in which they were enabled.
    pub rules: Vec<EnabledRuleInfo>,
    /// Why none of them runs by itself now: the settings, or the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub held: Option<String>,
}

/// Rules to enable.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RulesEnableParams {
    /// A rule file of the vault, or an absolute path; or the name of an enabled rule, or of one in a file of
    /// `organize.rules`.
    pub file: String,
    /// Only the rules of these names; otherwise all that say when they run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub names: Vec<String>,
    /// They may put files into the trash without asking.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub with_trash: bool,
    /// What they would do waits for a person.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub ask: bool,
    /// The hashes of the rules that the person was shown; with any other nothing is enabled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub agreed: Vec<String>,
    /// Only say what would be enabled.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub dry_run: bool,
}

/// What was enabled, or would be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesEnableResult {
    /// The rules.
    pub rules: Vec<EnabledRuleInfo>,
}

/// A rule to disable.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesDisableParams {
    /// Its name.
    pub name: String,
}

/// What was disabled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesDisableResult {
    /// The rule.
    pub rule: EnabledRuleInfo,
}

/// A rule that a person enabled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EnabledRuleInfo {
    /// Its name.
    pub name: String,
    /// Its file: a path in the vault, or an absolute one.
    pub source: String,
    /// The hash of what it means.
    pub hash: String,
    /// What it does, as a sentence.
    pub does: String,
    /// `automatic`, `ask`, `stopped`, or `changed` where its file no longer says what was enabled.
    pub state: String,
    /// Why it does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reason: Option<String>,
    /// The folders that it may touch; `/` is the whole vault.
    pub folders: Vec<String>,
    /// The actions it takes: `move`, `set`, `trash` and others.
    pub actions: Vec<String>,
    /// Whether it may put files into the trash without asking.
    pub with_trash: bool,
    /// When it was enabled, local time.
    pub enabled: String,
    /// The program of the person who enabled it.
    pub enabled_by: String,
    /// The plan of it that waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub waiting: Option<u64>,
    /// What changed in its file since it was enabled, as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub diff: Option<String>,
}

/// Which files that rules with `once` took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesMarksParams {
    /// A rule file of the vault, or an absolute path; or the name of an enabled rule, or of one in a file of
    /// `organize.rules`.
    pub file: String,
    /// Only the rules of these names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub names: Vec<String>,
    /// Only this file, by path or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub path: Option<String>,
    /// Forget that the rules took these files, so that they take them again.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub forget: bool,
}

/// The files that rules with `once` took; with `forget` those that were forgotten.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesMarksResult {
    /// The rules that have `once`.
    pub rules: Vec<MarkedRule>,
}

/// A rule with `once`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct MarkedRule {
    /// Its name.
    pub name: String,
    /// Its file: a path in the vault, or an absolute one.
    pub source: String,
    /// The files, by path; without those that somebody took back.
    pub files: Vec<MarkedFile>,
}

/// A file that a rule with `once` took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MarkedFile {
    /// Where it is now.
    pub path: String,
    /// The change set in which the rule took it.
    pub change_set: u64,
}
