//! The state of each note in the index: its columns, its cached text, and its position in results.
//!
//! The table follows the catalogue. A note that has changed is unread from then on: searches read its file
//! until its new text is signed, so the table is never wrong, only behind.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::columns::Columns;
use super::notes::{Note, NoteState, Notes};
use super::plan::Plan;
use super::signature::Signature;
use crate::index::changes::{Changed, Stamp};
use crate::note::path::{PathRef, VaultPath};

/// Up to this many changes are sorted in one by one; for more, everything is sorted again.
const FEW: usize = 64;

pub(super) struct Content {
    pub stamp: Stamp,
    pub identity: u64,
    pub state: NoteState,
    pub signatures: Vec<Signature>,
    pub text: Option<Arc<[u8]>>,
}

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
        if to { self.0[at] |= 1 << (id % 64) } else { self.0[at] &= !(1 << (id % 64)) }
    }
}

/// See the module's documentation. Ids of removed notes are not reused while a search may hold them.
#[derive(Default)]
pub(super) struct Table {
    notes: Notes,
    free: Vec<u32>,
    by_path: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// Newest first. Searches hold the `Arc` while they run.
    order: Arc<Vec<u32>>,
    /// Notes without a signature.
    unsigned: Bits,
    /// Notes to read, the most wanted last; some may have been read since.
    unread: Vec<u32>,
    /// Notes that are being read and have not changed since. Size and time alone do not tell: another
    /// note with the same may have taken the path.
    being_read: HashSet<u32>,
    columns: Columns,
}

impl Table {
    /// Sets the saved columns, before any note has some.
    pub fn set_columns(&mut self, columns: Columns) {
        self.columns = columns;
    }

    /// All notes, newest first.
    pub fn order(&self) -> Arc<Vec<u32>> {
        Arc::clone(&self.order)
    }

    pub fn note(&self, id: u32) -> Option<Note<'_>> {
        self.notes.get(id)
    }

    pub fn find<'p>(&self, path: impl Into<PathRef<'p>>) -> Option<u32> {
        let path = path.into();
        let same = |id: &u32| self.note(*id).is_some_and(|note| note.path == path);
        self.by_path.find(self.hasher.hash_one(path.as_str()), same).copied()
    }

    pub fn notes(&self) -> impl Iterator<Item = (u32, Note<'_>)> {
        self.order.iter().filter_map(|id| Some((*id, self.note(*id)?)))
    }

    /// The notes among these that may match. Skips ids of other files: they are so large that their bits would take a
    /// quarter of a gigabyte.
    pub fn allowed(&self, plan: &Plan, ids: &[u32]) -> Bits {
        let mut ask = self.columns.ask(plan);
        let mut bits = Bits(vec![0; self.notes.numbers().div_ceil(64) as usize]);
        for id in ids.iter().filter(|id| **id < self.notes.numbers()) {
            let allowed = match self.note(*id) {
                Some(Note { state: NoteState::Signed, first, count, .. }) => ask(first, count),
                _ => true,
            };
            if allowed {
                bits.set(*id, true);
            }
        }
        bits
    }

    /// Which of all notes may match.
    pub fn all_allowed(&self, plan: &Plan) -> Bits {
        let mut bits = self.unsigned.clone();
        self.columns.select(plan, |owner| bits.set(owner, true));
        bits
    }

    /// Applies changes of notes. `searching`: whether a search may hold ids.
    pub fn apply(&mut self, changes: Vec<Changed>, searching: bool) {
        let few = changes.len() <= FEW;
        for Changed { path, stamp, .. } in changes {
            let known = self.find(&path);
            match (known, stamp) {
                (None, None) => {}
                (Some(id), None) => self.remove(id, few),
                (Some(id), Some(stamp)) => self.change(id, stamp, few),
                (None, Some(stamp)) => self.insert(path.borrowed(), stamp, few, searching),
            }
        }
        if !few {
            self.sort();
        }
    }

    /// Adds notes, newest first, all unread.
    pub fn fill<'p>(&mut self, notes: impl ExactSizeIterator<Item = (PathRef<'p>, Stamp)> + Clone) {
        let count = notes.len();
        let bytes = notes.clone().map(|(path, _)| path.as_str().len()).sum();
        self.notes.reserve(count, bytes);
        self.unread.reserve_exact(count);
        // A hash table that grows rehashes every path.
        let Self { notes: known, by_path, hasher, .. } = &mut *self;
        let path = |id: &u32| known.get(*id).map_or("", |note| note.path.as_str());
        by_path.reserve(count, |id| hasher.hash_one(path(id)));
        for (path, stamp) in notes {
            self.insert(path, stamp, false, true);
        }
        // They are read from the end: newest first.
        self.unread.reverse();
        self.sort();
    }

    fn insert(&mut self, path: PathRef<'_>, stamp: Stamp, place: bool, searching: bool) {
        let hash = self.hasher.hash_one(path.as_str());
        let reused = if searching { None } else { self.free.pop() };
        let id = self.notes.add(reused, path.as_str(), stamp);
        let Self { notes, hasher, .. } = self;
        let path = |id: &u32| notes.get(*id).map_or("", |note| note.path.as_str());
        self.by_path.insert_unique(hash, id, |id| hasher.hash_one(path(id)));
        self.unsigned.set(id, true);
        self.unread.push(id);
        if place {
            self.put_in_order(id);
        }
    }

    fn change(&mut self, id: u32, stamp: Stamp, place: bool) {
        if place {
            self.take_from_order(id);
        }
        self.forget_text(id);
        self.notes.set_stamp(id, stamp);
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
        let Some(note) = self.notes.get(id) else { return };
        let hash = self.hasher.hash_one(note.path.as_str());
        if let Ok(entry) = self.by_path.find_entry(hash, |other| *other == id) {
            entry.remove();
        }
        self.notes.remove(id);
        self.unsigned.set(id, false);
        self.free.push(id);
    }

    /// Makes a note unread.
    fn forget_text(&mut self, id: u32) {
        let Some(note) = self.notes.get(id) else { return };
        self.being_read.remove(&id);
        self.columns.remove(note.first, note.count);
        self.notes.set_state(id, NoteState::Unread, note.identity, 0, 0);
        self.notes.drop_text(id);
        self.unsigned.set(id, true);
    }

    fn position(&self, id: u32) -> usize {
        let note = self.note(id);
        let recency = note.as_ref().map(Note::recency);
        self.order.partition_point(|other| {
            let other = self.note(*other);
            other.as_ref().map(Note::recency) < recency
        })
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
        let mut order = Vec::with_capacity(self.by_path.len());
        order.extend((0..self.notes.numbers()).filter(|id| self.note(*id).is_some()));
        // They are almost sorted.
        order.sort_by(|a, b| {
            let (a, b) = (self.note(*a), self.note(*b));
            a.as_ref().map(Note::recency).cmp(&b.as_ref().map(Note::recency))
        });
        self.order = Arc::new(order);
    }

    /// Takes up to `count` notes to read, with their stamps.
    pub fn next_unread(&mut self, count: usize) -> Vec<(u32, VaultPath, Stamp)> {
        let mut next = Vec::new();
        while next.len() < count {
            let Some(id) = self.unread.pop() else {
                // Free its memory: it was as long as the vault.
                self.unread = Vec::new();
                break;
            };
            if let Some(note) = self.note(id).filter(|note| note.state == NoteState::Unread) {
                next.push((id, note.path.to_path(), note.stamp));
                self.being_read.insert(id);
            }
        }
        next
    }

    pub fn read_later(&mut self, id: u32) {
        self.unread.push(id);
    }

    /// Stores the result of reading a note, unless the note has changed since.
    pub fn read(&mut self, id: u32, path: &VaultPath, content: Content) {
        let Some(note) = self.note(id) else { return };
        if note.state != NoteState::Unread || note.path != *path || note.stamp != content.stamp {
            return;
        }
        if !self.being_read.remove(&id) {
            return;
        }
        let count = u16::try_from(content.signatures.len()).expect("what is signed is small");
        let first = self.columns.add(id, &content.signatures);
        self.notes.set_state(id, content.state, content.identity, first, count);
        if let Some(text) = content.text {
            self.notes.keep_text(id, text);
        }
        self.unsigned.set(id, content.state != NoteState::Signed);
    }

    /// Restores the saved columns of a note. Returns `false` if they are not there.
    pub fn adopt(
        &mut self,
        id: u32,
        state: NoteState,
        identity: u64,
        first: u32,
        count: u32,
    ) -> bool {
        let unread = self.note(id).is_some_and(|note| note.state == NoteState::Unread);
        let Some(pieces) = u16::try_from(count).ok().filter(|_| unread) else { return false };
        if !self.columns.are_free(first, count) {
            return false;
        }
        self.columns.adopt(id, first, count);
        self.notes.set_state(id, state, identity, first, pieces);
        self.unsigned.set(id, state != NoteState::Signed);
        true
    }

    /// Call it after the last [`Self::adopt`].
    pub fn adopted(&mut self) {
        self.columns.adopted();
    }

    /// Makes the notes of a mostly unused block unread, which empties it. Returns whether there was one.
    /// Columns cannot be moved, since some bits are shared by many.
    pub fn compact(&mut self) -> bool {
        let Some(owners) = self.columns.wasteful() else { return false };
        for id in owners {
            self.forget_text(id);
            self.unread.push(id);
        }
        true
    }

    pub fn text_bytes(&self) -> usize {
        self.notes.text_bytes()
    }

    /// Drops the texts of the oldest notes until at most `budget` bytes are cached.
    pub fn evict_texts(&mut self, budget: usize) {
        let Self { order, notes, .. } = self;
        for id in order.iter().rev() {
            if notes.text_bytes() <= budget {
                break;
            }
            notes.drop_text(*id);
        }
    }

    /// Up to `count` of the newest notes whose text is not cached and fits into `budget`.
    pub fn missing_texts(&self, budget: usize, count: usize) -> Vec<(u32, VaultPath, Stamp)> {
        let mut room = budget;
        let mut missing = Vec::new();
        for (id, note) in self.notes() {
            if note.state == NoteState::Signed {
                let size = usize::try_from(note.stamp.0).unwrap_or(usize::MAX);
                if room < size || missing.len() == count {
                    break;
                }
                room -= size;
                if note.text.is_none() {
                    missing.push((id, note.path.to_path(), note.stamp));
                }
            }
        }
        missing
    }

    /// Caches the text of a signed note.
    pub fn keep_text(&mut self, id: u32, path: &VaultPath, stamp: Stamp, text: Arc<[u8]>) {
        let Some(note) = self.note(id) else { return };
        let same = note.state == NoteState::Signed && note.path == *path && note.stamp == stamp;
        if same && note.text.is_none() {
            self.notes.keep_text(id, text);
        }
    }

    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    pub fn columns_mut(&mut self) -> &mut Columns {
        &mut self.columns
    }

    /// Bytes of all paths, at most.
    pub fn path_bytes(&self) -> usize {
        self.notes.path_bytes()
    }

    /// Memory use without columns and texts, in bytes.
    pub fn bytes(&self) -> usize {
        self.notes.bytes()
            + self.unsigned.0.capacity() * size_of::<u64>()
            + self.by_path.allocation_size()
            + (self.order.capacity() + self.unread.capacity() + self.free.capacity()) * 4
    }
}

#[cfg(test)]
mod tests {
    use super::super::strings;
    use super::*;

    #[test]
    fn ids_of_other_files_take_no_room() {
        let plan = strings::plan_of(&regex_syntax::parse("needle").expect("a pattern"));
        let bits = Table::default().allowed(&plan, &[0, 1 << 31, u32::MAX]);
        assert!(bits.0.is_empty());
    }
}
