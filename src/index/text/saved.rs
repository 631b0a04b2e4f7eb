//! The index on disk, in the steward's own folder: signatures in one file, a block after the other,
//! and a table of which note has which columns. Safe to delete at any time.
//!
//! The table is written anew each time, beside the old one, and put in its place; of the signatures
//! only blocks that have changed are written, in place. Each block's checksum is in the table, so a
//! crash between the two costs the notes of some blocks, which are read again. What is damaged, of
//! another format or of another vault is not used: a note counts as known only if the file at its
//! path has the size, the time and the number on its disk that it had.

#![expect(clippy::disallowed_methods, reason = "the index's own files, in the steward's folder")]

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::columns::{BLOCK_BYTES, ROWS, Rows};
use super::plan::Mask;
use super::table::{Stamp, State};
use crate::note::path::PathRef;

/// How the table begins. Another number for every change of the format, or of what a signature is.
const HEADER: &[u8; 24] = b"steward text index   3\n\0";

/// Bytes of the checksum at the end of the table.
const SUM: usize = blake3::OUT_LEN;

/// A note as saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SavedNote {
    pub stamp: Stamp,
    pub inode: u64,
    pub state: State,
    pub first: u32,
    pub count: u32,
}

/// Bytes of a note in the table, beside its path.
const NOTE_BYTES: usize = 6 * size_of::<u64>();

/// Notes as they are written.
pub(super) struct SavedNotes {
    bytes: Vec<u8>,
    count: u64,
}

impl SavedNotes {
    /// Room for so many notes, whose paths have so many bytes together.
    pub fn with_capacity(notes: usize, path_bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(notes * NOTE_BYTES + path_bytes), count: 0 }
    }

    pub fn put(&mut self, path: PathRef<'_>, note: &SavedNote) {
        let state = match note.state {
            // One that is unread is not saved; should one be, it is read each time until it changes.
            State::Signed => 0_u64,
            State::Binary => 1,
            State::Odd | State::Unread => 2,
        };
        let (size, modified) = note.stamp;
        let count = state << 32 | u64::from(note.count);
        let length = path.as_str().len() as u64;
        for number in [size, modified as u64, note.inode, u64::from(note.first), count, length] {
            self.bytes.extend(number.to_le_bytes());
        }
        self.bytes.extend(path.as_str().as_bytes());
        self.count += 1;
    }
}

/// What was saved and is sound.
#[derive(Default)]
pub(super) struct Saved {
    pub notes: Notes,
    /// Blocks in their order, with their checksums; none where one is damaged.
    pub blocks: Vec<Option<(Vec<Mask>, u64)>>,
}

/// The notes of a table, the newest first, as they lie in its bytes: a hundred thousand paths are not
/// worth copying for one look at each.
#[derive(Default)]
pub(super) struct Notes {
    bytes: Vec<u8>,
    /// Where the first of them begins.
    start: usize,
    pub count: usize,
}

impl Notes {
    pub fn iter(&self) -> impl Iterator<Item = (&str, SavedNote)> {
        let mut rest = Fields(self.bytes.get(self.start..).unwrap_or_default());
        (0..self.count).map_while(move |_| rest.note())
    }
}

fn table_file(folder: &Path) -> PathBuf {
    folder.join("table")
}

fn signatures_file(folder: &Path) -> PathBuf {
    folder.join("signatures")
}

fn checksum(bytes: &[u8]) -> u64 {
    let hash = blake3::hash(bytes);
    let first = hash.as_bytes()[..8].try_into().expect("a hash has 32 bytes");
    u64::from_le_bytes(first)
}

/// Reads what was saved in `folder`; nothing, if there is nothing that can be used.
pub(super) fn load(folder: &Path) -> Saved {
    let read = std::fs::read(table_file(folder));
    let Some((notes, sums)) = read.ok().and_then(parse) else { return Saved::default() };
    let blocks = load_blocks(&signatures_file(folder), &sums);
    Saved { notes, blocks }
}

/// Blocks that one thread reads at a time.
const SOME: usize = 16;

/// Reads the blocks that have these checksums, on all cores: that is most of what a start reads.
fn load_blocks(place: &Path, sums: &[u64]) -> Vec<Option<(Vec<Mask>, u64)>> {
    let some = |(at, sums): (usize, &[u64])| {
        let mut blocks = vec![None; sums.len()];
        // A file that cannot be read to its end gives what is before.
        let _ = read_blocks(place, at * SOME, sums, &mut blocks);
        blocks
    };
    sums.par_chunks(SOME).enumerate().flat_map_iter(some).collect()
}

fn read_blocks(
    place: &Path,
    first: usize,
    sums: &[u64],
    blocks: &mut [Option<(Vec<Mask>, u64)>],
) -> io::Result<()> {
    let mut file = File::open(place)?;
    file.seek(SeekFrom::Start((first * BLOCK_BYTES) as u64))?;
    let mut bytes = vec![0; BLOCK_BYTES];
    for (block, sum) in blocks.iter_mut().zip(sums) {
        file.read_exact(&mut bytes)?;
        let sound = checksum(&bytes) == *sum;
        *block = sound.then(|| (rows(&bytes), *sum));
    }
    Ok(())
}

fn rows(bytes: &[u8]) -> Vec<Mask> {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let mask = |bytes: &[u8]| std::array::from_fn(|at| word(&bytes[at * 8..at * 8 + 8]));
    bytes.chunks_exact(size_of::<Mask>()).map(mask).collect()
}

fn parse(table: Vec<u8>) -> Option<(Notes, Vec<u64>)> {
    let (content, sum) = table.split_at_checked(table.len().checked_sub(SUM)?)?;
    if blake3::hash(content).as_bytes() != sum {
        return None;
    }
    let mut rest = Fields(content.strip_prefix(HEADER)?);
    let blocks = rest.number()?;
    let sums = (0..blocks).map(|_| rest.number()).collect::<Option<Vec<u64>>>()?;
    let count = usize::try_from(rest.number()?).ok()?;
    let (start, end) = (content.len() - rest.0.len(), content.len());
    for _ in 0..count {
        rest.note()?;
    }
    let whole = rest.0.is_empty();
    let mut bytes = table;
    bytes.truncate(end);
    whole.then_some((Notes { bytes, start, count }, sums))
}

struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?))
    }

    fn note(&mut self) -> Option<(&'a str, SavedNote)> {
        let size = self.number()?;
        let modified = self.number()? as i64;
        let inode = self.number()?;
        let first = u32::try_from(self.number()?).ok()?;
        let count = self.number()?;
        let state = match count >> 32 {
            0 => State::Signed,
            1 => State::Binary,
            2 => State::Odd,
            _ => return None,
        };
        let count = (count & 0xffff_ffff) as u32;
        first.checked_add(count)?;
        let length = usize::try_from(self.number()?).ok()?;
        let path = std::str::from_utf8(self.bytes(length)?).ok()?;
        Some((path, SavedNote { stamp: (size, modified), inode, state, first, count }))
    }
}

/// Writes the index into `folder`: all notes that are known, the newest first, and the blocks that are
/// another since their checksum. Gives the checksums of all blocks.
///
/// # Errors
/// As the system says; what is on disk then is still what [`load`] can tell sound parts of.
pub(super) fn save(
    folder: &Path,
    notes: &SavedNotes,
    blocks: &[(Rows, Option<u64>)],
) -> io::Result<Vec<u64>> {
    make_folder(folder)?;
    let mut file = open(&signatures_file(folder))?;
    let complete = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(BLOCK_BYTES);
    let mut sums = Vec::with_capacity(blocks.len());
    for (at, (rows, saved)) in blocks.iter().enumerate() {
        let start = (at * BLOCK_BYTES) as u64;
        if let Some(sum) = saved.filter(|_| start + BLOCK_BYTES as u64 <= complete) {
            sums.push(sum);
            continue;
        }
        bytes.clear();
        bytes.extend(rows.iter().flatten().flat_map(|word| word.to_le_bytes()));
        debug_assert_eq!(bytes.len(), ROWS * size_of::<Mask>());
        file.seek(SeekFrom::Start(start))?;
        file.write_all(&bytes)?;
        sums.push(checksum(&bytes));
    }
    file.set_len((blocks.len() * BLOCK_BYTES) as u64)?;
    let mut head = HEADER.to_vec();
    let mut put = |number: u64| head.extend(number.to_le_bytes());
    put(sums.len() as u64);
    sums.iter().for_each(|sum| put(*sum));
    put(notes.count);
    let sum = blake3::Hasher::new().update(&head).update(&notes.bytes).finalize();
    let beside = folder.join("table.new");
    let mut file = open(&beside)?;
    file.set_len(0)?;
    file.write_all(&head)?;
    file.write_all(&notes.bytes)?;
    file.write_all(sum.as_bytes())?;
    drop(file);
    std::fs::rename(beside, table_file(folder))?;
    Ok(sums)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// A file for this user alone, with what it holds.
fn open(place: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(place)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn note(first: u32, state: State) -> (String, SavedNote) {
        let note = SavedNote { stamp: (5, -7), inode: 9, state, first, count: 2 };
        (format!("Ordner/ü{first}.md"), note)
    }

    fn block(word: u64) -> Rows {
        Arc::new((0..ROWS as u64).map(|row| [word ^ row; 8]).collect())
    }

    #[test]
    fn what_was_saved_is_loaded_and_damage_is_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("text");
        assert_eq!(load(&place).notes.count, 0, "nothing is there yet");
        let known = [note(0, State::Signed), note(2, State::Binary), note(700, State::Odd)];
        let mut notes = SavedNotes::with_capacity(3, 40);
        known.iter().for_each(|(path, note)| notes.put(PathRef::of(path), note));
        let sums = save(&place, &notes, &[(block(1), None), (block(2), None)]).expect("saved");
        let saved = load(&place);
        let expected = known.iter().map(|(path, note)| (path.as_str(), note.clone()));
        assert!(saved.notes.iter().eq(expected));
        let rows = |saved: &Saved, at: usize| saved.blocks[at].as_ref().map(|(rows, _)| rows[3][7]);
        assert_eq!((rows(&saved, 0), rows(&saved, 1)), (Some(1 ^ 3), Some(2 ^ 3)));
        // A block that has not changed is not written, and one that is not there is.
        let blocks = [(block(9), Some(sums[0])), (block(2), None), (block(3), Some(77))];
        save(&place, &notes, &blocks).expect("saved");
        let saved = load(&place);
        assert_eq!((rows(&saved, 0), rows(&saved, 2)), (Some(1 ^ 3), Some(3 ^ 3)));
        // A torn block costs itself alone.
        let file = File::options().write(true).open(signatures_file(&place)).expect("opened");
        file.set_len(BLOCK_BYTES as u64 + 5).expect("cut");
        let saved = load(&place);
        assert_eq!((rows(&saved, 0), rows(&saved, 1), saved.blocks.len()), (Some(1 ^ 3), None, 3));
        // A damaged table is none, wherever a bit has turned.
        let table = std::fs::read(table_file(&place)).expect("read");
        for at in (0..table.len()).step_by(11) {
            let mut damaged = table.clone();
            damaged[at] ^= 16;
            assert!(parse(damaged).is_none(), "byte {at}");
        }
        let cut = table[..table.len() - 1].to_vec();
        assert!(parse(cut).is_none() && parse(Vec::new()).is_none());
    }
}
