//! Two Windows calls that no crate offers in a safe form.
#![expect(unsafe_code, reason = "two system calls that take pointers to NUL-terminated paths")]

use std::io;
use std::iter::once;
use std::os::windows::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null;
use std::time::Duration;

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_UNABLE_TO_MOVE_REPLACEMENT,
    ERROR_UNABLE_TO_REMOVE_REPLACED,
};
use windows_sys::Win32::Storage::FileSystem::{
    MOVEFILE_WRITE_THROUGH, MoveFileExW, REPLACEFILE_WRITE_THROUGH, ReplaceFileW,
};

/// Moves `from` to `to`, which must not exist, and syncs.
pub(super) fn move_new(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (wide(from), wide(to));
    // SAFETY: both are NUL-terminated and outlive the call, which keeps neither.
    patiently(|| unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), MOVEFILE_WRITE_THROUGH) })
}

/// Replaces `old` by `new`; the old file is renamed to `aside`.
pub(super) fn replace(old: &Path, new: &Path, aside: &Path) -> io::Result<()> {
    let (old, new, aside) = (wide(old), wide(new), wide(aside));
    // SAFETY: all three are NUL-terminated and outlive the call, which keeps none; the last two
    // parameters are reserved and must be null.
    patiently(|| unsafe {
        ReplaceFileW(
            old.as_ptr(),
            new.as_ptr(),
            aside.as_ptr(),
            REPLACEFILE_WRITE_THROUGH,
            null(),
            null(),
        )
    })
}

/// Virus scanners and indexers hold files for a moment, during which they cannot be renamed.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(1),
    Duration::from_millis(10),
    Duration::from_millis(50),
    Duration::from_millis(200),
];

/// The errors of a held file; the second is that of a folder below which a file is open. After the
/// last two, which `ReplaceFileW` returns, both files still have their names.
const HELD: [u32; 4] = [
    ERROR_SHARING_VIOLATION,
    ERROR_ACCESS_DENIED,
    ERROR_UNABLE_TO_REMOVE_REPLACED,
    ERROR_UNABLE_TO_MOVE_REPLACEMENT,
];

/// Repeats a call while another program holds the file. The call returns zero if it failed.
fn patiently(call: impl Fn() -> i32) -> io::Result<()> {
    let mut pauses = PAUSES.into_iter();
    loop {
        if call() != 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        let is_held = error.raw_os_error().is_some_and(|code| HELD.contains(&code.cast_unsigned()));
        match pauses.next() {
            Some(pause) if is_held => std::thread::sleep(pause),
            _ => return Err(error),
        }
    }
}

fn wide(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain(once(0)).collect()
}
