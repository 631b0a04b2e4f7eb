//! A conversation as a model is given it: an ordered list of messages, and who made each answer.
//!
//! A block keeps two forms: what it means, which any model can be given, and the vendor's own item,
//! which only its maker may be given back, and then unchanged and in its place.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A vendor's language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses: what OpenAI's own models want.
    Responses,
    /// OpenAI's Chat Completions: what everyone else speaks.
    Chat,
    /// Gemini's `generateContent`.
    Gemini,
}

/// Tokens of one turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All that was read, with what the two below count.
    pub input: u64,
    /// Of these, read from the vendor's cache.
    pub cache_read: u64,
    /// Of these, written to it.
    pub cache_write: u64,
    /// All that was written, thinking included.
    pub output: u64,
    /// Of these, thinking; `None` where the vendor does not say.
    pub reasoning: Option<u64>,
}

/// One entry of a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// What the person said.
    User {
        /// Texts and images.
        content: Vec<Block>,
    },
    /// What a model answered.
    Assistant {
        /// Its blocks, in the order they came.
        content: Vec<Block>,
        /// Who made it; `None` for what no model said.
        origin: Option<Origin>,
    },
    /// The results of all tool calls of the answer before, in the order of the calls.
    ToolResults {
        /// One for each call.
        results: Vec<ToolResult>,
    },
    /// News from us that the person did not say: the date, a note that changed.
    Notice {
        /// The news.
        text: String,
    },
}

impl Message {
    /// A person's message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { content: vec![Block::text(text)] }
    }
}

/// Who made an answer: decides to whom its items may be given back as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The vendor's language.
    pub wire: Wire,
    /// The base address, without a slash at its end.
    pub endpoint: String,
    /// The model's id.
    pub model: String,
}

impl Origin {
    /// Whether this model may be given `other`'s items as they are. Any Claude takes another's at
    /// the same address and drops what it cannot read; elsewhere items are bound to the model.
    pub fn reads(&self, other: &Self) -> bool {
        self.wire == other.wire
            && self.endpoint == other.endpoint
            && (self.wire == Wire::Anthropic || self.model == other.model)
    }
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// What it means.
    pub kind: BlockKind,
    /// The vendor's item as JSON text, byte for byte where the vendor sent it whole; `None` where
    /// the meaning says everything, or where the item is not complete and must not go back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<String>,
}

/// What a block means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// Text.
    Text { text: String },
    /// Thinking, or a summary of it.
    Thinking {
        /// What may be shown; empty where the vendor shows nothing.
        text: String,
        /// The vendor sent it in a form only it can read.
        redacted: bool,
    },
    /// A tool to call.
    ToolCall(ToolCall),
    /// A picture.
    Image {
        /// `image/png` and the like.
        mime: String,
        /// Its bytes in base64.
        base64: String,
    },
    /// Something this program has no word for.
    Opaque,
}

impl Block {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { kind: BlockKind::Text { text: text.into() }, native: None }
    }

    /// The call, if it is one.
    pub fn call(&self) -> Option<&ToolCall> {
        match &self.kind {
            BlockKind::ToolCall(call) => Some(call),
            _ => None,
        }
    }
}

/// A tool that the model wants called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The vendor's id, or one made here where it sent none; distinct within a history.
    pub id: String,
    pub name: String,
    pub args: ToolArgs,
}

/// A call's arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolArgs {
    /// As they should be. Integers beyond 64 bits are rounded here, not in the native item.
    Object(Map<String, Value>),
    /// Cut off, or no JSON object: never to be executed.
    Invalid(String),
}

impl ToolArgs {
    /// Takes the text of the arguments; none at all are an empty object.
    pub fn parse(text: &str) -> Self {
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Self::Object(map),
            Ok(Value::Null) => Self::Object(Map::new()),
            _ if text.trim().is_empty() => Self::Object(Map::new()),
            _ => Self::Invalid(text.to_owned()),
        }
    }

    /// As a JSON object; invalid ones as an empty one, since every vendor insists on an object.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Object(map) => Value::Object(map.clone()),
            Self::Invalid(_) => Value::Object(Map::new()),
        }
    }
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's id.
    pub call_id: String,
    pub name: String,
    /// Texts and images.
    pub content: Vec<Block>,
    /// The tool failed, and the content says how.
    pub is_error: bool,
}

impl ToolResult {
    /// The texts, joined by line ends.
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

    /// The images, each with its type and base64.
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
