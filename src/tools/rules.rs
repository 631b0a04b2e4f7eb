//! Rules held against the vault without being run.

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

/// Rules that were checked and not run.
pub struct CheckedRules {
    /// What the text is called.
    pub source: String,
    /// None where they cannot be read.
    pub rules: Vec<Rule>,
    /// How many files each fits now, whatever the rules before it do.
    pub fits: Vec<usize>,
    /// Errors and warnings, by place.
    pub found: Vec<Diagnostic>,
}

/// Holds rules against the vault, as the caller sees it, without running them.
///
/// # Errors
/// There is no such file; the caller withdrew. What is wrong in the rules is found, and no error.
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

/// What is probably not meant in rules that can be read.
///
/// # Errors
/// The caller withdrew.
pub(super) fn held(context: &Context, file: &RuleFile) -> Result<Checked, ToolError> {
    let refuses = |path: &VaultPath| match context.vault.new_path(path.as_str()) {
        Err(error) if error.code() == ErrorCode::ProtectedPath => Some(error.to_string()),
        _ => None,
    };
    plans::over_vault(context, &[], |world| Ok(check::check(file, world.scope, &refuses)))
}

/// Notes that rules nearly take, as the caller sees the vault: at most `most` a rule.
///
/// # Errors
/// The caller withdrew.
pub fn near_misses(
    context: &Context,
    rules: &[Rule],
    most: usize,
) -> Result<Vec<NearMiss>, ToolError> {
    plans::over_vault(context, rules, |world| near::misses(world, rules, most))
}
