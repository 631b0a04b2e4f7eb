//! The configured models: built from the settings and the keys, and rebuilt when either changes.

use futures_util::future::BoxFuture;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::keyring_cache::KeyringCache;
use crate::agent::ports::{Model, Models};
use crate::config::Environment;
use crate::config::file::Config;
use crate::config::folders::Folders;
use crate::config::keyring::Keyring;
use crate::config::vendor_keys::{self, KeyError};
use crate::conversation::ConversationId;
use crate::guests::{Guest, Guests};
use crate::llm::endpoint::Connections;
use crate::llm::settings::{KeyNeed, split_reference};
use crate::llm::tape::Tape;
use crate::llm::{Chain, Endpoint, Facts, Key, Origin, Settings, Usage, Wire, facts, setup};
use crate::locks::lock;

/// The context window of a model without a configured size, in tokens: the smallest of local
/// servers for this purpose.
const UNKNOWN_WINDOW: u64 = 32_768;

/// The context window during replay: large, so that nothing is compacted beyond the recording.
const REPLAYED_WINDOW: u64 = 1_000_000;

/// The context window of a guest: large, since it shortens its history itself.
const GUEST_WINDOW: u64 = 1_000_000;

/// The timeout for detecting Ollama if it is not configured.
const LISTING_TIMEOUT: Duration = Duration::from_secs(1);

/// A model with its origin, its name in the settings and its capabilities.
type KnownModel = (Wire, String, String, String, Facts);

/// The configured models. Clones share them.
#[derive(Clone)]
pub struct ChosenModels(Arc<SharedModels>);

struct SharedModels {
    environment: Environment,
    folders: Folders,
    tape: Tape,
    keyring_cache: KeyringCache,
    guests: OnceLock<Guests>,
    state: Mutex<ModelsState>,
}

#[derive(Default)]
struct ModelsState {
    settings: Settings,
    /// The models in the settings outside the chain.
    others: Vec<String>,
    keys: Vec<Option<Key>>,
    chosen: Option<Model>,
    known: Vec<KnownModel>,
    /// Why there is no model, although some are configured.
    problem: Option<String>,
    /// Whether a change of the chain takes effect at the next start.
    needs_restart: bool,
}

impl ModelsState {
    /// The settings with a chain of all models that may be used for any purpose.
    fn all(&self) -> Settings {
        let mut all = self.settings.clone();
        all.chain.extend(self.others.iter().cloned());
        all
    }
}

impl ChosenModels {
    /// Builds the models of `config`, recorded or replayed as `tape` says. Asks the keyring if
    /// the settings allow it; never runs a program inside `vault`.
    pub fn new(
        config: &Config,
        environment: Environment,
        folders: Folders,
        vault: &Path,
        tape: Tape,
    ) -> Self {
        let state = Mutex::default();
        let keyring_cache = KeyringCache::new(Keyring::new(&environment, Some(vault)));
        let models = Self(Arc::new(SharedModels {
            environment,
            folders,
            tape,
            keyring_cache,
            guests: OnceLock::new(),
            state,
        }));
        models.set_settings(config);
        models
    }

    /// Sets the guests. Only the first call has an effect.
    pub fn set_guests(&self, guests: Guests) {
        let _ = self.0.guests.set(guests);
    }

    /// Replaces the settings, from the next turn on.
    pub fn set_settings(&self, config: &Config) {
        let (settings, others) = (config.models.clone(), outside_chain(config));
        let mut state = lock(&self.0.state);
        let is_new = state.settings != settings || state.others != others;
        (state.settings, state.others) = (settings, others);
        let all = state.all();
        if all.keyring {
            self.0.keyring_cache.ask(self.without_key(&all, |_| true))
        } else {
            self.0.keyring_cache.forget()
        }
        if is_new || (state.chosen.is_none() && state.problem.is_none()) {
            self.make(&mut state);
        }
    }

    /// Sets whether a change of the chain takes effect at the next start.
    pub fn set_needs_restart(&self, needs_restart: bool) {
        lock(&self.0.state).needs_restart = needs_restart;
    }

    fn key(&self, provider: &setup::ProviderConfig) -> Result<Option<Key>, KeyError> {
        let found = vendor_keys::find(provider, &self.0.environment, &self.0.folders)?;
        Ok(found.map(|(key, _)| key).or_else(|| self.0.keyring_cache.get(&provider.name)))
    }

    /// The providers of the chain that are `wanted` and have no key outside the keyring.
    fn without_key(
        &self,
        settings: &Settings,
        wanted: impl Fn(&setup::ProviderConfig) -> bool,
    ) -> Vec<String> {
        let named = settings.chain.iter().filter_map(|reference| split_reference(reference));
        let providers = named.filter_map(|(name, _)| setup::provider(settings, name).ok());
        let (environment, folders) = (&self.0.environment, &self.0.folders);
        providers
            .filter(|provider| {
                wanted(provider)
                    && matches!(vendor_keys::find(provider, environment, folders), Ok(None))
            })
            .map(|provider| provider.name)
            .collect()
    }

    /// The configured model, with the keys as of now.
    fn chosen(&self) -> Option<Model> {
        if let Some(provider) = self.0.tape.player() {
            return Some(Model { provider, window: REPLAYED_WINDOW });
        }
        let mut state = lock(&self.0.state);
        // A key from `steward key set` takes effect at the next turn.
        let keys = self.keys(&state.all());
        if keys != state.keys || state.problem.is_some() {
            self.make(&mut state);
        }
        state.chosen.clone()
    }

    /// Asks the keyring for missing keys and waits for it, at most for its time limit.
    fn ask_keyring(&self, settings: &Settings) {
        let lacks = |provider: &setup::ProviderConfig| {
            provider.need == KeyNeed::Required && self.0.keyring_cache.get(&provider.name).is_none()
        };
        let lacking = self.without_key(settings, lacks);
        self.0.keyring_cache.ask(lacking.clone());
        self.0.keyring_cache.wait(&lacking);
    }

    /// The models in order, as `provider/model`.
    pub fn chain(&self) -> Vec<String> {
        lock(&self.0.state).settings.chain.clone()
    }

    /// The key of a provider, if one is found.
    pub fn key_of(&self, provider: &setup::ProviderConfig) -> Option<Key> {
        self.key(provider).ok().flatten()
    }

    /// Stores a provider's key in its file, from the next turn on.
    pub fn store_key(&self, provider: &str, key: &Key) -> Result<(), KeyError> {
        vendor_keys::store(&self.0.folders, provider, key).map(drop)
    }

    /// The current keys of all configured providers.
    fn keys(&self, settings: &Settings) -> Vec<Option<Key>> {
        let named = settings.chain.iter().filter_map(|reference| split_reference(reference));
        let key = |(name, _)| {
            let provider = setup::provider(settings, name).ok()?;
            self.key(&provider).ok().flatten()
        };
        named.map(key).collect()
    }

    fn make(&self, state: &mut ModelsState) {
        let all = state.all();
        state.keys = self.keys(&all);
        state.known = known_models(&all);
        for (model, fault) in setup::faults(&all) {
            tracing::warn!(model, %fault, "this model is not used");
        }
        (state.chosen, state.problem) = match self.built(&state.settings) {
            Ok(model) => (model, None),
            Err(error) => {
                tracing::warn!(%error, "no model can be used");
                (None, Some(format!("no model can be used: {error}; {}", error.hint())))
            }
        };
    }

    /// The models of the chain of `settings`; `None` if it is empty.
    fn built(&self, settings: &Settings) -> Result<Option<Model>, KeyError> {
        let chain: Option<Chain> = setup::chain(settings, |provider| self.key(provider))?;
        let windows = known_models(settings).into_iter().map(|(.., facts)| facts.window);
        // Any of them may answer, so the smallest window counts.
        let window = windows.map(|window| window.unwrap_or(UNKNOWN_WINDOW)).min();
        let window = window.unwrap_or(UNKNOWN_WINDOW);
        let provider = chain.map(|chain| self.0.tape.around(Arc::new(chain)));
        Ok(provider.map(|provider| Model { provider, window }))
    }

    /// The settings with a chain that begins with `first`, after looking up the needed keys. `None`
    /// during replay, which answers for all models.
    fn beginning_with(&self, first: &[&str]) -> Option<Settings> {
        if self.0.tape.player().is_some() {
            return None;
        }
        let (mut settings, all) = {
            let state = lock(&self.0.state);
            (state.settings.clone(), state.all())
        };
        if all.keyring {
            self.ask_keyring(&all);
        }
        settings.chain.retain(|model| !first.contains(&model.as_str()));
        settings.chain.splice(0..0, first.iter().map(|model| (*model).to_owned()));
        Some(settings)
    }
}

impl Models for ChosenModels {
    fn current(&self) -> Option<Model> {
        let settings = lock(&self.0.state).all();
        if settings.keyring && self.0.tape.player().is_none() {
            self.ask_keyring(&settings);
        }
        self.chosen()
    }

    fn preferring(&self, model: &str) -> Option<Model> {
        let usual = self.current()?;
        if lock(&self.0.state).settings.chain.first().is_some_and(|first| first == model) {
            return Some(usual);
        }
        let settings = self.has(model).then(|| self.beginning_with(&[model])).flatten();
        // The error is reported where the models of the chain are built.
        let built = settings.and_then(|settings| self.built(&settings).ok().flatten());
        Some(built.unwrap_or(usual))
    }

    fn has(&self, model: &str) -> bool {
        let settings = lock(&self.0.state).settings.clone();
        let is_ready = |(name, _): (&str, &str)| {
            setup::provider(&settings, name).is_ok_and(|provider| {
                provider.need != KeyNeed::Required || self.key_of(&provider).is_some()
            })
        };
        settings.chain.iter().any(|one| one == model)
            || split_reference(model).is_some_and(is_ready)
    }

    fn alone(&self, model: &str) -> Result<Model, String> {
        let Some(settings) = self.beginning_with(&[model]) else {
            return self.current().ok_or_else(|| "there is no recording of it".to_owned());
        };
        let alone = Settings { chain: vec![model.to_owned()], ..settings };
        match self.built(&alone) {
            Ok(found) => found.ok_or_else(|| format!("`{model}` names no model")),
            Err(error) => Err(format!("{error}; {}", error.hint())),
        }
    }

    fn guest(&self, guest: Guest, conversation: ConversationId) -> Result<Model, String> {
        let guests = self.0.guests.get().ok_or("guests answer only through a daemon")?;
        let provider = guests.provider(guest, conversation.to_string());
        Ok(Model { provider, window: GUEST_WINDOW })
    }

    fn beginning_with_model(&self, first: &str, then: Option<&str>) -> Option<Model> {
        let mut order = vec![first];
        order.extend(then.filter(|then| *then != first && self.has(then)));
        match self.beginning_with(&order).map(|settings| self.built(&settings)) {
            Some(Ok(Some(model))) => Some(model),
            _ => self.current(),
        }
    }

    fn is_any(&self) -> bool {
        self.chosen().is_some()
    }

    fn advice(&self) -> BoxFuture<'static, String> {
        let state = lock(&self.0.state);
        let (problem, settings) = (state.problem.clone(), state.settings.clone());
        let needs_restart = state.needs_restart;
        drop(state);
        Box::pin(async move {
            if let Some(problem) = problem {
                return problem;
            }
            if needs_restart {
                return "Restart the daemon to use the configured model, whose provider is new: \
                        `steward service restart`, or stop `steward serve` and start it again."
                    .to_owned();
            }
            match ollama(&settings).await {
                Some(model) => format!(
                    "No model is configured, but Ollama runs on this machine: `steward config set \
                     models.chain 'ollama/{model}'` uses it."
                ),
                None => {
                    let ids = facts::known(Wire::Anthropic).into_iter();
                    let model = ids.rev().find(|name| name.contains("sonnet"));
                    format!(
                        "No model is configured: run `steward key set anthropic` and `steward config set \
                         models.chain anthropic/{}`, or start Ollama for a model on this machine.",
                        model.unwrap_or("MODEL")
                    )
                }
            }
        })
    }

    fn price(&self, origin: Option<&Origin>, usage: Option<&Usage>) -> (String, Option<f64>) {
        let state = lock(&self.0.state);
        let asked = |(wire, endpoint, model, ..): &&KnownModel| {
            origin.is_some_and(|origin| {
                origin.wire == *wire && origin.endpoint == *endpoint && origin.model == *model
            })
        };
        let first = || state.known.first().filter(|_| origin.is_none());
        let other = || origin.and_then(|origin| model_outside_settings(&state.settings, origin));
        let found = state.known.iter().find(asked).or_else(first).cloned();
        match found.or_else(other) {
            Some((.., name, facts)) => {
                let cost = facts.price.as_ref().zip(usage).map(|(price, usage)| price.cost(usage));
                (name, cost)
            }
            None => (origin.map_or("unknown", |origin| &origin.model).to_owned(), None),
        }
    }
}

/// A model that a person chose for a conversation and that is in no setting.
fn model_outside_settings(settings: &Settings, origin: &Origin) -> Option<KnownModel> {
    let others = setup::built_in().map(str::to_owned);
    let name = setup::configured(settings).into_iter().chain(others).find(|name| {
        setup::provider(settings, name).is_ok_and(|provider| {
            provider.wire == origin.wire && provider.address.as_str() == origin.endpoint
        })
    });
    let reference = format!("{}/{}", name?, origin.model);
    known_models(&Settings { chain: vec![reference], ..settings.clone() }).pop()
}

/// The models in the settings outside the chain: for one purpose, or for one agent.
pub fn outside_chain(config: &Config) -> Vec<String> {
    let own = [&config.agent.fast_model, &config.agent.summary_model];
    let own = own.into_iter().filter(|model| !model.is_empty()).map(String::as_str);
    let mut others: Vec<String> = Vec::new();
    for model in own.chain(config.agents.models()) {
        if !others.iter().chain(&config.models.chain).any(|other| other == model) {
            others.push(model.to_owned());
        }
    }
    others
}

fn known_models(settings: &Settings) -> Vec<KnownModel> {
    let named = settings.chain.iter().filter_map(|reference| {
        let (name, model) = split_reference(reference)?;
        let provider = setup::provider(settings, name).ok()?;
        let facts = Facts::of(provider.wire, model, &settings.facts);
        let endpoint = provider.address.as_str().to_owned();
        Some((provider.wire, endpoint, model.to_owned(), reference.clone(), facts))
    });
    named.collect()
}

/// A model of the Ollama on this machine, at its default address or that of `OLLAMA_HOST`.
async fn ollama(settings: &Settings) -> Option<String> {
    let provider = setup::local_ollama(settings)?;
    let limits = settings.limits();
    let connections = Connections::new(&limits);
    let service = provider.service(None);
    let endpoint = Endpoint::new(&service, "models", Facts::default(), limits, &connections);
    let offered = tokio::time::timeout(LISTING_TIMEOUT, endpoint.offered()).await.ok()?.ok()?;
    offered.into_iter().next()
}
