//! Caches keys from the system's keyring, which is asked in the background: no call waits longer
//! than the keyring's time limit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex};

use crate::config::keyring::{Keyring, KeyringError, LIMIT};
use crate::llm::Key;
use crate::locks::lock;

/// The cached keys. Clones share them.
#[derive(Debug, Clone)]
pub struct KeyringCache(Arc<SharedKeys>);

#[derive(Debug)]
struct SharedKeys {
    keyring: Keyring,
    state: Mutex<KeyCache>,
    /// Notified when an answer arrives.
    answered: Condvar,
}

#[derive(Debug, Default)]
struct KeyCache {
    keys: BTreeMap<String, Key>,
    /// The providers with a request in progress.
    asking: BTreeSet<String>,
    /// The last error of each provider.
    complaints: BTreeMap<String, String>,
}

impl KeyringCache {
    pub fn new(keyring: Keyring) -> Self {
        let state = Mutex::default();
        Self(Arc::new(SharedKeys { keyring, state, answered: Condvar::new() }))
    }

    pub fn get(&self, provider: &str) -> Option<Key> {
        lock(&self.0.state).keys.get(provider).cloned()
    }

    /// Clears the cache when the keyring is switched off.
    pub fn forget(&self) {
        lock(&self.0.state).keys.clear();
    }

    /// Requests the keys of these providers, each on its own thread, which ends within the
    /// keyring's time limit. A provider with a request in progress is skipped.
    pub fn ask(&self, providers: impl IntoIterator<Item = String>) {
        for provider in providers {
            if !lock(&self.0.state).asking.insert(provider.clone()) {
                continue;
            }
            let cache = self.clone();
            std::thread::spawn(move || cache.answered(&provider, cache.0.keyring.get(&provider)));
        }
    }

    /// Waits until the requests for these providers have finished, at most for the keyring's time
    /// limit. Blocks.
    pub fn wait(&self, providers: &[String]) {
        let is_asking =
            |state: &mut KeyCache| providers.iter().any(|one| state.asking.contains(one));
        // A timeout makes no difference: only the cache counts.
        drop(self.0.answered.wait_timeout_while(lock(&self.0.state), LIMIT, is_asking));
    }

    fn answered(&self, provider: &str, answer: Result<Option<Key>, KeyringError>) {
        let mut state = lock(&self.0.state);
        match answer {
            Ok(key) => {
                state.complaints.remove(provider);
                match key {
                    Some(key) => state.keys.insert(provider.to_owned(), key),
                    None => state.keys.remove(provider),
                };
            }
            // Keep the key from an earlier answer.
            Err(error) => {
                let message = error.to_string();
                // Log an error once, although each turn without a key asks again.
                if state.complaints.get(provider) != Some(&message) {
                    tracing::warn!(provider, %error, hint = error.hint(), "the keyring has given no key");
                    state.complaints.insert(provider.to_owned(), message);
                }
            }
        }
        state.asking.remove(provider);
        self.0.answered.notify_all();
    }
}
