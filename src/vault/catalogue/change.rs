//! Keeping the catalogue true: what comes, changes and goes.

use std::hash::BuildHasher;

use rayon::prelude::*;

use super::laying::marks;
use super::{
    Catalogue, GONE, Kind, MOVING, NewEntry, PathRef, UNNAMEABLE, VaultPath, key_range, last,
    tree_order,
};
use crate::vault::dir::Meta;
use crate::vault::threads::on_own_threads;

/// Up to so many changes are put in their places one by one; more are merged in one go.
const FEW: usize = 16;

/// What is otherwise than the catalogue has it, both in the order of the tree.
#[derive(Debug, Default)]
pub(in crate::vault) struct Difference {
    /// What is new or has changed, as it is now.
    pub put: Vec<NewEntry>,
    /// What is not there any more, as it was.
    pub gone: Vec<NewEntry>,
}

impl Difference {
    /// The same as edits: first what is gone.
    pub fn edits(self) -> Vec<Edit> {
        let gone = self.gone.into_iter().map(|entry| Edit::Remove(entry.path));
        gone.chain(self.put.into_iter().map(Edit::Put)).collect()
    }
}

/// One thing that is otherwise than the catalogue has it.
#[derive(Debug)]
pub(in crate::vault) enum Edit {
    /// This is there now.
    Put(NewEntry),
    /// Nothing is at this path, and nothing below it.
    Remove(VaultPath),
}

impl Catalogue {
    /// The row of what was found, by its path and the path's fold key, if all that is known of it is
    /// just so. Never of a link: what it leads to is not told here.
    pub(in crate::vault) fn row_of_same(
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

    /// What a scan has found otherwise than it stands here. `met` are the rows of what it has found
    /// besides, just as it stands here.
    pub(in crate::vault) fn difference(&self, met: &[u32], found: Vec<NewEntry>) -> Difference {
        let look = |entry: NewEntry| match self.row_with_key(entry.key(), entry.path.as_str()) {
            Some(row) if self.entry(row).is(&entry) => (Some(row), None),
            row => (row, Some(entry)),
        };
        let looks: Vec<(Option<u32>, Option<NewEntry>)> =
            on_own_threads(|| found.into_par_iter().map(look).collect());
        let mut there = vec![false; self.rows.len()];
        met.iter().for_each(|row| there[*row as usize] = true);
        let mut put = Vec::new();
        for (row, entry) in looks {
            if let Some(row) = row {
                there[row as usize] = true;
            }
            put.extend(entry);
        }
        put.sort_by(|a, b| tree_order(a.path.as_str(), b.path.as_str()));
        let gone = self.ordered.iter().filter(|row| !there[**row as usize]);
        Difference { put, gone: gone.map(|row| self.entry(*row).to_new()).collect() }
    }

    /// Takes in what has come, changed and gone, in this order; gives what was taken out, with what
    /// was below it.
    pub(in crate::vault) fn apply(&mut self, edits: Vec<Edit>) -> Vec<NewEntry> {
        let mut taken = Vec::new();
        let mut waiting = Waiting::default();
        let few = edits.len() <= FEW;
        for edit in edits {
            match edit {
                Edit::Put(entry) => self.put(&entry, few, &mut waiting),
                Edit::Remove(path) => self.take_out(&path, few, &mut waiting, &mut taken),
            }
        }
        self.settle(&mut waiting);
        self.lay_anew_if_worth_it();
        taken
    }

    fn put(&mut self, entry: &NewEntry, few: bool, waiting: &mut Waiting) {
        match self.row_at(entry.path.as_str()) {
            Some(row) => {
                let moves = self.row(row).modified != entry.modified;
                if moves && few {
                    self.leave_time(row);
                }
                self.change(row, entry);
                match (moves, few) {
                    (true, true) => self.join_time(row),
                    (true, false) => waiting.moved.push(row),
                    (false, _) => {}
                }
            }
            None => {
                let row = self.add(entry);
                if few {
                    self.join_time(row);
                    self.join_order(row);
                } else {
                    waiting.placed.push(row);
                }
            }
        }
    }

    /// Takes what is at `path` out, with all below it; the thing itself comes last.
    fn take_out(
        &mut self,
        path: &VaultPath,
        few: bool,
        waiting: &mut Waiting,
        taken: &mut Vec<NewEntry>,
    ) {
        let here = self.row_at(path.as_str());
        if !waiting.placed.is_empty() && here.is_none_or(|row| self.row(row).kind() == Kind::Folder)
        {
            // What lies below a folder is found in the order.
            self.settle(waiting);
        }
        let below = self.ordered[self.range(PathRef::from(path))].iter().copied();
        let mut rows: Vec<u32> = below.filter(|row| !self.row(*row).is(GONE)).collect();
        rows.extend(here);
        let few = few && rows.len() <= FEW;
        for row in rows {
            taken.push(self.entry(row).to_new());
            if few {
                self.leave_time(row);
                self.leave_order(row);
            } else {
                waiting.gone = true;
            }
            self.unhash(row);
        }
    }

    /// Takes a row out of all but the two orders.
    fn unhash(&mut self, row: u32) {
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
        let age = self.age(row);
        let at = self.by_time.partition_point(|other| self.age(*other) < age);
        debug_assert_eq!(self.by_time[at], row, "the order is by time");
        self.by_time.remove(at);
    }

    fn leave_order(&mut self, row: u32) {
        let path = self.path(row);
        let at = self.ordered.partition_point(|other| tree_order(self.path(*other), path).is_lt());
        debug_assert_eq!(self.ordered[at], row, "the order is by path");
        self.ordered.remove(at);
    }

    fn join_time(&mut self, row: u32) {
        let age = self.age(row);
        // Nearly always the newest of all.
        let newest = self.by_time.last().is_none_or(|other| self.age(*other) < age);
        let at = match newest {
            true => self.by_time.len(),
            false => self.by_time.partition_point(|other| self.age(*other) < age),
        };
        self.by_time.insert(at, row);
    }

    fn join_order(&mut self, row: u32) {
        let path = self.path(row);
        let at = self.ordered.partition_point(|other| tree_order(self.path(*other), path).is_lt());
        self.ordered.insert(at, row);
    }

    /// Brings the two orders up to date in one go.
    fn settle(&mut self, waiting: &mut Waiting) {
        let Waiting { placed, mut moved, gone } = std::mem::take(waiting);
        if gone {
            self.ordered.retain(|row| !self.rows[*row as usize].is(GONE));
        }
        if gone || !placed.is_empty() || !moved.is_empty() {
            for row in &moved {
                self.rows[*row as usize].marks |= MOVING;
            }
            self.by_time.retain(|row| !self.rows[*row as usize].is(GONE | MOVING));
        }
        let mut placed: Vec<u32> =
            placed.into_iter().filter(|row| !self.row(*row).is(GONE)).collect();
        placed.sort_unstable_by(|a, b| tree_order(self.path(*a), self.path(*b)));
        if !placed.is_empty() {
            let before = |a: &u32, b: &u32| tree_order(self.path(*a), self.path(*b)).is_lt();
            self.ordered = merged(&self.ordered, &placed, before);
        }
        moved.extend(placed);
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

    /// Adds a row for an entry whose path has none; its places in the two orders are the caller's
    /// business.
    fn add(&mut self, entry: &NewEntry) -> u32 {
        let row = self.lay(entry);
        let hashes = (self.hash(self.key(row)), self.hash(last(self.key(row))));
        let Self { rows, keys, hasher, by_key, by_name, .. } = self;
        let key = |row: &u32| &keys[key_range(rows, keys, *row)];
        by_key.insert_unique(hashes.0, row, |row| hasher.hash_one(key(row)));
        by_name.insert_unique(hashes.1, row, |row| hasher.hash_one(last(key(row))));
        row
    }

    /// Gives a row the state of an entry of the same path.
    fn change(&mut self, row: u32, entry: &NewEntry) {
        self.count(row, false);
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

/// Rows that do not stand in the orders as they should, while many changes are taken in.
#[derive(Default)]
struct Waiting {
    /// New ones, in neither order.
    placed: Vec<u32>,
    /// Those with another time.
    moved: Vec<u32>,
    /// Whether any is gone and still stands in them.
    gone: bool,
}

/// Two lists in order as one.
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
