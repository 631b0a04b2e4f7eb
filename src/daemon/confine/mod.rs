//! The daemon confines itself: a fault of its own, or of a crate, ends in "permission denied"
//! instead of in somebody's files or on somebody's server.
//!
//! On Linux by Landlock, before there is a second thread: what is confined stays so, and so does
//! every thread and program it starts. Best effort: where the kernel can do less, less is done, and
//! [`Confinement`] says what is lacking. Elsewhere there is nothing a program can do by itself
//! without being packaged for it.

#[cfg(target_os = "linux")]
#[path = "landlock.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod platform;

use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::llm::setup;
use crate::protocol::status::{Confinement, ConfinementState};
use crate::vault::system_trash;

/// What the daemon may still do once it is confined. Reading stays as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Folders below which it may write, and files that it may.
    pub writable: Vec<PathBuf>,
    /// TCP ports that it may connect to, on whatever host.
    pub connect: Vec<u16>,
    /// The TCP port that it may listen on; 0: any that the system gives.
    pub listen: u16,
}

impl Bounds {
    /// What the daemon of the vault at `root` needs. `state` is its state folder, `settings` the
    /// settings file, `own` the folder that is for settings of the steward alone.
    pub fn new(root: &Path, state: &Path, settings: &Path, own: &Path, config: &Config) -> Self {
        let mut writable = vec![root.to_path_buf(), state.to_path_buf()];
        writable.extend(settings_folder(settings, own));
        writable.extend(system_trash(root));
        // Programs that are started have it for what they print.
        writable.extend(cfg!(unix).then(|| PathBuf::from("/dev/null")));
        writable.dedup();
        let mut connect = ports_out(config);
        // The daemon's own, for hooks that call it; one that the system gives is not known yet.
        connect.extend(Some(config.server.port).filter(|port| *port > 0));
        Self { writable, connect, listen: config.server.port }
    }
}

/// The folder in which the daemon may change the settings file. To put a new file in its place is to
/// write beside it, so there is none where others keep theirs: a home folder, a collection of settings
/// to which a link leads.
pub fn settings_folder(settings: &Path, own: &Path) -> Option<PathBuf> {
    let folder = match platform::real(settings) {
        // Where it is a link, what it leads to is what is changed.
        Some(real) => real.parent()?.to_path_buf(),
        None => platform::real(settings.parent()?)?,
    };
    folder.starts_with(platform::real(own)?).then_some(folder)
}

/// The TCP ports that the daemon connects to by these settings: those of the built-in providers, on
/// this machine too, so that each can be chosen while the daemon runs, and those of the providers that
/// the settings speak of; and that of SmartHole. Another port needs a restart, since what is confined
/// cannot be let out.
pub fn ports_out(config: &Config) -> Vec<u16> {
    let models = &config.models;
    let named = setup::configured(models).into_iter().chain(setup::built_in().map(str::to_owned));
    let known = named.filter_map(|name| setup::provider(models, &name).ok());
    let mut ports: Vec<u16> = known.filter_map(|known| known.address.port()).collect();
    ports.push(443);
    // Also where it is switched off: it can be switched on while the daemon runs.
    ports.push(config.smarthole.port);
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// Confines this thread and all that it will start, as far as the system can.
pub fn confine(bounds: &Bounds) -> Confinement {
    let confinement = platform::confine(bounds);
    for lack in &confinement.lacks {
        tracing::info!(lack, "confined less than it could be");
    }
    tracing::debug!(state = ?confinement.state, ?bounds, "confined");
    confinement
}

/// What [`confine`] could do here, without doing it.
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
