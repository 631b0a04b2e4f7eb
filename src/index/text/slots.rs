//! The file of signatures: slots, a block in each, in no order.
//!
//! Blocks that were saved are seen where they lie, through a [`Map`] of the file, as long as they do not
//! change. So nothing is ever written to a slot in which something was found at the start; nor to one that
//! the table on disk names, which holds until there is a new one.

#![expect(clippy::disallowed_methods, reason = "the index's own files, in the steward's folder")]

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::columns::Slot;
use super::map::{BLOCK_BYTES, Map, Mask, ROWS};
use super::rows::Rows;

/// The blocks in these slots of the file at `place`; none where one is damaged or not there.
pub(super) fn load(place: &Path, slots: &[Slot]) -> Vec<Option<(Rows, Slot)>> {
    match open_cut(place, slots) {
        Ok(file) => load_blocks(&file, Map::of(&file).map(Arc::new).as_ref(), slots),
        Err(_) => vec![None; slots.len()],
    }
}

/// The file of signatures, without what comes after the last of these slots. Nobody sees anything there.
fn open_cut(place: &Path, slots: &[Slot]) -> io::Result<File> {
    let end = slots.iter().map(|slot| end_of(slot.number)).max().unwrap_or(0);
    match File::options().read(true).write(true).open(place) {
        Ok(file) if file.metadata()?.len() > end => file.set_len(end).map(|()| file),
        Ok(file) => Ok(file),
        Err(_) => File::open(place),
    }
}

/// A file for this user alone, with what it holds.
pub(super) fn open(place: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(place)
}

fn start_of(slot: u32) -> u64 {
    u64::from(slot) * BLOCK_BYTES as u64
}

fn end_of(slot: u32) -> u64 {
    start_of(slot) + BLOCK_BYTES as u64
}

/// Blocks that one thread reads at a time.
const SOME: usize = 16;

/// Reads the blocks in these slots and looks at their checksums, on all cores: that is most of what a
/// start reads. With a map they stay where they are, else they are kept as they were read.
fn load_blocks(file: &File, map: Option<&Arc<Map>>, slots: &[Slot]) -> Vec<Option<(Rows, Slot)>> {
    let some = |slots: &[Slot]| {
        // Not looked at through the map: what cannot be read is an error here, and the end there.
        let mut bytes = vec![0; BLOCK_BYTES];
        let mut load = |slot: &Slot| {
            read_at(file, &mut bytes, start_of(slot.number)).ok()?;
            let sound = checksum(&bytes) == slot.sum;
            let block = || match map.filter(|map| map.has(slot.number)) {
                Some(map) => Rows::mapped(map, slot.number),
                None => Rows::own(rows(&bytes)),
            };
            sound.then(|| (block(), *slot))
        };
        slots.iter().map(&mut load).collect::<Vec<_>>()
    };
    slots.par_chunks(SOME).flat_map_iter(some).collect()
}

/// Fills `bytes` with what lies in the file from `start` on.
#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

/// Fills `bytes` with what lies in the file from `start` on.
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

fn rows(bytes: &[u8]) -> Vec<Mask> {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let mask = |bytes: &[u8]| std::array::from_fn(|at| word(&bytes[at * 8..at * 8 + 8]));
    bytes.chunks_exact(size_of::<Mask>()).map(mask).collect()
}

fn checksum(bytes: &[u8]) -> u64 {
    let hash = blake3::hash(bytes);
    let first = hash.as_bytes()[..8].try_into().expect("a hash has 32 bytes");
    u64::from_le_bytes(first)
}

/// Writes those of the blocks that are another than what lies in their slots. `found` are the slots that
/// may still be seen. Gives where each block lies now, on the disk.
///
/// # Errors
/// As the system says.
pub(super) fn save(
    place: &Path,
    blocks: &[(Rows, Option<Slot>)],
    found: &[u32],
) -> io::Result<Vec<Slot>> {
    let mut file = open(place)?;
    let complete = file.metadata()?.len();
    let named = blocks.iter().filter_map(|(_, slot)| Some((*slot)?.number));
    let taken: HashSet<u32> = named.chain(found.iter().copied()).collect();
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
        debug_assert_eq!(bytes.len(), ROWS * size_of::<Mask>());
        let number = free.next().ok_or(io::ErrorKind::FileTooLarge)?;
        file.seek(SeekFrom::Start(start_of(number)))?;
        file.write_all(&bytes)?;
        slots.push(Slot { number, sum: checksum(&bytes), same: true });
    }
    // What is mapped at the next start is on the disk, and not only meant to be.
    file.sync_data()?;
    Ok(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_or_mapped_a_block_is_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("signatures");
        let block = |word| Rows::own((0..ROWS as u64).map(|row| [word ^ row; 8]).collect());
        let blocks = [4_u64, 5].map(|word| (block(word), None));
        let slots = save(&place, &blocks, &[]).expect("saved");
        let file = File::open(&place).expect("opened");
        let damaged = Slot { sum: !slots[1].sum, ..slots[1] };
        // Where nothing can be mapped these are the same way twice.
        for map in [None, Map::of(&file).map(Arc::new)] {
            let loaded = load_blocks(&file, map.as_ref(), &[slots[1], damaged, slots[0]]);
            let loaded: Vec<_> = loaded.into_iter().map(|block| Some(block?.0)).collect();
            let [Some(second), None, Some(first)] = &loaded[..] else { panic!("two are sound") };
            assert!(first[..] == blocks[0].0[..] && second[..] == blocks[1].0[..]);
            assert!(map.is_none() || first.bytes() == 0);
        }
    }

    #[test]
    fn nothing_is_written_over_what_was_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("signatures");
        let block = |word| (Rows::own(vec![[word; 8]; ROWS]), None);
        let numbers = |slots: Vec<Slot>| slots.iter().map(|slot| slot.number).collect::<Vec<_>>();
        let first = save(&place, &[block(1), block(2)], &[]).expect("saved");
        let second = save(&place, &[block(3), block(4)], &[0]).expect("saved");
        assert_eq!((numbers(first), numbers(second.clone())), (vec![0, 1], vec![1, 2]));
        // The file is another, and has nothing.
        std::fs::remove_file(&place).expect("removed");
        let blocks = [(block(3).0, Some(second[0])), (block(4).0, Some(second[1]))];
        let third = save(&place, &blocks, &[0]).expect("saved");
        assert_eq!(numbers(third.clone()), [3, 4]);
        let loaded = load(&place, &third);
        let words: Vec<_> = loaded.iter().flatten().map(|(rows, _)| rows[9][1]).collect();
        assert_eq!(words, [3, 4]);
    }
}
