//! The vault's folder: its handle, its path on this machine, and its protection rules.
//!
//! A [`Root`] has no catalogue and no view. It takes resolved paths.

mod abilities;
mod hard_links;
mod realpath;

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, RwLock, RwLockReadGuard, TryLockError};

use arc_swap::ArcSwap;

pub use abilities::Abilities;
pub(super) use realpath::{Last, MAX_LINKS, link_target, realpath};

use super::dir::{FileId, Folder, Kind, Meta, Name, files_in, must_keep_inode};
use super::error::VaultError;
use super::obsidian;
use super::protect::Protection;
use crate::locks::read;
use crate::note::path::VaultPath;
use hard_links::HardLinks;

pub struct Root {
    location: PathBuf,
    name: String,
    opened: ArcSwap<Opened>,
    /// Read-locked during a change, so that the folder is not replaced meanwhile.
    held: RwLock<()>,
}

/// The folder opened at the vault's path.
pub(super) struct Opened {
    folder: Folder,
    id: FileId,
    protection: Protection,
    hard_links: HardLinks,
    abilities: OnceLock<Abilities>,
    /// Whether it replaced the folder that was there when the process started.
    is_replacement: bool,
}

impl Deref for Opened {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

impl Opened {
    fn open(
        location: &Path,
        protection: Protection,
        is_replacement: bool,
    ) -> Result<Self, VaultError> {
        let failed = not_opened(location);
        let folder = Folder::open_root(location).map_err(&failed)?;
        let id = folder.meta().map_err(failed)?.id;
        let (hard_links, abilities) = (HardLinks::default(), OnceLock::new());
        Ok(Self { folder, id, protection, hard_links, abilities, is_replacement })
    }

    /// Whether it is not empty: an empty folder may be a mount point without its disk.
    fn has_content(&self) -> bool {
        let is_content = |name: &std::ffi::OsString| name != "lost+found";
        self.folder.list().is_ok_and(|listed| listed.iter().any(|one| is_content(&one.name)))
    }
}

fn not_opened(location: &Path) -> impl Fn(io::Error) -> VaultError {
    move |source| VaultError::Io {
        action: "open the vault at",
        path: location.display().to_string(),
        source,
    }
}

/// The path in the vault at `root` that `location` resolves to, if it is inside.
fn path_inside(root: &Path, location: &Path) -> Option<VaultPath> {
    path_below(root, &dunce::canonicalize(location).ok()?)
}

fn path_below(root: &Path, real: &Path) -> Option<VaultPath> {
    let path = real.strip_prefix(root).ok()?.to_str()?;
    VaultPath::from_disk(&path.replace('\\', "/")).filter(|path| !path.is_root())
}

impl Root {
    /// Opens the folder at `location`; `state`, the steward's own folder, is protected if it is
    /// inside.
    pub(super) fn open(location: &Path, state: &Path) -> Result<Self, VaultError> {
        let location = dunce::canonicalize(location).map_err(not_opened(location))?;
        let protection =
            Protection::new(&obsidian::config_folders(&location), path_inside(&location, state));
        let opened = Opened::open(&location, protection, false)?;
        let name =
            location.file_name().unwrap_or(location.as_os_str()).to_string_lossy().into_owned();
        Ok(Self { location, name, opened: ArcSwap::from_pointee(opened), held: RwLock::default() })
    }

    /// The handle of the vault's folder.
    pub(super) fn folder(&self) -> Arc<Opened> {
        self.opened.load_full()
    }

    /// Prevents [`Self::reopen`] while the guard lives.
    pub fn hold(&self) -> RwLockReadGuard<'_, ()> {
        read(&self.held)
    }

    /// Opens the folder now at the vault's path, if it is another one and not empty; returns
    /// whether it is. Protected paths stay protected.
    ///
    /// # Errors
    /// [`VaultError::Gone`] if there is none, or a change is in progress.
    pub(super) fn reopen(&self) -> Result<bool, VaultError> {
        let gone = || VaultError::Gone { root: self.location.clone() };
        let _alone = match self.held.try_write() {
            Ok(alone) => alone,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(gone()),
        };
        if self.check_root().is_ok() {
            return Ok(false);
        }
        // A link in place of the folder is not followed.
        if dunce::canonicalize(&self.location).ok().as_ref() != Some(&self.location) {
            return Err(gone());
        }
        let protection = self.folder().protection.with(&obsidian::config_folders(&self.location));
        let opened = Opened::open(&self.location, protection, true).map_err(|_| gone())?;
        if !opened.has_content() {
            return Err(gone());
        }
        self.opened.store(Arc::new(opened));
        Ok(true)
    }

    /// Protects the steward's settings files and folders that are in the vault, directly or through
    /// a link; returns them. Only the first call takes effect.
    pub fn protect(&self, places: &[PathBuf]) -> Vec<VaultPath> {
        let mut own: Vec<VaultPath> =
            places.iter().filter_map(|location| path_inside(&self.location, location)).collect();
        for location in places {
            // The name may itself be a link in the vault.
            let named = location.parent().and_then(|folder| dunce::canonicalize(folder).ok());
            let named = named.zip(location.file_name()).map(|(folder, name)| folder.join(name));
            own.extend(named.and_then(|named| path_below(&self.location, &named)));
        }
        own.sort();
        own.dedup();
        self.folder().protection.protect(own.clone());
        own
    }

    /// The vault's canonical path on this machine.
    pub fn root(&self) -> &Path {
        &self.location
    }

    /// The absolute path on this machine.
    pub(super) fn place_of(&self, path: &VaultPath) -> PathBuf {
        path.components().fold(self.location.clone(), |at, name| at.join(name))
    }

    /// The vault's name: its folder's name, as in Obsidian.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file system's features, probed at the first call with two short-lived hidden files in
    /// the vault's root.
    pub fn abilities(&self) -> Abilities {
        let opened = self.folder();
        *opened.abilities.get_or_init(|| abilities::probe(&opened))
    }

    /// The file system's name, if its change events are unreliable.
    pub fn remote_file_system(&self) -> Option<&'static str> {
        self.folder().remote_file_system()
    }

    /// Checks that the vault's folder is still the one that was opened.
    ///
    /// # Errors
    /// [`VaultError::Gone`] if it was moved, removed or unmounted, or another is in its place.
    pub fn check_root(&self) -> Result<(), VaultError> {
        match Folder::root_meta(&self.location) {
            Ok(meta) if meta.id == self.opened.load().id => Ok(()),
            _ => Err(VaultError::Gone { root: self.location.clone() }),
        }
    }

    /// As [`Self::check_root`], and checks that a replacement folder is writable: a confined
    /// process may write only to the folder that it started with.
    pub(super) fn check_writable_root(&self) -> Result<(), VaultError> {
        self.check_root()?;
        if self.folder().is_replacement && !self.abilities().writable {
            Err(VaultError::Replaced { root: self.location.clone() })
        } else {
            Ok(())
        }
    }

    /// Checks that the vault's disk still answers: if it is gone, failing stats must not be taken
    /// for missing files.
    pub fn check_disk(&self) -> Result<(), VaultError> {
        self.check_root()?;
        let root = VaultPath::root();
        self.folder().sync().map_err(|error| VaultError::io("look at", &root, error))
    }

    pub fn stat(&self, path: &VaultPath) -> Result<Meta, VaultError> {
        self.folder().stat_at(path).map_err(|error| VaultError::io("look at", path, error))
    }

    /// Opens the regular file at a resolved, allowed path; refuses hard links to protected files.
    pub(super) fn open_allowed(&self, path: &VaultPath) -> Result<(File, Meta), VaultError> {
        let opened = self.folder().open_file_at(path);
        let (file, meta) = opened.map_err(|error| self.not_opened(path, error))?;
        if meta.names > 1 {
            self.refuse_protected_hard_link(path, &meta)?;
        }
        Ok((file, meta))
    }

    /// Turns a failure to open `path` into a [`VaultError`].
    pub(super) fn not_opened(&self, path: &VaultPath, error: io::Error) -> VaultError {
        match self.folder().stat_at(path).map(|meta| meta.kind) {
            Ok(kind) if kind != Kind::File => VaultError::NotAFile { path: path.clone(), kind },
            _ => VaultError::io("open", path, error),
        }
    }

    /// Every regular file below a folder, hidden ones included, by its path relative to it. Skips
    /// names that are not UTF-8, and follows no links.
    pub fn files_below(&self, folder: &VaultPath) -> Result<Vec<(VaultPath, Meta)>, VaultError> {
        self.allowed(folder)?;
        let failed = |error| VaultError::io("list", folder, error);
        self.folder().open_folder_at(folder).and_then(files_in).map_err(failed)
    }

    /// Refuses protected paths. `path` must be free of links.
    pub(super) fn allowed(&self, path: &VaultPath) -> Result<(), VaultError> {
        match self.opened.load().protection.check(path) {
            Some(found) => Err(VaultError::Protected {
                path: path.to_string(),
                folder: found.folder,
                reason: found.reason,
            }),
            None => Ok(()),
        }
    }

    pub(super) fn refuse_protected_hard_link(
        &self,
        path: &VaultPath,
        meta: &Meta,
    ) -> Result<(), VaultError> {
        let opened = self.folder();
        opened.hard_links.refuse(&opened, &opened.protection, path, meta)
    }

    /// Refuses a folder that contains a protected one, which would be deleted or moved with it.
    pub(super) fn refuse_protected_below(&self, path: &VaultPath) -> Result<(), VaultError> {
        let opened = self.folder();
        opened.hard_links.refuse_folder(&opened, &opened.protection, path)
    }

    /// Stores the hidden folders that a scan found.
    pub(super) fn set_hidden_folders(&self, mut hidden: Vec<VaultPath>) {
        let opened = self.folder();
        hidden.retain(|path| opened.protection.check(path).is_some());
        opened.hard_links.set_protected_folders(hidden);
    }

    // The next two checks run before a plan starts, so that it is refused as a whole, and in a dry
    // run. They only predict: the change itself may still fail.

    /// Checks whether the file at a resolved path can be written, without writing: its mode, the
    /// access rights and, where a save would replace it, those of its folder.
    ///
    /// # Errors
    /// The error of a write here: [`VaultError::ReadOnly`], or the system's.
    pub fn may_write(&self, path: &VaultPath) -> Result<(), VaultError> {
        self.check_writable_root()?;
        self.allowed(path)?;
        let failed = |error| VaultError::io("write", path, error);
        let (folder, name) = self.folder().open_parent(path).map_err(failed)?;
        let opened = folder.open_file(name);
        let (file, meta) = opened.map_err(|error| self.not_opened(path, error))?;
        if !meta.writable_bits() {
            return Err(VaultError::ReadOnly { path: path.clone() });
        }
        folder.may_write(name).map_err(failed)?;
        if must_keep_inode(&file, &meta) { Ok(()) } else { folder.may_change().map_err(failed) }
    }

    /// Checks whether `from` can be moved to `to`, without moving it.
    ///
    /// # Errors
    /// The error of such a move: [`VaultError::OtherDisk`], or the system's.
    pub fn may_move(&self, from: &VaultPath, to: &VaultPath) -> Result<(), VaultError> {
        self.check_writable_root()?;
        self.allowed(from)?;
        self.allowed(to)?;
        self.refuse_protected_below(from)?;
        let failed = |error| VaultError::io("move", from, error);
        let (old, name) = self.folder().open_parent(from).map_err(failed)?;
        old.may_change().map_err(failed)?;
        let new = self.nearest_folder(to).map_err(failed)?;
        new.may_change().map_err(|error| VaultError::io("make", to, error))?;
        let ids = [old.meta().map_err(failed)?.id, new.meta().map_err(failed)?.id];
        if !ids.contains(&FileId::UNKNOWN) && ids[0].device != ids[1].device {
            return Err(VaultError::OtherDisk { action: "move", path: from.clone() });
        }
        if from.parent() == to.parent() { Ok(()) } else { may_leave(&old, name).map_err(failed) }
    }

    /// The nearest existing ancestor of `path`.
    fn nearest_folder(&self, path: &VaultPath) -> io::Result<Folder> {
        let mut above = path.parent();
        loop {
            let here = above.unwrap_or_else(VaultPath::root);
            match self.folder().open_folder_at(&here) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !here.is_root() => {
                    above = here.parent();
                }
                opened => return opened,
            }
        }
    }
}

/// Checks whether an entry can move to another folder: moving a folder changes its `..`, so it must
/// be writable itself.
fn may_leave(folder: &Folder, name: Name) -> io::Result<()> {
    match folder.stat(name)?.kind {
        Kind::Folder => folder.open_folder(name)?.may_change(),
        Kind::File | Kind::Link | Kind::Other => Ok(()),
    }
}
