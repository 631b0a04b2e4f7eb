//! The settings and the vault of one run.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::failure::{Failure, Result};
use super::logging::{self, Log};
use super::output::Output;
use crate::config::folders::{self, Folders};
use crate::config::layers::{self, Flags, Settings};
use crate::config::live::Live;
use crate::config::log::Level;
use crate::config::obsidian::{self, KnownVaults};
use crate::config::running::Running;
use crate::config::vaults::{self, Choice};
use crate::config::{Config, ConfigError, Environment};
use crate::protocol::version::Version;

/// The abilities of a command while the settings file has errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongSettings {
    /// Nothing.
    Fail,
    /// Only ask the running daemon, which uses the settings that it read before.
    AskDaemon,
    /// Everything.
    Work,
}

/// The context that every command needs.
#[derive(Debug)]
pub struct Session {
    pub environment: Environment,
    /// The steward's own folders.
    pub folders: Folders,
    pub settings: Settings,
    /// The error in the settings file. `settings` are the defaults then, and only the running
    /// daemon may be asked: it uses the settings that it read before.
    pub fault: Option<Failure>,
    pub flags: Flags,
    pub log: Log,
    /// Obsidian's own configuration.
    pub known: KnownVaults,
    pub output: Output,
    /// The selected vault, once it was selected.
    root: OnceLock<PathBuf>,
}

impl Session {
    /// Reads settings and environment, starts the log (with the level `usual` if none is set), and
    /// prints notices.
    pub fn start(flags: Flags, usual: Level, wrong: WrongSettings, output: Output) -> Result<Self> {
        let environment = Environment::of_process();
        let folders = folders::folders(&environment)?;
        let (settings, fault) = match layers::load(&flags, &environment, &folders) {
            Ok(settings) => (settings, None),
            Err(error @ ConfigError::Fault { .. }) if wrong != WrongSettings::Fail => {
                match layers::remains(&flags, &environment, &folders) {
                    Some(settings) => (settings, Some(Failure::from(error))),
                    None => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        };
        let log = logging::start(&settings.config.log, usual, &output);
        settings.notices.iter().for_each(|notice| output.notice(notice));
        let known = obsidian::known_vaults(&environment);
        for (list, reason) in &known.faults {
            tracing::warn!(list = %list.display(), reason, "could not use Obsidian's list of vaults");
        }
        let root = OnceLock::new();
        let mut session =
            Self { environment, folders, settings, fault, flags, log, known, output, root };
        if let Some(fault) = session.fault.take() {
            let served = session.choose().ok().filter(|one| session.running(&one.root).is_some());
            if served.is_none() && wrong != WrongSettings::Work {
                return Err(fault);
            }
            output.notice(&format!(
                "the settings file has an error and is ignored: {}",
                fault.message
            ));
            session.fault = Some(fault);
        }
        Ok(session)
    }

    /// The settings, for work in this process.
    pub fn config(&self) -> Result<&Config> {
        match &self.fault {
            Some(fault) => Err(fault.clone()),
            None => Ok(&self.settings.config),
        }
    }

    /// The selected vault, without printing notices.
    pub fn choose(&self) -> Result<Choice> {
        Ok(vaults::choose(
            self.settings.vault.clone(),
            &self.environment,
            &self.folders,
            &self.known,
        )?)
    }

    /// The selected vault. The first time, prints its notices, and that its daemon is of another version.
    pub fn vault(&self) -> Result<&Path> {
        if let Some(root) = self.root.get() {
            return Ok(root);
        }
        let root = self.chosen()?;
        if let Some((running, _)) = self.running(&root)
            && let Some(notice) = skew(&running.version)
        {
            self.output.notice(&notice);
        }
        Ok(self.root.get_or_init(|| root))
    }

    /// Like [`Session::vault`], with the notices of the choice alone.
    pub fn chosen(&self) -> Result<PathBuf> {
        let choice = self.choose()?;
        choice.notices.iter().for_each(|notice| self.output.notice(notice));
        Ok(choice.root)
    }

    /// The daemon of the vault at `root`, and its state folder.
    pub fn running(&self, root: &Path) -> Option<(Running, PathBuf)> {
        Running::find(&self.folders, root)
    }

    /// The settings of a daemon, and the source of later changes.
    pub fn live(&self) -> Live {
        let (_, named) = layers::which_file(&self.flags, &self.environment, &self.folders);
        let (flags, environment) = (self.flags.clone(), self.environment.clone());
        Live::new(self.settings.clone(), named, flags, environment)
    }
}

/// The notice that the daemon is of the version `daemon`, if that is not this program's.
pub fn skew(daemon: &str) -> Option<String> {
    let (own, theirs) = (Version::own(), Version::parse(daemon)?);
    match theirs.cmp(&own) {
        Ordering::Less => Some(format!(
            "the daemon is version {theirs}, older than this program, {own}; `steward service restart` starts the \
             new one"
        )),
        Ordering::Greater => Some(format!(
            "this program is version {own}, older than the daemon, {theirs}; `steward doctor` says which program \
             this is"
        )),
        Ordering::Equal => None,
    }
}
