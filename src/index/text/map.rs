//! The file of signatures as it lies in the system's own memory, which gives and takes its pages.
//!
//! Safe as long as nobody changes what is looked at and nobody makes the file shorter. `saved` writes to
//! no slot that was found at the start, and cuts the file only then; the folder is this user's alone, and
//! of the one daemon of the vault. A disk that fails ends the process where a page
//! is needed: so every slot is read, and its checksum looked at, before it is seen here, and only on
//! disks of this machine. Elsewhere, and where the bytes of a number stand in another order, blocks are read.
#![cfg_attr(
    all(target_os = "linux", target_endian = "little"),
    expect(unsafe_code, reason = "a file is mapped, and its bytes are looked at as numbers")
)]

use std::fs::File;

use super::signature::{OWN, PAIRS};

/// A bit for each column of a block.
pub type Mask = [u64; 8];

/// Rows of a block: one for each bit that a column has of its own, and those that hold, a byte each,
/// what two classes follow each other in 64 columns.
pub const ROWS: usize = OWN + PAIRS / size_of::<Mask>();

/// Bytes of a block.
pub const BLOCK_BYTES: usize = ROWS * size_of::<Mask>();

/// A file of signatures, mapped for reading.
pub(super) struct Map(platform::Mapped);

impl Map {
    /// Maps the whole of `file`; `None` where it is to be read.
    pub fn of(file: &File) -> Option<Self> {
        platform::map(file).map(Self)
    }

    /// The rows in this slot, which has to lie in the file.
    pub fn rows(&self, slot: u32) -> &[Mask] {
        let start = slot as usize * BLOCK_BYTES;
        platform::masks(&self.0, start..start + BLOCK_BYTES)
    }

    /// Whether the file had this slot when it was mapped.
    pub fn has(&self, slot: u32) -> bool {
        (slot as usize + 1) * BLOCK_BYTES <= platform::bytes(&self.0)
    }
}

#[cfg(all(target_os = "linux", target_endian = "little"))]
mod platform {
    use std::fs::File;
    use std::ops::Range;

    use super::Mask;

    pub type Mapped = memmap2::Mmap;

    pub fn map(file: &File) -> Option<Mapped> {
        if !is_local(file) {
            return None;
        }
        // SAFETY: nobody changes or cuts what is looked at; see the page's head.
        unsafe { Mapped::map(file) }.ok()
    }

    pub fn bytes(mapped: &Mapped) -> usize {
        mapped.len()
    }

    pub fn masks(mapped: &Mapped, range: Range<usize>) -> &[Mask] {
        // SAFETY: any bytes are numbers.
        let (before, masks, after) = unsafe { mapped[range].align_to() };
        assert!(before.is_empty() && after.is_empty(), "a block is whole numbers");
        masks
    }

    /// Whether a file lies on a disk of this machine, by the magic numbers of statfs(2).
    fn is_local(file: &File) -> bool {
        // ext, XFS, Btrfs, F2FS, bcachefs, ZFS, tmpfs.
        const LOCAL: [u32; 7] =
            [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0xca45_1a4e, 0x2fc1_2fc1, 0x0102_1994];
        rustix::fs::fstatfs(file).is_ok_and(|system| LOCAL.contains(&(system.f_type as u32)))
    }
}

#[cfg(not(all(target_os = "linux", target_endian = "little")))]
mod platform {
    use std::fs::File;
    use std::ops::Range;

    use super::Mask;

    pub enum Mapped {}

    pub fn map(_: &File) -> Option<Mapped> {
        None
    }

    pub fn bytes(mapped: &Mapped) -> usize {
        match *mapped {}
    }

    pub fn masks(mapped: &Mapped, _: Range<usize>) -> &[Mask] {
        match *mapped {}
    }
}
