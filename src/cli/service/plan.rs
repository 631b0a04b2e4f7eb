//! What a service is made from, and what the system is told of it.

use std::path::PathBuf;

use crate::daemon::confine::Bounds;

/// What a service is made from.
#[derive(Debug, Clone)]
pub struct Service {
    /// The vault's id, as its state folder has it.
    pub id: String,
    /// The vault's name, for people.
    pub vault: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables that say where our own files lie, where they are set here.
    pub environment: Vec<(String, String)>,
    /// What the daemon must be able to write.
    pub bounds: Bounds,
    /// Where the log goes, where nobody collects it.
    pub log: PathBuf,
}

/// What the system is given and told; a value, so that it can be shown instead of done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The service's name with the system.
    pub name: String,
    /// The file that describes it.
    pub file: PathBuf,
    pub text: String,
    /// Run after the file is written.
    pub install: Vec<Vec<String>>,
    /// Run before the file is removed; what fails is only told, as it may be gone already.
    pub stop: Vec<Vec<String>>,
    /// Run after the file is removed.
    pub forget: Vec<Vec<String>>,
    /// Ends well when the service runs.
    pub running: Vec<String>,
}

/// A command as a plan has it.
pub fn words(command: &[&str]) -> Vec<String> {
    command.iter().map(|word| (*word).to_owned()).collect()
}
