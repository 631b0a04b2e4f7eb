//! Files that are kept from one run to the next: written beside the old one and put in its place, with a
//! checksum at the end. What is damaged, or of another format, is none.

#![expect(clippy::disallowed_methods, reason = "the index's own files, in the steward's folder")]

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Bytes of the checksum.
const SUM: usize = blake3::OUT_LEN;

/// What stands between the header and the checksum of a file; `None` if it is not sound.
pub(super) fn content<'f>(file: &'f [u8], header: &[u8]) -> Option<&'f [u8]> {
    let (sealed, sum) = file.split_at_checked(file.len().checked_sub(SUM)?)?;
    if blake3::hash(sealed).as_bytes() != sum {
        return None;
    }
    sealed.strip_prefix(header)
}

/// Puts a file of these parts, the header first, in the place of the one of this name.
///
/// # Errors
/// As the system says; the old one is there then.
pub(super) fn write(folder: &Path, name: &str, parts: &[&[u8]]) -> io::Result<()> {
    make_folder(folder)?;
    let beside = folder.join(format!("{name}.new"));
    let mut file = open(&beside)?;
    file.set_len(0)?;
    let mut sum = blake3::Hasher::new();
    for part in parts {
        sum.update(part);
        file.write_all(part)?;
    }
    file.write_all(sum.finalize().as_bytes())?;
    drop(file);
    std::fs::rename(beside, folder.join(name))
}

/// A file for this user alone, with what it holds.
pub(super) fn open(place: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(place)
}

/// Makes a folder for this user alone.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Reads one field after the other.
pub(super) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?))
    }

    /// A text with its length before it.
    pub fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        std::str::from_utf8(self.bytes(length)?).ok()
    }
}
