//! Searching by reading every file: ripgrep's engine on the catalogue's files, in parallel, newest first.
//! `text` gives the same results with less reading.
//!
//! The matching lines are those that `rg` finds with the same pattern in the same files. What `rg` leaves
//! unlimited has a limit here: the pattern's length and compiled size, the length of a line in memory, the
//! lines shown, the time. What a limit leaves out is counted in [`Results`].
//!
//! In reading order: this file, [`matcher`] (the pattern), `patterns` (the cache of compiled patterns), `file`
//! (one file), `count` (counting without excerpts), `long` (interruptible matching of long lines).

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
use file::{Outcome, Search, SearchedFile};

/// Limits of a search; a section of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Time limit in milliseconds, after which a search returns partial results.
    pub deadline_milliseconds: u64,
    /// Megabytes of notes cached in memory, newest first; searches read the others from disk.
    pub resident_megabytes: u64,
    /// Whether to read or load the links of all notes at the start instead of when they are first
    /// needed.
    pub read_links_at_start: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { deadline_milliseconds: 2_000, resident_megabytes: 64, read_links_at_start: false }
    }
}

/// Maximum number of excerpts of a file.
pub const EXCERPTS_A_FILE: usize = 5;

/// Maximum number of further files that may match and are counted after the results are full: counting more
/// would take longer than the search.
pub(in crate::index) const COUNTED: usize = 100;

/// Maximum length of a line in memory, in bytes; a file with a longer one is skipped and counted.
const MAX_LINE_BYTES: usize = 8 << 20;

/// The form of a search's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Content,
    FilesWithMatches,
    /// The number of matching lines in each file.
    Count,
}

#[derive(Debug, Clone)]
pub struct Query {
    pub pattern: String,
    /// Whether case is ignored; `None`: unless the pattern has a capital.
    pub ignore_case: Option<bool>,
    /// The files to search; `None`: Markdown notes. A pattern without slash matches at any depth.
    pub files: Option<Glob>,
    pub folder: VaultPath,
    /// Lines of context before each match.
    pub before: usize,
    /// Lines of context after each match.
    pub after: usize,
    pub mode: Mode,
    pub max_files: usize,
    /// Maximum number of matching lines.
    pub max_matches: usize,
}

impl Query {
    /// The same query without excerpts.
    pub(in crate::index) fn counting(&self) -> Self {
        let mode = match self.mode {
            Mode::FilesWithMatches => Mode::FilesWithMatches,
            Mode::Content | Mode::Count => Mode::Count,
        };
        Self { mode, ..self.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    pub path: VaultPath,
    /// Number of matching lines; 1 in [`Mode::FilesWithMatches`].
    pub matches: u64,
    /// Number of matching lines in the excerpts.
    pub shown: usize,
    /// The first matches with their context, in [`Mode::Content`].
    pub excerpts: Vec<Excerpt>,
}

/// Matches beyond the results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct More {
    /// Number of files with such matches, as far as they were counted.
    pub files: usize,
    /// Number of matching lines in them; one for each file in [`Mode::FilesWithMatches`].
    pub matches: u64,
}

impl More {
    /// The sum over files; `None` on a timeout.
    pub(in crate::index) fn of(files: impl Iterator<Item = Outcome>) -> Option<Self> {
        let mut more = Self::default();
        for outcome in files {
            if let Outcome::Searched(SearchedFile { matches, timed_out, .. }) = outcome {
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

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Results {
    /// Newest first; files that are excluded in Obsidian come last.
    pub files: Vec<FileMatches>,
    pub searched: usize,
    /// Number of files that were not searched because the results were full or the time was over.
    pub not_searched: usize,
    /// Matches beyond the results, if few enough files may match to count them.
    pub more: Option<More>,
    /// Files that could not be searched, and why. Binary files are only counted.
    pub skipped: Vec<(VaultPath, String)>,
    pub binary: usize,
    pub timed_out: bool,
}

/// The time limit and cancellation of a search.
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

/// Searches the vault by reading every file of the query. The text index must give the same results.
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
    // Small batches first: most searches are done after a few files. Results are in the order of the files,
    // whichever thread was first.
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
            answer.add(path, outcome);
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

/// Collects the results, file by file in order.
pub(super) struct Answer<'q> {
    query: &'q Query,
    pub results: Results,
    /// Number of matching lines that can still be shown.
    room: usize,
}

impl<'q> Answer<'q> {
    /// Creates the answer to a search of this many files.
    pub fn new(query: &'q Query, files: usize) -> Self {
        let results = Results { not_searched: files, ..Results::default() };
        Self { query, results, room: query.max_matches }
    }

    pub fn is_full(&self) -> bool {
        self.results.files.len() >= self.query.max_files || self.room == 0
    }

    /// Whether the search must end. Sets `timed_out` if the time is over.
    pub fn is_late(&mut self, limit: &Limit) -> bool {
        let late = limit.reached();
        self.results.timed_out |= late && !limit.cancel.is_cancelled();
        late
    }

    pub fn without_match(&mut self, files: usize) {
        self.results.not_searched -= files;
        self.results.searched += files;
    }

    pub fn add(&mut self, path: &VaultPath, outcome: Outcome) {
        let results = &mut self.results;
        results.not_searched -= 1;
        match outcome {
            Outcome::Gone => {}
            Outcome::Binary => {
                results.searched += 1;
                results.binary += 1;
            }
            Outcome::Skipped(reason) => results.skipped.push((path.clone(), reason)),
            Outcome::Searched(SearchedFile { matches: 0, timed_out, .. }) => {
                results.searched += 1;
                results.timed_out |= timed_out;
            }
            Outcome::Searched(SearchedFile { matches, mut excerpts, timed_out }) => {
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

/// Tells which files a query searches.
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
                Some(glob) => glob.matches(key_below(entry.key(), &self.folder_key)),
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
fn key_below<'a>(key: &'a str, folder: &str) -> &'a str {
    key.strip_prefix(folder).unwrap_or(key).trim_start_matches('/')
}
