//! The MCP servers in a vault's settings, for the daemon and for commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::confine;
use crate::calls::Calls;
use crate::config::folders::{self, Folders};
use crate::config::keyring::Keyring;
use crate::config::logins::LoginFiles;
use crate::config::{Config, Environment, vendor_keys};
use crate::protocol::status::ConfinementState;
use crate::servers::{Reference, ServerSandbox, Servers};

/// How often idle servers are ended.
const END_IDLE: Duration = Duration::from_secs(30);

/// The servers of these settings for the vault at `root`. Starts none.
pub fn servers(
    root: &Path,
    state: &Path,
    folders: &Folders,
    environment: &Environment,
    config: &Config,
) -> Servers {
    let sandbox = ServerSandbox {
        vault: root.to_path_buf(),
        folder: folders::servers_folder(state),
        hidden: vec![folders.state.clone(), folders.config.clone()],
        confines: is_possible().then(own_program).flatten(),
    };
    let logins = Arc::new(LoginFiles::new(folders));
    let (environment, folders) = (environment.clone(), folders.clone());
    let keyring = config.models.keyring.then(|| Keyring::new(&environment, Some(root)));
    let values = move |reference: Reference<'_>| match reference {
        Reference::Environment(name) => Some(environment.get(name)?.to_str()?.to_owned()),
        Reference::Key(name) => {
            let key = vendor_keys::named(name, &environment, &folders, keyring.as_ref());
            let key = key.inspect_err(|error| tracing::warn!(%error, "a server lacks a key"));
            Some(key.ok()??.reveal().to_owned())
        }
    };
    let clock = crate::policy::clock();
    Servers::new(config.servers.clone(), sandbox, Box::new(values), logins, clock)
}

/// Offers the tools of the servers through `calls`.
pub fn offer(servers: &Servers, calls: &Calls) {
    calls.add_foreign(Arc::new(servers.clone()));
}

/// Whether servers can be confined on this system.
pub fn is_possible() -> bool {
    confine::possible().state != ConfinementState::NotPossible
}

pub(super) async fn end_idle(servers: Servers) {
    let mut times = tokio::time::interval(END_IDLE);
    times.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        times.tick().await;
        let servers = servers.clone();
        if tokio::task::spawn_blocking(move || servers.end_idle()).await.is_err() {
            return;
        }
    }
}

/// This program, even if its file was replaced by a newer version meanwhile.
fn own_program() -> Option<PathBuf> {
    if cfg!(target_os = "linux") {
        Some(PathBuf::from("/proc/self/exe"))
    } else {
        std::env::current_exe().ok()
    }
}
