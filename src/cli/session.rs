//! The settings and the vault of one run.

use std::path::PathBuf;

use super::arguments::{Command, Global};
use super::failure::Failure;
use super::logging::{self, Log};
use super::output::Output;
use crate::config::Environment;
use crate::config::folders::{self, Folders};
use crate::config::layers::{self, Flags, Settings};
use crate::config::live::Live;
use crate::config::log::Level;
use crate::config::obsidian::{self, KnownVaults};
use crate::config::running::Running;
use crate::config::vaults::{self, Choice};

/// What every command needs to know first.
#[derive(Debug)]
pub struct Session {
    /// What the process was given.
    pub environment: Environment,
    /// Where our own files lie.
    pub folders: Folders,
    /// The settings that hold.
    pub settings: Settings,
    /// What the flags say about settings.
    pub flags: Flags,
    /// The log.
    pub log: Log,
    /// What Obsidian knows.
    pub known: KnownVaults,
}

impl Session {
    /// Reads settings and environment, starts the log, and passes notices on.
    ///
    /// # Errors
    /// Settings that are wrong, or no folder to keep our files in.
    pub fn start(global: &Global, command: &Command, output: &Output) -> Result<Self, Failure> {
        let environment = Environment::of_process();
        let folders = folders::folders(&environment)?;
        let flags = global.flags(command);
        let settings = layers::load(&flags, &environment, &folders)?;
        let usual = match command {
            Command::Serve(_) => Level::Info,
            _ => Level::Warn,
        };
        let log = logging::start(&settings.config.log, usual, output);
        settings.notices.iter().for_each(|notice| output.notice(notice));
        let known = obsidian::known_vaults(&environment);
        for (list, reason) in &known.faults {
            tracing::warn!(list = %list.display(), reason, "could not use Obsidian's list of vaults");
        }
        Ok(Self { environment, folders, settings, flags, log, known })
    }

    /// The vault that is meant, quietly.
    ///
    /// # Errors
    /// None or several, or the named one cannot be one.
    pub fn choose(&self) -> Result<Choice, Failure> {
        Ok(vaults::choose(self.settings.vault.clone(), &self.environment, &self.known)?)
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
