//! The settings and the vault of one run.

use std::path::PathBuf;

use super::failure::Failure;
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

/// What a command can do while the settings file is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongSettings {
    /// Nothing.
    Fail,
    /// What the running daemon answers alone, which goes by what it read before.
    AskDaemon,
    /// All that it is for.
    Work,
}

/// What every command needs to know first.
#[derive(Debug)]
pub struct Session {
    /// What the process was given.
    pub environment: Environment,
    /// Where our own files lie.
    pub folders: Folders,
    /// The settings that hold.
    pub settings: Settings,
    /// What is wrong with the settings file. Then `settings` are the defaults, with which nothing but the
    /// running daemon may be asked: it goes by what it read before.
    pub fault: Option<Failure>,
    /// What the flags say about settings.
    pub flags: Flags,
    pub log: Log,
    /// What Obsidian knows.
    pub known: KnownVaults,
}

impl Session {
    /// Reads settings and environment, starts the log with the level `usual` where none is set, and
    /// passes notices on.
    ///
    /// # Errors
    /// Settings that are wrong, or no folder to keep our files in.
    pub fn start(
        flags: Flags,
        usual: Level,
        wrong: WrongSettings,
        output: &Output,
    ) -> Result<Self, Failure> {
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
        let log = logging::start(&settings.config.log, usual, output);
        settings.notices.iter().for_each(|notice| output.notice(notice));
        let known = obsidian::known_vaults(&environment);
        for (list, reason) in &known.faults {
            tracing::warn!(list = %list.display(), reason, "could not use Obsidian's list of vaults");
        }
        let mut session = Self { environment, folders, settings, fault, flags, log, known };
        if let Some(fault) = session.fault.take() {
            let served = session.choose().ok().filter(|one| session.running(&one.root).is_some());
            if served.is_none() && wrong != WrongSettings::Work {
                return Err(fault);
            }
            output.notice(&format!(
                "the settings file is wrong and changes nothing: {}",
                fault.message
            ));
            session.fault = Some(fault);
        }
        Ok(session)
    }

    /// The settings to work by in this process.
    ///
    /// # Errors
    /// The file is wrong, so that nobody knows them.
    pub fn config(&self) -> Result<&Config, Failure> {
        match &self.fault {
            Some(fault) => Err(fault.clone()),
            None => Ok(&self.settings.config),
        }
    }

    /// The vault that is meant, quietly.
    ///
    /// # Errors
    /// None or several, or the named one cannot be one.
    pub fn choose(&self) -> Result<Choice, Failure> {
        Ok(vaults::choose(
            self.settings.vault.clone(),
            &self.environment,
            &self.folders,
            &self.known,
        )?)
    }

    /// The vault that is meant, with its notices passed on.
    ///
    /// # Errors
    /// As [`Session::choose`].
    pub fn vault(&self, output: &Output) -> Result<PathBuf, Failure> {
        let choice = self.choose()?;
        choice.notices.iter().for_each(|notice| output.notice(notice));
        Ok(choice.root)
    }

    /// The daemon that serves the vault at `root`, and its state folder.
    pub fn running(&self, root: &std::path::Path) -> Option<(Running, PathBuf)> {
        Running::find(&self.folders, root)
    }

    /// The settings of a daemon: those that hold, and what comes after them.
    pub fn live(&self) -> Live {
        let (_, named) = layers::which_file(&self.flags, &self.environment, &self.folders);
        let (flags, environment) = (self.flags.clone(), self.environment.clone());
        Live::new(self.settings.clone(), named, flags, environment)
    }
}
