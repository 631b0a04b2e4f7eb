//! `find_duplicates`

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use super::prelude::*;
use super::text_file::{local, shown};
use super::{graph, paging};
use crate::index::knowledge::words;
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::note::text::Text;
use crate::note::{chunks, frontmatter, markdown};
use crate::vault::{Kind, Revision};

/// Groups in one answer.
const MAX_GROUPS: usize = 200;

/// Texts named of one group.
const MAX_NAMED: usize = 50;

/// Words of a shingle, and the fewest shingles of a text that is compared with others.
const SHINGLE: usize = 5;
const FEWEST: usize = 8;

/// Smallest hashes of a text's shingles, and how many of them must agree for two texts to be compared.
const HASHES: usize = 64;
const ROWS: usize = 4;

/// Groups with which a text is compared.
const COMPARED: usize = 32;

/// Groups whose shingles are cached.
const MAX_CACHED: usize = 256;

/// The minimum length of a compared section, in characters.
const SECTION: usize = 120;

/// Finds notes with the same or nearly the same text, or sections that several notes share.
/// Compares sequences of words, not meaning; properties count only for `exact`. Changes nothing:
/// read both notes before you merge or delete one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FindDuplicates {
    /// Only in this folder. Default: the whole vault.
    path: Option<String>,
    /// `exact`: notes with the same text except for white space; `near`: also those with nearly the
    /// same text; `sections`: parts of notes.
    #[serde(default)]
    kind: ComparedTexts,
    /// The minimum similarity, 0.5 to 1: the share of five-word sequences in common.
    #[serde(default = "default_least")]
    least: f64,
    /// Maximum number of groups, up to 200.
    #[serde(default = "paging::default::<50>")]
    limit: usize,
    /// The first group to show, from 1, to continue a list.
    #[serde(default = "paging::default::<1>")]
    first_result: usize,
}

/// The texts to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ComparedTexts {
    /// Notes with the same text except for white space.
    Exact,
    /// Notes with nearly the same text.
    #[default]
    Near,
    /// Sections of notes.
    Sections,
}

fn default_least() -> f64 {
    0.8
}

/// The groups.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The groups, those with the most repeated text first.
    groups: Vec<GroupData>,
    /// The number of all groups.
    total: usize,
    /// The number of notes compared.
    notes: usize,
    /// Notes that could not be read.
    unread_notes: usize,
}

/// Similar texts.
#[derive(Serialize, JsonSchema)]
pub struct GroupData {
    /// Whether all have the same text except for white space.
    exact: bool,
    /// The lowest similarity to the first text, 0 to 1.
    likeness: f64,
    /// The texts by path, at most 50.
    texts: Vec<TextData>,
    /// The number of all texts.
    total: usize,
}

/// A note or a section.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TextData {
    /// The note.
    path: String,
    /// The first line, from 1.
    first_line: usize,
    /// The last line.
    last_line: usize,
    /// When the note was last changed, local time.
    modified: String,
}

/// A text to compare.
struct Unit {
    first_line: usize,
    last_line: usize,
    characters: usize,
    /// The hash of the text without blanks.
    hash: Revision,
    shingles: Vec<u64>,
}

/// A group under construction. Others are compared with its first text.
struct Group {
    path: VaultPath,
    /// The position of the first text in its note.
    at: usize,
    hash: Revision,
    exact: bool,
    likeness: f64,
    characters: usize,
    texts: Vec<TextData>,
    total: usize,
}

impl Tool for FindDuplicates {
    const NAME: &'static str = "find_duplicates";
    const TITLE: &'static str = "Find duplicate notes";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const SELDOM: bool = true;
    const HEAVY: bool = true;
    const LONG_ANSWER: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = "{}";
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let limit = paging::within(1..=MAX_GROUPS, "limit", self.limit)?;
        let skipped = paging::skipped(self.first_result);
        if !(0.5..=1.0).contains(&self.least) {
            let message = format!("`least` is {}", self.least);
            return Err(ToolError::invalid(message, "give a number from 0.5 to 1"));
        }
        let path = self.path.as_deref().filter(|path| !path.trim().is_empty());
        let place = graph::place(context, path)?;
        let mut search = Search::new(context, self.kind, self.least);
        let notes = notes(context, &place);
        let mut unread_notes = 0;
        for (path, modified) in &notes {
            context.check_cancelled()?;
            match units(context, path, self.kind) {
                Some(units) => search.add(path, *modified, &units),
                None => unread_notes += 1,
            }
        }
        let mut groups = search.groups;
        groups.retain(|group| group.total > 1);
        groups.sort_by_key(|group| std::cmp::Reverse(group.characters * (group.total - 1)));
        let total = groups.len();
        let page = groups.into_iter().skip(skipped).take(limit);
        let groups: Vec<GroupData> = page.map(GroupData::of).collect();
        let data = Output { groups, total, notes: notes.len(), unread_notes };
        Ok(Answer::new(text(&data, skipped, self.kind), data))
    }
}

/// The visible notes below a folder with their times of change.
fn notes(context: &Context, place: &VaultPath) -> Vec<(VaultPath, i64)> {
    let catalogue = context.vault.catalogue();
    let files = catalogue.within(place).filter(|entry| entry.kind == Kind::File);
    let notes = files.filter(|entry| entry.path().is_note());
    notes.map(|entry| (entry.path().to_path(), entry.modified)).collect()
}

/// The texts of a note to compare; `None` if it cannot be read.
fn units(context: &Context, path: &VaultPath, kind: ComparedTexts) -> Option<Vec<Unit>> {
    let content = context.vault.read(path).ok()?;
    let text = Text::decode(&content.bytes, path.name()).ok()?;
    let text = text.body();
    if kind == ComparedTexts::Sections {
        let document = markdown::read(text);
        let chunks = chunks::cut(text, &document).into_iter();
        let unit = |chunk: chunks::Chunk| {
            let part = &text[chunk.range];
            Unit::of(part, part, chunk.first_line, chunk.last_line, true)
        };
        return Some(chunks.map(unit).filter(|unit| unit.characters >= SECTION).collect());
    }
    let body = frontmatter::find(text, 0).map_or(0, |found| found.range.end);
    let lines = text.lines().count().max(1);
    let unit = Unit::of(text, &text[body..], 1, lines, kind == ComparedTexts::Near);
    Some(if unit.characters == 0 { Vec::new() } else { vec![unit] })
}

impl Unit {
    fn of(text: &str, prose: &str, first_line: usize, last_line: usize, is_near: bool) -> Self {
        let bare: String = text.split_whitespace().collect();
        let shingles = if is_near { shingles(prose) } else { Vec::new() };
        let (characters, hash) = (bare.chars().count(), Revision::of(bare.as_bytes()));
        Self { first_line, last_line, characters, hash, shingles }
    }
}

/// The hashes of all sequences of five words, sorted, each once.
fn shingles(text: &str) -> Vec<u64> {
    let words = words::of(text);
    let hash = |words: &[String]| {
        let mut hasher = DefaultHasher::new();
        words.hash(&mut hasher);
        hasher.finish()
    };
    let mut shingles: Vec<u64> = words.windows(SHINGLE).map(hash).collect();
    shingles.sort_unstable();
    shingles.dedup();
    shingles
}

/// The share of hashes that two sorted lists have in common.
fn likeness(one: &[u64], other: &[u64]) -> f64 {
    let common = one.iter().filter(|hash| other.binary_search(hash).is_ok()).count();
    common as f64 / (one.len() + other.len() - common).max(1) as f64
}

/// The groups found so far.
struct Search<'c> {
    context: &'c Context,
    kind: ComparedTexts,
    least: f64,
    groups: Vec<Group>,
    same: HashMap<Revision, usize>,
    /// The groups by a part of their signature.
    bands: HashMap<(usize, u64), Vec<usize>>,
    cached: HashMap<usize, Arc<Vec<u64>>>,
}

impl<'c> Search<'c> {
    fn new(context: &'c Context, kind: ComparedTexts, least: f64) -> Self {
        let (groups, same) = (Vec::new(), HashMap::new());
        let (bands, cached) = (HashMap::new(), HashMap::new());
        Self { context, kind, least, groups, same, bands, cached }
    }

    fn add(&mut self, path: &VaultPath, modified: i64, units: &[Unit]) {
        for (at, unit) in units.iter().enumerate() {
            let text = TextData {
                path: path.as_str().to_owned(),
                first_line: unit.first_line,
                last_line: unit.last_line,
                modified: local(modified),
            };
            if let Some(group) = self.same.get(&unit.hash).copied() {
                self.groups[group].join(text, &unit.hash, 1.0);
                continue;
            }
            let bands =
                if unit.shingles.len() >= FEWEST { bands(&unit.shingles) } else { Vec::new() };
            if let Some((group, likeness)) = self.nearest(&bands, &unit.shingles) {
                self.groups[group].join(text, &unit.hash, likeness);
                self.same.insert(unit.hash, group);
                continue;
            }
            let number = self.groups.len();
            for band in bands {
                self.bands.entry(band).or_default().push(number);
            }
            self.same.insert(unit.hash, number);
            self.groups.push(Group {
                path: path.clone(),
                at,
                hash: unit.hash,
                exact: true,
                likeness: 1.0,
                characters: unit.characters,
                texts: vec![text],
                total: 1,
            });
        }
    }

    /// The group with the most similar first text, if it is similar enough.
    fn nearest(&mut self, bands: &[(usize, u64)], shingles: &[u64]) -> Option<(usize, f64)> {
        let near = bands.iter().filter_map(|band| self.bands.get(band)).flatten();
        let mut near: Vec<usize> = near.copied().collect();
        near.sort_unstable();
        near.dedup();
        near.truncate(COMPARED);
        let mut best: Option<(usize, f64)> = None;
        for group in near {
            let alike = likeness(shingles, &self.shingles(group));
            if alike >= self.least && best.is_none_or(|(_, known)| alike > known) {
                best = Some((group, alike));
            }
        }
        best
    }

    /// The shingles of a group's first text, read again if they are not cached.
    fn shingles(&mut self, group: usize) -> Arc<Vec<u64>> {
        if let Some(cached) = self.cached.get(&group) {
            return Arc::clone(cached);
        }
        let Group { path, at, .. } = &self.groups[group];
        let units = units(self.context, path, self.kind).unwrap_or_default();
        let shingles = units.into_iter().nth(*at).map(|unit| unit.shingles).unwrap_or_default();
        if self.cached.len() >= MAX_CACHED {
            self.cached.clear();
        }
        let shingles = Arc::new(shingles);
        self.cached.insert(group, Arc::clone(&shingles));
        shingles
    }
}

impl Group {
    fn join(&mut self, text: TextData, hash: &Revision, likeness: f64) {
        self.exact &= *hash == self.hash;
        self.likeness = self.likeness.min(likeness);
        self.total += 1;
        if self.texts.len() < MAX_NAMED {
            self.texts.push(text);
        }
    }
}

/// The parts of the signature, each as its number and its hash: texts with a similarity of `least`
/// almost always share one.
fn bands(shingles: &[u64]) -> Vec<(usize, u64)> {
    let mix = |value: u64| {
        // The finalizer of SplitMix64.
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    };
    let mut least = [u64::MAX; HASHES];
    for shingle in shingles {
        for (number, least) in (0_u64..).zip(&mut least) {
            *least = (*least).min(mix(shingle ^ mix(number)));
        }
    }
    let band = |rows: &[u64]| rows.iter().fold(0, |hash, row| mix(hash ^ row));
    least.chunks(ROWS).map(band).enumerate().collect()
}

impl GroupData {
    fn of(group: Group) -> Self {
        let likeness = (group.likeness * 100.0).floor() / 100.0;
        Self { exact: group.exact, likeness, texts: group.texts, total: group.total }
    }
}

fn text(data: &Output, skipped: usize, kind: ComparedTexts) -> String {
    let mut lines = Vec::new();
    for group in &data.groups {
        lines.push(if group.exact {
            format!("{} with the same text:", group.total)
        } else {
            format!("{} alike ({:.2}):", group.total, group.likeness)
        });
        for text in &group.texts {
            let path = shown(&text.path);
            lines.push(match kind {
                ComparedTexts::Sections => {
                    format!("  {path}:{}-{}", text.first_line, text.last_line)
                }
                _ => format!("  {path}  {}", text.modified),
            });
        }
        if group.total > group.texts.len() {
            lines.push(format!("  … {} more", group.total - group.texts.len()));
        }
    }
    lines.push(match data.total {
        0 => format!("no duplicates ({} compared)", counted(data.notes, "note")),
        total => paging::summary(skipped, data.groups.len(), total, "or raise least"),
    });
    if data.unread_notes > 0 {
        let unread = counted(data.unread_notes, "note");
        lines.push(format!("[{unread} could not be read]"));
    }
    lines.join("\n")
}
