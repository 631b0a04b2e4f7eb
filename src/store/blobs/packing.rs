//! The sixteen bytes that a text's file begins with, and what follows them.

use std::fs::File;
use std::io::{self, Write};

const MAGIC: &[u8; 4] = b"VSB1";
pub(super) const HEADER: usize = 16;
pub(super) const PLAIN: u8 = 0;
pub(super) const ZSTD: u8 = 1;

/// Below this many bytes nothing is packed: the file takes a block of the disk either way.
pub(super) const SMALL: usize = 512;

pub(super) fn header(packing: u8, length: u64) -> [u8; HEADER] {
    let mut head = [0; HEADER];
    head[..4].copy_from_slice(MAGIC);
    head[4] = packing;
    head[8..].copy_from_slice(&length.to_le_bytes());
    head
}

pub(super) fn parse_header(head: &[u8; HEADER]) -> Option<(u8, u64)> {
    let sound = &head[..4] == MAGIC && matches!(head[4], PLAIN | ZSTD) && head[5..8] == [0; 3];
    let length = head[8..].try_into().expect("eight bytes follow");
    sound.then(|| (head[4], u64::from_le_bytes(length)))
}

pub(super) fn write_packed(file: &mut File, text: &[u8]) -> io::Result<()> {
    let packed = match text.len() < SMALL {
        true => None,
        // Packed where that saves an eighth; a picture stays as it is.
        false => Some(zstd::bulk::compress(text, 3)?)
            .filter(|packed| packed.len() < text.len() - text.len() / 8),
    };
    let length = text.len() as u64;
    match packed {
        Some(packed) => {
            file.write_all(&header(ZSTD, length))?;
            file.write_all(&packed)
        }
        None => {
            file.write_all(&header(PLAIN, length))?;
            file.write_all(text)
        }
    }
}
