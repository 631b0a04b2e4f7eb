//! Keeping the catalogue true: laying it, and what comes, changes and goes.

use std::hash::BuildHasher;

use rayon::prelude::*;

use super::{
    AS_KEY, Catalogue, Counts, GONE, Kind, MOVING, NewEntry, PathRef, Row, UNNAMEABLE, VaultPath,
    last, tree_order,
};

/// Up to so many changes are put in their places one by one; more are merged in one go.
const FEW: usize = 16;

/// Fewer gaps than this are not worth laying everything anew.
const LEAST_GAPS: usize = 1_024;

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
    /// A catalogue of `entries`. Of two with one path the later counts.
    pub(in crate::vault) fn build(mut entries: Vec<NewEntry>) -> Self {
        // Stable, so that of two with one path the later one stays the later one.
        entries.sort_by(|a, b| tree_order(a.path.as_str(), b.path.as_str()));
        let mut number = 0;
        let later: Vec<bool> = entries
            .iter()
            .zip(entries.iter().skip(1).map(Some).chain([None]))
            .map(|(entry, next)| next.is_some_and(|next| next.path == entry.path))
            .collect();
        entries.retain(|_| {
            number += 1;
            !later[number - 1]
        });
        // Rows lie in the order of time: what is listed first is what was changed last.
        let mut by_time: Vec<u32> = (0..small(entries.len())).collect();
        by_time.par_sort_unstable_by(|a, b| {
            let (a, b) = (&entries[*a as usize], &entries[*b as usize]);
            a.modified.cmp(&b.modified).then_with(|| b.path.cmp(&a.path))
        });
        let mut catalogue = Self::default();
        catalogue.rows.reserve_exact(entries.len());
        catalogue.keys.reserve_exact(entries.iter().map(|entry| entry.key().len()).sum());
        let spelt = entries.iter().filter(|entry| entry.key.is_some());
        catalogue.paths.reserve_exact(spelt.map(|entry| entry.path.as_str().len()).sum());
        let mut row_of = vec![0; entries.len()];
        for place in &by_time {
            row_of[*place as usize] = catalogue.lay(&entries[*place as usize]);
        }
        catalogue.by_time = (0..small(entries.len())).collect();
        catalogue.ordered = row_of;
        catalogue.laid = entries.len();
        catalogue.hash_all();
        catalogue
    }

    pub(super) fn hash_all(&mut self) {
        let hashes: Vec<(u64, u64)> = (0..small(self.rows.len()))
            .map(|row| (self.hash(self.key(row)), self.hash(last(self.key(row)))))
            .collect();
        let of = |row: &u32| hashes[*row as usize];
        self.by_key.reserve(hashes.len(), |row| of(row).0);
        self.by_name.reserve(hashes.len(), |row| of(row).1);
        for (row, (key, name)) in hashes.iter().enumerate() {
            self.by_key.insert_unique(*key, small(row), |row| of(row).0);
            self.by_name.insert_unique(*name, small(row), |row| of(row).1);
        }
    }

    /// What a scan has found otherwise than it stands here.
    pub(in crate::vault) fn difference(&self, found: Vec<NewEntry>) -> Difference {
        let look = |entry: NewEntry| match self.row_with_key(entry.key(), entry.path.as_str()) {
            Some(row) if self.entry(row).is(&entry) => (Some(row), None),
            row => (row, Some(entry)),
        };
        let looks: Vec<(Option<u32>, Option<NewEntry>)> = found.into_par_iter().map(look).collect();
        let mut met = vec![false; self.rows.len()];
        let mut put = Vec::new();
        for (row, entry) in looks {
            if let Some(row) = row {
                met[row as usize] = true;
            }
            put.extend(entry);
        }
        put.sort_by(|a, b| tree_order(a.path.as_str(), b.path.as_str()));
        let gone = self.ordered.iter().filter(|row| !met[**row as usize]);
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
        let key = |row: &u32| {
            let row = &rows[*row as usize];
            let start = row.key_at as usize;
            &keys[start..start + usize::from(row.key_bytes)]
        };
        by_key.insert_unique(hashes.0, row, |row| hasher.hash_one(key(row)));
        by_name.insert_unique(hashes.1, row, |row| hasher.hash_one(last(key(row))));
        row
    }

    /// Lays texts and row of an entry behind all others.
    fn lay(&mut self, entry: &NewEntry) -> u32 {
        let number = small(self.rows.len());
        let key_at = small(self.keys.len());
        self.keys.push_str(entry.key());
        let path = entry.path.as_str();
        let path_at = match &entry.key {
            None => AS_KEY,
            Some(_) => {
                let at = small(self.paths.len());
                self.paths.push_str(path);
                at
            }
        };
        let device = self.device(entry.id.device);
        self.rows.push(Row {
            modified: entry.modified,
            size: entry.size,
            inode: entry.id.inode,
            key_at,
            path_at,
            key_bytes: short(entry.key().len()),
            path_bytes: short(path.len()),
            device,
            depth: u8::try_from(entry.path.components().count()).unwrap_or(u8::MAX),
            marks: marks(entry),
        });
        if let Some(target) = &entry.target {
            self.targets.insert(number, target.clone());
        }
        self.count(number, true);
        number
    }

    /// Gives a row the state of an entry of the same path.
    fn change(&mut self, row: u32, entry: &NewEntry) {
        self.count(row, false);
        let device = self.device(entry.id.device);
        let changed = &mut self.rows[row as usize];
        changed.modified = entry.modified;
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

    fn device(&mut self, device: u64) -> u16 {
        let known = self.devices.iter().position(|known| *known == device);
        let place = known.unwrap_or_else(|| {
            self.devices.push(device);
            self.devices.len() - 1
        });
        u16::try_from(place).expect("a vault lies on fewer than 65,536 devices")
    }

    /// Lays everything anew where gaps are a quarter of it, or half of it has come since.
    fn lay_anew_if_worth_it(&mut self) {
        let came = self.rows.len() - self.laid;
        if (self.gone > LEAST_GAPS && self.gone * 4 > self.rows.len())
            || (came > LEAST_GAPS && came * 2 > self.rows.len())
        {
            let entries = self.ordered.iter().map(|row| self.entry(*row).to_new()).collect();
            *self = Self::build(entries);
        }
    }

    pub(super) fn count(&mut self, row: u32, add: bool) {
        let (kind, unnameable) = (self.row(row).kind(), self.row(row).is(UNNAMEABLE));
        let is_note = self.entry_path(row).is_note();
        count(&mut self.counts, kind, unnameable, is_note, add);
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

fn marks(entry: &NewEntry) -> u8 {
    let kind = match entry.kind {
        Kind::File => 0,
        Kind::Folder => 1,
        Kind::Link => 2,
        Kind::Other => 3,
    };
    kind | if entry.unnameable { UNNAMEABLE } else { 0 }
}

fn count(counts: &mut Counts, kind: Kind, unnameable: bool, is_note: bool, add: bool) {
    let step = |number: &mut usize| if add { *number += 1 } else { *number -= 1 };
    if unnameable {
        return step(&mut counts.unusable);
    }
    match kind {
        Kind::File => {
            step(&mut counts.files);
            if is_note {
                step(&mut counts.notes);
            }
        }
        Kind::Folder => step(&mut counts.folders),
        Kind::Link => step(&mut counts.links),
        Kind::Other => step(&mut counts.unusable),
    }
}

pub(super) fn small(number: usize) -> u32 {
    u32::try_from(number).expect("the paths of a vault take less than 4 GB")
}

fn short(bytes: usize) -> u16 {
    u16::try_from(bytes).expect("a listed path is at most 65 names of 255 bytes, folded threefold")
}
