//! The definition of a service, and the plan to install it.

use std::path::PathBuf;

use crate::daemon::confine::Bounds;

#[derive(Debug, Clone)]
pub struct Service {
    /// The vault's id, as in the name of its state folder.
    pub id: String,
    /// The vault's name, for people.
    pub vault: String,
    pub command: Vec<String>,
    /// Environment variables that locate the steward's files, if set.
    pub environment: Vec<(String, String)>,
    /// The folders that the daemon must be able to write.
    pub bounds: Bounds,
    /// Whether the daemon runs third-party programs, which may make code as they run.
    pub runs_others: bool,
    /// The log file, on systems that collect no logs.
    pub log: PathBuf,
}

/// The file and the commands; a value, so that a dry run can print it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The service's name in the system.
    pub name: String,
    pub file: PathBuf,
    pub text: String,
    /// Commands to run after the file is written.
    pub install: Vec<Vec<String>>,
    /// Commands that restart the daemon; only a failure of the last one counts, since nothing may be running.
    pub restart: Vec<Vec<String>>,
    /// Commands to run before the file is removed; failures are only reported, since the service may be gone.
    pub stop: Vec<Vec<String>>,
    /// Commands to run after the file is removed.
    pub forget: Vec<Vec<String>>,
    /// A command that succeeds if the service is running.
    pub running: Vec<String>,
}

pub fn words(command: &[&str]) -> Vec<String> {
    command.iter().map(|word| (*word).to_owned()).collect()
}
