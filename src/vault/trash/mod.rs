//! Deleting the way Obsidian does: to the system's trash, to `.trash/`, or to the steward's own
//! keeping. Nothing is unlinked.

#[cfg(not(target_os = "linux"))]
#[path = "crate_trash.rs"]
mod system;
#[cfg(target_os = "linux")]
#[path = "freedesktop.rs"]
mod system;

mod carrying;
mod trashed;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use trashed::{InTrash, Keeping, Trashed};

use super::content::Before;
use super::dir::{Folder, Kind, Meta, Name, files_in, sync_folder};
use super::durable::{Durable, rename_durably, rename_durably_in_both};
use super::error::VaultError;
use super::obsidian::TrashOption;
use super::read::Reader;
use super::revision::Revision;
use super::root::Opened;
use super::temp::is_temp_name;
use crate::note::path::{MAX_NAME_BYTES, VaultPath};
use carrying::{Part, carry_over, copy_back, fill, remove_copy};

/// The vault's own trash.
pub const TRASH_FOLDER: &str = ".trash";

/// The system's trash for what lies in the vault at `root`, where it is a folder that this program
/// writes to (Linux) and lies on the same disk. It need not have been made.
pub fn system_trash(root: &Path) -> Option<PathBuf> {
    system::of_vault(root)
}

/// Makes the folder that [`system_trash`] names, where it is missing.
///
/// # Errors
/// What the system said.
pub fn make_system_trash(trash: &Path) -> io::Result<()> {
    system::make(trash)
}

/// The trashes that what is deleted goes to, and the ways back; part of a [`Writer`](super::Writer).
pub struct Trash {
    vault: Reader,
    durable: Arc<Durable>,
}

impl Trash {
    pub(super) fn new(vault: Reader, durable: Arc<Durable>) -> Self {
        Self { vault, durable }
    }

    fn root(&self) -> Arc<Opened> {
        self.vault.folder()
    }

    /// Deletes a file, link or folder the way the vault's `trashOption` says, or into our own keeping
    /// where `keeping` says so. A link itself goes, never what it leads to.
    ///
    /// # Errors
    /// [`VaultError::Stale`] if `before` names a revision that the file does not have;
    /// [`VaultError::Protected`] for a folder that holds a protected one; as the system says. The
    /// thing is where it was then.
    pub fn delete(
        &self,
        path: &VaultPath,
        before: &Before,
        keeping: &Keeping,
    ) -> Result<Trashed, VaultError> {
        self.vault.check_writable_root()?;
        self.vault.allowed(path)?;
        self.vault.holds_nothing_protected(path)?;
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
                Trashed::Kept { place: self.keep(path, &folder, name, keeping)? }
            }
            TrashOption::Local => self.to_local(path, &folder, name, None)?,
            TrashOption::System => {
                match system::put(&self.durable, &folder, name, &self.vault.place_of(path)) {
                    Ok(place) => Trashed::System { place },
                    Err(reason) => self.to_local(path, &folder, name, Some(reason))?,
                }
            }
            TrashOption::None => Trashed::Kept { place: self.keep(path, &folder, name, keeping)? },
        };
        let synced = self.durable.names(&folder);
        self.vault.forget(path);
        if let Err(error) = synced {
            // It is in the trash, where a power cut can only bring it back.
            self.vault
                .warn(format!("the deletion of `{path}` may not outlast a power cut: {error}"));
        }
        Ok(trashed)
    }

    /// `.trash/` is flat: the name, then `name 2.ext`, `name 3.ext`, the extension being what
    /// follows the last dot even for folders, as Obsidian does it.
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
        let synced = if made { self.durable.names(&root) } else { Ok(()) };
        let moved =
            synced.map_err(failed).and_then(|()| self.to_free_name(path, folder, name, trash_name));
        if made && moved.is_err() {
            // What is refused leaves nothing behind, unless something has come to it meanwhile.
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
            let free = numbered(path.name(), number);
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

    /// Moves something into the steward's own folder, one numbered folder a deletion.
    fn keep(
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
        let above = self.vault.recovery.kept_folder().join(&keeping.folder);
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
        self.vault.recheck_folder(path);
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

    /// Finds a thing that was deleted from `path` and of which it is not known where it went: the
    /// one of which `is` says so, by what the file system tells and its folder's handle.
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

    /// What the file system says of a deleted thing; `None` if it is not there any more.
    pub fn look_at_trashed(&self, trashed: &Trashed) -> Option<Meta> {
        let (folder, name) = self.place_of(trashed).ok()??;
        folder.stat(Name::new(&name).ok()?).ok()
    }

    /// A deleted thing as [`Self::trashed`] tells it; `None` if it is not there any more.
    pub fn in_trash(&self, trashed: &Trashed) -> Option<InTrash> {
        let (folder, name) = self.place_of(trashed).ok()??;
        let meta = folder.stat(Name::new(&name).ok()?).ok()?;
        let touched = touched(&folder, OsStr::new(&name), &meta);
        Some(InTrash { place: trashed.clone(), meta, touched })
    }

    /// The bytes of a deleted file, up to the largest that is read whole.
    pub fn read_trashed(&self, trashed: &Trashed) -> Option<Vec<u8>> {
        use io::Read;
        let (folder, name) = self.place_of(trashed).ok()??;
        let (file, meta) = folder.open_file(Name::new(&name).ok()?).ok()?;
        let limit = self.vault.max_file_bytes();
        let mut bytes = Vec::new();
        let read = file.take(limit + 1).read_to_end(&mut bytes);
        (meta.size <= limit && read.is_ok() && bytes.len() as u64 <= limit).then_some(bytes)
    }

    /// The files below a deleted folder, by their path below it; links and names that are not UTF-8
    /// are left out. `None` if it cannot be listed.
    pub fn files_in_trashed(&self, trashed: &Trashed) -> Option<Vec<String>> {
        let (folder, name) = self.place_of(trashed).ok()??;
        let top = folder.open_folder(Name::new(&name).ok()?).ok()?;
        let mut found = Vec::new();
        let mut open = vec![(top, String::new())];
        while let Some((here, above)) = open.pop() {
            for entry in here.list().ok()? {
                let Some(name) = entry.name.to_str() else { continue };
                match entry.meta.kind {
                    Kind::File => found.push(format!("{above}{name}")),
                    Kind::Folder => {
                        let below = here.open_folder(Name::new(name).ok()?).ok()?;
                        open.push((below, format!("{above}{name}/")));
                    }
                    Kind::Link | Kind::Other => {}
                }
            }
        }
        Some(found)
    }

    /// The files of a deleted folder, below it; none if it cannot be looked into.
    pub fn trashed_files(&self, trashed: &Trashed) -> Vec<VaultPath> {
        let found = self.place_of(trashed).and_then(|place| match place {
            Some((folder, name)) => files_in(folder.open_folder(Name::new(&name)?)?),
            None => Ok(Vec::new()),
        });
        found.unwrap_or_default().into_iter().map(|(path, _)| path).collect()
    }

    /// The folder that holds a deleted thing, and its name there; none where it is not known.
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

    /// Brings a deleted thing back into the vault, never over anything. The folder that will hold
    /// it must exist. From another disk it is copied, over the hidden name `temp` in that folder,
    /// and stays where it was until [`Self::finish_bringing_back`].
    ///
    /// # Errors
    /// As the system says, [`VaultError::NotFound`] where its place is not known; it is still in
    /// its trash then.
    pub fn bring_back(
        &self,
        trashed: &Trashed,
        to: &VaultPath,
        temp: &str,
    ) -> Result<(), VaultError> {
        let failed = |error| VaultError::io("restore", to, error);
        self.vault.check_writable_root()?;
        self.vault.allowed(to)?;
        let (from, name) = self
            .place_of(trashed)
            .and_then(|place| place.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)))
            .map_err(failed)?;
        let name = Name::new(&name).map_err(failed)?;
        let (folder, to_name) = self.root().open_parent(to).map_err(failed)?;
        match rename_durably_in_both(&self.durable, (&from, name), (&folder, to_name)) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let temp = Name::new(temp).map_err(failed)?;
                copy_back((&from, name), temp, (&folder, to_name)).map_err(failed)?;
            }
            done => done.map_err(failed)?,
        }
        self.vault.recheck(to);
        if folder.stat(to_name).is_ok_and(|meta| meta.kind == Kind::Folder) {
            self.vault.recheck_folder(to);
        }
        Ok(())
    }

    /// Puts something that [`Self::bring_back`] brought back where it had been.
    ///
    /// # Errors
    /// As the system says; it is still in the vault then.
    pub fn put_back(&self, path: &VaultPath, trashed: &Trashed) -> Result<(), VaultError> {
        let failed = |error| VaultError::io("put back", path, error);
        if self.look_at_trashed(trashed).is_some() && !self.take_copy_away(path, trashed)? {
            return Err(failed(io::Error::other("it was changed since it was brought back")));
        }
        if self.look_at_trashed(trashed).is_some() && self.root().stat_at(path).is_err() {
            return Ok(());
        }
        let (to, to_name) = self
            .place_of(trashed)
            .and_then(|place| place.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)))
            .map_err(failed)?;
        let to_name = Name::new(&to_name).map_err(failed)?;
        let (folder, name) = self.root().open_parent(path).map_err(failed)?;
        rename_durably_in_both(&self.durable, (&folder, name), (&to, to_name)).map_err(failed)?;
        self.vault.forget(path);
        Ok(())
    }

    /// Takes the copy of a thing away again that [`Self::bring_back`] made of what lies on another
    /// disk, at its path or under its hidden name, where it may be cut short; whether nothing of it
    /// is left. Nothing that differs goes, and nothing where the two lie on one disk.
    ///
    /// # Errors
    /// As the system says.
    pub fn take_copy_away(&self, copy: &VaultPath, trashed: &Trashed) -> Result<bool, VaultError> {
        let failed = |error| VaultError::io("put back", copy, error);
        let Some((kept, name)) = self.place_of(trashed).map_err(failed)? else { return Ok(true) };
        let Ok((folder, copy_name)) = self.root().open_parent(copy) else { return Ok(true) };
        let disk = |folder: &Folder| folder.meta().map(|meta| meta.id.device).map_err(failed);
        if disk(&kept)? == disk(&folder)? || folder.stat(copy_name).is_err() {
            return Ok(true);
        }
        let is_hidden = is_temp_name(copy.name());
        let part = if is_hidden { Part::Beginning } else { Part::Whole };
        remove_copy((&folder, copy_name), (&kept, Name::new(&name).map_err(failed)?), part);
        self.durable.names(&folder).map_err(failed)?;
        let is_gone = folder.stat(copy_name).is_err();
        match (is_gone, is_hidden) {
            (true, true) => self.vault.forget_unfinished(copy),
            (true, false) => self.vault.forget(copy),
            (false, _) => {}
        }
        Ok(is_gone)
    }

    /// Clears away what a trash noted of a thing that was brought back: the system's description,
    /// the empty folder in our keeping.
    pub fn forget_trashed(&self, trashed: &Trashed) {
        match trashed {
            Trashed::System { place: Some(place) } => system::forget(place),
            Trashed::Kept { place } => {
                if let Some(above) = place.parent() {
                    // Fails where something is left in it, which is right.
                    let _ = std::fs::remove_dir(above);
                }
            }
            Trashed::System { place: None } | Trashed::Local { .. } => {}
        }
    }

    /// Everything in `.trash/` and in the steward's own keeping.
    pub fn trashed(&self) -> Vec<InTrash> {
        let mut found = Vec::new();
        if let Ok(trash) = Name::new(TRASH_FOLDER).and_then(|name| self.root().open_folder(name)) {
            for entry in trash.list().unwrap_or_default() {
                let Some(name) = entry.name.to_str() else { continue };
                let path = VaultPath::from_disk(&format!("{TRASH_FOLDER}/{name}"));
                if let Some(path) = path {
                    let touched = touched(&trash, &entry.name, &entry.meta);
                    let place = Trashed::Local { path, instead: None };
                    found.push(InTrash { place, meta: entry.meta, touched });
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
                let touched = touched(&inside, &entry.name, &entry.meta);
                found.push(InTrash { place, meta: entry.meta, touched });
            }
        }
        found
    }

    /// Removes a deleted thing for good; gives the bytes that its files had. Only what lies in
    /// `.trash/` or in the steward's own keeping.
    ///
    /// # Errors
    /// As the system says; a part of a folder may be gone then.
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

/// The newest change of a thing and of all that is in it.
fn touched(folder: &Folder, name: &OsStr, meta: &Meta) -> Option<i64> {
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

/// The first of `name`, `name 2`, … in a folder of which `is` says that it is the one.
pub(super) fn numbered_in(
    folder: &Folder,
    name: &str,
    is: &dyn Fn(&Folder, Name) -> bool,
) -> Option<String> {
    // A gap ends nothing: what had a lower number may have been taken out.
    let listed = folder.list().ok()?;
    let (stem, _) = name.rsplit_once('.').unwrap_or((name, ""));
    let start: String = stem.chars().take(40).collect();
    listed
        .into_iter()
        .filter_map(|entry| entry.name.into_string().ok())
        .filter(|listed| listed.starts_with(&start))
        .find(|listed| Name::new(listed).is_ok_and(|name| is(folder, name)))
}

/// Removes a file, link or folder with all in it; links are never followed.
fn remove_all(folder: &Folder, name: Name) -> io::Result<u64> {
    let meta = folder.stat(name)?;
    if meta.kind != Kind::Folder {
        folder.remove_file(name)?;
        return Ok(if meta.kind == Kind::File { meta.size } else { 0 });
    }
    let below = folder.open_folder(name)?;
    let mut bytes = 0;
    for entry in below.list()? {
        let text = entry.name.to_str();
        let text = text.ok_or_else(|| io::Error::other("a name in it is not UTF-8"))?;
        bytes += remove_all(&below, Name::new(text)?)?;
    }
    folder.remove_folder(name)?;
    Ok(bytes)
}

/// `name.ext`, `name 2.ext`, …, shortened where the number would make it too long.
fn numbered(name: &str, number: u32) -> String {
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
        assert_eq!(numbered("a.md", 1), "a.md");
        assert_eq!(numbered("a.md", 2), "a 2.md");
        assert_eq!(numbered("v1.2", 3), "v1 3.2");
        assert_eq!(numbered("folder", 2), "folder 2");
        let long = numbered(&format!("{}.md", "ü".repeat(126)), 12);
        assert!(long.len() <= MAX_NAME_BYTES && long.ends_with(" 12.md"), "{long}");
    }
}
