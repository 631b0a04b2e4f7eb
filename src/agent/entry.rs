//! The entries the agent stores. They rebuild the model's context byte for byte, and are the source
//! of the updates that clients receive.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::attachments::Attachments;
use crate::conversation::ConversationId;
use crate::llm::{BlockKind, Message, ToolResult, ToolSpec};
use crate::policy::Scope;
use crate::tools::ReadUpdate;

/// A stored entry. The model gets entries in stored order, except that the results of one answer's
/// calls follow the order of the calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// The start of every request. Always the first entry, and never replaced: changing it
    /// invalidates earlier thinking.
    Opening {
        system: String,
        /// The tools, in the order in which they are sent.
        tools: Vec<ToolSpec>,
    },
    /// A message of the person or the model, or a notice from the steward.
    Message {
        message: Message,
        /// The id that clients know it by; none for notices.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The source of the person's message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// The scope of the sender, if it is more restricted than the person's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
        /// Attachments of the person's message.
        #[serde(default, skip_serializing_if = "Attachments::is_empty")]
        attached: Attachments,
    },
    Result {
        result: ToolResult,
        /// Updates to the model's read set.
        #[serde(default, rename = "learnt", skip_serializing_if = "Vec::is_empty")]
        read_updates: Vec<ReadUpdate>,
        /// The structured result, if clients draw it, or code and data of the error of a call that was not allowed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// A message the model sent during its turn. The model knows it from its own call.
    Sent {
        /// The id that clients know it by.
        id: String,
        text: String,
        /// Whether the turn then waits for the person's answer.
        is_question: bool,
    },
    /// A compaction: a summary replaces the earlier messages.
    Trimmed {
        summary: String,
        /// The person's last message if it was dropped, else empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        asked: String,
        /// How many messages before this entry stay, without thinking.
        kept: usize,
    },
}

/// The notice to the model if stored items cannot be read.
const DAMAGED: &str = "Something that was said or done before this can no longer be read, since what \
    was kept of it is damaged. Go on without it, and tell the user where it matters.";

impl Entry {
    /// The notice that earlier items are damaged.
    pub fn damaged() -> Self {
        Self::notice(DAMAGED)
    }

    /// Whether this is [`Entry::damaged`].
    pub fn is_of_damage(&self) -> bool {
        matches!(self, Self::Message { message: Message::Notice { text }, .. } if text == DAMAGED)
    }

    /// A message without source, scope or attachments.
    pub fn message(message: Message, id: Option<String>) -> Self {
        Self::Message { message, id, source: None, scope: None, attached: Attachments::default() }
    }

    /// A notice from the steward to the model.
    pub fn notice(text: impl Into<String>) -> Self {
        Self::message(Message::Notice { text: text.into() }, None)
    }

    /// The inbox number, if this is a user message.
    pub fn received(&self) -> Option<i64> {
        match self {
            Self::Message { message: Message::User { .. }, id: Some(id), .. } => {
                id.strip_prefix('m')?.parse().ok()
            }
            _ => None,
        }
    }

    /// The plain text, for search and export.
    pub fn text(&self) -> String {
        match self {
            Self::Opening { .. } => String::new(),
            Self::Message { message, .. } => message_text(message),
            Self::Result { result, .. } => result_text(result),
            Self::Sent { text, .. } => text.clone(),
            Self::Trimmed { summary, .. } => summary.clone(),
        }
    }
}

/// The texts of a message, joined by blank lines; those of several results, by newlines.
pub fn message_text(message: &Message) -> String {
    match message {
        Message::User { content } | Message::Assistant { content, .. } => {
            texts(content.iter().map(|block| &block.kind))
        }
        Message::Notice { text } => text.clone(),
        Message::ToolResults { results } => {
            let texts: Vec<String> = results.iter().map(result_text).collect();
            texts.join("\n")
        }
    }
}

/// The texts of a result, joined by blank lines.
pub fn result_text(result: &ToolResult) -> String {
    texts(result.content.iter().map(|block| &block.kind))
}

fn texts<'a>(kinds: impl Iterator<Item = &'a BlockKind>) -> String {
    let texts: Vec<&str> = kinds
        .filter_map(|kind| match kind {
            BlockKind::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n\n")
}

/// A user message and its source. The inbox stores this as JSON, with the text in its own column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// The inbox number; 0 before the message is stored there.
    #[serde(skip)]
    pub number: i64,
    #[serde(skip)]
    pub text: String,
    /// The target conversation; `None`: the current one, or a new one.
    pub to: Option<ConversationId>,
    /// The source of the message: `chat`, `voice`, `cli`.
    pub source: String,
    /// The sender's scope. Calls made for this message are limited to it.
    pub scope: Scope,
    /// The id that the client gave the message.
    pub client_id: Option<String>,
    #[serde(default, skip_serializing_if = "Attachments::is_empty")]
    pub attached: Attachments,
    /// The connection that sent it, which need not be notified of it.
    #[serde(skip)]
    pub from: Option<u64>,
    /// A note for the model on how the message came in.
    #[serde(skip)]
    pub note: Option<String>,
}

impl UserMessage {
    /// The id that clients know the message by.
    pub fn id(&self) -> String {
        format!("m{}", self.number)
    }

    /// The history entry of this message.
    pub fn entry(&self) -> Entry {
        Entry::Message {
            message: Message::user(self.text.clone()),
            id: Some(self.id()),
            source: Some(self.source.clone()),
            scope: (self.scope > Scope::Person).then_some(self.scope),
            attached: self.attached.clone(),
        }
    }
}
