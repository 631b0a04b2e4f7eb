//! Whether a change would be allowed, asked before anything is done: what is planned is then refused as
//! a whole, and a dry run says what the change itself would.
//!
//! The answers hold for the moment. Whoever changes something meets the system's own word all the same.

use std::io;

use super::dir::{FileId, Folder, Kind, Name, must_stay};
use super::{Vault, VaultError};
use crate::note::path::VaultPath;

impl Vault {
    /// Whether the file at a resolved path may get another content, as far as it can be told without
    /// writing: by its mode, by the system's word on the file and, where it would be replaced by another
    /// of its name, by that on its folder.
    ///
    /// # Errors
    /// What a write would fail with: [`VaultError::ReadOnly`], as the system says.
    pub fn may_write(&self, path: &VaultPath) -> Result<(), VaultError> {
        self.allowed(path)?;
        let failed = |error| VaultError::io("write", path, error);
        let (folder, name) = self.0.root.open_parent(path).map_err(failed)?;
        let opened = folder.open_file(name);
        let (file, meta) = opened.map_err(|error| self.not_opened(path, error))?;
        if !meta.writable_bits() {
            return Err(VaultError::ReadOnly { path: path.clone() });
        }
        folder.may_write(name).map_err(failed)?;
        match must_stay(&file, &meta) {
            true => Ok(()),
            false => folder.may_change().map_err(failed),
        }
    }

    /// Whether what is at `from` may get the path `to`, as far as it can be told without moving it.
    ///
    /// # Errors
    /// What the move would fail with: [`VaultError::OtherDisk`], as the system says.
    pub fn may_move(&self, from: &VaultPath, to: &VaultPath) -> Result<(), VaultError> {
        self.allowed(from)?;
        self.allowed(to)?;
        self.holds_nothing_protected(from)?;
        let failed = |error| VaultError::io("move", from, error);
        let (old, name) = self.0.root.open_parent(from).map_err(failed)?;
        old.may_change().map_err(failed)?;
        let new = self.nearest_folder(to).map_err(failed)?;
        new.may_change().map_err(|error| VaultError::io("make", to, error))?;
        let ids = [old.meta().map_err(failed)?.id, new.meta().map_err(failed)?.id];
        if !ids.contains(&FileId::UNKNOWN) && ids[0].device != ids[1].device {
            return Err(VaultError::OtherDisk { action: "move", path: from.clone() });
        }
        match from.parent() == to.parent() {
            true => Ok(()),
            false => may_leave(&old, name).map_err(failed),
        }
    }

    /// The folder that will hold `path`, or of those above it the innermost that is there.
    fn nearest_folder(&self, path: &VaultPath) -> io::Result<Folder> {
        let mut above = path.parent();
        loop {
            let here = above.unwrap_or_else(VaultPath::root);
            match self.0.root.open_folder_at(&here) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !here.is_root() => {
                    above = here.parent();
                }
                opened => return opened,
            }
        }
    }
}

/// Whether what has this name may go to another folder: a folder has to be written to for that, since it
/// holds a name of the one it lies in.
fn may_leave(folder: &Folder, name: Name) -> io::Result<()> {
    match folder.stat(name)?.kind {
        Kind::Folder => folder.open_folder(name)?.may_change(),
        Kind::File | Kind::Link | Kind::Other => Ok(()),
    }
}
