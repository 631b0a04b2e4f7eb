//! What a glob means, in the order wanted: how few rows have to be looked at for it.
//!
//! A glob that begins with names asks only what lies below them, one with a fixed number of
//! components only rows of that depth, one that is an ending compares eight bytes a row. A text
//! that every path must have is looked for in all keys at once. What is left runs over the rows,
//! which lie in the order of time. Counted is everything that fits; given is what was asked for.

use std::cmp::Reverse;
use std::ops::Range;

use memchr::memmem;

use super::{Catalogue, Entry, GONE, tree_order};
use crate::note::glob::Glob;
use crate::note::path::{PathRef, VaultPath};
use crate::vault::dir::Kind;
use crate::vault::view::View;

/// Texts shorter than this stand nearly everywhere and are not looked for beforehand.
const LEAST_NEEDLE: usize = 3;

/// What is to be listed.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'q> {
    /// Below this folder, as spelt on disk.
    pub folder: &'q VaultPath,
    /// Whose path below the folder this glob means.
    pub glob: &'q Glob,
    /// Of this kind; `None` for any.
    pub kind: Option<Kind>,
}

/// The order of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The last change first.
    Modified,
    /// By path, a folder before what is in it.
    Name,
    /// The largest first, equal ones by path.
    Size,
}

/// The beginning of what was found, and how much that was.
#[derive(Debug, Clone)]
pub struct Listing<'c> {
    /// The first entries, in order.
    pub first: Vec<Entry<'c>>,
    /// How many fit.
    pub total: usize,
}

/// In which order rows come out of a search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Newest first.
    Time,
    /// As in a tree.
    Tree,
    /// As they were laid.
    Laid,
}

impl Catalogue {
    /// The first `limit` of what is wanted, in order.
    pub(in crate::vault) fn list(
        &self,
        wanted: &Wanted<'_>,
        order: Order,
        limit: usize,
        view: &View,
    ) -> Listing<'_> {
        let (mut rows, source) = self.fitting(wanted, order, view);
        let total = rows.len();
        match (order, source) {
            (Order::Modified, Source::Time) | (Order::Name, Source::Tree) => {}
            (Order::Modified, _) => {
                first(&mut rows, limit, |a, b| self.age(*b).cmp(&self.age(*a)));
            }
            (Order::Name, _) => {
                first(&mut rows, limit, |a, b| tree_order(self.path(*a), self.path(*b)));
            }
            (Order::Size, _) => first(&mut rows, limit, |a, b| {
                let size = |row: &u32| Reverse(self.row(*row).size);
                let by_path = || tree_order(self.path(*a), self.path(*b));
                size(a).cmp(&size(b)).then_with(by_path)
            }),
        }
        rows.truncate(limit);
        Listing { first: rows.into_iter().map(|row| self.entry(row)).collect(), total }
    }

    /// Every row that is wanted, and the order they come in.
    fn fitting(&self, wanted: &Wanted<'_>, order: Order, view: &View) -> (Vec<u32>, Source) {
        let ranges = self.ranges(wanted);
        let span: usize = ranges.iter().map(Range::len).sum();
        let test = Test::new(self, wanted, view);
        let far = span > self.rows.len() / 2;
        if far
            && wanted.glob.ending().is_none()
            && let Some(rows) = self.holding(wanted.glob.needle())
        {
            let rows = rows.into_iter().filter(|row| test.is_in_folder(*row) && test.fits(*row));
            return (rows.collect(), Source::Laid);
        }
        if far && order == Order::Modified {
            let rows = self.by_time.iter().rev().copied();
            let rows = rows.filter(|row| test.fits(*row) && test.is_in_folder(*row));
            return (rows.collect(), Source::Time);
        }
        let rows = ranges.into_iter().flat_map(|range| &self.ordered[range]).copied();
        (rows.filter(|row| test.fits(*row)).collect(), Source::Tree)
    }

    /// Where in the tree all lies that can be meant.
    fn ranges(&self, wanted: &Wanted<'_>) -> Vec<Range<usize>> {
        let prefix = wanted.glob.prefix();
        if prefix.is_empty() {
            return vec![self.range(PathRef::from(wanted.folder))];
        }
        let key = match wanted.folder.is_root() {
            true => prefix,
            false => format!("{}/{prefix}", wanted.folder.fold_key()),
        };
        // Several folders may be spelt alike but for case.
        let folders = self
            .folded(&key)
            .into_iter()
            .filter(|entry| entry.kind == Kind::Folder && entry.path.is_within(wanted.folder));
        folders.map(|entry| self.range(entry.path)).collect()
    }

    /// The rows whose key holds `needle`, as they were laid; `None` if that says too little to be
    /// worth looking for.
    fn holding(&self, needle: &str) -> Option<Vec<u32>> {
        if needle.len() < LEAST_NEEDLE {
            return None;
        }
        let most = self.rows.len() / 16 + 64;
        let mut rows: Vec<u32> = Vec::new();
        let mut from = 0;
        for at in memmem::find_iter(self.keys.as_bytes(), needle.as_bytes()) {
            // Keys lie in the order of the rows.
            let later = self.rows[from..].partition_point(|row| row.key_at as usize <= at);
            let number = from + later - 1;
            let row = &self.rows[number];
            let is_inside = at + needle.len() <= row.key_at as usize + usize::from(row.key_bytes);
            if is_inside && !row.is(GONE) && rows.last() != Some(&(number as u32)) {
                rows.push(number as u32);
            }
            if rows.len() > most {
                return None;
            }
            from = number;
        }
        Some(rows)
    }
}

/// Puts the first `limit` rows in order before all others.
fn first(rows: &mut Vec<u32>, limit: usize, compare: impl Fn(&u32, &u32) -> std::cmp::Ordering) {
    if rows.len() > limit {
        rows.select_nth_unstable_by(limit, &compare);
        rows.truncate(limit);
    }
    rows.sort_unstable_by(compare);
}

/// All that decides whether one row is wanted, worked out once.
struct Test<'t> {
    catalogue: &'t Catalogue,
    glob: &'t Glob,
    folder: &'t VaultPath,
    view: &'t View,
    kind: Option<Kind>,
    depth: Option<usize>,
    /// Where the part of a key begins that the glob is asked about.
    base: usize,
    ending: Option<Ending<'t>>,
}

impl<'t> Test<'t> {
    fn new(catalogue: &'t Catalogue, wanted: &Wanted<'t>, view: &'t View) -> Self {
        let folder = wanted.folder;
        let above = folder.components().count();
        Self {
            catalogue,
            glob: wanted.glob,
            folder,
            view,
            kind: wanted.kind,
            depth: wanted.glob.depth().map(|depth| above + depth),
            base: folder.fold_key().len() + usize::from(!folder.is_root()),
            ending: wanted.glob.ending().map(Ending::new),
        }
    }

    fn is_in_folder(&self, row: u32) -> bool {
        let below = || self.catalogue.entry_path(row).relative_to(self.folder);
        self.folder.is_root() || below().is_some_and(|below| !below.is_empty())
    }

    fn fits(&self, number: u32) -> bool {
        let row = self.catalogue.row(number);
        let fits = self.kind.is_none_or(|kind| row.kind() == kind)
            && self.depth.is_none_or(|depth| usize::from(row.depth) == depth)
            && match &self.ending {
                Some(ending) => {
                    let end = row.key_at as usize + usize::from(row.key_bytes);
                    ending.is_at(self.catalogue.keys.as_bytes(), row.key_at as usize..end)
                }
                None => {
                    let below = self.catalogue.key(number).get(self.base..);
                    below.is_some_and(|below| self.glob.matches(below))
                }
            };
        fits && (self.view.is_all() || self.view.shows(self.catalogue.entry_path(number)))
    }
}

/// The last bytes of a text, compared at once where they are few.
struct Ending<'t> {
    text: &'t [u8],
    /// The text as the upper bytes of a number, where it has one to eight.
    number: Option<(u64, u32)>,
}

impl<'t> Ending<'t> {
    fn new(text: &'t str) -> Self {
        let text = text.as_bytes();
        let number = (1..=8).contains(&text.len()).then(|| {
            let mut bytes = [0; 8];
            bytes[8 - text.len()..].copy_from_slice(text);
            let shift = 8 * (8 - text.len() as u32);
            (u64::from_le_bytes(bytes) >> shift, shift)
        });
        Self { text, number }
    }

    /// Whether the part `key` of `keys` ends so.
    fn is_at(&self, keys: &[u8], key: Range<usize>) -> bool {
        if key.len() < self.text.len() {
            return false;
        }
        match self.number {
            // What stands before a short key is somebody else's, and shifted away.
            Some((wanted, shift)) if key.end >= 8 => {
                let last: [u8; 8] = keys[key.end - 8..key.end].try_into().expect("eight bytes");
                u64::from_le_bytes(last) >> shift == wanted
            }
            _ => self.text.is_empty() || keys[key].ends_with(self.text),
        }
    }
}
