//! Compact storage of notes: a row of forty bytes for each, and all paths in one string. Only cached texts are
//! allocated one by one.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::index::changes::Stamp;
use crate::note::path::PathRef;

/// Up to this many bytes of paths of removed notes stay in memory.
const MIN_WASTE: usize = 64 << 10;

/// In [`Row::text`]: the text is not cached.
const NO_TEXT: u32 = u32::MAX;

/// The state of a note's text in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoteState {
    /// New or changed.
    Unread,
    /// Its columns tell what it can match.
    Signed,
    Binary,
    /// Read by each search: too large, of another encoding, unreadable, or with hard links.
    Odd,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Note<'t> {
    pub path: PathRef<'t>,
    pub stamp: Stamp,
    /// Its [`identity`](crate::index::changes::identity) when it was read; 0 if unknown.
    pub identity: u64,
    pub state: NoteState,
    pub first: u32,
    pub count: u32,
    pub text: Option<&'t Arc<[u8]>>,
}

impl Note<'_> {
    /// Newest first; equal times by path, as in the catalogue.
    pub fn recency(&self) -> (Reverse<i64>, &str) {
        (Reverse(self.stamp.1), self.path.as_str())
    }
}

#[derive(Debug, Clone, Copy)]
struct Row {
    modified: i64,
    identity: u64,
    /// The size, shifted by three bits, and the state in the lowest three.
    size_and_state: u64,
    path_at: u32,
    first: u32,
    /// Index in `texts`, or [`NO_TEXT`].
    text: u32,
    path_bytes: u16,
    count: u16,
}

/// Instead of a state: the id is free.
const FREE: u64 = 7;

impl Row {
    const EMPTY: Self = Self {
        modified: 0,
        identity: 0,
        size_and_state: FREE,
        path_at: 0,
        first: 0,
        text: NO_TEXT,
        path_bytes: 0,
        count: 0,
    };

    fn state(&self) -> Option<NoteState> {
        match self.size_and_state & 7 {
            0 => Some(NoteState::Unread),
            1 => Some(NoteState::Signed),
            2 => Some(NoteState::Binary),
            3 => Some(NoteState::Odd),
            _ => None,
        }
    }

    fn set_state(&mut self, state: NoteState) {
        let number = match state {
            NoteState::Unread => 0,
            NoteState::Signed => 1,
            NoteState::Binary => 2,
            NoteState::Odd => 3,
        };
        self.size_and_state = self.size_and_state & !7 | number;
    }

    fn size(&self) -> u64 {
        self.size_and_state >> 3
    }

    fn set_stamp(&mut self, (size, modified): Stamp) {
        self.size_and_state = size << 3 | self.size_and_state & 7;
        self.modified = modified;
    }

    fn path(&self) -> std::ops::Range<usize> {
        let start = self.path_at as usize;
        start..start + usize::from(self.path_bytes)
    }
}

#[derive(Default)]
pub(super) struct Notes {
    rows: Vec<Row>,
    paths: String,
    /// Bytes of `paths` that belong to removed notes.
    wasted: usize,
    texts: Vec<Option<Arc<[u8]>>>,
    free_texts: Vec<u32>,
    text_bytes: usize,
}

impl Notes {
    /// Reserves memory for so many more notes with paths of so many bytes.
    pub fn reserve(&mut self, notes: usize, path_bytes: usize) {
        self.rows.reserve_exact(notes);
        self.paths.reserve_exact(path_bytes);
    }

    /// Number of ids, including free ones.
    pub fn numbers(&self) -> u32 {
        u32::try_from(self.rows.len()).expect("a vault has under 2^31 notes")
    }

    pub fn get(&self, id: u32) -> Option<Note<'_>> {
        let row = self.rows.get(id as usize)?;
        Some(Note {
            state: row.state()?,
            path: PathRef::of(&self.paths[row.path()]),
            stamp: (row.size(), row.modified),
            identity: row.identity,
            first: row.first,
            count: u32::from(row.count),
            text: self.texts.get(row.text as usize).and_then(Option::as_ref),
        })
    }

    /// Adds an unread note, with a free id or a new one.
    pub fn add(&mut self, number: Option<u32>, path: &str, stamp: Stamp) -> u32 {
        let id = number.unwrap_or_else(|| {
            self.rows.push(Row::EMPTY);
            self.numbers() - 1
        });
        let row = &mut self.rows[id as usize];
        *row = Row {
            path_at: u32::try_from(self.paths.len()).expect("paths take under 4 GB"),
            path_bytes: u16::try_from(path.len()).expect("no system has a path of 64 KB"),
            ..Row::EMPTY
        };
        row.set_state(NoteState::Unread);
        row.set_stamp(stamp);
        self.paths.push_str(path);
        id
    }

    /// Removes a note; its id is free then.
    pub fn remove(&mut self, id: u32) {
        self.drop_text(id);
        let Some(row) = self.rows.get_mut(id as usize).filter(|row| row.state().is_some()) else {
            return;
        };
        self.wasted += usize::from(row.path_bytes);
        *row = Row::EMPTY;
        if self.wasted > MIN_WASTE && self.wasted * 2 > self.paths.len() {
            self.compact_paths();
        }
    }

    fn compact_paths(&mut self) {
        let mut paths = String::with_capacity(self.paths.len() - self.wasted);
        for row in self.rows.iter_mut().filter(|row| row.state().is_some()) {
            let path = row.path();
            row.path_at = u32::try_from(paths.len()).expect("paths take under 4 GB");
            paths.push_str(&self.paths[path]);
        }
        (self.paths, self.wasted) = (paths, 0);
    }

    pub fn set_stamp(&mut self, id: u32, stamp: Stamp) {
        if let Some(row) = self.rows.get_mut(id as usize) {
            row.set_stamp(stamp);
        }
    }

    /// Sets the state and columns of a note. `count` is the number of pieces of a note that is small enough
    /// to be signed.
    pub fn set_state(&mut self, id: u32, state: NoteState, identity: u64, first: u32, count: u16) {
        if let Some(row) = self.rows.get_mut(id as usize) {
            row.set_state(state);
            (row.identity, row.first, row.count) = (identity, first, count);
        }
    }

    pub fn keep_text(&mut self, id: u32, text: Arc<[u8]>) {
        self.drop_text(id);
        let Some(row) = self.rows.get_mut(id as usize) else { return };
        self.text_bytes += text.len();
        row.text = self.free_texts.pop().unwrap_or_else(|| {
            self.texts.push(None);
            u32::try_from(self.texts.len() - 1).expect("a vault has under 2^31 notes")
        });
        self.texts[row.text as usize] = Some(text);
    }

    pub fn drop_text(&mut self, id: u32) {
        let Some(row) = self.rows.get_mut(id as usize) else { return };
        let at = std::mem::replace(&mut row.text, NO_TEXT);
        if let Some(text) = self.texts.get_mut(at as usize).and_then(Option::take) {
            self.text_bytes -= text.len();
            self.free_texts.push(at);
        }
    }

    pub fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Bytes of all paths, at most.
    pub fn path_bytes(&self) -> usize {
        self.paths.len()
    }

    /// Memory use without texts, in bytes.
    pub fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<Row>()
            + self.paths.capacity()
            + self.texts.capacity() * size_of::<Option<Arc<[u8]>>>()
            + self.free_texts.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_row_takes_forty_bytes() {
        assert_eq!(size_of::<Row>(), 40);
    }

    #[test]
    fn paths_of_removed_notes_are_freed() {
        let mut notes = Notes::default();
        let mut last = notes.add(None, "a/first.md", (1, 1));
        for round in 0..40_000 {
            notes.remove(last);
            last = notes.add(Some(last), &format!("a/{round}.md"), (1, 1));
        }
        assert_eq!(notes.get(last).map(|note| note.path.as_str()), Some("a/39999.md"));
        assert!(notes.bytes() < 4 * MIN_WASTE, "{} bytes for one note", notes.bytes());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_note_is_as_it_was_set(
            steps in prop::collection::vec(
                (0_u32..6, 0_u8..5, 0_u64..1 << 61, any::<i64>(), "[a-zü]{1,12}(/[a-z]{1,8})?"), 1..60)
        ) {
            let mut notes = Notes::default();
            let mut model = BTreeMap::<u32, (String, Stamp, NoteState, Option<Arc<[u8]>>)>::new();
            for (id, what, size, modified, text) in steps {
                let number = Some(id).filter(|id| *id < notes.numbers());
                match what {
                    0 => {
                        notes.remove(id);
                        model.remove(&id);
                    }
                    1 if !model.contains_key(&id) => {
                        let id = notes.add(number, &text, (size, modified));
                        model.insert(id, (text, (size, modified), NoteState::Unread, None));
                    }
                    2 => if let Some((_, stamp, state, _)) = model.get_mut(&id) {
                        (*stamp, *state) = ((size, modified), NoteState::Odd);
                        notes.set_stamp(id, *stamp);
                        notes.set_state(id, *state, 5, 6, 7);
                    }
                    3 => if let Some((.., retained)) = model.get_mut(&id) {
                        *retained = Some(Arc::from(text.as_bytes()));
                        notes.keep_text(id, Arc::from(text.as_bytes()));
                    }
                    4 => if let Some((.., retained)) = model.get_mut(&id) {
                        *retained = None;
                        notes.drop_text(id);
                    }
                    _ => {}
                }
            }
            for id in 0..8 {
                let note = notes.get(id).map(|note| {
                    let path = note.path.as_str().to_owned();
                    (path, note.stamp, note.state, note.text.cloned())
                });
                prop_assert_eq!(note.as_ref(), model.get(&id));
            }
            let texts = model.values().filter_map(|(.., text)| text.as_ref());
            prop_assert_eq!(notes.text_bytes(), texts.map(|text| text.len()).sum::<usize>());
        }
    }
}
