//! Making changes durable: each at once, or many in one batch.
//!
//! An fsync of a folder costs the same for one changed name as for ten thousand. So a caller with
//! many changes opens a [`SyncBatch`], makes them, and syncs once. A power cut may then leave any
//! part of them, so the caller must have recorded its intent, and inspect each file after a crash.
//!
//! Batching is limited to file systems that write changes of names in order (with a journal, or
//! copy on write): there a file always has its old name or its new one. On others each change is
//! synced at once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io;
use std::sync::Mutex;

use super::dir::{FileId, Folder, Name, rename_new};
use super::error::VaultError;
use crate::chaos;
use crate::locks::lock;
use crate::note::path::VaultPath;

/// Up to this many files or folders are synced one by one, more by syncing the file system, which
/// also writes other programs' data.
const FEW: usize = 8;

/// Folder handles that a batch holds open; beyond this it syncs early. As many stay open for staged writes. Together they
/// are well below 1,024, the limit of open files that many systems start with.
pub(super) const MAX_FOLDERS: usize = 256;

/// Syncs the changes of a vault, in a batch while one is open.
#[derive(Default)]
pub(super) struct Durable(Mutex<Option<Pending>>);

/// Changes of the open batch that are not synced yet.
#[derive(Default)]
struct Pending {
    /// By device number.
    disks: HashMap<u64, Disk>,
    /// Whether the batch writes so many files that it syncs the file system instead of each file.
    many_files: bool,
}

struct Disk {
    /// Opened before the first change: its sync reports write errors since then.
    handle: Folder,
    folders: HashMap<FileId, Folder>,
    /// Whether the content of any file waits for the sync.
    files: bool,
}

/// While this exists, only [`SyncBatch::sync`] syncs changes. A power cut may undo changes that
/// were not synced before it is dropped.
#[must_use]
pub struct SyncBatch<'a>(&'a Durable);

impl Durable {
    /// Opens a batch; `files` is about how many files it will write.
    pub fn batch(&self, files: usize) -> SyncBatch<'_> {
        let many_files = files > FEW && Folder::syncfs_reports_errors();
        *lock(&self.0) = Some(Pending { many_files, ..Pending::default() });
        SyncBatch(self)
    }

    /// Call after names in this folder have changed: syncs it, at once or with the batch.
    ///
    /// # Errors
    /// From the system; the names may or may not be durable then.
    pub fn sync_names(&self, folder: &Folder) -> io::Result<()> {
        let mut pending = lock(&self.0);
        let Some(pending) = pending.as_mut() else { return folder.sync() };
        let id = folder.meta()?.id;
        let Some(disk) = pending.disk(folder, id)? else { return folder.sync() };
        if let Entry::Vacant(new) = disk.folders.entry(id) {
            new.insert(folder.try_clone()?);
        }
        if disk.folders.len() > MAX_FOLDERS { disk.sync() } else { Ok(()) }
    }

    /// Writes a new file in this folder by `write` and syncs its content, at once or with the
    /// batch.
    pub fn write_file(
        &self,
        folder: &Folder,
        file: &mut File,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut pending = lock(&self.0);
        let disk = match pending.as_mut().filter(|pending| pending.many_files) {
            Some(pending) => pending.disk(folder, folder.meta()?.id)?,
            None => None,
        };
        write(file)?;
        match disk {
            Some(disk) => disk.files = true,
            None => chaos::step("sync a file", || file.sync_all())?,
        }
        Ok(())
    }
}

/// Renames without replacing and syncs the new name. On an error the old name is restored.
pub(super) fn rename_durably(
    durable: &Durable,
    (from, name): (&Folder, Name),
    (to, to_name): (&Folder, Name),
) -> io::Result<()> {
    rename_new(from, name, to, to_name)?;
    durable.sync_names(to).inspect_err(|_| {
        let _ = rename_new(to, to_name, from, name);
    })
}

/// As [`rename_durably`], and syncs the removal of the old name too.
pub(super) fn rename_durably_in_both(
    durable: &Durable,
    (from, name): (&Folder, Name),
    (to, to_name): (&Folder, Name),
) -> io::Result<()> {
    rename_durably(durable, (from, name), (to, to_name))?;
    durable.sync_names(from).inspect_err(|_| {
        let _ = rename_new(to, to_name, from, name);
    })
}

impl Pending {
    /// The disk of this folder; `None` if changes on it are not batched.
    fn disk(&mut self, folder: &Folder, id: FileId) -> io::Result<Option<&mut Disk>> {
        if id == FileId::UNKNOWN {
            return Ok(None);
        }
        Ok(match self.disks.entry(id.device) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(new) if folder.keeps_order() => {
                let handle = folder.reopen()?;
                Some(new.insert(Disk { handle, folders: HashMap::new(), files: false }))
            }
            Entry::Vacant(_) => None,
        })
    }
}

impl Disk {
    fn sync(&mut self) -> io::Result<()> {
        let folders = std::mem::take(&mut self.folders);
        let files = std::mem::take(&mut self.files);
        if !files && folders.len() <= FEW {
            return folders.values().try_for_each(Folder::sync);
        }
        self.handle.sync_file_system()?;
        // A file system that has shut itself down may report success above, but not here.
        let mut folders = folders.values();
        folders.next().unwrap_or(&self.handle).sync()?;
        folders.try_for_each(|folder| folder.meta().map(drop))
    }
}

impl SyncBatch<'_> {
    /// Syncs all changes so far.
    ///
    /// # Errors
    /// From the system; any part of the changes may be durable then.
    pub fn sync(&self) -> Result<(), VaultError> {
        let mut pending = lock(&self.0.0);
        let mut disks = pending.iter_mut().flat_map(|all| all.disks.values_mut());
        let synced = disks.try_for_each(Disk::sync);
        synced.map_err(|error| VaultError::io("make durable", &VaultPath::root(), error))
    }
}

impl Drop for SyncBatch<'_> {
    fn drop(&mut self) {
        *lock(&self.0.0) = None;
    }
}
