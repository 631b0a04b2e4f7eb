//! Explains why a rule took a note or not: the parts of its condition with the values they read.

use super::draft::Draft;
use super::plan::RuleResult;
use super::rule::Rule;
use crate::bases::Evaluator;
use crate::bases::query::Filter;
use crate::bases::trace::{self, Outcome};
use crate::bases::value::{FileId, Text, Value};

/// The most parts shown of a condition.
const MAX_PARTS: usize = 8;

/// The most characters shown of a value.
const MAX_VALUE_CHARS: usize = 80;

/// The trace of a rule that was evaluated.
pub fn evaluated(rule: &Rule, took: bool) -> RuleResult {
    RuleResult { rule: rule.name.clone(), took, stopped_by: None, parts: Vec::new() }
}

/// The trace of a rule that was not evaluated since an earlier rule stopped.
pub fn not_evaluated(rule: &Rule, by: &str) -> RuleResult {
    RuleResult { stopped_by: Some(by.to_owned()), ..evaluated(rule, false) }
}

/// The trace of a rule whose folders do not contain the note.
pub fn outside(rule: &Rule) -> RuleResult {
    let folders: Vec<String> = rule.within.iter().map(|folder| format!("`{folder}`")).collect();
    let part = if folders.is_empty() {
        "its condition cannot hold there".to_owned()
    } else {
        format!("it looks in {} only", folders.join(", "))
    };
    RuleResult { parts: vec![part], ..evaluated(rule, false) }
}

/// The trace of a `once` rule that already took this note.
pub fn taken_once(rule: &Rule) -> RuleResult {
    let part = "it takes each note once, and has taken this one".to_owned();
    RuleResult { parts: vec![part], ..evaluated(rule, false) }
}

/// Describes each action of a rule in a few words.
pub fn effects(before: &Draft, after: &Draft) -> Vec<String> {
    let (was, is) = (&before.item, &after.item);
    let mut lines = Vec::new();
    if after.wanted != before.wanted {
        let path = after.wanted.as_ref().unwrap_or(&after.path);
        lines.push(format!("→ {path}"));
    }
    let set: Vec<&str> = is
        .set
        .iter()
        .filter(|(name, value)| was.set.get(*name) != Some(value))
        .map(|(name, _)| &**name)
        .collect();
    let new = |is: &[String], was: &[String]| -> Vec<String> {
        is.iter().filter(|one| !was.contains(one)).cloned().collect()
    };
    for (word, names) in [
        ("sets", set.iter().map(|name| (*name).to_owned()).collect()),
        ("removes", new(&is.remove, &was.remove)),
        ("tags", new(&is.tag, &was.tag)),
        ("untags", new(&is.untag, &was.untag)),
    ] {
        if !names.is_empty() {
            lines.push(format!("{word} {}", names.join(", ")));
        }
    }
    if is.prepend != was.prepend || is.append != was.append {
        lines.push("adds text".to_owned());
    }
    if is.trash && !was.trash {
        lines.push("goes to the trash".to_owned());
    }
    lines
}

/// The evaluated parts of a condition, with outcomes and values.
pub fn parts(filter: &Filter, file: FileId, evaluator: &mut Evaluator<'_>) -> Vec<String> {
    let parts = trace::explain(filter, file, evaluator);
    let mut lines = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        // Groups add nothing to their parts.
        let is_joint = parts.get(at + 1).is_some_and(|next| next.depth > part.depth);
        let outcome = match &part.outcome {
            _ if is_joint => continue,
            Outcome::NotAsked => continue,
            Outcome::Holds => "true".to_owned(),
            Outcome::HoldsNot => "false".to_owned(),
            Outcome::Failed(error) => format!("error: {}", error.message),
        };
        let reads: Vec<String> =
            part.reads.iter().map(|(name, value)| value_read(name, value, evaluator)).collect();
        let reads =
            if reads.is_empty() { String::new() } else { format!(": {}", reads.join("; ")) };
        lines.push(format!("{}  {outcome}{reads}", part.text));
        if lines.len() == MAX_PARTS {
            break;
        }
    }
    lines
}

fn value_read(name: &Text, value: &Value, evaluator: &Evaluator<'_>) -> String {
    let name = name.strip_prefix("file.").or_else(|| name.strip_prefix("note.")).unwrap_or(name);
    let compare = evaluator.compare();
    let verb = if matches!(value, Value::List(_)) { "are" } else { "is" };
    if value.is_empty() {
        return format!("{name} {verb} empty");
    }
    let text = match value {
        Value::List(list) => {
            let texts: Vec<String> =
                list.iter().map(|one| compare.text(one).unwrap_or_default()).collect();
            texts.join(", ")
        }
        other => compare.text(other).unwrap_or_default(),
    };
    let shown: String = text.chars().take(MAX_VALUE_CHARS).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("{name} {verb} {shown}{more}")
}
