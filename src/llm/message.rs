//! A conversation as sent to a model: an ordered list of messages, and the model behind each
//! answer.
//!
//! A block has two forms: a neutral one, which any model accepts, and the vendor's native item,
//! which must go back unchanged, in place, and only to the model that made it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A vendor's API format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses: OpenAI's own models.
    Responses,
    /// OpenAI's Chat Completions: every other vendor.
    Chat,
    /// Gemini's `generateContent`.
    Gemini,
}

/// Token counts of one turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All input tokens, cached ones included.
    pub input: u64,
    /// Input tokens read from the vendor's cache.
    pub cache_read: u64,
    /// Input tokens written to the vendor's cache.
    pub cache_write: u64,
    /// All output tokens, thinking included.
    pub output: u64,
    /// Output tokens spent on thinking; `None` if the vendor does not report them.
    pub reasoning: Option<u64>,
}

/// One message of a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    User {
        /// Text and image blocks.
        content: Vec<Block>,
    },
    Assistant {
        content: Vec<Block>,
        /// The model that answered; `None` for an answer we wrote ourselves.
        origin: Option<Origin>,
    },
    /// The results of all tool calls of the previous answer, in call order.
    ToolResults { results: Vec<ToolResult> },
    /// Information the daemon adds that the person did not write: the date, a note that changed.
    Notice { text: String },
}

impl Message {
    /// A user message with one text block.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { content: vec![Block::text(text)] }
    }
}

/// The model behind an answer. Decides which models may get the native items back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub wire: Wire,
    /// The base URL, without a trailing slash.
    pub endpoint: String,
    pub model: String,
}

impl Origin {
    /// Whether this model accepts `other`'s native items. A Claude model accepts those of any
    /// Claude model at the same URL and drops what it cannot read; for other vendors, items are
    /// bound to the model.
    pub fn reads(&self, other: &Self) -> bool {
        self.wire == other.wire
            && self.endpoint == other.endpoint
            && (self.wire == Wire::Anthropic || self.model == other.model)
    }
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The neutral form.
    pub kind: BlockKind,
    /// The vendor's item as JSON text, byte for byte as the vendor sent it. `None` if the neutral
    /// form says everything, or if the item is incomplete and must not go back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<String>,
}

/// The content of a block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    Text {
        text: String,
    },
    /// Thinking, or the vendor's summary of it.
    Thinking {
        /// The text that may be shown; empty if the vendor shows none.
        text: String,
        /// The vendor sent encrypted thinking.
        redacted: bool,
    },
    ToolCall(ToolCall),
    Image {
        /// The media type, such as `image/png`.
        mime: String,
        /// The image's bytes in base64.
        base64: String,
    },
    /// An image by reference: a file of the vault. The sender of a request replaces it by [`Self::Image`].
    ImageFile {
        path: String,
        revision: String,
    },
    /// A kind of block this program does not know.
    Opaque,
}

impl Block {
    /// A text block without a native item.
    pub fn text(text: impl Into<String>) -> Self {
        Self { kind: BlockKind::Text { text: text.into() }, native: None }
    }

    pub fn call(&self) -> Option<&ToolCall> {
        match &self.kind {
            BlockKind::ToolCall(call) => Some(call),
            _ => None,
        }
    }
}

/// A tool call that the model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The vendor's id, or a generated one if the vendor sent none; unique within a history.
    pub id: String,
    pub name: String,
    pub args: ToolArgs,
}

/// A call's arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolArgs {
    /// Valid arguments. Integers beyond 64 bits are rounded here, but not in the native item.
    Object(Map<String, Value>),
    /// Truncated, or not a JSON object: the call must never run.
    Invalid(String),
}

impl ToolArgs {
    /// Parses the arguments. An empty text or `null` is an empty object.
    pub fn parse(text: &str) -> Self {
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Self::Object(map),
            Ok(Value::Null) => Self::Object(Map::new()),
            _ if text.trim().is_empty() => Self::Object(Map::new()),
            _ => Self::Invalid(text.to_owned()),
        }
    }

    /// The arguments as a JSON object. Invalid arguments become an empty object, because every
    /// vendor requires an object.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Object(map) => Value::Object(map.clone()),
            Self::Invalid(_) => Value::Object(Map::new()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    pub call_id: String,
    pub name: String,
    /// Text and image blocks.
    pub content: Vec<Block>,
    /// The tool failed; the content says how.
    pub is_error: bool,
}

impl ToolResult {
    /// All texts, joined by newlines.
    pub(super) fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|block| match &block.kind {
                BlockKind::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        texts.join("\n")
    }

    /// Media type and base64 of each image.
    pub(super) fn images(&self) -> impl Iterator<Item = (&str, &str)> {
        self.content.iter().filter_map(|block| match &block.kind {
            BlockKind::Image { mime, base64 } => Some((mime.as_str(), base64.as_str())),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_object_or_never_run() {
        for text in ["", " ", "{}", "null"] {
            assert_eq!(ToolArgs::parse(text), ToolArgs::Object(Map::new()), "{text:?}");
        }
        for text in ["{\"path\": \"a", "[]", "{}{}", "3"] {
            assert_eq!(ToolArgs::parse(text), ToolArgs::Invalid(text.to_owned()));
        }
    }

    #[test]
    fn a_history_survives_being_stored() {
        let native = "{\"type\":\"tool_use\",\"input\":{\"n\":1.50}}".to_owned();
        let call = ToolCall { id: "a".into(), name: "t".into(), args: ToolArgs::parse("{") };
        let history = vec![
            Message::user("ü"),
            Message::Assistant {
                content: vec![Block { kind: BlockKind::ToolCall(call), native: Some(native) }],
                origin: Some(Origin {
                    wire: Wire::Anthropic,
                    endpoint: "https://x".into(),
                    model: "m".into(),
                }),
            },
            Message::Notice { text: "n".into() },
        ];
        let text = serde_json::to_string(&history).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Message>>(&text).unwrap(), history);
    }
}
