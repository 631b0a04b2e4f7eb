//! Owners, modes and identities, the same on every Unix.

#![expect(clippy::disallowed_methods, reason = "our own folders, made before any vault is opened")]

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// Makes a folder and those above it, all for this user alone; one that is there already must be a
/// real folder of ours, and is closed to others if it was open.
pub(super) fn create_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let meta = std::fs::symlink_metadata(folder)?;
    if !meta.is_dir() {
        // Someone who can plant a symlink here could collect our token.
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is a symlink"));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    if meta.mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

pub(super) fn check_private(path: &Path) -> Result<(), String> {
    let meta = std::fs::symlink_metadata(path).map_err(|error| error.to_string())?;
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user".to_owned());
    }
    match meta.mode() & 0o777 {
        mode if mode & 0o077 == 0 => Ok(()),
        mode => Err(format!("its mode {mode:03o} lets other users in")),
    }
}

/// Whether two paths are the same folder, whatever they are called.
pub fn same_folder(a: &Path, b: &Path) -> bool {
    match (std::fs::metadata(a), std::fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}
