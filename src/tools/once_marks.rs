//! Marks of `once` rules: stored at the end of a job, used by planning.

use std::collections::{HashMap, HashSet};

use super::{Context, ToolError};
use crate::journal::{ChangeId, ChangeSetId, JournalError, ListedChange};
use crate::note::path::VaultPath;
use crate::organize::plan::Item;
use crate::organize::rule::Rule;
use crate::store::rule_marks::RuleMark;

/// The files that `once` rules took, by current path.
pub(super) struct ProcessedFiles(HashMap<String, HashSet<String>>);

impl ProcessedFiles {
    /// Whether the rule with this hash has taken the file.
    pub fn has(&self, rule: &str, path: &VaultPath) -> bool {
        self.0.get(rule).is_some_and(|paths| paths.contains(&path.fold_key()))
    }
}

/// Records the files that were processed by rules which process each file once. `done` has items with their changes in
/// the journal.
pub(super) fn record(
    context: &Context,
    done: Vec<(&Item, Vec<&ListedChange>)>,
) -> Result<(), ToolError> {
    let mut marks = Vec::new();
    for (item, changes) in done {
        let Some(last) = changes.last().filter(|_| !item.once.is_empty()) else { continue };
        marks.extend(item.once.iter().map(|rule| RuleMark {
            rule: rule.clone(),
            change_set: last.id.set.0.cast_signed(),
            number: last.id.number,
            path: last.path.as_str().to_owned(),
        }));
    }
    Ok(context.journal.store().rule_marks.add(&marks).map_err(JournalError::from)?)
}

/// The files that the `once` rules among these have taken, without undone changes.
pub(super) fn processed_files(
    context: &Context,
    rules: &[Rule],
) -> Result<ProcessedFiles, ToolError> {
    let mut taken = HashMap::new();
    for rule in rules.iter().filter(|rule| rule.once) {
        let paths = not_undone(context, rule)?.into_iter().map(|(_, path)| path.fold_key());
        taken.insert(rule.hash.clone(), paths.collect());
    }
    Ok(ProcessedFiles(taken))
}

/// The marks of a rule whose changes were not undone, with the current paths of the files.
pub(super) fn not_undone(
    context: &Context,
    rule: &Rule,
) -> Result<Vec<(RuleMark, VaultPath)>, ToolError> {
    let marks = context.journal.store().rule_marks.list(&rule.hash).map_err(JournalError::from)?;
    let left = |mark: RuleMark| {
        let set = ChangeSetId(mark.change_set.cast_unsigned());
        let path = VaultPath::from_disk(&mark.path)?;
        Some(((ChangeId { set, number: mark.number }, path), mark))
    };
    let (left, marks): (Vec<_>, Vec<_>) = marks.into_iter().filter_map(left).unzip();
    let now = context.journal.now_at(&left)?;
    Ok(marks.into_iter().zip(now).filter_map(|(mark, now)| Some((mark, now?))).collect())
}
