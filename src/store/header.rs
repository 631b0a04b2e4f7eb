//! Reads the first bytes of a database that may be open elsewhere in this process.
//!
//! POSIX locks belong to the process: closing any handle of a file releases all locks that the process
//! has on it, SQLite's too (<https://sqlite.org/howtocorrupt.html>, 2.2). Another process that closes the
//! database would then delete the log that this one still writes to. So a handle that was opened here
//! stays open until the file is deleted.

use std::fs::File;
use std::io;
use std::path::Path;

/// Length of SQLite's header.
const LENGTH: usize = 100;

/// Reads the first hundred bytes of a file; fewer if it is shorter.
#[cfg(unix)]
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    use std::os::unix::fs::{FileExt, MetadataExt};
    use std::sync::Mutex;

    use crate::locks::lock;

    static OPEN: Mutex<Vec<File>> = Mutex::new(Vec::new());

    let wanted = std::fs::metadata(path)?;
    let mut open = lock(&OPEN);
    open.retain(|file| file.metadata().is_ok_and(|meta| meta.nlink() > 0));
    let is_it = |file: &File| {
        file.metadata().is_ok_and(|meta| (meta.dev(), meta.ino()) == (wanted.dev(), wanted.ino()))
    };
    let at = match open.iter().position(is_it) {
        Some(at) => at,
        None => {
            open.push(File::open(path)?);
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

/// As on Unix. Locks belong to handles here.
#[cfg(not(unix))]
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read as _;

    let mut head = Vec::new();
    File::open(path)?.take(LENGTH as u64).read_to_end(&mut head)?;
    Ok(head)
}
