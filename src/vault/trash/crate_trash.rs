//! Finder's trash and the Recycle Bin, through the `trash` crate.
//!
//! It goes by absolute path, as the systems' own calls do. What it moved is looked for afterwards.

use std::io;
use std::path::{Path, PathBuf};

use crate::vault::dir::{Folder, Name};
use crate::vault::durable::Durable;

/// Moves `name` out of `folder`, which lies at `place`, into the trash.
///
/// # Errors
/// Why it was not moved, to follow "because"; it is where it was then.
pub(super) fn put(
    _: &Durable,
    folder: &Folder,
    name: Name,
    place: &Path,
) -> Result<Option<PathBuf>, String> {
    let before = folder.stat(name).map_err(|error| error.to_string())?;
    trash::delete(place).map_err(|error| format!("the system's trash refused: {error}"))?;
    match folder.stat(name) {
        Ok(there) if there.id == before.id => Err("the system's trash left it there".to_owned()),
        _ => Ok(None),
    }
}

/// No folder that this program would write to itself.
pub(super) fn of_vault(_: &Path) -> Option<PathBuf> {
    None
}

/// Nothing has to be made here.
pub(super) fn make(_: &Path) -> io::Result<()> {
    Ok(())
}
/// Where the system keeps what it trashed is not told.
pub(super) fn find(_name: &str, _is: &dyn Fn(&Folder, Name) -> bool) -> Option<PathBuf> {
    None
}

/// Nothing is known of the system's own notes.
pub(super) fn forget(_place: &Path) {}
