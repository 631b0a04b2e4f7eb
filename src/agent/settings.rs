//! How conversations are kept and ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::conversation::Limits;

/// How conversations are kept and ended; the section `[conversation]` of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConversationSettings {
    /// Minutes without a word after which the next message begins another conversation. 0: only a
    /// person or the model ends one.
    pub idle_minutes: u32,
    /// How many conversations are kept; beyond, the oldest that have ended are deleted. 0: all.
    pub kept: u32,
    /// Minutes that a question to the person keeps its conversation open.
    pub waiting_minutes: u32,
    /// Whether a model gives an ended conversation its title and summary.
    pub titles_by_model: bool,
    /// Whether a model looks back at a conversation after its end.
    pub retrospection: bool,
    /// What the model is asked then.
    pub retrospection_prompt: String,
}

/// What a look back is for, where the user says nothing else.
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
    /// How long a conversation goes on by itself.
    pub fn limits(&self) -> Limits {
        let minutes = |minutes: u32| Duration::from_secs(u64::from(minutes) * 60);
        Limits { idle: minutes(self.idle_minutes), waiting: minutes(self.waiting_minutes) }
    }
}
