//! What no tool may touch, and what Obsidian itself does not see.
//!
//! Decided on the components of a path that has no links left in it: the caller resolves first
//! and opens by that same path with links forbidden, so no spelling and no link gets around it.

use std::sync::OnceLock;

use crate::note::fold::fold_key;
use crate::note::path::VaultPath;

/// Folders kept from every tool at any depth, and why.
const PROTECTED: [(&str, &str); 4] = [
    (".obsidian", "it holds Obsidian's own settings and plugins"),
    (".smarthole", "it holds SmartHole's own data"),
    (".git", "it holds the vault's version history"),
    (".trash", "it holds deleted notes, which are reached through the trash tools"),
];

/// Folders that services leave in synced places and that hold no notes.
const NOISE: [&str; 1] = ["@eadir"];

/// A protected folder, by the name found in the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protected {
    /// The folder as it stands in the path.
    pub folder: String,
    /// Why, to follow "because".
    pub reason: String,
}

/// The rules of one vault.
#[derive(Debug, Clone, Default)]
pub(super) struct Protection {
    /// Fold keys of configuration folders under another name than `.obsidian`.
    config_folders: Vec<String>,
    /// Where the daemon's own state lies in the vault, if the user put it there.
    state: Option<VaultPath>,
    /// Where the steward's settings and keys lie in the vault, if the user put them there.
    settings: OnceLock<Vec<VaultPath>>,
}

impl Protection {
    /// Rules for a vault whose root also holds these configuration folders.
    pub fn new(config_folders: &[String], state: Option<VaultPath>) -> Self {
        let config_folders = config_folders.iter().map(|name| fold_key(name)).collect();
        Self { config_folders, state, settings: OnceLock::new() }
    }

    /// The same rules for a vault whose root holds these configuration folders besides.
    pub fn with(&self, config_folders: &[String]) -> Self {
        let mut rules = self.clone();
        rules.config_folders.extend(config_folders.iter().map(|name| fold_key(name)));
        rules.config_folders.sort();
        rules.config_folders.dedup();
        rules
    }

    /// Protects these files and folders too, from now on; once.
    pub fn protect(&self, settings: Vec<VaultPath>) {
        let _ = self.settings.set(settings);
    }

    /// The files and folders that were protected so.
    pub fn settings(&self) -> &[VaultPath] {
        self.settings.get().map_or(&[], Vec::as_slice)
    }

    /// The protected folder that `path` is or lies in, at any depth and in any case.
    pub fn check(&self, path: &VaultPath) -> Option<Protected> {
        let is_of = |own: &&VaultPath| path.fold_key() == own.fold_key() || path.is_within(*own);
        let own = |place: &VaultPath, what: &str| {
            Some(Protected {
                folder: place.to_string(),
                reason: format!("it holds the steward's own {what}"),
            })
        };
        if let Some(state) = self.state.as_ref().filter(is_of) {
            return own(state, "state");
        }
        if let Some(settings) = self.settings().iter().find(is_of) {
            return own(settings, "settings");
        }
        path.components().find_map(|name| {
            let reason = self.reason(name)?;
            Some(Protected { folder: name.to_owned(), reason: reason.to_owned() })
        })
    }

    fn reason(&self, name: &str) -> Option<&'static str> {
        // All of these start with a dot, but for the short names that Windows makes of them.
        if !name.starts_with('.') && !cfg!(windows) {
            return None;
        }
        let key = fold_key(bare(name));
        if let Some((_, reason)) = PROTECTED.iter().find(|(folder, _)| *folder == key) {
            return Some(reason);
        }
        let other = self.config_folders.contains(&key) || short_name(&key);
        other.then_some(PROTECTED[0].1)
    }
}

/// Whether a name is invisible in the vault, as in Obsidian: dot-files and dot-folders, and the
/// leftovers of services. Protected names are among them.
pub fn is_hidden_name(name: &str) -> bool {
    name.starts_with('.') || NOISE.contains(&fold_key(name).as_str())
}

/// Whether any component of the path is invisible.
pub fn is_hidden(path: &VaultPath) -> bool {
    path.components().any(is_hidden_name)
}

/// The name as Windows would read it: trailing dots and blanks dropped, an alternate stream's name
/// cut off. Elsewhere these are other names, but none that a vault needs.
fn bare(name: &str) -> &str {
    let name = match name.find(':') {
        Some(colon) if colon > 0 => &name[..colon],
        _ => name,
    };
    let trimmed = name.trim_end_matches(['.', ' ']);
    if trimmed.is_empty() { name } else { trimmed }
}

/// The 8.3 names that Windows gives the protected folders: `OBSIDI~1`, `SMARTH~1`, `GIT~1`,
/// `TRASH~1`.
fn short_name(key: &str) -> bool {
    let Some((stem, number)) = key.split_once('~') else { return false };
    cfg!(windows)
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && ["obsidi", "smarth", "git", "trash"].contains(&stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_under_any_spelling_and_depth() {
        let rules = Protection::new(&[".obsidian-work".to_owned()], VaultPath::from_disk("own"));
        let protected = [
            ".obsidian",
            ".Obsidian/app.json",
            "a/b/.OBSIDIAN/x",
            ".git/config",
            "a/.trash",
            ".smarthole/inbox/1.md",
            ".obsidian-work/x",
            ".obsidian./x",
            ".git ",
            ".obsidian::$DATA",
            ".trash:stream",
            "own/state.db",
            "own",
        ];
        for path in protected {
            let path = VaultPath::from_disk(path).expect("a sound path");
            assert!(rules.check(&path).is_some(), "{path}");
        }
        for path in ["obsidian/x", ".obsidianx", "git", "trash/x.md", "a.git/x", "owner.md", ""] {
            let path = VaultPath::from_disk(path).expect("a sound path");
            assert_eq!(rules.check(&path), None, "{path}");
        }
    }
}
