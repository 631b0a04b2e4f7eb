//! Keys of the system's keyring, asked for in the background and remembered: no call waits for it
//! longer than its limit, however often and from wherever it is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::config::keyring::{Keyring, KeyringError, LIMIT};
use crate::llm::Key;

/// What the keyring has said. Clones share it.
#[derive(Debug, Clone)]
pub struct HeardKeys(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    keyring: Keyring,
    state: Mutex<State>,
    /// Woken when an answer has come.
    answered: Condvar,
}

#[derive(Debug, Default)]
struct State {
    keys: BTreeMap<String, Key>,
    /// The providers whose keys it is being asked for.
    asking: BTreeSet<String>,
    /// What was last said to be wrong, by provider.
    complaints: BTreeMap<String, String>,
}

impl HeardKeys {
    /// Nothing heard yet.
    pub fn new(keyring: Keyring) -> Self {
        let state = Mutex::default();
        Self(Arc::new(Inner { keyring, state, answered: Condvar::new() }))
    }

    /// The key of a provider, as it was last heard.
    pub fn get(&self, provider: &str) -> Option<Key> {
        self.state().keys.get(provider).cloned()
    }

    /// Forgets all keys: the keyring is no longer to be asked.
    pub fn forget(&self) {
        self.state().keys.clear();
    }

    /// Begins to ask for the keys of these providers, each on a thread of its own that ends within the
    /// keyring's limit; what is being asked already is not asked twice.
    pub fn ask(&self, providers: impl IntoIterator<Item = String>) {
        for provider in providers {
            if !self.state().asking.insert(provider.clone()) {
                continue;
            }
            let heard = self.clone();
            std::thread::spawn(move || heard.answered(&provider, heard.0.keyring.get(&provider)));
        }
    }

    /// Waits until the keyring has answered for these providers, for its limit at most. Blocks.
    pub fn wait(&self, providers: &[String]) {
        let is_asking = |state: &mut State| providers.iter().any(|one| state.asking.contains(one));
        // Whether the time was over first makes no difference to what is known.
        drop(self.0.answered.wait_timeout_while(self.state(), LIMIT, is_asking));
    }

    fn answered(&self, provider: &str, answer: Result<Option<Key>, KeyringError>) {
        let mut state = self.state();
        match answer {
            Ok(key) => {
                state.complaints.remove(provider);
                match key {
                    Some(key) => state.keys.insert(provider.to_owned(), key),
                    None => state.keys.remove(provider),
                };
            }
            // A key that was heard before is as good as it was.
            Err(error) => {
                let told = error.to_string();
                // Once, though each turn without a key asks again.
                if state.complaints.get(provider) != Some(&told) {
                    tracing::warn!(provider, %error, hint = error.hint(), "the keyring has given no key");
                    state.complaints.insert(provider.to_owned(), told);
                }
            }
        }
        state.asking.remove(provider);
        self.0.answered.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
