//! The header of a blob's file, and its compression.

use std::io;

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

/// Makes the files' content of many blobs.
pub(super) struct Compressor(zstd::bulk::Compressor<'static>);

impl Compressor {
    pub fn new() -> io::Result<Self> {
        zstd::bulk::Compressor::new(3).map(Self)
    }

    /// The header and the text, compressed if that saves an eighth: images stay as they are.
    pub fn blob(&mut self, text: &[u8]) -> io::Result<Vec<u8>> {
        let compressed = if text.len() < SMALL {
            None
        } else {
            Some(self.0.compress(text)?)
                .filter(|compressed| compressed.len() < text.len() - text.len() / 8)
        };
        let kind = if compressed.is_some() { ZSTD } else { PLAIN };
        let head = header(kind, text.len() as u64);
        Ok([&head, compressed.as_deref().unwrap_or(text)].concat())
    }
}
