//! Moves to another disk and back: copy, compare, then remove.

use std::io::{self, BufRead, Read};

use crate::chaos;
use crate::vault::dir::{Folder, Kind, Name, copy_attributes, not_regular, rename_new};
use crate::vault::durable::{Durable, rename_durably};
use crate::vault::revision::Revision;
use crate::vault::temp::temp_name;

/// How much of the original a copy must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// Any prefix: the copy may be incomplete.
    Prefix,
}

/// Moves a file or folder to another disk. It is renamed to `aside` first, so that nothing is added
/// while it is copied, and removed file by file, each after comparing its copy.
pub(super) fn move_across(
    (folder, name): (&Folder, Name),
    aside: Name,
    (to, to_name): (&Folder, Name),
) -> io::Result<()> {
    rename_new(folder, name, folder, aside)?;
    let copied = copy((folder, aside), (to, to_name)).and_then(|()| to.sync());
    if let Err(error) = copied {
        rename_new(folder, aside, folder, name)?;
        remove_copy((to, to_name), (folder, name), Extent::Prefix);
        return Err(error);
    }
    remove_original((folder, aside), (to, to_name))
}

/// Copies from another disk under the temporary name `temp`, and renames the copy once it is
/// durable. The original stays; a failed copy is removed.
pub(super) fn copy_durably(
    (from, name): (&Folder, Name),
    temp: Name,
    (to, to_name): (&Folder, Name),
) -> io::Result<()> {
    let copied = copy((from, name), (to, temp));
    let done = copied.and_then(|()| rename_durably(&Durable::default(), (to, temp), (to, to_name)));
    done.inspect_err(|_| remove_copy((to, temp), (from, name), Extent::Prefix))
}

/// Copies what is missing at the target; of an existing folder, its missing entries.
pub(super) fn copy_missing(
    (from, name): (&Folder, Name),
    (to, to_name): (&Folder, Name),
) -> io::Result<()> {
    match to.stat(to_name).map(|meta| meta.kind) {
        Ok(Kind::Folder) if from.stat(name)?.kind == Kind::Folder => {
            let (below, into) = (from.open_folder(name)?, to.open_folder(to_name)?);
            for listed in below.list()? {
                let name = Name::new(utf8(&listed.name)?)?;
                copy_missing((&below, name), (&into, name))?;
            }
            Ok(())
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            copy_durably((from, name), Name::new(&temp_name())?, (to, to_name))
        }
        Err(error) => Err(error),
    }
}

/// Copies recursively, syncing each file, with permissions, mtime and, if this user may, owner.
fn copy((from, name): (&Folder, Name), (to, to_name): (&Folder, Name)) -> io::Result<()> {
    let meta = from.stat(name)?;
    match meta.kind {
        Kind::File => {
            let (mut source, meta) = from.open_file(name)?;
            let mut file = to.create_new(to_name, true)?;
            chaos::step("write a file", || io::copy(&mut source, &mut file))?;
            copy_attributes(&source, &file, &meta)?;
            // Losing the mtime is acceptable.
            let _ = source.metadata()?.modified().and_then(|time| file.set_modified(time));
            chaos::step("sync a file", || file.sync_all())
        }
        Kind::Folder => {
            to.create_folder(to_name)?;
            let (below, into) = (from.open_folder(name)?, to.open_folder(to_name)?);
            for listed in below.list()? {
                let name = Name::new(utf8(&listed.name)?)?;
                copy((&below, name), (&into, name))?;
            }
            if let Some(mode) = meta.mode {
                into.set_mode(mode)?;
            }
            into.sync()
        }
        Kind::Link => to.create_link(to_name, &from.read_link(name)?),
        Kind::Other => Err(not_regular()),
    }
}

/// Removes an original whose copy is equal; stops at the first difference.
fn remove_original(
    (folder, name): (&Folder, Name),
    (to, to_name): (&Folder, Name),
) -> io::Result<()> {
    let changed = || io::Error::other("it changed while it was copied; both are kept");
    match folder.stat(name)?.kind {
        Kind::File => {
            let ours = Revision::of_reader(folder.open_file(name)?.0)?;
            if ours != Revision::of_reader(to.open_file(to_name)?.0)? {
                return Err(changed());
            }
            folder.remove_file(name)
        }
        Kind::Folder => {
            let (below, copied) = (folder.open_folder(name)?, to.open_folder(to_name)?);
            for listed in below.list()? {
                let name = Name::new(utf8(&listed.name)?)?;
                remove_original((&below, name), (&copied, name))?;
            }
            // Windows removes no folder that is open.
            drop(below);
            folder.remove_folder(name)
        }
        Kind::Link => {
            if folder.read_link(name)? == to.read_link(to_name)? {
                folder.remove_file(name)
            } else {
                Err(changed())
            }
        }
        Kind::Other => Err(changed()),
    }
}

/// Removes the files of a copy that match their originals. Others stay, and so do those that cannot
/// be removed.
pub(super) fn remove_copy(
    (copy, name): (&Folder, Name),
    (original, original_name): (&Folder, Name),
    extent: Extent,
) {
    let Ok(meta) = copy.stat(name) else { return };
    let same = match meta.kind {
        Kind::Folder => {
            let opened = (copy.open_folder(name), original.open_folder(original_name));
            let (Ok(below), Ok(other)) = opened else { return };
            // The copied permissions may be read-only.
            let _ = below.set_mode(meta.mode.unwrap_or_default() | 0o700);
            for listed in below.list().unwrap_or_default() {
                if let Some(Ok(name)) = listed.name.to_str().map(Name::new) {
                    remove_copy((&below, name), (&other, name), extent);
                }
            }
            drop(below);
            if copy.remove_folder(name).is_err()
                && let Ok(below) = copy.open_folder(name)
            {
                let _ = below.set_mode(meta.mode.unwrap_or_default());
            }
            return;
        }
        Kind::File => original.open_file(original_name).and_then(|(original, _)| {
            let (copy, _) = copy.open_file(name)?;
            matches(original, copy, extent)
        }),
        Kind::Link => {
            original.read_link(original_name).and_then(|target| Ok(copy.read_link(name)? == target))
        }
        Kind::Other => Ok(false),
    };
    if same.unwrap_or(false) {
        let _ = copy.remove_file(name);
    }
}

/// Whether `copy` equals `original`, or a prefix of it.
fn matches(original: impl Read, copy: impl Read, extent: Extent) -> io::Result<bool> {
    let mut original = io::BufReader::new(original);
    let mut copy = io::BufReader::new(copy);
    loop {
        let (first, second) = (original.fill_buf()?, copy.fill_buf()?);
        if second.is_empty() {
            return Ok(extent == Extent::Prefix || first.is_empty());
        }
        let both = first.len().min(second.len());
        if both == 0 || first[..both] != second[..both] {
            return Ok(false);
        }
        original.consume(both);
        copy.consume(both);
    }
}

pub(super) fn utf8(name: &std::ffi::OsStr) -> io::Result<&str> {
    name.to_str().ok_or_else(|| io::Error::other("a name in it is not UTF-8"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_goes_to_another_disk_is_compared_before_it_is_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (vault, kept) = (folder.path().join("vault"), folder.path().join("kept"));
        std::fs::create_dir_all(vault.join("a/deep")).expect("made");
        std::fs::create_dir(&kept).expect("made");
        std::fs::write(vault.join("a/deep/x.md"), "x").expect("written");
        std::os::unix::fs::symlink("x.md", vault.join("a/deep/l.md")).expect("linked");
        std::os::unix::fs::symlink("y.md", vault.join("a/deep/l.txt")).expect("linked");
        let handle = Folder::open_root(&vault).expect("opened");
        let keeping = Folder::open_root(&kept).expect("opened");
        let (a, b) = (Name::new("a").expect("a name"), Name::new("b.md").expect("a name"));
        let aside = Name::new(".~vs-1.tmp").expect("a name");
        move_across((&handle, a), aside, (&keeping, a)).expect("carried");
        assert_eq!(std::fs::read_dir(&vault).expect("listed").count(), 0);
        assert_eq!(std::fs::read_to_string(kept.join("a/deep/x.md")).expect("kept"), "x");
        let link = |path: &str| std::fs::read_link(kept.join(path)).expect("kept");
        assert_eq!((link("a/deep/l.md"), link("a/deep/l.txt")), ("x.md".into(), "y.md".into()));
        // After the way back, only entries that differ stay behind.
        let back = vault.join("a");
        std::fs::create_dir_all(back.join("deep")).expect("made");
        std::fs::write(back.join("deep/x.md"), "x and more").expect("written");
        std::fs::write(back.join("deep/y.md"), "mine").expect("written");
        std::fs::write(kept.join("a/deep/y.md"), "other").expect("written");
        std::os::unix::fs::symlink("x.md", back.join("deep/l.md")).expect("linked");
        let left = || {
            let left = std::fs::read_dir(kept.join("a/deep")).expect("listed").flatten();
            let mut left: Vec<_> = left.map(|entry| entry.file_name()).collect();
            left.sort();
            left
        };
        remove_copy((&keeping, a), (&handle, a), Extent::Whole);
        assert_eq!(left(), ["l.txt", "x.md", "y.md"]);
        remove_copy((&keeping, a), (&handle, a), Extent::Prefix);
        assert_eq!(left(), ["l.txt", "y.md"]);
        // A copy that does not agree keeps the original.
        std::fs::write(vault.join("b.md"), "new").expect("written");
        std::fs::write(kept.join("b.md"), "old").expect("written");
        remove_original((&handle, b), (&keeping, b)).expect_err("they differ");
        assert!(vault.join("b.md").exists());
    }
}
