//! The identity of a file's bytes.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

/// The hash of a file's bytes as read: equal revisions mean equal bytes. 128 bits of BLAKE3,
/// written as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Revision([u8; 16]);

/// A text that is not a revision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a revision: it must be the 32 hexadecimal digits that a read gave")]
pub struct NoRevision(String);

impl Revision {
    /// Hashes these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::short(blake3::hash(bytes))
    }

    /// The revision of a stream, hashed in chunks.
    pub fn of_reader(mut reader: impl Read) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0_u8; 64 << 10];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(Self::short(hasher.finalize())),
                Ok(length) => hasher.update(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
        }
    }

    /// The revision of bytes with this full BLAKE3 hash.
    pub fn of_hash(hash: &[u8; 32]) -> Self {
        Self::short(blake3::Hash::from_bytes(*hash))
    }

    fn short(hash: blake3::Hash) -> Self {
        let mut short = [0; 16];
        short.copy_from_slice(&hash.as_bytes()[..16]);
        Self(short)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        // Hot path: every read prints one.
        let digits = |byte: u8| [byte >> 4, byte & 15].map(|half| DIGITS[usize::from(half)]);
        let text = self.0.map(digits);
        f.write_str(std::str::from_utf8(text.as_flattened()).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for Revision {
    type Err = NoRevision;

    fn from_str(text: &str) -> Result<Self, NoRevision> {
        let wrong = || NoRevision(text.chars().take(80).collect());
        let digits = text.trim().as_bytes();
        if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(wrong());
        }
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_its_bytes_in_hexadecimal() {
        for bytes in [&b""[..], b"a", b"a note\n"] {
            let Revision(short) = Revision::of(bytes);
            let shown: String = short.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(Revision::of(bytes).to_string(), shown);
            assert_eq!(shown.parse(), Ok(Revision(short)));
        }
        assert_eq!(Revision([0x0f; 16]).to_string(), "0f".repeat(16));
    }
}
