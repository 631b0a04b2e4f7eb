//! Opens the vault for a daemon or for a direct call of the command line: locks it for this process, recovers the
//! journal, and creates the access to the tools.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;

use super::{StartError, handles};
use crate::agent::Conversations;
use crate::agent::clock::SystemClock;
use crate::calls::Calls;
use crate::config::Config;
use crate::config::folders::{self, Folders};
use crate::config::instance::{self, InstanceLock};
use crate::config::running::Running;
use crate::hooks::Hooks;
use crate::index::Index;
use crate::journal::{Journal, JournalError, Origin, Recovered};
use crate::note::path::VaultPath;
use crate::policy::{Guarded, Permission};
use crate::store::{Prepared, Store, StoreError};
use crate::tools::{self, Context};
use crate::vault::{Cancel, Vault, VaultError, Writer};

/// Locks the vault for this process.
///
/// # Errors
/// [`StartError::AlreadyRunning`] at once when a daemon serves it; [`StartError::Busy`] when
/// something else holds it for longer than `timeout`.
pub fn lock(
    folders: &Folders,
    root: &Path,
    state: &Path,
    timeout: Duration,
) -> Result<InstanceLock, StartError> {
    let take = |timeout| {
        instance::lock(root, state, timeout)
            .with_context(|| format!("could not lock `{}`", root.display()))
    };
    if let Some(lock) = take(Duration::ZERO)? {
        return Ok(lock);
    }
    let served = || Running::find(folders, root).map(|(running, _)| Box::new(running));
    if let Some(running) = served() {
        return Err(StartError::AlreadyRunning(running));
    }
    take(timeout)?.ok_or_else(|| match served() {
        Some(running) => StartError::AlreadyRunning(running),
        None => StartError::Busy { pid: instance::holder(state) },
    })
}

/// Opens the vault and creates the context of tools.
pub fn open(
    root: &Path,
    state: &Path,
    config: &Config,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Context, StartError> {
    handles::raise_limit();
    let opened = Vault::open(root, state, config.vault.clone(), progress).map_err(not_opened)?;
    check_mounted(&opened.0, state)?;
    let context = context(opened, folders::memory(root, state), config);
    context.index.load_saved(state);
    Ok(context)
}

fn not_opened(error: VaultError) -> StartError {
    StartError::Vault { message: error.to_string(), hint: error.hint() }
}

/// The context of tools: this vault, and a journal in this store.
fn context((vault, writer): (Vault, Writer), store: Store, config: &Config) -> Context {
    let journal = Journal::open(writer, store, config.journal.clone());
    let conversations = kept_conversations(journal.store().new_connection(), config);
    let settings = tool_settings(config);
    let index = Index::new(vault.clone());
    index.knowledge.set_settings(config.knowledge);
    Context {
        vault,
        journal,
        index,
        settings,
        max_chars: usize::MAX,
        most: Permission::Permanent,
        cancel: Cancel::default(),
        origin: Origin::default(),
        rules: Vec::new(),
        gate: None,
        conversations: Some(Arc::new(conversations)),
        host: None,
        listeners: Default::default(),
        running_jobs: Default::default(),
        clock: tools::Clock::System,
    }
}

/// Opens the vault, watched from the first scan on, and the store in parallel, which does not depend on it.
pub(super) fn open_both(
    root: &Path,
    state: &Path,
    config: &Config,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<(Context, Result<Prepared, StoreError>), StartError> {
    handles::raise_limit();
    let store = folders::memory(root, state);
    // The scope waits for both threads even if opening the vault fails: no other process may use
    // the state folder while one of them uses it.
    let (opened, prepared) = std::thread::scope(|scope| {
        let opening = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn_scoped(scope, || store.database.prepare());
        let opened = Vault::open_watched(root, state, config.vault.clone(), progress);
        let prepared = match opening.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(prepared)) => prepared,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // If no thread can be started, open it here.
            Err(_) => store.database.prepare(),
        };
        (opened, prepared)
    });
    let opened = opened.map_err(not_opened)?;
    check_mounted(&opened.0, state)?;
    Ok((context(opened, store, config), prepared))
}

pub fn kept_conversations(store: Store, config: &Config) -> Conversations {
    let clock = Arc::new(SystemClock::default());
    Conversations::new(store, config.conversation.clone(), clock)
}

pub(super) fn tool_settings(config: &Config) -> tools::Settings {
    tools::Settings {
        search: config.search.clone(),
        organize: config.organize.clone(),
        prompts_folder: config.agent.prompts_folder.clone(),
    }
}

/// Recovers from a crash. The caller holds the vault's lock and has changed nothing yet.
///
/// # Errors
/// [`StartError::Journal`]: nothing may be changed then.
pub fn recover(context: &Context) -> Result<Recovered, StartError> {
    let recovered = context.journal.recover().map_err(not_recovered)?;
    settle_jobs(context);
    Ok(recovered)
}

/// Marks jobs that were running when the program ended; after the journal's recovery.
pub(super) fn settle_jobs(context: &Context) {
    if let Err(error) = tools::settle(context) {
        tracing::error!(%error, "jobs that ran are not marked as interrupted");
    }
}

pub(super) fn not_recovered(error: JournalError) -> StartError {
    StartError::Journal { message: error.to_string(), hint: error.hint() }
}

pub fn calls(context: Context, state: &Path, config: &Config) -> Calls {
    let (vault, place) = (context.vault.root().to_owned(), folders::hooks_folder(state));
    let hooks = Hooks::new(config.hooks.clone(), vault, place);
    let store = context.journal.store().append_connection();
    let calls = Calls::new(context, config.policy.clone(), store, hooks);
    calls.policy().guard(guarded(config));
    calls
}

/// The notes that act as instructions from the person.
pub(super) fn guarded(config: &Config) -> Guarded {
    let named =
        |path: &str| VaultPath::parse(path.trim(), None).ok().filter(|path| !path.is_root());
    Guarded {
        instructions: named(&config.agent.instructions_note),
        prompts: named(&config.agent.prompts_folder),
    }
}

/// Rejects an empty folder where a vault was: everything would look deleted, and new files would be
/// hidden once the disk is mounted.
pub fn check_mounted(vault: &Vault, state: &Path) -> Result<(), StartError> {
    let seen = folders::has_been_seen(state);
    if vault.obsidian().config_folder.is_some() {
        if !seen && let Err(error) = folders::remember_seen(state) {
            tracing::warn!(%error, "could not record that Obsidian uses this vault");
        }
    } else if seen && vault.status().counts.notes == 0 {
        let (root, marker) = (vault.root().to_owned(), folders::seen_file(state));
        return Err(StartError::NotMounted { root, marker });
    }
    Ok(())
}
