//! Windows: directory handles through cap-std, one component at a time, reparse points never
//! followed.
//!
//! Two calls that cap-std lacks take an absolute path, built from the folder's: the exchange
//! (`ReplaceFileW`, which keeps the replaced file's permissions and returns the old version) and
//! the rename without replacing (`MoveFileExW` without that flag).

#![expect(
    clippy::disallowed_methods,
    reason = "`\\\\?\\` paths for system calls, never shown to anybody"
)]

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt, FollowSymlinks, MetadataExt, OpenOptionsFollowExt};
use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::windows_calls::{move_new, replace};
use super::{FileId, Kind, Listed, Meta, Name, not_regular};
use crate::note::path::VaultPath;
use crate::vault::temp::aside_name;

/// An open directory, and its path when it was opened, as `\\?\…`: other paths end at 260 characters in the calls of
/// [`windows_calls`](super::windows_calls).
#[derive(Debug)]
pub(in crate::vault) struct Folder {
    dir: Dir,
    place: PathBuf,
}

impl Folder {
    /// Opens a folder by its absolute path. Only here links are followed: the vault's path may
    /// contain one.
    pub fn open_root(path: &Path) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(path, cap_std::ambient_authority())?;
        Ok(Self { dir, place: path.canonicalize()? })
    }

    /// Stats a folder by its absolute path; follows links like [`Self::open_root`].
    pub fn root_meta(path: &Path) -> io::Result<Meta> {
        Self::open_root(path)?.meta()
    }

    /// Not supported here.
    pub fn open_file_cached(&self, _: &VaultPath) -> io::Result<(File, Meta)> {
        Err(io::Error::from(io::ErrorKind::WouldBlock))
    }

    /// Not supported here.
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

    pub fn meta(&self) -> io::Result<Meta> {
        Ok(meta_of(&self.dir.dir_metadata()?))
    }

    /// Stats `name`; follows no link.
    pub fn stat(&self, name: Name) -> io::Result<Meta> {
        // It opens the file without any access: that works for a file locked by another program,
        // and does not prevent a rename meanwhile.
        Ok(meta_of(&self.dir.symlink_metadata(name.as_str())?))
    }

    /// Calls `visit` with the entries of [`Self::list`].
    pub fn visit(&self, mut visit: impl FnMut(&OsStr, &Meta)) -> io::Result<()> {
        self.list()?.iter().for_each(|one| visit(&one.name, &one.meta));
        Ok(())
    }

    /// All entries, without identities, which would take opening every file.
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

    pub fn read_link(&self, name: Name) -> io::Result<PathBuf> {
        self.dir.read_link_contents(name.as_str())
    }

    /// Opens the regular file `name` for reading.
    pub fn open_file(&self, name: Name) -> io::Result<(File, Meta)> {
        let mut options = OpenOptions::new();
        options.read(true);
        self.open_regular(name, options)
    }

    /// While a folder is open it can be neither renamed nor removed.
    pub fn open_folder(&self, name: Name) -> io::Result<Self> {
        let dir = self.dir.open_dir_nofollow(name.as_str())?;
        Ok(Self { dir, place: self.place.join(name.as_str()) })
    }

    /// Creates an empty file; an existing name is an error. Its folder's permissions apply,
    /// `private` or not.
    pub fn create_new(&self, name: Name, _private: bool) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        Ok(self.dir.open_with(name.as_str(), &options)?.into_std())
    }

    /// Opens an existing regular file for reading and writing, without truncating it.
    pub fn open_for_update(&self, name: Name) -> io::Result<(File, Meta)> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        self.open_regular(name, options)
    }

    /// Not checked: only a write shows it.
    pub fn may_write(&self, _: Name) -> io::Result<()> {
        Ok(())
    }

    /// Not checked: only a change shows it.
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

    /// An existing name is an error.
    pub fn create_folder(&self, name: Name) -> io::Result<()> {
        self.dir.create_dir(name.as_str())
    }

    /// Not supported: few users have the privilege.
    pub fn create_link(&self, _name: Name, _target: &Path) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Windows has no permission bits.
    pub fn set_mode(&self, _mode: u32) -> io::Result<()> {
        Ok(())
    }

    /// Renames without replacing: an existing `to_name` is `AlreadyExists`.
    pub fn rename_new(&self, name: Name, to: &Folder, to_name: Name) -> io::Result<()> {
        move_new(&self.place.join(name.as_str()), &to.place.join(to_name.as_str()))
    }

    /// Exchanges two names. `ReplaceFileW` first gives the old version a third name, then the new one the old one's;
    /// after that the old version gets the name of the new one. After a crash in between, the journal ends it (see
    /// `Writer::finish_exchange`).
    pub fn exchange(&self, name: Name, to: &Folder, to_name: Name) -> io::Result<()> {
        let (ours, theirs) = (self.place.join(name.as_str()), to.place.join(to_name.as_str()));
        let aside = to.place.join(aside_name(name.as_str()));
        replace(&theirs, &ours, &aside).inspect_err(|_| {
            // It can fail after it has renamed the old version
            // (ERROR_UNABLE_TO_MOVE_REPLACEMENT_2). Otherwise this does nothing: `aside` is
            // missing, or `theirs` exists.
            let _ = move_new(&aside, &theirs);
        })?;
        move_new(&aside, &ours).inspect_err(|_| {
            // Undo; if that fails too, the sweep finds the old version.
            let _ = replace(&theirs, &aside, &ours);
        })
    }

    /// Renames, replacing an existing file.
    pub fn rename_replacing(&self, name: Name, to: &Folder, to_name: Name) -> io::Result<()> {
        self.dir.rename(name.as_str(), &to.dir, to_name.as_str())
    }

    pub fn remove_file(&self, name: Name) -> io::Result<()> {
        self.dir.remove_file_or_symlink(name.as_str())
    }

    pub fn remove_folder(&self, name: Name) -> io::Result<()> {
        self.dir.remove_dir(name.as_str())
    }

    /// Not needed: NTFS journals names, and a folder cannot be flushed.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// A new handle of this folder.
    pub fn reopen(&self) -> io::Result<Self> {
        self.try_clone()
    }

    /// Not needed, as [`Self::sync`].
    pub fn sync_file_system(&self) -> io::Result<()> {
        Ok(())
    }

    /// Windows has no `syncfs`.
    pub fn syncfs_reports_errors() -> bool {
        false
    }

    /// Whether a folder can be neither renamed nor removed while it, or a file below it, is open.
    pub fn is_fixed_while_in_use() -> bool {
        true
    }

    /// Batching would gain nothing.
    pub fn keeps_order(&self) -> bool {
        false
    }

    /// The file system's name, if it is a network one, whose events are unreliable.
    pub fn remote_file_system(&self) -> Option<&'static str> {
        let place = self.place.as_os_str().to_string_lossy();
        place.starts_with(r"\\?\UNC\").then_some("a network share")
    }
}

/// The system does not tell what it has in memory.
pub(in crate::vault) fn read_cached(_: &File, _: &mut [u8]) -> io::Result<usize> {
    Err(io::Error::from(io::ErrorKind::WouldBlock))
}

/// Whether a file must be rewritten in place: it has hard links. The owner is kept anyway.
pub(in crate::vault) fn must_keep_inode(_file: &File, meta: &Meta) -> bool {
    meta.names > 1
}

/// Not needed: `ReplaceFileW` keeps permissions and attributes.
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

/// From the directory entry, without the identity.
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
        // The read-only attribute as permission bits.
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
