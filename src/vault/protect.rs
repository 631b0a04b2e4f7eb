//! Folders that no tool may touch, and names that Obsidian hides.
//!
//! Checked on the components of a real path (free of links). The caller then opens that same path
//! with links forbidden, so no spelling and no link gets around the check.

use std::sync::OnceLock;

use crate::note::fold::fold_key;
use crate::note::path::VaultPath;

/// Folders protected at any depth, and why.
const PROTECTED: [(&str, &str); 4] = [
    (".obsidian", "it contains Obsidian's own settings and plugins"),
    (".smarthole", "it contains SmartHole's own data"),
    (".git", "it contains the vault's version history"),
    (".trash", "it contains deleted notes; use the trash tools for them"),
];

/// Hidden folders that sync services create; they hold no notes.
const NAS_FOLDERS: [&str; 1] = ["@eadir"];

/// The protected folder that a path is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protected {
    /// As spelt in the path.
    pub folder: String,
    /// Follows "because" in a message.
    pub reason: String,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Protection {
    /// Fold keys of configuration folders under another name than `.obsidian`.
    config_folders: Vec<String>,
    /// The steward's state folder, if it is in the vault.
    state: Option<VaultPath>,
    /// The steward's settings and keys that are in the vault.
    settings: OnceLock<Vec<VaultPath>>,
}

impl Protection {
    /// Rules for a vault with these configuration folders at its root.
    pub fn new(config_folders: &[String], state: Option<VaultPath>) -> Self {
        let config_folders = config_folders.iter().map(|name| fold_key(name)).collect();
        Self { config_folders, state, settings: OnceLock::new() }
    }

    /// The same rules with these configuration folders added.
    pub fn with(&self, config_folders: &[String]) -> Self {
        let mut rules = self.clone();
        rules.config_folders.extend(config_folders.iter().map(|name| fold_key(name)));
        rules.config_folders.sort();
        rules.config_folders.dedup();
        rules
    }

    /// Protects these files and folders too. Only the first call takes effect.
    pub fn protect(&self, settings: Vec<VaultPath>) {
        let _ = self.settings.set(settings);
    }

    pub fn settings(&self) -> &[VaultPath] {
        self.settings.get().map_or(&[], Vec::as_slice)
    }

    /// The protected folder that `path` is or is in, at any depth; letter case is ignored.
    pub fn check(&self, path: &VaultPath) -> Option<Protected> {
        let is_of = |own: &&VaultPath| path.fold_key() == own.fold_key() || path.is_within(*own);
        let own = |place: &VaultPath, what: &str| {
            Some(Protected {
                folder: place.to_string(),
                reason: format!("it contains the steward's own {what}"),
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
        // All protected names start with a dot, except for their 8.3 names on Windows.
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

/// Whether Obsidian hides a name: dot-files, dot-folders and leftovers of sync services. All
/// protected names are hidden.
pub fn is_hidden_name(name: &str) -> bool {
    name.starts_with('.') || NAS_FOLDERS.contains(&fold_key(name).as_str())
}

pub fn is_hidden(path: &VaultPath) -> bool {
    path.components().any(is_hidden_name)
}

/// The name as Windows reads it: without trailing dots and blanks, and without an alternate
/// stream's name. On other systems such names are distinct, but no vault needs them.
fn bare(name: &str) -> &str {
    let name = match name.find(':') {
        Some(colon) if colon > 0 => &name[..colon],
        _ => name,
    };
    let trimmed = name.trim_end_matches(['.', ' ']);
    if trimmed.is_empty() { name } else { trimmed }
}

/// Whether this is a protected folder's 8.3 name on Windows: `OBSIDI~1`, `SMARTH~1`, `GIT~1`,
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
