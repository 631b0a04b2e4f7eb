//! What a vault without trash deletes: the steward keeps it in its own folder.

use std::io;
use std::path::PathBuf;

use super::Trashed;
use super::carrying::{Part, carry_over, fill, remove_copy};
use crate::note::path::VaultPath;
use crate::vault::dir::{Folder, Name};
use crate::vault::error::VaultError;
use crate::vault::save::{Writer, random_tag, rename_durably, sync_folder, temp_name};

/// The names that a deletion into the steward's own keeping uses, chosen beforehand so that what a
/// crash leaves can be found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeping {
    /// The folder in the keeping that is made for it.
    pub folder: String,
    /// The hidden name that it has in the vault while it is carried to another disk.
    pub aside: String,
    /// Whether it comes here whatever trash the vault's settings name.
    pub past_trash: bool,
}

impl Keeping {
    /// Names that nothing has.
    pub fn new() -> Self {
        let time = chrono::Utc::now().format("%Y%m%dT%H%M%SZ");
        Self { folder: format!("{time}-{}", random_tag()), aside: temp_name(), past_trash: false }
    }
}

impl Default for Keeping {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    /// Moves something into the steward's own folder, one numbered folder a deletion.
    pub(super) fn keep(
        &self,
        path: &VaultPath,
        folder: &Folder,
        name: Name,
        keeping: &Keeping,
    ) -> Result<PathBuf, VaultError> {
        let failed = |error| VaultError::io("move to the steward's keeping", path, error);
        let aside = Name::new(&keeping.aside).map_err(failed)?;
        let above = self.vault.kept_folder().join(&keeping.folder);
        std::fs::create_dir_all(&above).map_err(failed)?;
        sync_folder(&self.vault.kept_folder()).map_err(failed)?;
        let kept = Folder::open_root(&above).map_err(failed)?;
        let place = above.join(path.name());
        let done = match rename_durably(folder, name, &kept, name) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                carry_over((folder, name), aside, (&kept, name))
            }
            done => done,
        };
        if done.is_err() {
            // Fails where something is in it, which is right.
            let _ = std::fs::remove_dir(&above);
        }
        done.map(|()| place).map_err(failed)
    }

    /// Where a deletion into the steward's own keeping put it, or would have.
    pub fn kept_copy(&self, path: &VaultPath, keeping: &Keeping) -> Trashed {
        let above = self.vault.kept_folder().join(&keeping.folder);
        Trashed::Kept { place: above.join(path.name()) }
    }

    /// Copies out of the steward's own keeping what a thing lacks that is back in the vault only in
    /// part.
    ///
    /// # Errors
    /// As the system says; what was not copied is kept.
    pub fn fill_from_kept(&self, path: &VaultPath, keeping: &Keeping) -> Result<(), VaultError> {
        let failed = |error| VaultError::io("restore", path, error);
        let kept = self.kept_copy(path, keeping);
        let Some((from, name)) = self.place_of(&kept).ok().flatten() else { return Ok(()) };
        let name = Name::new(&name).map_err(failed)?;
        if from.stat(name).is_err() {
            return Ok(());
        }
        let (folder, to_name) = self.root().open_parent(path).map_err(failed)?;
        fill((&from, name), (&folder, to_name)).map_err(failed)?;
        self.vault.refresh_folder(path);
        Ok(())
    }

    /// Removes what a deletion to another disk had copied of something that is back in the vault:
    /// each file of which the vault's holds all. What differs stays.
    pub fn remove_kept_copy(&self, path: &VaultPath, keeping: &Keeping) {
        self.remove_kept(&self.kept_copy(path, keeping), path, Part::Beginning);
    }

    /// Ends what [`Self::bring_back`] began, once that is recorded: what came from another disk and
    /// lies there still goes, each file that the vault's is equal to, and what a trash noted of it.
    pub fn finish_bringing_back(&self, trashed: &Trashed, to: &VaultPath) {
        match trashed {
            Trashed::Kept { .. } => self.remove_kept(trashed, to, Part::Whole),
            Trashed::Local { .. } | Trashed::System { .. } => self.forget_trashed(trashed),
        }
    }

    fn remove_kept(&self, kept: &Trashed, path: &VaultPath, part: Part) {
        if let Ok(Some((keeping, name))) = self.place_of(kept)
            && let Ok(name) = Name::new(&name)
            && let Ok((folder, original)) = self.root().open_parent(path)
        {
            remove_copy((&keeping, name), (&folder, original), part);
        }
        self.forget_trashed(kept);
    }
}
