//! `_vault/models` and `_vault/models/key`: the language models, the chain of those in use, and
//! their vendors' keys.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Lists models, and can choose one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ModelsParams {
    /// Put this model first in the chain, from the next turn on in all conversations. The others of
    /// the chain are used if it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub choose: Option<String>,
    /// Ask the configured vendors for their models, which takes a moment. By default only models from the
    /// settings and built-in knowledge are listed.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub ask: bool,
}

/// The models.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ModelsResult {
    /// The models in use, in order: the setting `models.chain`.
    pub chain: Vec<String>,
    /// The models of the chain first, then others that could be in it.
    pub models: Vec<ModelInfo>,
    /// Problems with vendors, one line each.
    pub problems: Vec<String>,
    /// The user's own agents that can be chosen for a conversation, by name. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<AgentInfo>>")]
    pub agents: Vec<AgentInfo>,
}

/// An agent of the settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct AgentInfo {
    /// The name, for the option `agent` of a conversation.
    pub name: String,
    /// One line for people; may be empty.
    pub description: String,
    /// The only model that it asks; left out if it has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub model: Option<String>,
}

/// A language model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ModelInfo {
    /// The name in settings: `anthropic/claude-sonnet-4-5`.
    pub name: String,
    /// Whether it is the first of the chain.
    pub current: bool,
    /// Whether it is in the chain.
    pub chosen: bool,
    /// Whether everything that it needs, such as a key, is configured.
    pub ready: bool,
    /// Context window in tokens, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Whether it accepts images, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
}

/// A vendor's key, to be checked and stored.
#[derive(Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ModelKeyParams {
    /// The vendor: `anthropic`, `openai`, `gemini`, or one of the settings.
    pub provider: String,
    /// The key. It is sent only to that vendor, and is in no answer, event or log.
    pub key: String,
}

debug_only!(ModelKeyParams, provider);

/// The models that are available with the key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct ModelKeyResult {
    /// The vendor's models as `choose` of `_vault/models` takes them, recommended ones first.
    pub models: Vec<String>,
}
