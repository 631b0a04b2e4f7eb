//! The daemon's sandbox: a fault in it or in a crate ends in "permission denied" instead of changing
//! other files or reaching other servers.
//!
//! On Linux it uses Landlock before there is a second thread; all later threads and programs inherit it. Best effort:
//! an older kernel enforces less, and [`Confinement`] lists the missing restrictions. On other systems a program cannot
//! sandbox itself without special packaging.

#[cfg(target_os = "linux")]
#[path = "landlock.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod platform;

use std::path::{Path, PathBuf};

use crate::config::{Config, logins};
use crate::llm::setup;
use crate::protocol::status::{Confinement, ConfinementState};
use crate::servers::ServerEntry;
use crate::vault::system_trash;

/// The rights inside the sandbox. Reading is not restricted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Writable files and folders.
    pub writable: Vec<PathBuf>,
    /// TCP ports that it may connect to on any host.
    pub connect: Vec<u16>,
    /// The TCP port that it may listen on; 0: any.
    pub listen: u16,
}

impl Bounds {
    /// The rights that the daemon of the vault at `root` needs. `state` is its state folder, `settings` the
    /// settings file, `own` the folder for the steward's settings.
    pub fn new(root: &Path, state: &Path, settings: &Path, own: &Path, config: &Config) -> Self {
        let mut writable = vec![root.to_path_buf(), state.to_path_buf()];
        writable.extend(settings_folder(settings, own));
        // Where tokens are renewed, even if the settings are elsewhere.
        writable.extend(logins::existing_folder(own));
        writable.extend(system_trash(root));
        // Started programs write their output to it.
        writable.extend(cfg!(unix).then(|| PathBuf::from("/dev/null")));
        // These bounds apply to guests, too.
        let guests = || config.agents.0.iter().filter_map(|(name, agent)| agent.guest(name));
        writable.extend(guests().flat_map(|guest| guest.config_folders));
        writable.dedup();
        let mut connect = ports_out(config);
        // The daemon's own port, for hooks that call it; a port chosen by the system is not known
        // yet.
        connect.extend(Some(config.server.port).filter(|port| *port > 0));
        connect.extend(guests().flat_map(|guest| guest.ports));
        connect.extend(logins::ports(own));
        Self { writable, connect, listen: config.server.port }
    }
}

/// The folder in which the daemon may replace the settings file. Replacing it needs write access to its
/// folder, so it is not allowed in shared folders: a home folder, or the target folder of a link.
pub fn settings_folder(settings: &Path, own: &Path) -> Option<PathBuf> {
    let folder = match platform::real(settings) {
        // Through a link, the target is changed.
        Some(real) => real.parent()?.to_path_buf(),
        None => platform::real(settings.parent()?)?,
    };
    folder.starts_with(platform::real(own)?).then_some(folder)
}

/// The TCP ports for these settings: those of all built-in providers, including local ones, so that each
/// can be chosen while the daemon runs; those of providers and MCP servers in the settings; and SmartHole's. Another
/// port needs a restart, since the sandbox cannot be widened.
pub fn ports_out(config: &Config) -> Vec<u16> {
    let models = &config.models;
    let named = setup::configured(models).into_iter().chain(setup::built_in().map(str::to_owned));
    let known = named.filter_map(|name| setup::provider(models, &name).ok());
    let mut ports: Vec<u16> = known.filter_map(|known| known.address.port()).collect();
    ports.push(443);
    ports.extend(config.servers.entries.values().filter_map(ServerEntry::port));
    // Even if it is disabled, since it can be enabled while the daemon runs.
    ports.push(config.smarthole.port);
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// Sandboxes this thread and everything it will start, as far as the system supports it.
pub fn confine(bounds: &Bounds) -> Confinement {
    let confinement = platform::confine(bounds);
    for lack in &confinement.lacks {
        tracing::info!(lack, "confined less than it could be");
    }
    tracing::debug!(state = ?confinement.state, ?bounds, "confined");
    confinement
}

/// The rights of a third-party program that the daemon starts: a tool server, a guest agent.
/// Everything not named is read-only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rights {
    /// Folders that it can neither read nor search.
    pub hidden: Vec<PathBuf>,
    /// Files and folders that it can read, even within a hidden one.
    pub readable: Vec<PathBuf>,
    /// Files and folders that it can read and write.
    pub writable: Vec<PathBuf>,
    /// TCP ports that it may connect to; `None` for all.
    pub connect: Option<Vec<u16>>,
}

/// Restricts this thread, and every program that it starts or becomes, to these rights. Read access
/// depends on the files that exist now: files created later next to a hidden folder cannot be read
/// either.
///
/// # Errors
/// The reason why this system cannot restrict the process; then nothing is restricted.
pub fn drop_privileges(rights: &Rights) -> Result<(), String> {
    platform::drop_privileges(rights)
}

/// The support for [`confine`] on this system.
pub fn possible() -> Confinement {
    platform::possible()
}

/// Switched off in the settings.
pub fn off() -> Confinement {
    let lacks = vec!["`[security] landlock` is false".to_owned()];
    Confinement { state: ConfinementState::Off, lacks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whichever_built_in_provider_is_chosen_can_be_reached() {
        let ports = ports_out(&Config::default());
        for name in setup::built_in() {
            let known = setup::provider(&Config::default().models, name).unwrap();
            assert!(ports.contains(&known.address.port().unwrap()), "{name}: {ports:?}");
        }
        // And SmartHole's.
        assert_eq!(ports, [443, 1234, 8000, 8080, 9473, 11434]);
    }
}
