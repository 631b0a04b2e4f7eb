//! The settings of the agent.

use serde::{Deserialize, Deserializer, Serialize, de};

use super::turn::Limits;
use crate::llm::Effort;
use crate::llm::settings::{at_least, split_reference};

/// The `[agent]` section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TurnSettings {
    /// The most requests to the model in one turn.
    #[serde(deserialize_with = "at_least::<_, _, 1>")]
    pub rounds: u32,
    /// The most tool calls in one turn.
    #[serde(deserialize_with = "at_least::<_, _, 1>")]
    pub calls: u32,
    /// The most input and output tokens of one turn; 0: no limit.
    pub tokens: u64,
    /// The most minutes of one turn.
    #[serde(deserialize_with = "at_least::<_, _, 1>")]
    pub minutes: u32,
    /// The most output tokens of one answer, thinking included; capped by the model's own limit.
    #[serde(deserialize_with = "at_least::<_, _, 1>")]
    pub max_output_tokens: u32,
    /// How hard the model thinks; unset uses the vendor's default.
    pub effort: Option<Effort>,
    /// The model for the first rounds of a turn, as `provider/model`; empty: the conversation's.
    #[serde(deserialize_with = "reference")]
    pub fast_model: String,
    /// The model for titles and summaries of ended conversations; empty: the conversation's.
    #[serde(deserialize_with = "reference")]
    pub summary_model: String,
    /// The most tokens of the model's context window to use; 0: all of it.
    pub max_context_tokens: u64,
    /// The user's instructions for every conversation.
    pub instructions: String,
    /// How the user organises the vault.
    pub information_architecture: String,
    /// The path of a note with more instructions; empty: none.
    pub instructions_note: String,
    /// The folder of the vault whose notes are prompts; empty: none.
    pub prompts_folder: String,
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
            fast_model: String::new(),
            summary_model: String::new(),
            max_context_tokens: 0,
            instructions: String::new(),
            information_architecture: String::new(),
            instructions_note: String::new(),
            prompts_folder: "Prompts".to_owned(),
        }
    }
}

/// One result may take this fraction of the window (1/n).
const RESULT_PART: u64 = 8;
/// A conservative number of characters per token.
const CHARS_A_TOKEN: u64 = 3;
/// The least and the most characters of a result.
const RESULT_CHARS: (u64, u64) = (2_000, 120_000);

impl TurnSettings {
    /// The limits of a turn, for a context window in tokens.
    pub fn limits(&self, window: u64) -> Limits {
        let chars = (window / RESULT_PART * CHARS_A_TOKEN).clamp(RESULT_CHARS.0, RESULT_CHARS.1);
        Limits {
            rounds: self.rounds,
            calls: self.calls,
            tokens: self.tokens,
            result_chars: usize::try_from(chars).unwrap_or(usize::MAX),
        }
    }

    /// The usable part of a model's context window.
    pub fn window(&self, model: u64) -> u64 {
        match self.max_context_tokens {
            0 => model,
            most => model.min(most),
        }
    }
}

fn reference<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let model = String::deserialize(deserializer)?;
    if !model.is_empty() && split_reference(&model).is_none() {
        let text = format!("`{}` must be `provider/model`, or empty", model.escape_debug());
        return Err(de::Error::custom(text));
    }
    Ok(model)
}
