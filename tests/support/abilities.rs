//! Abilities of the file system that a test needs.
//!
//! The whole suite also runs on another file system (`STEWARD_TEST_VAULTS`), which does not support
//! everything. A test that needs more names the ability; there it then counts as not possible,
//! anywhere else as missing, see [`machine`].

use std::fs;
use std::path::Path;

use crate::machine;
use crate::vault::temporary_folder;

/// A feature that not every file system has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only tests for Linux need some"))]
pub enum Ability {
    /// A symbolic link.
    SymbolicLinks,
    /// Two names of one file.
    HardLinks,
    /// Named pipes and sockets.
    Pipes,
    /// Permissions and owners that differ by file.
    Permissions,
    /// Names with any byte but the slash.
    AnyName,
    /// Names that differ only in case.
    Case,
    /// Exchanging two files in one step.
    Exchange,
    /// A file larger than its disk.
    Sparse,
    /// A kernel's own file system: it reports every change at once, and reads return the written
    /// bytes.
    InKernel,
    /// Reading a file without waiting, as far as it is in memory.
    NonBlockingReads,
}

/// Whether the calling test, which needs `ability`, can run; if not, that is recorded.
///
/// # Panics
///
/// In CI, where the machine's own file system must have it.
pub fn can(ability: Ability) -> bool {
    let folder = temporary_folder();
    if ability.is_there(folder.path()) {
        return true;
    }
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let needs = format!("{ability:?}");
    if !machine::not_possible_elsewhere(test, &needs) {
        machine::missing(test, &needs);
    }
    false
}

impl Ability {
    /// Tries it in an empty folder.
    #[cfg(unix)]
    fn is_there(self, at: &Path) -> bool {
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::fs::PermissionsExt;
        let (one, other) = (at.join("one"), at.join("other"));
        fs::write(&one, "1").expect("written");
        match self {
            Self::SymbolicLinks => std::os::unix::fs::symlink("one", &other).is_ok(),
            Self::HardLinks => fs::hard_link(&one, &other).is_ok(),
            Self::Pipes => {
                let made = std::process::Command::new("mkfifo").arg(&other).status();
                made.is_ok_and(|status| status.success())
            }
            Self::Permissions => {
                let private = fs::Permissions::from_mode(0o600);
                let mode = || fs::metadata(&one).map(|meta| meta.permissions().mode() & 0o777);
                fs::set_permissions(&one, private).is_ok() && mode().is_ok_and(|mode| mode == 0o600)
            }
            Self::AnyName => {
                fs::write(at.join(std::ffi::OsStr::from_bytes(b"a\\b:\xff")), "1").is_ok()
            }
            Self::Case => !at.join("ONE").exists(),
            Self::Exchange => {
                fs::write(&other, "2").expect("written");
                exchange(&one, &other)
            }
            Self::Sparse => fs::File::create(&other).and_then(|file| file.set_len(1 << 40)).is_ok(),
            Self::InKernel => in_kernel(at),
            Self::NonBlockingReads => nonblocking_reads(&one),
        }
    }

    #[cfg(not(unix))]
    fn is_there(self, at: &Path) -> bool {
        fs::write(at.join("one"), "1").expect("written");
        match self {
            Self::HardLinks => fs::hard_link(at.join("one"), at.join("other")).is_ok(),
            Self::Case => !at.join("ONE").exists(),
            Self::Exchange | Self::InKernel => true,
            Self::SymbolicLinks
            | Self::Pipes
            | Self::Permissions
            | Self::AnyName
            | Self::Sparse
            | Self::NonBlockingReads => false,
        }
    }
}

#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

#[cfg(all(unix, not(target_os = "linux")))]
fn exchange(_: &Path, _: &Path) -> bool {
    true
}

#[cfg(target_os = "linux")]
fn in_kernel(at: &Path) -> bool {
    const FUSE: u64 = 0x6573_5546;
    rustix::fs::statfs(at).is_ok_and(|about| about.f_type as u64 != FUSE)
}

#[cfg(target_os = "linux")]
fn nonblocking_reads(one: &Path) -> bool {
    let file = fs::File::open(one).expect("it is there");
    let mut byte = [0];
    let mut buffers = [std::io::IoSliceMut::new(&mut byte)];
    let flags = rustix::io::ReadWriteFlags::NOWAIT;
    rustix::io::preadv2(&file, &mut buffers, 0, flags).is_ok_and(|read| read == 1)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn nonblocking_reads(_: &Path) -> bool {
    false
}

#[cfg(all(unix, not(target_os = "linux")))]
fn in_kernel(_: &Path) -> bool {
    true
}
