//! Two Windows calls that no crate offers in a safe form: the only unsafe code in this room.
#![expect(unsafe_code, reason = "two system calls that take pointers to NUL-terminated paths")]

use std::io;
use std::iter::once;
use std::os::windows::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null;

use windows_sys::Win32::Storage::FileSystem::{
    MOVEFILE_WRITE_THROUGH, MoveFileExW, REPLACEFILE_WRITE_THROUGH, ReplaceFileW,
};

/// Moves `from` to `to`, which must not exist, and syncs.
pub(super) fn move_new(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (wide(from), wide(to));
    // SAFETY: both are NUL-terminated and outlive the call, which keeps neither.
    let done = unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), MOVEFILE_WRITE_THROUGH) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Replaces `old` by `new`; the old file is renamed to `aside`.
pub(super) fn replace(old: &Path, new: &Path, aside: &Path) -> io::Result<()> {
    let (old, new, aside) = (wide(old), wide(new), wide(aside));
    // SAFETY: all three are NUL-terminated and outlive the call, which keeps none; the last two
    // parameters are reserved and must be null.
    let done = unsafe {
        ReplaceFileW(
            old.as_ptr(),
            new.as_ptr(),
            aside.as_ptr(),
            REPLACEFILE_WRITE_THROUGH,
            null(),
            null(),
        )
    };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn wide(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain(once(0)).collect()
}
