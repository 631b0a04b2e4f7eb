//! Folders by handle: the only place that names a file of the vault to the operating system.
//!
//! A [`Folder`] is an open directory. Everything is reached from the vault's root folder one
//! component at a time without following a symbolic link, so no path, no link and no rename made
//! while we look can lead outside (facts: 0 escapes in 6.5 million attempts, where comparing
//! canonical paths gave 121,219 in five seconds). Links are resolved above this module
//! (`vault::root`), as paths inside the vault, and opened here by their real place.
//!
//! One file a platform: [`unix`](self) (Linux with `openat2`, else and on macOS a walk with
//! `O_NOFOLLOW`), `windows` (cap-std).

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
#[cfg(windows)]
mod windows_calls;

use std::fs::File;
use std::io;
use std::path::Path;

pub(super) use platform::{Folder, copy_attributes, must_stay, read_cached};

use crate::note::path::VaultPath;

/// Identity of a file or folder on this machine: equal for two names of one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    /// Device, or the volume's serial number.
    pub device: u64,
    /// Inode, or the file's index on its volume.
    pub inode: u64,
}

impl FileId {
    /// Where finding it out would cost an opening of the file.
    pub const UNKNOWN: Self = Self { device: 0, inode: 0 };
}

/// What a directory entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A regular file.
    File,
    Folder,
    /// A symbolic link, not followed.
    Link,
    /// A pipe, socket or device: never opened.
    Other,
}

impl Kind {
    /// The word people are told: `file`, `folder`, `link`, `special file`.
    pub fn word(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Folder => "folder",
            Kind::Link => "link",
            Kind::Other => "special file",
        }
    }
}

/// What the file system says of one entry. Times are nanoseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// What it is; a link is a link, whatever it points to.
    pub kind: Kind,
    /// Bytes of content.
    pub size: u64,
    /// Last change of the content, as far as nobody has set it otherwise.
    pub modified: i64,
    /// Last change of the file or of what is known of it, which nobody can set; on Windows `modified`.
    pub changed: i64,
    /// Birth, where the file system keeps it.
    pub created: Option<i64>,
    /// Last access as the system keeps it (often rounded to a day).
    pub accessed: i64,
    /// Names that this file has (hard links).
    pub names: u64,
    /// Permission bits, on Unix.
    pub mode: Option<u32>,
    pub id: FileId,
}

impl Meta {
    /// Something that is there and cannot be looked at.
    pub(super) fn unknown() -> Self {
        Self {
            kind: Kind::Other,
            size: 0,
            modified: 0,
            changed: 0,
            created: None,
            accessed: 0,
            names: 1,
            mode: None,
            id: FileId::UNKNOWN,
        }
    }

    /// Whether nothing tells this state of a file from another: it is the same file, of the same size
    /// and times.
    pub(super) fn is_state_of(&self, other: &Self) -> bool {
        let state = |meta: &Self| (meta.kind, meta.id, meta.size, meta.modified, meta.changed);
        state(self) == state(other)
    }

    /// What tells one [`changed`](Self::changed) from another: of all that is kept of a file there are
    /// many, and the whole time is asked for by nobody.
    pub fn change_mark(&self) -> u32 {
        (self.changed.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
    }

    /// Whether the mode bits let its owner write; `true` where there are none.
    pub fn writable_bits(&self) -> bool {
        self.mode.is_none_or(|mode| mode & 0o222 != 0)
    }
}

/// One name found in a folder.
pub(super) struct Listed {
    /// The name as the system spells it; not always UTF-8.
    pub name: std::ffi::OsString,
    pub meta: Meta,
}

/// A single name below a folder: what every changing call takes, so that none can be handed a
/// path (a raw rename with a path of several components follows links on the way).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name<'a>(&'a str);

impl<'a> Name<'a> {
    /// Takes a single component; anything else is an input error.
    pub fn new(name: &'a str) -> io::Result<Self> {
        match name {
            "" | "." | ".." => Err(io::Error::from(io::ErrorKind::InvalidInput)),
            _ if name.contains(['/', '\0']) => Err(io::Error::from(io::ErrorKind::InvalidInput)),
            #[cfg(windows)]
            _ if name.contains(['\\', ':']) => Err(io::Error::from(io::ErrorKind::InvalidInput)),
            _ => Ok(Self(name)),
        }
    }

    /// The name.
    pub fn as_str(self) -> &'a str {
        self.0
    }
}

impl Folder {
    /// Opens the folder at `path` below this one; no component may be a link.
    pub fn open_folder_at(&self, path: &VaultPath) -> io::Result<Folder> {
        if path.is_root() {
            return self.try_clone();
        }
        self.open_folder_path(path)
    }

    /// Opens the folder that holds `path`, and gives the last name.
    pub fn open_parent<'p>(&self, path: &'p VaultPath) -> io::Result<(Folder, Name<'p>)> {
        let parent = path.parent().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok((self.open_folder_at(&parent)?, Name::new(path.name())?))
    }

    /// What is at `path` below this folder; a link in any place but the last is an error.
    pub fn stat_at(&self, path: &VaultPath) -> io::Result<Meta> {
        if path.is_root() {
            return self.meta();
        }
        self.stat_path(path)
    }
}

/// Whether the error of a look says that a path leads to nothing: there is no such name, or something
/// else than a folder is on the way. Any other says nothing of what is there.
pub(super) fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    // A link in the place of a folder is refused as a loop.
    #[cfg(unix)]
    let is_loop = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    #[cfg(not(unix))]
    let is_loop = false;
    matches!(error.kind(), NotFound | NotADirectory) || is_loop
}

/// The error for an entry that is not what the call can work on.
pub(super) fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "not a regular file")
}

/// Renames without replacing, as surely as the file system can.
pub(super) fn rename_new(from: &Folder, name: Name, to: &Folder, to_name: Name) -> io::Result<()> {
    match from.rename_new(name, to, to_name) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => match to.stat(to_name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                from.rename_replacing(name, to, to_name)
            }
            Ok(_) => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
            Err(error) => Err(error),
        },
        other => other,
    }
}

/// Makes the names in one of our own folders durable. Windows does that by itself.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = File::open(folder)?;
        folder.sync_all()?;
        // As in `dir`: xfs has to be asked twice.
        folder.metadata()?;
    }
    Ok(())
}

/// Every regular file below a folder, by path.
pub(super) fn files_in(top: Folder) -> io::Result<Vec<(VaultPath, Meta)>> {
    let mut found = Vec::new();
    let mut open = vec![(top, VaultPath::root())];
    while let Some((here, below)) = open.pop() {
        for entry in here.list()? {
            let Some(path) = entry.name.to_str().and_then(|name| below.join(name)) else {
                continue;
            };
            match entry.meta.kind {
                Kind::File => found.push((path, entry.meta)),
                Kind::Folder => open.push((here.open_folder(Name::new(path.name())?)?, path)),
                Kind::Link | Kind::Other => {}
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}
