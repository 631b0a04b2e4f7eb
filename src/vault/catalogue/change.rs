//! Updating the catalogue.

use std::hash::BuildHasher;

use rayon::prelude::*;

use super::build::marks;
use super::{
    Catalogue, GONE, KIND, Kind, MOVING, NewEntry, PathRef, UNNAMEABLE, VaultPath, key_range, last,
    tree_order,
};
use crate::vault::dir::Meta;
use crate::vault::threads::on_own_threads;

/// Up to this many edits are inserted into the orders one by one; more are merged in one pass.
const FEW: usize = 16;

/// How a scan differs from the catalogue, both lists in tree order.
#[derive(Debug, Default)]
pub(in crate::vault) struct Difference {
    /// New or changed entries, as scanned.
    pub put: Vec<NewEntry>,
    /// Removed entries, as they were known.
    pub gone: Vec<NewEntry>,
}

impl Difference {
    /// The same as edits, removals first.
    pub fn edits(self) -> Vec<Edit> {
        let gone = self.gone.into_iter().map(|entry| Edit::Remove(entry.path));
        gone.chain(self.put.into_iter().map(Edit::Put)).collect()
    }
}

#[derive(Debug)]
pub(in crate::vault) enum Edit {
    /// Adds or replaces the entry at its path.
    Put(NewEntry),
    /// Removes the entry at this path and all below it.
    Remove(VaultPath),
}

impl Catalogue {
    /// The row with this path and fold key, if `found` equals it. Never the row of a link, since
    /// its target is not part of `found`.
    pub(in crate::vault) fn unchanged_row(
        &self,
        (path, key): (&str, &str),
        found: &Meta,
    ) -> Option<u32> {
        let number = self.row_with_key(key, path)?;
        let row = self.row(number);
        let size = if found.kind == Kind::Folder { 0 } else { found.size };
        let same = row.kind() == found.kind
            && found.kind != Kind::Link
            && !row.is(UNNAMEABLE)
            && (row.modified, row.change_mark) == (found.modified, found.change_mark())
            && (row.size, row.inode) == (size, found.id.inode)
            && self.devices[usize::from(row.device)] == found.id.device;
        same.then_some(number)
    }

    /// Compares the result of a scan: `found` entries and `unchanged` rows.
    pub(in crate::vault) fn difference(
        &self,
        unchanged: &[u32],
        found: Vec<NewEntry>,
    ) -> Difference {
        let compare = |entry: NewEntry| match self.row_with_key(entry.key(), entry.path.as_str()) {
            Some(row) if self.entry(row).is(&entry) => (Some(row), None),
            row => (row, Some(entry)),
        };
        let compared: Vec<(Option<u32>, Option<NewEntry>)> =
            on_own_threads(|| found.into_par_iter().map(compare).collect());
        let mut there = vec![false; self.rows.len()];
        unchanged.iter().for_each(|row| there[*row as usize] = true);
        let mut put = Vec::new();
        for (row, entry) in compared {
            if let Some(row) = row {
                there[row as usize] = true;
            }
            put.extend(entry);
        }
        put.sort_by(|a, b| tree_order(a.path.as_str(), b.path.as_str()));
        let gone = self.ordered.iter().filter(|row| !there[**row as usize]);
        Difference { put, gone: gone.map(|row| self.entry(*row).to_new()).collect() }
    }

    /// Applies the edits in order; returns the removed entries, including those below a removed
    /// folder.
    pub(in crate::vault) fn apply(&mut self, edits: Vec<Edit>) -> Vec<NewEntry> {
        let mut removed = Vec::new();
        let mut pending = Pending::default();
        let few = edits.len() <= FEW;
        for edit in edits {
            match edit {
                Edit::Put(entry) => self.put(&entry, few, &mut pending),
                Edit::Remove(path) => self.remove(&path, few, &mut pending, &mut removed),
            }
        }
        self.merge_pending(&mut pending);
        self.compact_if_worthwhile();
        removed
    }

    fn put(&mut self, entry: &NewEntry, few: bool, pending: &mut Pending) {
        match self.row_at(entry.path.as_str()) {
            Some(row) => {
                let moves = self.row(row).modified != entry.modified;
                if moves && few {
                    self.leave_time(row);
                }
                self.change(row, entry);
                match (moves, few) {
                    (true, true) => self.join_time(row),
                    (true, false) => pending.moved.push(row),
                    (false, _) => {}
                }
            }
            None => {
                let row = self.add(entry);
                if few {
                    self.join_time(row);
                    self.join_order(row);
                } else {
                    pending.added.push(row);
                }
            }
        }
    }

    /// Removes everything below `path`, then the entry itself.
    fn remove(
        &mut self,
        path: &VaultPath,
        few: bool,
        pending: &mut Pending,
        removed: &mut Vec<NewEntry>,
    ) {
        let here = self.row_at(path.as_str());
        if !pending.added.is_empty() && here.is_none_or(|row| self.row(row).kind() == Kind::Folder)
        {
            // The folder's content is looked up in `ordered`.
            self.merge_pending(pending);
        }
        let below = self.ordered[self.range(PathRef::from(path))].iter().copied();
        let mut rows: Vec<u32> = below.filter(|row| !self.row(*row).is(GONE)).collect();
        rows.extend(here);
        let few = few && rows.len() <= FEW;
        for row in rows {
            removed.push(self.entry(row).to_new());
            if few {
                self.leave_time(row);
                self.leave_order(row);
            } else {
                pending.gone = true;
            }
            self.unhash(row);
        }
    }

    /// Marks a row as gone and removes it from everything but the two orders.
    fn unhash(&mut self, row: u32) {
        self.note_name(row);
        let key = self.key(row);
        let hashes = (self.hash(key), self.hash(last(key)));
        for (table, hash) in [(&mut self.by_key, hashes.0), (&mut self.by_name, hashes.1)] {
            if let Ok(found) = table.find_entry(hash, |other| *other == row) {
                found.remove();
            }
        }
        self.count(row, false);
        self.targets.remove(&row);
        self.rows[row as usize].marks |= GONE;
        self.gone += 1;
    }

    fn leave_time(&mut self, row: u32) {
        let at = self.time_slot(row);
        debug_assert_eq!(self.by_time[at], row, "the order is by time");
        self.by_time.remove(at);
    }

    fn leave_order(&mut self, row: u32) {
        let at = self.tree_slot(row);
        debug_assert_eq!(self.ordered[at], row, "the order is by path");
        self.ordered.remove(at);
    }

    fn join_time(&mut self, row: u32) {
        let at = self.time_slot(row);
        self.by_time.insert(at, row);
    }

    fn join_order(&mut self, row: u32) {
        let at = self.tree_slot(row);
        self.ordered.insert(at, row);
    }

    fn time_slot(&self, row: u32) -> usize {
        let age = self.age(row);
        // Nearly always the newest of all.
        if self.by_time.last().is_none_or(|other| self.age(*other) < age) {
            self.by_time.len()
        } else {
            self.by_time.partition_point(|other| self.age(*other) < age)
        }
    }

    fn tree_slot(&self, row: u32) -> usize {
        let path = self.path(row);
        self.ordered.partition_point(|other| tree_order(self.path(*other), path).is_lt())
    }

    /// Updates the two orders in one pass.
    fn merge_pending(&mut self, pending: &mut Pending) {
        let Pending { added, mut moved, gone } = std::mem::take(pending);
        if gone {
            self.ordered.retain(|row| !self.rows[*row as usize].is(GONE));
        }
        if gone || !added.is_empty() || !moved.is_empty() {
            for row in &moved {
                self.rows[*row as usize].marks |= MOVING;
            }
            self.by_time.retain(|row| !self.rows[*row as usize].is(GONE | MOVING));
        }
        let mut added: Vec<u32> =
            added.into_iter().filter(|row| !self.row(*row).is(GONE)).collect();
        added.sort_unstable_by(|a, b| tree_order(self.path(*a), self.path(*b)));
        if !added.is_empty() {
            let before = |a: &u32, b: &u32| tree_order(self.path(*a), self.path(*b)).is_lt();
            self.ordered = merged(&self.ordered, &added, before);
        }
        moved.extend(added);
        moved.sort_unstable();
        moved.dedup();
        moved.retain(|row| !self.row(*row).is(GONE));
        for row in &moved {
            self.rows[*row as usize].marks &= !MOVING;
        }
        if moved.is_empty() {
            return;
        }
        moved.sort_unstable_by(|a, b| self.age(*a).cmp(&self.age(*b)));
        self.by_time = merged(&self.by_time, &moved, |a, b| self.age(*a) < self.age(*b));
    }

    /// Adds a row for a new path. The caller inserts it into the two orders.
    fn add(&mut self, entry: &NewEntry) -> u32 {
        let row = self.append(entry);
        self.note_name(row);
        let hashes = (self.hash(self.key(row)), self.hash(last(self.key(row))));
        let Self { rows, keys, hasher, by_key, by_name, .. } = self;
        let key = |row: &u32| &keys[key_range(rows, keys, *row)];
        by_key.insert_unique(hashes.0, row, |row| hasher.hash_one(key(row)));
        by_name.insert_unique(hashes.1, row, |row| hasher.hash_one(last(key(row))));
        row
    }

    /// Updates a row from an entry with the same path.
    fn change(&mut self, row: u32, entry: &NewEntry) {
        self.count(row, false);
        if (self.row(row).marks ^ marks(entry)) & (KIND | UNNAMEABLE) != 0 {
            self.note_name(row);
        }
        let device = self.device(entry.id.device);
        let changed = &mut self.rows[row as usize];
        changed.modified = entry.modified;
        changed.change_mark = entry.change_mark;
        changed.size = entry.size;
        changed.inode = entry.id.inode;
        changed.device = device;
        changed.marks = marks(entry);
        match &entry.target {
            Some(target) => self.targets.insert(row, target.clone()),
            None => self.targets.remove(&row),
        };
        self.count(row, true);
    }
}

/// Changes that are not yet in the two orders.
#[derive(Default)]
struct Pending {
    /// New rows, in neither order.
    added: Vec<u32>,
    /// Rows whose time changed.
    moved: Vec<u32>,
    /// Whether an order still holds removed rows.
    gone: bool,
}

/// Merges two sorted lists.
fn merged(old: &[u32], new: &[u32], before: impl Fn(&u32, &u32) -> bool) -> Vec<u32> {
    let mut all = Vec::with_capacity(old.len() + new.len());
    let mut from = 0;
    for one in new {
        let to = from + old[from..].partition_point(|other| before(other, one));
        all.extend_from_slice(&old[from..to]);
        all.push(*one);
        from = to;
    }
    all.extend_from_slice(&old[from..]);
    all
}
