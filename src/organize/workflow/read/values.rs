//! Parses the values and expressions of a workflow.

use std::sync::Arc;

use serde_json::Value as Json;

use super::super::Slot;
use super::super::needs::{self, At, StepReference};
use super::{WorkflowReader, value};
use crate::bases::ast::Expression;
use crate::bases::diagnostic::{Diagnostic, Severity};
use crate::bases::parse::{self, Options};
use crate::bases::template::{Purpose, Template};
use crate::note::yaml::{Content, Node};

const OPTIONS: Options =
    Options { allows_extensions: true, is_summary: false, is_in_template: false };

impl WorkflowReader<'_> {
    pub(super) fn condition(&mut self, node: &Node, at: &At<'_>) -> Option<Arc<Expression>> {
        if let Some(Json::Bool(value)) = node.scalar() {
            return parse::parse(if value { "true" } else { "false" }, OPTIONS).ok().map(Arc::new);
        }
        let Some(source) = node.text() else {
            let hint = "write `when: steps.find.data.total > 0`";
            self.wrong(node, "`when` has to be an expression", hint);
            return None;
        };
        // Braces are optional here, since other values need them.
        let bare = source.trim();
        let inner = bare.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        let offset = inner.map_or(0, |_| source.find("{{").unwrap_or(0) + 2);
        let source = match inner {
            Some(inner) if !inner.contains("{{") => inner,
            _ => source,
        };
        match parse::parse(source, OPTIONS) {
            Ok(expression) => {
                let expression = Arc::new(expression);
                self.check(&expression, node, offset, at);
                Some(expression)
            }
            Err(error) => {
                self.faults.push(self.moved(error, node, offset));
                None
            }
        }
    }

    pub(super) fn slot(&mut self, node: &Node, at: &At<'_>) -> Slot {
        match &node.content {
            Content::Scalar { text, .. } if text.contains("{{") => {
                self.template(node, at).map_or(Slot::Value(Json::Null), Slot::Template)
            }
            Content::Scalar { .. } => Slot::Value(value(node)),
            Content::List(items) => {
                let slots: Vec<Slot> = items.iter().map(|item| self.slot(item, at)).collect();
                if slots.iter().all(|slot| matches!(slot, Slot::Value(_))) {
                    Slot::Value(value(node))
                } else {
                    Slot::List(slots)
                }
            }
            Content::Mapping(pairs) => {
                let entries = pairs.iter().map(|(key, value)| {
                    (key.text().unwrap_or_default().to_owned(), self.slot(value, at))
                });
                let entries: Vec<_> = entries.collect();
                if entries.iter().all(|(_, slot)| matches!(slot, Slot::Value(_))) {
                    Slot::Value(value(node))
                } else {
                    Slot::Object(entries)
                }
            }
        }
    }

    pub(super) fn template(&mut self, node: &Node, at: &At<'_>) -> Option<Template> {
        let Some(source) = node.text() else {
            self.wrong(node, "this must be a string", "");
            return None;
        };
        match Template::parse(source, Purpose::Text) {
            Ok(template) => {
                for (expression, offset) in template.expressions() {
                    self.check(expression, node, offset as usize, at);
                }
                Some(template)
            }
            Err(error) => {
                self.faults.push(self.moved(error, node, 0));
                None
            }
        }
    }

    /// Checks an expression at `offset` bytes in the text of a node.
    fn check(&mut self, expression: &Expression, node: &Node, offset: usize, at: &At<'_>) {
        let (used, found) = needs::check(expression, at);
        for diagnostic in found {
            let moved = self.moved(diagnostic, node, offset);
            match moved.severity {
                Severity::Error => self.faults.push(moved),
                Severity::Warning => self.warnings.push(moved),
            }
        }
        for (name, span) in used {
            let start = node.place(self.text, offset + span.start as usize) as u32;
            let end = node.place(self.text, offset + span.end as usize) as u32;
            self.places.push(StepReference {
                step: at.step,
                needs: name,
                at: start..end.max(start),
            });
        }
    }

    /// Translates a diagnostic of an expression to its place in the file.
    pub(super) fn moved(&self, diagnostic: Diagnostic, node: &Node, offset: usize) -> Diagnostic {
        let start = node.place(self.text, offset + diagnostic.at.start as usize);
        let end = node.place(self.text, offset + diagnostic.at.end as usize).max(start);
        diagnostic.moved_to(self.text, start as u32..end as u32)
    }
}
