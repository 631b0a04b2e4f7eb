//! Runs one hook's command.

#![expect(clippy::disallowed_methods, reason = "programs and a folder that are never in a vault")]

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use super::program::{Program, ProgramError};
use super::program_path::{at_home, in_vault};
use super::settings::Hook;

/// The largest answer, in bytes; the limit of a client's message too.
const MAX_ANSWER: u64 = 4 << 20;

/// The environment variables that every hook inherits.
#[cfg(not(windows))]
const PASSED: &[&str] = &["HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ"];
#[cfg(windows)]
const PASSED: &[&str] =
    &["USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA", "SystemRoot", "ComSpec"];

#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("`{}` is in the vault, where others write; put it elsewhere", .0.display())]
    InVault(PathBuf),
    #[error("its folder `{}` could not be made: {source}", .place.display())]
    Place { place: PathBuf, source: io::Error },
    #[error("`{}` could not be started: {source}", .program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("it took longer than {0} s and was ended")]
    Late(u32),
    #[error("it wrote more than {} bytes and was ended", MAX_ANSWER)]
    TooMuch,
    #[error("it ended with {status}{}", after_colon(.error_line))]
    Failed { status: ExitStatus, error_line: String },
    #[error("{0}")]
    Answer(String),
    #[error("the operation was cancelled")]
    Withdrawn,
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

pub(super) struct Run<'a> {
    pub name: &'a str,
    pub hook: &'a Hook,
    pub vault: &'a Path,
    pub place: &'a Path,
    pub input: Vec<u8>,
    /// See [`Program::mark`].
    pub mark: String,
}

impl Run<'_> {
    /// Runs it; returns its output.
    pub fn execute(self, withdrawn: &dyn Fn() -> bool) -> Result<Vec<u8>, Fault> {
        let command = self.command()?;
        let program = Program {
            command,
            time: Duration::from_secs(u64::from(self.hook.seconds)),
            most: MAX_ANSWER,
            mark: Some(self.mark.clone()),
            input: self.input.clone(),
        };
        let finished = program.run(withdrawn).map_err(|error| match error {
            ProgramError::Start(source) => Fault::Start { program: self.program(), source },
            ProgramError::Late => Fault::Late(self.hook.seconds),
            ProgramError::TooMuch => Fault::TooMuch,
            ProgramError::Withdrawn => Fault::Withdrawn,
        })?;
        if finished.status.success() {
            Ok(finished.output)
        } else {
            Err(Fault::Failed { status: finished.status, error_line: finished.error_line })
        }
    }

    fn program(&self) -> PathBuf {
        at_home(self.hook.command.first().map_or("", String::as_str))
    }

    fn command(&self) -> Result<Command, Fault> {
        if let Some(path) = in_vault(&self.hook.command, self.vault) {
            return Err(Fault::InVault(path));
        }
        std::fs::create_dir_all(self.place)
            .map_err(|source| Fault::Place { place: self.place.to_path_buf(), source })?;
        let mut command = Command::new(self.program());
        command
            .args(self.hook.command.iter().skip(1).map(|part| at_home(part)))
            .env_clear()
            .envs(self.environment())
            .current_dir(self.place);
        Ok(command)
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let named = PASSED.iter().copied().chain(self.hook.environment.iter().map(String::as_str));
        let mut environment: Vec<(OsString, OsString)> =
            named.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
        #[cfg(not(windows))]
        let path = Some(OsString::from(super::program_path::PLAIN_PATH));
        #[cfg(windows)]
        let path = std::env::var_os("PATH");
        if !self.hook.environment.iter().any(|name| name == "PATH") {
            environment.extend(path.map(|path| ("PATH".into(), path)));
        }
        let temporary = if cfg!(windows) { "TEMP" } else { "TMPDIR" };
        environment.extend([
            (temporary.into(), self.place.into()),
            ("STEWARD_VAULT".into(), self.vault.into()),
            (super::VARIABLE.into(), self.name.into()),
        ]);
        environment
    }
}
