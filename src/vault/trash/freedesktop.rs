//! The desktop's trash on Linux (freedesktop.org Trash specification 1.0): the one in the home
//! folder, for files on the same disk.
//!
//! The `trash` crate is not used here: it moves by path, which may have become another file's; its
//! trash folder at the root of another disk may be inside the vault; and it creates a missing home
//! folder.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::numbered_name;
use crate::note::path::MAX_NAME_BYTES;
use crate::vault::dir::{Folder, Name};
use crate::vault::durable::{Durable, rename_durably};

/// Moves `name` from `folder` to the trash, with `place` as its original path.
pub(super) fn put(
    durable: &Durable,
    folder: &Folder,
    name: Name,
    location: &Path,
) -> Result<Option<PathBuf>, String> {
    let trash = trash_for(folder)?;
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::CrossesDevices => "the system's trash is on another disk".to_owned(),
        _ => format!("the system's trash refused: {error}"),
    };
    move_in(durable, (folder, name), location, &trash).map(Some).map_err(refused)
}

/// The path of the trash for entries of `folder`; it may not exist yet.
fn trash_for(folder: &Folder) -> Result<PathBuf, String> {
    let data = data_folder().ok_or("there is no home folder for the system's trash")?;
    let disk = |folder: &Folder| folder.meta().map(|meta| meta.id.device);
    let above = data.ancestors().find(|location| location.is_dir()).unwrap_or(Path::new("/"));
    let there = Folder::open_root(above).and_then(|above| disk(&above));
    if there.ok() != disk(folder).ok() {
        return Err("the system's trash is on another disk".to_owned());
    }
    Ok(data.join("Trash"))
}

/// The path of the trash for the vault at `root`; it may not exist yet.
pub(super) fn of_vault(root: &Path) -> Option<PathBuf> {
    trash_for(&Folder::open_root(root).ok()?).ok()
}

pub(super) fn make(trash: &Path) -> io::Result<()> {
    parts(trash).map(|_| ())
}

fn data_folder() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_dir())?;
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    Some(data.filter(|data| data.is_absolute()).unwrap_or(home.join(".local/share")))
}

/// The entry called `name`, perhaps with a number, that `is` accepts.
pub(super) fn find(name: &str, is: &dyn Fn(&Folder, Name) -> bool) -> Option<PathBuf> {
    let files = data_folder()?.join("Trash/files");
    let folder = Folder::open_root(&files).ok()?;
    super::numbered_in(&folder, name, is).map(|found| files.join(found))
}

/// Removes the `.trashinfo` file of a restored entry.
pub(super) fn forget(location: &Path) {
    let (Some(trash), Some(name)) =
        (location.parent().and_then(Path::parent), location.file_name())
    else {
        return;
    };
    let mut info = name.to_owned();
    info.push(".trashinfo");
    let _ = std::fs::remove_file(trash.join("info").join(info));
}

/// Opens the folders `files` and `info`, made if missing.
fn parts(trash: &Path) -> io::Result<(Folder, Folder)> {
    let part = |part: &str| -> io::Result<Folder> {
        let part = trash.join(part);
        std::fs::create_dir_all(&part)?;
        Folder::open_root(&part)
    };
    Ok((part("files")?, part("info")?))
}

fn move_in(
    durable: &Durable,
    (folder, name): (&Folder, Name),
    location: &Path,
    trash: &Path,
) -> io::Result<PathBuf> {
    let (files, info) = parts(trash)?;
    for number in 1..10_000 {
        let free = numbered_name(name.as_str(), number);
        let info_name = format!("{free}.trashinfo");
        if info_name.len() > MAX_NAME_BYTES {
            return Err(io::Error::other("its name is too long for the system's trash"));
        }
        let (to, info_name) = (Name::new(&free)?, Name::new(&info_name)?);
        // The specification wants the `.trashinfo` file first: creating it reserves the name.
        let mut description = match info.create_new(info_name, true) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        let write = |file: &mut File| file.write_all(describe(location).as_bytes());
        let moved = durable
            .write_file(&info, &mut description, write)
            .and_then(|()| durable.sync_names(&info))
            .and_then(|()| rename_durably(durable, (folder, name), (&files, to)));
        match moved {
            Ok(()) => return Ok(trash.join("files").join(&free)),
            Err(error) => {
                info.remove_file(info_name)?;
                if error.kind() != io::ErrorKind::AlreadyExists {
                    return Err(error);
                }
            }
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

fn describe(location: &Path) -> String {
    let path: String = location
        .as_os_str()
        .as_bytes()
        .iter()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                char::from(*byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect();
    let time = chrono::Local::now().format("%Y-%m-%dT%H:%M:%S");
    format!("[Trash Info]\nPath={path}\nDeletionDate={time}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trashed_file_says_where_it_was() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (vault, trash) = (folder.path().join("vault"), folder.path().join("Trash"));
        std::fs::create_dir(&vault).expect("made");
        let handle = Folder::open_root(&vault).expect("opened");
        for text in ["one", "two"] {
            let location = vault.join("übung 100%.md");
            std::fs::write(&location, text).expect("written");
            let name = Name::new("übung 100%.md").expect("a name");
            move_in(&Durable::default(), (&handle, name), &location, &trash).expect("moved");
            assert!(!location.exists());
        }
        let read = |path: &str| std::fs::read_to_string(trash.join(path)).expect("there");
        assert_eq!(read("files/übung 100%.md"), "one");
        assert_eq!(read("files/übung 100% 2.md"), "two");
        let info = read("info/übung 100% 2.md.trashinfo");
        assert!(info.contains("vault/%C3%BCbung%20100%25.md\n"), "{info}");
    }
}
