//! The models in use and available, for a person who chooses one.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;

use super::settings;
use crate::agent::Agents;
use crate::agent::named::NamedAgent;
use crate::config::live::Live;
use crate::config::models::ChosenModels;
use crate::llm::endpoint::Connections;
use crate::llm::settings::{KeyNeed, split_reference};
use crate::llm::{Endpoint, ErrorKind, Facts, Key, Settings, facts, setup};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::models::{
    AgentInfo, ModelInfo, ModelKeyParams, ModelKeyResult, ModelsParams, ModelsResult,
};

/// How long a vendor may take to list its models.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most models listed per vendor.
const MAX_MODELS: usize = 200;
/// The most characters of a model's name.
const NAME: usize = 200;

/// Sets the model if the params name one, and lists the models.
pub async fn models(
    live: Arc<Live>,
    chosen: ChosenModels,
    params: ModelsParams,
) -> Result<ModelsResult> {
    let looked = tokio::task::spawn_blocking(move || {
        if let Some(name) = &params.choose {
            choose(&live, &chosen, name)?;
        }
        let config = &live.current().config;
        let (settings, agents) = (config.models.clone(), agents(&config.agents));
        let providers = providers(&settings, &chosen, params.ask);
        Ok::<_, ErrorObject>((settings, providers, agents, params.ask))
    });
    let (settings, mut providers, agents, ask) = looked.await.map_err(|error| {
        tracing::error!(%error, "the models could not be listed");
        ErrorObject::new(Kind::Internal, "this is a bug in the steward")
    })??;
    if ask {
        list_offered(&settings, &mut providers).await;
    }
    Ok(ModelsResult { agents, ..models_result(&settings, providers) })
}

fn agents(all: &Agents) -> Vec<AgentInfo> {
    let one = |(name, agent): (&str, &NamedAgent)| AgentInfo {
        name: name.to_owned(),
        description: agent.description.clone(),
        model: agent.model.clone(),
    };
    all.offered().map(one).collect()
}

/// Checks a key by listing the vendor's models, and stores it like `steward key set`.
///
/// # Errors
/// Kind `invalid_params` for an unknown vendor, and for an invalid or refused key; `failed` if the
/// vendor cannot be reached or the key cannot be stored. Nothing is stored then.
pub async fn set_key(
    live: Arc<Live>,
    chosen: ChosenModels,
    params: ModelKeyParams,
) -> Result<ModelKeyResult> {
    let settings = live.current().config.models.clone();
    let invalid = |text: String| ErrorObject::new(Kind::InvalidParams, text);
    let known = setup::provider(&settings, &params.provider)
        .map_err(|error| invalid(error.to_string()).hint(error.hint()))?;
    let key = Key::new(&params.key)
        .map_err(|reason| invalid(reason.to_string()).hint("give the key alone"))?;
    let limits = settings.limits();
    let connections = Connections::new(&limits);
    let service = known.service(Some(key.clone()));
    let endpoint = Endpoint::new(&service, "models", Facts::default(), limits, &connections);
    let vendor = known.name.clone();
    let offered = endpoint.offered().await.map_err(|error| match error.kind {
        ErrorKind::Auth => invalid(format!("`{vendor}` refused the key"))
            .hint("nothing was stored; is it the whole key?"),
        _ => ErrorObject::new(Kind::Failed, format!("`{vendor}`: {error}"))
            .hint("nothing was stored; try again"),
    })?;
    let stored = tokio::task::spawn_blocking(move || chosen.store_key(&known.name, &key)).await;
    let stored = stored.map_err(|error| {
        tracing::error!(%error, "a key could not be stored");
        ErrorObject::new(Kind::Internal, "this is a bug in the steward")
    })?;
    stored.map_err(|error| ErrorObject::new(Kind::Failed, error.to_string()).hint(error.hint()))?;
    tracing::info!(vendor, "a person stored a vendor's key");
    // The newest known models come first.
    let wire = service.wire;
    let mut models: Vec<String> = facts::known(wire).into_iter().rev().map(str::to_owned).collect();
    models.retain(|model| offered.contains(model));
    let more: Vec<String> =
        offered.into_iter().filter(|model| !models.contains(model)).take(MAX_MODELS).collect();
    models.extend(more);
    let models = models.into_iter().map(|model| format!("{vendor}/{model}")).collect();
    Ok(ModelKeyResult { models })
}

struct Provider {
    name: String,
    /// The provider can be used without further set-up.
    ready: bool,
    /// The settings name the provider, so it is a problem if it cannot be used.
    is_configured: bool,
    known: Option<setup::ProviderConfig>,
    service: Option<crate::llm::endpoint::Service>,
    offers: Vec<String>,
    problem: Option<String>,
}

/// The providers in the settings, and others that are fully configured.
fn providers(settings: &Settings, chosen: &ChosenModels, ask: bool) -> Vec<Provider> {
    let configured = setup::configured(settings);
    let others = setup::built_in().filter(|name| !configured.iter().any(|known| known == name));
    let names = configured.iter().cloned().map(|name| (name, true));
    let all = names.chain(others.map(|name| (name.to_owned(), false)));
    let one = |(name, is_configured): (String, bool)| {
        let mut provider = Provider {
            name,
            ready: false,
            is_configured,
            known: None,
            service: None,
            offers: Vec::new(),
            problem: None,
        };
        match setup::provider(settings, &provider.name) {
            Ok(known) => {
                let key = chosen.key_of(&known);
                provider.ready = known.need != KeyNeed::Required || key.is_some();
                // An unconfigured local server needs no key: check whether it runs.
                let is_meant = is_configured || key.is_some() || ask && known.address.is_local();
                provider.ready &= is_meant;
                if is_configured || key.is_some() {
                    provider.offers =
                        facts::known(known.wire).into_iter().map(str::to_owned).collect();
                }
                if is_configured && !provider.ready {
                    let name = &provider.name;
                    provider.problem =
                        Some(format!("`{name}` has no key: run `steward key set {name}`"));
                }
                provider.service = Some(known.service(key));
                provider.known = Some(known);
            }
            Err(error) => provider.problem = Some(format!("{error}; {}", error.hint())),
        }
        provider
    };
    all.map(one).collect()
}

/// Asks each usable provider for its models.
async fn list_offered(settings: &Settings, providers: &mut [Provider]) {
    let limits = settings.limits();
    let connections = Connections::new(&limits);
    let mut asked = JoinSet::new();
    for (at, provider) in providers.iter().enumerate().filter(|(_, provider)| provider.ready) {
        let Some(service) = &provider.service else { continue };
        let endpoint = Endpoint::new(service, "models", Facts::default(), limits, &connections);
        asked.spawn(async move {
            let answer = tokio::time::timeout(PATIENCE, endpoint.offered()).await;
            (
                at,
                answer.map_or_else(
                    |_| Err("no answer in time".to_owned()),
                    |offered| offered.map_err(|error| error.to_string()),
                ),
            )
        });
    }
    while let Some(answer) = asked.join_next().await {
        let Ok((at, answer)) = answer else { continue };
        let provider = &mut providers[at];
        match answer {
            Ok(mut offered) => {
                offered.truncate(MAX_MODELS);
                provider.offers = offered;
            }
            Err(error) if provider.is_configured => {
                provider.problem = Some(format!("`{}`: {error}", provider.name));
            }
            // It is not configured, so its absence is not a problem.
            Err(_) => provider.offers.clear(),
        }
    }
}

fn models_result(settings: &Settings, providers: Vec<Provider>) -> ModelsResult {
    let chain = settings.chain.clone();
    let mut models: Vec<ModelInfo> = Vec::new();
    let mut add = |provider: &Provider, model: &str| {
        let name = format!("{}/{model}", provider.name);
        if models.iter().any(|known| known.name == name) {
            return;
        }
        let facts = provider.known.as_ref();
        let facts = facts.map(|known| Facts::of(known.wire, model, &settings.facts));
        let facts = facts.unwrap_or_default();
        models.push(ModelInfo {
            current: chain.first() == Some(&name),
            chosen: chain.contains(&name),
            ready: provider.ready,
            window: facts.window,
            images: facts.vision,
            name,
        });
    };
    for reference in &chain {
        let parts = split_reference(reference);
        let found = parts.and_then(|(name, model)| {
            Some((providers.iter().find(|provider| provider.name == name)?, model))
        });
        if let Some((provider, model)) = found {
            add(provider, model);
        }
    }
    for provider in &providers {
        provider.offers.iter().for_each(|model| add(provider, model));
    }
    let problems = providers.into_iter().filter_map(|provider| provider.problem).collect();
    ModelsResult { chain, models, problems, agents: Vec::new() }
}

/// Puts a model first in the chain. This never changes where keys are sent: the provider must be
/// known and have what it needs.
fn choose(live: &Live, chosen: &ChosenModels, name: &str) -> Result<()> {
    let invalid = |text: String| ErrorObject::new(Kind::InvalidParams, text);
    let shown: String = name.chars().take(NAME).collect();
    let shown = shown.escape_debug();
    let is_plain = name.chars().count() <= NAME && !name.chars().any(char::is_control);
    let Some((provider, _)) = split_reference(name).filter(|_| is_plain) else {
        return Err(invalid(format!("`{shown}` names no model"))
            .hint("a model is named with its vendor: `anthropic/claude-sonnet-4-5`"));
    };
    let settings = &live.current().config.models;
    let known = setup::provider(settings, provider)
        .map_err(|error| invalid(error.to_string()).hint(error.hint()))?;
    if known.need == KeyNeed::Required && chosen.key_of(&known).is_none() {
        return Err(invalid(format!("`{provider}` has no key"))
            .hint(format!("run `steward key set {provider}`")));
    }
    let others = settings.chain.iter().filter(|other| *other != name);
    let chain: Vec<&str> = std::iter::once(name).chain(others.map(String::as_str)).collect();
    live.set("models.chain", &json!(chain))
        .map_err(|error| settings::refused(&error, Kind::InvalidParams))?;
    tracing::info!(model = name, "a person chose a model");
    Ok(())
}
