//! Workflows: steps that call tools, where later steps use the results of earlier ones.
//!
//! A definition is YAML or JSON. [`read()`] checks everything that can be checked before the first step runs, and
//! reports errors with line and column. Names and arguments of tools come through [`Tools`]. The room `workflows`
//! runs definitions.
//!
//! In reading order: this file (the definition), `read`, `needs` (dependencies), [`values`] (values of expressions).

mod needs;
mod read;
pub mod values;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

pub use read::{MAX_BYTES, MAX_STEPS, read};

use crate::bases::ast::Expression;
use crate::bases::diagnostic::Diagnostic;
use crate::bases::template::Template;

#[derive(Debug, Clone)]
pub struct Workflow {
    pub id: String,
    pub inputs: Vec<Input>,
    pub steps: Vec<Step>,
    /// Probable mistakes, which do not prevent running.
    pub warnings: Vec<Diagnostic>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    pub name: String,
    /// `None`: required.
    pub default: Option<Json>,
}

#[derive(Debug, Clone)]
pub struct Step {
    /// Letters, digits and `_`; unique in its workflow.
    pub id: String,
    pub does: Does,
    /// The arguments of a tool, or the data for a model.
    pub input: Slot,
    /// The numbers of the steps that must end before: those it names and those whose results it uses.
    pub depends_on: Vec<usize>,
    /// The condition for running; with `for_each`, evaluated for each element.
    pub when: Option<Arc<Expression>>,
    /// A list: the step runs once for each element, which is `item` in its expressions.
    pub for_each: Option<Slot>,
    /// The time limit of one run, in addition to the limit of all tool calls.
    pub timeout: Option<Duration>,
    pub on_error: OnError,
}

/// The action of a step.
#[derive(Debug, Clone)]
pub enum Does {
    Tool {
        name: String,
        /// Whether it may change something. A dry run shows such steps without running them.
        changes: bool,
    },
    /// Asks a language model, which has no tools.
    Model(Template),
    /// Waits for a person's answer.
    Ask {
        question: Template,
        /// The possible answers; empty for free text.
        choices: Vec<String>,
    },
}

/// The effect of a failed step on other steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnError {
    /// No other step begins.
    #[default]
    Stop,
    /// Other steps run; the failed step's `data` is null and its `error` has the reason.
    Continue,
}

/// A value that contains templates.
#[derive(Debug, Clone)]
pub enum Slot {
    Value(Json),
    Template(Template),
    List(Vec<Slot>),
    Object(Vec<(String, Slot)>),
}

/// Access to the tools that steps may call.
pub trait Tools {
    /// The tool of this name; `None` if there is none.
    fn find(&self, name: &str) -> Option<ToolFacts>;
    fn names(&self) -> Vec<String>;
    /// The tool that creates a plan from the argument `rules`, if any.
    fn planner(&self) -> Option<String>;
    /// Checks the value of one argument.
    ///
    /// # Errors
    /// The mismatch, as a sentence.
    fn fits(&self, tool: &str, argument: &str, value: &Json) -> Result<(), String>;
}

/// The properties of a tool that matter to the check.
#[derive(Debug, Clone, Default)]
pub struct ToolFacts {
    /// Whether it may change something.
    pub changes: bool,
    pub arguments: Vec<Argument>,
}

#[derive(Debug, Clone)]
pub struct Argument {
    pub name: String,
    pub required: bool,
    /// Other names for it.
    pub aliases: Vec<String>,
}

impl Workflow {
    /// The values of the inputs: given ones, and defaults for the others.
    ///
    /// # Errors
    /// A missing or unknown input: its name and a sentence.
    pub fn inputs(&self, given: &serde_json::Map<String, Json>) -> Result<Json, String> {
        if let Some(unknown) =
            given.keys().find(|name| !self.inputs.iter().any(|one| one.name == **name))
        {
            let known: Vec<_> = self.inputs.iter().map(|one| format!("`{}`", one.name)).collect();
            let known = if known.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has {}", known.join(", "))
            };
            return Err(format!(
                "`{}` has no input `{}`; {known}",
                self.id,
                unknown.escape_debug()
            ));
        }
        let value = |input: &Input| match (given.get(&input.name), &input.default) {
            (Some(value), _) | (None, Some(value)) => Ok((input.name.clone(), value.clone())),
            (None, None) => Err(format!("`{}` needs the input `{}`", self.id, input.name)),
        };
        self.inputs
            .iter()
            .map(value)
            .collect::<Result<serde_json::Map<_, _>, _>>()
            .map(Json::Object)
    }
}

impl Does {
    /// Whether it may change something in the vault.
    pub fn changes(&self) -> bool {
        matches!(self, Self::Tool { changes: true, .. })
    }

    pub fn word(&self) -> &str {
        match self {
            Self::Tool { name, .. } => name,
            Self::Model(_) => "model",
            Self::Ask { .. } => "ask",
        }
    }
}
