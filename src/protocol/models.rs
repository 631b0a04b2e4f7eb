//! `_vault/models` and `_vault/models/key`: which language models are asked, which could be, and the
//! keys that their vendors want.

use std::fmt;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Whether to choose, and whether to ask around.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ModelsParams {
    /// Put this model first in the chain: it is asked from the next turn on, in every conversation,
    /// and the others of the chain where it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub choose: Option<String>,
    /// Ask the vendors that are set up what they offer, which takes a moment. Without it only what
    /// the settings name and what is known of these vendors is told.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub ask: bool,
}

/// The models.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ModelsResult {
    /// Those that are asked, in this order: the setting `models.chain`.
    pub chain: Vec<String>,
    /// Those of the chain first, then the others that could be in it.
    pub models: Vec<ModelInfo>,
    /// What is wrong with a vendor, one line each.
    pub problems: Vec<String>,
}

/// A language model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// How the settings name it: `anthropic/claude-sonnet-4-5`.
    pub name: String,
    /// Whether it is the one that is asked first.
    pub current: bool,
    /// Whether it is in the chain.
    pub chosen: bool,
    /// Whether all that it needs, such as a key, is there.
    pub ready: bool,
    /// How many tokens it reads at most, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub window: Option<u64>,
    /// Whether it sees images, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub images: Option<bool>,
}

/// A vendor's key, to be checked and stored.
#[derive(Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ModelKeyParams {
    /// The vendor: `anthropic`, `openai`, `gemini`, or one of the settings.
    pub provider: String,
    /// The key. It is sent to that vendor alone, and is in no answer, event or log.
    pub key: String,
}

impl fmt::Debug for ModelKeyParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelKeyParams").field("provider", &self.provider).finish_non_exhaustive()
    }
}

/// What can be asked with the key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ModelKeyResult {
    /// The vendor's models as `choose` of `_vault/models` takes them, those to begin with first.
    pub models: Vec<String>,
}
