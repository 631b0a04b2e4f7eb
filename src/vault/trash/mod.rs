//! Deletes as Obsidian does: to the system's trash, to `.trash/`, or to the steward's `kept/`
//! folder. A deletion never unlinks.

#[cfg(not(target_os = "linux"))]
#[path = "crate_trash.rs"]
mod system;
#[cfg(target_os = "linux")]
#[path = "freedesktop.rs"]
mod system;

mod cross_device;
mod trashed;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use trashed::{Keeping, TrashEntry, Trashed};

use super::content::Precondition;
use super::dir::{Folder, Kind, Meta, Name, files_in, sync_folder};
use super::durable::{Durable, rename_durably, rename_durably_in_both};
use super::error::VaultError;
use super::obsidian::TrashOption;
use super::read::Reader;
use super::revision::Revision;
use super::root::Opened;
use super::temp::is_temp_name;
use crate::note::path::{MAX_NAME_BYTES, VaultPath};
use cross_device::{Extent, copy_durably, copy_missing, move_across, remove_copy, utf8};

/// The vault's own trash.
pub const TRASH_FOLDER: &str = ".trash";

/// The system's trash for the vault at `root`, if this program writes to it directly (Linux) and it
/// is on the same disk. It may not exist yet.
pub fn system_trash(root: &Path) -> Option<PathBuf> {
    system::of_vault(root)
}

/// Makes the folder named by [`system_trash`] if it is missing.
pub fn make_system_trash(trash: &Path) -> io::Result<()> {
    system::make(trash)
}

/// Deletes to the trashes and restores from them; part of a [`Writer`](super::Writer).
pub struct Trash {
    pub(super) vault: Reader,
    pub(super) durable: Durable,
}

impl Trash {
    pub(super) fn root(&self) -> Arc<Opened> {
        self.vault.folder()
    }

    /// Deletes a file, link (not its target) or folder according to the vault's `trashOption`, or
    /// into `kept/` if `keeping` says so.
    ///
    /// # Errors
    /// [`VaultError::Stale`] if the file does not have the revision of `before`;
    /// [`VaultError::Protected`] for a folder that contains a protected one; errors of the system.
    /// The entry is not moved then.
    pub fn delete(
        &self,
        path: &VaultPath,
        before: &Precondition,
        keeping: &Keeping,
    ) -> Result<Trashed, VaultError> {
        self.vault.check_writable_root()?;
        self.vault.allowed(path)?;
        self.vault.refuse_protected_below(path)?;
        self.vault.close_late_below(path);
        let failed = |error| VaultError::io("delete", path, error);
        let (folder, name) = self.root().open_parent(path).map_err(failed)?;
        let meta = folder.stat(name).map_err(failed)?;
        if let (Some(expected), Kind::File) = (before.revision(), meta.kind) {
            let file = folder.open_file(name).map_err(failed)?.0;
            let current = Revision::of_reader(file).map_err(failed)?;
            if current != expected {
                return Err(VaultError::Stale { path: path.clone(), current: Some(current) });
            }
        }
        let trashed = match self.vault.obsidian().trash {
            _ if keeping.past_trash => {
                Trashed::Kept { place: self.move_to_kept(path, &folder, name, keeping)? }
            }
            TrashOption::Local => self.to_local(path, &folder, name, None)?,
            TrashOption::System => {
                match system::put(&self.durable, &folder, name, &self.vault.place_of(path)) {
                    Ok(place) => Trashed::System { place },
                    Err(reason) => self.to_local(path, &folder, name, Some(reason))?,
                }
            }
            TrashOption::None => {
                Trashed::Kept { place: self.move_to_kept(path, &folder, name, keeping)? }
            }
        };
        let synced = self.durable.sync_names(&folder);
        self.vault.forget(path);
        if let Err(error) = synced {
            // It is in the trash; at worst a power cut undoes the deletion.
            self.vault
                .warn(format!("a power cut may still undo the deletion of `{path}`: {error}"));
        }
        Ok(trashed)
    }

    /// Moves to `.trash/`, which is flat: `name.ext`, `name 2.ext`, `name 3.ext`. Like Obsidian,
    /// takes what follows the last dot as the extension, even of a folder.
    fn to_local(
        &self,
        path: &VaultPath,
        folder: &Folder,
        name: Name,
        instead: Option<String>,
    ) -> Result<Trashed, VaultError> {
        let failed = |error| VaultError::io("move to .trash", path, error);
        let root = self.root();
        let trash_name = Name::new(TRASH_FOLDER).map_err(failed)?;
        let made = match root.create_folder(trash_name) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(failed(error)),
        };
        let synced = if made { self.durable.sync_names(&root) } else { Ok(()) };
        let moved =
            synced.map_err(failed).and_then(|()| self.to_free_name(path, folder, name, trash_name));
        if made && moved.is_err() {
            // Fails if another program has put something in it, which is right.
            let _ = root.remove_folder(trash_name);
        }
        moved.map(|path| Trashed::Local { path, instead })
    }

    fn to_free_name(
        &self,
        path: &VaultPath,
        folder: &Folder,
        name: Name,
        trash: Name,
    ) -> Result<VaultPath, VaultError> {
        let failed = |error| VaultError::io("move to .trash", path, error);
        let root = self.root();
        let trash = root.open_folder(trash).map_err(failed)?;
        for number in 1..10_000_u32 {
            let free = numbered_name(path.name(), number);
            let to = Name::new(&free).map_err(failed)?;
            match rename_durably(&self.durable, (folder, name), (&trash, to)) {
                Ok(()) => {
                    let path = VaultPath::from_disk(&format!("{TRASH_FOLDER}/{free}"));
                    return Ok(path.expect("two names make a path"));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(io::Error::from(io::ErrorKind::AlreadyExists)))
    }

    /// Moves to a new folder in `kept/`.
    fn move_to_kept(
        &self,
        path: &VaultPath,
        folder: &Folder,
        name: Name,
        keeping: &Keeping,
    ) -> Result<PathBuf, VaultError> {
        let failed = |error| VaultError::io("move to the steward's keeping", path, error);
        let aside = Name::new(&keeping.aside).map_err(failed)?;
        let above = self.vault.recovery.kept_folder().join(&keeping.folder);
        std::fs::create_dir_all(&above).map_err(failed)?;
        sync_folder(&self.vault.recovery.kept_folder()).map_err(failed)?;
        let kept = Folder::open_root(&above).map_err(failed)?;
        let place = above.join(path.name());
        let done = match rename_durably(&self.durable, (folder, name), (&kept, name)) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                move_across((folder, name), aside, (&kept, name))
            }
            done => done,
        };
        if done.is_err() {
            // Fails if it is not empty, which is right.
            let _ = std::fs::remove_dir(&above);
        }
        done.map(|()| place).map_err(failed)
    }

    /// The location in `kept/` for these names.
    pub fn kept_copy(&self, path: &VaultPath, keeping: &Keeping) -> Trashed {
        let above = self.vault.recovery.kept_folder().join(&keeping.folder);
        Trashed::Kept { place: above.join(path.name()) }
    }

    /// Copies missing files from `kept/` after an incomplete restore.
    ///
    /// # Errors
    /// From the system; files not copied stay in `kept/`.
    pub fn complete_from_kept(
        &self,
        path: &VaultPath,
        keeping: &Keeping,
    ) -> Result<(), VaultError> {
        let failed = |error| VaultError::io("restore", path, error);
        let kept = self.kept_copy(path, keeping);
        let Some((from, name)) = self.place_of(&kept).ok().flatten() else { return Ok(()) };
        let name = Name::new(&name).map_err(failed)?;
        if from.stat(name).is_err() {
            return Ok(());
        }
        let (folder, to_name) = self.root().open_parent(path).map_err(failed)?;
        copy_missing((&from, name), (&folder, to_name)).map_err(failed)?;
        self.vault.recheck_folder(path);
        Ok(())
    }

    /// Removes the copy that an undone deletion made on another disk: each file that is a prefix of
    /// the vault's. Others stay.
    pub fn remove_kept_copy(&self, path: &VaultPath, keeping: &Keeping) {
        self.remove_kept(&self.kept_copy(path, keeping), path, Extent::Prefix);
    }

    /// Ends a [`Self::restore`] once it is recorded: removes the originals on another disk that
    /// equal the vault's files, and the trash's records.
    pub fn finish_restore(&self, trashed: &Trashed, to: &VaultPath) {
        match trashed {
            Trashed::Kept { .. } => self.remove_kept(trashed, to, Extent::Whole),
            Trashed::Local { .. } | Trashed::System { .. } => self.forget_trashed(trashed),
        }
    }

    fn remove_kept(&self, kept: &Trashed, path: &VaultPath, extent: Extent) {
        if let Ok(Some((keeping, name))) = self.place_of(kept)
            && let Ok(name) = Name::new(&name)
            && let Ok((folder, original)) = self.root().open_parent(path)
        {
            remove_copy((&keeping, name), (&folder, original), extent);
        }
        self.forget_trashed(kept);
    }

    /// Searches the trashes for an entry deleted from `path` whose metadata `is` accepts.
    pub fn find_trashed(
        &self,
        path: &VaultPath,
        keeping: &Keeping,
        is: &dyn Fn(&Meta) -> bool,
    ) -> Option<Trashed> {
        let here = |folder: &Folder, name: Name| folder.stat(name).is_ok_and(|meta| is(&meta));
        if let Ok(trash) = Name::new(TRASH_FOLDER).and_then(|name| self.root().open_folder(name))
            && let Some(found) = numbered_in(&trash, path.name(), &here)
        {
            let path = VaultPath::from_disk(&format!("{TRASH_FOLDER}/{found}"))?;
            return Some(Trashed::Local { path, instead: None });
        }
        let kept = self.vault.recovery.kept_folder().join(&keeping.folder);
        if let (Ok(folder), Ok(name)) = (Folder::open_root(&kept), Name::new(path.name()))
            && here(&folder, name)
        {
            return Some(Trashed::Kept { place: kept.join(path.name()) });
        }
        system::find(path.name(), &here).map(|place| Trashed::System { place: Some(place) })
    }

    /// Stats a deleted entry; `None` if it is gone.
    pub fn stat_trashed(&self, trashed: &Trashed) -> Option<Meta> {
        let (folder, name) = self.place_of(trashed).ok()??;
        folder.stat(Name::new(&name).ok()?).ok()
    }

    /// One entry as listed by [`Self::trashed`]; `None` if it is gone.
    pub fn trash_entry(&self, trashed: &Trashed) -> Option<TrashEntry> {
        let (folder, name) = self.place_of(trashed).ok()??;
        let meta = folder.stat(Name::new(&name).ok()?).ok()?;
        let touched = newest_ctime(&folder, OsStr::new(&name), &meta);
        Some(TrashEntry { place: trashed.clone(), meta, touched })
    }

    /// Reads a deleted file, up to the vault's size limit.
    pub fn read_trashed(&self, trashed: &Trashed) -> Option<Vec<u8>> {
        use io::Read;
        let (folder, name) = self.place_of(trashed).ok()??;
        let (file, meta) = folder.open_file(Name::new(&name).ok()?).ok()?;
        let limit = self.vault.max_file_bytes();
        let mut bytes = Vec::new();
        let read = file.take(limit + 1).read_to_end(&mut bytes);
        (meta.size <= limit && read.is_ok() && bytes.len() as u64 <= limit).then_some(bytes)
    }

    /// The files below a deleted folder, by their path relative to it, without links and names that
    /// are not UTF-8. `None` if it cannot be listed.
    pub fn files_in_trashed(&self, trashed: &Trashed) -> Option<Vec<VaultPath>> {
        let (folder, name) = self.place_of(trashed).ok()??;
        let files = files_in(folder.open_folder(Name::new(&name).ok()?).ok()?).ok()?;
        Some(files.into_iter().map(|(path, _)| path).collect())
    }

    /// As [`Self::place_of`]; an error if it is not known.
    fn known_place(&self, trashed: &Trashed) -> io::Result<(Folder, String)> {
        self.place_of(trashed)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// The folder that contains a deleted entry, and its name there; `None` if it is not known.
    fn place_of(&self, trashed: &Trashed) -> io::Result<Option<(Folder, String)>> {
        match trashed {
            Trashed::Local { path, .. } => {
                let (folder, name) = self.root().open_parent(path)?;
                Ok(Some((folder, name.as_str().to_owned())))
            }
            Trashed::System { place: Some(place) } | Trashed::Kept { place } => {
                let (Some(above), Some(name)) = (place.parent(), place.file_name()) else {
                    return Ok(None);
                };
                Ok(Some((Folder::open_root(above)?, name.to_string_lossy().into_owned())))
            }
            Trashed::System { place: None } => Ok(None),
        }
    }

    /// Moves a deleted entry back into the vault, without replacing. The parent of `to` must exist.
    /// From another disk it is copied through the temporary name `temp`, and the original stays
    /// until [`Self::finish_restore`].
    ///
    /// # Errors
    /// From the system, or [`VaultError::NotFound`] if its location is not known; it stays in the
    /// trash then.
    pub fn restore(&self, trashed: &Trashed, to: &VaultPath, temp: &str) -> Result<(), VaultError> {
        let failed = |error| VaultError::io("restore", to, error);
        self.vault.check_writable_root()?;
        self.vault.allowed(to)?;
        let (from, name) = self.known_place(trashed).map_err(failed)?;
        let name = Name::new(&name).map_err(failed)?;
        let (folder, to_name) = self.root().open_parent(to).map_err(failed)?;
        match rename_durably_in_both(&self.durable, (&from, name), (&folder, to_name)) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let temp = Name::new(temp).map_err(failed)?;
                copy_durably((&from, name), temp, (&folder, to_name)).map_err(failed)?;
            }
            done => done.map_err(failed)?,
        }
        self.vault.recheck(to);
        if folder.stat(to_name).is_ok_and(|meta| meta.kind == Kind::Folder) {
            self.vault.recheck_folder(to);
        }
        Ok(())
    }

    pub fn undo_restore(&self, path: &VaultPath, trashed: &Trashed) -> Result<(), VaultError> {
        let failed = |error| VaultError::io("put back", path, error);
        self.vault.close_late_below(path);
        if self.stat_trashed(trashed).is_some() && !self.remove_restored_copy(path, trashed)? {
            return Err(failed(io::Error::other("it was changed since it was brought back")));
        }
        if self.stat_trashed(trashed).is_some() && self.root().stat_at(path).is_err() {
            return Ok(());
        }
        let (to, to_name) = self.known_place(trashed).map_err(failed)?;
        let to_name = Name::new(&to_name).map_err(failed)?;
        let (folder, name) = self.root().open_parent(path).map_err(failed)?;
        rename_durably_in_both(&self.durable, (&folder, name), (&to, to_name)).map_err(failed)?;
        self.vault.forget(path);
        Ok(())
    }

    /// Removes the copy that [`Self::restore`] made of an entry on another disk, at its path or,
    /// perhaps incomplete, at its temporary name. Files that differ stay. Does nothing if both are
    /// on one disk. Returns whether the copy is gone.
    pub fn remove_restored_copy(
        &self,
        copy: &VaultPath,
        trashed: &Trashed,
    ) -> Result<bool, VaultError> {
        let failed = |error| VaultError::io("put back", copy, error);
        let Some((kept, name)) = self.place_of(trashed).map_err(failed)? else { return Ok(true) };
        let Ok((folder, copy_name)) = self.root().open_parent(copy) else { return Ok(true) };
        let disk = |folder: &Folder| folder.meta().map(|meta| meta.id.device).map_err(failed);
        if disk(&kept)? == disk(&folder)? || folder.stat(copy_name).is_err() {
            return Ok(true);
        }
        let is_hidden = is_temp_name(copy.name());
        let extent = if is_hidden { Extent::Prefix } else { Extent::Whole };
        remove_copy((&folder, copy_name), (&kept, Name::new(&name).map_err(failed)?), extent);
        self.durable.sync_names(&folder).map_err(failed)?;
        let is_gone = folder.stat(copy_name).is_err();
        match (is_gone, is_hidden) {
            (true, true) => self.vault.forget_unfinished(copy),
            (true, false) => self.vault.forget(copy),
            (false, _) => {}
        }
        Ok(is_gone)
    }

    /// Removes a trash's records of a restored entry: the `.trashinfo` file, or the empty folder in
    /// `kept/`.
    pub fn forget_trashed(&self, trashed: &Trashed) {
        match trashed {
            Trashed::System { place: Some(place) } => system::forget(place),
            Trashed::Kept { place } => {
                if let Some(above) = place.parent() {
                    // Fails if it is not empty, which is right.
                    let _ = std::fs::remove_dir(above);
                }
            }
            Trashed::System { place: None } | Trashed::Local { .. } => {}
        }
    }

    /// All entries in `.trash/` and `kept/`.
    pub fn trashed(&self) -> Vec<TrashEntry> {
        let mut found = Vec::new();
        if let Ok(trash) = Name::new(TRASH_FOLDER).and_then(|name| self.root().open_folder(name)) {
            for entry in trash.list().unwrap_or_default() {
                let Some(name) = entry.name.to_str() else { continue };
                let path = VaultPath::from_disk(&format!("{TRASH_FOLDER}/{name}"));
                if let Some(path) = path {
                    let touched = newest_ctime(&trash, &entry.name, &entry.meta);
                    let place = Trashed::Local { path, instead: None };
                    found.push(TrashEntry { place, meta: entry.meta, touched });
                }
            }
        }
        let kept = self.vault.recovery.kept_folder();
        let Ok(folder) = Folder::open_root(&kept) else { return found };
        for one in folder.list().unwrap_or_default() {
            let above = kept.join(&one.name);
            let Ok(inside) = Folder::open_root(&above) else { continue };
            for entry in inside.list().unwrap_or_default() {
                let place = Trashed::Kept { place: above.join(&entry.name) };
                let touched = newest_ctime(&inside, &entry.name, &entry.meta);
                found.push(TrashEntry { place, meta: entry.meta, touched });
            }
        }
        found
    }

    /// Permanently removes an entry from `.trash/` or `kept/`; returns the size of its files in
    /// bytes. Does nothing for the system's trash.
    ///
    /// # Errors
    /// From the system; a folder may be partly removed then.
    pub fn remove_trashed(&self, trashed: &Trashed) -> Result<u64, VaultError> {
        let shown = match trashed {
            Trashed::Local { path, .. } => path.to_string(),
            Trashed::Kept { place } => place.display().to_string(),
            Trashed::System { .. } => return Ok(0),
        };
        let failed = |source| VaultError::Io { action: "remove", path: shown.clone(), source };
        let Some((folder, name)) = self.place_of(trashed).map_err(failed)? else { return Ok(0) };
        let bytes = remove_all(&folder, Name::new(&name).map_err(failed)?).map_err(failed)?;
        folder.sync().map_err(failed)?;
        self.forget_trashed(trashed);
        Ok(bytes)
    }
}

/// The newest ctime of an entry and of its content.
fn newest_ctime(folder: &Folder, name: &OsStr, meta: &Meta) -> Option<i64> {
    let into =
        |folder: &Folder, name: &OsStr| folder.open_folder(Name::new(name.to_str()?).ok()?).ok();
    let (mut newest, mut open) = (meta.changed, Vec::new());
    if meta.kind == Kind::Folder {
        open.push(into(folder, name)?);
    }
    while let Some(here) = open.pop() {
        for entry in here.list().ok()? {
            newest = newest.max(entry.meta.changed);
            if entry.meta.kind == Kind::Folder {
                open.push(into(&here, &entry.name)?);
            }
        }
    }
    Some(newest)
}

/// The entry called `name`, `name 2`, … that `is` accepts.
pub(super) fn numbered_in(
    folder: &Folder,
    name: &str,
    is: &dyn Fn(&Folder, Name) -> bool,
) -> Option<String> {
    // All names are tried, since lower numbers may have been removed.
    let listed = folder.list().ok()?;
    let (stem, _) = name.rsplit_once('.').unwrap_or((name, ""));
    let start: String = stem.chars().take(40).collect();
    listed
        .into_iter()
        .filter_map(|entry| entry.name.into_string().ok())
        .filter(|listed| listed.starts_with(&start))
        .find(|listed| Name::new(listed).is_ok_and(|name| is(folder, name)))
}

/// Removes recursively, without following links; returns the size of the files in bytes.
fn remove_all(folder: &Folder, name: Name) -> io::Result<u64> {
    let meta = folder.stat(name)?;
    if meta.kind != Kind::Folder {
        folder.remove_file(name)?;
        return Ok(if meta.kind == Kind::File { meta.size } else { 0 });
    }
    let below = folder.open_folder(name)?;
    let mut bytes = 0;
    for entry in below.list()? {
        bytes += remove_all(&below, Name::new(utf8(&entry.name)?)?)?;
    }
    // Windows removes no folder that is open.
    drop(below);
    folder.remove_folder(name)?;
    Ok(bytes)
}

/// `name.ext`, `name 2.ext`, …; a name that would become too long is shortened.
fn numbered_name(name: &str, number: u32) -> String {
    if number == 1 {
        return name.to_owned();
    }
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    };
    let suffix = format!(" {number}{extension}");
    let mut room = MAX_NAME_BYTES.saturating_sub(suffix.len()).min(stem.len());
    while !stem.is_char_boundary(room) {
        room -= 1;
    }
    format!("{}{suffix}", &stem[..room])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_before_the_last_extension() {
        assert_eq!(numbered_name("a.md", 1), "a.md");
        assert_eq!(numbered_name("a.md", 2), "a 2.md");
        assert_eq!(numbered_name("v1.2", 3), "v1 3.2");
        assert_eq!(numbered_name("folder", 2), "folder 2");
        let long = numbered_name(&format!("{}.md", "ü".repeat(126)), 12);
        assert!(long.len() <= MAX_NAME_BYTES && long.ends_with(" 12.md"), "{long}");
    }
}
