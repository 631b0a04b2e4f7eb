//! What a vault without trash deletes: the steward keeps it in its own folder.

use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use super::Trashed;
use crate::note::path::VaultPath;
use crate::vault::Revision;
use crate::vault::dir::{Folder, Kind, Name};
use crate::vault::error::VaultError;
use crate::vault::save::{Writer, random_tag, rename_durably, rename_new, sync_folder, temp_name};

/// The names that a deletion into the steward's own keeping uses, chosen beforehand so that what a
/// crash leaves can be found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeping {
    /// The folder in the keeping that is made for it.
    pub folder: String,
    /// The hidden name that it has in the vault while it is carried to another disk.
    pub aside: String,
    /// Whether it comes here whatever trash the vault's settings name.
    pub past_trash: bool,
}

impl Keeping {
    /// Names that nothing has.
    pub fn new() -> Self {
        let time = chrono::Utc::now().format("%Y%m%dT%H%M%SZ");
        Self { folder: format!("{time}-{}", random_tag()), aside: temp_name(), past_trash: false }
    }
}

impl Default for Keeping {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer<'_> {
    /// Moves something into the steward's own folder, one numbered folder a deletion.
    pub(super) fn keep(
        &self,
        path: &VaultPath,
        folder: &Folder,
        name: Name,
        keeping: &Keeping,
    ) -> Result<PathBuf, VaultError> {
        let failed = |error| VaultError::io("move to the steward's keeping", path, error);
        let aside = Name::new(&keeping.aside).map_err(failed)?;
        let above = self.vault.kept_folder().join(&keeping.folder);
        std::fs::create_dir_all(&above).map_err(failed)?;
        sync_folder(&self.vault.kept_folder()).map_err(failed)?;
        let kept = Folder::open_root(&above).map_err(failed)?;
        let place = above.join(path.name());
        let done = match rename_durably(folder, name, &kept, name) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                carry_over(folder, name, aside, &above, &place)
            }
            done => done,
        };
        if done.is_err() {
            // Fails where something is in it, which is right.
            let _ = std::fs::remove_dir(&above);
        }
        done.map(|()| place).map_err(failed)
    }

    /// Where a deletion into the steward's own keeping put it, or would have.
    pub fn kept_copy(&self, path: &VaultPath, keeping: &Keeping) -> Trashed {
        let above = self.vault.kept_folder().join(&keeping.folder);
        Trashed::Kept { place: above.join(path.name()) }
    }

    /// Removes what a deletion to another disk had copied of something that is back in the vault:
    /// each file of which the vault's holds all. What differs stays.
    pub fn remove_kept_copy(&self, path: &VaultPath, keeping: &Keeping) {
        let Trashed::Kept { place } = self.kept_copy(path, keeping) else { return };
        if let Ok((folder, name)) = self.root().open_parent(path) {
            remove_copy(&folder, name, &place);
            self.forget_trashed(&Trashed::Kept { place });
        }
    }
}

/// To another disk: out of the way first, so that nothing comes to it while it is copied; removed
/// name by name, each after its copy was compared.
fn carry_over(
    folder: &Folder,
    name: Name,
    aside: Name,
    above: &Path,
    place: &Path,
) -> io::Result<()> {
    rename_new(folder, name, folder, aside)?;
    let copied = copy_out(folder, aside, place).and_then(|()| sync_folder(above));
    if let Err(error) = copied {
        rename_new(folder, aside, folder, name)?;
        remove_copy(folder, name, place);
        return Err(error);
    }
    remove_copied(folder, aside, place)
}

/// Copies a file, link or folder, each file durable. A link becomes a file that tells its target.
fn copy_out(folder: &Folder, name: Name, place: &Path) -> io::Result<()> {
    match folder.stat(name)?.kind {
        Kind::File => {
            let (mut from, _) = folder.open_file(name)?;
            let mut to = std::fs::File::options().write(true).create_new(true).open(place)?;
            io::copy(&mut from, &mut to)?;
            to.sync_all()
        }
        Kind::Folder => {
            std::fs::create_dir(place)?;
            let below = folder.open_folder(name)?;
            for listed in below.list()? {
                let text = utf8(&listed.name)?;
                copy_out(&below, Name::new(text)?, &place.join(text))?;
            }
            sync_folder(place)
        }
        Kind::Link => {
            let target = folder.read_link(name)?;
            let place = link_place(place);
            let mut to = std::fs::File::options().write(true).create_new(true).open(place)?;
            to.write_all(target.as_os_str().as_encoded_bytes())?;
            to.sync_all()
        }
        Kind::Other => Err(crate::vault::dir::not_regular()),
    }
}

/// Removes what [`copy_out`] has copied, and nothing that differs from its copy.
fn remove_copied(folder: &Folder, name: Name, place: &Path) -> io::Result<()> {
    match folder.stat(name)?.kind {
        Kind::File => {
            let ours = Revision::of_reader(folder.open_file(name)?.0)?;
            let copy = Revision::of_reader(std::fs::File::open(place)?)?;
            if ours != copy {
                return Err(io::Error::other("it changed while it was copied; both are kept"));
            }
            folder.remove_file(name)
        }
        Kind::Folder => {
            let below = folder.open_folder(name)?;
            for listed in below.list()? {
                let text = utf8(&listed.name)?;
                remove_copied(&below, Name::new(text)?, &place.join(text))?;
            }
            folder.remove_folder(name)
        }
        Kind::Link | Kind::Other => folder.remove_file(name),
    }
}

/// Removes of a copy what the original holds too: a copy that was cut short is its beginning. What
/// cannot be removed stays.
fn remove_copy(folder: &Folder, name: Name, place: &Path) {
    let Ok(meta) = std::fs::symlink_metadata(place) else { return };
    if meta.is_dir() {
        let Ok(below) = folder.open_folder(name) else { return };
        for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
            let copied = entry.file_name();
            let Some(copied) = copied.to_str() else { continue };
            if let Ok(name) = Name::new(copied) {
                remove_copy(&below, name, &entry.path());
            }
            if let Some(Ok(link)) = copied.strip_suffix(LINK).map(Name::new)
                && let Ok(target) = below.read_link(link)
                && let Ok(told) = std::fs::read(entry.path())
                && target.as_os_str().as_encoded_bytes().starts_with(&told)
            {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        let _ = std::fs::remove_dir(place);
    } else if let Ok((original, _)) = folder.open_file(name)
        && let Ok(copy) = std::fs::File::open(place)
        && begins(original, copy).unwrap_or(false)
    {
        let _ = std::fs::remove_file(place);
    }
}

/// Whether the one begins with all of the other.
fn begins(one: impl Read, other: impl Read) -> io::Result<bool> {
    let mut one = io::BufReader::new(one);
    let mut other = io::BufReader::new(other);
    loop {
        let (first, second) = (one.fill_buf()?, other.fill_buf()?);
        if second.is_empty() {
            return Ok(true);
        }
        let both = first.len().min(second.len());
        if both == 0 || first[..both] != second[..both] {
            return Ok(false);
        }
        one.consume(both);
        other.consume(both);
    }
}

/// What the name of a file ends in that tells where a link led.
const LINK: &str = ".link";

fn link_place(place: &Path) -> PathBuf {
    let mut name = place.file_name().unwrap_or_default().to_owned();
    name.push(LINK);
    place.with_file_name(name)
}

fn utf8(name: &std::ffi::OsStr) -> io::Result<&str> {
    name.to_str().ok_or_else(|| io::Error::other("a name in it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
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
        let name = Name::new("a").expect("a name");
        let aside = Name::new(".~vs-1.tmp").expect("a name");
        carry_over(&handle, name, aside, &kept, &kept.join("a")).expect("carried");
        assert_eq!(std::fs::read_dir(&vault).expect("listed").count(), 0);
        let read = |path: &str| std::fs::read_to_string(kept.join(path)).expect("kept");
        assert_eq!(read("a/deep/x.md"), "x");
        assert_eq!(
            (read("a/deep/l.md.link"), read("a/deep/l.txt.link")),
            ("x.md".into(), "y.md".into())
        );
        // Back again, nothing of it stays behind but what differs.
        let back = vault.join("a");
        std::fs::create_dir_all(back.join("deep")).expect("made");
        std::fs::write(back.join("deep/x.md"), "x and more").expect("written");
        std::fs::write(back.join("deep/y.md"), "mine").expect("written");
        std::fs::write(kept.join("a/deep/y.md"), "other").expect("written");
        std::os::unix::fs::symlink("x.md", back.join("deep/l.md")).expect("linked");
        remove_copy(&handle, Name::new("a").expect("a name"), &kept.join("a"));
        let left = std::fs::read_dir(kept.join("a/deep")).expect("listed").flatten();
        let mut left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["l.txt.link", "y.md"]);
        // A copy that does not agree keeps the original.
        std::fs::write(vault.join("b.md"), "new").expect("written");
        std::fs::write(kept.join("b.md"), "old").expect("written");
        let name = Name::new("b.md").expect("a name");
        remove_copied(&handle, name, &kept.join("b.md")).expect_err("they differ");
        assert!(vault.join("b.md").exists());
    }
}
