//! Windows: state is per machine, settings roam.

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

/// The location of Obsidian's vault list.
pub fn obsidian_json(environment: &Environment) -> Vec<PathBuf> {
    let roaming = environment
        .absolute("APPDATA")
        .or_else(|| Some(environment.home()?.join(r"AppData\Roaming")));
    roaming.map(|at| at.join("obsidian").join("obsidian.json")).into_iter().collect()
}

/// Windows offers no identity that survives a move.
pub fn folder_id(_: &Path) -> Option<String> {
    None
}

/// Whether two paths lead to the same folder.
pub fn same_folder(a: &Path, b: &Path) -> bool {
    match (dunce::canonicalize(a), dunce::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}
