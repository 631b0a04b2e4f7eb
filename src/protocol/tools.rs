//! `tools/list` and `tools/call`, in MCP's form.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use super::envelope::write_text;

/// No params. The list is short and has no pages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ToolsListParams {}

/// The tools, sorted by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ToolsListResult {
    pub tools: Vec<Tool>,
}

/// A tool, as in MCP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    pub name: String,
    /// Display name.
    pub title: String,
    /// The description for models.
    pub description: String,
    /// The JSON Schema of its arguments.
    #[ts(type = "JsonSchema")]
    pub input_schema: Value,
    /// The JSON Schema of `structuredContent`.
    #[ts(type = "JsonSchema")]
    pub output_schema: Value,
    pub annotations: ToolAnnotations,
}

/// MCP's hints about a tool. The daemon decides about permissions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// Display name, at the place where MCP expects it.
    pub title: String,
    pub read_only_hint: bool,
    /// It may move or delete existing files, or change many at once.
    pub destructive_hint: bool,
    /// A repeated call with the same arguments changes nothing more.
    pub idempotent_hint: bool,
    /// It reaches beyond the vault: a tool of somebody else's server may.
    pub open_world_hint: bool,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ToolsCallParams {
    pub name: String,
    /// The arguments, validated against the tool's schema.
    #[serde(default)]
    #[ts(optional, as = "Option<Map<String, Value>>")]
    pub arguments: Map<String, Value>,
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub meta: Option<CallMeta>,
}

/// The extension member `_meta`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct CallMeta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub vault: Option<CallVaultMeta>,
}

/// Options that only the calling program can set, never the model that wrote the arguments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CallVaultMeta {
    /// A person has approved the call. Only a person's own program may set it.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub confirmed: bool,
    /// With `confirmed`: the `identity` of the change that the person was shown. If the call would
    /// now make another change, nothing is done and approval is requested again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed: Option<String>,
    /// Only preview the call.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub dry_run: bool,
    /// The turn that the call belongs to, any text of at most 100 characters. The changes of one
    /// turn of one connection make one change set and share the limits of a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The conversation that the call belongs to, for `list_changes` and the audit; at most 100
    /// characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
}

/// The result of a tool. A failed tool returns one, too, with `isError`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsCallResult {
    /// The result as text, sized for a model's context.
    pub content: Vec<Content>,
    /// The result as data; for an error `{code, message, hint?, data?}`.
    #[ts(type = "unknown")]
    pub structured_content: Value,
    pub is_error: bool,
}

/// A [`ToolsCallResult`] with one text and serialized data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolsCallWritten {
    pub text: String,
    /// The data as JSON, which is sent unchanged.
    pub facts: String,
    pub is_error: bool,
}

impl ToolsCallWritten {
    /// An estimate of its size as JSON, in bytes; too small only if most of the text must be escaped.
    pub fn room(&self) -> usize {
        self.text.len() + self.text.len() / 16 + self.facts.len() + 128
    }

    /// Appends it to `json`.
    pub fn write(&self, json: &mut Vec<u8>) {
        json.extend_from_slice(br#"{"content":[{"type":"text","text":"#);
        write_text(&self.text, json);
        json.extend_from_slice(br#"}],"structuredContent":"#);
        json.extend_from_slice(self.facts.as_bytes());
        json.extend_from_slice(if self.is_error {
            br#","isError":true}"#
        } else {
            br#","isError":false}"#
        });
    }
}

/// A part of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    Text { text: String },
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
