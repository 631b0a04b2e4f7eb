//! Folder identities on Unix.

#![expect(clippy::disallowed_methods, reason = "our own folders, made before any vault is opened")]

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Identifies a folder even after it is moved on its disk, but not a copy of it: its inode number,
/// which may be reused, and its creation time.
pub fn folder_id(folder: &Path) -> Option<String> {
    let meta = std::fs::metadata(folder).ok()?;
    let made = meta.created().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    (!made.is_zero()).then(|| format!("{} {}", meta.ino(), made.as_nanos()))
}

/// Whether two paths lead to the same folder.
pub fn same_folder(a: &Path, b: &Path) -> bool {
    match (std::fs::metadata(a), std::fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}
