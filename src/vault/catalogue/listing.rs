//! What a glob means, in the order wanted: how few rows have to be looked at for it.
//!
//! A glob that begins with names asks only what lies below them, one with a fixed number of
//! components only rows of that depth, one that is an ending compares eight bytes a row. A name
//! without wildcards is looked up, and of one that begins without them four bytes are compared. A text
//! that every path must have is looked for in all keys at once. What is left runs over the rows,
//! which lie in the order of time. Counted is everything that fits; given is what was asked for. Where
//! the tree tells how many that are (all below a folder, all notes), only the first are looked for.

use std::cmp::{Ordering, Reverse};
use std::ops::Range;

use memchr::memmem;

use super::beginning::Beginning;
use super::{Catalogue, Entry, GONE, NOTE_ENDING, key_range, tree_order};
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

/// Rows of a small part of the tree are walked to wherever they are; of more than this part of all
/// that lies in question the other ways are the quicker ones.
const SHALLOW: usize = 8;

/// How the names of all rows begin is compared in the time that so small a part of them takes to be
/// looked at one by one.
const FLAT: usize = 16;

/// What was found of what is wanted.
struct Fitting {
    /// Rows that fit: all of them, or, where they came in the order wanted, the first ones.
    rows: Vec<u32>,
    /// How many fit.
    total: usize,
    /// Whether they stand in the order wanted.
    in_order: bool,
}

impl Fitting {
    /// All of them, in whatever order.
    fn all(rows: Vec<u32>, in_order: bool) -> Self {
        Self { total: rows.len(), rows, in_order }
    }

    /// The first `limit` of rows that come in the order wanted, all of them counted.
    fn counted(rows: impl Iterator<Item = u32>, limit: usize) -> Self {
        let (mut first, mut total) = (Vec::with_capacity(limit.min(1_024)), 0);
        for row in rows {
            if total < limit {
                first.push(row);
            }
            total += 1;
        }
        Self { rows: first, total, in_order: true }
    }
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
        let Fitting { mut rows, total, in_order } = self.fitting(wanted, order, limit, view);
        if !in_order {
            rows = match order {
                Order::Modified => {
                    let newest = |row: &u32| Reverse(self.row(*row).modified);
                    first(rows, limit, newest, |a, b| self.path(a).cmp(self.path(b)))
                }
                Order::Size => {
                    let largest = |row: &u32| Reverse(self.row(*row).size);
                    first(rows, limit, largest, |a, b| tree_order(self.path(a), self.path(b)))
                }
                Order::Name => {
                    first(rows, limit, |_| (), |a, b| tree_order(self.path(a), self.path(b)))
                }
            };
        }
        rows.truncate(limit);
        Listing { first: rows.into_iter().map(|row| self.entry(row)).collect(), total }
    }

    fn fitting(&self, wanted: &Wanted<'_>, order: Order, limit: usize, view: &View) -> Fitting {
        let ranges = self.ranges(wanted);
        let span: usize = ranges.iter().map(Range::len).sum();
        let test = Test::new(self, wanted, view);
        let in_tree = || ranges.iter().flat_map(|range| &self.ordered[range.clone()]).copied();
        let known = self.known_total(wanted, span, view);
        if let (Some(total), Order::Modified | Order::Name) = (known, order) {
            // How many there are need not be found out by looking at each.
            let rows = match order {
                Order::Name => Some(in_tree().filter(|row| test.fits(*row)).take(limit).collect()),
                _ => self.newest(span, limit, &test),
            };
            if let Some(rows) = rows {
                return Fitting { rows, total, in_order: true };
            }
        }
        if let Some(name) = wanted.glob.name() {
            let rows = self.rows_named(name);
            let rows = rows.filter(|row| test.is_in_folder(*row) && test.fits(*row));
            return Fitting::all(rows.collect(), false);
        }
        if let Some(rows) = self.shallow(&ranges, span, &test) {
            return Fitting::all(rows, order == Order::Name);
        }
        if span > self.rows.len() / FLAT
            && let Some(rows) = test.beginning.and_then(|wanted| self.beginning_so(wanted))
        {
            let rows = rows.into_iter().filter(|row| test.is_in_folder(*row) && test.fits(*row));
            return Fitting::all(rows.collect(), false);
        }
        let far = span > self.rows.len() / 2;
        if far
            && wanted.glob.ending().is_none()
            && let Some(rows) = self.holding(wanted.glob.needle())
        {
            let rows = rows.into_iter().filter(|row| test.is_in_folder(*row) && test.fits(*row));
            return Fitting::all(rows.collect(), false);
        }
        if far && order == Order::Modified {
            let rows = self.by_time.iter().rev().copied();
            let rows = rows.filter(|row| test.fits(*row) && test.is_in_folder(*row));
            return Fitting::counted(rows, limit);
        }
        let rows = in_tree().filter(|row| test.fits(*row));
        match order {
            Order::Name => Fitting::counted(rows, limit),
            Order::Modified | Order::Size => Fitting::all(rows.collect(), false),
        }
    }

    /// How many fit, where that is known beforehand; `span` lie where anything can.
    fn known_total(&self, wanted: &Wanted<'_>, span: usize, view: &View) -> Option<usize> {
        if wanted.kind.is_some() || !view.is_all() {
            return None;
        }
        let all_notes = || wanted.folder.is_root() && wanted.glob.ending() == Some(NOTE_ENDING);
        match wanted.glob.is_all_below_prefix() {
            true => Some(span),
            false => all_notes().then_some(self.like_notes),
        }
    }

    /// The first `limit` that fit by time, the newest first; `None` where so few of the newest do
    /// that it is the better way to compare the `span` that may.
    fn newest(&self, span: usize, limit: usize, test: &Test<'_>) -> Option<Vec<u32>> {
        let mut rows = Vec::with_capacity(limit.min(1_024));
        for row in self.by_time.iter().rev().take(span).copied() {
            if rows.len() == limit {
                break;
            }
            if test.fits(row) && test.is_in_folder(row) {
                rows.push(row);
            }
        }
        (rows.len() == limit || span == self.by_time.len()).then_some(rows)
    }

    /// The rows that fit in the order of the tree, where the glob speaks of one depth and little
    /// lies there or above: what lies deeper is passed over.
    fn shallow(&self, ranges: &[Range<usize>], span: usize, test: &Test<'_>) -> Option<Vec<u32>> {
        // What is deeper than a row can tell has the depth of the deepest it can.
        let depth = test.depth.filter(|depth| *depth < usize::from(u8::MAX))?;
        let mut steps = span / SHALLOW + 64;
        let mut rows = Vec::new();
        for range in ranges {
            let mut at = range.start;
            while at < range.end {
                steps = steps.checked_sub(1)?;
                let number = self.ordered[at];
                let row = self.row(number);
                at += 1;
                if usize::from(row.depth) < depth {
                    continue;
                }
                if test.fits(number) {
                    rows.push(number);
                }
                if row.kind() == Kind::Folder {
                    let folder = self.entry_path(number);
                    let below = &self.ordered[at..range.end];
                    at += leading(below, |row| self.entry_path(*row).is_within(folder));
                }
            }
        }
        Some(rows)
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
        let finder = memmem::Finder::new(needle);
        let mut rows: Vec<u32> = Vec::new();
        let (mut from, mut next) = (0, 0);
        while let Some(at) = finder.find(&self.keys.as_bytes()[next..]).map(|at| next + at) {
            // Keys lie in the order of the rows.
            let later = leading(&self.rows[from..], |row| row.key_at as usize <= at);
            from += later - 1;
            let key = key_range(&self.rows, &self.keys, from as u32);
            if at + needle.len() > key.end {
                // Lies over two keys; the second may hold it from within this place on.
                next = at + 1;
                continue;
            }
            if !self.rows[from].is(GONE) {
                rows.push(from as u32);
            }
            if rows.len() > most {
                return None;
            }
            next = key.end;
        }
        Some(rows)
    }
}

/// How many at the beginning of `rows` are so, all of which come before all that are not. Steps that
/// grow find it near the beginning without a look at what is far.
fn leading<T>(rows: &[T], is_so: impl Fn(&T) -> bool) -> usize {
    let (mut from, mut step) = (0, 1);
    while from + step <= rows.len() && is_so(&rows[from + step - 1]) {
        from += step;
        step *= 2;
    }
    let end = rows.len().min(from + step);
    from + rows[from..end].partition_point(is_so)
}

/// The first `limit` rows in order: by `key`, and by `compare` where that is equal. The key of each is
/// looked up once, since rows lie far from each other.
fn first<K: Ord + Copy>(
    rows: Vec<u32>,
    limit: usize,
    key: impl Fn(&u32) -> K,
    compare: impl Fn(u32, u32) -> Ordering,
) -> Vec<u32> {
    let mut keyed: Vec<(K, u32)> = rows.into_iter().map(|row| (key(&row), row)).collect();
    let before = |a: &(K, u32), b: &(K, u32)| a.0.cmp(&b.0).then_with(|| compare(a.1, b.1));
    if keyed.len() > limit {
        keyed.select_nth_unstable_by(limit, before);
        keyed.truncate(limit);
    }
    keyed.sort_unstable_by(before);
    keyed.into_iter().map(|(_, row)| row).collect()
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
    beginning: Option<Beginning>,
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
            beginning: Beginning::new(wanted.glob.name_beginning()),
            ending: wanted.glob.ending().map(Ending::new),
        }
    }

    fn is_in_folder(&self, row: u32) -> bool {
        let below = || self.catalogue.entry_path(row).relative_to(self.folder);
        self.folder.is_root() || below().is_some_and(|below| !below.is_empty())
    }

    fn fits(&self, number: u32) -> bool {
        if let Some(beginning) = self.beginning
            && !beginning.allows(self.catalogue.beginnings[number as usize])
        {
            return false;
        }
        let row = self.catalogue.row(number);
        let fits = self.kind.is_none_or(|kind| row.kind() == kind)
            && self.depth.is_none_or(|depth| usize::from(row.depth) == depth)
            && match &self.ending {
                Some(ending) => {
                    let Catalogue { rows, keys, .. } = self.catalogue;
                    ending.is_at(keys.as_bytes(), key_range(rows, keys, number))
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
