//! `_vault/organize/*`: drafts rules from a sentence, stops jobs. `_vault/rules/*`: rules that run
//! automatically.

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

/// A job that received the request to stop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OrganizeStopResult {
    /// Its number.
    pub job: u64,
    /// `cancelled`; `completed` if all items were already done; `running` while the current batch
    /// is unfinished.
    pub state: String,
    /// Number of items that are done. They stay.
    pub done: u64,
    /// Number of all items.
    pub total: u64,
    /// The change set of the items that are done.
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
    /// The reason why no rule runs automatically now: the settings, or the mode.
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
    /// Only rules with these names; by default all with a trigger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub names: Vec<String>,
    /// The rules may move files to the trash without asking.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub with_trash: bool,
    /// The rules' plans wait for a person's approval.
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

/// The rules that were, or would be, enabled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesEnableResult {
    pub rules: Vec<EnabledRuleInfo>,
}

/// Disables a rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesDisableParams {
    pub name: String,
}

/// The rule that was disabled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesDisableResult {
    pub rule: EnabledRuleInfo,
}

/// An enabled rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct EnabledRuleInfo {
    pub name: String,
    /// Its file: a path in the vault, or an absolute path.
    pub source: String,
    /// The hash of its meaning.
    pub hash: String,
    /// Its meaning, as a sentence.
    pub does: String,
    /// `automatic`, `ask`, `stopped`, or `changed` if its file differs from the enabled version.
    pub state: String,
    /// The reason why it does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    pub waiting: Option<u64>,
    /// Changes in its file since it was enabled, as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
#[ts(optional_fields)]
pub struct DescribedRule {
    pub name: String,
    /// The hash of its meaning.
    pub hash: String,
    /// Its meaning, as a sentence that is generated from the rule.
    pub does: String,
    /// Its file: a path in the vault, or an absolute path; absent if it is not stored in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether it has a trigger, so that it can be enabled.
    pub runs: bool,
    /// `automatic`, `ask`, `stopped` or `changed`, if it is enabled with this meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The number of files that it matches now, regardless of earlier rules.
    pub fits: usize,
    /// Number of the plan's items that it produced.
    pub takes: usize,
    /// The first five of these items.
    pub examples: Vec<RuleExample>,
    /// The first three files that fail a single part of its condition, with that part.
    pub near: Vec<RuleExample>,
}

/// A file that a rule matches, or nearly matches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RuleExample {
    pub path: String,
    /// Parts of the rule's condition with the values that they read.
    pub parts: Vec<String>,
}

/// The files that rules with `once` have processed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesMarksParams {
    /// A rule file of the vault, or an absolute path; or the name of an enabled rule, or of one in a file of
    /// `organize.rules`.
    pub file: String,
    /// Only the rules with these names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub names: Vec<String>,
    /// Only this file, by path or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub path: Option<String>,
    /// Reset these files, so that the rules process them again.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub forget: bool,
}

/// The files that rules with `once` have processed; with `forget` those that were reset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct RulesMarksResult {
    /// The rules that have `once`.
    pub rules: Vec<MarkedRule>,
}

/// A rule with `once`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct MarkedRule {
    /// The rule's name.
    pub name: String,
    /// Its file: a path in the vault, or an absolute path.
    pub source: String,
    /// The files, by path; without those whose change was undone.
    pub files: Vec<MarkedFile>,
}

/// A file that a rule with `once` has processed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MarkedFile {
    /// Its current path.
    pub path: String,
    /// The change set in which the rule processed it.
    pub change_set: u64,
}
