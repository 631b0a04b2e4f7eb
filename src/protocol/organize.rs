//! `_vault/organize/*`: drafts rules from a sentence, stops jobs. `_vault/rules/*`: rules that run by themselves.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// The rules to draft.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct OrganizeDraftParams {
    /// A description: "old meeting notes into the archive, by year".
    pub text: String,
    /// Existing rules to change, as YAML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub rules: Option<String>,
}

/// The drafted rules and their plan. Nothing is enabled, and only the plan is stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct OrganizeDraftResult {
    /// The rules, as YAML.
    pub rules: String,
    /// The model that drafted the rules.
    pub model: String,
    /// An explanation of the rules and of the notes that they match.
    pub text: String,
    /// The plan, as in the result of `plan_changes`.
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

/// Lists the enabled rules.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesListParams {
    /// Also return changes in their files since they were enabled.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub diff: bool,
}

/// The enabled rules.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesListResult {
    /// In the order in which they were enabled.
    pub rules: Vec<EnabledRuleInfo>,
    /// Why no rule runs by itself now: the settings, or the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub held: Option<String>,
}

/// Enables rules.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RulesEnableParams {
    /// A rule file in the vault, an absolute path, or the name of a rule: an enabled one, or one in a file of
    /// `organize.rules`.
    pub file: String,
    /// Only rules of these names; by default all with a trigger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub names: Vec<String>,
    /// They may move files to the trash without asking.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub with_trash: bool,
    /// Their plans wait for a person's approval.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub ask: bool,
    /// Hashes of the rules that the person approved; if they differ, nothing is enabled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub agreed: Vec<String>,
    /// Only preview.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub dry_run: bool,
}

/// What was, or would be, enabled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesEnableResult {
    pub rules: Vec<EnabledRuleInfo>,
}

/// Disables a rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesDisableParams {
    pub name: String,
}

/// What was disabled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesDisableResult {
    pub rule: EnabledRuleInfo,
}

/// An enabled rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EnabledRuleInfo {
    pub name: String,
    /// Its file: a path in the vault, or an absolute path.
    pub source: String,
    /// The hash of its meaning.
    pub hash: String,
    /// A description, as a sentence.
    pub does: String,
    /// `automatic`, `ask`, `stopped`, or `changed` if its file differs from what was enabled.
    pub state: String,
    /// Why it does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reason: Option<String>,
    /// The folders that it may touch; `/` is the whole vault.
    pub folders: Vec<String>,
    /// Kinds of actions: `move`, `set`, `trash` and others.
    pub actions: Vec<String>,
    /// Whether it may move files to the trash without asking.
    pub with_trash: bool,
    /// Local time.
    pub enabled: String,
    /// The program in which it was enabled.
    pub enabled_by: String,
    /// The plan that waits for a person's approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub waiting: Option<u64>,
    /// Changes in its file since it was enabled, as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub diff: Option<String>,
}

/// Describes the rules of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesDescribeParams {
    /// The number of the plan.
    pub plan: u64,
}

/// The rules of a plan, for the person who decides about them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesDescribeResult {
    /// The rules as text, if they were given as one text; absent if they come from files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub text: Option<String>,
    /// In the order of the text; empty for a plan without rules.
    pub rules: Vec<DescribedRule>,
    /// Probable mistakes in the rules, each with its place.
    pub warnings: Vec<String>,
}

/// A rule of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct DescribedRule {
    pub name: String,
    /// The hash of its meaning.
    pub hash: String,
    /// What it means, as a sentence that is made from the rule.
    pub does: String,
    /// Its file: a path in the vault, or an absolute path; absent if it is not stored in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub source: Option<String>,
    /// Whether it says when it runs by itself, so that it can be enabled.
    pub runs: bool,
    /// `automatic`, `ask`, `stopped` or `changed`, if it is enabled with this meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub state: Option<String>,
    /// The number of files that it matches now, regardless of earlier rules.
    pub fits: usize,
    /// The number of the plan's items that it took.
    pub takes: usize,
    /// The first five of these items.
    pub examples: Vec<RuleExample>,
    /// The first three files that fail a single part of its condition, with that part.
    pub near: Vec<RuleExample>,
}

/// A file that a rule took, or nearly took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RuleExample {
    pub path: String,
    /// Parts of the rule's condition with the values that they read.
    pub parts: Vec<String>,
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
