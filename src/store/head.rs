//! The first bytes of a database, read beside whoever has it open.
//!
//! POSIX locks belong to the process, not to a handle: whoever closes any handle of a file lets go of
//! all locks that the process has on it, SQLite's too (<https://sqlite.org/howtocorrupt.html>, 2.2).
//! Then another process that closes the database takes its log away, and what this one still writes
//! goes nowhere. So a handle that was opened for a look stays open for as long as the file has a name.

use std::fs::File;
use std::io;
use std::path::Path;

/// So many bytes say what a database is.
const LENGTH: usize = 100;

/// The first hundred bytes of the file of this name; fewer where it is shorter.
///
/// # Errors
/// As the system says.
#[cfg(unix)]
pub(super) fn of(place: &Path) -> io::Result<Vec<u8>> {
    use std::os::unix::fs::{FileExt, MetadataExt};
    use std::sync::{Mutex, PoisonError};

    static OPEN: Mutex<Vec<File>> = Mutex::new(Vec::new());

    let named = std::fs::metadata(place)?;
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|file| file.metadata().is_ok_and(|meta| meta.nlink() > 0));
    let is_it = |file: &File| {
        file.metadata().is_ok_and(|meta| (meta.dev(), meta.ino()) == (named.dev(), named.ino()))
    };
    let at = match open.iter().position(is_it) {
        Some(at) => at,
        None => {
            open.push(File::open(place)?);
            open.len() - 1
        }
    };
    let mut head = vec![0; LENGTH];
    let mut length = 0;
    while length < LENGTH {
        match open[at].read_at(&mut head[length..], length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    head.truncate(length);
    Ok(head)
}

/// The first hundred bytes of the file of this name; fewer where it is shorter. Locks belong to their
/// handles here.
///
/// # Errors
/// As the system says.
#[cfg(not(unix))]
pub(super) fn of(place: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read as _;

    let mut head = Vec::new();
    File::open(place)?.take(LENGTH as u64).read_to_end(&mut head)?;
    Ok(head)
}
