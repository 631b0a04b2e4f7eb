//! Abilities of each model: limits, thinking, prices. Data, not code.
//!
//! `models.toml` holds the vendors' figures; the settings can add to them or override them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::message::{Usage, Wire};
use super::request::Effort;

/// Capabilities of one model. In the settings, every key is optional.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Facts {
    /// Size of the context window in tokens, input and output together; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The most output tokens, thinking included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    /// How to ask for thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingStyle>,
    /// The accepted efforts, lowest first. `off` in the list means thinking can be turned off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efforts: Option<Vec<Effort>>,
    /// The model accepts images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision: Option<bool>,
    /// The model accepts notices under the system role, after the first message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notices: Option<bool>,
    /// The model wants its thinking back during tool use (Chat Completions only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub echo_thinking: Option<bool>,
    /// The output limit is named `max_completion_tokens` (Chat Completions only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_completion_tokens: Option<bool>,
    /// The price; unset if unknown or free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// How to ask a model for thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingStyle {
    /// The model does not think; the request must not mention thinking.
    None,
    /// The model decides by itself, up to a given effort.
    Adaptive,
    /// The request names a number of tokens.
    Budget,
    /// The request names an effort (OpenAI, Gemini).
    Effort,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input tokens outside the cache.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens read from the cache; defaults to `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Input tokens written to the cache; defaults to `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Price {
    /// The estimated cost of a turn, in US dollars.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let million = |tokens: u64, price: f64| tokens as f64 * price / 1_000_000.0;
        let plain = usage.input.saturating_sub(usage.cache_read + usage.cache_write);
        million(plain, self.input)
            + million(usage.cache_read, self.cache_read.unwrap_or(self.input))
            + million(usage.cache_write, self.cache_write.unwrap_or(self.input))
            + million(usage.output, self.output)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelTable {
    /// Defaults for models that are not in `models`, by API format.
    wires: BTreeMap<Wire, Facts>,
    models: BTreeMap<String, Facts>,
}

static TABLE: LazyLock<ModelTable> = LazyLock::new(|| {
    toml::from_str(include_str!("models.toml")).expect("models.toml is right, a test reads it")
});

impl Facts {
    /// The capabilities of `model`: from the settings, then from `models.toml`, then the defaults
    /// of its API format.
    pub fn of(wire: Wire, model: &str, settings: &BTreeMap<String, Self>) -> Self {
        let mut facts = nearest_facts(settings, model).cloned().unwrap_or_default();
        if let Some(known) = nearest_facts(&TABLE.models, model) {
            facts.fill(known);
        }
        if let Some(known) = TABLE.wires.get(&wire) {
            facts.fill(known);
        }
        facts
    }

    /// The most output tokens a request may ask for.
    pub fn output_limit(&self) -> u32 {
        self.max_output.unwrap_or(8_192)
    }

    /// The accepted effort closest to `wanted`, preferring lower ones; `None` if the model accepts
    /// none.
    pub fn effort(&self, wanted: Effort) -> Option<Effort> {
        let allowed = self.efforts.as_deref().unwrap_or_default();
        let at_most = allowed.iter().copied().filter(|effort| *effort <= wanted).max();
        at_most.or_else(|| allowed.iter().copied().min())
    }

    fn fill(&mut self, other: &Self) {
        fn take<T: Clone>(mine: &mut Option<T>, theirs: &Option<T>) {
            if mine.is_none() {
                mine.clone_from(theirs);
            }
        }
        take(&mut self.window, &other.window);
        take(&mut self.max_output, &other.max_output);
        take(&mut self.thinking, &other.thinking);
        take(&mut self.efforts, &other.efforts);
        take(&mut self.vision, &other.vision);
        take(&mut self.notices, &other.notices);
        take(&mut self.echo_thinking, &other.echo_thinking);
        take(&mut self.max_completion_tokens, &other.max_completion_tokens);
        take(&mut self.price, &other.price);
    }
}

/// The entry for this id, or for its longest known prefix: vendors append dates and sizes to names.
fn nearest_facts<'a>(known: &'a BTreeMap<String, Facts>, model: &str) -> Option<&'a Facts> {
    let continues = |name: &str| {
        model
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ':', '@']))
    };
    let found = known.iter().filter(|(name, _)| continues(name));
    found.max_by_key(|(name, _)| name.len()).map(|(_, facts)| facts)
}

/// The known model ids of an API format, for suggestions.
pub fn known(wire: Wire) -> Vec<&'static str> {
    let prefix = match wire {
        Wire::Anthropic => "claude-",
        Wire::Responses => "gpt-",
        Wire::Gemini => "gemini-",
        Wire::Chat => return Vec::new(),
    };
    TABLE.models.keys().map(String::as_str).filter(|name| name.starts_with(prefix)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_come_first_and_the_wire_last() {
        let none = BTreeMap::new();
        let sonnet = Facts::of(Wire::Anthropic, "claude-sonnet-5-5", &none);
        assert_eq!(sonnet.window, Some(1_000_000));
        assert_eq!(sonnet.thinking, Some(ThinkingStyle::Adaptive));
        assert_eq!(Facts::of(Wire::Anthropic, "claude-sonnet-5-5-20261001", &none), sonnet);
        let old = Facts::of(Wire::Anthropic, "claude-haiku-4-5-20251001", &none);
        assert_eq!(old.thinking, Some(ThinkingStyle::Budget));
        let local = Facts::of(Wire::Chat, "qwen3:8b", &none);
        assert_eq!((local.window, local.thinking), (None, Some(ThinkingStyle::None)));

        let mine = BTreeMap::from([(
            "qwen3".to_owned(),
            Facts { window: Some(32_768), vision: Some(true), ..Facts::default() },
        )]);
        let local = Facts::of(Wire::Chat, "qwen3:8b", &mine);
        assert_eq!((local.window, local.vision), (Some(32_768), Some(true)));
        assert_eq!(Facts::of(Wire::Chat, "qwen3x", &mine).window, None);
    }

    #[test]
    fn an_effort_is_one_the_model_takes() {
        let none = BTreeMap::new();
        let argon = Facts::of(Wire::Gemini, "gemini-4-argon", &none);
        assert_eq!(argon.effort(Effort::Off), Some(Effort::Low));
        assert_eq!(argon.effort(Effort::Max), Some(Effort::High));
        assert_eq!(Facts::of(Wire::Chat, "m", &none).effort(Effort::High), None);
    }

    #[test]
    fn a_price_counts_each_token_once() {
        let price = Price { input: 4.0, output: 10.0, cache_read: Some(0.4), cache_write: None };
        let usage = Usage {
            input: 3_000_000,
            cache_read: 1_000_000,
            cache_write: 1_000_000,
            output: 100_000,
            reasoning: None,
        };
        assert!((price.cost(&usage) - 9.4).abs() < 1e-9);
    }
}
