//! What a search is, and the search that reads every file: ripgrep's own engine over the catalogue's
//! files, in parallel, newest first. `text` finds the same with less reading.
//!
//! The lines found are those that `rg` finds with the same pattern in the same files. What `rg`
//! leaves to its user's patience is bounded here: the pattern's length and compiled size, the
//! length of a line that is held, the lines shown, the time. Nothing hits a bound silently: what
//! was left out is counted in [`Results`].
//!
//! In reading order: this page, [`matcher`] (the pattern), `patterns` (those compiled lately), `file`
//! (one file), `count` (where no line is shown), `long` (lines that the clock must be able to end).

mod count;
pub(in crate::index) mod file;
mod long;
pub mod matcher;
mod patterns;

use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use file::{Excerpt, Line};
pub use matcher::{Pattern, PatternError};
pub(in crate::index) use patterns::Patterns;

use crate::note::glob::Glob;
use crate::note::path::VaultPath;
use crate::vault::{Cancel, Entry, Kind, Vault};
use file::{Found, Outcome, Search};

/// Limits of a search; a section of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Milliseconds after which a search answers with what it has.
    pub deadline_milliseconds: u64,
    /// Megabytes of notes kept in memory, the newest first; searches read the others from the disk.
    pub resident_megabytes: u64,
    /// Whether the links of all notes are read, or loaded, at the start, rather than when they are first asked for.
    pub read_links_at_start: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { deadline_milliseconds: 2_000, resident_megabytes: 64, read_links_at_start: false }
    }
}

/// Excerpts shown of one file.
pub const EXCERPTS_A_FILE: usize = 5;

/// Files that may match and are counted beyond a full answer: with more, counting would take longer than
/// the answer did.
pub(in crate::index) const COUNTED: usize = 100;

/// The longest line that is held in memory, in bytes; a file with a longer one is skipped and
/// counted.
const MAX_LINE_BYTES: usize = 8 << 20;

/// What a search answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Excerpts.
    Content,
    /// Only which files.
    FilesWithMatches,
    /// How many lines match in each file.
    Count,
}

/// A search.
#[derive(Debug, Clone)]
pub struct Query {
    /// The regular expression.
    pub pattern: String,
    /// Whether case counts; `None`: only if the pattern has a capital.
    pub ignore_case: Option<bool>,
    /// Which files; `None`: Markdown notes. A pattern without slash matches at any depth.
    pub files: Option<Glob>,
    /// Below which folder.
    pub folder: VaultPath,
    /// Lines shown before each match.
    pub before: usize,
    /// Lines shown after each match.
    pub after: usize,
    /// What is wanted.
    pub mode: Mode,
    /// Files in the answer.
    pub max_files: usize,
    /// Matching lines in the answer.
    pub max_matches: usize,
}

impl Query {
    /// The same without lines to show.
    #[must_use]
    pub(in crate::index) fn counting(&self) -> Self {
        let mode = match self.mode {
            Mode::FilesWithMatches => Mode::FilesWithMatches,
            Mode::Content | Mode::Count => Mode::Count,
        };
        Self { mode, ..self.clone() }
    }
}

/// A file with matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    pub path: VaultPath,
    /// Matching lines in it; in [`Mode::FilesWithMatches`] only that there is one.
    pub matches: u64,
    /// Matching lines shown in the excerpts.
    pub shown: usize,
    /// In [`Mode::Content`], the first matches with their context.
    pub excerpts: Vec<Excerpt>,
}

/// Matches that an answer has no room for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct More {
    /// Files with such matches, as far as they were counted.
    pub files: usize,
    /// Matching lines in them; in [`Mode::FilesWithMatches`] one a file.
    pub matches: u64,
}

impl More {
    /// The sum over files; `None` if the time was over before their end.
    pub(in crate::index) fn of(files: impl Iterator<Item = Outcome>) -> Option<Self> {
        let mut more = Self::default();
        for outcome in files {
            if let Outcome::Searched(Found { matches, timed_out, .. }) = outcome {
                if timed_out {
                    return None;
                }
                more.files += usize::from(matches > 0);
                more.matches += matches;
            }
        }
        Some(more)
    }
}

/// What was found, and what was not looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Results {
    /// The newest first; what the user excluded in Obsidian last.
    pub files: Vec<FileMatches>,
    /// Files searched.
    pub searched: usize,
    /// Files not searched because the answer was full or the time over.
    pub not_searched: usize,
    /// What a full answer leaves out, where so few files may match that they were counted.
    pub more: Option<More>,
    /// Files that could not be searched, with the reason. Binary files are only counted.
    pub skipped: Vec<(VaultPath, String)>,
    /// Files that are not text.
    pub binary: usize,
    /// Whether the time was over before the end.
    pub timed_out: bool,
}

/// When to give up.
#[derive(Debug, Clone)]
pub(in crate::index) struct Limit {
    until: Instant,
    cancel: Cancel,
}

impl Limit {
    pub fn reached(&self) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= self.until
    }
}

impl Limit {
    pub(super) fn new(settings: &Settings, cancel: &Cancel) -> Self {
        let time = Duration::from_millis(settings.deadline_milliseconds);
        Self { until: Instant::now() + time, cancel: cancel.clone() }
    }
}

/// Searches the vault by reading every file that fits, which is what an answer of the index has to
/// equal.
///
/// # Errors
/// [`PatternError`] for a pattern that cannot be searched for. A withdrawn search ends early with
/// what it has; its caller knows.
pub fn search(
    vault: &Vault,
    query: &Query,
    settings: &Settings,
    cancel: &Cancel,
) -> Result<Results, PatternError> {
    let pattern = Pattern::compile(&query.pattern, query.ignore_case)?;
    Ok(read_all(vault, &Search { pattern: &pattern, query, limit: &Limit::new(settings, cancel) }))
}

/// The search that reads every file.
pub(super) fn read_all(vault: &Vault, search: &Search<'_>) -> Results {
    let Search { query, limit, .. } = *search;
    let candidates = candidates(vault, query);
    let mut answer = Answer::new(query, candidates.len());
    let mut rest = &candidates[..];
    // Small batches first: most answers are full after a few files. The order of the answer is
    // that of the files, whichever thread was first.
    let mut batch = 32;
    while !rest.is_empty() && !answer.is_full() && !answer.is_late(limit) {
        let (now, later) = rest.split_at(batch.min(rest.len()));
        let outcomes: Vec<Outcome> = now
            .par_iter()
            .map_init(|| search.scratch(), |scratch, path| search.file(vault, path, scratch))
            .collect();
        for (path, outcome) in now.iter().zip(outcomes) {
            if answer.is_full() {
                break;
            }
            answer.take(path, outcome);
        }
        rest = later;
        batch = (batch * 2).min(4096);
    }
    let mut results = answer.results;
    let left = &candidates[candidates.len() - results.not_searched..];
    if (1..=COUNTED).contains(&left.len()) && !results.timed_out {
        let query = query.counting();
        let search = Search { query: &query, ..*search };
        let mut scratch = search.scratch();
        results.more = More::of(left.iter().map(|path| search.file(vault, path, &mut scratch)));
    }
    results
}

/// An answer as it grows, file by file in their order.
pub(super) struct Answer<'q> {
    query: &'q Query,
    pub results: Results,
    /// Matching lines that can still be shown.
    room: usize,
}

impl<'q> Answer<'q> {
    /// Of a search of so many files.
    pub fn new(query: &'q Query, files: usize) -> Self {
        let results = Results { not_searched: files, ..Results::default() };
        Self { query, results, room: query.max_matches }
    }

    /// Whether no more is to be shown.
    pub fn is_full(&self) -> bool {
        self.results.files.len() >= self.query.max_files || self.room == 0
    }

    /// Whether the search ends here; if the time is over, the answer says so.
    pub fn is_late(&mut self, limit: &Limit) -> bool {
        let late = limit.reached();
        self.results.timed_out |= late && !limit.cancel.is_cancelled();
        late
    }

    /// Takes in that so many files were found to have no match.
    pub fn without_match(&mut self, files: usize) {
        self.results.not_searched -= files;
        self.results.searched += files;
    }

    /// Takes in what a file gave.
    pub fn take(&mut self, path: &VaultPath, outcome: Outcome) {
        let results = &mut self.results;
        results.not_searched -= 1;
        match outcome {
            Outcome::Gone => {}
            Outcome::Binary => {
                results.searched += 1;
                results.binary += 1;
            }
            Outcome::Skipped(reason) => results.skipped.push((path.clone(), reason)),
            Outcome::Searched(Found { matches: 0, timed_out, .. }) => {
                results.searched += 1;
                results.timed_out |= timed_out;
            }
            Outcome::Searched(Found { matches, mut excerpts, timed_out }) => {
                results.searched += 1;
                results.timed_out |= timed_out;
                let shown = match self.query.mode {
                    Mode::Content => file::trim(&mut excerpts, self.room),
                    Mode::FilesWithMatches | Mode::Count => 0,
                };
                self.room -= shown;
                results.files.push(FileMatches { path: path.clone(), matches, shown, excerpts });
            }
        }
    }
}

/// Which files a query is about.
pub(super) struct Filter<'q> {
    folder: &'q VaultPath,
    folder_key: String,
    glob: Option<Glob>,
}

impl<'q> Filter<'q> {
    pub fn new(query: &'q Query) -> Self {
        let glob = query
            .files
            .as_ref()
            .map(|glob| if glob.has_slash() { glob.clone() } else { glob.anywhere() });
        Self { folder: &query.folder, folder_key: query.folder.fold_key(), glob }
    }

    pub fn takes(&self, entry: &Entry) -> bool {
        entry.kind == Kind::File
            && !entry.unnameable
            && entry.path().is_within(self.folder)
            && match &self.glob {
                Some(glob) => glob.matches(below(entry.key(), &self.folder_key)),
                None => entry.path().is_note(),
            }
    }
}

/// The files to search, newest first, excluded ones last.
pub(super) fn candidates(vault: &Vault, query: &Query) -> Vec<VaultPath> {
    let filter = Filter::new(query);
    let obsidian = vault.obsidian();
    let catalogue = vault.catalogue();
    let wanted = catalogue.recent().filter(|entry| filter.takes(entry));
    let (ignored, mut files): (Vec<VaultPath>, Vec<VaultPath>) =
        wanted.map(|entry| entry.path().to_path()).partition(|path| obsidian.is_ignored(path));
    files.extend(ignored);
    files
}

/// The part of a fold key below a folder's.
fn below<'a>(key: &'a str, folder: &str) -> &'a str {
    key.strip_prefix(folder).unwrap_or(key).trim_start_matches('/')
}
