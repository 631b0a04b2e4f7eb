//! Builds providers and the chain from the settings.

use std::sync::Arc;

use super::Provider;
use super::chain::{Chain, RetryPolicy};
use super::clock::{Clock, SystemClock};
use super::endpoint::{Address, BadAddress, Connections, Endpoint, Service};
use super::facts::Facts;
use super::key::Key;
use super::message::Wire;
use super::settings::{KeyNeed, Settings, split_reference};

const OLLAMA: &str = "ollama";

/// A provider that works without a section in the settings.
struct BuiltIn {
    name: &'static str,
    wire: Wire,
    base_url: &'static str,
    variables: &'static [&'static str],
    need: KeyNeed,
}

const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: "anthropic",
        wire: Wire::Anthropic,
        base_url: "https://api.anthropic.com/v1",
        variables: &["ANTHROPIC_API_KEY"],
        need: KeyNeed::Required,
    },
    BuiltIn {
        name: "openai",
        wire: Wire::Responses,
        base_url: "https://api.openai.com/v1",
        variables: &["OPENAI_API_KEY"],
        need: KeyNeed::Required,
    },
    BuiltIn {
        name: "gemini",
        wire: Wire::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        need: KeyNeed::Required,
    },
    BuiltIn {
        name: OLLAMA,
        wire: Wire::Chat,
        base_url: "http://127.0.0.1:11434/v1",
        variables: &[],
        need: KeyNeed::Optional,
    },
    BuiltIn {
        name: "lmstudio",
        wire: Wire::Chat,
        base_url: "http://127.0.0.1:1234/v1",
        variables: &[],
        need: KeyNeed::Optional,
    },
    BuiltIn {
        name: "llamacpp",
        wire: Wire::Chat,
        base_url: "http://127.0.0.1:8080/v1",
        variables: &[],
        need: KeyNeed::Optional,
    },
    BuiltIn {
        name: "vllm",
        wire: Wire::Chat,
        base_url: "http://127.0.0.1:8000/v1",
        variables: &[],
        need: KeyNeed::Optional,
    },
];

/// A provider's configuration: the settings merged with the built-in values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderConfig {
    pub name: String,
    pub wire: Wire,
    pub address: Address,
    /// The environment variables that may hold the key; the first one set wins.
    pub variables: Vec<String>,
    pub need: KeyNeed,
}

/// Why a provider is not usable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The provider is neither built in nor configured.
    #[error("there is no provider `{name}`")]
    Unknown { name: String, known: Vec<String> },
    /// The settings lack a required key.
    #[error("the provider `{name}` needs `{key}` in the settings")]
    Incomplete { name: String, key: &'static str },
    #[error("the address of the provider `{name}` {reason}")]
    Address { name: String, reason: BadAddress },
}

impl SetupError {
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { name, known } => format!(
                "there are {}; others need `[models.providers.{name}]` with `wire` and `base_url` \
                 in the settings",
                known.join(", ")
            ),
            Self::Incomplete { name, .. } | Self::Address { name, .. } => {
                format!("see `[models.providers.{name}]` in the settings")
            }
        }
    }
}

/// The address in Ollama's own variable; `None` for another machine, to which a variable alone sends nothing.
///
/// Read as Ollama reads it (`envconfig.Host`): a host without a scheme has Ollama's port by default, and all
/// addresses of this machine are this machine.
fn by_variable(settings: &Settings) -> Option<Address> {
    let host = settings.ollama.as_deref()?.trim().trim_end_matches('/');
    let (scheme, host, default_port) = match host.split_once("://") {
        Some((scheme, host)) => (scheme, host, String::new()),
        None => ("http", host, ":11434".to_owned()),
    };
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => (name, format!(":{port}")),
        _ => (host, default_port),
    };
    let name = if matches!(name, "" | "0.0.0.0" | "[::]") { "127.0.0.1" } else { name };
    Address::new(&format!("{scheme}://{name}{port}/v1")).ok().filter(Address::is_local)
}

/// Ollama on this machine; `None` if it is configured elsewhere.
pub fn local_ollama(settings: &Settings) -> Option<ProviderConfig> {
    let is_elsewhere = settings.ollama.is_some() && by_variable(settings).is_none();
    let known = provider(settings, OLLAMA).ok()?;
    (known.address.is_local() && !is_elsewhere).then_some(known)
}

pub fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|provider| provider.name)
}

pub fn unknown(settings: &Settings, name: &str) -> SetupError {
    let mut known: Vec<String> = built_in().map(str::to_owned).collect();
    let own = settings.providers.keys().filter(|own| !known.contains(own)).cloned();
    let own: Vec<String> = own.collect();
    known.extend(own);
    SetupError::Unknown { name: name.to_owned(), known }
}

/// The models of the chain that are misconfigured, and why. The others remain usable.
pub fn faults(settings: &Settings) -> Vec<(&str, SetupError)> {
    let fault = |reference: &'_ String| {
        let (name, _) = split_reference(reference)?;
        provider(settings, name).err()
    };
    settings.chain.iter().filter_map(|one| Some((one.as_str(), fault(one)?))).collect()
}

pub fn provider(settings: &Settings, name: &str) -> Result<ProviderConfig, SetupError> {
    let own = settings.providers.get(name).cloned();
    let built_in = BUILT_IN.iter().find(|provider| provider.name == name);
    if own.is_none() && built_in.is_none() {
        return Err(unknown(settings, name));
    }
    let own = own.unwrap_or_default();
    let incomplete = |key| SetupError::Incomplete { name: name.to_owned(), key };
    let wire = own.wire.or(built_in.map(|b| b.wire)).ok_or_else(|| incomplete("wire"))?;
    let by_variable = (name == OLLAMA).then(|| by_variable(settings)).flatten();
    let base_url = own.base_url.as_deref().or(by_variable.as_ref().map(Address::as_str));
    let base_url = base_url.or(built_in.map(|b| b.base_url));
    let base_url = base_url.ok_or_else(|| incomplete("base_url"))?;
    let address = Address::new(base_url)
        .map_err(|reason| SetupError::Address { name: name.to_owned(), reason })?;
    let built_in_variables = built_in.map(|b| b.variables).unwrap_or_default();
    let variables = match own.key_variable {
        Some(variable) => vec![variable],
        // A vendor's own key goes to another address only if the settings name its variable.
        None if own.base_url.is_some() => Vec::new(),
        None => built_in_variables.iter().map(|variable| (*variable).to_owned()).collect(),
    };
    let usual = if address.is_local() { KeyNeed::Optional } else { KeyNeed::Required };
    let need = own.key.or(built_in.filter(|_| own.base_url.is_none()).map(|b| b.need));
    Ok(ProviderConfig {
        name: name.to_owned(),
        wire,
        address,
        variables,
        need: need.unwrap_or(usual),
    })
}

/// The names of all configured providers: first those in the chain, in order, then the others,
/// sorted.
pub fn configured(settings: &Settings) -> Vec<String> {
    let chain = settings.chain.iter().filter_map(|reference| split_reference(reference));
    let mut names: Vec<String> = Vec::new();
    for name in chain.map(|(name, _)| name).chain(settings.providers.keys().map(String::as_str)) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Builds the chain that the settings name; `None` if they name none. `key` looks up a provider's
/// key. A model whose required key is missing stays in the chain and fails when asked, so that
/// others can answer. A misconfigured model ([`faults`]) is left out, unless all are misconfigured.
///
/// # Errors
/// The first [`SetupError`] if all models are misconfigured; errors of `key`.
pub fn chain<E: From<SetupError>>(
    settings: &Settings,
    mut key: impl FnMut(&ProviderConfig) -> Result<Option<Key>, E>,
) -> Result<Option<Chain>, E> {
    let limits = settings.limits();
    let connections = Connections::new(&limits);
    let mut links: Vec<Arc<dyn Provider>> = Vec::new();
    for (name, model) in settings.chain.iter().filter_map(|reference| split_reference(reference)) {
        // See `faults`.
        let Ok(known) = provider(settings, name) else { continue };
        let service = known.service(key(&known)?);
        let facts = Facts::of(known.wire, model, &settings.facts);
        links.push(Arc::new(Endpoint::new(&service, model, facts, limits, &connections)));
    }
    if links.is_empty() {
        return match faults(settings).into_iter().next() {
            Some((_, fault)) => Err(fault.into()),
            None => Ok(None),
        };
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    Ok(Some(Chain::new(links, RetryPolicy::of(settings), clock)))
}

impl ProviderConfig {
    /// The configuration together with its key, if any.
    pub fn service(&self, key: Option<Key>) -> Service {
        Service {
            name: self.name.clone(),
            wire: self.wire,
            address: self.address.clone(),
            key,
            needs_key: self.need == KeyNeed::Required,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::settings::ProviderSettings;

    fn settings(name: &str, provider: ProviderSettings) -> Settings {
        let providers = [(name.to_owned(), provider)].into();
        Settings { providers, ..Settings::default() }
    }

    #[test]
    fn a_vendors_key_does_not_go_to_another_address() {
        let plain = provider(&Settings::default(), "anthropic").unwrap();
        assert_eq!(plain.variables, ["ANTHROPIC_API_KEY"]);
        let base_url = Some("https://proxy.example.com/v1".to_owned());
        let moved = ProviderSettings { base_url, ..ProviderSettings::default() };
        let known = provider(&settings("anthropic", moved.clone()), "anthropic").unwrap();
        assert!(known.variables.is_empty());
        let named = ProviderSettings { key_variable: Some("MINE".into()), ..moved };
        let known = provider(&settings("anthropic", named), "anthropic").unwrap();
        assert_eq!(known.variables, ["MINE"]);
    }

    #[test]
    fn the_variable_of_ollama_is_its_address_on_this_machine_alone() {
        let at = |host: &str| Settings { ollama: Some(host.to_owned()), ..Settings::default() };
        let address = |settings: &Settings| provider(settings, OLLAMA).unwrap().address;
        for (host, address_of_it) in [
            ("127.0.0.1", "http://127.0.0.1:11434/v1"),
            ("localhost", "http://localhost:11434/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            (":4000", "http://127.0.0.1:4000/v1"),
            ("[::]:4000", "http://127.0.0.1:4000/v1"),
            ("http://0.0.0.0:4000", "http://127.0.0.1:4000/v1"),
        ] {
            assert_eq!(address(&at(host)).as_str(), address_of_it, "{host}");
        }
        for host in ["127.0.0.1:4000", "http://127.0.0.1:4000/"] {
            let here = at(host);
            assert_eq!(address(&here).as_str(), "http://127.0.0.1:4000/v1");
            assert_eq!(local_ollama(&here).unwrap().address, address(&here));
        }
        let there = at("192.0.2.1:4000");
        assert_eq!(address(&there), address(&Settings::default()));
        assert_eq!(local_ollama(&there), None);
        let base_url = Some("http://127.0.0.1:5000/v1".to_owned());
        let own = settings(OLLAMA, ProviderSettings { base_url, ..ProviderSettings::default() });
        let both = Settings { ollama: Some("127.0.0.1:4000".to_owned()), ..own };
        assert_eq!(address(&both).as_str(), "http://127.0.0.1:5000/v1");
    }

    #[test]
    fn missing_settings_are_named() {
        let fault =
            |settings: &Settings, name: &str| provider(settings, name).unwrap_err().to_string();
        assert_eq!(fault(&Settings::default(), "grok"), "there is no provider `grok`");
        let empty = settings("mine", ProviderSettings::default());
        assert!(fault(&empty, "mine").contains("`wire`"));
        let plain = ProviderSettings {
            wire: Some(Wire::Chat),
            base_url: Some("http://192.168.1.5/v1".to_owned()),
            ..ProviderSettings::default()
        };
        assert!(fault(&settings("mine", plain), "mine").contains("not encrypted"));
    }
}
