//! What lies below the user's profile is closed to other users by the access list it inherits, so
//! there is no mode to set and none to check.

#![expect(clippy::disallowed_methods, reason = "our own state folder, never a vault")]

use std::fs::Metadata;
use std::io;
use std::path::Path;

use super::NotPrivate;

pub(super) fn create(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

pub(super) fn close(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn check(_: &Metadata) -> Result<(), NotPrivate> {
    Ok(())
}
