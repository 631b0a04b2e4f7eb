//! Files with a checksum at the end that are replaced as a whole. A damaged file or one in another
//! format is not used.

#![expect(clippy::disallowed_methods, reason = "the index's own files, in the steward's folder")]

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

/// Length of the checksum.
const SUM: usize = blake3::OUT_LEN;

/// The content between the header and the checksum of a file; `None` if it is invalid.
pub(super) fn content<'f>(file: &'f [u8], header: &[u8]) -> Option<&'f [u8]> {
    let (sealed, sum) = file.split_at_checked(file.len().checked_sub(SUM)?)?;
    if blake3::hash(sealed).as_bytes() != sum {
        return None;
    }
    sealed.strip_prefix(header)
}

/// Writes a file of these parts, the header first, and replaces the old one.
///
/// # Errors
/// As the system says; the old file is unchanged.
pub(super) fn write(folder: &Path, name: &str, parts: &[&[u8]]) -> io::Result<()> {
    make_folder(folder)?;
    let temp = folder.join(format!("{name}.new"));
    let mut file = open(&temp)?;
    file.set_len(0)?;
    let mut sum = blake3::Hasher::new();
    for part in parts {
        sum.update(part);
        file.write_all(part)?;
    }
    file.write_all(sum.finalize().as_bytes())?;
    drop(file);
    std::fs::rename(temp, folder.join(name))
}

/// The bytes of a file.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path)
}

/// When a file was last changed.
pub(super) fn modified(path: &Path) -> io::Result<SystemTime> {
    path.metadata()?.modified()
}

/// Removes a file. Returns whether it existed.
pub(super) fn remove(path: &Path) -> io::Result<bool> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        outcome => outcome.map(|()| true),
    }
}

/// Opens or creates a file for this user alone, without truncating it.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Creates a folder for this user alone.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Appends a number in LEB128: seven bits a byte, lowest first, and a bit for more.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a text after its length.
pub(super) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

/// Reads fields in order.
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

    /// A number that [`put`] wrote.
    pub fn packed(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..u64::BITS).step_by(7) {
            let [byte] = *self.bytes(1)? else { return None };
            let bits = u64::from(byte & 0x7f);
            number |= bits.checked_shl(shift).filter(|moved| moved >> shift == bits)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A number of 32 bits that [`put`] wrote.
    pub fn small(&mut self) -> Option<u32> {
        u32::try_from(self.packed()?).ok()
    }

    /// A text that [`put_text`] wrote.
    pub fn packed_text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.packed()?).ok()?;
        std::str::from_utf8(self.bytes(length)?).ok()
    }

    /// A text after its length of 64 bits.
    pub fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        std::str::from_utf8(self.bytes(length)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn written_fields_are_read_back(numbers: Vec<u64>, small: Vec<u16>, text: String) {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|number| put(&mut bytes, *number));
            put_text(&mut bytes, &text);
            small.iter().for_each(|number| put(&mut bytes, u64::from(*number)));
            let mut fields = Fields(&bytes);
            for number in numbers {
                prop_assert_eq!(fields.packed(), Some(number));
            }
            prop_assert_eq!(fields.packed_text(), Some(&*text));
            for number in small {
                prop_assert_eq!(fields.small(), Some(u32::from(number)));
            }
            prop_assert_eq!(fields.packed(), None);
        }

        #[test]
        fn any_bytes_can_be_parsed(bytes: Vec<u8>) {
            let mut fields = Fields(&bytes);
            while fields.packed().is_some() {}
            let _ = fields.packed_text();
        }
    }
}
