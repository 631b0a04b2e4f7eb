//! Checks rules against the vault without running them.

use serde_json::Value;

use super::enabled::{self, Enabled};
use super::rules_input::{GivenRules, TEXT};
use super::{Context, ToolError, plans};
use crate::bases::diagnostic::Diagnostic;
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::organize::check::{self, Checked};
use crate::organize::near::{self, NearMiss};
use crate::organize::plan::Item;
use crate::organize::rule::Rule;
use crate::organize::rules_file::RuleFile;

pub use super::rules_input::RulesInput;

pub struct CheckedRules {
    pub source: String,
    /// `None` if they cannot be parsed.
    pub rules: Vec<Rule>,
    /// The number of files that each rule matches now, regardless of earlier rules.
    pub fits: Vec<usize>,
    /// Errors and warnings by place.
    pub found: Vec<Diagnostic>,
}

/// Checks rules against the vault in the caller's view.
///
/// # Errors
/// The file does not exist; the caller cancelled. Faults of the rules are results, not errors.
pub fn check(context: &Context, given: RulesInput<'_>) -> Result<CheckedRules, ToolError> {
    let given = GivenRules::of(context, given)?;
    let file = match given.parse(context) {
        Ok(file) => file,
        Err(found) => {
            let (rules, fits) = (Vec::new(), Vec::new());
            return Ok(CheckedRules { source: given.source, rules, fits, found });
        }
    };
    let checked = held(context, &file)?;
    let (fits, found) = (checked.fits, checked.found);
    Ok(CheckedRules { source: given.source, rules: file.rules, fits, found })
}

/// Warnings about parsed rules.
pub(super) fn held(context: &Context, file: &RuleFile) -> Result<Checked, ToolError> {
    let refuses = |path: &VaultPath| match context.vault.new_path(path.as_str()) {
        Err(error) if error.code() == ErrorCode::ProtectedPath => Some(error.to_string()),
        _ => None,
    };
    plans::with_snapshot(context, &[], |world| Ok(check::check(file, world.scope, &refuses)))
}

/// The most files of a plan that are given as examples of a rule.
const EXAMPLES: usize = 5;

/// The most near misses of a rule.
const NEAR: usize = 3;

/// The rules of a plan, described for the person who decides about them.
pub struct DescribedRules {
    /// The rules as text, if a caller gave them as one text; `None` if they come from files.
    pub text: Option<String>,
    /// In the order of the text.
    pub rules: Vec<DescribedRule>,
    /// Probable mistakes, each with its place.
    pub found: Vec<String>,
}

pub struct DescribedRule {
    pub rule: Rule,
    /// Its file: a path in the vault, or an absolute one. `None` if a caller gave it as text and it
    /// is not enabled.
    pub source: Option<String>,
    /// The number of files that it matches now, regardless of earlier rules.
    pub fits: usize,
    /// The number of the plan's items that it took.
    pub takes: usize,
    /// The first of these items, with the parts of its condition that decided.
    pub examples: Vec<(String, Vec<String>)>,
    /// The first files that fail a single part of its condition.
    pub near: Vec<NearMiss>,
    /// The enabled rule of this name and meaning.
    pub enabled: Option<Enabled>,
}

/// Describes the rules of a plan, as the vault is now.
pub fn described(context: &Context, plan: u64) -> Result<DescribedRules, ToolError> {
    let stored_plan = plans::find(context, plan)?;
    let enabled = enabled::all(context)?;
    let mut described = DescribedRules { text: None, rules: Vec::new(), found: Vec::new() };
    for given in &stored_plan.rules {
        let file = given.read(context)?;
        let checked = held(context, &file)?;
        described.found.extend(checked.found.iter().map(|one| one.render(&given.source)));
        let near = plans::with_snapshot(context, &file.rules, |world| {
            near::misses(world, &file.rules, NEAR)
        })?;
        for (rule, fits) in file.rules.into_iter().zip(checked.fits) {
            let mut taken =
                stored_plan.plan.items.iter().filter(|item| item.rules.contains(&rule.name));
            let why = |item: &Item| {
                let rule_result = item
                    .why
                    .iter()
                    .find(|rule_result| rule_result.took && rule_result.rule == rule.name);
                (
                    item.path.clone(),
                    rule_result.map(|rule_result| rule_result.parts.clone()).unwrap_or_default(),
                )
            };
            let examples: Vec<_> = taken.by_ref().take(EXAMPLES).map(why).collect();
            let takes = examples.len() + taken.count();
            let same = |one: &&Enabled| one.row.name == rule.name && one.row.hash == rule.hash;
            let enabled = enabled.iter().find(same).cloned();
            let file = (given.source != TEXT).then(|| given.source.clone());
            let source = file.or_else(|| Some(enabled.as_ref()?.row.source.clone()));
            let near = near.iter().filter(|miss| miss.rule == rule.name).cloned().collect();
            described.rules.push(DescribedRule {
                source,
                fits,
                takes,
                examples,
                near,
                enabled,
                rule,
            });
        }
    }
    if let [given] = &stored_plan.rules[..]
        && given.source == TEXT
    {
        described.text = Some(readable(&given.text));
    }
    Ok(described)
}

/// The text of rules; JSON is spread over several lines.
fn readable(text: &str) -> String {
    let json: Option<Value> = serde_json::from_str(text).ok();
    json.and_then(|json| serde_json::to_string_pretty(&json).ok())
        .unwrap_or_else(|| text.to_owned())
}
