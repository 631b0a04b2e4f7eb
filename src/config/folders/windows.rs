//! Windows: state stays on the machine, settings roam.

#![expect(clippy::disallowed_methods, reason = "our own folders, made before any vault is opened")]

use std::path::{Path, PathBuf};

use super::Folders;
use crate::config::Environment;

pub(super) const VARIABLES: &str = "`APPDATA` and `LOCALAPPDATA`";
pub(super) const STATE_VARIABLE: &str = "`LOCALAPPDATA`";

pub(super) fn folders(environment: &Environment) -> Option<Folders> {
    let below = |variable: &str, usual: &str| {
        environment.absolute(variable).or_else(|| Some(environment.home()?.join(usual)))
    };
    Some(Folders {
        config: below("APPDATA", r"AppData\Roaming")?.join("vault-steward"),
        state: below("LOCALAPPDATA", r"AppData\Local")?.join("vault-steward"),
    })
}

/// Where Obsidian keeps its list of vaults.
pub fn obsidian_json(environment: &Environment) -> Vec<PathBuf> {
    let roaming = environment
        .absolute("APPDATA")
        .or_else(|| Some(environment.home()?.join(r"AppData\Roaming")));
    roaming.map(|at| at.join("obsidian").join("obsidian.json")).into_iter().collect()
}

/// What a folder is known by wherever it is moved: here nothing is.
pub fn folder_id(_: &Path) -> Option<String> {
    None
}

/// Whether two paths are the same folder, whatever they are called.
pub fn same_folder(a: &Path, b: &Path) -> bool {
    match (dunce::canonicalize(a), dunce::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}
