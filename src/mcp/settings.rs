//! The tools and resources that MCP clients can use.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tools::{Definition, Registry};

/// The tools and resources that MCP clients can use; a section of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The tools that they are shown and may call.
    pub tools: Offered,
    /// Whether they may search conversations, which may quote any note.
    pub conversations: bool,
    /// Whether a client that can ask its user may ask for approvals; its response counts as the
    /// person's answer.
    pub ask_in_client: bool,
    /// Whether they get only tools, no resources or prompts; for guests.
    #[serde(skip)]
    pub tools_alone: bool,
}

/// Some of the tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum Offered {
    /// The everyday tools.
    #[default]
    Core,
    All,
    /// The tools with these names.
    Named(Vec<String>),
}

impl Settings {
    /// Whether clients may call this tool.
    pub fn offer(&self, tool: &Definition) -> bool {
        if tool.is_external {
            return false;
        }
        if tool.quotes {
            return self.conversations;
        }
        match &self.tools {
            Offered::Core => !tool.seldom,
            Offered::All => true,
            Offered::Named(names) => names.contains(&tool.name),
        }
    }
}

impl TryFrom<Value> for Offered {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let unfit = || "it is `core`, `all` or a list of names of tools".to_owned();
        match value {
            Value::String(word) if word == "core" => Ok(Self::Core),
            Value::String(word) if word == "all" => Ok(Self::All),
            Value::Array(names) => {
                let names: Option<Vec<String>> =
                    names.iter().map(|name| name.as_str().map(str::to_owned)).collect();
                let names = names.ok_or_else(unfit)?;
                let is_listed =
                    |name: &String| Registry::built_in().iter().any(|tool| tool.name == *name);
                match names.iter().find(|name| !is_listed(name)) {
                    Some(name) => {
                        Err(format!("there is no tool `{name}`; `steward tools` names them"))
                    }
                    None => Ok(Self::Named(names)),
                }
            }
            _ => Err(unfit()),
        }
    }
}

impl From<Offered> for Value {
    fn from(offered: Offered) -> Self {
        match offered {
            Offered::Core => "core".into(),
            Offered::All => "all".into(),
            Offered::Named(names) => names.into(),
        }
    }
}
