//! The locations of our own files, settings and state, which are never in the vault.
//!
//! One small file for each platform implements the same functions.

#![expect(clippy::disallowed_methods, reason = "our own folders, made before any vault is opened")]

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::quoting::quoted;
use crate::config::{Environment, instance};
use crate::server::private;
use crate::store::{DATABASE, Owner, Store, is_full, owner_of};

#[cfg(not(any(target_os = "macos", windows)))]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(not(any(target_os = "macos", windows)))]
use linux as customs;
#[cfg(target_os = "macos")]
use macos as customs;
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as customs;
#[cfg(windows)]
use windows as system;

pub use customs::obsidian_json;
use system::folder_id;
pub use system::same_folder;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Contains `config.toml`.
    pub config: PathBuf,
    /// Contains one folder per vault.
    pub state: PathBuf,
}

/// Why one of our folders is not usable.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Neither a home folder nor the variables that replace it are set.
    #[error("cannot tell where to keep settings and state: no home folder is known")]
    NoHome,
    #[error("the state folder `{}` lies inside the vault `{}`", state.display(), vault.display())]
    InsideVault { state: PathBuf, vault: PathBuf },
    /// No state exists for this vault.
    #[error("there is no history of a deleted vault at `{}`", vault.display())]
    NoMemory { vault: PathBuf },
    /// The state folder cannot be created or written.
    #[error("could not use the state folder `{}`: {source}", state.display())]
    Unusable { state: PathBuf, source: io::Error },
}

impl FolderError {
    pub fn hint(&self) -> String {
        match self {
            Self::NoHome => format!("set {}", customs::VARIABLES),
            Self::InsideVault { .. } => format!(
                "Obsidian and sync tools would pick up our files there; set {} to a folder outside",
                customs::STATE_VARIABLE
            ),
            Self::NoMemory { .. } => {
                "give the former path; a vault that still exists keeps its history".to_owned()
            }
            Self::Unusable { .. } => {
                format!("make it yours and writable, or set {}", customs::STATE_VARIABLE)
            }
        }
    }
}

/// This user's folders. Creates nothing.
pub fn folders(environment: &Environment) -> Result<Folders, FolderError> {
    customs::folders(environment).ok_or(FolderError::NoHome)
}

impl Folders {
    /// Our own files that no tool may touch, wherever they are: the settings file, and the folder
    /// with the keys.
    pub fn settings_and_keys(&self, file: &Path) -> Vec<PathBuf> {
        vec![file.to_owned(), self.config_file(), self.config.join("keys"), self.config.clone()]
    }

    /// The path of this user's settings file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The state folder of the vault at `root` (canonical). Creates nothing.
    pub fn of_vault(&self, root: &Path) -> PathBuf {
        self.state.join(vault_id(root))
    }

    /// Contains the models that are installed, for all vaults.
    pub fn models(&self) -> PathBuf {
        self.state.join("models")
    }

    /// The vaults with stored state, each with its state folder.
    pub fn remembered(&self) -> Vec<(PathBuf, Owner)> {
        let folders = std::fs::read_dir(&self.state).into_iter().flatten().flatten();
        folders.filter_map(|one| Some((one.path(), owner_of(&one.path())?))).collect()
    }

    /// One sentence for each state folder whose vault is gone: the vault at `root`, which has no
    /// state yet, may be the same vault moved.
    pub fn left_behind(&self, root: &Path) -> Vec<String> {
        if self.of_vault(root).join(DATABASE).exists() {
            return Vec::new();
        }
        let mut owners: Vec<_> = self.remembered().into_iter().map(|(_, owner)| owner).collect();
        owners.retain(|owner| !Path::new(&owner.path).exists());
        let entries = owners.into_iter().take(3).map(|Owner { path, .. }| {
            format!(
                "there is a history of a vault at `{path}`, a folder that is gone. If it is this vault's, \
                 stop the daemon and run `steward journal adopt --from {}`",
                quoted(&path)
            )
        });
        entries.collect()
    }

    /// Renames the state folder of a vault that was moved to `root`, recognised by its folder id,
    /// unless a process uses it.
    fn follow(&self, root: &Path, state: &Path) {
        if state.join(DATABASE).exists() {
            return;
        }
        let Some(id) = folder_id(root) else { return };
        let was_moved = |owner: &Owner| {
            owner.folder.as_ref() == Some(&id)
                && folder_id(Path::new(&owner.path)).as_ref() != Some(&id)
        };
        let Some((from, _)) = self.remembered().into_iter().find(|(_, owner)| was_moved(owner))
        else {
            return;
        };
        let moved = || match instance::lock(root, &from, Duration::ZERO)? {
            Some(_lock) => {
                // It is empty: nothing was stored in it yet.
                let _ = std::fs::remove_dir(state);
                std::fs::rename(&from, state)
            }
            None => Err(io::ErrorKind::ResourceBusy.into()),
        };
        if let Err(error) = moved() {
            tracing::warn!(%error, from = %from.display(), "the vault's history did not follow it");
        }
    }

    /// Moves the state of the vault that was at `from` to the vault at `root`, and sets aside any
    /// state that this one has. Returns the state folder.
    pub fn adopt(&self, root: &Path, from: &Path) -> Result<PathBuf, FolderError> {
        let state = self.of_vault(root);
        let known = self.remembered().into_iter().find(|(_, owner)| Path::new(&owner.path) == from);
        let Some((old, _)) = known.filter(|_| !from.exists()) else {
            return Err(FolderError::NoMemory { vault: from.to_owned() });
        };
        if old != state {
            let began = chrono::Utc::now().format("%Y%m%dT%H%M%SZ");
            let old_state = self.state.join(format!("{}.before-{began}", vault_id(root)));
            let unusable = |source| FolderError::Unusable { state: state.clone(), source };
            std::fs::rename(&state, old_state).map_err(unusable)?;
            std::fs::rename(&old, &state).map_err(unusable)?;
        }
        Ok(state)
    }

    /// Creates the state folder of the vault at `root` (canonical) if needed, private to this user,
    /// and checks that it is writable, even on a full disk. If the vault was moved, its existing
    /// state folder moves along.
    ///
    /// # Errors
    /// [`FolderError::InsideVault`] before anything is created there; [`FolderError::Unusable`] if
    /// the folder cannot be created, is a symbolic link, belongs to another user or cannot be
    /// written.
    pub fn prepare(&self, root: &Path) -> Result<PathBuf, FolderError> {
        let state = self.of_vault(root);
        if state.ancestors().any(|above| same_folder(above, root)) {
            return Err(FolderError::InsideVault { state, vault: root.to_path_buf() });
        }
        self.follow(root, &state);
        let unusable = |source| FolderError::Unusable { state: state.clone(), source };
        private::folder(&state).map_err(|error| unusable(error.into()))?;
        match probe(&state) {
            // Reading needs no disk space.
            Err(error) if !is_full(&error) => Err(unusable(error)),
            _ => Ok(state),
        }
    }
}

/// Checks that a state folder is writable and has some space.
pub fn probe(state: &Path) -> io::Result<()> {
    let probe = state.join(format!(".probe-{}", std::process::id()));
    let written = std::fs::write(&probe, [0; 16 << 10]);
    let _ = std::fs::remove_file(&probe);
    written
}

/// The identity of the vault at `root`, by which its state is recognised.
pub fn owner(root: &Path) -> Owner {
    Owner { path: root.to_string_lossy().into_owned(), folder: folder_id(root) }
}

/// The store of the vault at `root`, in its state folder.
pub fn memory(root: &Path, state: &Path) -> Store {
    Store::of(owner(root), state)
}

/// The token file in a vault's state folder.
pub fn token_file(state: &Path) -> PathBuf {
    state.join("token")
}

/// The working folder of hooks in a vault's state folder.
pub fn hooks_folder(state: &Path) -> PathBuf {
    state.join("hooks")
}

/// The folder of third-party tool servers in a vault's state folder.
pub fn servers_folder(state: &Path) -> PathBuf {
    state.join("servers")
}

/// The folder for the guests of the vault with this state folder.
pub fn guests_folder(state: &Path) -> PathBuf {
    state.join("guests")
}

/// Whether this vault was once seen with Obsidian's settings in it.
pub fn has_been_seen(state: &Path) -> bool {
    seen_file(state).exists()
}

/// Records that this vault has Obsidian's settings in it.
pub fn remember_seen(state: &Path) -> io::Result<()> {
    std::fs::write(seen_file(state), "This vault has had Obsidian's settings in it.\n")
}

/// The marker in a vault's state folder that distinguishes an empty vault from an unmounted disk.
pub fn seen_file(state: &Path) -> PathBuf {
    state.join("seen")
}

/// The name of a vault's state folder: the vault's name in plain characters, and eight hexadecimal
/// digits of the hash of its canonical path, so that two vaults called "Notes" stay separate.
pub fn vault_id(root: &Path) -> String {
    let name = root.file_name().map(|name| name.to_string_lossy().to_lowercase());
    let mut slug = String::new();
    for c in name.unwrap_or_default().chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= 32 {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    let slug = if slug.is_empty() { "vault" } else { slug };
    let hash = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    format!("{slug}-{}", &hash[..8])
}

/// Creates the folder of the settings file if it is missing.
pub fn prepare_for(settings: &Path) -> io::Result<()> {
    settings.parent().map_or(Ok(()), std::fs::create_dir_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_plain_and_apart() {
        let a = vault_id(Path::new("/home/me/My Nötes"));
        assert!(a.starts_with("my-n-tes-"), "{a}");
        assert_eq!(a.len(), "my-n-tes-".len() + 8);
        assert_ne!(a, vault_id(Path::new("/home/you/My Nötes")));
        assert!(vault_id(Path::new("/x/日記")).starts_with("vault-"));
    }

    #[test]
    fn a_state_folder_in_the_vault_is_refused_and_not_made() {
        let vault = tempfile::tempdir().unwrap();
        let root = vault.path().canonicalize().unwrap();
        let state = root.join("deep/state");
        let folders = Folders { config: root.clone(), state: state.clone() };
        assert!(matches!(folders.prepare(&root), Err(FolderError::InsideVault { .. })));
        assert!(!state.exists());
    }

    #[test]
    fn a_state_folder_is_made_for_this_user_alone() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("a/b");
        let folders = Folders { config: state.clone(), state };
        let made = folders.prepare(Path::new("/vault/Notes")).unwrap();
        assert!(made.is_dir());
        private::check_folder(&made).unwrap();
        assert_eq!(folders.prepare(Path::new("/vault/Notes")).unwrap(), made);
    }

    #[test]
    fn a_file_in_the_way_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        std::fs::write(&state, "").unwrap();
        let folders = Folders { config: state.clone(), state };
        let refused = folders.prepare(Path::new("/vault/Notes"));
        assert!(matches!(refused, Err(FolderError::Unusable { .. })));
    }
}
