//! The write side: atomic saves that never overwrite another program's changes unseen.
//!
//! A save of an existing file, where the file system can exchange names (Linux, macOS):
//! 1. hash the file, which must be what the caller read. If its metadata is unchanged since that
//!    read, the hash is skipped: step 3 detects what this misses;
//! 2. write a temporary file next to it, with its mode, owner and attributes; fsync;
//! 3. exchange the two names and hash the displaced version: if it differs from step 1, another
//!    program saved in between, and the names are exchanged back;
//! 4. fsync the folder and unlink the displaced version, but keep it open for a few seconds: an
//!    editor that had it open may still write to it, and that text goes to the recovery folder.
//!
//! Measured: no lost update in 9,200 episodes against editors that save in place or by rename
//! (hash-then-rename lost up to one in eight); no loss and no torn file in 250 power cuts. Without
//! exchange, the hash is taken immediately before the rename, with a copy in the recovery folder
//! until it is done: the reduced protection that `doctor` reports. A file with hard links is
//! rewritten in place, so that they stay linked.
//!
//! A move may rewrite links in thousands of notes, all staged before the first is committed. So a
//! staged write holds no file open, writes in one folder share its handle, and only some of the folders
//! stay open; a file or folder that is opened again is checked by its identity.
//!
//! In reading order: `staged` (one write), this file (staging, folders and renames).

mod staged;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::ops::Deref;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use staged::StagedFolder;
pub use staged::{Saved, Staged};

use super::content::Precondition;
use super::dir::{FileId, Folder, Kind, Meta, Name, is_absence, must_keep_inode, rename_new};
use super::durable::{Durable, MAX_FOLDERS, SyncBatch};
use super::error::VaultError;
use super::read::{Reader, just_emptied};
use super::revision::Revision;
use super::temp::{aside_name, is_temp_name, temp_name};
use super::trash::Trash;
use crate::locks::lock;
use crate::note::path::VaultPath;
use staged::hash_of;

/// Attempts while the file is empty, since another program may be saving it.
const PATIENCE: usize = 5;

/// The file that a write would replace.
pub struct OldText {
    file: File,
    pub meta: Meta,
    pub revision: Revision,
    /// Whether it would be rewritten in place: it has hard links, or an owner that must stay.
    pub in_place: bool,
}

impl OldText {
    /// The file, positioned at its start.
    pub fn reader(&mut self) -> io::Result<&mut File> {
        self.file.seek(SeekFrom::Start(0))?;
        Ok(&mut self.file)
    }
}

/// Changes the vault. [`super::Vault::open`] returns the only one, and it is not `Clone`: the
/// journal owns it and makes one change at a time.
pub struct Writer {
    trash: Trash,
    /// Open folders of staged writes.
    folders: Mutex<HashMap<FileId, Weak<Folder>>>,
}

impl Deref for Writer {
    type Target = Trash;

    fn deref(&self) -> &Trash {
        &self.trash
    }
}

impl Writer {
    pub(super) fn new(vault: Reader) -> Self {
        let trash = Trash { vault, durable: Durable::default() };
        Self { trash, folders: Mutex::default() }
    }

    /// Syncs later changes in one batch, if the file system allows it; `files` is about how many
    /// files will be written. The caller must have recorded its intent: see [`SyncBatch`].
    pub fn sync_batch(&self, files: usize) -> SyncBatch<'_> {
        self.durable.batch(files)
    }

    /// The read side.
    pub fn vault(&self) -> &Reader {
        &self.vault
    }

    /// Opens the file that a write would replace; `None` if there is none. Changes nothing.
    pub fn inspect(
        &self,
        path: &VaultPath,
        before: &Precondition,
    ) -> Result<Option<OldText>, VaultError> {
        self.vault.check_writable_root()?;
        self.vault.allowed(path)?;
        let (folder, name) = match self.root().open_parent(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return self.missing(path, before);
            }
            // A file in place of a parent is reported when the folder is made.
            Err(_) => return Ok(None),
        };
        let target = self.target(path, &folder, name, before)?;
        Ok(target.map(|(file, meta, revision)| OldText {
            in_place: must_keep_inode(&file, &meta),
            file,
            meta,
            revision,
        }))
    }

    /// Writes `content` to a temporary file next to `path`, durable but not yet in place. `temp` is
    /// its name, made by [`temp_name`].
    ///
    /// # Errors
    /// [`VaultError::Stale`] if `before` does not hold; [`VaultError::ReadOnly`] for a file without
    /// write permission; errors of the system. The file at `path` is unchanged then.
    pub fn stage(
        &self,
        path: &VaultPath,
        content: &[u8],
        before: &Precondition,
        temp: &str,
    ) -> Result<Staged, VaultError> {
        self.vault.check_writable_root()?;
        self.vault.allowed(path)?;
        let failed = |action| move |error| VaultError::io(action, path, error);
        let (folder, name) = self.root().open_parent(path).map_err(failed("open the folder of"))?;
        let target = self.target(path, &folder, name, before)?;
        let folder = Arc::new(folder);
        let in_vault = self.shared(&folder).map_err(failed("open the folder of"))?;
        Staged::write(path, (in_vault, &folder), content, target, (before, temp), &self.durable)
    }

    /// The folder with the handle that other staged writes in it share.
    fn shared(&self, folder: &Arc<Folder>) -> io::Result<StagedFolder> {
        let (root, id) = (self.root(), folder.meta()?.id);
        let mut folders = lock(&self.folders);
        let known = folders.get(&id).filter(|_| id != FileId::UNKNOWN).and_then(Weak::upgrade);
        if known.is_some() {
            return Ok(StagedFolder { root, id, open: known });
        }
        if folders.len() >= MAX_FOLDERS {
            folders.retain(|_, known| known.strong_count() > 0);
        }
        if folders.len() >= MAX_FOLDERS && id != FileId::UNKNOWN {
            return Ok(StagedFolder { root, id, open: None });
        }
        folders.insert(id, Arc::downgrade(folder));
        Ok(StagedFolder { root, id, open: Some(Arc::clone(folder)) })
    }

    /// The result for a `path` without a file.
    fn missing<T>(&self, path: &VaultPath, before: &Precondition) -> Result<Option<T>, VaultError> {
        match before {
            Precondition::Revision(_) | Precondition::Read(_) => Err(self.vault.gone_since(path)),
            Precondition::Absent | Precondition::Any => Ok(None),
        }
    }

    /// Opens the file at `path` and checks the precondition.
    fn target(
        &self,
        path: &VaultPath,
        folder: &Folder,
        name: Name,
        before: &Precondition,
    ) -> Result<Option<(File, Meta, Revision)>, VaultError> {
        let stale = |current| VaultError::Stale { path: path.clone(), current };
        for attempt in 0.. {
            let (mut file, meta) = match folder.open_file(name) {
                Ok(opened) => opened,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return self.missing(path, before);
                }
                Err(error) => return Err(self.vault.not_opened(path, error)),
            };
            if *before == Precondition::Absent {
                return Err(VaultError::AlreadyExists { path: path.clone() });
            }
            if !meta.writable_bits() {
                return Err(VaultError::ReadOnly { path: path.clone() });
            }
            if meta.names > 1 {
                self.vault.refuse_protected_hard_link(path, &meta)?;
            }
            // A rename would bypass the file's permissions.
            folder.open_for_update(name).map_err(|error| VaultError::io("write", path, error))?;
            let revision = match before.text_of(&meta) {
                Some(read) => read.revision,
                None => Revision::of_reader(&mut file)
                    .map_err(|error| VaultError::io("read", path, error))?,
            };
            // Probably another program's save in progress.
            if just_emptied(&meta) && attempt < PATIENCE {
                std::thread::sleep(Duration::from_millis(100));
                continue;
            }
            return match before.revision() {
                Some(expected) if expected != revision => Err(stale(Some(revision))),
                _ => Ok(Some((file, meta, revision))),
            };
        }
        unreachable!("the loop ends by returning")
    }

    pub fn commit(&self, staged: &mut Staged) -> Result<Saved, VaultError> {
        staged.commit(&self.vault, &self.durable)
    }

    pub fn revert(&self, staged: Staged) -> Result<(), VaultError> {
        staged.revert(&self.vault, &self.durable)
    }

    pub fn finish(&self, staged: Staged) {
        staged.finish(&self.vault);
    }

    /// Makes the folder at `path` and its missing parents; returns those made, outermost first.
    ///
    /// # Errors
    /// [`VaultError::NotAFolder`], or from the system. The folders made so far are removed again.
    pub fn create_folders(&self, path: &VaultPath) -> Result<Vec<VaultPath>, VaultError> {
        self.vault.check_writable_root()?;
        self.vault.allowed(path)?;
        let mut created = Vec::new();
        if let Err(error) = self.make_folders(path, &mut created) {
            for folder in created.iter().rev() {
                if let Err(error) = self.remove_empty_folder(folder) {
                    self.vault.warn(format!("the empty folder `{folder}` stays: {error}"));
                }
            }
            return Err(error);
        }
        for folder in &created {
            self.vault.recheck(folder);
        }
        Ok(created)
    }

    fn make_folders(
        &self,
        path: &VaultPath,
        created: &mut Vec<VaultPath>,
    ) -> Result<(), VaultError> {
        let failed = |action| move |error| VaultError::io(action, path, error);
        let mut folder = self.root().try_clone().map_err(failed("open the folder of"))?;
        let mut here = VaultPath::root();
        for component in path.components() {
            here = here.join(component).expect("a component is a name");
            let name = Name::new(component).map_err(failed("make the folder"))?;
            match folder.create_folder(name) {
                Ok(()) => {
                    created.push(here.clone());
                    self.durable.sync_names(&folder).map_err(failed("make durable"))?;
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
        self.vault.close_late_below(path);
        let (folder, name) = self.root().open_parent(path).map_err(failed)?;
        match folder.remove_folder(name) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => return Ok(false),
            Err(error) => return Err(failed(error)),
        }
        if let Err(error) = self.durable.sync_names(&folder) {
            // On an error nothing may have changed.
            let _ = folder.create_folder(name);
            return Err(failed(error));
        }
        self.vault.forget(path);
        Ok(true)
    }

    /// Deletes a file that has exactly this revision, whose text the journal has. It is renamed to
    /// `temp` first and hashed there, so that no other text is lost.
    ///
    /// # Errors
    /// [`VaultError::Stale`] if it has another revision; the file then stays. Errors of the system.
    pub fn remove_exact(
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
        let found = hash_of(&folder, temp).ok();
        if found != Some(holds) {
            if rename_new(&folder, temp, &folder, name).is_err() {
                self.vault.recovery.rescue_entry(&folder, temp, path);
            }
            return Err(VaultError::Stale { path: path.clone(), current: found });
        }
        folder.remove_file(temp).map_err(failed)?;
        self.durable.sync_names(&folder).map_err(failed)?;
        self.vault.forget(path);
        Ok(())
    }

    /// Renames a file or folder; never replaces anything. A change of letter case works on every
    /// file system. The parent of `to` must exist.
    ///
    /// # Errors
    /// [`VaultError::AlreadyExists`], [`VaultError::IntoItself`], or from the system.
    pub fn rename(&self, from: &VaultPath, to: &VaultPath) -> Result<(), VaultError> {
        self.vault.check_writable_root()?;
        self.vault.allowed(from)?;
        self.vault.allowed(to)?;
        self.vault.refuse_protected_below(from)?;
        if to != from && to.is_within(from) {
            return Err(VaultError::IntoItself { from: from.clone() });
        }
        self.vault.close_late_below(from);
        let failed = |error| VaultError::io("move", from, error);
        let (from_folder, from_name) = self.root().open_parent(from).map_err(failed)?;
        let (to_folder, to_name) = self.root().open_parent(to).map_err(failed)?;
        let renamed = rename_new(&from_folder, from_name, &to_folder, to_name);
        if let Err(error) = renamed {
            let exists = error.kind() == io::ErrorKind::AlreadyExists;
            if exists && from != to && is_alias(&to_folder, from, to) {
                // The two names are one to this file system. Most change the case at once; for the
                // others rename through a third name.
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
        let durable = &self.durable;
        if let Err(error) =
            durable.sync_names(&to_folder).and_then(|()| durable.sync_names(&from_folder))
        {
            // On an error nothing may have moved.
            let back = rename_new(&to_folder, to_name, &from_folder, from_name);
            if back.is_err() && is_alias(&from_folder, to, from) {
                let _ = to_folder.rename_replacing(to_name, &from_folder, from_name);
            }
            return Err(failed(error));
        }
        self.vault.renamed(from, to);
        Ok(())
    }

    /// Moves temporary files of an earlier run to the recovery folder: after a crash between
    /// exchange and hash they may be the user's text. Only for the process that holds the vault's
    /// lock.
    pub fn sweep(&self) {
        for path in self.vault.take_unfinished() {
            if let Ok((folder, name)) = self.root().open_parent(&path) {
                self.vault.recovery.rescue_entry(&folder, name, &path);
            }
        }
    }

    /// Removes a temporary file left by a crash, if it has exactly this revision; `false` if not.
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
        self.vault.forget_unfinished(path);
        Ok(true)
    }

    /// Ends an exchange of a note and its temporary file that a crash interrupted in the middle, as it can on Windows.
    /// The replaced file, which may be the user's text, becomes the note if that is missing, else the temporary file. If
    /// neither is missing, since somebody has made the note again, it goes to the recovery folder.
    pub fn finish_exchange(&self, path: &VaultPath, temp: &str) -> Result<(), VaultError> {
        let folder = path.parent().unwrap_or_else(VaultPath::root);
        let paths = folder.join(temp).zip(folder.join(&aside_name(temp)));
        let is_there = |path: &VaultPath| self.root().stat_at(path).is_ok();
        let Some((temp, aside)) = paths.filter(|(_, aside)| is_there(aside)) else { return Ok(()) };
        match (is_there(path), is_there(&temp)) {
            (false, _) => self.restore_from_temp(&aside, path)?,
            (true, false) => {
                self.restore_from_temp(&aside, &temp)?;
                self.vault.note_unfinished(temp);
            }
            (true, true) => {
                let failed = |error| VaultError::io("rescue", &aside, error);
                let (folder, name) = self.root().open_parent(&aside).map_err(failed)?;
                self.vault.recovery.rescue_entry(&folder, name, path);
                self.vault.forget_unfinished(&aside);
            }
        }
        Ok(())
    }

    /// Renames a temporary path back, without replacing: a deletion interrupted by a crash had
    /// moved the file there.
    pub fn restore_from_temp(&self, aside: &VaultPath, to: &VaultPath) -> Result<(), VaultError> {
        let failed = |error| VaultError::io("restore", to, error);
        self.vault.allowed(to)?;
        let (folder, name) = self.root().open_parent(aside).map_err(failed)?;
        let (to_folder, to_name) = self.root().open_parent(to).map_err(failed)?;
        rename_new(&folder, name, &to_folder, to_name).map_err(failed)?;
        self.durable.sync_names(&to_folder).map_err(failed)?;
        self.vault.forget_unfinished(aside);
        self.vault.recheck(to);
        Ok(())
    }

    /// The folders that [`Self::create_folders`] would make, outermost first.
    ///
    /// # Errors
    /// From the system: a folder that cannot be checked must not be taken for existing.
    pub fn missing_folders(&self, path: &VaultPath) -> Result<Vec<VaultPath>, VaultError> {
        let (mut here, mut missing) = (VaultPath::root(), Vec::new());
        for component in path.components() {
            here = here.join(component).expect("a component is a name");
            if missing.is_empty() {
                match self.root().stat_at(&here) {
                    Ok(_) => continue,
                    // A file in place of a parent is reported when the folder is made.
                    Err(error) if is_absence(&error) => {}
                    Err(error) => return Err(VaultError::io("look at", &here, error)),
                }
            }
            missing.push(here.clone());
        }
        Ok(missing)
    }
}

/// Whether `to` exists only as another spelling of `from` on this file system. Identities cannot
/// tell: FUSE may give a file another one at every stat.
fn is_alias(folder: &Folder, from: &VaultPath, to: &VaultPath) -> bool {
    let one_name = from.parent() == to.parent() && from.fold_key() == to.fold_key();
    one_name
        && folder
            .list()
            .is_ok_and(|listed| listed.iter().all(|one| one.name.to_str() != Some(to.name())))
}
