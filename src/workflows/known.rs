//! The tools of the registry for the check of workflows.

use serde_json::Value as Json;

use crate::organize::workflow::{Argument, ToolFacts, Tools};
use crate::policy::schema;
use crate::tools::{Definition, Registry};

#[derive(Debug)]
pub struct KnownTools<'a>(pub &'a Registry);

impl Tools for KnownTools<'_> {
    fn find(&self, name: &str) -> Option<ToolFacts> {
        let tool = self.0.get(name)?;
        let required = tool.input_schema["required"].as_array();
        let is_required = |name: &str| {
            required.is_some_and(|required| required.iter().any(|one| one.as_str() == Some(name)))
        };
        let properties = tool.input_schema["properties"].as_object().into_iter().flatten();
        let argument = |(name, _): (&String, _)| Argument {
            name: name.clone(),
            required: is_required(name),
            aliases: tool
                .aliases
                .iter()
                .filter(|(of, _)| of == name)
                .map(|(_, alias)| (*alias).to_owned())
                .collect(),
        };
        Some(ToolFacts {
            changes: super::changes(tool.tier),
            arguments: properties.map(argument).collect(),
        })
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|tool| tool.name.clone()).collect()
    }

    fn planner(&self) -> Option<String> {
        let takes_rules = |tool: &&Definition| {
            !super::changes(tool.tier) && tool.input_schema["properties"]["rules"].is_object()
        };
        self.0.iter().find(takes_rules).map(|tool| tool.name.clone())
    }

    fn fits(&self, tool: &str, argument: &str, value: &Json) -> Result<(), String> {
        match self.0.get(tool) {
            Some(tool) if !value.is_null() => {
                schema::check(&tool.input_schema["properties"][argument], value)
            }
            _ => Ok(()),
        }
    }
}
