//! Enables, disables and lists rules that run automatically.

use super::info::local;
use crate::calls::Calls;
use crate::note::code::ErrorCode;
use crate::organize::near::NearMiss;
use crate::organize::rule::Trigger;
use crate::organize::sentence::sentence;
use crate::policy::{Mode, Scope};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::organize::{
    DescribedRule, EnabledRuleInfo, MarkedFile, MarkedRule, RuleExample, RulesDescribeParams,
    RulesDescribeResult, RulesDisableParams, RulesDisableResult, RulesEnableParams,
    RulesEnableResult, RulesListParams, RulesListResult, RulesMarksParams, RulesMarksResult,
};
use crate::tools::enabled::{self, Enabled, Enabling};
use crate::tools::rule_marks::{self, Marked, WantedMarks};
use crate::tools::{ToolError, rules};

/// The rules that a person enabled, with their states.
pub fn list(calls: &Calls, params: &RulesListParams) -> Result<RulesListResult> {
    let rules = enabled::all(&calls.context_for(Scope::Person)).map_err(tool_failure)?;
    let shown = |one: &Enabled| EnabledRuleInfo {
        diff: params.diff.then(|| one.diff()).filter(|diff| !diff.is_empty()),
        ..info(one)
    };
    Ok(RulesListResult { rules: rules.iter().map(shown).collect(), held: held_back_because(calls) })
}

/// Why rules do not run automatically now, if so.
fn held_back_because(calls: &Calls) -> Option<String> {
    let settings = calls.context_for(Scope::Person).settings.organize;
    match calls.mode() {
        _ if !settings.automatic => Some("`organize.automatic` is `false`".to_owned()),
        Ok((Mode::Auto, _)) => None,
        Ok((mode, _)) => Some(format!("the mode is `{}`", mode.word())),
        Err(error) => Some(error.to_string()),
    }
}

/// Enables rules on behalf of the person who uses `program`, or previews that.
pub fn enable(
    calls: &Calls,
    params: RulesEnableParams,
    program: &str,
) -> Result<RulesEnableResult> {
    let RulesEnableParams { file, names, with_trash, ask, agreed, dry_run } = params;
    let by = program.to_owned();
    let request = Enabling { file, names, with_trash, ask, agreed, dry_run, by };
    let enabled =
        enabled::enable(&calls.context_for(Scope::Person), &request).map_err(tool_failure)?;
    if !dry_run {
        for one in &enabled {
            tracing::info!(rule = one.row.name, file = one.row.source, "a rule was enabled");
        }
    }
    Ok(RulesEnableResult { rules: enabled.iter().map(info).collect() })
}

pub fn disable(calls: &Calls, params: &RulesDisableParams) -> Result<RulesDisableResult> {
    let disabled =
        enabled::disable(&calls.context_for(Scope::Person), &params.name).map_err(tool_failure)?;
    tracing::info!(rule = disabled.row.name, "a rule was disabled");
    Ok(RulesDisableResult { rule: info(&disabled) })
}

/// Describes the rules of a plan, and the files that they match and nearly match.
pub fn describe(calls: &Calls, params: &RulesDescribeParams) -> Result<RulesDescribeResult> {
    let found =
        rules::described(&calls.context_for(Scope::Person), params.plan).map_err(tool_failure)?;
    let example = |(path, parts)| RuleExample { path, parts };
    let near = |miss: NearMiss| RuleExample { path: miss.path, parts: vec![miss.part] };
    let rule = |one: rules::DescribedRule| DescribedRule {
        does: sentence(&one.rule),
        runs: one.rule.trigger != Trigger::Manual,
        state: one.enabled.map(|enabled| enabled.status.word().to_owned()),
        name: one.rule.name,
        hash: one.rule.hash,
        source: one.source,
        fits: one.fits,
        takes: one.takes,
        examples: one.examples.into_iter().map(example).collect(),
        near: one.near.into_iter().map(near).collect(),
    };
    let rules = found.rules.into_iter().map(rule).collect();
    Ok(RulesDescribeResult { text: found.text, rules, warnings: found.found })
}

/// The files that rules with `once` took; with `forget` the rules take them again.
pub fn marks(calls: &Calls, params: RulesMarksParams) -> Result<RulesMarksResult> {
    let RulesMarksParams { file, names, path, forget } = params;
    let request = WantedMarks { file, names, path, forget };
    let found =
        rule_marks::marks(&calls.context_for(Scope::Person), &request).map_err(tool_failure)?;
    let rule = |one: Marked| MarkedRule {
        name: one.rule,
        source: one.source,
        files: one
            .files
            .into_iter()
            .map(|file| MarkedFile { path: file.path, change_set: file.change_set })
            .collect(),
    };
    Ok(RulesMarksResult { rules: found.into_iter().map(rule).collect() })
}

/// Warnings for a person about enabled rules: those that do not run, and plans that wait.
pub fn complaints(calls: &Calls) -> Vec<String> {
    let Ok(rules) = enabled::all(&calls.context_for(Scope::Person)) else { return Vec::new() };
    let mut lines = Vec::new();
    for one in rules {
        let name = &one.row.name;
        if let Some(reason) = one.status.reason() {
            lines.push(format!(
                "the rule `{name}` does not run: {reason}; `steward organize rules diff` shows what \
                 changed, `steward organize rules enable` enables it again"
            ));
        }
        if let Some(plan) = one.row.waiting {
            lines.push(format!(
                "plan {plan} of the rule `{name}` waits for you: `steward organize show {plan}`"
            ));
        }
    }
    lines
}

fn info(one: &Enabled) -> EnabledRuleInfo {
    let row = &one.row;
    EnabledRuleInfo {
        name: row.name.clone(),
        source: row.source.clone(),
        hash: row.hash.clone(),
        does: row.sentence.clone(),
        state: one.status.word().to_owned(),
        reason: one.status.reason().map(str::to_owned),
        folders: one.folders(),
        actions: one.actions(),
        with_trash: row.with_trash,
        enabled: local(row.enabled),
        enabled_by: row.enabled_by.clone(),
        waiting: row.waiting.map(i64::cast_unsigned),
        diff: None,
    }
}

fn tool_failure(error: ToolError) -> ErrorObject {
    let kind = match error.code {
        ErrorCode::NotFound => Kind::NotFound,
        ErrorCode::IoError | ErrorCode::Cancelled => Kind::Failed,
        _ => Kind::InvalidParams,
    };
    ErrorObject::new(kind, error.message).maybe_hint(error.hint)
}
