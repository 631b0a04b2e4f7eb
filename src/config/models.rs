//! The configured models: built from the settings and the keys, and rebuilt when either changes.

use futures_util::future::BoxFuture;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::heard_keys::HeardKeys;
use crate::agent::ports::{Model, Models};
use crate::config::Environment;
use crate::config::folders::Folders;
use crate::config::keyring::Keyring;
use crate::config::vendor_keys::{self, KeyError};
use crate::llm::endpoint::{Address, Connections};
use crate::llm::settings::{KeyNeed, split_reference};
use crate::llm::tape::Tape;
use crate::llm::{Chain, Endpoint, Facts, Key, Origin, Settings, Usage, Wire, facts, setup};

/// The context window of a model whose size nobody configured, in tokens: the least that a local
/// server for this purpose has.
const UNKNOWN_WINDOW: u64 = 32_768;

/// The context window during replay: large, so that nothing is compacted that was not when
/// recording.
const REPLAYED_WINDOW: u64 = 1_000_000;

/// The timeout for detecting Ollama if it is not configured.
const LOOK: Duration = Duration::from_secs(1);

/// Models with their origin and capabilities.
type Known = Vec<(Wire, String, String, String, Facts)>;

/// The configured models. Clones share them.
#[derive(Clone)]
pub struct ChosenModels(Arc<Inner>);

struct Inner {
    environment: Environment,
    folders: Folders,
    tape: Tape,
    heard: HeardKeys,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    settings: Settings,
    /// The keys that the chain was built with.
    keys: Vec<Option<Key>>,
    chosen: Option<Model>,
    known: Known,
    /// Why there is no model, although some are configured.
    problem: Option<String>,
}

impl ChosenModels {
    /// Builds the models of `settings`, recorded or replayed as `tape` says. Asks the keyring if
    /// the settings allow it; never runs a program inside `vault`.
    pub fn new(
        settings: &Settings,
        environment: Environment,
        folders: Folders,
        vault: &Path,
        tape: Tape,
    ) -> Self {
        let state = Mutex::default();
        let heard = HeardKeys::new(Keyring::new(&environment, Some(vault)));
        let models = Self(Arc::new(Inner { environment, folders, tape, heard, state }));
        models.set_settings(settings);
        models
    }

    /// Replaces the settings, from the next turn on.
    pub fn set_settings(&self, settings: &Settings) {
        match settings.keyring {
            true => self.0.heard.ask(self.without_key(settings, |_| true)),
            false => self.0.heard.forget(),
        }
        let mut state = self.state();
        if state.settings != *settings || (state.chosen.is_none() && state.problem.is_none()) {
            state.settings = settings.clone();
            self.make(&mut state);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, known: &setup::ProviderConfig) -> Result<Option<Key>, KeyError> {
        let found = vendor_keys::find(known, &self.0.environment, &self.0.folders)?;
        Ok(found.map(|(key, _)| key).or_else(|| self.0.heard.get(&known.name)))
    }

    /// The providers of the chain that are `wanted` and have no key outside the keyring.
    fn without_key(
        &self,
        settings: &Settings,
        wanted: impl Fn(&setup::ProviderConfig) -> bool,
    ) -> Vec<String> {
        let named = settings.chain.iter().filter_map(|reference| split_reference(reference));
        let known = named.filter_map(|(name, _)| setup::provider(settings, name).ok());
        let (environment, folders) = (&self.0.environment, &self.0.folders);
        known
            .filter(|known| {
                wanted(known) && matches!(vendor_keys::find(known, environment, folders), Ok(None))
            })
            .map(|known| known.name)
            .collect()
    }

    /// The configured model, with the keys as of now.
    fn chosen(&self) -> Option<Model> {
        if let Some(provider) = self.0.tape.player() {
            return Some(Model { provider, window: REPLAYED_WINDOW });
        }
        let mut state = self.state();
        // A key from `steward key set` takes effect at the next turn.
        let keys = self.keys(&state.settings);
        if keys != state.keys || state.problem.is_some() {
            self.make(&mut state);
        }
        state.chosen.clone()
    }

    /// Asks the keyring for missing keys and waits for it, at most for its time limit.
    fn ask_keyring(&self, settings: &Settings) {
        let lacks = |known: &setup::ProviderConfig| {
            known.need == KeyNeed::Required && self.0.heard.get(&known.name).is_none()
        };
        let lacking = self.without_key(settings, lacks);
        self.0.heard.ask(lacking.clone());
        self.0.heard.wait(&lacking);
    }

    /// The models in order, as `provider/model`.
    pub fn chain(&self) -> Vec<String> {
        self.state().settings.chain.clone()
    }

    /// The key of a provider, if one is found.
    pub fn key_of(&self, known: &setup::ProviderConfig) -> Option<Key> {
        self.key(known).ok().flatten()
    }

    /// Stores a provider's key in its file, from the next turn on.
    ///
    /// # Errors
    /// As [`vendor_keys::store`].
    pub fn store_key(&self, provider: &str, key: &Key) -> Result<(), KeyError> {
        vendor_keys::store(&self.0.folders, provider, key).map(drop)
    }

    /// The current keys of all configured providers.
    fn keys(&self, settings: &Settings) -> Vec<Option<Key>> {
        let named = settings.chain.iter().filter_map(|reference| split_reference(reference));
        let key = |(name, _)| {
            let known = setup::provider(settings, name).ok()?;
            self.key(&known).ok().flatten()
        };
        named.map(key).collect()
    }

    fn make(&self, state: &mut State) {
        let settings = &state.settings;
        state.keys = self.keys(settings);
        state.known = known(settings);
        for (model, fault) in setup::faults(settings) {
            tracing::warn!(model, %fault, "this model is not asked");
        }
        let made: Result<Option<Chain>, KeyError> = setup::chain(settings, |known| self.key(known));
        (state.chosen, state.problem) = match made {
            Ok(chain) => {
                let windows = state.known.iter().map(|(.., facts)| facts.window);
                // Any of them may answer, so the smallest window counts.
                let window = windows.map(|window| window.unwrap_or(UNKNOWN_WINDOW)).min();
                let window = window.unwrap_or(UNKNOWN_WINDOW);
                let provider = chain.map(|chain| self.0.tape.around(Arc::new(chain)));
                (provider.map(|provider| Model { provider, window }), None)
            }
            Err(error) => {
                tracing::warn!(%error, "no model can be asked");
                (None, Some(format!("no model can be asked: {error}; {}", error.hint())))
            }
        };
    }
}

impl Models for ChosenModels {
    fn current(&self) -> Option<Model> {
        let settings = self.state().settings.clone();
        if settings.keyring && self.0.tape.player().is_none() {
            self.ask_keyring(&settings);
        }
        self.chosen()
    }

    fn preferring(&self, model: &str) -> Option<Model> {
        let usual = self.current()?;
        let mut settings = self.state().settings.clone();
        let at = settings.chain.iter().position(|one| one == model);
        let Some(at) = at.filter(|at| *at > 0 && self.0.tape.player().is_none()) else {
            return Some(usual);
        };
        let first = settings.chain.remove(at);
        settings.chain.insert(0, first);
        match setup::chain(&settings, |known| self.key(known)) {
            Ok(Some(chain)) => {
                let provider = self.0.tape.around(Arc::new(chain));
                Some(Model { provider, window: usual.window })
            }
            // The error is reported where the usual models are built.
            Ok(None) | Err(_) => Some(usual),
        }
    }

    fn is_any(&self) -> bool {
        self.chosen().is_some()
    }

    fn advice(&self) -> BoxFuture<'static, String> {
        let state = self.state();
        let (problem, settings) = (state.problem.clone(), state.settings.clone());
        drop(state);
        let host = self.0.environment.get("OLLAMA_HOST").and_then(|host| host.to_str());
        let host = host.map(str::to_owned);
        Box::pin(async move {
            if let Some(problem) = problem {
                return problem;
            }
            match ollama(&settings, host.as_deref()).await {
                Some(model) => format!(
                    "No model is configured, but Ollama runs on this machine: `steward config set \
                     models.chain 'ollama/{model}'` uses it."
                ),
                None => {
                    let known = facts::known(Wire::Anthropic).into_iter();
                    let model = known.rev().find(|name| name.contains("sonnet"));
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
        let state = self.state();
        let asked = |(wire, endpoint, model, ..): &&(Wire, String, String, String, Facts)| {
            origin.is_some_and(|origin| {
                origin.wire == *wire && origin.endpoint == *endpoint && origin.model == *model
            })
        };
        let first = || state.known.first().filter(|_| origin.is_none());
        match state.known.iter().find(asked).or_else(first) {
            Some((.., name, facts)) => (
                name.clone(),
                facts.price.as_ref().zip(usage).map(|(price, usage)| price.of(usage)),
            ),
            None => (origin.map_or("unknown", |origin| &origin.model).to_owned(), None),
        }
    }
}

fn known(settings: &Settings) -> Known {
    let named = settings.chain.iter().filter_map(|reference| {
        let (name, model) = split_reference(reference)?;
        let known = setup::provider(settings, name).ok()?;
        let facts = Facts::of(known.wire, model, &settings.facts);
        let endpoint = known.address.as_str().to_owned();
        Some((known.wire, endpoint, model.to_owned(), reference.clone(), facts))
    });
    named.collect()
}

/// A model of an Ollama on this machine, at its default address or the one that its own environment
/// variable names.
async fn ollama(settings: &Settings, host: Option<&str>) -> Option<String> {
    let mut known = setup::provider(settings, "ollama").ok()?;
    if let Some(host) = host {
        let host = host.trim_end_matches('/');
        let url = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
        known.address = Address::new(&format!("{url}/v1")).ok()?;
    }
    if !known.address.is_local() {
        return None;
    }
    let limits = settings.limits();
    let connections = Connections::new(&limits);
    let service = known.service(None);
    let endpoint = Endpoint::new(&service, "models", Facts::default(), limits, &connections);
    let offered = tokio::time::timeout(LOOK, endpoint.offered()).await.ok()?.ok()?;
    offered.into_iter().next()
}
