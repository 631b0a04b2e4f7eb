//! Prepares the daemon's sandbox, and the paths that it needs inside.

use std::path::Path;

use super::confine;
use crate::config::live::Live;
use crate::config::{Config, folders};
use crate::protocol::status::Confinement;
use crate::vault::{make_system_trash, system_trash};

/// The port to listen on. Guests connect to it, so with guests a system-chosen port is fixed before
/// the process is sandboxed.
pub(super) fn fixed_port(config: &Config) -> u16 {
    let has_guests = config.agents.0.values().any(|agent| agent.is_guest());
    if config.server.port > 0 || !has_guests || !config.security.landlock {
        return config.server.port;
    }
    let free = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0));
    free.and_then(|free| free.local_addr()).map_or(0, |address| address.port())
}

/// Sandboxes the process, unless the settings disable it.
pub(super) fn apply_sandbox(
    root: &Path,
    state: &Path,
    own: &Path,
    (live, config): (&Live, &Config),
    tape: Option<&Path>,
) -> Confinement {
    if !config.security.landlock {
        return confine::off();
    }
    prepare_places(root, live.path());
    let mut bounds = confine::Bounds::new(root, state, live.path(), own, config);
    if cfg!(target_os = "linux") && confine::settings_folder(live.path(), own).is_none() {
        let file = live.path().display();
        tracing::info!(%file, "the settings are among other files, so the daemon does not change them");
    }
    bounds.writable.extend(tape.map(Path::to_path_buf));
    confine::confine(&bounds)
}

/// Creates missing files and folders that the daemon may write to later, since they cannot be created
/// inside the sandbox.
pub fn prepare_places(root: &Path, settings: &Path) {
    if let Err(error) = folders::prepare_for(settings) {
        tracing::warn!(%error, "the settings cannot be written");
    }
    if let Some(Err(error)) = system_trash(root).map(|trash| make_system_trash(&trash)) {
        tracing::warn!(%error, "the system has no trash");
    }
}
