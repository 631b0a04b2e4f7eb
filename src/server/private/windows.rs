//! Folders in the user's profile inherit an access list that excludes other users, so there is no mode to set
//! or check.

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
