//! The header of a blob's file, and its compression.

use std::fs::File;
use std::io::{self, Write};

const MAGIC: &[u8; 4] = b"VSB1";
pub(super) const HEADER: usize = 16;
pub(super) const PLAIN: u8 = 0;
pub(super) const ZSTD: u8 = 1;

/// Shorter texts are not compressed: the file takes a block of the disk either way.
pub(super) const SMALL: usize = 512;

pub(super) fn header(compression: u8, length: u64) -> [u8; HEADER] {
    let mut head = [0; HEADER];
    head[..4].copy_from_slice(MAGIC);
    head[4] = compression;
    head[8..].copy_from_slice(&length.to_le_bytes());
    head
}

pub(super) fn parse_header(head: &[u8; HEADER]) -> Option<(u8, u64)> {
    let valid = &head[..4] == MAGIC && matches!(head[4], PLAIN | ZSTD) && head[5..8] == [0; 3];
    let length = head[8..].try_into().expect("eight bytes follow");
    valid.then(|| (head[4], u64::from_le_bytes(length)))
}

pub(super) fn write_blob(file: &mut File, text: &[u8]) -> io::Result<()> {
    let compressed = match text.len() < SMALL {
        true => None,
        // Only if that saves an eighth: images stay as they are.
        false => Some(zstd::bulk::compress(text, 3)?)
            .filter(|compressed| compressed.len() < text.len() - text.len() / 8),
    };
    let kind = if compressed.is_some() { ZSTD } else { PLAIN };
    file.write_all(&header(kind, text.len() as u64))?;
    file.write_all(compressed.as_deref().unwrap_or(text))
}
