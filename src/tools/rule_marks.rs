//! Lists and removes marks of `once` rules for a person.

use super::enabled::named;
use super::once_marks::not_undone;
use super::{Context, ToolError};
use crate::note::fold::fold_key;
use crate::note::path::VaultPath;
use crate::organize::rule::Rule;
use crate::store::rule_marks::RuleMark;
use crate::vault::Want;

/// A `once` rule with the files that it does not take again.
#[derive(Debug, Clone)]
pub struct Marked {
    pub rule: String,
    /// Its file: a path in the vault, or an absolute one.
    pub source: String,
    pub files: Vec<MarkedFile>,
}

/// A file that a `once` rule took.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MarkedFile {
    pub path: String,
    /// The change set of the rule's change.
    pub change_set: u64,
}

#[derive(Debug, Clone, Default)]
pub struct WantedMarks {
    /// A rule file in the vault, or an absolute path; or the name of an enabled rule, or of one in a file of
    /// `organize.rules`.
    pub file: String,
    /// Only the rules of these names.
    pub names: Vec<String>,
    /// Only the mark of this file.
    pub path: Option<String>,
    /// Whether the marks are removed, so that the rules take the files again.
    pub forget: bool,
}

/// The marks of `once` rules whose changes were not undone; with `forget`, the removed marks.
///
/// # Errors
/// There is no such file or rule, or none with `once`; none of the rules took `path`; the store cannot be read or
/// written.
pub fn marks(context: &Context, request: &WantedMarks) -> Result<Vec<Marked>, ToolError> {
    let (given, rules) = named(context, &request.file, &request.names)?;
    let rules: Vec<Rule> = rules.into_iter().filter(|rule| rule.once).collect();
    if rules.is_empty() {
        let message = format!("no rule of `{}` that is asked for has `once`", given.source);
        return Err(ToolError::not_found(
            message,
            "rules with `once: true` remember which files they took",
        ));
    }
    // A deleted file may still have a mark.
    let key = |requested: &String| match context.find(requested, Want::File) {
        Ok(found) => found.path.fold_key(),
        Err(_) => fold_key(requested),
    };
    let only = request.path.as_ref().map(key);
    let mut found = Vec::with_capacity(rules.len());
    let mut chosen = Vec::new();
    for rule in rules {
        let mut marks = not_undone(context, &rule)?;
        marks.retain(|(_, now)| only.as_ref().is_none_or(|only| now.fold_key() == *only));
        let file = |(mark, now): &(RuleMark, VaultPath)| MarkedFile {
            path: now.as_str().to_owned(),
            change_set: mark.change_set.cast_unsigned(),
        };
        let mut files: Vec<MarkedFile> = marks.iter().map(file).collect();
        files.sort();
        found.push(Marked { rule: rule.name, source: given.source.clone(), files });
        chosen.extend(marks.into_iter().map(|(mark, _)| mark));
    }
    if let (true, Some(path)) = (chosen.is_empty(), &request.path) {
        let hint = "without a file, all that they took are listed";
        return Err(ToolError::not_found(format!("none of these rules took `{path}`"), hint));
    }
    if request.forget {
        context.journal.store().rule_marks.remove(&chosen)?;
    }
    Ok(found)
}
