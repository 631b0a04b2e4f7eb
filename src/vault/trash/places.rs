//! Where deleted things lie, and the ways back.

use std::ffi::OsStr;
use std::io;

use super::carrying::{Part, copy_back, remove_copy};
use super::{Keeping, TRASH_FOLDER, Trashed, system};
use crate::note::path::VaultPath;
use crate::vault::dir::{Folder, Kind, Meta, Name};
use crate::vault::error::VaultError;
use crate::vault::save::{Writer, files_in, is_temp_name, rename_durably_in_both};

/// A thing found in a trash.
#[derive(Debug, Clone)]
pub struct InTrash {
    /// Where.
    pub place: Trashed,
    /// What the file system says of it.
    pub meta: Meta,
    /// The newest change of it and of all that is in it, its coming there included where the system
    /// notes that: nanoseconds since the Unix epoch. `None` if it cannot be looked through.
    pub touched: Option<i64>,
}

impl InTrash {
    /// When it came there, or was changed there since, where the system tells: nanoseconds since
    /// the Unix epoch.
    pub fn since(&self) -> Option<i64> {
        // Elsewhere a file says when it was written, which may be long before it was deleted.
        self.touched.filter(|_| cfg!(unix))
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

impl Writer {
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
        let kept = self.vault.kept_folder().join(&keeping.folder);
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
    pub(super) fn place_of(&self, trashed: &Trashed) -> io::Result<Option<(Folder, String)>> {
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
        self.vault.check_root()?;
        self.vault.allowed(to)?;
        let (from, name) = self
            .place_of(trashed)
            .and_then(|place| place.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)))
            .map_err(failed)?;
        let name = Name::new(&name).map_err(failed)?;
        let (folder, to_name) = self.root().open_parent(to).map_err(failed)?;
        match rename_durably_in_both(&from, name, &folder, to_name) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let temp = Name::new(temp).map_err(failed)?;
                copy_back((&from, name), temp, (&folder, to_name)).map_err(failed)?;
            }
            done => done.map_err(failed)?,
        }
        self.vault.refresh(to);
        if folder.stat(to_name).is_ok_and(|meta| meta.kind == Kind::Folder) {
            self.vault.refresh_folder(to);
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
        rename_durably_in_both(&folder, name, &to, to_name).map_err(failed)?;
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
        folder.sync().map_err(failed)?;
        let is_gone = folder.stat(copy_name).is_err();
        match (is_gone, is_hidden) {
            (true, true) => self.forget_unfinished(copy),
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
        let kept = self.vault.kept_folder();
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
