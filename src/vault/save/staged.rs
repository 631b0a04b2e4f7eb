//! One write: staged next to its target, committed, then finished or reverted.
//!
//! After any failure one of three holds: the new text is in place; the old text is, as if nothing
//! had happened; or a text of unknown origin is in the recovery folder and the error says so. No
//! code here removes bytes that it has not hashed.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::time::Instant;

use crate::chaos;
use crate::note::path::VaultPath;
use crate::vault::content::{FileContent, Precondition};
use crate::vault::dir::{
    FileId, Folder, Kind, Meta, Name, copy_attributes, must_keep_inode, rename_new,
};
use crate::vault::durable::Durable;
use crate::vault::error::VaultError;
use crate::vault::read::Reader;
use crate::vault::recovery::{LATE, Late, Rescued};
use crate::vault::revision::Revision;
use crate::vault::root::Opened;
use crate::vault::temp::temp_name;

/// Attempts to exchange back while another program keeps saving.
const EXCHANGES: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    pub revision: Revision,
    /// The old revision; `None` for a new file.
    pub before: Option<Revision>,
    /// Whether the file was rewritten in place: it has hard links, or an owner that must stay.
    pub in_place: bool,
}

/// A staged write, to be committed by [`super::Writer::commit`].
pub struct Staged {
    path: VaultPath,
    folder: StagedFolder,
    temp: String,
    revision: Revision,
    /// The new text, if the method is [`Method::InPlace`].
    content: Vec<u8>,
    target: Option<Target>,
    method: Method,
    stage: Stage,
    /// The old text in the recovery folder, for the methods that do not keep it in the vault.
    copy: Option<Rescued>,
}

/// The folder of a staged write.
pub(super) struct StagedFolder {
    pub root: Arc<Opened>,
    pub id: FileId,
    /// `None` if too many others are open: then it is opened by its path whenever it is needed.
    pub open: Option<Arc<Folder>>,
}

/// The file that a staged write will replace.
struct Target {
    /// Open only while it is staged or replaced.
    file: Option<File>,
    meta: Meta,
    revision: Revision,
    /// Its content, if the caller has read it.
    read: Option<Arc<FileContent>>,
}

/// How a write is put in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    /// A new file: rename without replacing.
    New,
    /// Exchange the two names.
    Exchange,
    /// Rename over the target, if names cannot be exchanged.
    Replace,
    /// Overwrite the bytes: the file has hard links, or an owner that a new file cannot get.
    InPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The new text is at the temporary name (or in memory).
    Staged,
    /// The names were exchanged, and the displaced version is not yet hashed.
    Exchanged,
    /// The new text is at the path, the old one at the temporary name or in the copy.
    Committed,
    Done,
}

impl Staged {
    /// Writes `content` to `temp` next to its target and syncs it through `durable`.
    pub(super) fn write(
        path: &VaultPath,
        (in_vault, folder): (StagedFolder, &Folder),
        content: &[u8],
        target: Option<(File, Meta, Revision)>,
        (before, temp): (&Precondition, &str),
        durable: &Durable,
    ) -> Result<Self, VaultError> {
        let method = match &target {
            None => Method::New,
            Some((file, meta, _)) if must_keep_inode(file, meta) => Method::InPlace,
            Some(_) => Method::Exchange,
        };
        let mut staged = Self {
            path: path.clone(),
            folder: in_vault,
            temp: temp.to_owned(),
            revision: Revision::of(content),
            content: if method == Method::InPlace { content.to_vec() } else { Vec::new() },
            target: target.map(|(file, meta, revision)| Target {
                read: before.text_of(&meta).map(Arc::clone),
                file: Some(file),
                meta,
                revision,
            }),
            method,
            stage: Stage::Staged,
            copy: None,
        };
        if method == Method::InPlace {
            staged.close_target();
            return Ok(staged);
        }
        let written = (|| {
            // A private note's replacement must never be readable by others.
            let private = staged.target.is_some();
            let mut file = folder.create_new(Name::new(&staged.temp)?, private)?;
            let target = &mut staged.target;
            durable.write_file(folder, &mut file, |file| {
                chaos::step("write a file", || file.write_all(content))?;
                match target.as_mut().and_then(|target| Some((target.file.take()?, &target.meta))) {
                    Some((old, meta)) => copy_attributes(&old, file, meta),
                    None => Ok(()),
                }
            })
        })();
        if let Err(error) = written {
            staged.discard();
            return Err(VaultError::io("write", path, error));
        }
        Ok(staged)
    }

    /// Each open file counts towards a limit, and one change can write thousands.
    fn close_target(&mut self) {
        if let Some(target) = &mut self.target {
            target.file = None;
        }
    }

    /// Its folder, if that is still where it was.
    fn folder(&self) -> io::Result<Arc<Folder>> {
        if let Some(open) = &self.folder.open {
            return Ok(Arc::clone(open));
        }
        let (folder, _) = self.folder.root.open_parent(&self.path)?;
        if folder.meta()?.id == self.folder.id {
            Ok(Arc::new(folder))
        } else {
            Err(io::Error::from(io::ErrorKind::NotFound))
        }
    }

    /// Removes the temporary file. Before the commit it is the new text, after it a version that
    /// equals what the caller had read; otherwise it may be another program's and stays.
    fn discard(&mut self) {
        let ours = match self.stage {
            Stage::Staged => self.method != Method::InPlace,
            Stage::Committed => self.method == Method::Exchange,
            Stage::Exchanged | Stage::Done => false,
        };
        if ours && let (Ok(temp), Ok(folder)) = (Name::new(&self.temp), self.folder()) {
            let _ = folder.remove_file(temp);
        }
        self.stage = Stage::Done;
    }

    /// Whether it can only be finished before `folder` is renamed or removed: the system forbids that while a folder in
    /// it is open, or the write would no longer find its own.
    pub fn needs(&self, folder: &VaultPath) -> bool {
        let is_below = self.path != *folder && self.path.is_within(folder);
        is_below && (Folder::is_fixed_while_in_use() || self.folder.open.is_none())
    }

    /// Puts a staged write in place. The displaced version is kept until [`Self::finish`], for
    /// [`Self::revert`].
    ///
    /// # Errors
    /// [`VaultError::Stale`] if the file changed since it was staged, [`VaultError::Busy`] if it
    /// keeps changing; the file then has the other program's text. An error of the system if the
    /// change or its sync failed: it was rolled back.
    pub(super) fn commit(
        &mut self,
        vault: &Reader,
        durable: &Durable,
    ) -> Result<Saved, VaultError> {
        let placed = match self.method {
            Method::New => self.commit_new(),
            Method::Exchange | Method::Replace => self.commit_exchange(vault, durable),
            Method::InPlace => self.commit_in_place(vault),
        };
        if let Err(error) = placed {
            // A check failed after the new text was in place: on an error nothing may have changed.
            if self.stage == Stage::Committed {
                self.roll_back(vault, durable)?;
            }
            return Err(error);
        }
        if let Err(error) = self.folder().and_then(|folder| durable.sync_names(&folder)) {
            // A failed fsync may have dropped the data, so it is not retried.
            self.roll_back(vault, durable)?;
            return Err(VaultError::io("make durable", &self.path, error));
        }
        if let Ok(meta) = vault.folder().stat_at(&self.path) {
            vault.observed(&self.path, &meta);
        }
        let before = self.target.as_ref().map(|target| target.revision);
        Ok(Saved { revision: self.revision, before, in_place: self.method == Method::InPlace })
    }

    /// The revision now at this name of the folder, if it can be read.
    fn revision_at(&self, name: Name) -> Option<Revision> {
        hash_of(&*self.folder().ok()?, name).ok()
    }

    /// Moves the temporary file, whose origin is unknown, to the recovery folder.
    fn rescue_temp(&mut self, vault: &Reader) {
        if let (Ok(temp), Ok(folder)) = (Name::new(&self.temp), self.folder()) {
            vault.recovery.rescue_entry(&folder, temp, &self.path);
        }
        self.stage = Stage::Done;
    }

    fn remove_copy(&mut self, vault: &Reader) {
        if let Some(copy) = self.copy.take() {
            copy.remove(&vault.recovery);
        }
    }

    fn commit_new(&mut self) -> Result<(), VaultError> {
        let (temp, name) = names(&self.temp, &self.path)?;
        self.folder()
            .and_then(|folder| rename_new(&folder, temp, &folder, name))
            .map_err(|error| VaultError::io("write", &self.path, error))?;
        self.stage = Stage::Committed;
        Ok(())
    }

    fn commit_exchange(&mut self, vault: &Reader, durable: &Durable) -> Result<(), VaultError> {
        let (temp, name) = names(&self.temp, &self.path)?;
        match self.folder().and_then(|folder| folder.exchange(temp, &folder, name)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                return self.commit_replacing(vault, durable);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(vault.gone_since(&self.path));
            }
            Err(error) => return Err(VaultError::io("write", &self.path, error)),
        }
        self.stage = Stage::Exchanged;
        let outcome = self.verify_exchange(vault);
        if self.stage == Stage::Exchanged {
            // The check failed: restore the displaced version, or rescue it.
            self.undo_exchange(vault);
        }
        outcome
    }

    /// After the exchange: checks that the displaced version is the one that was read.
    fn verify_exchange(&mut self, vault: &Reader) -> Result<(), VaultError> {
        let path = self.path.clone();
        let failed = |error| VaultError::io("write", &path, error);
        let (temp, name) = names(&self.temp, &path)?;
        let base = self.target.as_ref().map(|target| target.revision);
        let folder = self.folder().map_err(failed)?;
        match hash_of(&folder, temp) {
            Ok(displaced) if Some(displaced) == base => {
                self.stage = Stage::Committed;
                return Ok(());
            }
            Ok(_) => {}
            // A link or a folder replaced the note: it is exchanged back.
            Err(_) if folder.stat(temp).is_ok_and(|meta| meta.kind != Kind::File) => {
                return Err(VaultError::Stale { path, current: None });
            }
            Err(error) => return Err(failed(error)),
        }
        // Another program saved before the exchange. Exchange back, until the text that comes out
        // is the new one.
        for _ in 0..EXCHANGES {
            folder.exchange(temp, &folder, name).map_err(failed)?;
            match hash_of(&folder, temp) {
                Ok(revision) if revision == self.revision => {
                    self.stage = Stage::Staged;
                    let current = self.revision_at(name);
                    return Err(VaultError::Stale { path, current });
                }
                Ok(_) => {}
                // The other program's text is at the path, where it belongs.
                Err(error) => {
                    self.rescue_temp(vault);
                    return Err(failed(error));
                }
            }
        }
        // The other program saves in a tight loop.
        self.rescue_temp(vault);
        Err(VaultError::Busy { path })
    }

    /// Undoes an exchange whose check failed; the temporary file may be another program's.
    fn undo_exchange(&mut self, vault: &Reader) {
        let Ok((temp, name)) = names(&self.temp, &self.path) else { return };
        let back = self.folder().and_then(|folder| folder.exchange(temp, &folder, name));
        if back.is_ok() && self.revision_at(temp) == Some(self.revision) {
            self.stage = Stage::Staged;
        } else {
            self.rescue_temp(vault);
        }
    }

    /// For file systems that cannot exchange names.
    fn commit_replacing(&mut self, vault: &Reader, durable: &Durable) -> Result<(), VaultError> {
        let path = self.path.clone();
        let failed = |error| VaultError::io("write", &path, error);
        self.method = Method::Replace;
        let base = self.back_up(vault)?;
        let (temp, name) = names(&self.temp, &path)?;
        let current = self.revision_at(name);
        if current != Some(base) {
            self.remove_copy(vault);
            return Err(VaultError::Stale { path, current });
        }
        let folder = self.folder().map_err(failed)?;
        folder.rename_replacing(temp, &folder, name).map_err(failed)?;
        self.stage = Stage::Committed;
        // A program that saves in place may have written to the old version before the rename: then
        // its text is restored, as if it had saved after us.
        let target = self.target.as_mut().expect("only what exists is replaced");
        let old = target.file.as_mut().expect("it was opened to be copied");
        old.seek(SeekFrom::Start(0)).map_err(failed)?;
        let late = Revision::of_reader(&mut *old).map_err(failed)?;
        if late == base {
            self.close_target();
            return Ok(());
        }
        old.seek(SeekFrom::Start(0)).map_err(failed)?;
        self.copy = Some(vault.recovery.rescue_text(&path, old, "late").map_err(failed)?);
        self.roll_back(vault, durable)?;
        Err(VaultError::Stale { path, current: Some(late) })
    }

    /// For files with hard links, or an owner that must stay.
    fn commit_in_place(&mut self, vault: &Reader) -> Result<(), VaultError> {
        let path = self.path.clone();
        let failed = |error| VaultError::io("write", &path, error);
        let base = self.back_up(vault)?;
        let name = Name::new(path.name()).map_err(failed)?;
        let folder = self.folder().map_err(failed)?;
        let (mut file, _) = folder.open_for_update(name).map_err(failed)?;
        let current = Revision::of_reader(&mut file).map_err(failed)?;
        if current != base {
            self.remove_copy(vault);
            return Err(VaultError::Stale { path, current: Some(current) });
        }
        if let Err(error) = overwrite(&mut file, &mut &self.content[..]) {
            // A full disk is no obstacle: the file still has its old blocks.
            if let Err(again) = restore_in_place(&mut file, self.copy.as_ref()) {
                vault.warn(format!(
                    "`{path}` was left half-written ({again}); its old text is in the recovery \
                     folder"
                ));
            }
            return Err(failed(error));
        }
        self.stage = Stage::Committed;
        self.close_target();
        Ok(())
    }

    /// Copies the old text to the recovery folder; returns its revision, checked to be the expected
    /// one.
    fn back_up(&mut self, vault: &Reader) -> Result<Revision, VaultError> {
        let path = self.path.clone();
        let failed = |error| VaultError::io("copy", &path, error);
        let folder = self.folder().map_err(failed)?;
        let target = self.target.as_mut().expect("only what exists has an old text");
        if target.file.is_none() {
            let name = Name::new(path.name()).map_err(failed)?;
            let again = target.open_again(&folder, name);
            let stale = |_| VaultError::Stale { path: path.clone(), current: None };
            target.file = Some(again.map_err(stale)?);
        }
        let old = target.file.as_mut().expect("it was opened above");
        let copy = match &target.read {
            Some(read) => vault.recovery.rescue_text(&path, &mut &read.bytes[..], "before"),
            None => old
                .seek(SeekFrom::Start(0))
                .and_then(|_| vault.recovery.rescue_text(&path, old, "before")),
        };
        let copy = copy.map_err(failed)?;
        let copied = copy.open().and_then(Revision::of_reader).map_err(failed)?;
        if copied != target.revision {
            copy.remove(&vault.recovery);
            return Err(VaultError::Stale { path, current: Some(copied) });
        }
        self.copy = Some(copy);
        Ok(copied)
    }

    /// Rolls back a committed write.
    ///
    /// # Errors
    /// From the system, or [`VaultError::Stale`] if another program has written since; its text
    /// stays.
    pub(super) fn revert(mut self, vault: &Reader, durable: &Durable) -> Result<(), VaultError> {
        self.roll_back(vault, durable)
    }

    fn roll_back(&mut self, vault: &Reader, durable: &Durable) -> Result<(), VaultError> {
        if self.stage == Stage::Committed {
            let path = self.path.clone();
            let failed = |error| VaultError::io("restore", &path, error);
            let name = Name::new(path.name()).map_err(failed)?;
            let folder = self.folder().map_err(failed)?;
            let current = self.revision_at(name);
            if current != Some(self.revision) {
                return Err(VaultError::Stale { path, current });
            }
            match self.method {
                Method::New => self.roll_back_new(vault)?,
                Method::Exchange => self.roll_back_exchange(vault)?,
                Method::Replace => {
                    let copy = self.copy.as_ref().map(Rescued::open).transpose();
                    let mut copy = copy.map_err(failed)?.expect("a replaced text has its copy");
                    let fresh = temp_name();
                    let fresh = Name::new(&fresh).map_err(failed)?;
                    let mut file = folder.create_new(fresh, true).map_err(failed)?;
                    io::copy(&mut copy, &mut file).map_err(failed)?;
                    if let Some(target) = &self.target {
                        // It has those of the file that it replaced.
                        let (from, _) = folder.open_file(name).map_err(failed)?;
                        copy_attributes(&from, &file, &target.meta).map_err(failed)?;
                    }
                    file.sync_all().map_err(failed)?;
                    folder.rename_replacing(fresh, &folder, name).map_err(failed)?;
                    self.stage = Stage::Done;
                }
                Method::InPlace => {
                    let (mut file, _) = folder.open_for_update(name).map_err(failed)?;
                    restore_in_place(&mut file, self.copy.as_ref()).map_err(failed)?;
                    self.stage = Stage::Done;
                }
            }
        }
        self.remove_copy(vault);
        self.discard();
        let synced = self.folder().and_then(|folder| durable.sync_names(&folder));
        vault.recheck(&self.path);
        synced.map_err(|error| VaultError::io("make durable", &self.path, error))
    }

    /// Renames the file to its temporary name and hashes it there, so that only the new text is
    /// removed.
    fn roll_back_new(&mut self, vault: &Reader) -> Result<(), VaultError> {
        let path = self.path.clone();
        let failed = |error| VaultError::io("restore", &path, error);
        let (temp, name) = names(&self.temp, &path)?;
        let folder = self.folder().map_err(failed)?;
        rename_new(&folder, name, &folder, temp).map_err(failed)?;
        if self.revision_at(temp) == Some(self.revision) {
            self.stage = Stage::Staged;
            return Ok(());
        }
        self.stage = Stage::Done;
        if rename_new(&folder, temp, &folder, name).is_err() {
            self.rescue_temp(vault);
        }
        let current = self.revision_at(name);
        Err(VaultError::Stale { path, current })
    }

    fn roll_back_exchange(&mut self, vault: &Reader) -> Result<(), VaultError> {
        let path = self.path.clone();
        let failed = |error| VaultError::io("restore", &path, error);
        let (temp, name) = names(&self.temp, &path)?;
        let folder = self.folder().map_err(failed)?;
        folder.exchange(temp, &folder, name).map_err(failed)?;
        if self.revision_at(temp) == Some(self.revision) {
            self.stage = Stage::Staged;
            return Ok(());
        }
        // Another program saved in the meantime: restore its text, and rescue the old version.
        let _ = folder.exchange(temp, &folder, name);
        self.rescue_temp(vault);
        let current = self.revision_at(name);
        Err(VaultError::Stale { path, current })
    }

    /// Ends a committed write: unlinks the displaced version, and watches it for late writes.
    pub fn finish(mut self, vault: &Reader) {
        if (self.method, self.stage) == (Method::Exchange, Stage::Committed)
            && let Some(target) = self.target.take()
            && let Ok(temp) = Name::new(&self.temp)
            && let Ok(folder) = self.folder()
            && let Ok(file) = target.open_again(&folder, temp)
        {
            let late = Late {
                path: self.path.clone(),
                file,
                revision: target.revision,
                until: Instant::now() + LATE,
            };
            vault.watch_late(late);
        }
        self.remove_copy(vault);
        self.discard();
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.stage == Stage::Staged {
            self.discard();
        }
    }
}

impl Target {
    /// Opens the file by its current name, if it is still the same file.
    fn open_again(&self, folder: &Folder, name: Name) -> io::Result<File> {
        let (file, meta) = folder.open_file(name)?;
        if meta.id == self.meta.id {
            Ok(file)
        } else {
            Err(io::Error::from(io::ErrorKind::NotFound))
        }
    }
}

pub(super) fn hash_of(folder: &Folder, name: Name) -> io::Result<Revision> {
    Revision::of_reader(folder.open_file(name)?.0)
}

fn names<'t, 'p>(temp: &'t str, path: &'p VaultPath) -> Result<(Name<'t>, Name<'p>), VaultError> {
    let failed = |error| VaultError::io("write", path, error);
    Ok((Name::new(temp).map_err(failed)?, Name::new(path.name()).map_err(failed)?))
}

fn restore_in_place(file: &mut File, copy: Option<&Rescued>) -> io::Result<()> {
    let copy = copy.ok_or_else(|| io::Error::other("there is no copy of the old text"))?;
    overwrite(file, &mut copy.open()?)
}

fn overwrite(file: &mut File, content: &mut impl io::Read) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let length = chaos::step("overwrite a file", || io::copy(content, file))?;
    file.flush()?;
    chaos::step("cut a file", || file.set_len(length))?;
    chaos::step("sync a file", || file.sync_all())
}
