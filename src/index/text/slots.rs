//! The file of signatures: a block in each slot, in no order.
//!
//! A damaged file does no harm: a block is read once, at the start, and only used if its checksum is right;
//! from then on it is in memory. No slot is overwritten that the table on disk names, which is valid until
//! there is a new one.

#![expect(clippy::disallowed_methods, reason = "the index's own files, in the steward's folder")]

use crate::index::checksummed_file;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use rayon::prelude::*;

use super::columns::{Mask, ROWS, Rows, Slot};

pub(super) const BLOCK_BYTES: usize = ROWS * size_of::<Mask>();

/// Loads the blocks in these slots of the file; `None` for a damaged or missing one. Uses all cores to read
/// and verify them, which is most of the work of a start.
pub(super) fn load(path: &Path, slots: &[Slot]) -> Vec<Option<(Rows, Slot)>> {
    let Ok(file) = open_truncated(path, slots) else { return vec![None; slots.len()] };
    let load = |slots: &[Slot]| {
        let mut bytes = vec![0; BLOCK_BYTES];
        let mut load = |slot: &Slot| {
            read_at(&file, &mut bytes, start_of(slot.number)).ok()?;
            (checksum(&bytes) == slot.sum).then(|| (rows(&bytes), *slot))
        };
        slots.iter().map(&mut load).collect::<Vec<_>>()
    };
    slots.par_chunks(CHUNK).flat_map_iter(load).collect()
}

/// Opens the file of signatures and truncates it after the last of these slots.
fn open_truncated(path: &Path, slots: &[Slot]) -> io::Result<File> {
    let end = slots.iter().map(|slot| end_of(slot.number)).max().unwrap_or(0);
    match File::options().read(true).write(true).open(path) {
        Ok(file) if file.metadata()?.len() > end => file.set_len(end).map(|()| file),
        Ok(file) => Ok(file),
        Err(_) => File::open(path),
    }
}

fn start_of(slot: u32) -> u64 {
    u64::from(slot) * BLOCK_BYTES as u64
}

fn end_of(slot: u32) -> u64 {
    start_of(slot) + BLOCK_BYTES as u64
}

/// Blocks that a thread reads at a time.
const CHUNK: usize = 16;

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut start: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, start)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => (bytes, start) = (&mut bytes[read..], start + read as u64),
        }
    }
    Ok(())
}

fn rows(bytes: &[u8]) -> Rows {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let mask = |bytes: &[u8]| std::array::from_fn(|at| word(&bytes[at * 8..at * 8 + 8]));
    bytes.chunks_exact(size_of::<Mask>()).map(mask).collect()
}

fn checksum(bytes: &[u8]) -> u64 {
    let hash = blake3::hash(bytes);
    let first = hash.as_bytes()[..8].try_into().expect("a hash has 32 bytes");
    u64::from_le_bytes(first)
}

/// Writes the blocks that differ from their slots, and syncs the file. `retained` are the slots that the table on disk
/// refers to. Returns the slot of each block.
pub(super) fn save(
    path: &Path,
    blocks: &[(Rows, Option<Slot>)],
    retained: &[u32],
) -> io::Result<Vec<Slot>> {
    let mut file = checksummed_file::open(path)?;
    let complete = file.metadata()?.len();
    let named = blocks.iter().filter_map(|(_, slot)| Some((*slot)?.number));
    let taken: HashSet<u32> = named.chain(retained.iter().copied()).collect();
    let mut free = (0..).filter(|slot| !taken.contains(slot));
    let mut bytes = Vec::with_capacity(BLOCK_BYTES);
    let mut slots = Vec::with_capacity(blocks.len());
    for (rows, saved) in blocks {
        if let Some(slot) = saved.filter(|slot| slot.same && end_of(slot.number) <= complete) {
            slots.push(slot);
            continue;
        }
        bytes.clear();
        bytes.extend(rows.iter().flatten().flat_map(|word| word.to_le_bytes()));
        debug_assert_eq!(bytes.len(), BLOCK_BYTES);
        let number = free.next().ok_or(io::ErrorKind::FileTooLarge)?;
        file.seek(SeekFrom::Start(start_of(number)))?;
        file.write_all(&bytes)?;
        slots.push(Slot { number, sum: checksum(&bytes), same: true });
    }
    // The table must not name a block that is not durable.
    file.sync_data()?;
    Ok(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_slot_is_overwritten_that_the_table_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("signatures");
        let block = |word| (Rows::from(vec![[word; 8]; ROWS]), None);
        let numbers = |slots: Vec<Slot>| slots.iter().map(|slot| slot.number).collect::<Vec<_>>();
        let first = save(&path, &[block(1), block(2)], &[]).expect("saved");
        let second = save(&path, &[block(3), block(4)], &[0]).expect("saved");
        assert_eq!((numbers(first), numbers(second.clone())), (vec![0, 1], vec![1, 2]));
        // A new, empty file.
        std::fs::remove_file(&path).expect("removed");
        let blocks = [(block(3).0, Some(second[0])), (block(4).0, Some(second[1]))];
        let third = save(&path, &blocks, &[0]).expect("saved");
        assert_eq!(numbers(third.clone()), [3, 4]);
        let loaded = load(&path, &third);
        let words: Vec<_> = loaded.iter().flatten().map(|(rows, _)| rows[9][1]).collect();
        assert_eq!(words, [3, 4]);
    }
}
