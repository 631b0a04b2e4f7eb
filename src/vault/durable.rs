//! When what was changed is made durable: each change at once, or many together.
//!
//! A sync of a folder waits for the disk, whether one name in it has changed or ten thousand. So whoever makes
//! many changes that count only together opens a [`Together`], makes them, and syncs once. That is for
//! whoever recorded before what is intended, and finds out after a crash how far it came by looking at each
//! file: a power cut then leaves any part of it.
//!
//! It is done on file systems alone that bring changes of names to the disk in the order in which they were
//! made, as those with a journal or with copy on write do: there a file always has its old name or its new
//! one. On any other each change is made durable at once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io;
use std::sync::Mutex;

use super::dir::{FileId, Folder, Name, rename_new};
use super::error::VaultError;
use super::locks::lock;
use crate::chaos;
use crate::note::path::VaultPath;

/// Up to so many files or folders are made durable one by one, more by a sync of the whole file system: that
/// takes what other programs have written along, so it has to be worth it.
const FEW: usize = 8;

/// Folders of which a handle is kept until they are synced; one more, and all of them are.
const MOST_FOLDERS: usize = 256;

/// How changes of a vault are made durable.
#[derive(Default)]
pub(super) struct Durable(Mutex<Option<Waiting>>);

/// What was changed together and is not known to be durable.
#[derive(Default)]
struct Waiting {
    disks: HashMap<u64, Disk>,
    /// Whether so many files will be written that the file system is synced for them.
    many_files: bool,
}

/// What was changed on one disk.
struct Disk {
    /// Opened before the first change: a sync tells what has failed since.
    handle: Folder,
    folders: HashMap<FileId, Folder>,
    /// Whether files were written.
    files: bool,
}

/// Changes that are made durable together, from its making to its end. What was not synced by then a power
/// cut may undo.
#[must_use]
pub struct Together<'a>(&'a Durable);

impl Durable {
    /// Makes all changes from here on durable together; `files`: about how many files will be written.
    pub fn together(&self, files: usize) -> Together<'_> {
        let many_files = files > FEW && Folder::tells_lost_writes();
        *lock(&self.0) = Some(Waiting { many_files, ..Waiting::default() });
        Together(self)
    }

    /// Names in this folder have changed: makes them durable, at once or with all others.
    ///
    /// # Errors
    /// As the system says; then nothing is known of them.
    pub fn names(&self, folder: &Folder) -> io::Result<()> {
        let mut waiting = lock(&self.0);
        let Some(waiting) = waiting.as_mut() else { return folder.sync() };
        let id = folder.meta()?.id;
        let Some(disk) = waiting.disk(folder, id)? else { return folder.sync() };
        if let Entry::Vacant(new) = disk.folders.entry(id) {
            new.insert(folder.try_clone()?);
        }
        if disk.folders.len() > MOST_FOLDERS { disk.sync() } else { Ok(()) }
    }

    /// Writes a file that lies in this folder under a name that nothing rests on yet, and makes what is in it
    /// durable, at once or with all others.
    ///
    /// # Errors
    /// As `write` and the system say.
    pub fn content(
        &self,
        folder: &Folder,
        file: &mut File,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut waiting = lock(&self.0);
        let disk = match waiting.as_mut().filter(|waiting| waiting.many_files) {
            Some(waiting) => waiting.disk(folder, folder.meta()?.id)?,
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

/// Renames without replacing and makes the new name durable; where that fails the thing goes back,
/// so that an error means that it never moved.
pub(super) fn rename_durably(
    durable: &Durable,
    (from, name): (&Folder, Name),
    (to, to_name): (&Folder, Name),
) -> io::Result<()> {
    rename_new(from, name, to, to_name)?;
    durable.names(to).inspect_err(|_| {
        let _ = rename_new(to, to_name, from, name);
    })
}

/// As [`rename_durably`], and that the old name is gone is durable, too.
pub(super) fn rename_durably_in_both(
    durable: &Durable,
    (from, name): (&Folder, Name),
    (to, to_name): (&Folder, Name),
) -> io::Result<()> {
    rename_durably(durable, (from, name), (to, to_name))?;
    durable.names(from).inspect_err(|_| {
        let _ = rename_new(to, to_name, from, name);
    })
}

impl Waiting {
    /// Where changes in this folder wait; none if they do not.
    fn disk(&mut self, folder: &Folder, id: FileId) -> io::Result<Option<&mut Disk>> {
        if id == FileId::UNKNOWN || !folder.keeps_order() {
            return Ok(None);
        }
        Ok(Some(match self.disks.entry(id.device) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                new.insert(Disk { handle: folder.reopen()?, folders: HashMap::new(), files: false })
            }
        }))
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
        // A file system that has shut itself down may take that for done; it does not take this so.
        let mut folders = folders.values();
        folders.next().unwrap_or(&self.handle).sync()?;
        folders.try_for_each(|folder| folder.meta().map(drop))
    }
}

impl Together<'_> {
    /// Makes all that was changed so far durable.
    ///
    /// # Errors
    /// As the system says; then nothing is known of any of it.
    pub fn sync(&self) -> Result<(), VaultError> {
        let mut waiting = lock(&self.0.0);
        let mut disks = waiting.iter_mut().flat_map(|all| all.disks.values_mut());
        let synced = disks.try_for_each(Disk::sync);
        synced.map_err(|error| VaultError::io("make durable", &VaultPath::root(), error))
    }
}

impl Drop for Together<'_> {
    fn drop(&mut self) {
        *lock(&self.0.0) = None;
    }
}
