//! Folders and names: made, renamed, removed when empty.

use std::io;

use super::{Writer, temp_name};
use crate::note::path::VaultPath;
use crate::vault::Revision;
use crate::vault::dir::{Folder, Kind, Name};
use crate::vault::error::VaultError;

impl Writer {
    /// Makes the folder at `path` and those above it that are missing; gives the ones made,
    /// outermost first.
    ///
    /// # Errors
    /// [`VaultError::NotAFolder`], as the system says. What was made on the way is gone again.
    pub fn create_folders(&self, path: &VaultPath) -> Result<Vec<VaultPath>, VaultError> {
        self.vault.check_root()?;
        self.vault.allowed(path)?;
        let mut made = Vec::new();
        if let Err(error) = self.make_folders(path, &mut made) {
            for folder in made.iter().rev() {
                if let Err(error) = self.remove_empty_folder(folder) {
                    self.vault.warn(format!("the empty folder `{folder}` stays: {error}"));
                }
            }
            return Err(error);
        }
        for folder in &made {
            self.vault.refresh(folder);
        }
        Ok(made)
    }

    fn make_folders(&self, path: &VaultPath, made: &mut Vec<VaultPath>) -> Result<(), VaultError> {
        let failed = |action| move |error| VaultError::io(action, path, error);
        let mut folder = self.root().try_clone().map_err(failed("open the folder of"))?;
        let mut here = VaultPath::root();
        for component in path.components() {
            here = here.join(component).expect("a component is a name");
            let name = Name::new(component).map_err(failed("make the folder"))?;
            match folder.create_folder(name) {
                Ok(()) => {
                    made.push(here.clone());
                    folder.sync().map_err(failed("make durable"))?;
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(VaultError::io("make the folder", &here, error)),
            }
            folder = folder.open_folder(name).map_err(|error| match folder.stat(name) {
                Ok(meta) if meta.kind != Kind::Folder => {
                    VaultError::NotAFolder { path: here.clone(), kind: meta.kind }
                }
                _ => VaultError::io("open the folder", &here, error),
            })?;
        }
        Ok(())
    }

    /// Removes a folder that is empty; `false` if it is not.
    pub fn remove_empty_folder(&self, path: &VaultPath) -> Result<bool, VaultError> {
        let failed = |error| VaultError::io("remove the folder", path, error);
        let (folder, name) = self.root().open_parent(path).map_err(failed)?;
        match folder.remove_folder(name) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => return Ok(false),
            Err(error) => return Err(failed(error)),
        }
        if let Err(error) = folder.sync() {
            // An error means that nothing was removed.
            let _ = folder.create_folder(name);
            return Err(failed(error));
        }
        self.vault.forget(path);
        Ok(true)
    }

    /// Takes a file away that holds exactly this, for good: what the journal keeps and had made. It
    /// goes to the hidden name `temp` first and is looked at there, so that no other text is lost.
    ///
    /// # Errors
    /// [`VaultError::Stale`] if it holds something else; it is at its path then. As the system says.
    pub fn take_away(
        &self,
        path: &VaultPath,
        holds: Revision,
        temp: &str,
    ) -> Result<(), VaultError> {
        self.vault.allowed(path)?;
        let failed = |error| VaultError::io("remove", path, error);
        let (folder, name) = self.root().open_parent(path).map_err(failed)?;
        let temp = Name::new(temp).map_err(failed)?;
        rename_new(&folder, name, &folder, temp).map_err(failed)?;
        let found = super::hash_of(&folder, temp).ok();
        if found != Some(holds) {
            if rename_new(&folder, temp, &folder, name).is_err() {
                self.vault.rescue_entry(&folder, temp, path);
            }
            return Err(VaultError::Stale { path: path.clone(), current: found });
        }
        folder.remove_file(temp).map_err(failed)?;
        folder.sync().map_err(failed)?;
        self.vault.forget(path);
        Ok(())
    }

    /// Gives a file or folder another path. Never replaces anything; a change of case alone works
    /// on every file system.
    ///
    /// # Errors
    /// [`VaultError::AlreadyExists`], [`VaultError::IntoItself`], as the system says. The folder
    /// that will hold `to` must exist.
    pub fn rename(&self, from: &VaultPath, to: &VaultPath) -> Result<(), VaultError> {
        self.vault.check_root()?;
        self.vault.allowed(from)?;
        self.vault.allowed(to)?;
        self.vault.holds_nothing_protected(from)?;
        if to != from && to.is_within(from) {
            return Err(VaultError::IntoItself { from: from.clone() });
        }
        let failed = |error| VaultError::io("move", from, error);
        let (from_folder, from_name) = self.root().open_parent(from).map_err(failed)?;
        let (to_folder, to_name) = self.root().open_parent(to).map_err(failed)?;
        let renamed = rename_new(&from_folder, from_name, &to_folder, to_name);
        if let Err(error) = renamed {
            let exists = error.kind() == io::ErrorKind::AlreadyExists;
            if exists && from != to && is_alias(&to_folder, from, to) {
                // One name to this file system. Most take the new case at once; where one does
                // not, over a third name.
                from_folder.rename_replacing(from_name, &to_folder, to_name).map_err(failed)?;
                if is_alias(&to_folder, from, to) {
                    let hop = temp_name();
                    let hop = Name::new(&hop).map_err(failed)?;
                    from_folder.rename_replacing(from_name, &from_folder, hop).map_err(failed)?;
                    if let Err(error) = rename_new(&from_folder, hop, &to_folder, to_name) {
                        let _ = from_folder.rename_replacing(hop, &from_folder, from_name);
                        return Err(VaultError::io("move", to, error));
                    }
                }
            } else {
                return Err(match error.kind() {
                    io::ErrorKind::AlreadyExists => VaultError::AlreadyExists { path: to.clone() },
                    _ => failed(error),
                });
            }
        }
        if let Err(error) = to_folder.sync().and_then(|()| from_folder.sync()) {
            // An error means that nothing was moved.
            let back = rename_new(&to_folder, to_name, &from_folder, from_name);
            if back.is_err() && is_alias(&from_folder, to, from) {
                let _ = to_folder.rename_replacing(to_name, &from_folder, from_name);
            }
            return Err(failed(error));
        }
        self.vault.renamed(from, to);
        Ok(())
    }
}

/// Whether `to` is found only because this file system takes it for the name `from`. Identity does
/// not tell: user-space file systems give a file another number at every look.
fn is_alias(folder: &Folder, from: &VaultPath, to: &VaultPath) -> bool {
    let one_name = from.parent() == to.parent() && from.fold_key() == to.fold_key();
    one_name
        && folder
            .list()
            .is_ok_and(|listed| listed.iter().all(|one| one.name.to_str() != Some(to.name())))
}

/// Renames without replacing and makes the new name durable; where that fails the thing goes back,
/// so that an error means that it never moved.
pub(in crate::vault) fn rename_durably(
    from: &Folder,
    name: Name,
    to: &Folder,
    to_name: Name,
) -> io::Result<()> {
    rename_new(from, name, to, to_name)?;
    to.sync().inspect_err(|_| {
        let _ = rename_new(to, to_name, from, name);
    })
}

/// As [`rename_durably`], and that the old name is gone is durable, too.
pub(in crate::vault) fn rename_durably_in_both(
    from: &Folder,
    name: Name,
    to: &Folder,
    to_name: Name,
) -> io::Result<()> {
    rename_durably(from, name, to, to_name)?;
    from.sync().inspect_err(|_| {
        let _ = rename_new(to, to_name, from, name);
    })
}

/// Renames without replacing, as surely as the file system can.
pub(in crate::vault) fn rename_new(
    from: &Folder,
    name: Name,
    to: &Folder,
    to_name: Name,
) -> io::Result<()> {
    match from.rename_new(name, to, to_name) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => match to.stat(to_name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                from.rename_replacing(name, to, to_name)
            }
            Ok(_) => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
            Err(error) => Err(error),
        },
        other => other,
    }
}
