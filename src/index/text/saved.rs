//! The index on disk, in the steward's folder: signatures in one file with a block in each slot,
//! and a table that maps blocks to slots and notes to columns. It can be deleted at any time.
//!
//! The table is written to a new file that replaces the old one. Only changed blocks of signatures
//! are written, and not to slots that the old table names ([`slots`]), so the old table is valid
//! until it is replaced. The table has each block's checksum. Data that is damaged, in another
//! format or from another vault is not used: a note is restored only if its file has the same size,
//! mtime, inode and ctime (on Windows size and mtime alone).

#![expect(clippy::disallowed_methods, reason = "the index's own files, in the steward's folder")]

use std::io;
use std::path::{Path, PathBuf};

use super::columns::{Rows, Slot};
use super::notes::NoteState;
use super::slots;
use crate::index::changes::Stamp;
use crate::index::checksummed_file::{self, Fields};
use crate::note::path::PathRef;

/// The table's first bytes. The number changes with the format, and with the meaning of signatures.
const HEADER: &[u8; 24] = b"steward text index   5\n\0";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SavedNote {
    pub stamp: Stamp,
    pub identity: u64,
    pub state: NoteState,
    pub first: u32,
    pub count: u32,
}

/// Bytes of a note in the table, without its path.
const NOTE_BYTES: usize = 6 * size_of::<u64>();

pub(super) struct SavedNotes {
    bytes: Vec<u8>,
    count: u64,
}

impl SavedNotes {
    /// Reserves memory for so many notes with paths of so many bytes.
    pub fn with_capacity(notes: usize, path_bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(notes * NOTE_BYTES + path_bytes), count: 0 }
    }

    pub fn put(&mut self, path: PathRef<'_>, note: &SavedNote) {
        let state = match note.state {
            // Unread notes are not saved; if one were, every search would read it until it changes.
            NoteState::Signed => 0_u64,
            NoteState::Binary => 1,
            NoteState::Odd | NoteState::Unread => 2,
        };
        let (size, modified) = note.stamp;
        let count = state << 32 | u64::from(note.count);
        let length = path.as_str().len() as u64;
        for number in [size, modified as u64, note.identity, u64::from(note.first), count, length] {
            self.bytes.extend(number.to_le_bytes());
        }
        self.bytes.extend(path.as_str().as_bytes());
        self.count += 1;
    }
}

/// The intact part of a saved index.
#[derive(Default)]
pub(super) struct Saved {
    pub notes: Notes,
    /// Blocks in their order; `None` for a damaged one.
    pub blocks: Vec<Option<(Rows, Slot)>>,
}

/// The notes of a table, newest first. They are parsed in place: each is needed once, and a hundred thousand
/// paths need not be copied.
#[derive(Default)]
pub(super) struct Notes {
    bytes: Vec<u8>,
    /// Where the first note begins.
    start: usize,
    pub count: usize,
}

impl Notes {
    pub fn iter(&self) -> impl Iterator<Item = (&str, SavedNote)> {
        let mut rest = Fields(self.bytes.get(self.start..).unwrap_or_default());
        (0..self.count).map_while(move |_| note(&mut rest))
    }
}

const TABLE: &str = "table";

fn table_file(folder: &Path) -> PathBuf {
    folder.join(TABLE)
}

fn signatures_file(folder: &Path) -> PathBuf {
    folder.join("signatures")
}

/// Loads the index saved in `folder`; an empty one if it is unusable.
pub(super) fn load(folder: &Path) -> Saved {
    let read = std::fs::read(table_file(folder));
    let Some((notes, slots)) = read.ok().and_then(parse) else { return Saved::default() };
    let blocks = slots::load(&signatures_file(folder), &slots);
    Saved { notes, blocks }
}

fn parse(table: Vec<u8>) -> Option<(Notes, Vec<Slot>)> {
    let content = checksummed_file::content(&table, HEADER)?;
    let mut rest = Fields(content);
    let blocks = rest.number()?;
    let slots = (0..blocks).map(|_| slot(&mut rest)).collect::<Option<Vec<Slot>>>()?;
    let count = usize::try_from(rest.number()?).ok()?;
    let end = HEADER.len() + content.len();
    let start = end - rest.0.len();
    for _ in 0..count {
        note(&mut rest)?;
    }
    let whole = rest.0.is_empty();
    let mut bytes = table;
    bytes.truncate(end);
    whole.then_some((Notes { bytes, start, count }, slots))
}

fn slot(fields: &mut Fields<'_>) -> Option<Slot> {
    let number = u32::try_from(fields.number()?).ok()?;
    Some(Slot { number, sum: fields.number()?, same: true })
}

fn note<'a>(fields: &mut Fields<'a>) -> Option<(&'a str, SavedNote)> {
    let stamp = (fields.number()?, fields.number()?.cast_signed());
    let identity = fields.number()?;
    let first = u32::try_from(fields.number()?).ok()?;
    let count = fields.number()?;
    let state = match count >> 32 {
        0 => NoteState::Signed,
        1 => NoteState::Binary,
        2 => NoteState::Odd,
        _ => return None,
    };
    let count = (count & 0xffff_ffff) as u32;
    first.checked_add(count)?;
    Some((fields.text()?, SavedNote { stamp, identity, state, first, count }))
}

/// Writes the index to `folder`: all indexed notes, newest first, and the blocks that differ from their slots. `retained`
/// are the slots that the table on disk refers to, which are not overwritten. Returns the slot of each block.
pub(super) fn save(
    folder: &Path,
    notes: &SavedNotes,
    blocks: &[(Rows, Option<Slot>)],
    retained: &[u32],
) -> io::Result<Vec<Slot>> {
    checksummed_file::make_folder(folder)?;
    let slots = slots::save(&signatures_file(folder), blocks, retained)?;
    let mut head = HEADER.to_vec();
    let mut put = |number: u64| head.extend(number.to_le_bytes());
    put(slots.len() as u64);
    slots.iter().for_each(|slot| [u64::from(slot.number), slot.sum].into_iter().for_each(&mut put));
    put(notes.count);
    checksummed_file::write(folder, TABLE, &[&head, &notes.bytes])?;
    Ok(slots)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::super::columns::ROWS;
    use super::super::slots::BLOCK_BYTES;
    use super::*;

    fn known_note(first: u32, state: NoteState) -> (String, SavedNote) {
        let note = SavedNote { stamp: (5, -7), identity: 9, state, first, count: 2 };
        (format!("Ordner/ü{first}.md"), note)
    }

    fn block(word: u64) -> Rows {
        (0..ROWS as u64).map(|row| [word ^ row; 8]).collect()
    }

    fn no_notes() -> SavedNotes {
        SavedNotes::with_capacity(0, 0)
    }

    /// The word that tells one [`block`] from another.
    fn words(saved: &Saved) -> Vec<Option<u64>> {
        let word = |block: &Option<(Rows, Slot)>| Some(block.as_ref()?.0[3][7] ^ 3);
        saved.blocks.iter().map(word).collect()
    }

    #[test]
    fn a_saved_index_is_loaded_and_damage_is_detected() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("text");
        assert_eq!(load(&dir).notes.count, 0, "nothing is there yet");
        let known = [(0, NoteState::Signed), (2, NoteState::Binary), (700, NoteState::Odd)]
            .map(|(first, state)| known_note(first, state));
        let mut notes = SavedNotes::with_capacity(3, 40);
        known.iter().for_each(|(path, note)| notes.put(PathRef::of(path), note));
        let slots = save(&dir, &notes, &[(block(1), None), (block(2), None)], &[]).expect("saved");
        let saved = load(&dir);
        let expected = known.iter().map(|(path, note)| (path.as_str(), note.clone()));
        assert!(saved.notes.iter().eq(expected));
        assert_eq!(words(&saved), [Some(1), Some(2)]);
        // An unchanged block is not written, and a missing one is.
        let lost = Slot { number: 77, ..slots[0] };
        let blocks = [(block(9), Some(slots[0])), (block(2), None), (block(3), Some(lost))];
        save(&dir, &notes, &blocks, &[]).expect("saved");
        let saved = load(&dir);
        assert_eq!(words(&saved), [Some(1), Some(2), Some(3)]);
        drop(saved);
        // A torn block does not affect others.
        let file = File::options().write(true).open(signatures_file(&dir)).expect("opened");
        file.set_len(2 * BLOCK_BYTES as u64 + 5).expect("cut");
        assert_eq!(words(&load(&dir)), [Some(1), Some(2), None]);
        file.set_len(0).expect("cut");
        assert_eq!(words(&load(&dir)), [None; 3]);
        // A table with any flipped bit is not used.
        let table = std::fs::read(table_file(&dir)).expect("read");
        for at in (0..table.len()).step_by(11) {
            let mut damaged = table.clone();
            damaged[at] ^= 16;
            assert!(parse(damaged).is_none(), "byte {at}");
        }
        let cut = table[..table.len() - 1].to_vec();
        assert!(parse(cut).is_none() && parse(Vec::new()).is_none());
    }

    #[test]
    fn a_block_that_changes_repeatedly_uses_two_slots() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("text");
        let first = [1, 2, 3].map(|word| (block(word), None));
        save(&dir, &no_notes(), &first, &[]).expect("saved");
        let saved = load(&dir);
        assert_eq!(words(&saved), [Some(1), Some(2), Some(3)]);
        let mut blocks: Vec<(Rows, Option<Slot>)> =
            saved.blocks.into_iter().flatten().map(|(rows, slot)| (rows, Some(slot))).collect();
        for round in 10..20 {
            let (rows, slot) = &mut blocks[1];
            *rows = block(round);
            slot.as_mut().expect("it was saved").same = false;
            let retained: Vec<u32> =
                blocks.iter().flat_map(|(_, slot)| Some((*slot)?.number)).collect();
            let slots = save(&dir, &no_notes(), &blocks, &retained).expect("saved");
            assert_eq!(words(&load(&dir)), [Some(1), Some(round), Some(3)]);
            for ((_, known), slot) in blocks.iter_mut().zip(slots) {
                *known = Some(slot);
            }
        }
        let bytes = std::fs::metadata(signatures_file(&dir)).expect("there").len();
        assert!(bytes <= 4 * BLOCK_BYTES as u64, "two slots alternate: {bytes}");
    }

    #[test]
    fn the_old_table_is_valid_until_it_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("text");
        let first = save(&dir, &no_notes(), &[(block(1), None), (block(2), None)], &[]);
        let old = std::fs::read(table_file(&dir)).expect("read");
        let changed = |slot: &Slot| Some(Slot { same: false, ..*slot });
        let slots: Vec<_> = first.expect("saved").iter().map(changed).collect();
        let blocks = [(block(5), slots[0]), (block(6), slots[1])];
        save(&dir, &no_notes(), &blocks, &[]).expect("saved");
        assert_eq!(words(&load(&dir)), [Some(5), Some(6)]);
        std::fs::write(table_file(&dir), old).expect("as after a crash");
        assert_eq!(words(&load(&dir)), [Some(1), Some(2)]);
        // The file is truncated after its slots.
        let bytes = std::fs::metadata(signatures_file(&dir)).expect("there").len();
        assert_eq!(bytes, 2 * BLOCK_BYTES as u64);
    }
}
