//! Building the catalogue, with rows in order of modification time.

use rayon::prelude::*;

use super::{
    Catalogue, Counts, Kind, NOTE_ENDING, NameHistory, NewEntry, Row, UNNAMEABLE, last,
    name_prefix, tree_order,
};
use crate::vault::threads::on_own_threads;

/// Fewer gaps than this are not worth a rebuild.
const MIN_GAPS: usize = 1_024;

impl Catalogue {
    /// Builds from `entries`; of two with the same path the later one wins.
    pub(in crate::vault) fn build(mut entries: Vec<NewEntry>) -> Self {
        // A stable sort: of two with the same path the later one stays last.
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
        let mut by_time: Vec<u32> = (0..as_u32(entries.len())).collect();
        on_own_threads(|| {
            by_time.par_sort_unstable_by(|a, b| {
                let (a, b) = (&entries[*a as usize], &entries[*b as usize]);
                a.modified.cmp(&b.modified).then_with(|| b.path.cmp(&a.path))
            });
        });
        let mut catalogue = Self::default();
        catalogue.rows.reserve_exact(entries.len());
        catalogue.name_prefixes.reserve_exact(entries.len());
        catalogue.keys.reserve_exact(entries.iter().map(|entry| entry.key().len()).sum());
        let spelt = entries.iter().filter(|entry| entry.key.is_some());
        catalogue.paths.reserve_exact(spelt.map(|entry| entry.path.as_str().len()).sum());
        let mut row_of = vec![0; entries.len()];
        for place in &by_time {
            row_of[*place as usize] = catalogue.append(&entries[*place as usize]);
        }
        catalogue.by_time = (0..as_u32(entries.len())).collect();
        catalogue.ordered = row_of;
        catalogue.built = entries.len();
        catalogue.hash_all();
        catalogue
    }

    pub(super) fn hash_all(&mut self) {
        self.names = NameHistory::new();
        let hashes: Vec<(u64, u64)> = (0..as_u32(self.rows.len()))
            .map(|row| (self.hash(self.key(row)), self.hash(last(self.key(row)))))
            .collect();
        let of = |row: &u32| hashes[*row as usize];
        self.by_key.reserve(hashes.len(), |row| of(row).0);
        self.by_name.reserve(hashes.len(), |row| of(row).1);
        for (row, (key, name)) in hashes.iter().enumerate() {
            self.by_key.insert_unique(*key, as_u32(row), |row| of(row).0);
            self.by_name.insert_unique(*name, as_u32(row), |row| of(row).1);
        }
    }

    pub(super) fn append(&mut self, entry: &NewEntry) -> u32 {
        let number = as_u32(self.rows.len());
        let key_at = as_u32(self.keys.len());
        let path_at = as_u32(self.paths.len());
        self.keys.push_str(entry.key());
        if entry.key.is_some() {
            self.paths.push_str(entry.path.as_str());
        }
        self.name_prefixes.push(name_prefix(entry.key()));
        let device = self.device(entry.id.device);
        self.rows.push(Row {
            modified: entry.modified,
            change_mark: entry.change_mark,
            size: entry.size,
            inode: entry.id.inode,
            key_at,
            path_at,
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

    pub(super) fn device(&mut self, device: u64) -> u16 {
        let known = self.devices.iter().position(|known| *known == device);
        let place = known.unwrap_or_else(|| {
            self.devices.push(device);
            self.devices.len() - 1
        });
        u16::try_from(place).expect("a vault lies on fewer than 65,536 devices")
    }

    /// Rebuilds everything if a quarter of the rows are gaps, or half were added since the last
    /// build.
    pub(super) fn compact_if_worthwhile(&mut self) {
        let came = self.rows.len() - self.built;
        if (self.gone > MIN_GAPS && self.gone * 4 > self.rows.len())
            || (came > MIN_GAPS && came * 2 > self.rows.len())
        {
            let entries = self.ordered.iter().map(|row| self.entry(*row).to_new()).collect();
            *self = Self::build(entries);
        }
    }

    pub(super) fn count(&mut self, row: u32, add: bool) {
        let (kind, unnameable) = (self.row(row).kind(), self.row(row).is(UNNAMEABLE));
        let is_note = self.entry_path(row).is_note();
        count(&mut self.counts, kind, unnameable, is_note, add);
        if self.key(row).ends_with(NOTE_ENDING) {
            step(&mut self.note_keys, add);
        }
    }
}

fn step(number: &mut usize, add: bool) {
    if add { *number += 1 } else { *number -= 1 }
}

pub(super) fn marks(entry: &NewEntry) -> u8 {
    let kind = match entry.kind {
        Kind::File => 0,
        Kind::Folder => 1,
        Kind::Link => 2,
        Kind::Other => 3,
    };
    kind | if entry.unnameable { UNNAMEABLE } else { 0 }
}

pub(super) fn count(counts: &mut Counts, kind: Kind, unnameable: bool, is_note: bool, add: bool) {
    let step = |number: &mut usize| step(number, add);
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

pub(super) fn as_u32(number: usize) -> u32 {
    u32::try_from(number).expect("the paths of a vault take less than 4 GB")
}
