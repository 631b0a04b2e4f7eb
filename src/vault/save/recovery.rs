//! The recovery folder: whatever may be somebody's only copy of a text is put there, never deleted.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::random_tag;
use crate::note::path::VaultPath;
use crate::vault::dir::{Folder, Meta, Name};
use crate::vault::error::VaultError;
use crate::vault::{Vault, lock};

/// A copy in the recovery folder that is there only while something dangerous happens.
pub(super) struct Rescued(PathBuf);

impl Rescued {
    pub(super) fn remove(self) -> Result<(), VaultError> {
        std::fs::remove_file(&self.0).map_err(|source| VaultError::Io {
            action: "remove the safety copy",
            path: self.0.display().to_string(),
            source,
        })
    }
}

impl Vault {
    pub(super) fn look_at(&self, path: &VaultPath) -> Option<Meta> {
        self.0.root.stat_at(path).ok()
    }

    pub(super) fn rescue_bytes(
        &self,
        path: &VaultPath,
        bytes: &[u8],
        why: &str,
    ) -> io::Result<Rescued> {
        let place = self.recovery_place(path, why)?;
        let mut file = File::options().write(true).create_new(true).open(&place)?;
        file.write_all(bytes)?;
        file.sync_all()?;
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

    /// Moves a file that may hold somebody's text out of the vault into the recovery folder; it
    /// stays where it is if that fails.
    pub(super) fn rescue_file(&self, folder: &Folder, name: Name, path: &VaultPath) {
        let rescued = (|| {
            let (mut file, _) = folder.open_file(name)?;
            let place = self.recovery_place(path, "unfinished")?;
            let mut copy = File::options().write(true).create_new(true).open(&place)?;
            io::copy(&mut file, &mut copy)?;
            copy.sync_all()?;
            sync_folder(&self.recovery_folder())?;
            folder.remove_file(name)?;
            Ok::<_, io::Error>(place)
        })();
        match rescued {
            Ok(place) => self.warn(format!(
                "an unfinished save of `{path}` was found; its text is kept in `{}`",
                place.display()
            )),
            Err(error) => self.warn(format!(
                "an unfinished save of `{path}` lies in the vault as `{}` and could not be moved \
                 to the recovery folder: {error}",
                name.as_str()
            )),
        }
    }

    pub(super) fn keep_late_write(&self, path: &VaultPath, file: &mut File) {
        let mut bytes = Vec::new();
        let kept = file
            .seek(SeekFrom::Start(0))
            .and_then(|_| file.read_to_end(&mut bytes))
            .and_then(|_| self.rescue_bytes(path, &bytes, "late"));
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

    /// Moves what an earlier run left unfinished to the recovery folder, never deletes it: after
    /// a crash between exchange and check it may be the user's own text. For whoever holds the
    /// vault alone.
    pub fn sweep(&self) {
        for path in std::mem::take(&mut *lock(&self.0.unfinished)) {
            if let Ok((folder, name)) = self.0.root.open_parent(&path) {
                self.rescue_file(&folder, name, &path);
            }
        }
    }
}

/// Makes the names in one of our own folders durable. Windows does that by itself.
pub(in crate::vault) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
