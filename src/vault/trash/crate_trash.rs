//! The Mac's trash and the Recycle Bin, through the `trash` crate.
//!
//! It moves by absolute path, like the systems' own calls, so the result is checked afterwards.

use std::io;
use std::path::{Path, PathBuf};

#[cfg(not(target_os = "macos"))]
use trash::delete;

use crate::vault::dir::{Folder, Name};
use crate::vault::durable::Durable;

/// Moves `name` from `folder` to the trash; `place` is its absolute path.
pub(super) fn put(
    _: &Durable,
    folder: &Folder,
    name: Name,
    place: &Path,
) -> Result<Option<PathBuf>, String> {
    let before = folder.stat(name).map_err(|error| error.to_string())?;
    delete(place).map_err(|error| format!("the system's trash refused: {error}"))?;
    match folder.stat(name) {
        Ok(there) if there.id == before.id => Err("the system's trash left it there".to_owned()),
        _ => Ok(None),
    }
}

/// Like Obsidian. The crate's default uses Finder, which plays a sound and needs the user's
/// permission to control it.
#[cfg(target_os = "macos")]
fn delete(place: &Path) -> Result<(), trash::Error> {
    use trash::macos::{DeleteMethod, TrashContextExtMacos as _};

    let mut context = trash::TrashContext::new();
    context.set_delete_method(DeleteMethod::NsFileManager);
    context.delete(place)
}

/// This program does not write to the trash itself.
pub(super) fn of_vault(_: &Path) -> Option<PathBuf> {
    None
}

/// Never called, since [`of_vault`] is `None`.
pub(super) fn make(_: &Path) -> io::Result<()> {
    Ok(())
}
/// The system does not tell where trashed files are.
pub(super) fn find(_name: &str, _is: &dyn Fn(&Folder, Name) -> bool) -> Option<PathBuf> {
    None
}

/// The system keeps its own records.
pub(super) fn forget(_place: &Path) {}
