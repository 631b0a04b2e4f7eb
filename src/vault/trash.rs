//! Deleting the way Obsidian does: to the system's trash, to `.trash/`, or to the steward's own
//! keeping. Nothing is unlinked.

use std::io;
use std::path::{Path, PathBuf};

use super::dir::{Folder, Kind, Meta, Name};
use super::error::VaultError;
use super::obsidian::TrashOption;
use super::save::{Writer, random_tag, rename_new, sync_folder};
use crate::note::path::{MAX_NAME_BYTES, VaultPath};

/// The vault's own trash.
pub const TRASH_FOLDER: &str = ".trash";

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
    /// In the system's trash, under the name it had.
    System,
    /// In the steward's own folder, because the vault keeps no trash.
    Kept {
        /// Where on this machine.
        place: PathBuf,
    },
}

impl Writer<'_> {
    /// Deletes a file, link or folder the way the vault's `trashOption` says. A link itself goes,
    /// never what it leads to.
    ///
    /// # Errors
    /// As the system says; the thing is where it was then.
    pub fn delete(&self, path: &VaultPath) -> Result<Trashed, VaultError> {
        self.vault.check_root()?;
        self.vault.allowed(path)?;
        let failed = |error| VaultError::io("delete", path, error);
        let (folder, name) = self.vault.0.root.open_parent(path).map_err(failed)?;
        let meta = folder.stat(name).map_err(failed)?;
        let trashed = match self.vault.obsidian().trash {
            TrashOption::Local => self.to_local(path, &folder, name, None)?,
            TrashOption::System => match self.to_system(path, &meta) {
                Ok(()) => Trashed::System,
                Err(reason) => self.to_local(path, &folder, name, Some(reason))?,
            },
            TrashOption::None => self.to_keeping(path, &folder, name)?,
        };
        folder.sync().map_err(failed)?;
        self.vault.forget(path);
        Ok(trashed)
    }

    /// Brings something back from `.trash/`, never over anything.
    ///
    /// # Errors
    /// As the system says; it is still in the trash then.
    pub fn restore(&self, trashed: &VaultPath, to: &VaultPath) -> Result<(), VaultError> {
        let failed = |error| VaultError::io("restore", to, error);
        self.vault.allowed(to)?;
        let (from, name) = self.vault.0.root.open_parent(trashed).map_err(failed)?;
        let (folder, to_name) = self.vault.0.root.open_parent(to).map_err(failed)?;
        rename_new(&from, name, &folder, to_name).map_err(failed)?;
        folder.sync().and_then(|()| from.sync()).map_err(failed)?;
        self.vault.refresh(to);
        Ok(())
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
        match root.create_folder(trash_name) {
            Ok(()) => root.sync().map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
        let trash = root.open_folder(trash_name).map_err(failed)?;
        for number in 1..10_000_u32 {
            let free = numbered(path.name(), number);
            let to = Name::new(&free).map_err(failed)?;
            match rename_new(folder, name, &trash, to) {
                Ok(()) => {
                    trash.sync().map_err(failed)?;
                    let path = VaultPath::from_disk(&format!("{TRASH_FOLDER}/{free}"));
                    let path = path.expect("two names make a path");
                    return Ok(Trashed::Local { path, instead });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(io::Error::from(io::ErrorKind::AlreadyExists)))
    }

    /// The system's trash, where it can be trusted with this file; else why not.
    fn to_system(&self, path: &VaultPath, meta: &Meta) -> Result<(), String> {
        trusted(meta, path)?;
        let place = path.components().fold(self.vault.root().to_owned(), |at, name| at.join(name));
        trash::delete(&place).map_err(|error| format!("the system's trash refused: {error}"))?;
        match self.vault.0.root.stat_at(path) {
            Ok(there) if there.id == meta.id => Err("the system's trash left it there".to_owned()),
            _ => Ok(()),
        }
    }

    /// The steward's own folder, one numbered folder a deletion.
    fn to_keeping(
        &self,
        path: &VaultPath,
        folder: &Folder,
        name: Name,
    ) -> Result<Trashed, VaultError> {
        let failed = |error| VaultError::io("move to the steward's keeping", path, error);
        let time = chrono::Utc::now().format("%Y%m%dT%H%M%SZ");
        let above = self.vault.0.state.join("kept").join(format!("{time}-{}", random_tag()));
        std::fs::create_dir_all(&above).map_err(failed)?;
        let keeping = Folder::open_root(&above).map_err(failed)?;
        let place = above.join(path.name());
        match rename_new(folder, name, &keeping, name) {
            Ok(()) => keeping.sync().map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                copy_out(folder, name, &place).map_err(failed)?;
                sync_folder(&above).map_err(failed)?;
                remove_copied(folder, name).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        Ok(Trashed::Kept { place })
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

/// Where the system's trash is known to lose, misplace or refuse files: measured on the `trash`
/// crate. The trash in the home folder on the same disk is safe; a trash folder at the root of
/// another disk may lie inside the vault, and a home that does not exist is made and "works".
#[cfg(target_os = "linux")]
fn trusted(meta: &Meta, path: &VaultPath) -> Result<(), String> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_dir());
    let home = home.ok_or("there is no home folder for the system's trash")?;
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.filter(|data| data.is_absolute()).unwrap_or(home.join(".local/share"));
    let existing = data.ancestors().find(|place| place.is_dir()).unwrap_or(Path::new("/"));
    let disk = Folder::open_root(existing).and_then(|folder| folder.meta());
    if disk.map(|disk| disk.id.device).ok() != Some(meta.id.device) {
        return Err("the system's trash lies on another disk".to_owned());
    }
    if path.name().len() > 240 {
        return Err("its name is too long for the system's trash".to_owned());
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn trusted(_meta: &Meta, _path: &VaultPath) -> Result<(), String> {
    Ok(())
}

/// Copies a file, link or folder to a place on another disk, each file durable.
fn copy_out(folder: &Folder, name: Name, place: &Path) -> io::Result<()> {
    match folder.stat(name)?.kind {
        Kind::File => {
            let (mut from, meta) = folder.open_file(name)?;
            let mut to = std::fs::File::options().write(true).create_new(true).open(place)?;
            let copied = io::copy(&mut from, &mut to)?;
            to.sync_all()?;
            if copied != meta.size {
                return Err(io::Error::other("the file changed while it was copied"));
            }
            Ok(())
        }
        Kind::Folder => {
            std::fs::create_dir(place)?;
            let below = folder.open_folder(name)?;
            for listed in below.list()? {
                let text = utf8(&listed.name)?;
                copy_out(&below, Name::new(text)?, &place.join(text))?;
            }
            sync_folder(place)
        }
        Kind::Link => {
            let target = folder.read_link(name)?;
            std::fs::write(place.with_extension("link"), target.as_os_str().as_encoded_bytes())
        }
        Kind::Other => Err(super::dir::not_regular()),
    }
}

/// Removes what [`copy_out`] has copied.
fn remove_copied(folder: &Folder, name: Name) -> io::Result<()> {
    if folder.stat(name)?.kind != Kind::Folder {
        return folder.remove_file(name);
    }
    let below = folder.open_folder(name)?;
    for listed in below.list()? {
        remove_copied(&below, Name::new(utf8(&listed.name)?)?)?;
    }
    folder.remove_folder(name)
}

fn utf8(name: &std::ffi::OsStr) -> io::Result<&str> {
    name.to_str().ok_or_else(|| io::Error::other("a name in it is not UTF-8"))
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
