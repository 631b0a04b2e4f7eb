//! `tools/list` and `tools/call`, in MCP's own shapes.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use super::quoted;

/// Nothing to say. The list is short and comes whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ToolsListParams {}

/// The tools, sorted by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ToolsListResult {
    /// One entry a tool.
    pub tools: Vec<Tool>,
}

/// One tool, as MCP describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// The name to call it by.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What a model reads.
    pub description: String,
    /// The JSON Schema of its arguments.
    #[ts(type = "JsonSchema")]
    pub input_schema: Value,
    /// The JSON Schema of `structuredContent`.
    #[ts(type = "JsonSchema")]
    pub output_schema: Value,
    /// What a client may assume of it.
    pub annotations: ToolAnnotations,
}

/// MCP's hints about a tool. Hints: what is allowed is decided by the daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// Its name for people, once more where MCP looks for it.
    pub title: String,
    /// It changes nothing.
    pub read_only_hint: bool,
    /// It may move or delete what exists, or change much at once.
    pub destructive_hint: bool,
    /// A second call with the same arguments changes nothing more.
    pub idempotent_hint: bool,
    /// It reaches beyond the vault: never.
    pub open_world_hint: bool,
}

/// Which tool to run, on what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ToolsCallParams {
    /// The tool's name.
    pub name: String,
    /// Its arguments, checked against its schema.
    #[serde(default)]
    #[ts(optional, as = "Option<Map<String, Value>>")]
    pub arguments: Map<String, Value>,
    /// What goes with the call and is none of the tool's arguments.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub meta: Option<CallMeta>,
}

/// What goes with a call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct CallMeta {
    /// Ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub vault: Option<CallVaultMeta>,
}

/// What only the program that calls can say, never the model whose words the arguments are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CallVaultMeta {
    /// A person has seen what the call does and agreed. Only a person's own program can say so.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub confirmed: bool,
    /// With `confirmed`: the `identity` of what that person was shown. Where the call comes to anything
    /// else by now, nothing is done and they are asked anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub agreed: Option<String>,
    /// Only say what the call would do.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub dry_run: bool,
    /// The turn it belongs to, any name of at most 100 characters. What the calls of one turn of
    /// one connection change is one change set, and the limits of a turn count them together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub turn: Option<String>,
    /// The conversation it belongs to, for `list_changes` and the audit; at most 100 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub conversation: Option<String>,
}

/// What the tool has to say. A tool that could not do its work answers too, with `isError`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsCallResult {
    /// The answer as text, sized for a model's context.
    pub content: Vec<Content>,
    /// The same facts for programs; of an error `{code, message, hint?, data?}`.
    #[ts(type = "unknown")]
    pub structured_content: Value,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// An answer whose facts have been written: on the wire it is a [`ToolsCallResult`] with one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolsCallWritten {
    /// The answer as text.
    pub text: String,
    /// The facts: JSON, which is sent as it stands.
    pub facts: String,
    /// Whether the tool failed.
    pub is_error: bool,
}

impl ToolsCallWritten {
    /// Bytes it takes as JSON, or somewhat more, unless most of the text has to be escaped.
    #[must_use]
    pub fn room(&self) -> usize {
        self.text.len() + self.text.len() / 16 + self.facts.len() + 128
    }

    /// Writes it behind what `json` holds.
    pub fn write(&self, json: &mut Vec<u8>) {
        json.extend_from_slice(br#"{"content":[{"type":"text","text":"#);
        quoted::write(&self.text, json);
        json.extend_from_slice(br#"}],"structuredContent":"#);
        json.extend_from_slice(self.facts.as_bytes());
        json.extend_from_slice(match self.is_error {
            true => br#","isError":true}"#,
            false => br#","isError":false}"#,
        });
    }
}

/// One piece of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_the_result_of_a_call(text in ".{0,80}", fact in ".{0,20}", is_error: bool) {
            let facts = json!({ "path": fact, "lines": [1, 2] });
            let result = ToolsCallResult {
                content: vec![Content::Text { text: text.clone() }],
                structured_content: facts.clone(),
                is_error,
            };
            let mut written = b"before".to_vec();
            ToolsCallWritten { text, facts: facts.to_string(), is_error }.write(&mut written);
            let expected = format!("before{}", serde_json::to_string(&result).unwrap());
            prop_assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
    }
}
