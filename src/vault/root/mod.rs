//! The vault's folder: its handle, its place on this machine, and what in it is out of reach.
//!
//! A [`Root`] knows neither the catalogue nor who asks. Paths that it takes are resolved already.

mod abilities;
mod real;
mod twins;

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, RwLock, RwLockReadGuard, TryLockError};

use arc_swap::ArcSwap;

pub use abilities::Abilities;
pub(super) use real::{Last, link_target, real};

use super::dir::{FileId, Folder, Kind, Meta, Name, files_in, must_stay};
use super::error::VaultError;
use super::locks::read;
use super::obsidian;
use super::protect::Protection;
use crate::note::path::VaultPath;
use twins::Twins;

/// The folder of a vault.
pub struct Root {
    place: PathBuf,
    name: String,
    opened: ArcSwap<Opened>,
    /// Read by a change while it is made: the folder stays the one that it was.
    held: RwLock<()>,
}

/// The folder that was opened at the vault's place.
pub(super) struct Opened {
    folder: Folder,
    id: FileId,
    protection: Protection,
    twins: Twins,
    abilities: OnceLock<Abilities>,
    /// Whether another was there when the process started.
    is_replacement: bool,
}

/// Whoever has it opened looks into it.
impl Deref for Opened {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

impl Opened {
    fn open(
        place: &Path,
        protection: Protection,
        is_replacement: bool,
    ) -> Result<Self, VaultError> {
        let failed = not_opened(place);
        let folder = Folder::open_root(place).map_err(&failed)?;
        let id = folder.meta().map_err(failed)?.id;
        let (twins, abilities) = (Twins::default(), OnceLock::new());
        Ok(Self { folder, id, protection, twins, abilities, is_replacement })
    }

    /// Whether anything is in it. Where a disk is to be mounted lies an empty folder.
    fn has_content(&self) -> bool {
        let is_content = |name: &std::ffi::OsString| name != "lost+found";
        self.folder.list().is_ok_and(|listed| listed.iter().any(|one| is_content(&one.name)))
    }
}

fn not_opened(place: &Path) -> impl Fn(io::Error) -> VaultError {
    move |source| VaultError::Io {
        action: "open the vault at",
        path: place.display().to_string(),
        source,
    }
}

/// The path in the vault at `root` that `place` leads to, if it does.
fn inside(root: &Path, place: &Path) -> Option<VaultPath> {
    below(root, &dunce::canonicalize(place).ok()?)
}

fn below(root: &Path, real: &Path) -> Option<VaultPath> {
    let path = real.strip_prefix(root).ok()?.to_str()?;
    VaultPath::from_disk(&path.replace('\\', "/")).filter(|path| !path.is_root())
}

impl Root {
    /// Opens the folder at `place`; `state` is the steward's own folder, which may lie in it.
    ///
    /// # Errors
    /// [`VaultError::Io`] if the folder cannot be opened.
    pub(super) fn open(place: &Path, state: &Path) -> Result<Self, VaultError> {
        let place = dunce::canonicalize(place).map_err(not_opened(place))?;
        let protection = Protection::new(&obsidian::config_folders(&place), inside(&place, state));
        let opened = Opened::open(&place, protection, false)?;
        let name = place.file_name().unwrap_or(place.as_os_str()).to_string_lossy().into_owned();
        Ok(Self { place, name, opened: ArcSwap::from_pointee(opened), held: RwLock::default() })
    }

    /// The handle of the vault's folder.
    pub(super) fn folder(&self) -> Arc<Opened> {
        self.opened.load_full()
    }

    /// Keeps the folder the one that it is, as long as a change takes.
    pub fn hold(&self) -> RwLockReadGuard<'_, ()> {
        read(&self.held)
    }

    /// Opens the folder that is at the vault's place by now, if it is another one and has content;
    /// whether it was. What was protected by its path stays so.
    ///
    /// # Errors
    /// [`VaultError::Gone`] if there is none, or a change is under way.
    pub(super) fn reopen(&self) -> Result<bool, VaultError> {
        let gone = || VaultError::Gone { root: self.place.clone() };
        let _alone = match self.held.try_write() {
            Ok(alone) => alone,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(gone()),
        };
        if self.check_root().is_ok() {
            return Ok(false);
        }
        // The vault's own path, not whatever a link that lies there now leads to.
        if dunce::canonicalize(&self.place).ok().as_ref() != Some(&self.place) {
            return Err(gone());
        }
        let protection = self.folder().protection.with(&obsidian::config_folders(&self.place));
        let opened = Opened::open(&self.place, protection, true).map_err(|_| gone())?;
        if !opened.has_content() {
            return Err(gone());
        }
        self.opened.store(Arc::new(opened));
        Ok(true)
    }

    /// Protects what of these files and folders lies in the vault, by its name or by what its name
    /// leads to; what that is.
    pub(super) fn protect(&self, places: &[PathBuf]) -> Vec<VaultPath> {
        let mut own: Vec<VaultPath> =
            places.iter().filter_map(|place| inside(&self.place, place)).collect();
        for place in places {
            // Its name may be a link that lies in the vault itself.
            let named = place.parent().and_then(|folder| dunce::canonicalize(folder).ok());
            let named = named.zip(place.file_name()).map(|(folder, name)| folder.join(name));
            own.extend(named.and_then(|named| below(&self.place, &named)));
        }
        own.sort();
        own.dedup();
        self.folder().protection.protect(own.clone());
        own
    }

    /// Where the vault lies on this machine, links in that path resolved.
    pub fn root(&self) -> &Path {
        &self.place
    }

    /// Where a path of the vault lies on this machine.
    pub(super) fn place_of(&self, path: &VaultPath) -> PathBuf {
        path.components().fold(self.place.clone(), |at, name| at.join(name))
    }

    /// The vault's name: that of its folder, as in Obsidian.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the vault's file system can do; probed at the first call, with two short-lived hidden
    /// files in the vault's root.
    pub fn abilities(&self) -> Abilities {
        let opened = self.folder();
        *opened.abilities.get_or_init(|| abilities::probe(&opened))
    }

    /// What this file system is, where events cannot be relied on.
    pub fn remote_file_system(&self) -> Option<&'static str> {
        self.folder().remote_file_system()
    }

    /// Says whether the vault's folder is still the one that was opened.
    ///
    /// # Errors
    /// [`VaultError::Gone`] if it was moved, removed or unmounted, or another is in its place.
    pub fn check_root(&self) -> Result<(), VaultError> {
        match Folder::root_meta(&self.place) {
            Ok(meta) if meta.id == self.opened.load().id => Ok(()),
            _ => Err(VaultError::Gone { root: self.place.clone() }),
        }
    }

    /// As [`Self::check_root`], and whether anything can be written to a folder that took the place of the
    /// one that was there when the process started: one that confined itself may write to that alone.
    ///
    /// # Errors
    /// [`VaultError::Gone`], [`VaultError::Replaced`].
    pub(super) fn check_writable_root(&self) -> Result<(), VaultError> {
        self.check_root()?;
        match self.folder().is_replacement && !self.abilities().writable {
            true => Err(VaultError::Replaced { root: self.place.clone() }),
            false => Ok(()),
        }
    }

    /// Says whether the vault's disk still answers. One that is gone refuses every look, which must
    /// not be taken for files that are not there.
    ///
    /// # Errors
    /// [`VaultError::Gone`], or as the system says.
    pub fn check_disk(&self) -> Result<(), VaultError> {
        self.check_root()?;
        let root = VaultPath::root();
        self.folder().sync().map_err(|error| VaultError::io("look at", &root, error))
    }

    /// What is at a resolved path now.
    pub fn stat(&self, path: &VaultPath) -> Result<Meta, VaultError> {
        self.folder().stat_at(path).map_err(|error| VaultError::io("look at", path, error))
    }

    /// Opens the regular file at a resolved path that is allowed; not another name of a protected one.
    pub(super) fn open_allowed(&self, path: &VaultPath) -> Result<(File, Meta), VaultError> {
        let opened = self.folder().open_file_at(path);
        let (file, meta) = opened.map_err(|error| self.not_opened(path, error))?;
        if meta.names > 1 {
            self.not_a_protected_twin(path, &meta)?;
        }
        Ok((file, meta))
    }

    /// What it means that the file at `path` was not opened.
    pub(super) fn not_opened(&self, path: &VaultPath, error: io::Error) -> VaultError {
        match self.folder().stat_at(path).map(|meta| meta.kind) {
            Ok(kind) if kind != Kind::File => VaultError::NotAFile { path: path.clone(), kind },
            _ => VaultError::io("open", path, error),
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
        self.folder().open_folder_at(folder).and_then(files_in).map_err(failed)
    }

    /// Refuses what no tool may touch. `path` is free of links.
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

    /// Refuses another name of a protected file.
    pub(super) fn not_a_protected_twin(
        &self,
        path: &VaultPath,
        meta: &Meta,
    ) -> Result<(), VaultError> {
        let opened = self.folder();
        opened.twins.refuse(&opened, &opened.protection, path, meta)
    }

    /// Refuses to delete or move a folder that would take a protected one along.
    pub(super) fn holds_nothing_protected(&self, path: &VaultPath) -> Result<(), VaultError> {
        let opened = self.folder();
        opened.twins.refuse_above(&opened, &opened.protection, path)
    }

    /// Takes in the hidden folders that a scan has met.
    pub(super) fn met(&self, mut hidden: Vec<VaultPath>) {
        let opened = self.folder();
        hidden.retain(|path| opened.protection.check(path).is_some());
        opened.twins.met(hidden);
    }

    // Asked before anything is done: what is planned is then refused as a whole, and a dry run says what
    // the change itself would. The answers hold for the moment; whoever changes something meets the
    // system's own word all the same.

    /// Whether the file at a resolved path may get another content, as far as it can be told without
    /// writing: by its mode, by the system's word on the file and, where it would be replaced by another
    /// of its name, by that on its folder.
    ///
    /// # Errors
    /// What a write would fail with: [`VaultError::ReadOnly`], as the system says.
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
        self.check_writable_root()?;
        self.allowed(from)?;
        self.allowed(to)?;
        self.holds_nothing_protected(from)?;
        let failed = |error| VaultError::io("move", from, error);
        let (old, name) = self.folder().open_parent(from).map_err(failed)?;
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
            match self.folder().open_folder_at(&here) {
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
