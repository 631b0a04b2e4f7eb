//! Checks parsed rules against the vault for probable mistakes, without running them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::rule::Rule;
use super::rules_file::{Mentioned, RuleFile, Written};
use crate::bases::Scope;
use crate::bases::ast::Span;
use crate::bases::check::Checker;
use crate::bases::diagnostic::{Diagnostic, Kind};
use crate::bases::nearest::did_you_mean;
use crate::bases::parse::{self, Options};
use crate::bases::query::Query;
use crate::bases::value::FileId;
use crate::bases::view::{self, Page};
use crate::note::path::VaultPath;

#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// Diagnostics by rule, then by place. Errors concern targets that are not allowed.
    pub found: Vec<Diagnostic>,
    /// The number of files that each rule matches now, in the order of the file, regardless of earlier rules.
    pub fits: Vec<usize>,
}

/// Checks rules against the vault of `scope`. `refuses` gives the reason why a folder is not an allowed target.
///
/// It finds unknown properties, tags, folders and templates; conditions that match no file or over
/// half of the files, or that fail; rules that lose all their files to an earlier rule; rules
/// without effect.
pub fn check(
    file: &RuleFile,
    scope: Scope<'_>,
    refuses: &dyn Fn(&VaultPath) -> Option<String>,
) -> Checked {
    let mut checked = Checked { found: file.warnings.clone(), fits: Vec::new() };
    let checker = Checker::new(Some(scope.source));
    for written in &file.written {
        for mention in &written.mentions {
            let found =
                check_mentioned(&mention.what, &mention.at, written, scope, &checker, refuses);
            checked.found.extend(found);
        }
    }
    let all = scope.source.files().count();
    let mut fitting = Vec::with_capacity(file.rules.len());
    for (rule, written) in file.rules.iter().zip(&file.written) {
        let (files, warning) = fits(rule, written, scope, all);
        checked.found.extend(warning);
        checked.fits.push(files.len());
        fitting.push(files);
    }
    checked.found.extend(rules_without_files(file, &fitting));
    // Each block of a note has its own text, with the note's line numbers.
    checked.found.sort_by_key(|found| (found.line, found.column));
    checked
}

fn warning(written: &Written, at: &Span, message: String, hint: String) -> Diagnostic {
    let warning = Diagnostic::warning(Kind::UnknownName, &written.text, at.clone(), message);
    if hint.is_empty() { warning } else { warning.hint(hint) }
}

fn check_mentioned(
    what: &Mentioned,
    at: &Span,
    written: &Written,
    scope: Scope<'_>,
    checker: &Checker<'_>,
    refuses: &dyn Fn(&VaultPath) -> Option<String>,
) -> Vec<Diagnostic> {
    let text = &written.text;
    let asks = |method: &str, name: &str| {
        // The checker finds unknown names by the functions that use them.
        let name = name.replace('\\', "\\\\").replace('"', "\\\"");
        let parsed = parse::parse(&format!("file.{method}(\"{name}\")"), Options::default());
        let found = parsed.map(|expression| checker.check(&expression)).unwrap_or_default();
        found.into_iter().map(|found| found.moved_to(text, at.clone())).collect()
    };
    match what {
        Mentioned::Expression { expression, node, offset } => {
            let place = |at: u32| node.place(text, (offset + at) as usize) as u32;
            let moved = |found: Diagnostic| {
                let start = place(found.at.start);
                let end = place(found.at.end).max(start);
                found.moved_to(text, start..end)
            };
            checker.check(expression).into_iter().map(moved).collect()
        }
        Mentioned::Folder(folder) => asks("inFolder", folder.as_str()),
        Mentioned::Property(name) => asks("hasProperty", name),
        Mentioned::Tag(name) => asks("hasTag", name),
        Mentioned::Template(path) => {
            let source = scope.source;
            let is_there = [path.to_string(), format!("{path}.md")];
            if is_there.iter().any(|path| source.at(path).is_some()) {
                return Vec::new();
            }
            let paths: Vec<_> = source.files().map(|file| source.path(file)).collect();
            let wanted = path.as_str().strip_suffix(".md").unwrap_or(path.as_str());
            let notes = paths.iter().filter_map(|path| path.strip_suffix(".md"));
            let hint = did_you_mean(wanted, notes);
            let message = format!("there is no template `{path}`");
            vec![warning(written, at, message, hint.unwrap_or_default())]
        }
        Mentioned::Destination(path) => {
            let Some(reason) = refuses(path) else { return Vec::new() };
            let error = Diagnostic::error(Kind::ProtectedPath, text, at.clone(), reason);
            vec![error.hint("choose another folder")]
        }
    }
}

/// Counts the files that a rule matches, and warns of suspicious counts.
fn fits(
    rule: &Rule,
    written: &Written,
    scope: Scope<'_>,
    all: usize,
) -> (HashSet<FileId>, Option<Diagnostic>) {
    let query =
        Query { filter: rule.when.clone(), formulas: rule.formulas.clone(), ..Query::default() };
    let this = rule.this.as_ref().and_then(|this| scope.source.at(this.as_str()));
    let table = view::run(&query, Scope { this: this.or(scope.this), ..scope }, Page::ALL);
    let is_within = |file: &FileId| {
        let path = scope.source.path(*file);
        rule.within.is_empty()
            || VaultPath::from_disk(&path)
                .is_some_and(|path| rule.within.iter().any(|folder| path.is_within(folder)))
    };
    let rows = table.groups.into_iter().flat_map(|group| group.rows).map(|row| row.file);
    let files: HashSet<FileId> = rows.filter(is_within).collect();
    let name = &rule.name;
    let (message, hint) = if let Some((path, first)) = table.failed.first {
        let count = table.failed.count;
        let message = format!(
            "the condition of `{name}` fails for {count} files, which the rule does not take; the first is \
             `{path}`: {}",
            first.error.message
        );
        (message, "ask first what a file is: `file.ext == \"md\" && …`".to_owned())
    } else if files.is_empty() && all > 0 {
        (format!("`{name}` fits no file now"), "look at its condition with `why`".to_owned())
    } else if files.len() > 1 && files.len() * 2 > all {
        let message = format!("`{name}` fits {} of all {all} files", files.len());
        let hint = match rule.within.as_slice() {
            [] => "name its folders with `in`, or ask for more in `when`",
            _ => "ask for more in `when`",
        };
        (message, hint.to_owned())
    } else {
        return (files, None);
    };
    let warning =
        Diagnostic::warning(Kind::Misleading, &written.text, written.when.clone(), message);
    (files, Some(warning.hint(hint)))
}

/// Finds rules that lose all their files to an earlier rule.
fn rules_without_files(file: &RuleFile, fitting: &[HashSet<FileId>]) -> Vec<Diagnostic> {
    let mut order: Vec<usize> = (0..file.rules.len()).collect();
    order.sort_by_key(|number| std::cmp::Reverse(file.rules[*number].priority));
    let mut found = Vec::new();
    let mut taken: BTreeMap<FileId, usize> = BTreeMap::new();
    for number in order {
        let (rule, written, files) = (&file.rules[number], &file.written[number], &fitting[number]);
        let by: Option<HashSet<usize>> =
            files.iter().map(|file| taken.get(file).copied()).collect();
        if let Some(by) = by.filter(|_| !files.is_empty()) {
            let mut names: Vec<_> =
                by.iter().map(|number| format!("`{}`", file.rules[*number].name)).collect();
            names.sort_unstable();
            let takes = if names.len() == 1 { "takes" } else { "take" };
            let names = names.join(" and ");
            let message = format!("{names} {takes} every file that `{}` fits before it", rule.name);
            let text = &Arc::clone(&written.text);
            let warning =
                Diagnostic::warning(Kind::Misleading, text, written.name.clone(), message);
            found
                .push(warning.hint("give it a higher `priority`, or write `then: continue` above"));
        }
        if !rule.continues && !rule.actions.is_empty() {
            for file in files {
                taken.entry(*file).or_insert(number);
            }
        }
    }
    found
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
