//! Workflows: steps that call tools one after another, where later steps use what earlier ones gave.
//!
//! A definition is YAML or JSON. [`read()`] checks all of it that can be checked before the first step runs, and says
//! what is wrong with line and column. It knows no tools: their names and arguments come through [`Tools`]. Running is
//! the room `workflows`.
//!
//! In reading order: this page (what a definition says), `read`, `needs` (which step needs which), [`values`] (what
//! its expressions give).

mod needs;
mod read;
pub mod values;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

pub use read::{MAX_BYTES, MOST_STEPS, read};

use crate::bases::ast::Expression;
use crate::bases::diagnostic::Diagnostic;
use crate::bases::template::Template;

/// What a workflow file says, checked.
#[derive(Debug, Clone)]
pub struct Workflow {
    /// Its name.
    pub id: String,
    pub inputs: Vec<Input>,
    /// In the order of the file.
    pub steps: Vec<Step>,
    /// What it has and probably does not mean.
    pub warnings: Vec<Diagnostic>,
}

/// A value that is given when the workflow is started.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    pub name: String,
    /// `None`: it has to be given.
    pub default: Option<Json>,
}

/// One step.
#[derive(Debug, Clone)]
pub struct Step {
    /// Letters, digits and `_`; unique in its workflow.
    pub id: String,
    pub does: Does,
    /// Of a tool its arguments; of a model what it is given to read.
    pub input: Slot,
    /// The steps that must have ended before, by their number: those it names and those whose results it uses.
    pub depends_on: Vec<usize>,
    /// Runs only where this holds; with `for_each`, asked for each element.
    pub when: Option<Arc<Expression>>,
    /// A list: the step runs once for each element, which is `item` in its expressions.
    pub for_each: Option<Slot>,
    /// How long one run of it may take; of a tool, besides the limit that holds for all calls.
    pub timeout: Option<Duration>,
    pub on_error: OnError,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum Does {
    Tool {
        name: String,
        /// Whether it may change something: then it is not run in a dry run, but shown.
        changes: bool,
    },
    /// Asks a language model, which has no tools.
    Model(Template),
    /// Waits for a person's answer.
    Ask {
        question: Template,
        /// The answers there are; empty for any text.
        choices: Vec<String>,
    },
}

/// What becomes of the rest when a step fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnError {
    /// No other step begins.
    #[default]
    Stop,
    /// The others run; its `data` is null, and `error` says why.
    Continue,
}

/// A value with templates in it.
#[derive(Debug, Clone)]
pub enum Slot {
    Value(Json),
    Template(Template),
    List(Vec<Slot>),
    Object(Vec<(String, Slot)>),
}

/// The tools that steps may call.
pub trait Tools {
    /// The tool of this name; `None` if there is none.
    fn find(&self, name: &str) -> Option<ToolFacts>;
    /// The names of all tools.
    fn names(&self) -> Vec<String>;
    /// The tool that makes a plan from the argument `rules`; `None` if there is none.
    fn planner(&self) -> Option<String>;
    /// Checks the value of one argument.
    ///
    /// # Errors
    /// What does not fit, as a sentence.
    fn fits(&self, tool: &str, argument: &str, value: &Json) -> Result<(), String>;
}

/// What a check has to know of a tool.
#[derive(Debug, Clone, Default)]
pub struct ToolFacts {
    /// Whether it may change something.
    pub changes: bool,
    pub arguments: Vec<Argument>,
}

/// An argument of a tool.
#[derive(Debug, Clone)]
pub struct Argument {
    pub name: String,
    pub required: bool,
    /// Other names for it.
    pub aliases: Vec<String>,
}

impl Workflow {
    /// The values of the inputs: those given, and the defaults of the others.
    ///
    /// # Errors
    /// One that is missing, or that the workflow does not have: its name, and a sentence.
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

    /// What it is, as one word.
    pub fn word(&self) -> &str {
        match self {
            Self::Tool { name, .. } => name,
            Self::Model(_) => "model",
            Self::Ask { .. } => "ask",
        }
    }
}
