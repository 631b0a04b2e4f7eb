//! `steward key`: API keys of providers.

use std::io::{self, IsTerminal, Read as _, Write as _};

use clap::Subcommand;
use serde_json::json;

use super::models::{self, place};
use super::{Failure, Result, Session};
use crate::config::vendor_keys::{self, KeyError};
use crate::llm::endpoint::Connections;
use crate::llm::key::{Key, MAX_BYTES};
use crate::llm::{Endpoint, ErrorKind, Facts, setup};

#[derive(Debug, Subcommand)]
pub enum KeyAction {
    /// Store a key, read from a prompt or from stdin, after a test call with it
    Set {
        /// The provider: anthropic, openai, gemini, or one of the settings
        provider: String,
        /// Store it without the test call
        #[arg(long)]
        no_check: bool,
        /// Store it in the system's keyring instead of a file
        #[arg(long)]
        keyring: bool,
    },
    /// Remove the stored key
    Remove {
        /// The provider
        provider: String,
        /// Remove it from the system's keyring instead of the file
        #[arg(long)]
        keyring: bool,
    },
    /// Show where the key comes from
    Status {
        /// The provider
        provider: String,
    },
}

/// Stores, removes or locates a provider's key. Never prints a key.
pub fn run(session: &Session, action: &KeyAction) -> Result<()> {
    match action {
        KeyAction::Set { provider, no_check, keyring } => {
            set(session, provider, *no_check, *keyring)
        }
        KeyAction::Remove { provider, keyring } => remove(session, provider, *keyring),
        KeyAction::Status { provider } => status(session, provider),
    }
}

pub(super) fn set(session: &Session, name: &str, no_check: bool, into_keyring: bool) -> Result<()> {
    let settings = &session.settings.config.models;
    let known = setup::provider(settings, name).map_err(KeyError::from)?;
    let key = read(name)?;
    if !no_check {
        let service = known.service(Some(key.clone()));
        let limits = settings.limits();
        let connections = Connections::new(&limits);
        let endpoint = Endpoint::new(&service, "models", Facts::default(), limits, &connections);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // Listing the models is free and needs the key.
        if let Err(error) = runtime.block_on(endpoint.offered()) {
            let hint = match error.kind {
                ErrorKind::Auth => "nothing was stored; is it the whole key?".to_owned(),
                _ => "nothing was stored; `--no-check` stores a key without asking".to_owned(),
            };
            return Err(Failure::other("key_check", error.to_string(), hint));
        }
    }
    let path = if into_keyring {
        models::keyring(session).store(name, &key).map_err(KeyError::from)?;
        None
    } else {
        Some(vendor_keys::store(&session.folders, name, &key)?)
    };
    // A place with higher precedence would still win, so this warns the user.
    if let Ok(Some((_, source))) = vendor_keys::find(&known, &session.environment, &session.folders)
        && (into_keyring || !matches!(source, vendor_keys::Source::File { .. }))
    {
        session.output.notice(&format!("the key from {} overrides the stored one", place(&source)));
    }
    if into_keyring && !settings.keyring {
        session.output.notice("the keyring is not asked yet: put `keyring = true` into `[models]`");
    }
    let value = json!({
        "provider": name, "path": path, "keyring": into_keyring, "checked": !no_check,
    });
    let checked = if no_check { "stored, not checked" } else { "checked and stored" };
    let place = path.map_or("the keyring".to_owned(), |path| path.display().to_string());
    session.output.answer(&value, format!("{checked}: {place}"))
}

fn remove(session: &Session, name: &str, from_keyring: bool) -> Result<()> {
    // Allowed even if the settings no longer have the provider.
    if !crate::llm::settings::is_name(name) {
        let unknown = setup::unknown(&session.settings.config.models, name);
        return Err(KeyError::from(unknown).into());
    }
    let removed = if from_keyring {
        models::keyring(session).remove(name).map_err(KeyError::from)?
    } else {
        vendor_keys::remove(&session.folders, name)?
    };
    let path = vendor_keys::file(&session.folders, name);
    let text = match (from_keyring, removed) {
        (true, true) => format!("removed the key of {name} from the keyring"),
        (true, false) => format!("the keyring has no key of {name}"),
        (false, true) => format!("removed {}", path.display()),
        (false, false) => format!("there was no {}", path.display()),
    };
    session.output.answer(&json!({ "provider": name, "removed": removed }), text)
}

fn status(session: &Session, name: &str) -> Result<()> {
    let known = setup::provider(&session.settings.config.models, name).map_err(KeyError::from)?;
    let keyring = session.settings.config.models.keyring.then(|| models::keyring(session));
    let (environment, folders) = (&session.environment, &session.folders);
    let found = vendor_keys::find_anywhere(&known, environment, folders, keyring.as_ref())?;
    let source = found.map(|(_, source)| source);
    let text = match &source {
        Some(source) => format!("{name} has a key, from {}", place(source)),
        None => format!("{name} has no key; `steward key set {name}` stores one"),
    };
    session.output.answer(&json!({ "provider": name, "key": source }), text)
}

/// Reads a key from a hidden prompt, or from stdin if that is not a terminal.
pub(super) fn read(name: &str) -> Result<Key> {
    let text = if io::stdin().is_terminal() {
        let mut stderr = io::stderr();
        let _ = write!(stderr, "Key for {name} (it is not shown): ");
        let _ = stderr.flush();
        rpassword::read_password()?
    } else {
        let mut bytes = Vec::new();
        io::stdin().lock().take(MAX_BYTES as u64 + 64).read_to_end(&mut bytes)?;
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Key::new(&text)
        .map_err(|reason| Failure::usage(reason.to_string(), "give the key alone, on one line"))
}
