//! Checks rules against the vault without running them.

use super::given_rules::GivenRules;
use super::{Context, ToolError, plans};
use crate::bases::diagnostic::Diagnostic;
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::organize::check::{self, Checked};
use crate::organize::near::{self, NearMiss};
use crate::organize::rule::Rule;
use crate::organize::rules_file::RuleFile;

pub use super::given_rules::Given;

/// The result of a check.
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
pub fn check(context: &Context, given: Given<'_>) -> Result<CheckedRules, ToolError> {
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
    plans::over_vault(context, &[], |world| Ok(check::check(file, world.scope, &refuses)))
}

/// Near misses of rules in the caller's view: at most `most` a rule.
pub fn near_misses(
    context: &Context,
    rules: &[Rule],
    most: usize,
) -> Result<Vec<NearMiss>, ToolError> {
    plans::over_vault(context, rules, |world| near::misses(world, rules, most))
}
