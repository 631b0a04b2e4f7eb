//! The recovery folder: whatever may be somebody's only copy of a text is put there, never deleted.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::{Writer, is_temp_name, random_tag, rename_new};
use crate::chaos;
use crate::note::path::VaultPath;
use crate::vault::dir::{Folder, Kind, Meta, Name, is_absence};
use crate::vault::error::VaultError;
use crate::vault::{Revision, Vault, lock};

/// A text in the recovery folder.
pub(super) struct Rescued(PathBuf);

impl Rescued {
    /// Opens it for reading.
    pub(super) fn open(&self) -> io::Result<File> {
        File::open(&self.0)
    }

    /// Clears it away when it was only there while something dangerous happened.
    pub(super) fn remove(self, vault: &Vault) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            vault.warn(format!("the safety copy `{}` stays: {error}", self.0.display()));
        }
    }
}

impl Vault {
    pub(super) fn look_at(&self, path: &VaultPath) -> Option<Meta> {
        self.0.root.stat_at(path).ok()
    }

    /// Copies a text to a new file in the recovery folder, durable.
    pub(super) fn rescue_text(
        &self,
        path: &VaultPath,
        text: &mut impl Read,
        why: &str,
    ) -> io::Result<Rescued> {
        let place = self.recovery_place(path, why)?;
        let mut file = File::options().write(true).create_new(true).open(&place)?;
        chaos::step("write a rescued text", || io::copy(text, &mut file))?;
        chaos::step("sync a rescued text", || file.sync_all())?;
        sync_folder(&self.recovery_folder())?;
        Ok(Rescued(place))
    }

    /// A new name in the recovery folder that tells what it holds.
    fn recovery_place(&self, path: &VaultPath, why: &str) -> io::Result<PathBuf> {
        let folder = self.recovery_folder();
        std::fs::create_dir_all(&folder)?;
        let time = chrono::Utc::now().format("%Y%m%dT%H%M%SZ");
        let name: String = path.name().chars().take(40).collect();
        Ok(folder.join(format!("{time}-{}-{why}-{name}", random_tag())))
    }

    /// Moves whatever lies under a name of ours, and may be somebody's, out of the vault into the
    /// recovery folder; it stays where it is if that fails.
    pub(super) fn rescue_entry(&self, folder: &Folder, name: Name, path: &VaultPath) {
        let rescued = match folder.stat(name).map(|meta| meta.kind) {
            Ok(Kind::File) => self.rescue_file(folder, name, path),
            Ok(_) => self.rescue_whole(folder, name, path),
            Err(error) => Err(error),
        };
        match rescued {
            Ok(place) => self.warn(format!(
                "what an unfinished save of `{path}` left behind is kept in `{}`",
                place.display()
            )),
            Err(error) => self.warn(format!(
                "an unfinished save of `{path}` lies in the vault as `{}` and could not be moved \
                 to the recovery folder: {error}",
                name.as_str()
            )),
        }
    }

    fn rescue_file(&self, folder: &Folder, name: Name, path: &VaultPath) -> io::Result<PathBuf> {
        let (mut file, _) = folder.open_file(name)?;
        let rescued = self.rescue_text(path, &mut file, "unfinished")?;
        folder.remove_file(name)?;
        Ok(rescued.0)
    }

    /// A folder or a link moves as it is; to another disk it cannot, and stays.
    fn rescue_whole(&self, folder: &Folder, name: Name, path: &VaultPath) -> io::Result<PathBuf> {
        let place = self.recovery_place(path, "unfinished")?;
        let recovery = Folder::open_root(&self.recovery_folder())?;
        let to = place.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        rename_new(folder, name, &recovery, Name::new(to)?)?;
        recovery.sync()?;
        Ok(place)
    }

    pub(super) fn keep_late_write(&self, path: &VaultPath, file: &mut File) {
        let kept = file.seek(SeekFrom::Start(0)).and_then(|_| self.rescue_text(path, file, "late"));
        match kept {
            Ok(Rescued(place)) => self.warn(format!(
                "another program wrote to `{path}` while it was being saved; its text is kept in \
                 `{}`",
                place.display()
            )),
            Err(error) => {
                self.warn(format!("a late write to `{path}` could not be kept: {error}"));
            }
        }
    }

    /// Every regular file below a folder, hidden ones included, with its path below the folder;
    /// names that are not UTF-8 are left out. Links are not followed.
    ///
    /// # Errors
    /// As the system says.
    pub fn files_below(&self, folder: &VaultPath) -> Result<Vec<(VaultPath, Meta)>, VaultError> {
        self.allowed(folder)?;
        let failed = |error| VaultError::io("list", folder, error);
        self.0.root.open_folder_at(folder).and_then(files_in).map_err(failed)
    }
}

impl Writer {
    /// Moves what an earlier run left unfinished to the recovery folder, never deletes it: after
    /// a crash between exchange and check it may be the user's own text. For whoever holds the
    /// vault alone.
    pub fn sweep(&self) {
        for path in std::mem::take(&mut *lock(&self.vault.0.unfinished)) {
            if let Ok((folder, name)) = self.root().open_parent(&path) {
                self.vault.rescue_entry(&folder, name, &path);
            }
        }
    }

    /// Removes one of our own hidden files, if it holds exactly this; `false` if it does not. For
    /// what a crash left and the journal knows.
    ///
    /// # Errors
    /// As the system says.
    pub fn remove_unfinished(&self, path: &VaultPath, holds: Revision) -> Result<bool, VaultError> {
        let failed = |error| VaultError::io("remove", path, error);
        if !is_temp_name(path.name()) {
            return Ok(false);
        }
        let (folder, name) = self.root().open_parent(path).map_err(failed)?;
        let found = folder.open_file(name).and_then(|(file, _)| Revision::of_reader(file));
        if found.map_err(failed)? != holds {
            return Ok(false);
        }
        folder.remove_file(name).map_err(failed)?;
        self.forget_unfinished(path);
        Ok(true)
    }

    /// One of our own hidden names is no longer there to be swept.
    pub fn forget_unfinished(&self, path: &VaultPath) {
        lock(&self.vault.0.unfinished).retain(|unfinished| unfinished != path);
    }

    /// Gives what lies under one of our own hidden names its path again, never over anything: a
    /// deletion that a crash cut short had put it aside.
    ///
    /// # Errors
    /// As the system says.
    pub fn bring_from_aside(&self, aside: &VaultPath, to: &VaultPath) -> Result<(), VaultError> {
        let failed = |error| VaultError::io("restore", to, error);
        self.vault.allowed(to)?;
        let (folder, name) = self.root().open_parent(aside).map_err(failed)?;
        let (to_folder, to_name) = self.root().open_parent(to).map_err(failed)?;
        rename_new(&folder, name, &to_folder, to_name).map_err(failed)?;
        to_folder.sync().map_err(failed)?;
        self.forget_unfinished(aside);
        self.vault.refresh(to);
        Ok(())
    }

    /// The folders that would have to be made for `path` to be one, outermost first.
    ///
    /// # Errors
    /// As the system says: a disk that fails says nothing of what is there, and what is taken for
    /// there would never be made.
    pub fn missing_folders(&self, path: &VaultPath) -> Result<Vec<VaultPath>, VaultError> {
        let (mut here, mut missing) = (VaultPath::root(), Vec::new());
        for component in path.components() {
            here = here.join(component).expect("a component is a name");
            if missing.is_empty() {
                match self.root().stat_at(&here) {
                    Ok(_) => continue,
                    // A file in the place of a folder is told when the folder is to be made.
                    Err(error) if is_absence(&error) => {}
                    Err(error) => return Err(VaultError::io("look at", &here, error)),
                }
            }
            missing.push(here.clone());
        }
        Ok(missing)
    }
}

/// Makes the names in one of our own folders durable. Windows does that by itself.
pub(in crate::vault) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = File::open(folder)?;
        folder.sync_all()?;
        // As in `dir`: xfs has to be asked twice.
        folder.metadata()?;
    }
    Ok(())
}

/// Every regular file below a folder, by path.
pub(in crate::vault) fn files_in(top: Folder) -> io::Result<Vec<(VaultPath, Meta)>> {
    let mut found = Vec::new();
    let mut open = vec![(top, VaultPath::root())];
    while let Some((here, below)) = open.pop() {
        for entry in here.list()? {
            let Some(path) = entry.name.to_str().and_then(|name| below.join(name)) else {
                continue;
            };
            match entry.meta.kind {
                Kind::File => found.push((path, entry.meta)),
                Kind::Folder => open.push((here.open_folder(Name::new(path.name())?)?, path)),
                Kind::Link | Kind::Other => {}
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}
