//! What the index knows of each note: where its columns are, its text if that is resident, and its
//! place in the order of answers.
//!
//! The table follows the catalogue. A note that has changed is unread from that moment on: it is
//! searched by reading it until its new text is signed, so the table is never wrong, only behind.

use std::cmp::Reverse;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::columns::Columns;
use super::plan::Plan;
use super::signature::Signature;
use crate::note::path::VaultPath;

/// Size and time of change.
pub(super) type Stamp = (u64, i64);

/// Changes that are sorted in one by one; more are sorted all at once.
const FEW: usize = 64;

/// What is known of a note's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing: it is new or has changed.
    Unread,
    /// Its columns say what it can match.
    Signed,
    /// It is no text.
    Binary,
    /// It has to be read each time: too large, of another encoding, unreadable, of several names.
    Odd,
}

pub(super) struct Note {
    pub path: VaultPath,
    pub stamp: Stamp,
    /// The file's number on its disk when it was read; 0: not known.
    pub inode: u64,
    pub state: State,
    pub first: u32,
    pub count: u32,
    pub text: Option<Arc<[u8]>>,
}

impl Note {
    /// Newest first; equal times by path, as in the catalogue.
    fn recency(&self) -> (Reverse<i64>, &str) {
        (Reverse(self.stamp.1), self.path.as_str())
    }
}

/// What reading a note gave.
pub(super) struct Content {
    pub stamp: Stamp,
    pub inode: u64,
    pub state: State,
    pub signatures: Vec<Signature>,
    pub text: Option<Arc<[u8]>>,
}

/// A bit a note.
#[derive(Default, Clone)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub fn has(&self, id: u32) -> bool {
        self.0.get(id as usize / 64).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    pub fn set(&mut self, id: u32, to: bool) {
        let at = id as usize / 64;
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        match to {
            true => self.0[at] |= 1 << (id % 64),
            false => self.0[at] &= !(1 << (id % 64)),
        }
    }
}

/// See the module's documentation. Notes are told by numbers, which are not given away again while
/// a search may hold them.
#[derive(Default)]
pub(super) struct Table {
    notes: Vec<Option<Note>>,
    free: Vec<u32>,
    by_path: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// Newest first. Searches hold it while they run.
    order: Arc<Vec<u32>>,
    /// Notes that no signature speaks for.
    unsigned: Bits,
    /// Those to read, the most wanted last; some may have been read since.
    unread: Vec<u32>,
    columns: Columns,
    text_bytes: usize,
}

impl Table {
    /// A table over these columns, without a note.
    pub fn new(columns: Columns) -> Self {
        Self { columns, ..Self::default() }
    }

    /// Everything, newest first.
    pub fn order(&self) -> Arc<Vec<u32>> {
        Arc::clone(&self.order)
    }

    pub fn note(&self, id: u32) -> Option<&Note> {
        self.notes.get(id as usize)?.as_ref()
    }

    pub fn find(&self, path: &VaultPath) -> Option<u32> {
        let same = |id: &u32| self.note(*id).is_some_and(|note| note.path == *path);
        self.by_path.find(self.hasher.hash_one(path.as_str()), same).copied()
    }

    pub fn notes(&self) -> impl Iterator<Item = (u32, &Note)> {
        self.order.iter().filter_map(|id| Some((*id, self.note(*id)?)))
    }

    /// Which of these notes may have a match.
    pub fn allowed(&self, plan: &Plan, ids: &[u32]) -> Bits {
        let mut ask = self.columns.ask(plan);
        let mut bits = Bits(vec![0; self.notes.len().div_ceil(64)]);
        for id in ids {
            let allowed = match self.note(*id) {
                Some(Note { state: State::Signed, first, count, .. }) => ask(*first, *count),
                _ => true,
            };
            if allowed {
                bits.set(*id, true);
            }
        }
        bits
    }

    /// Which of all notes may have a match.
    pub fn all_allowed(&self, plan: &Plan) -> Bits {
        let mut bits = self.unsigned.clone();
        self.columns.select(plan, |owner| bits.set(owner, true));
        bits
    }

    /// Takes in that notes have changed (their size and time now) or are gone. `searching`: whether
    /// a search may hold numbers.
    pub fn apply(&mut self, changes: Vec<(VaultPath, Option<Stamp>)>, searching: bool) {
        let few = changes.len() <= FEW;
        for (path, stamp) in changes {
            let known = self.find(&path);
            match (known, stamp) {
                (None, None) => {}
                (Some(id), None) => self.remove(id, few),
                (Some(id), Some(stamp)) => self.change(id, stamp, few),
                (None, Some(stamp)) => drop(self.insert(path, stamp, few, searching)),
            }
        }
        if !few {
            self.sort();
        }
    }

    /// Adds many notes at once, the newest first, all unread.
    pub fn fill(&mut self, notes: impl ExactSizeIterator<Item = (VaultPath, Stamp)>) {
        self.notes.reserve_exact(notes.len());
        // A table that grows hashes every path once more each time.
        let Self { notes: known, by_path, hasher, .. } = self;
        let path = |id: &u32| known[*id as usize].as_ref().map_or("", |note| note.path.as_str());
        by_path.reserve(notes.len(), |id| hasher.hash_one(path(id)));
        for (path, stamp) in notes {
            self.insert(path, stamp, false, true);
        }
        // Read from the end: the newest.
        self.unread.reverse();
        self.sort();
    }

    fn insert(&mut self, path: VaultPath, stamp: Stamp, place: bool, searching: bool) -> u32 {
        let hash = self.hasher.hash_one(path.as_str());
        let note =
            Note { path, stamp, inode: 0, state: State::Unread, first: 0, count: 0, text: None };
        let reused = if searching { None } else { self.free.pop() };
        let id = match reused {
            Some(id) => {
                self.notes[id as usize] = Some(note);
                id
            }
            None => {
                self.notes.push(Some(note));
                u32::try_from(self.notes.len() - 1).expect("a vault has under 2^31 notes")
            }
        };
        let Self { notes, hasher, .. } = self;
        let path = |id: &u32| notes[*id as usize].as_ref().map_or("", |note| note.path.as_str());
        self.by_path.insert_unique(hash, id, |id| hasher.hash_one(path(id)));
        self.unsigned.set(id, true);
        self.unread.push(id);
        if place {
            self.put_in_order(id);
        }
        id
    }

    fn change(&mut self, id: u32, stamp: Stamp, place: bool) {
        if place {
            self.take_from_order(id);
        }
        self.forget_text(id);
        if let Some(Some(note)) = self.notes.get_mut(id as usize) {
            note.stamp = stamp;
        }
        self.unread.push(id);
        if place {
            self.put_in_order(id);
        }
    }

    fn remove(&mut self, id: u32, place: bool) {
        if place {
            self.take_from_order(id);
        }
        self.forget_text(id);
        let Some(note) = self.notes[id as usize].take() else { return };
        let hash = self.hasher.hash_one(note.path.as_str());
        if let Ok(entry) = self.by_path.find_entry(hash, |other| *other == id) {
            entry.remove();
        }
        self.unsigned.set(id, false);
        self.free.push(id);
    }

    /// What was known of a note's text does not hold any more.
    fn forget_text(&mut self, id: u32) {
        let Some(Some(note)) = self.notes.get_mut(id as usize) else { return };
        self.columns.remove(note.first, note.count);
        let text = note.text.take();
        self.text_bytes -= text.map_or(0, |text| text.len());
        (note.first, note.count, note.state) = (0, 0, State::Unread);
        self.unsigned.set(id, true);
    }

    fn position(&self, id: u32) -> usize {
        let recency = self.note(id).map(Note::recency);
        self.order.partition_point(|other| self.note(*other).map(Note::recency) < recency)
    }

    fn put_in_order(&mut self, id: u32) {
        let at = self.position(id);
        Arc::make_mut(&mut self.order).insert(at, id);
    }

    fn take_from_order(&mut self, id: u32) {
        let at = self.position(id);
        if self.order.get(at) == Some(&id) {
            Arc::make_mut(&mut self.order).remove(at);
        }
    }

    fn sort(&mut self) {
        let present = |id: &u32| self.notes[*id as usize].is_some();
        let count = u32::try_from(self.notes.len()).expect("a vault has under 2^31 notes");
        let mut order: Vec<u32> = (0..count).filter(present).collect();
        // They came in order, or nearly so.
        order.sort_by(|a, b| {
            let recency = |id: u32| self.note(id).map(Note::recency);
            recency(*a).cmp(&recency(*b))
        });
        self.order = Arc::new(order);
    }

    /// Up to `count` notes to read, with what they are to be.
    pub fn next_unread(&mut self, count: usize) -> Vec<(u32, VaultPath, Stamp)> {
        let mut next = Vec::new();
        while next.len() < count {
            let Some(id) = self.unread.pop() else { break };
            if let Some(note) = self.note(id).filter(|note| note.state == State::Unread) {
                next.push((id, note.path.clone(), note.stamp));
            }
        }
        next
    }

    /// Puts off reading a note.
    pub fn read_later(&mut self, id: u32) {
        self.unread.push(id);
    }

    /// Takes in what a note's file said, if the note is still what was to be read.
    pub fn read(&mut self, id: u32, path: &VaultPath, content: Content) {
        let Some(note) = self.note(id) else { return };
        if note.state != State::Unread || note.path != *path || note.stamp != content.stamp {
            return;
        }
        let count = u32::try_from(content.signatures.len()).expect("a file has few pieces");
        let first = self.columns.add(id, &content.signatures);
        self.text_bytes += content.text.as_ref().map_or(0, |text| text.len());
        if let Some(Some(note)) = self.notes.get_mut(id as usize) {
            (note.first, note.count) = (first, count);
            (note.inode, note.state, note.text) = (content.inode, content.state, content.text);
        }
        self.unsigned.set(id, content.state != State::Signed);
    }

    /// Gives a note that was saved its columns, if they are there.
    pub fn adopt(&mut self, id: u32, state: State, inode: u64, first: u32, count: u32) -> bool {
        let Some(Some(note)) = self.notes.get_mut(id as usize) else { return false };
        if note.state != State::Unread || !self.columns.are_free(first, count) {
            return false;
        }
        self.columns.adopt(id, first, count);
        (note.state, note.inode, note.first, note.count) = (state, inode, first, count);
        self.unsigned.set(id, state != State::Signed);
        true
    }

    /// After all that was saved is adopted.
    pub fn adopted(&mut self) {
        self.columns.adopted();
    }

    /// Moves the notes of a block that is mostly dead elsewhere; whether there was one.
    pub fn compact(&mut self) -> bool {
        let Some(owners) = self.columns.wasteful() else { return false };
        for id in owners {
            let Some(Some(note)) = self.notes.get_mut(id as usize) else { continue };
            let columns = note.first..note.first + note.count;
            let signatures: Vec<_> = columns.map(|c| self.columns.signature(c)).collect();
            self.columns.remove(note.first, note.count);
            note.first = self.columns.add(id, &signatures);
        }
        true
    }

    /// Bytes of text held.
    pub fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Lets go of the texts of the oldest notes, until no more than `budget` bytes are held.
    pub fn shed(&mut self, budget: usize) {
        let Self { order, notes, text_bytes, .. } = self;
        for id in order.iter().rev() {
            if *text_bytes <= budget {
                break;
            }
            if let Some(Some(note)) = notes.get_mut(*id as usize)
                && let Some(text) = note.text.take()
            {
                *text_bytes -= text.len();
            }
        }
    }

    /// Up to `count` of the newest notes whose text is missing and has room in `budget`.
    pub fn missing_texts(&self, budget: usize, count: usize) -> Vec<(u32, VaultPath, Stamp)> {
        let mut room = budget;
        let mut missing = Vec::new();
        for (id, note) in self.notes() {
            if note.state == State::Signed {
                let size = usize::try_from(note.stamp.0).unwrap_or(usize::MAX);
                if room < size || missing.len() == count {
                    break;
                }
                room -= size;
                if note.text.is_none() {
                    missing.push((id, note.path.clone(), note.stamp));
                }
            }
        }
        missing
    }

    /// Keeps the text of a note that is known otherwise.
    pub fn keep_text(&mut self, id: u32, path: &VaultPath, stamp: Stamp, text: Arc<[u8]>) {
        let Some(Some(note)) = self.notes.get_mut(id as usize) else { return };
        let same = note.state == State::Signed && note.path == *path && note.stamp == stamp;
        if same && note.text.is_none() {
            self.text_bytes += text.len();
            note.text = Some(text);
        }
    }

    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    pub fn columns_mut(&mut self) -> &mut Columns {
        &mut self.columns
    }

    /// Bytes held beside columns and texts; the paths are the catalogue's.
    pub fn bytes(&self) -> usize {
        self.notes.capacity() * size_of::<Option<Note>>()
            + self.by_path.allocation_size()
            + (self.order.capacity() + self.unread.capacity() + self.free.capacity()) * 4
    }
}
