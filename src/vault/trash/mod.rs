//! Deleting the way Obsidian does: to the system's trash, to `.trash/`, or to the steward's own
//! keeping. Nothing is unlinked.

#[cfg(not(target_os = "linux"))]
#[path = "crate_trash.rs"]
mod system;
#[cfg(target_os = "linux")]
#[path = "freedesktop.rs"]
mod system;

mod carrying;
mod keeping;
mod places;

pub use keeping::Keeping;
pub use places::InTrash;

use std::io;
use std::path::{Path, PathBuf};

use super::Revision;
use super::dir::{Folder, Kind, Name};
use super::error::VaultError;
use super::obsidian::TrashOption;
use super::save::{Before, Writer, rename_durably};
use crate::note::path::{MAX_NAME_BYTES, VaultPath};

/// The vault's own trash.
pub const TRASH_FOLDER: &str = ".trash";

/// The system's trash for what lies in the vault at `root`, where it is a folder that this program
/// writes to (Linux) and lies on the same disk. It need not have been made.
pub fn system_trash(root: &Path) -> Option<PathBuf> {
    system::of_vault(root)
}

/// Makes the folder that [`system_trash`] names, where it is missing.
///
/// # Errors
/// What the system said.
pub fn make_system_trash(trash: &Path) -> io::Result<()> {
    system::make(trash)
}

/// Where a deleted thing went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trashed {
    /// Under this path in the vault, below `.trash/`. `instead` says why it is not in the system's
    /// trash where Obsidian would have put it there.
    Local {
        /// Its path now.
        path: VaultPath,
        /// Why the system's trash was not used, if it should have been.
        instead: Option<String>,
    },
    /// In the system's trash.
    System {
        /// Where on this machine, as far as the system tells.
        place: Option<PathBuf>,
    },
    /// In the steward's own folder, because the vault keeps no trash.
    Kept {
        /// Where on this machine.
        place: PathBuf,
    },
}

impl Trashed {
    /// Where a file below a deleted folder lies.
    pub fn below(&self, file: &str) -> Option<Self> {
        let mut names = file.split('/');
        Some(match self {
            Self::Local { path, .. } => {
                let path = names.try_fold(path.clone(), |at, name| at.join(name))?;
                Self::Local { path, instead: None }
            }
            Self::System { place } => Self::System { place: Some(place.as_ref()?.join(file)) },
            Self::Kept { place } => Self::Kept { place: place.join(file) },
        })
    }
}

impl Writer {
    /// Deletes a file, link or folder the way the vault's `trashOption` says, or into our own keeping
    /// where `keeping` says so. A link itself goes, never what it leads to.
    ///
    /// # Errors
    /// [`VaultError::Stale`] if `before` names a revision that the file does not have;
    /// [`VaultError::Protected`] for a folder that holds a protected one; as the system says. The
    /// thing is where it was then.
    pub fn delete(
        &self,
        path: &VaultPath,
        before: Before,
        keeping: &Keeping,
    ) -> Result<Trashed, VaultError> {
        self.vault.check_root()?;
        self.vault.allowed(path)?;
        self.vault.holds_nothing_protected(path)?;
        let failed = |error| VaultError::io("delete", path, error);
        let (folder, name) = self.vault.0.root.open_parent(path).map_err(failed)?;
        let meta = folder.stat(name).map_err(failed)?;
        if let (Before::Revision(expected), Kind::File) = (before, meta.kind) {
            let file = folder.open_file(name).map_err(failed)?.0;
            let current = Revision::of_reader(file).map_err(failed)?;
            if current != expected {
                return Err(VaultError::Stale { path: path.clone(), current: Some(current) });
            }
        }
        let place =
            || path.components().fold(self.vault.root().to_owned(), |at, name| at.join(name));
        let trashed = match self.vault.obsidian().trash {
            _ if keeping.past_trash => {
                Trashed::Kept { place: self.keep(path, &folder, name, keeping)? }
            }
            TrashOption::Local => self.to_local(path, &folder, name, None)?,
            TrashOption::System => match system::put(&folder, name, &place()) {
                Ok(place) => Trashed::System { place },
                Err(reason) => self.to_local(path, &folder, name, Some(reason))?,
            },
            TrashOption::None => Trashed::Kept { place: self.keep(path, &folder, name, keeping)? },
        };
        let synced = folder.sync();
        self.vault.forget(path);
        if let Err(error) = synced {
            // It is in the trash, where a power cut can only bring it back.
            self.vault
                .warn(format!("the deletion of `{path}` may not outlast a power cut: {error}"));
        }
        Ok(trashed)
    }

    /// `.trash/` is flat: the name, then `name 2.ext`, `name 3.ext`, the extension being what
    /// follows the last dot even for folders, as Obsidian does it.
    fn to_local(
        &self,
        path: &VaultPath,
        folder: &Folder,
        name: Name,
        instead: Option<String>,
    ) -> Result<Trashed, VaultError> {
        let failed = |error| VaultError::io("move to .trash", path, error);
        let root = &self.vault.0.root;
        let trash_name = Name::new(TRASH_FOLDER).map_err(failed)?;
        let made = match root.create_folder(trash_name) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(failed(error)),
        };
        let synced = if made { root.sync() } else { Ok(()) };
        let moved =
            synced.map_err(failed).and_then(|()| self.to_free_name(path, folder, name, trash_name));
        if made && moved.is_err() {
            // What is refused leaves nothing behind, unless something has come to it meanwhile.
            let _ = root.remove_folder(trash_name);
        }
        moved.map(|path| Trashed::Local { path, instead })
    }

    fn to_free_name(
        &self,
        path: &VaultPath,
        folder: &Folder,
        name: Name,
        trash: Name,
    ) -> Result<VaultPath, VaultError> {
        let failed = |error| VaultError::io("move to .trash", path, error);
        let root = &self.vault.0.root;
        let trash = root.open_folder(trash).map_err(failed)?;
        for number in 1..10_000_u32 {
            let free = numbered(path.name(), number);
            let to = Name::new(&free).map_err(failed)?;
            match rename_durably(folder, name, &trash, to) {
                Ok(()) => {
                    let path = VaultPath::from_disk(&format!("{TRASH_FOLDER}/{free}"));
                    return Ok(path.expect("two names make a path"));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(io::Error::from(io::ErrorKind::AlreadyExists)))
    }
}

/// `name.ext`, `name 2.ext`, …, shortened where the number would make it too long.
fn numbered(name: &str, number: u32) -> String {
    if number == 1 {
        return name.to_owned();
    }
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    };
    let suffix = format!(" {number}{extension}");
    let mut room = MAX_NAME_BYTES.saturating_sub(suffix.len()).min(stem.len());
    while !stem.is_char_boundary(room) {
        room -= 1;
    }
    format!("{}{suffix}", &stem[..room])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_before_the_last_extension() {
        assert_eq!(numbered("a.md", 1), "a.md");
        assert_eq!(numbered("a.md", 2), "a 2.md");
        assert_eq!(numbered("v1.2", 3), "v1 3.2");
        assert_eq!(numbered("folder", 2), "folder 2");
        let long = numbered(&format!("{}.md", "ü".repeat(126)), 12);
        assert!(long.len() <= MAX_NAME_BYTES && long.ends_with(" 12.md"), "{long}");
    }
}
