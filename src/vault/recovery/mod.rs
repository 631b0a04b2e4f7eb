//! The recovery folder: a text that may be the only copy is put there instead of being deleted.

mod late;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub(super) use late::{LATE, Late, LateWrites};

use super::dir::{Folder, Kind, Name, rename_new, sync_folder};
use super::temp::random_tag;
use crate::chaos;
use crate::locks::lock;
use crate::note::path::VaultPath;

/// A text in the recovery folder.
pub struct Rescued(PathBuf);

impl Rescued {
    /// For reading, from the start.
    pub fn open(&self) -> io::Result<File> {
        File::open(&self.0)
    }

    /// Removes a safety copy that is no longer needed.
    pub fn remove(self, recovery: &Recovery) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            recovery.warn(format!("the safety copy `{}` stays: {error}", self.0.display()));
        }
    }
}

/// The steward's state folder of a vault, and the warnings about it.
pub struct Recovery {
    state: PathBuf,
    warnings: Mutex<Vec<String>>,
}

impl Recovery {
    /// With the steward's state folder of this vault.
    pub fn new(state: &Path) -> Self {
        Self { state: state.to_owned(), warnings: Mutex::default() }
    }

    /// The steward's own folder for this vault.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// For rescued texts.
    pub fn folder(&self) -> PathBuf {
        self.state.join("recovery")
    }

    /// For deleted files of a vault without a trash.
    pub fn kept_folder(&self) -> PathBuf {
        self.state.join("kept")
    }

    /// Logs a background problem and keeps it for `status`; the last fifty are kept.
    pub fn warn(&self, warning: String) {
        tracing::warn!("{warning}");
        let mut warnings = lock(&self.warnings);
        if warnings.len() >= 50 {
            warnings.remove(0);
        }
        warnings.push(warning);
    }

    /// Oldest first.
    pub fn warnings(&self) -> Vec<String> {
        lock(&self.warnings).clone()
    }

    /// Copies a text to a new file in the recovery folder, with fsync.
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
        sync_folder(&self.folder())?;
        Ok(Rescued(place))
    }

    /// A new, descriptive path in the recovery folder.
    fn recovery_place(&self, path: &VaultPath, why: &str) -> io::Result<PathBuf> {
        let folder = self.folder();
        std::fs::create_dir_all(&folder)?;
        let time = chrono::Utc::now().format("%Y%m%dT%H%M%SZ");
        let name: String = path.name().chars().take(40).collect();
        Ok(folder.join(format!("{time}-{}-{why}-{name}", random_tag())))
    }

    /// Moves the entry at a temporary name, which may be another program's text, to the recovery
    /// folder; it stays in the vault if that fails.
    pub(super) fn rescue_entry(&self, folder: &Folder, name: Name, path: &VaultPath) {
        let rescued = match folder.stat(name).map(|meta| meta.kind) {
            Ok(Kind::File) => self.rescue_file(folder, name, path),
            Ok(_) => self.rescue_whole(folder, name, path),
            Err(error) => Err(error),
        };
        match rescued {
            Ok(place) => self.warn(format!(
                "the leftovers of an unfinished save of `{path}` are in `{}`",
                place.display()
            )),
            Err(error) => self.warn(format!(
                "an unfinished save of `{path}` is still in the vault as `{}` and could not be moved \
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

    /// Renames a folder or link; on another disk this fails.
    fn rescue_whole(&self, folder: &Folder, name: Name, path: &VaultPath) -> io::Result<PathBuf> {
        let place = self.recovery_place(path, "unfinished")?;
        let recovery = Folder::open_root(&self.folder())?;
        let to = place.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        rename_new(folder, name, &recovery, Name::new(to)?)?;
        recovery.sync()?;
        Ok(place)
    }

    fn keep_late_write(&self, path: &VaultPath, file: &mut File) {
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
}
