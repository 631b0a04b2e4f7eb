//! Text search with ripgrep's own engine over the catalogue's files, in parallel, newest first.
//!
//! The lines found are those that `rg` finds with the same pattern in the same files. What `rg`
//! leaves to its user's patience is bounded here: the pattern's length and compiled size, the
//! length of a line that is held, the lines shown, the time. Nothing hits a bound silently: what
//! was left out is counted in [`Results`].
//!
//! In reading order: this page, `matcher` (the pattern), `file` (one file).

mod file;
mod matcher;

use std::time::{Duration, Instant};

use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use file::{Excerpt, Line};
pub use matcher::PatternError;

use crate::note::glob::Glob;
use crate::note::path::VaultPath;
use crate::vault::{Cancel, Kind, Vault};
use file::{Found, Outcome};

/// Limits of a search; a section of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Milliseconds after which a search answers with what it has.
    pub deadline_milliseconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { deadline_milliseconds: 2_000 }
    }
}

/// Excerpts shown of one file.
pub const EXCERPTS_A_FILE: usize = 5;

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

/// A file with matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    /// Its path.
    pub path: VaultPath,
    /// Matching lines in it; in [`Mode::FilesWithMatches`] only that there is one.
    pub matches: u64,
    /// Matching lines shown in the excerpts.
    pub shown: usize,
    /// In [`Mode::Content`], the first matches with their context.
    pub excerpts: Vec<Excerpt>,
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
    /// Files that could not be searched, with the reason. Binary files are only counted.
    pub skipped: Vec<(VaultPath, String)>,
    /// Files that are not text.
    pub binary: usize,
    /// Whether the time was over before the end.
    pub timed_out: bool,
}

/// When to give up.
#[derive(Debug, Clone)]
struct Limit {
    until: Instant,
    cancel: Cancel,
}

impl Limit {
    fn reached(&self) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= self.until
    }
}

/// Searches the vault.
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
    let matcher = matcher::compile(&query.pattern, query.ignore_case)?;
    let limit = Limit {
        until: Instant::now() + Duration::from_millis(settings.deadline_milliseconds),
        cancel: cancel.clone(),
    };
    let candidates = candidates(vault, query);
    let mut results = Results { not_searched: candidates.len(), ..Results::default() };
    let mut room = query.max_matches;
    let mut rest = &candidates[..];
    // Small batches first: most answers are full after a few files. The order of the answer is
    // that of the files, whichever thread was first.
    let mut batch = 32;
    while !rest.is_empty() && results.files.len() < query.max_files && room > 0 {
        if limit.reached() {
            results.timed_out = !cancel.is_cancelled();
            break;
        }
        let (now, later) = rest.split_at(batch.min(rest.len()));
        let outcomes: Vec<Outcome> = now
            .par_iter()
            .map_init(
                || searcher(query),
                |searcher, path| file::search(vault, path, searcher, &matcher, query, &limit),
            )
            .collect();
        for (path, outcome) in now.iter().zip(outcomes) {
            if results.files.len() >= query.max_files || room == 0 {
                break;
            }
            results.not_searched -= 1;
            take(&mut results, &mut room, path, outcome, query.mode);
        }
        rest = later;
        batch = (batch * 2).min(4096);
    }
    Ok(results)
}

fn take(results: &mut Results, room: &mut usize, path: &VaultPath, outcome: Outcome, mode: Mode) {
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
            let shown = match mode {
                Mode::Content => file::trim(&mut excerpts, *room),
                Mode::FilesWithMatches | Mode::Count => 0,
            };
            *room -= shown;
            results.files.push(FileMatches { path: path.clone(), matches, shown, excerpts });
        }
    }
}

/// The files to search, newest first, excluded ones last.
fn candidates(vault: &Vault, query: &Query) -> Vec<VaultPath> {
    let glob = query
        .files
        .as_ref()
        .map(|glob| if glob.has_slash() { glob.clone() } else { glob.anywhere() });
    let base = query.folder.fold_key();
    let obsidian = vault.obsidian();
    let catalogue = vault.catalogue();
    let wanted = catalogue.recent().filter(|entry| {
        entry.kind == Kind::File
            && !entry.unnameable
            && entry.path().is_within(&query.folder)
            && match &glob {
                Some(glob) => glob.matches(below(entry.key(), &base)),
                None => entry.path().is_note(),
            }
    });
    let (ignored, mut files): (Vec<VaultPath>, Vec<VaultPath>) =
        wanted.map(|entry| entry.path().to_path()).partition(|path| obsidian.is_ignored(path));
    files.extend(ignored);
    files
}

/// The part of a fold key below a folder's.
fn below<'a>(key: &'a str, folder: &str) -> &'a str {
    key.strip_prefix(folder).unwrap_or(key).trim_start_matches('/')
}

fn searcher(query: &Query) -> Searcher {
    let context = query.mode == Mode::Content;
    SearcherBuilder::new()
        .line_number(true)
        .before_context(if context { query.before } else { 0 })
        .after_context(if context { query.after } else { 0 })
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_LINE_BYTES))
        .build()
}
