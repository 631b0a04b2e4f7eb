//! What can be set about the agent.

use serde::{Deserialize, Deserializer, Serialize, de};

use super::turn::Limits;
use crate::llm::Effort;

/// The `[agent]` section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TurnSettings {
    /// How often the model is asked in one turn before it has to come to an end.
    #[serde(deserialize_with = "at_least_one")]
    pub rounds: u32,
    /// How many tools one turn may call.
    #[serde(deserialize_with = "at_least_one")]
    pub calls: u32,
    /// How many tokens the rounds of one turn may take together, what is read and what is written;
    /// 0: as many as they take.
    pub tokens: u64,
    /// How long one turn may take before it has to come to an end, in minutes.
    #[serde(deserialize_with = "at_least_one")]
    pub minutes: u32,
    /// The most tokens of one answer, thinking included; the model's own limit bounds it.
    #[serde(deserialize_with = "at_least_one")]
    pub max_output_tokens: u32,
    /// How hard the model is to think; unset leaves it to the vendor.
    pub effort: Option<Effort>,
    /// How much of the model's window may be used, in tokens; 0: all of it.
    pub max_context_tokens: u64,
    /// What the user tells every conversation.
    pub instructions: String,
    /// How the user arranges the vault.
    pub information_architecture: String,
    /// A note of the vault with more of the user's instructions; empty: none.
    pub instructions_note: String,
}

impl Default for TurnSettings {
    fn default() -> Self {
        Self {
            rounds: 10,
            calls: 100,
            tokens: 2_000_000,
            minutes: 30,
            max_output_tokens: 16_384,
            effort: None,
            max_context_tokens: 0,
            instructions: String::new(),
            information_architecture: String::new(),
            instructions_note: String::new(),
        }
    }
}

/// How much of the window one result may take.
const RESULT_PART: u64 = 8;
/// Characters that a token stands for, carefully.
const CHARS_A_TOKEN: u64 = 3;
/// Characters of a result that are always given, and never more than.
const RESULT_CHARS: (u64, u64) = (2_000, 120_000);

impl TurnSettings {
    /// The limits of a turn with a model of this window, in tokens.
    pub fn limits(&self, window: u64) -> Limits {
        let chars = (window / RESULT_PART * CHARS_A_TOKEN).clamp(RESULT_CHARS.0, RESULT_CHARS.1);
        Limits {
            rounds: self.rounds,
            calls: self.calls,
            tokens: self.tokens,
            result_chars: usize::try_from(chars).unwrap_or(usize::MAX),
        }
    }

    /// The window that is used of a model's.
    pub fn window(&self, model: u64) -> u64 {
        match self.max_context_tokens {
            0 => model,
            most => model.min(most),
        }
    }
}

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        0 => Err(de::Error::custom("it must be at least 1")),
        number => Ok(number),
    }
}
