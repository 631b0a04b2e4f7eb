//! Owners and modes.

#![expect(clippy::disallowed_methods, reason = "our own state folder, never a vault")]

use std::fs::{DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::NotPrivate;

pub(super) fn create(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

pub(super) fn close(folder: &Path) -> io::Result<()> {
    std::fs::set_permissions(folder, Permissions::from_mode(0o700))
}

pub(super) fn check(metadata: &Metadata) -> Result<(), NotPrivate> {
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(NotPrivate::Foreign);
    }
    match metadata.mode() & 0o777 {
        mode if mode & 0o077 == 0 => Ok(()),
        mode => Err(NotPrivate::Open(mode)),
    }
}
