//! The settings of conversations.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::conversation::Limits;

/// The `[conversation]` section: how long conversations are stored and when they end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConversationSettings {
    /// Minutes of silence after which the next message starts a new conversation. 0: only a person
    /// or the model ends one.
    pub idle_minutes: u32,
    /// How many conversations to store; beyond that, the oldest ended ones are deleted. 0: all.
    pub kept: u32,
    /// Minutes that an open question keeps its conversation open.
    pub waiting_minutes: u32,
    /// Whether a model writes the title and summary of an ended conversation.
    pub titles_by_model: bool,
    /// Whether a model writes a retrospection after a conversation ends.
    pub retrospection: bool,
    pub retrospection_prompt: String,
}

/// The default prompt for a retrospection.
const LOOK_BACK: &str = "Look back at this conversation between a person and the assistant of \
    their notes. In at most five sentences: what did the person want, what got in the way, and \
    what should the assistant do otherwise next time? Say only what the conversation shows.";

impl Default for ConversationSettings {
    fn default() -> Self {
        Self {
            idle_minutes: 30,
            kept: 1000,
            waiting_minutes: 60,
            titles_by_model: true,
            retrospection: false,
            retrospection_prompt: LOOK_BACK.to_owned(),
        }
    }
}

impl ConversationSettings {
    /// When a conversation ends automatically.
    pub fn limits(&self) -> Limits {
        let minutes = |minutes: u32| Duration::from_secs(u64::from(minutes) * 60);
        Limits { idle: minutes(self.idle_minutes), waiting: minutes(self.waiting_minutes) }
    }
}
