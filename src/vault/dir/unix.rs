//! Linux and macOS: directory descriptors through `rustix`.
//!
//! Linux resolves a whole path by one `openat2` that follows no link. Where that call is missing
//! (kernels before 5.6, some sandboxes, macOS) the path is walked, with one `openat` with
//! `O_NOFOLLOW` a component: as safe, but one call a folder. Tests run both.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self, Access, AtFlags, Dir, Mode, OFlags, RenameFlags};

use super::{FileId, Kind, Listed, Meta, Name, not_regular};
use crate::chaos;
use crate::note::path::VaultPath;

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

// Opening a pipe could block for ever, and a terminal could become the controlling one.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

// For a stat; opens links themselves.
#[cfg(target_os = "linux")]
const STAT: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
#[cfg(not(target_os = "linux"))]
const STAT: OFlags = READ;

#[derive(Debug)]
pub(in crate::vault) struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder by its absolute path. Only here links are followed: the vault's path may
    /// contain one.
    pub fn open_root(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(fs::open(path, flags, Mode::empty())?))
    }

    /// Stats a folder by its absolute path; follows links like [`Self::open_root`].
    #[cfg(target_os = "linux")]
    pub fn root_meta(path: &Path) -> io::Result<Meta> {
        Ok(from_statx(&fs::statx(fs::CWD, path, AtFlags::empty(), MASK)?))
    }

    /// Stats a folder by its absolute path; follows links like [`Self::open_root`].
    #[cfg(not(target_os = "linux"))]
    pub fn root_meta(path: &Path) -> io::Result<Meta> {
        Ok(from_stat(&fs::stat(path)?))
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    pub(super) fn open_folder_path(&self, path: &VaultPath) -> io::Result<Self> {
        Ok(Self(self.open_path(path, FOLDER)?))
    }

    /// Opens the regular file at `path` for reading; no component may be a link.
    pub fn open_file_at(&self, path: &VaultPath) -> io::Result<(File, Meta)> {
        regular(self.open_path(path, READ)?)
    }

    /// As [`Self::open_file_at`], from the kernel's caches and on this folder's disk alone; an
    /// error if that is not possible.
    pub fn open_file_cached(&self, path: &VaultPath) -> io::Result<(File, Meta)> {
        regular(self.open_cached(path, READ)?)
    }

    /// As [`Self::stat_at`] with the same limits.
    pub fn stat_cached(&self, path: &VaultPath) -> io::Result<Meta> {
        meta_of_fd(self.open_cached(path, STAT)?)
    }

    #[cfg(target_os = "linux")]
    fn open_cached(&self, path: &VaultPath, flags: OFlags) -> io::Result<OwnedFd> {
        if beneath::available() {
            Ok(beneath::open_cached(self.0.as_fd(), path.as_str(), flags)?)
        } else {
            Err(io::Error::from(io::ErrorKind::WouldBlock))
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn open_cached(&self, _: &VaultPath, _: OFlags) -> io::Result<OwnedFd> {
        Err(io::Error::from(io::ErrorKind::WouldBlock))
    }

    fn open_path(&self, path: &VaultPath, flags: OFlags) -> io::Result<OwnedFd> {
        #[cfg(target_os = "linux")]
        if beneath::available() {
            return Ok(beneath::open(self.0.as_fd(), path.as_str(), flags)?);
        }
        let mut folder: Option<OwnedFd> = None;
        let mut names = path.components().peekable();
        while let Some(name) = names.next() {
            let at = folder.as_ref().unwrap_or(&self.0);
            let flags = if names.peek().is_some() { FOLDER } else { flags };
            let opened = fs::openat(at, Name::new(name)?.as_str(), flags, Mode::empty());
            folder = Some(opened?);
        }
        folder.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
    }

    pub fn meta(&self) -> io::Result<Meta> {
        meta_of_fd(&self.0)
    }

    /// Stats `name`; follows no link.
    pub fn stat(&self, name: Name) -> io::Result<Meta> {
        stat_raw(&self.0, name.as_str().as_bytes())
    }

    /// All entries but `.` and `..`, without those that vanish meanwhile.
    pub fn list(&self) -> io::Result<Vec<Listed>> {
        let mut listed = Vec::new();
        let mut dir = Dir::read_from(&self.0)?;
        while let Some(entry) = dir.read() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            let meta = self.stat_listed(name);
            listed
                .extend(meta.map(|meta| Listed { name: OsStr::from_bytes(name).to_owned(), meta }));
        }
        Ok(listed)
    }

    /// Calls `visit` with the entries of [`Self::list`]. Reads through this handle instead of
    /// opening the folder again, so it can be called only once.
    ///
    /// # Errors
    /// From the system, perhaps after some entries were visited.
    #[cfg(target_os = "linux")]
    pub fn visit(&self, mut visit: impl FnMut(&OsStr, &Meta)) -> io::Result<()> {
        let mut buffer = vec![std::mem::MaybeUninit::<u8>::uninit(); 16 << 10];
        let mut entries = fs::RawDir::new(&self.0, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if let Some(meta) = self.stat_listed(name) {
                visit(OsStr::from_bytes(name), &meta);
            }
        }
        Ok(())
    }

    /// Calls `visit` with the entries of [`Self::list`].
    #[cfg(not(target_os = "linux"))]
    pub fn visit(&self, mut visit: impl FnMut(&OsStr, &Meta)) -> io::Result<()> {
        self.list()?.iter().for_each(|one| visit(&one.name, &one.meta));
        Ok(())
    }

    /// Stats a listed name; `None` if it has vanished, or is `.` or `..`.
    fn stat_listed(&self, name: &[u8]) -> Option<Meta> {
        if name == b"." || name == b".." {
            return None;
        }
        match stat_raw(&self.0, name) {
            Ok(meta) => Some(meta),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // One entry that cannot be stat'ed (a dead mount) does not hide the others.
            Err(_) => Some(Meta::unknown()),
        }
    }

    pub fn read_link(&self, name: Name) -> io::Result<PathBuf> {
        let target = fs::readlinkat(&self.0, name.as_str(), Vec::new())?;
        Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
    }

    pub fn open_file(&self, name: Name) -> io::Result<(File, Meta)> {
        regular(fs::openat(&self.0, name.as_str(), READ, Mode::empty())?)
    }

    pub fn open_folder(&self, name: Name) -> io::Result<Self> {
        Ok(Self(fs::openat(&self.0, name.as_str(), FOLDER, Mode::empty())?))
    }

    /// Creates an empty file, readable by this user alone if `private`; an existing name is an
    /// error.
    pub fn create_new(&self, name: Name, private: bool) -> io::Result<File> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(if private { 0o600 } else { 0o666 });
        Ok(chaos::step("create", || fs::openat(&self.0, name.as_str(), flags, mode))?.into())
    }

    /// Opens an existing regular file for reading and writing, without truncating it.
    pub fn open_for_update(&self, name: Name) -> io::Result<(File, Meta)> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        regular(fs::openat(&self.0, name.as_str(), flags | OFlags::NOFOLLOW, Mode::empty())?)
    }

    /// Checks by `access` whether the file `name` can be written. It is not opened for writing,
    /// which would cause events.
    pub fn may_write(&self, name: Name) -> io::Result<()> {
        Ok(fs::accessat(&self.0, name.as_str(), Access::WRITE_OK, AtFlags::EACCESS)?)
    }

    /// Checks by `access` whether entries can be added and removed.
    pub fn may_change(&self) -> io::Result<()> {
        let wanted = Access::WRITE_OK | Access::EXEC_OK;
        Ok(fs::accessat(&self.0, ".", wanted, AtFlags::EACCESS)?)
    }

    /// An existing name is an error.
    pub fn create_folder(&self, name: Name) -> io::Result<()> {
        let mode = Mode::from_raw_mode(0o777);
        Ok(chaos::step("make folder", || fs::mkdirat(&self.0, name.as_str(), mode))?)
    }

    /// Creates a symbolic link; an existing name is an error.
    pub fn create_link(&self, name: Name, target: &Path) -> io::Result<()> {
        let call = || fs::symlinkat(target, &self.0, name.as_str());
        Ok(chaos::step("make link", call)?)
    }

    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        let mode = Mode::from_raw_mode((mode & 0o7777) as _);
        Ok(chaos::step("set mode", || fs::fchmod(&self.0, mode))?)
    }

    /// Renames without replacing.
    ///
    /// # Errors
    /// `AlreadyExists` if `to_name` exists; `Unsupported` if the file system has no such call.
    pub fn rename_new(&self, name: Name, to: &Folder, to_name: Name) -> io::Result<()> {
        let flags = RenameFlags::NOREPLACE;
        let call = || fs::renameat_with(&self.0, name.as_str(), &to.0, to_name.as_str(), flags);
        chaos::step("rename", call).map_err(unsupported)
    }

    /// Exchanges two names atomically.
    ///
    /// # Errors
    /// `Unsupported` if the file system has no such call.
    pub fn exchange(&self, name: Name, to: &Folder, to_name: Name) -> io::Result<()> {
        let flags = RenameFlags::EXCHANGE;
        let call = || fs::renameat_with(&self.0, name.as_str(), &to.0, to_name.as_str(), flags);
        chaos::step("exchange", call).map_err(unsupported)
    }

    /// Renames, replacing an existing file: for file systems without the two calls above.
    pub fn rename_replacing(&self, name: Name, to: &Folder, to_name: Name) -> io::Result<()> {
        let call = || fs::renameat(&self.0, name.as_str(), &to.0, to_name.as_str());
        Ok(chaos::step("replace", call)?)
    }

    pub fn remove_file(&self, name: Name) -> io::Result<()> {
        let call = || fs::unlinkat(&self.0, name.as_str(), AtFlags::empty());
        Ok(chaos::step("remove file", call)?)
    }

    pub fn remove_folder(&self, name: Name) -> io::Result<()> {
        let call = || fs::unlinkat(&self.0, name.as_str(), AtFlags::REMOVEDIR);
        Ok(chaos::step("remove folder", call)?)
    }

    /// Syncs the names in this folder.
    pub fn sync(&self) -> io::Result<()> {
        match chaos::step("sync folder", || fs::fsync(&self.0)) {
            // FUSE and some network file systems have no fsync for folders; `doctor` reports it.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOTSUP) => Ok(()),
            Err(error) => Err(error.into()),
            // xfs reports success even after it has shut down and dropped the change; a stat then
            // fails.
            Ok(()) => Ok(fs::fstat(&self.0).map(drop)?),
        }
    }

    /// A new handle of this folder, which has no pending write errors.
    pub fn reopen(&self) -> io::Result<Self> {
        Ok(Self(fs::openat(&self.0, ".", FOLDER, Mode::empty())?))
    }

    /// Syncs the whole file system, other programs' writes included.
    ///
    /// # Errors
    /// Write errors since this handle was opened.
    pub fn sync_file_system(&self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        return Ok(chaos::step("sync file system", || fs::syncfs(&self.0))?);
        #[cfg(not(target_os = "linux"))]
        self.sync()
    }

    /// A folder can be renamed while it is open.
    pub fn is_fixed_while_in_use() -> bool {
        false
    }

    /// Whether [`Self::sync_file_system`] reports failed writes of content, as Linux does since
    /// 5.8.
    pub fn syncfs_reports_errors() -> bool {
        static REPORTS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *REPORTS.get_or_init(|| {
            let system = rustix::system::uname();
            let release = system.release().to_string_lossy();
            let mut numbers = release.split(['.', '-']).map_while(|number| number.parse().ok());
            let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
            cfg!(target_os = "linux") && version >= (5_u32, 8_u32)
        })
    }

    /// Whether this file system is known to write changes of names in order: those with a journal,
    /// and those with copy on write.
    #[cfg(target_os = "linux")]
    pub fn keeps_order(&self) -> bool {
        // Magic numbers of statfs(2): ext4, XFS, Btrfs, F2FS, bcachefs, ZFS, and tmpfs, which has
        // no disk.
        let orderly =
            [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0xca45_1a4e, 0x2fc1_2fc1, 0x0102_1994];
        fs::fstatfs(&self.0).is_ok_and(|found| orderly.contains(&(found.f_type as u32)))
    }

    /// Not known here.
    #[cfg(not(target_os = "linux"))]
    pub fn keeps_order(&self) -> bool {
        false
    }

    /// The file system's name, if it is a network or user-space one, whose events are unreliable.
    #[cfg(target_os = "linux")]
    pub fn remote_file_system(&self) -> Option<&'static str> {
        // Magic numbers of statfs(2).
        match fs::fstatfs(&self.0).ok()?.f_type as u32 {
            0x6969 => Some("NFS"),
            0x517b | 0xfe53_4d42 | 0xff53_4d42 => Some("SMB"),
            0x0102_1997 => Some("9p"),
            0x6573_5546 => Some("FUSE"),
            0x7461_636f => Some("OCFS2"),
            0x0bd0_0bd0 => Some("Lustre"),
            0x00c3_6400 => Some("Ceph"),
            0x5346_414f => Some("AFS"),
            _ => None,
        }
    }

    /// Not known here.
    #[cfg(not(target_os = "linux"))]
    pub fn remote_file_system(&self) -> Option<&'static str> {
        None
    }
}

/// Reads from the start of a file what the page cache has, up to the size of `buffer`; an error if
/// it has nothing.
#[cfg(target_os = "linux")]
pub(in crate::vault) fn read_cached(file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut buffers = [io::IoSliceMut::new(buffer)];
    let flags = rustix::io::ReadWriteFlags::NOWAIT;
    Ok(rustix::io::preadv2(file, &mut buffers, 0, flags)?)
}

#[cfg(not(target_os = "linux"))]
pub(in crate::vault) fn read_cached(_: &File, _: &mut [u8]) -> io::Result<usize> {
    Err(io::Error::from(io::ErrorKind::WouldBlock))
}

/// Whether a file must be rewritten in place: it has hard links, or another owner, which only root
/// could give to a new file.
pub(in crate::vault) fn must_keep_inode(file: &File, meta: &Meta) -> bool {
    let user = rustix::process::geteuid();
    let owner = fs::fstat(file).map(|stat| stat.st_uid);
    meta.names > 1 || (!user.is_root() && owner.is_ok_and(|owner| owner != user.as_raw()))
}

/// Copies mode, owner and extended attributes; the latter two only as far as this user may.
pub(in crate::vault) fn copy_attributes(from: &File, to: &File, meta: &Meta) -> io::Result<()> {
    if let Ok(stat) = fs::fstat(from) {
        let ours = fs::fstat(to)?;
        if (stat.st_uid, stat.st_gid) != (ours.st_uid, ours.st_gid) {
            // Only root can change the owner; a user may still set the group.
            let uid = fs::Uid::from_raw(stat.st_uid);
            let gid = fs::Gid::from_raw(stat.st_gid);
            if fs::fchown(to, Some(uid), Some(gid)).is_err() {
                let _ = fs::fchown(to, None, Some(gid));
            }
        }
    }
    copy_xattrs(from, to);
    if let Some(mode) = meta.mode {
        fs::fchmod(to, Mode::from_raw_mode((mode & 0o7777) as _))?;
    }
    Ok(())
}

fn copy_xattrs(from: &File, to: &File) {
    let mut names = vec![0_u8; 4096];
    let Ok(length) = fs::flistxattr(from, &mut names[..]) else { return };
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0_u8; 65536];
        if let Ok(length) = fs::fgetxattr(from, name, &mut value[..]) {
            let _ = fs::fsetxattr(to, name, &value[..length], fs::XattrFlags::empty());
        }
    }
}

fn regular(fd: OwnedFd) -> io::Result<(File, Meta)> {
    let meta = meta_of_fd(&fd)?;
    match meta.kind {
        Kind::File => Ok((File::from(fd), meta)),
        Kind::Folder => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Kind::Link | Kind::Other => Err(not_regular()),
    }
}

/// Maps the errors that mean "not on this file system" to `Unsupported`.
fn unsupported(error: rustix::io::Errno) -> io::Error {
    use rustix::io::Errno;
    match error {
        Errno::INVAL | Errno::NOSYS | Errno::NOTSUP => {
            io::Error::new(io::ErrorKind::Unsupported, io::Error::from(error))
        }
        other => other.into(),
    }
}

#[cfg(target_os = "linux")]
fn meta_of_fd(fd: impl AsFd) -> io::Result<Meta> {
    Ok(from_statx(&fs::statx(fd, "", AtFlags::EMPTY_PATH, MASK)?))
}

#[cfg(target_os = "linux")]
fn stat_raw(folder: &OwnedFd, name: &[u8]) -> io::Result<Meta> {
    Ok(from_statx(&fs::statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, MASK)?))
}

#[cfg(target_os = "linux")]
const MASK: fs::StatxFlags = fs::StatxFlags::BASIC_STATS.union(fs::StatxFlags::BTIME);

#[cfg(target_os = "linux")]
fn from_statx(stat: &fs::Statx) -> Meta {
    let nanos = |time: fs::StatxTimestamp| nanoseconds(time.tv_sec, i64::from(time.tv_nsec));
    Meta {
        kind: kind_of(fs::FileType::from_raw_mode(stat.stx_mode.into())),
        size: stat.stx_size,
        modified: nanos(stat.stx_mtime),
        changed: nanos(stat.stx_ctime),
        created: (stat.stx_mask & fs::StatxFlags::BTIME.bits() != 0).then(|| nanos(stat.stx_btime)),
        accessed: nanos(stat.stx_atime),
        names: stat.stx_nlink.into(),
        mode: Some(u32::from(stat.stx_mode) & 0o7777),
        id: FileId {
            device: fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
        },
    }
}

#[cfg(not(target_os = "linux"))]
fn meta_of_fd(fd: impl AsFd) -> io::Result<Meta> {
    Ok(from_stat(&fs::fstat(fd)?))
}

#[cfg(not(target_os = "linux"))]
fn stat_raw(folder: &OwnedFd, name: &[u8]) -> io::Result<Meta> {
    Ok(from_stat(&fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?))
}

#[cfg(not(target_os = "linux"))]
fn from_stat(stat: &fs::Stat) -> Meta {
    Meta {
        kind: kind_of(fs::FileType::from_raw_mode(stat.st_mode)),
        size: stat.st_size as u64,
        modified: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        changed: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        created: Some(nanoseconds(stat.st_birthtime, stat.st_birthtime_nsec)),
        accessed: nanoseconds(stat.st_atime, stat.st_atime_nsec),
        names: stat.st_nlink.into(),
        mode: Some(u32::from(stat.st_mode) & 0o7777),
        id: FileId { device: stat.st_dev as u64, inode: stat.st_ino },
    }
}

fn nanoseconds(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

fn kind_of(file_type: fs::FileType) -> Kind {
    match file_type {
        fs::FileType::RegularFile => Kind::File,
        fs::FileType::Directory => Kind::Folder,
        fs::FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}

#[cfg(target_os = "linux")]
mod beneath {
    //! `openat2`, and whether there is one.

    use std::os::fd::{BorrowedFd, OwnedFd};
    use std::sync::atomic::{AtomicU8, Ordering};

    use rustix::fs::{self, Mode, OFlags, ResolveFlags};
    use rustix::io::Errno;

    const RESOLVE: ResolveFlags =
        ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

    /// From the kernel's caches, on the disk of the start folder.
    const CACHED: ResolveFlags = RESOLVE.union(ResolveFlags::CACHED).union(ResolveFlags::NO_XDEV);

    const UNKNOWN: u8 = 0;
    const YES: u8 = 1;
    const NO: u8 = 2;
    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

    pub fn available() -> bool {
        match STATE.load(Ordering::Relaxed) {
            UNKNOWN => {
                // For testing the walk on kernels with `openat2`.
                let off = std::env::var_os("STEWARD_NO_OPENAT2").is_some();
                let here = fs::openat2(
                    fs::CWD,
                    ".",
                    OFlags::PATH | OFlags::CLOEXEC,
                    Mode::empty(),
                    ResolveFlags::BENEATH,
                );
                let state = if off || here.is_err() { NO } else { YES };
                STATE.store(state, Ordering::Relaxed);
                state == YES
            }
            state => state == YES,
        }
    }

    /// As [`open`] from the kernel's caches; `EAGAIN` if that is not possible.
    pub fn open_cached(
        folder: BorrowedFd<'_>,
        path: &str,
        flags: OFlags,
    ) -> rustix::io::Result<OwnedFd> {
        fs::openat2(folder, path, flags, Mode::empty(), CACHED)
    }

    pub fn open(folder: BorrowedFd<'_>, path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        // EAGAIN: a concurrent rename; the kernel wants a retry.
        for _ in 0..64 {
            match fs::openat2(folder, path, flags, Mode::empty(), RESOLVE) {
                Err(Errno::AGAIN) => {}
                other => return other,
            }
        }
        Err(Errno::AGAIN)
    }
}
