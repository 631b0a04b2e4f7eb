//! The settings of the language models.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, de};

use super::facts::Facts;
use super::message::Wire;

/// The `[models]` section. It has no setting for a key; a key in it is rejected as unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The models to ask, as `provider/model`; the first that answers wins. If empty, no model is
    /// ever asked. Later models also receive the conversation.
    #[serde(deserialize_with = "references")]
    pub chain: Vec<String>,
    /// The most retries of one model before the next one is asked.
    pub retries: u32,
    /// The longest pause in seconds; for a longer one the next model is asked instead.
    pub max_wait_seconds: u32,
    /// The longest total of all pauses of a turn, in seconds.
    pub retry_budget_seconds: u32,
    /// This many failed turns in a row move a model to the end of the chain for a while.
    #[serde(deserialize_with = "at_least::<_, _, 1>")]
    pub breaker_failures: u32,
    /// How long it stays there, in seconds.
    #[serde(deserialize_with = "at_least::<_, _, 1>")]
    pub breaker_seconds: u32,
    #[serde(deserialize_with = "at_least::<_, _, 1>")]
    pub connect_seconds: u32,
    /// Timeout for the first byte of an answer in seconds; local models take minutes to read long
    /// prompts.
    #[serde(deserialize_with = "at_least::<_, _, 1>")]
    pub first_byte_seconds: u32,
    /// Timeout between two pieces of a stream in seconds. There is no limit for a whole answer.
    #[serde(deserialize_with = "at_least::<_, _, 1>")]
    pub stall_seconds: u32,
    #[serde(deserialize_with = "at_least::<_, _, 1>")]
    pub max_answer_bytes: u32,
    /// Whether to ask the system's keyring for a key that is stored nowhere else.
    pub keyring: bool,
    /// Providers by name; they add to or override the built-in ones.
    #[serde(deserialize_with = "named")]
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Capabilities by model id; they override the built-in ones.
    pub facts: BTreeMap<String, Facts>,
    /// `OLLAMA_HOST`, the address of Ollama where the settings name none.
    #[serde(skip)]
    pub ollama: Option<String>,
}

/// A provider's address and API format. Unset keys use the built-in values for that name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderSettings {
    /// The API format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
    /// The base URL with its version, such as `https://api.example.com/v1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that may hold the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_variable: Option<String>,
    /// Whether the provider requires a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyNeed>,
}

/// Whether a provider requires a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyNeed {
    /// Without a key, nothing is sent.
    Required,
    /// A key is sent if there is one.
    Optional,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            chain: Vec::new(),
            retries: 3,
            max_wait_seconds: 60,
            retry_budget_seconds: 120,
            breaker_failures: 3,
            breaker_seconds: 60,
            connect_seconds: 10,
            first_byte_seconds: 300,
            stall_seconds: 120,
            max_answer_bytes: 8 << 20,
            keyring: false,
            providers: BTreeMap::new(),
            facts: BTreeMap::new(),
            ollama: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub connect: Duration,
    /// From sending the request to the first byte of the body.
    pub first_byte: Duration,
    /// Between two pieces of the body.
    pub stall: Duration,
    /// The most bytes of text, thinking and arguments.
    pub answer: usize,
}

impl Settings {
    pub fn limits(&self) -> Limits {
        let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
        Limits {
            connect: seconds(self.connect_seconds),
            first_byte: seconds(self.first_byte_seconds),
            stall: seconds(self.stall_seconds),
            answer: self.max_answer_bytes as usize,
        }
    }
}

/// Splits `provider/model`. A model id may contain further slashes.
pub fn split_reference(reference: &str) -> Option<(&str, &str)> {
    let (provider, model) = reference.split_once('/')?;
    (is_name(provider) && !model.is_empty() && !model.contains(char::is_whitespace))
        .then_some((provider, model))
}

/// Whether a text is a valid provider name. The name also names a file and a credential.
pub fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(plain)
}

fn references<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let chain = Vec::<String>::deserialize(deserializer)?;
    match chain.iter().find(|reference| split_reference(reference).is_none()) {
        Some(wrong) => Err(de::Error::custom(format!(
            "`{wrong}` must be `provider/model`, such as `anthropic/claude-sonnet-5-5`"
        ))),
        None => Ok(chain),
    }
}

fn named<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, ProviderSettings>, D::Error> {
    let providers = BTreeMap::<String, ProviderSettings>::deserialize(deserializer)?;
    match providers.keys().find(|name| !is_name(name)) {
        Some(wrong) => Err(de::Error::custom(format!(
            "the provider's name `{wrong}` may only hold a-z, 0-9, `-` and `_`"
        ))),
        None => Ok(providers),
    }
}

/// Accepts numbers from `MIN`.
///
/// # Errors
/// A smaller number: some settings would make the daemon unusable, even for correcting them.
pub fn at_least<'de, D, T, const MIN: u32>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + TryFrom<u64> + PartialOrd,
{
    let number = T::deserialize(deserializer)?;
    match T::try_from(u64::from(MIN)) {
        Ok(least) if number < least => Err(de::Error::custom(format!("it must be at least {MIN}"))),
        _ => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_a_provider_and_a_model() {
        assert_eq!(split_reference("a/b"), Some(("a", "b")));
        assert_eq!(
            split_reference("router/vendor/model:free"),
            Some(("router", "vendor/model:free"))
        );
        for wrong in ["", "a", "a/", "/b", "A/b", "a b/c", "a/b c", "../x/y"] {
            assert_eq!(split_reference(wrong), None, "{wrong}");
        }
    }
}
