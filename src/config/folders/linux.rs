//! Linux and other systems with XDG base directories.

use std::path::PathBuf;

use super::Folders;
use crate::config::Environment;

pub(super) const VARIABLES: &str = "`HOME`, or `XDG_CONFIG_HOME` and `XDG_STATE_HOME`";
pub(super) const STATE_VARIABLE: &str = "`XDG_STATE_HOME`";

pub(super) fn folders(environment: &Environment) -> Option<Folders> {
    let below = |variable: &str, usual: &str| {
        environment.absolute(variable).or_else(|| Some(environment.home()?.join(usual)))
    };
    Some(Folders {
        config: below("XDG_CONFIG_HOME", ".config")?.join("vault-steward"),
        state: below("XDG_STATE_HOME", ".local/state")?.join("vault-steward"),
    })
}

/// The locations of Obsidian's vault list: for a package, a Flatpak and a snap.
pub fn obsidian_json(environment: &Environment) -> Vec<PathBuf> {
    let home = environment.home();
    let below_home = |path: &str| home.map(|home| home.join(path));
    let package = environment
        .absolute("XDG_CONFIG_HOME")
        .map(|config| config.join("obsidian"))
        .or_else(|| below_home(".config/obsidian"));
    let flatpak = below_home(".var/app/md.obsidian.Obsidian/config/obsidian");
    let snap = below_home("snap/obsidian/current/.config/obsidian");
    [package, flatpak, snap].into_iter().flatten().map(|at| at.join("obsidian.json")).collect()
}
