//! Listing what a glob matches, with as few rows examined as possible.
//!
//! Literal leading components select a range of the tree; a fixed number of components selects a
//! depth; a literal ending is compared alone; a literal name is looked up, a literal
//! prefix compares four bytes; a literal substring is searched in all keys at once. Other globs are
//! matched row by row, in order of time. All matches are counted and the first are returned. Where
//! the number is known (all below a folder, all notes), the search stops after those.

use std::cmp::{Ordering, Reverse};
use std::ops::Range;

use memchr::memmem;

use super::name_prefix::NamePrefix;
use super::{Catalogue, Entry, GONE, NOTE_ENDING, key_range, tree_order};
use crate::note::glob::Glob;
use crate::note::path::{PathRef, VaultPath};
use crate::vault::dir::Kind;
use crate::vault::view::View;

/// Substrings shorter than this occur nearly everywhere and are not searched for.
const MIN_NEEDLE: usize = 3;

/// The filter of a listing.
#[derive(Debug, Clone, Copy)]
pub struct EntryQuery<'q> {
    /// As spelt on disk; itself excluded.
    pub folder: &'q VaultPath,
    /// Matched with the path below the folder.
    pub glob: &'q Glob,
    /// `None` for any.
    pub kind: Option<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Newest first.
    Modified,
    /// By path, a folder before its content.
    Name,
    /// Largest first, equal ones by path.
    Size,
}

/// The first matches, and the number of all.
#[derive(Debug, Clone)]
pub struct Listing<'c> {
    /// In order.
    pub first: Vec<Entry<'c>>,
    pub total: usize,
}

/// [`Catalogue::shallow`] visits at most this part of the rows in range; beyond it other ways are
/// faster.
const SHALLOW: usize = 8;

/// Comparing the prefixes of all names takes as long as examining this part of them one by one.
const FLAT: usize = 16;

struct Matches {
    /// All matching rows, or only the first if they are in order.
    rows: Vec<u32>,
    total: usize,
    /// Whether `rows` is in the requested order.
    in_order: bool,
}

impl Matches {
    fn all(rows: Vec<u32>, in_order: bool) -> Self {
        Self { total: rows.len(), rows, in_order }
    }

    /// Counts all of `rows`, which are in order, and keeps the first `limit`.
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
    /// The first `limit` matches, in order.
    pub(in crate::vault) fn list(
        &self,
        query: &EntryQuery<'_>,
        order: Order,
        limit: usize,
        view: &View,
    ) -> Listing<'_> {
        let Matches { mut rows, total, in_order } = self.matches(query, order, limit, view);
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

    fn matches(&self, query: &EntryQuery<'_>, order: Order, limit: usize, view: &View) -> Matches {
        let ranges = self.ranges(query);
        let span: usize = ranges.iter().map(Range::len).sum();
        let test = Test::new(self, query, view);
        let in_tree = || ranges.iter().flat_map(|range| &self.ordered[range.clone()]).copied();
        let known = self.known_total(query, span, view);
        if let (Some(total), Order::Modified | Order::Name) = (known, order) {
            // The total is known, so the search can stop early.
            let rows = match order {
                Order::Name => Some(in_tree().filter(|row| test.fits(*row)).take(limit).collect()),
                _ => self.newest(span, limit, &test),
            };
            if let Some(rows) = rows {
                return Matches { rows, total, in_order: true };
            }
        }
        if let Some(name) = query.glob.name() {
            let rows = self.rows_named(name);
            let rows = rows.filter(|row| test.is_in_folder(*row) && test.fits(*row));
            return Matches::all(rows.collect(), false);
        }
        if let Some(rows) = self.shallow(&ranges, span, &test) {
            return Matches::all(rows, order == Order::Name);
        }
        if span > self.rows.len() / FLAT
            && let Some(rows) = test.prefix.and_then(|query| self.rows_with_prefix(query))
        {
            let rows = rows.into_iter().filter(|row| test.is_in_folder(*row) && test.fits(*row));
            return Matches::all(rows.collect(), false);
        }
        let far = span > self.rows.len() / 2;
        if far
            && query.glob.ending().is_none()
            && let Some(rows) = self.rows_containing(query.glob.needle())
        {
            let rows = rows.into_iter().filter(|row| test.is_in_folder(*row) && test.fits(*row));
            return Matches::all(rows.collect(), false);
        }
        if far && order == Order::Modified {
            let rows = self.by_time.iter().rev().copied();
            let rows = rows.filter(|row| test.fits(*row) && test.is_in_folder(*row));
            return Matches::counted(rows, limit);
        }
        let rows = in_tree().filter(|row| test.fits(*row));
        match order {
            Order::Name => Matches::counted(rows, limit),
            Order::Modified | Order::Size => Matches::all(rows.collect(), false),
        }
    }

    /// The number of matches, if known beforehand; `span` rows are in range.
    fn known_total(&self, query: &EntryQuery<'_>, span: usize, view: &View) -> Option<usize> {
        if query.kind.is_some() || !view.is_all() {
            return None;
        }
        let all_notes = || query.folder.is_root() && query.glob.ending() == Some(NOTE_ENDING);
        if query.glob.is_all_below_prefix() {
            Some(span)
        } else {
            all_notes().then_some(self.note_keys)
        }
    }

    /// The newest `limit` matches among the newest `span` rows; `None` if these do not yield
    /// enough, so that examining the rows in range is cheaper.
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

    /// The matches in tree order, if the glob has one depth and few rows are at or above it: the
    /// content of folders at that depth is skipped.
    fn shallow(&self, ranges: &[Range<usize>], span: usize, test: &Test<'_>) -> Option<Vec<u32>> {
        // A row's depth saturates at the maximum.
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

    /// The ranges of the tree that can match.
    fn ranges(&self, query: &EntryQuery<'_>) -> Vec<Range<usize>> {
        let prefix = query.glob.prefix();
        if prefix.is_empty() {
            return vec![self.range(PathRef::from(query.folder))];
        }
        let key = if query.folder.is_root() {
            prefix
        } else {
            format!("{}/{prefix}", query.folder.fold_key())
        };
        // Several folders may differ in case alone.
        let folders = self
            .folded(&key)
            .into_iter()
            .filter(|entry| entry.kind == Kind::Folder && entry.path.is_within(query.folder));
        folders.map(|entry| self.range(entry.path)).collect()
    }

    /// The rows whose key contains `needle`, ascending; `None` if it is too short or too common to
    /// help.
    fn rows_containing(&self, needle: &str) -> Option<Vec<u32>> {
        if needle.len() < MIN_NEEDLE {
            return None;
        }
        let most = self.rows.len() / 16 + 64;
        let finder = memmem::Finder::new(needle);
        let mut rows: Vec<u32> = Vec::new();
        let (mut from, mut next) = (0, 0);
        while let Some(at) = finder.find(&self.keys.as_bytes()[next..]).map(|at| next + at) {
            // Keys are in row order.
            let later = leading(&self.rows[from..], |row| row.key_at as usize <= at);
            from += later - 1;
            let key = key_range(&self.rows, &self.keys, from as u32);
            if at + needle.len() > key.end {
                // It spans two keys; the second may still contain it, from the next byte on.
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

/// The partition point of `rows`, by exponential search: it is usually near the start.
fn leading<T>(rows: &[T], is_so: impl Fn(&T) -> bool) -> usize {
    let (mut from, mut step) = (0, 1);
    while from + step <= rows.len() && is_so(&rows[from + step - 1]) {
        from += step;
        step *= 2;
    }
    let end = rows.len().min(from + step);
    from + rows[from..end].partition_point(is_so)
}

/// The first `limit` rows by `key`, then by `compare`. Each key is read once, since rows are
/// scattered in memory.
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

/// Tests whether a row matches; everything but the row is prepared once.
struct Test<'t> {
    catalogue: &'t Catalogue,
    glob: &'t Glob,
    folder: &'t VaultPath,
    view: &'t View,
    kind: Option<Kind>,
    depth: Option<usize>,
    /// Offset in a key of the part below the folder.
    base: usize,
    prefix: Option<NamePrefix>,
    ending: Option<&'t str>,
}

impl<'t> Test<'t> {
    fn new(catalogue: &'t Catalogue, query: &EntryQuery<'t>, view: &'t View) -> Self {
        let folder = query.folder;
        let above = folder.components().count();
        Self {
            catalogue,
            glob: query.glob,
            folder,
            view,
            kind: query.kind,
            depth: query.glob.depth().map(|depth| above + depth),
            base: folder.fold_key().len() + usize::from(!folder.is_root()),
            prefix: NamePrefix::new(query.glob.name_beginning()),
            ending: query.glob.ending(),
        }
    }

    fn is_in_folder(&self, row: u32) -> bool {
        let below = || self.catalogue.entry_path(row).relative_to(self.folder);
        self.folder.is_root() || below().is_some_and(|below| !below.is_empty())
    }

    fn fits(&self, number: u32) -> bool {
        if let Some(prefix) = self.prefix
            && !prefix.allows(self.catalogue.name_prefixes[number as usize])
        {
            return false;
        }
        let row = self.catalogue.row(number);
        let fits = self.kind.is_none_or(|kind| row.kind() == kind)
            && self.depth.is_none_or(|depth| usize::from(row.depth) == depth)
            && match self.ending {
                Some(ending) => self.catalogue.key(number).ends_with(ending),
                None => {
                    let below = self.catalogue.key(number).get(self.base..);
                    below.is_some_and(|below| self.glob.matches(below))
                }
            };
        fits && (self.view.is_all() || self.view.shows(self.catalogue.entry_path(number)))
    }
}
