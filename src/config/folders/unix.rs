//! Identities of folders, the same on every Unix.

#![expect(clippy::disallowed_methods, reason = "our own folders, made before any vault is opened")]

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What the file system knows a folder by, wherever it is moved on its disk, and no copy of it: its
/// number, which may be given again, and when it was made.
pub fn folder_id(folder: &Path) -> Option<String> {
    let meta = std::fs::metadata(folder).ok()?;
    let made = meta.created().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    (!made.is_zero()).then(|| format!("{} {}", meta.ino(), made.as_nanos()))
}

/// Whether two paths are the same folder, whatever they are called.
pub fn same_folder(a: &Path, b: &Path) -> bool {
    match (std::fs::metadata(a), std::fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}
