//! Windows: directory handles through cap-std, whose lookups cannot leave the folder they start
//! from; here one component at a time, reparse points never followed.
//!
//! Two calls that cap-std does not have go by absolute path, built from the folder's own: the swap
//! (`ReplaceFileW`, which keeps the replaced file's permissions and hands back the old version)
//! and the rename that never replaces (`MoveFileExW` without its flag for that).

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::{
    DirExt, FollowSymlinks, MetadataExt, OpenOptionsFollowExt, OpenOptionsMaybeDirExt,
};
use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::windows_calls::{move_new, replace};
use super::{FileId, Kind, Listed, Meta, Name, not_regular};
use crate::note::path::VaultPath;

/// An open directory, and where it was when it was opened.
#[derive(Debug)]
pub(in crate::vault) struct Folder {
    dir: Dir,
    place: PathBuf,
}

impl Folder {
    /// Opens the vault's root by its place on this machine. Here alone links are followed: the
    /// user may keep the vault behind one.
    pub fn open_root(path: &Path) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(path, cap_std::ambient_authority())?;
        Ok(Self { dir, place: path.to_owned() })
    }

    /// What lies at the root's place on this machine, links followed as by [`Self::open_root`].
    pub fn root_meta(path: &Path) -> io::Result<Meta> {
        Self::open_root(path)?.meta()
    }

    /// The system does not tell what it has in memory.
    pub fn open_file_cached(&self, _: &VaultPath) -> io::Result<(File, Meta)> {
        Err(io::Error::from(io::ErrorKind::WouldBlock))
    }

    /// The system does not tell what it has in memory.
    pub fn stat_cached(&self, _: &VaultPath) -> io::Result<Meta> {
        Err(io::Error::from(io::ErrorKind::WouldBlock))
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { dir: self.dir.try_clone()?, place: self.place.clone() })
    }

    pub(super) fn open_folder_path(&self, path: &VaultPath) -> io::Result<Self> {
        let mut folder = self.try_clone()?;
        for name in path.components() {
            folder = folder.open_folder(Name::new(name)?)?;
        }
        Ok(folder)
    }

    /// Opens the regular file at `path` for reading; no component may be a link.
    pub fn open_file_at(&self, path: &VaultPath) -> io::Result<(File, Meta)> {
        let (folder, name) = self.open_parent(path)?;
        folder.open_file(name)
    }

    pub(super) fn stat_path(&self, path: &VaultPath) -> io::Result<Meta> {
        let (folder, name) = self.open_parent(path)?;
        folder.stat(name)
    }

    /// What this folder is.
    pub fn meta(&self) -> io::Result<Meta> {
        Ok(meta_of(&self.dir.dir_metadata()?))
    }

    /// What `name` is; a link is not followed.
    pub fn stat(&self, name: Name) -> io::Result<Meta> {
        // From an open handle: only that knows the file's identity and its number of names.
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).maybe_dir(true);
        match self.dir.open_with(name.as_str(), &options) {
            Ok(file) => Ok(meta_of(&file.metadata()?)),
            // A reparse point, or a file that another program keeps to itself: its entry tells.
            Err(_) => Ok(plain_meta(&self.dir.symlink_metadata(name.as_str())?)),
        }
    }

    /// Tells everything that [`Self::list`] gives.
    ///
    /// # Errors
    /// As the system says.
    pub fn visit(&self, mut tell: impl FnMut(&OsStr, &Meta)) -> io::Result<()> {
        self.list()?.iter().for_each(|one| tell(&one.name, &one.meta));
        Ok(())
    }

    /// Everything in this folder. Identities are left open: asking for them would open every file.
    pub fn list(&self) -> io::Result<Vec<Listed>> {
        let mut listed = Vec::new();
        for entry in self.dir.entries()? {
            let entry = entry?;
            match entry.metadata() {
                Ok(meta) => {
                    listed.push(Listed { name: entry.file_name(), meta: plain_meta(&meta) })
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => listed.push(Listed { name: entry.file_name(), meta: Meta::unknown() }),
            }
        }
        Ok(listed)
    }

    /// Where the link `name` points, as written in it.
    pub fn read_link(&self, name: Name) -> io::Result<PathBuf> {
        self.dir.read_link_contents(name.as_str())
    }

    /// Opens the regular file `name` for reading.
    pub fn open_file(&self, name: Name) -> io::Result<(File, Meta)> {
        let mut options = OpenOptions::new();
        options.read(true);
        self.open_regular(name, options)
    }

    /// Opens the folder `name`.
    pub fn open_folder(&self, name: Name) -> io::Result<Self> {
        let dir = self.dir.open_dir_nofollow(name.as_str())?;
        Ok(Self { dir, place: self.place.join(name.as_str()) })
    }

    /// Makes a new empty file; an existing name is an error. Who may read it follows from its folder
    /// here, `private` or not.
    pub fn create_new(&self, name: Name, _private: bool) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        Ok(self.dir.open_with(name.as_str(), &options)?.into_std())
    }

    /// Opens an existing regular file for writing in place, nothing truncated.
    pub fn open_for_update(&self, name: Name) -> io::Result<(File, Meta)> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        self.open_regular(name, options)
    }

    /// Only a write itself tells, beyond the read-only attribute.
    pub fn may_write(&self, _: Name) -> io::Result<()> {
        Ok(())
    }

    /// Only a change itself tells.
    pub fn may_change(&self) -> io::Result<()> {
        Ok(())
    }

    fn open_regular(&self, name: Name, mut options: OpenOptions) -> io::Result<(File, Meta)> {
        options.follow(FollowSymlinks::No);
        let kind = kind_of(&self.dir.symlink_metadata(name.as_str())?);
        match kind {
            Kind::File => {}
            Kind::Folder => return Err(io::Error::from(io::ErrorKind::IsADirectory)),
            Kind::Link | Kind::Other => return Err(not_regular()),
        }
        let file = self.dir.open_with(name.as_str(), &options)?;
        let meta = meta_of(&file.metadata()?);
        match meta.kind {
            Kind::File => Ok((file.into_std(), meta)),
            _ => Err(not_regular()),
        }
    }

    /// Makes a folder; an existing name is an error.
    pub fn create_folder(&self, name: Name) -> io::Result<()> {
        self.dir.create_dir(name.as_str())
    }

    /// Links take a right here that few users have: none is made.
    pub fn create_link(&self, _name: Name, _target: &Path) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// There are no permission bits here.
    pub fn set_mode(&self, _mode: u32) -> io::Result<()> {
        Ok(())
    }

    /// Renames without ever replacing: an existing `to_name` is `AlreadyExists`.
    pub fn rename_new(&self, name: Name, to: &Folder, to_name: Name) -> io::Result<()> {
        move_new(&self.place.join(name.as_str()), &to.place.join(to_name.as_str()))
    }

    /// Puts `name` in the place of `to_name`, and what was there in the place of `name`.
    ///
    /// Two steps: between them the old version lies under a hidden name of its own, where a crash
    /// leaves it to the sweep of the next start.
    pub fn exchange(&self, name: Name, to: &Folder, to_name: Name) -> io::Result<()> {
        let (ours, theirs) = (self.place.join(name.as_str()), to.place.join(to_name.as_str()));
        let aside = to.place.join(crate::vault::temp::temp_name());
        replace(&theirs, &ours, &aside)?;
        move_new(&aside, &ours).inspect_err(|_| {
            // Back to where it began; if that fails too, the sweep finds the old version.
            let _ = replace(&theirs, &aside, &ours);
        })
    }

    /// Renames, replacing a file of that name.
    pub fn rename_replacing(&self, name: Name, to: &Folder, to_name: Name) -> io::Result<()> {
        self.dir.rename(name.as_str(), &to.dir, to_name.as_str())
    }

    /// Removes a file or link.
    pub fn remove_file(&self, name: Name) -> io::Result<()> {
        self.dir.remove_file_or_symlink(name.as_str())
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, name: Name) -> io::Result<()> {
        self.dir.remove_dir(name.as_str())
    }

    /// Names are durable here without being asked: NTFS journals them, and a folder cannot be
    /// flushed.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// This folder by a handle of its own.
    pub fn reopen(&self) -> io::Result<Self> {
        self.try_clone()
    }

    /// The system makes names durable by itself; files are synced one by one.
    pub fn sync_file_system(&self) -> io::Result<()> {
        Ok(())
    }

    /// The system has no sync of a whole file system.
    pub fn tells_lost_writes() -> bool {
        false
    }

    /// Nothing has to wait for a sync here.
    pub fn keeps_order(&self) -> bool {
        false
    }

    /// Why events cannot be trusted here, if this lies on another machine.
    pub fn remote_file_system(&self) -> Option<&'static str> {
        let place = self.place.as_os_str().to_string_lossy();
        let network = place.starts_with(r"\\?\UNC\")
            || (place.starts_with(r"\\") && !place.starts_with(r"\\?\"));
        network.then_some("a network share")
    }
}

/// The system does not tell what it has in memory.
pub(in crate::vault) fn read_cached(_: &File, _: &mut [u8]) -> io::Result<usize> {
    Err(io::Error::from(io::ErrorKind::WouldBlock))
}

/// Whether a file must be rewritten in place: other names show it too. Its owner stays by itself.
pub(in crate::vault) fn must_stay(_file: &File, meta: &Meta) -> bool {
    meta.names > 1
}

/// `ReplaceFileW` keeps the replaced file's permissions and attributes; nothing is to be copied.
pub(in crate::vault) fn copy_attributes(_from: &File, _to: &File, _meta: &Meta) -> io::Result<()> {
    Ok(())
}

fn meta_of(meta: &Metadata) -> Meta {
    Meta {
        names: meta.nlink(),
        id: FileId { device: meta.dev(), inode: meta.ino() },
        ..plain_meta(meta)
    }
}

/// What the entry itself tells, without the identity.
fn plain_meta(meta: &Metadata) -> Meta {
    let nanos = |time: io::Result<cap_std::time::SystemTime>| -> Option<i64> {
        let since = time.ok()?.into_std().duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_nanos()).ok()
    };
    let modified = nanos(meta.modified()).unwrap_or(0);
    Meta {
        kind: kind_of(meta),
        size: meta.len(),
        modified,
        changed: modified,
        created: nanos(meta.created()),
        accessed: nanos(meta.accessed()).unwrap_or(0),
        names: 1,
        // Only the read-only attribute is known; it stands for the bits that others ask for.
        mode: Some(if meta.permissions().readonly() { 0o444 } else { 0o666 }),
        id: FileId::UNKNOWN,
    }
}

fn kind_of(meta: &Metadata) -> Kind {
    match meta.file_type() {
        kind if kind.is_symlink() => Kind::Link,
        kind if kind.is_dir() => Kind::Folder,
        kind if kind.is_file() => Kind::File,
        _ => Kind::Other,
    }
}
