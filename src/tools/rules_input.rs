//! Rules as input of tools: as text, or from a file of the vault.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Context, ToolError, text_file};
use crate::bases::diagnostic::{Diagnostic, Kind};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::organize::rule::Rule;
use crate::organize::rules_file::{self, RuleFile};

/// The most faults listed in an error.
const MAX_FAULTS: usize = 10;

/// The source of rules that a caller gave as text.
pub(super) const TEXT: &str = "rules";

/// The source of rules.
#[derive(Debug, Clone, Copy)]
pub enum RulesInput<'g> {
    /// A text from outside the vault.
    Text {
        text: &'g str,
        /// Its name in messages: a file, `rules`.
        source: &'g str,
        /// Whether it is a note with rules in fenced blocks.
        is_note: bool,
    },
    /// A rule file or a note of the vault, by path or name.
    File(&'g str),
}

/// The stored source of rules, to evaluate them again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct GivenRules {
    /// Their name in messages: the path of their file.
    pub source: String,
    pub text: String,
    /// Whether it is a note with rules in fenced blocks.
    pub is_note: bool,
    /// The hashes of the selected rules; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
}

impl GivenRules {
    pub fn of(context: &Context, input: RulesInput<'_>) -> Result<Self, ToolError> {
        Ok(match input {
            RulesInput::Text { text, source, is_note } => {
                Self { source: source.to_owned(), text: text.to_owned(), is_note, only: Vec::new() }
            }
            RulesInput::File(name) => {
                let file = text_file::read(context, name)?;
                let text = file.text()?.body().to_owned();
                let is_note = file.path.is_note();
                Self { source: file.path.to_string(), text, is_note, only: Vec::new() }
            }
        })
    }

    /// YAML or JSON as text, or the rule file or note that the text names.
    pub fn find(context: &Context, input: &str) -> Result<Self, ToolError> {
        let input = if is_text(input) {
            RulesInput::Text { text: input, source: TEXT, is_note: false }
        } else {
            RulesInput::File(input)
        };
        Self::of(context, input)
    }

    pub fn read(&self, context: &Context) -> Result<RuleFile, ToolError> {
        let mut file = self.parse(context).map_err(|faults| rules_error(&faults, &self.source))?;
        file.rules.retain(|rule| self.only.is_empty() || self.only.contains(&rule.hash));
        Ok(file)
    }

    /// The rules, or all their faults.
    pub fn parse(&self, context: &Context) -> Result<RuleFile, Vec<Diagnostic>> {
        let find_base = |requested: &str| find_base(context, requested);
        if self.is_note {
            rules_file::read_note(&self.text, &find_base)
        } else {
            rules_file::read(&self.text, &find_base)
        }
    }
}

/// All rules of these sources, in order.
pub(super) fn all(context: &Context, input: &[GivenRules]) -> Result<Vec<Rule>, ToolError> {
    let mut rules = Vec::new();
    for one in input {
        rules.extend(one.read(context)?.rules);
    }
    Ok(rules)
}

/// Rules on a single line begin so; a path never does, and has no line break.
fn is_text(input: &str) -> bool {
    let input = input.trim();
    input.contains('\n')
        || ["{", "[", "rules:", "version:"].iter().any(|start| input.starts_with(start))
}

fn find_base(context: &Context, requested: &str) -> Result<(VaultPath, String), String> {
    let file = text_file::read(context, requested).map_err(|error| error.message)?;
    let text = file.text().map_err(|error| error.message)?.body().to_owned();
    Ok((file.path, text))
}

fn rules_error(faults: &[Diagnostic], source: &str) -> ToolError {
    let Some(first) = faults.first() else {
        return ToolError::plain(ErrorCode::InvalidRule, format!("`{source}` has no rules"));
    };
    let code = match first.kind {
        Kind::InvalidPattern => ErrorCode::InvalidPattern,
        Kind::InvalidPath => ErrorCode::InvalidPath,
        Kind::OutsideVault => ErrorCode::OutsideVault,
        Kind::ProtectedPath => ErrorCode::ProtectedPath,
        Kind::TooLarge => ErrorCode::TooLarge,
        Kind::InvalidExpression => ErrorCode::InvalidExpression,
        _ => ErrorCode::InvalidRule,
    };
    let mut message = first.described(source);
    for fault in faults.iter().skip(1).take(MAX_FAULTS) {
        let _ = write!(message, "\n{}", fault.described(source));
    }
    let data = json!({
        "kind": first.kind.as_str(),
        "line": first.line,
        "column": first.column,
        "faults": faults.len(),
    });
    let hint = first.hint.clone();
    ToolError { hint, data: Some(data), ..ToolError::plain(code, message) }
}

/// The lines of a rule in its file: from the line with its name to the next line with a name. The whole text if they
/// cannot be found.
pub(super) fn part<'t>(text: &'t str, name: &str) -> &'t str {
    let named = |line: &'t str| {
        let rest = line.trim_start().strip_prefix("- ")?.trim_start();
        Some(rest.strip_prefix("name:")?.trim().trim_matches(['"', '\'']))
    };
    let mut at = 0;
    let mut begin = None;
    for line in text.split_inclusive('\n') {
        match (begin, named(line)) {
            (None, Some(found)) if found == name => begin = Some(at),
            (Some(begin), Some(_)) => return text[begin..at].trim_end(),
            _ => {}
        }
        at += line.len();
    }
    begin.map_or(text, |begin| text[begin..].trim_end())
}
