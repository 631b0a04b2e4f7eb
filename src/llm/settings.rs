//! What can be set about models.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, de};

use super::facts::Facts;
use super::message::Wire;

/// The `[models]` section. Holds no key: a key in it is an unknown setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The models to ask, `provider/model` each, the first that answers wins. None: no model is
    /// ever asked. More than one: the later ones get to read the conversation, too.
    #[serde(deserialize_with = "references")]
    pub chain: Vec<String>,
    /// How often one model is asked again before the next one is, at most.
    pub retries: u32,
    /// The longest pause that is waited out before the next model is asked, in seconds.
    pub max_wait_seconds: u32,
    /// How long all pauses of a turn may take together, in seconds.
    pub retry_budget_seconds: u32,
    /// After this many failed turns in a row a model is passed over for a while.
    #[serde(deserialize_with = "at_least_one")]
    pub breaker_failures: u32,
    /// How long it is passed over, in seconds.
    #[serde(deserialize_with = "at_least_one")]
    pub breaker_seconds: u32,
    /// How long making a connection may take, in seconds.
    #[serde(deserialize_with = "at_least_one")]
    pub connect_seconds: u32,
    /// How long the first byte of an answer may take, in seconds; local models read long prompts
    /// for minutes.
    #[serde(deserialize_with = "at_least_one")]
    pub first_byte_seconds: u32,
    /// How long a stream may be silent, in seconds. There is no limit for a whole answer.
    #[serde(deserialize_with = "at_least_one")]
    pub stall_seconds: u32,
    /// The largest answer taken, in bytes of its stream.
    #[serde(deserialize_with = "at_least_one")]
    pub max_answer_bytes: u32,
    /// Whether the system's keyring is asked for a key that is nowhere else.
    pub keyring: bool,
    /// Providers by name, beside or over the built-in ones.
    #[serde(deserialize_with = "named")]
    pub providers: BTreeMap<String, ProviderSettings>,
    /// What is known of models, by id, over what the program knows.
    pub facts: BTreeMap<String, Facts>,
}

/// A provider: who is asked, and in which language. What is unset is as built in for that name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderSettings {
    /// Its language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
    /// Its address with the version, such as `https://api.example.com/v1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The variable of the environment that may hold its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_variable: Option<String>,
    /// Whether it wants a key at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyNeed>,
}

/// Whether a provider wants a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyNeed {
    /// Nothing is asked of it without one.
    Required,
    /// One is sent if there is one.
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
        }
    }
}

/// How long things may take and how large they may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Making a connection.
    pub connect: Duration,
    /// From the request to the first byte of the answer's body.
    pub first_byte: Duration,
    /// Between two pieces of it.
    pub stall: Duration,
    /// Its text, thinking and arguments, in bytes.
    pub answer: usize,
}

impl Settings {
    /// The limits of one request.
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

/// `provider/model`, parted; a model's id may hold more slashes.
pub fn parted(reference: &str) -> Option<(&str, &str)> {
    let (provider, model) = reference.split_once('/')?;
    (is_name(provider) && !model.is_empty() && !model.contains(char::is_whitespace))
        .then_some((provider, model))
}

/// Whether a text can be a provider's name: it names a file and a credential, too.
pub fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(plain)
}

fn references<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let chain = Vec::<String>::deserialize(deserializer)?;
    match chain.iter().find(|reference| parted(reference).is_none()) {
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

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        0 => Err(de::Error::custom("it must be at least 1")),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_a_provider_and_a_model() {
        assert_eq!(parted("a/b"), Some(("a", "b")));
        assert_eq!(parted("router/vendor/model:free"), Some(("router", "vendor/model:free")));
        for wrong in ["", "a", "a/", "/b", "A/b", "a b/c", "a/b c", "../x/y"] {
            assert_eq!(parted(wrong), None, "{wrong}");
        }
    }
}
