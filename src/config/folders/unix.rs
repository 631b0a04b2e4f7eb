//! Identities of folders, the same on every Unix.

#![expect(clippy::disallowed_methods, reason = "our own folders, made before any vault is opened")]

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether two paths are the same folder, whatever they are called.
pub fn same_folder(a: &Path, b: &Path) -> bool {
    match (std::fs::metadata(a), std::fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}
