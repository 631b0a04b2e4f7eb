//! A snapshot of the vault in a caller's view: the source of Bases.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use chrono::DateTime;

use super::Gaps;
use super::rows::{Row, Rows};
use crate::bases::date::Times;
use crate::bases::source::{Column, Hint, Source, is_directly_in};
use crate::bases::value::{FileId, Link, Object, Text, Value};
use crate::index::knowledge::{Knowledge, Likeness};
use crate::index::links::{Form, Links, StoredLink, VisibleLinks};
use crate::note::fold::fold_key;
use crate::note::link::LinkKind;
use crate::note::path::VaultPath;
use crate::note::text::Text as Decoded;
use crate::note::{frontmatter, tag};
use crate::vault::catalogue::tree_order;
use crate::vault::{Cancel, Vault, View};

/// Marks the column of a name that no note spells this way: each note returns its own first
/// spelling.
const ANY_SPELLING: u32 = 1 << 31;

/// The most cached resolutions of linkpaths, since many notes use the same.
const MAX_RESOLVED: usize = 100_000;

/// A snapshot of the vault. It reveals nothing about files outside the caller's view: no rows, no
/// links to them, and no counts of their properties and tags.
///
/// Rows, properties and tags are fixed. Links are updated at the first access, so that a query
/// without links never waits for them, and resolved with the catalogue at that time.
pub struct VaultSnapshot<'a> {
    rows: Arc<Rows>,
    vault: &'a Vault,
    links: &'a Links,
    knowledge: Knowledge,
    cancel: &'a Cancel,
    /// The zone of local times; `None`: UTC.
    times: Option<&'a Times<'a>>,
    /// Whether the link graph was updated.
    fresh_links: OnceCell<bool>,
    resolved: RefCell<HashMap<Box<str>, Option<FileId>>>,
    /// Cache: the last requested tag, and the numbers of it and its nested tags.
    cached_tag: RefCell<Option<(String, Arc<[bool]>)>>,
    /// Cache: the last file whose backlinks were requested, and the backlinks.
    cached_target: RefCell<Option<(FileId, HashSet<FileId>)>>,
    /// Cache: the last text that notes were compared with, and its meaning.
    cached_meaning: RefCell<Option<(String, Option<Likeness>)>>,
    cancel_checks: Cell<u32>,
    /// Whether the caller cancelled, so that answers are invalid.
    is_cancelled: Cell<bool>,
    /// The number of visible files with each property, by the number of its name.
    counts: OnceCell<Vec<u32>>,
}

impl<'a> VaultSnapshot<'a> {
    pub(super) fn new(
        rows: Arc<Rows>,
        vault: &'a Vault,
        links: &'a Links,
        knowledge: Knowledge,
        cancel: &'a Cancel,
    ) -> Self {
        Self {
            rows,
            vault,
            links,
            knowledge,
            cancel,
            times: None,
            fresh_links: OnceCell::new(),
            resolved: RefCell::default(),
            cached_tag: RefCell::default(),
            cached_target: RefCell::default(),
            cached_meaning: RefCell::default(),
            cancel_checks: Cell::new(0),
            is_cancelled: Cell::new(false),
            counts: OnceCell::new(),
        }
    }

    /// The same with dates in a time zone.
    pub fn in_zone(self, times: &'a Times<'a>) -> Self {
        Self { times: Some(times), ..self }
    }

    /// Converts a local time, in milliseconds as if it were UTC, to milliseconds since 1970.
    fn instant(&self, local: i64) -> i64 {
        let written = DateTime::from_timestamp_millis(local).unwrap_or_default().naive_utc();
        self.times.map_or(local, |times| times.millis(written))
    }

    /// The notes whose properties could not be read; `None` if there are none.
    pub fn gaps(&self) -> Option<Gaps> {
        let seen = |number: &u32| self.view().shows(&self.rows.row(*number).path);
        let unknown = self.rows.faults().filter(seen).map(|number| self.rows.row(number));
        let (mut count, mut first): (usize, Option<&Row>) = (0, None);
        for row in unknown {
            count += 1;
            let is_before =
                |other: &Row| tree_order(row.path.as_str(), other.path.as_str()).is_lt();
            if first.is_none_or(is_before) {
                first = Some(row);
            }
        }
        let first = first.and_then(|row| Some((row.path.clone(), row.fault?)))?;
        Some(Gaps { count, first })
    }

    pub fn file(&self, path: &VaultPath) -> Option<FileId> {
        self.at(path.as_str())
    }

    fn view(&self) -> &View {
        self.vault.view()
    }

    fn row(&self, file: FileId) -> &Row {
        self.rows.row(file.0)
    }

    fn shown<'r>(&'r self, rows: &'r [u32]) -> impl Iterator<Item = FileId> + 'r {
        let view = self.view();
        let rows = rows.iter().copied();
        rows.filter(move |row| view.is_all() || view.shows(&self.rows.row(*row).path)).map(FileId)
    }

    /// The link graph, updated at the first access.
    fn seen(&self) -> Option<VisibleLinks<'_>> {
        let is_fresh = *self.fresh_links.get_or_init(|| {
            let is_fresh = self.links.refresh(self.cancel).is_ok();
            if !is_fresh {
                self.is_cancelled.set(true);
            }
            is_fresh
        });
        is_fresh.then(|| self.links.in_view(self.view()))
    }

    fn links_of(&self, file: FileId, wanted: impl Fn(&StoredLink) -> bool) -> Vec<Arc<Link>> {
        let Some(seen) = self.seen() else { return Vec::new() };
        let link = |kept: StoredLink| {
            Arc::new(Link {
                target: kept.target().into(),
                display: kept.display().map(Into::into),
                from: Some(file),
                is_external: false,
            })
        };
        seen.kept_of(&self.row(file).path, wanted).into_iter().map(link).collect()
    }

    /// The numbers of the tag `name` and the tags nested below it.
    fn tags_like(&self, name: &str) -> Arc<[bool]> {
        if let Some((asked, found)) = &*self.cached_tag.borrow()
            && asked == name
        {
            return Arc::clone(found);
        }
        let wanted = tag::key(name.strip_prefix('#').unwrap_or(name));
        let groups: Vec<u32> = self
            .rows
            .tag_names
            .keys()
            .filter(|(key, _)| {
                let below = key.strip_prefix(&*wanted);
                !wanted.is_empty()
                    && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
            .map(|(_, number)| number)
            .collect();
        let names = 0..self.rows.tag_names.len();
        let found: Arc<[bool]> = names
            .map(|number| groups.contains(&self.rows.tag_names.group(number as u32)))
            .collect();
        *self.cached_tag.borrow_mut() = Some((name.to_owned(), Arc::clone(&found)));
        found
    }

    /// The files that have a tag, or one nested below it.
    pub fn tagged(&self, name: &str) -> Vec<FileId> {
        let like = self.tags_like(name);
        let numbers =
            (0..).zip(like.iter()).filter(|(_, is_like)| **is_like).map(|(number, _)| number);
        let mut rows: Vec<u32> =
            numbers.flat_map(|number: u32| self.rows.tagged(number)).copied().collect();
        rows.sort_unstable();
        rows.dedup();
        self.shown(&rows).collect()
    }

    /// The files in a folder and below it; none if there is no such folder.
    pub fn within(&self, folder: &str) -> Vec<FileId> {
        let folder = VaultPath::from_disk(folder.trim_matches('/'));
        folder.map(|folder| self.shown(self.rows.within(&folder)).collect()).unwrap_or_default()
    }

    /// The files with exactly this extension.
    fn ending(&self, extension: &str) -> Vec<FileId> {
        let has = |file: &FileId| {
            let path = &self.row(*file).path;
            // The last letters exclude most files.
            path.as_str().ends_with(extension) && path.extension().unwrap_or_default() == extension
        };
        self.shown(self.rows.all()).filter(has).collect()
    }

    fn resolve_uncached(&self, linkpath: &str, from: &VaultPath) -> (Option<FileId>, bool) {
        let seen = self.links.in_view(self.view());
        let found = seen.resolve(from, linkpath);
        let is_sole = found.others.is_empty();
        (found.target.and_then(|path| self.at(path.as_str())), is_sole)
    }

    fn counts(&self) -> &[u32] {
        if self.view().is_all() {
            return &self.rows.counts;
        }
        self.counts.get_or_init(|| {
            let mut counts = vec![0; self.rows.names.len()];
            for file in self.files() {
                self.rows.cells(file.0).iter().for_each(|cell| counts[cell.name as usize] += 1);
            }
            counts
        })
    }
}

impl Source for VaultSnapshot<'_> {
    fn files(&self) -> Box<dyn Iterator<Item = FileId> + '_> {
        Box::new(self.shown(self.rows.all()))
    }

    fn narrow(&self, hint: &Hint) -> Option<Vec<FileId>> {
        Some(match hint {
            Hint::InFolder(folder) => self.within(folder),
            Hint::HasTag(name) => self.tagged(name),
            Hint::Extension(extension) => self.ending(extension),
            Hint::All(hints) => {
                hints.iter().filter_map(|hint| self.narrow(hint)).min_by_key(Vec::len)?
            }
            Hint::Any(hints) => {
                let found: Option<Vec<_>> = hints.iter().map(|hint| self.narrow(hint)).collect();
                let mut all = found?.concat();
                all.sort_unstable();
                all.dedup();
                all
            }
        })
    }

    fn is_cancelled(&self) -> bool {
        // This may read the clock.
        let asked = self.cancel_checks.get();
        self.cancel_checks.set(asked.wrapping_add(1));
        if asked.is_multiple_of(64) && self.cancel.is_cancelled() {
            self.is_cancelled.set(true);
        }
        self.is_cancelled.get()
    }

    fn path(&self, file: FileId) -> Text {
        self.row(file).path.shared()
    }

    fn is_directly_in(&self, file: FileId, folder: &str) -> bool {
        is_directly_in(self.row(file).path.as_str(), folder)
    }

    fn size(&self, file: FileId) -> u64 {
        self.row(file).stamp.0
    }

    fn created(&self, file: FileId) -> i64 {
        self.row(file).created
    }

    fn modified(&self, file: FileId) -> i64 {
        self.row(file).stamp.1.div_euclid(1_000_000)
    }

    fn column(&self, name: &str) -> Option<Column> {
        let names = &self.rows.names;
        let exact = names.number(name);
        let group = names.group(exact.or_else(|| names.first(&fold_key(name)))?);
        // A spelling counts only if the caller may see a note with it.
        let mut like = (0..).zip(self.counts()).filter(|(other, _)| names.group(*other) == group);
        like.any(|(_, count)| *count > 0).then(|| Column(exact.unwrap_or(group | ANY_SPELLING)))
    }

    fn property(&self, file: FileId, column: Column) -> Value {
        let cells = self.rows.cells(file.0);
        let exact = cells.iter().find(|cell| cell.name == column.0);
        let cell = exact.or_else(|| {
            let group = self.rows.names.group(column.0 & !ANY_SPELLING);
            cells.iter().find(|cell| self.rows.names.group(cell.name) == group)
        });
        cell.map_or(Value::Null, |cell| {
            self.rows.values.get(cell.value).value(file, &|local| self.instant(local))
        })
    }

    fn properties(&self, file: FileId) -> Arc<Object> {
        let cells = self.rows.cells(file.0).iter();
        let entry = |cell: &super::rows::Cell| {
            let value = self.rows.values.get(cell.value).value(file, &|local| self.instant(local));
            (Arc::clone(self.rows.names.text(cell.name)), value)
        };
        Arc::new(Object(cells.map(entry).collect()))
    }

    fn property_counts(&self) -> Vec<(Text, usize)> {
        let counts = (0..).zip(self.counts()).filter(|(_, count)| **count > 0);
        let mut named: Vec<(Text, usize)> = counts
            .map(|(name, count)| (Arc::clone(self.rows.names.text(name)), *count as usize))
            .collect();
        named.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        named
    }

    fn tags(&self, file: FileId) -> Vec<Text> {
        let numbers = self.rows.tags(file.0).iter();
        numbers.map(|number| Arc::clone(self.rows.tag_names.text(*number))).collect()
    }

    fn tag_names(&self) -> BTreeSet<Text> {
        let names = 0..self.rows.tag_names.len() as u32;
        let is_seen = |number: &u32| self.shown(self.rows.tagged(*number)).next().is_some();
        let seen = names.filter(is_seen);
        seen.map(|number| Arc::clone(self.rows.tag_names.text(number))).collect()
    }

    fn has_tag(&self, file: FileId, tag: &str) -> bool {
        let own = self.rows.tags(file.0);
        if own.is_empty() {
            return false;
        }
        let like = self.tags_like(tag);
        own.iter().any(|number| like[*number as usize])
    }

    fn links(&self, file: FileId) -> Vec<Arc<Link>> {
        self.links_of(file, |_| true)
    }

    fn embeds(&self, file: FileId) -> Vec<Arc<Link>> {
        self.links_of(file, |kept| {
            matches!(kept.form, Form::Link(LinkKind::Embed | LinkKind::Image))
        })
    }

    fn backlinks(&self, file: FileId) -> Vec<FileId> {
        let Some(seen) = self.seen() else { return Vec::new() };
        let sources = seen.sources_of(&self.row(file).path).into_iter();
        let mut sources: Vec<FileId> =
            sources.filter_map(|source| self.at(source.as_str())).collect();
        // They are sorted by path.
        sources.sort_by_key(|source| self.created(*source));
        sources
    }

    fn links_to(&self, file: FileId, to: FileId) -> bool {
        let mut asked = self.cached_target.borrow_mut();
        if asked.as_ref().is_none_or(|(target, _)| *target != to) {
            *asked = Some((to, self.backlinks(to).into_iter().collect()));
        }
        asked.as_ref().is_some_and(|(_, sources)| sources.contains(&file))
    }

    fn resolve(&self, linkpath: &str, from: Option<FileId>) -> Option<FileId> {
        let linkpath = linkpath.split('#').next().unwrap_or_default();
        let root = VaultPath::root();
        let source = from.map_or(&root, |file| &self.row(file).path);
        if linkpath.is_empty() {
            return from;
        }
        if let Some(known) = self.resolved.borrow().get(linkpath) {
            return *known;
        }
        let (found, is_sole) = self.resolve_uncached(linkpath, source);
        // A unique name means the same file from everywhere.
        let mut resolved = self.resolved.borrow_mut();
        if is_sole && !linkpath.starts_with('.') && resolved.len() < MAX_RESOLVED {
            resolved.insert(linkpath.into(), found);
        }
        found
    }

    fn at(&self, path: &str) -> Option<FileId> {
        let number = self.rows.at(path)?;
        self.view().shows(&self.rows.row(number).path).then_some(FileId(number))
    }

    fn text(&self, file: FileId) -> Option<Text> {
        let path = &self.row(file).path;
        if !path.is_note() {
            return None;
        }
        let content = self.vault.read(path).ok()?;
        let text = Decoded::decode(&content.bytes, path.name()).ok()?;
        let body = text.body();
        let start = body.len() - body.trim_start_matches('\u{feff}').len();
        let end = frontmatter::find(body, start).map_or(start, |found| found.range.end);
        Some(body[end..].into())
    }

    fn similarity(&self, file: FileId, text: &str) -> Result<f64, String> {
        let mut asked = self.cached_meaning.borrow_mut();
        if asked.as_ref().is_none_or(|(asked, _)| asked != text) {
            *asked = Some((text.to_owned(), self.knowledge.likeness(text, self.cancel)));
        }
        let Some((_, Some(likeness))) = &*asked else {
            return Err(
                "file.similarity() needs meaning, which is off; set `knowledge.meaning` to \
                        `built-in`"
                    .to_owned(),
            );
        };
        let path = &self.row(file).path;
        Ok(if path.is_note() { likeness.of(path) } else { 0.0 })
    }
}
