//! The rows of all files, as a few numbers each.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::NotRead;
use super::interned::{Run, Runs, Spellings, Values, small};
use super::reading::{self, Read};
use crate::bases::typed::{Assigned, Typed};
use crate::index::changes::Stamp;
use crate::index::synced::RecordTable;
use crate::note::fold::fold_key;
use crate::note::path::{PathRef, VaultPath};
use crate::note::tag;
use crate::vault::catalogue::tree_order;
use crate::vault::{PropertyTypes, Vault};

/// A property of a note: the numbers of its name and value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub name: u32,
    pub value: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Row {
    /// The root path in an unused row.
    pub path: VaultPath,
    pub stamp: Stamp,
    /// Milliseconds since 1970.
    pub created: i64,
    cells: Run,
    tags: Run,
    unsure: bool,
    pub fault: Option<NotRead>,
}

/// The rows of all files. Copied on write while a reader holds them.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
    free: Vec<u32>,
    /// Rows of existing files in the catalogue's order of paths.
    ordered: Vec<u32>,
    unsure: BTreeSet<u32>,
    faults: BTreeSet<u32>,
    pub names: Spellings,
    /// The number of notes with each property, by the number of its name.
    pub counts: Vec<u32>,
    pub values: Values,
    cells: Runs<Cell>,
    pub tag_names: Spellings,
    /// Sorted rows with each tag, by the number of the tag.
    tagged: Vec<Vec<u32>>,
    tags: Runs<u32>,
    types: Arc<PropertyTypes>,
}

impl Rows {
    pub fn row(&self, number: u32) -> &Row {
        &self.rows[number as usize]
    }

    /// Every file, by path.
    pub fn all(&self) -> &[u32] {
        &self.ordered
    }

    /// The row of the file at exactly this path.
    pub fn at(&self, path: &str) -> Option<u32> {
        self.place(path).ok().map(|at| self.ordered[at])
    }

    /// The files below a folder, by path.
    pub fn within(&self, folder: &VaultPath) -> &[u32] {
        if folder.is_root() {
            return &self.ordered;
        }
        let path = |row: &u32| &self.row(*row).path;
        let start = self
            .ordered
            .partition_point(|row| tree_order(path(row).as_str(), folder.as_str()).is_le());
        let below = &self.ordered[start..];
        &below[..below.partition_point(|row| path(row).is_within(folder))]
    }

    pub fn cells(&self, number: u32) -> &[Cell] {
        self.cells.get(self.row(number).cells)
    }

    /// The numbers of a file's tags, in their order.
    pub fn tags(&self, number: u32) -> &[u32] {
        self.tags.get(self.row(number).tags)
    }

    /// The rows that have the tag of this number, in order of the rows.
    pub fn tagged(&self, tag: u32) -> &[u32] {
        &self.tagged[tag as usize]
    }

    /// The notes whose properties could not be read.
    pub fn faults(&self) -> impl Iterator<Item = u32> {
        self.faults.iter().copied()
    }

    fn place(&self, path: &str) -> Result<usize, usize> {
        self.ordered.binary_search_by(|row| tree_order(self.row(*row).path.as_str(), path))
    }

    fn put(&mut self, path: VaultPath, read: Read) {
        self.take_out(&path);
        let number = self.free.pop().unwrap_or_else(|| small(self.rows.len()));
        let mut cells = Vec::with_capacity(read.properties.len());
        for (name, value) in &read.properties {
            let assigned = self.types.get(name).map(Assigned::named);
            let value = self.values.intern(Typed::of(value, assigned));
            let name = self.names.add(name, fold_key);
            cells.push(Cell { name, value });
        }
        self.counts.resize(self.names.len(), 0);
        cells.iter().for_each(|cell| self.counts[cell.name as usize] += 1);
        let tags: Vec<u32> =
            read.tags.iter().map(|name| self.tag_names.add(name, tag::key)).collect();
        self.tagged.resize(self.tag_names.len(), Vec::new());
        for tag in &tags {
            let rows = &mut self.tagged[*tag as usize];
            if let Err(at) = rows.binary_search(&number) {
                rows.insert(at, number);
            }
        }
        if read.unsure {
            self.unsure.insert(number);
        }
        if read.fault.is_some() {
            self.faults.insert(number);
        }
        let at = match self.ordered.last() {
            Some(last) if tree_order(self.row(*last).path.as_str(), path.as_str()).is_lt() => {
                self.ordered.len()
            }
            _ => self.place(path.as_str()).unwrap_or_else(|at| at),
        };
        self.ordered.insert(at, number);
        let row = Row {
            path,
            stamp: read.stamp,
            created: read.created,
            cells: self.cells.add(&cells),
            tags: self.tags.add(&tags),
            unsure: read.unsure,
            fault: read.fault,
        };
        match self.rows.get_mut(number as usize) {
            Some(place) => *place = row,
            None => self.rows.push(row),
        }
    }

    fn take_out(&mut self, path: &VaultPath) {
        let Ok(at) = self.place(path.as_str()) else { return };
        let number = self.ordered.remove(at);
        let gone = Row {
            path: VaultPath::root(),
            stamp: Stamp::default(),
            created: 0,
            cells: Run::default(),
            tags: Run::default(),
            unsure: false,
            fault: None,
        };
        let Row { cells, tags, .. } = std::mem::replace(&mut self.rows[number as usize], gone);
        for cell in self.cells.get(cells) {
            self.counts[cell.name as usize] -= 1;
            self.values.leave(cell.value);
        }
        for tag in self.tags.get(tags) {
            let rows = &mut self.tagged[*tag as usize];
            if let Ok(at) = rows.binary_search(&number) {
                rows.remove(at);
            }
        }
        self.cells.remove(cells);
        self.tags.remove(tags);
        if self.cells.is_fragmented() {
            self.cells.compact(self.rows.iter_mut().map(|row| &mut row.cells));
        }
        if self.tags.is_fragmented() {
            self.tags.compact(self.rows.iter_mut().map(|row| &mut row.tags));
        }
        self.unsure.remove(&number);
        self.faults.remove(&number);
        self.free.push(number);
    }

    /// Releases spare capacity.
    fn shrink_to_fit(&mut self) {
        self.rows.shrink_to_fit();
        self.ordered.shrink_to_fit();
        self.values.shrink_to_fit();
        self.cells.shrink_to_fit();
        self.tags.shrink_to_fit();
        self.tagged.iter_mut().for_each(Vec::shrink_to_fit);
    }

    fn memory(&self) -> usize {
        // A path has two reference counts.
        let paths = self.ordered.iter().map(|row| 16 + self.row(*row).path.as_str().len());
        self.rows.capacity() * size_of::<Row>()
            + paths.sum::<usize>()
            + (self.free.capacity() + self.ordered.capacity()) * size_of::<u32>()
            + self.names.memory()
            + self.values.memory()
            + self.cells.memory()
            + self.tag_names.memory()
            + self.tagged.iter().map(|rows| 24 + rows.capacity() * size_of::<u32>()).sum::<usize>()
            + self.tags.memory()
    }
}

#[derive(Default)]
pub(super) struct Table(Arc<Rows>);

impl Table {
    /// Creates empty rows with these types of properties.
    pub fn of(types: Arc<PropertyTypes>) -> Self {
        Self(Arc::new(Rows { types, ..Rows::default() }))
    }

    pub fn types(&self) -> &PropertyTypes {
        &self.0.types
    }

    /// The current rows for a reader.
    pub fn share(&self) -> Arc<Rows> {
        Arc::clone(&self.0)
    }

    /// Releases spare capacity after the first reading.
    pub fn shrink_to_fit(&mut self) {
        Arc::make_mut(&mut self.0).shrink_to_fit();
    }

    pub fn is_empty(&self) -> bool {
        self.0.ordered.is_empty()
    }

    pub fn memory(&self) -> usize {
        self.0.memory()
    }
}

impl RecordTable for Table {
    type Record = Row;
    type Read = Read;

    fn wants(_: PathRef<'_>) -> bool {
        true
    }

    fn read(vault: &Vault, path: &VaultPath, seen: Stamp) -> Option<Read> {
        reading::read(vault, path, seen)
    }

    fn stamp(row: &Row) -> (Stamp, bool) {
        (row.stamp, row.unsure)
    }

    fn get(&self, path: &VaultPath) -> Option<&Row> {
        self.0.at(path.as_str()).map(|number| self.0.row(number))
    }

    fn iter(&self) -> impl Iterator<Item = (&VaultPath, &Row)> {
        let rows = self.0.ordered.iter().map(|number| self.0.row(*number));
        rows.map(|row| (&row.path, row))
    }

    fn put(&mut self, path: VaultPath, read: Read) {
        Arc::make_mut(&mut self.0).put(path, read);
    }

    fn remove(&mut self, path: &VaultPath) {
        if self.0.at(path.as_str()).is_some() {
            Arc::make_mut(&mut self.0).take_out(path);
        }
    }

    fn unsure(&self) -> impl Iterator<Item = &VaultPath> {
        self.0.unsure.iter().map(|number| &self.0.row(*number).path)
    }
}
