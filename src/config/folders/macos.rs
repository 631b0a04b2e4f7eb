//! macOS: everything is below `~/Library/Application Support`.

use std::path::PathBuf;

use super::Folders;
use crate::config::Environment;

pub(super) const VARIABLES: &str = "`HOME`";
pub(super) const STATE_VARIABLE: &str = "`HOME`";

pub(super) fn folders(environment: &Environment) -> Option<Folders> {
    let ours = environment.home()?.join("Library/Application Support/vault-steward");
    Some(Folders { config: ours.clone(), state: ours })
}

/// The location of Obsidian's vault list.
pub fn obsidian_json(environment: &Environment) -> Vec<PathBuf> {
    let at = "Library/Application Support/obsidian/obsidian.json";
    environment.home().map(|home| home.join(at)).into_iter().collect()
}
