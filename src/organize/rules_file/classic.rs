//! Rules in the form `{name, if, thenMoveTo, thenRenameTo, priority}`.

use super::reader::get;
use super::{Rule, RuleReader};
use crate::note::yaml::Node;

const KEYS: [&str; 5] = ["name", "if", "thenMoveTo", "thenRenameTo", "priority"];

pub(super) fn is_form(pairs: &[(Node, Node)]) -> bool {
    ["if", "thenMoveTo", "thenRenameTo", "then_move_to", "then_rename_to"]
        .iter()
        .any(|key| get(pairs, key).is_some())
}

impl RuleReader<'_> {
    /// Reads the keys of a rule in this form; returns the position of its condition.
    pub(super) fn classic_form(&mut self, pairs: &[(Node, Node)], rule: &mut Rule) -> Option<Node> {
        let mut condition = None;
        for (key, value) in pairs {
            match key.text().unwrap_or_default() {
                "name" | "dialect" => {}
                "priority" if value.is_null() => {}
                "priority" => rule.priority = self.priority(value),
                "if" => {
                    self.condition(value, rule);
                    condition = Some(value.clone());
                }
                "thenMoveTo" | "then_move_to" if !value.is_null() => self.act("move", value, rule),
                "thenRenameTo" | "then_rename_to" if !value.is_null() => {
                    self.act("rename", value, rule);
                }
                "thenMoveTo" | "then_move_to" | "thenRenameTo" | "then_rename_to" => {}
                other => self.unknown_key(key, other, &KEYS),
            }
        }
        if condition.as_ref().is_none_or(Node::is_null) {
            let at = pairs.first().map_or(0, |(key, _)| key.at.start);
            let hint = "write one: `if: file.ext == \"pdf\"`";
            self.fault_at(at..at, "the rule has no condition `if`", hint);
        }
        condition
    }
}
