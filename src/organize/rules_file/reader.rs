//! Reads values of a rule file and collects their errors.

use std::ops::Range;

use super::{FindBase, Mention, Mentioned, RuleReader};
use crate::bases::base_file::moved;
use crate::bases::diagnostic::{Diagnostic, Kind};
use crate::bases::nearest::did_you_mean;
use crate::bases::template::{Purpose, Template};
use crate::note::path::{PathError, VaultPath};
use crate::note::yaml::{Content, Node};

impl<'t> RuleReader<'t> {
    pub fn new(text: &'t str, find_base: &'t FindBase<'t>) -> Self {
        Self {
            text,
            find_base,
            faults: Vec::new(),
            warnings: Vec::new(),
            is_classic: false,
            rule: String::new(),
            mentions: Vec::new(),
        }
    }

    pub fn fault_at(&mut self, at: Range<usize>, message: impl Into<String>, hint: &str) {
        let at = at.start as u32..at.end as u32;
        let error = Diagnostic::error(Kind::InvalidRule, self.text, at, message);
        self.faults.push(error.hint(hint));
    }

    pub fn fault(&mut self, node: &Node, message: impl Into<String>, hint: &str) {
        self.fault_at(node.at.clone(), message, hint);
    }

    pub fn mention(&mut self, node: &Node, what: Mentioned) {
        let at = node.at.start as u32..node.at.end as u32;
        self.mentions.push(Mention { at, what });
    }

    pub fn unknown_key(&mut self, key: &Node, name: &str, known: &[&str]) {
        let hint = did_you_mean(name, known.iter().copied())
            .unwrap_or_else(|| format!("the keys are `{}`", known.join("`, `")));
        self.fault(key, format!("`{name}` is not a key here"), &hint);
    }

    pub fn mapping<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [(Node, Node)]> {
        if let Content::Mapping(pairs) = &node.content {
            return Some(pairs);
        }
        self.fault(node, format!("{what} has to be keys with values"), "");
        None
    }

    pub fn list<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        match &node.content {
            Content::List(items) => items,
            _ if node.is_null() => &[],
            _ => {
                let hint = "write one item a line, each after `- `";
                self.fault(node, format!("`{what}` has to be a list"), hint);
                &[]
            }
        }
    }

    /// The items of a list; a single value is a list of one.
    pub fn one_or_more<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        let items = match &node.content {
            Content::Mapping(_) => self.list(node, what),
            Content::List(items) => items,
            Content::Scalar { .. } if node.is_null() => &[],
            Content::Scalar { .. } => std::slice::from_ref(node),
        };
        if items.is_empty() && !matches!(node.content, Content::Mapping(_)) {
            self.fault(node, format!("`{what}` is empty"), "leave it out");
        }
        items
    }

    pub fn scalar(&mut self, node: &Node, what: &str) -> Option<String> {
        if let Some(tag) = &node.tag {
            let message = format!("YAML reads `{tag}` as a type");
            self.fault(node, message, "write the text in quotes");
            return None;
        }
        let text = node.text().filter(|_| !node.is_null()).map(str::to_owned);
        if text.is_none() {
            let hint = match &node.content {
                Content::Mapping(_) if self.text[node.at.start..].starts_with("{") => {
                    "write a text with braces in quotes: `'{{title}}'`"
                }
                _ => "",
            };
            self.fault(node, format!("`{what}` must be a string"), hint);
        }
        text
    }

    pub fn flag(&mut self, node: &Node, what: &str) -> Option<bool> {
        let flag = node.scalar().and_then(|value| value.as_bool());
        if flag.is_none() {
            let message = format!("`{what}` has to be `true` or `false`");
            self.fault(node, message, "");
        }
        flag
    }

    pub fn word<T: Clone>(&mut self, node: &Node, what: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.scalar(node, what)?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let hint = did_you_mean(&text, names.iter().copied())
                .unwrap_or_else(|| format!("write `{}`", names.join("` or `")));
            self.fault(node, format!("`{what}` cannot be `{text}`"), &hint);
        }
        found.map(|(_, value)| value.clone())
    }

    /// A template. Adds its expressions to those to check.
    pub fn template(&mut self, node: &Node, what: &str, purpose: Purpose) -> Option<Template> {
        let text = self.scalar(node, what)?;
        let parsed = if self.is_classic {
            Template::parse_classic(&text, purpose)
        } else {
            Template::parse(&text, purpose)
        };
        let template = match parsed {
            Ok(template) => template,
            Err(error) => {
                let error = self.named(moved(error, self.text, node));
                self.faults.push(error);
                return None;
            }
        };
        let is_classic = self.is_classic;
        for (expression, offset) in template.expressions().filter(|_| !is_classic) {
            let expression = expression.clone();
            self.mention(node, Mentioned::Expression { expression, node: node.clone(), offset });
        }
        Some(template)
    }

    pub fn path(&mut self, node: &Node, text: &str) -> Option<VaultPath> {
        let hint = "write the path from the vault's top";
        let fault = match VaultPath::parse(text, None) {
            Ok(path) => {
                let hidden = path.components().find(|name| name.starts_with('.'));
                let Some(hidden) = hidden else { return Some(path) };
                let message = format!("`{hidden}` is hidden in Obsidian, and no rule touches it");
                (Kind::ProtectedPath, message)
            }
            Err(error @ PathError::Outside { .. }) => (Kind::OutsideVault, error.to_string()),
            Err(error) => (Kind::InvalidPath, error.to_string()),
        };
        let at = node.at.start as u32..node.at.end as u32;
        let error = Diagnostic::error(fault.0, self.text, at, fault.1).hint(hint);
        let error = self.named(error);
        self.faults.push(error);
        None
    }

    /// An error of a path, with the name of its rule.
    fn named(&self, error: Diagnostic) -> Diagnostic {
        if !matches!(error.kind, Kind::OutsideVault | Kind::InvalidPath | Kind::ProtectedPath) {
            return error;
        }
        let message = format!("rule `{}`: {}", self.rule, error.message);
        let named = Diagnostic::error(error.kind, self.text, error.at.clone(), message);
        named.hint(error.hint.clone().unwrap_or_default())
    }
}

/// A key's value, with the key.
pub(super) fn get<'n>(pairs: &'n [(Node, Node)], name: &str) -> Option<(&'n Node, &'n Node)> {
    pairs.iter().find(|(key, _)| key.text() == Some(name)).map(|(key, value)| (key, value))
}

/// Seconds in the largest unit that gives a whole number.
pub(in crate::organize) fn in_hours(seconds: u64) -> String {
    match seconds {
        _ if seconds.is_multiple_of(86_400) => format!("{} days", seconds / 86_400),
        _ if seconds.is_multiple_of(3_600) => format!("{} hours", seconds / 3_600),
        _ => format!("{} minutes", seconds / 60),
    }
}
