//! What the agent keeps of a conversation: the entries from which the context is made again, byte
//! for byte, and of which clients are shown what was said.

use serde::{Deserialize, Serialize};

use super::attached::Attached;
use crate::conversation::ConversationId;
use crate::llm::{BlockKind, Message, ToolResult, ToolSpec};
use crate::policy::Scope;
use crate::tools::Learnt;

/// One thing that is kept. The order in which entries are kept is the order in which a model is
/// given them; only the results of one answer's calls are put into the order of the calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// What every request of the conversation begins with. The first entry, and never another one:
    /// a changed one voids what models thought before.
    Opening {
        /// The system prompt.
        system: String,
        /// The tools, in the order they are told.
        tools: Vec<ToolSpec>,
    },
    /// A message: the person's, the model's, or a notice of ours.
    Message {
        /// It.
        message: Message,
        /// How clients know it; none for notices.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Where the person's words came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// What whoever said it may do, where that is less than what the person's own words may.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
        /// What goes with the person's words.
        #[serde(default, skip_serializing_if = "Attached::is_empty")]
        attached: Attached,
    },
    /// What one call came to.
    Result {
        /// It.
        result: ToolResult,
        /// What the model knows by it of the texts of files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        learnt: Vec<Learnt>,
    },
    /// What the model sent to the person while it was at work. The model knows it from its own call.
    Sent {
        /// How clients know it.
        id: String,
        text: String,
        /// Whether the turn then waits for the person.
        is_question: bool,
    },
    /// What came before is from now on told by a summary.
    Trimmed {
        /// What is said in its place.
        summary: String,
        /// What the person wanted last, in their own words, where that is no longer told; else
        /// empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        asked: String,
        /// So many of the messages before this entry are still told, without thinking.
        kept: usize,
    },
}

/// What the model is told where something was kept and can no longer be read.
const DAMAGED: &str = "Something that was said or done before this can no longer be read, since what \
    was kept of it is damaged. Go on without it, and tell the user where it matters.";

impl Entry {
    /// The notice that something before it is damaged.
    pub fn damaged() -> Self {
        Self::notice(DAMAGED)
    }

    /// Whether it is [`Entry::damaged`].
    pub fn is_of_damage(&self) -> bool {
        matches!(self, Self::Message { message: Message::Notice { text }, .. } if text == DAMAGED)
    }

    /// A notice of ours to the model.
    pub fn notice(text: impl Into<String>) -> Self {
        Self::Message {
            message: Message::Notice { text: text.into() },
            id: None,
            source: None,
            scope: None,
            attached: Attached::default(),
        }
    }

    /// The number in the inbox of what a person said.
    pub fn received(&self) -> Option<i64> {
        match self {
            Self::Message { message: Message::User { .. }, id: Some(id), .. } => {
                id.strip_prefix('m')?.parse().ok()
            }
            _ => None,
        }
    }

    /// What it says in plain words, which is what is searched and exported.
    pub fn text(&self) -> String {
        match self {
            Self::Opening { .. } => String::new(),
            Self::Message { message, .. } => match message {
                Message::User { content } | Message::Assistant { content, .. } => {
                    texts(content.iter().map(|block| &block.kind))
                }
                Message::Notice { text } => text.clone(),
                Message::ToolResults { results } => {
                    let texts: Vec<String> = results.iter().map(result_text).collect();
                    texts.join("\n")
                }
            },
            Self::Result { result, .. } => result_text(result),
            Self::Sent { text, .. } => text.clone(),
            Self::Trimmed { summary, .. } => summary.clone(),
        }
    }
}

/// The texts of a result, joined by line ends.
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

/// What a person said, and where it came from. The inbox keeps it as it is, the text apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Its number in the inbox; 0 before it is kept there.
    #[serde(skip)]
    pub number: i64,
    #[serde(skip)]
    pub text: String,
    /// The conversation it is for; none: the one that goes on, or the next.
    pub to: Option<ConversationId>,
    /// Where they came from: `chat`, `voice`, `cli`.
    pub source: String,
    /// What the sender may do; what is called for its words may do no more.
    pub scope: Scope,
    /// What the client called it.
    pub client_id: Option<String>,
    /// What goes with the words.
    #[serde(default, skip_serializing_if = "Attached::is_empty")]
    pub attached: Attached,
    /// The connection it came by, which need not be told of it.
    #[serde(skip)]
    pub from: Option<u64>,
    /// What the model should know of how it came.
    #[serde(skip)]
    pub note: Option<String>,
}

impl Said {
    /// How clients know it.
    pub fn id(&self) -> String {
        format!("m{}", self.number)
    }

    /// The entry that it is in the history.
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
