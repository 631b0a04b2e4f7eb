//! `search_files`

use super::list_files::glob_below;
use super::paging;
use super::prelude::*;
use crate::index::search::{FileMatches, Mode, Query, Results, Settings};
use crate::note::code::ErrorCode;
use crate::note::counted::counted;
use crate::note::glob::Glob;
use crate::note::path::VaultPath;
use crate::note::spelling;
use crate::vault::{ResolvedEntry, Want, nonblocking};

const MAX_FILES: usize = 1_000;
const MAX_MATCHES: usize = 500;
const MAX_CONTEXT: usize = 20;

/// The time limit in milliseconds for finding other spellings of the text.
const HINT_MILLISECONDS: u64 = 500;

/// Bytes of excerpts in one answer.
const MAX_TEXT: usize = 200 << 10;

/// Searches the text of notes with a regular expression, line by line, newest notes first, and
/// shows matching lines with the lines around them. A pattern without capitals ignores case.
/// Searches Markdown notes unless `file_pattern` says otherwise. Says what was left out, and how
/// many lines match in how many files; with `output_mode` `count` it counts them all, however long
/// that takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchFiles {
    /// The regular expression. Put `\` before `.`, `(`, `[`, `?`, `*`, `+` and `|` to search for
    /// these characters themselves.
    pattern: String,
    /// Which files, as a glob: `*.canvas`, `Projects/**`. Without a slash it matches names at any
    /// depth. Default: Markdown notes.
    file_pattern: Option<String>,
    /// Only below this folder, or only this file of any type.
    #[serde(default)]
    path: String,
    /// Whether to ignore case. Default: only if the pattern has no capital.
    ignore_case: Option<bool>,
    /// Lines shown before and after each match, up to 20. Default: 2.
    context_lines: Option<usize>,
    /// Lines shown before each match, instead of `context_lines`.
    context_before: Option<usize>,
    /// Lines shown after each match, instead of `context_lines`.
    context_after: Option<usize>,
    /// The form of the answer.
    #[serde(default)]
    output_mode: OutputMode,
    /// Maximum number of files, 1 to 1,000. Default: 10.
    #[serde(default = "paging::default::<10>")]
    max_results: usize,
    /// Maximum number of matching lines, 1 to 500. Default: 50.
    #[serde(default = "paging::default::<50>")]
    max_matches: usize,
}

/// The form of a search's answer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    /// The matching lines with those around them.
    #[default]
    Content,
    /// Only the files.
    FilesWithMatches,
    /// The number of matching lines per file.
    Count,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The files, the newest first.
    files: Vec<FileResult>,
    /// The number of files with a match, including those not shown.
    total_files: usize,
    /// The number of matching lines in them; none if only files were requested.
    total_matches: Option<u64>,
    /// Whether the totals are lower bounds; they are exact if few files are left.
    at_least: bool,
    /// The number of files searched.
    searched: usize,
    /// The number of matching files that were not searched, because the answer was full or the time was up.
    not_searched: usize,
    /// The number of files that are not text.
    binary: usize,
    /// Files that could not be searched.
    skipped: Vec<Skipped>,
    /// Whether the search ran out of time.
    timed_out: bool,
    /// If nothing was found: a pattern that finds the same text with other quotes, dashes or
    /// decomposed accents, if there is such text.
    written_otherwise: Option<String>,
}

/// One file with matches.
#[derive(Serialize, JsonSchema)]
pub struct FileResult {
    /// The real path.
    path: String,
    /// The number of matching lines; none if only files were requested.
    matches: Option<u64>,
    /// Matching lines that are shown.
    shown: usize,
    /// At most five, each a run of lines.
    excerpts: Vec<Vec<Line>>,
}

/// A line of an excerpt.
#[derive(Serialize, JsonSchema)]
pub struct Line {
    /// Its number in the file, from 1.
    line: u64,
    /// Its text; long lines are cut around the match.
    text: String,
    /// Whether it matches, or is there for context.
    is_match: bool,
}

/// A file that could not be searched.
#[derive(Serialize, JsonSchema)]
pub struct Skipped {
    /// The real path.
    path: String,
    /// Why.
    reason: String,
}

impl Tool for SearchFiles {
    const NAME: &'static str = "search_files";
    const TITLE: &'static str = "Search text";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const LONG_ANSWER: bool = true;
    const HEAVY: bool = true;
    const QUICK: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path, Pattern: pattern);
    const EXAMPLE: &'static str = r#"{"pattern": "one"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let query = query(context, &self)?;
        let settings = &context.settings.search;
        let index = &context.index.text;
        let mut results =
            index.search(&context.vault, &query, settings, &context.cancel).map_err(|error| {
                ToolError::new(ErrorCode::InvalidPattern, error.to_string(), error.hint())
            })?;
        if context.cancel.is_cancelled() || nonblocking::is_aborted() {
            return Err(ToolError::cancelled());
        }
        let totals = Totals::of(&results, query.mode);
        results.files.truncate(self.max_results);
        let (mut text, whole) = text(&self, &results, &totals);
        let written_otherwise = written_otherwise(context, &query, &results);
        if let Some(pattern) = &written_otherwise {
            let alike = "other quotes, dashes or forms of accented letters";
            text.push_str(&format!("\n[there is text with {alike}; search for `{pattern}`]"));
        }
        index.drop_large_pattern();
        let mut files = results.files;
        files.truncate(whole);
        let data = Output {
            files: files.into_iter().map(|file| file_result(file, query.mode)).collect(),
            total_files: totals.files,
            total_matches: totals.matches,
            at_least: totals.at_least,
            searched: results.searched,
            not_searched: results.not_searched,
            binary: results.binary,
            skipped: results
                .skipped
                .into_iter()
                .take(100)
                .map(|(path, reason)| Skipped { path: path.as_str().to_owned(), reason })
                .collect(),
            timed_out: results.timed_out,
            written_otherwise,
        };
        Ok(Answer::new(text, data))
    }
}

/// All matches, shown or not.
struct Totals {
    files: usize,
    matches: Option<u64>,
    at_least: bool,
}

impl Totals {
    fn of(results: &Results, mode: Mode) -> Self {
        let shown: u64 = results.files.iter().map(|file| file.matches).sum();
        let more = results.more.unwrap_or_default();
        Self {
            files: results.files.len() + more.files,
            matches: (mode != Mode::FilesWithMatches).then_some(shown + more.matches),
            at_least: results.timed_out || (results.not_searched > 0 && results.more.is_none()),
        }
    }
}

/// A spelling of the pattern that would match although this one does not. `rg` would find nothing either, so it is only
/// suggested.
fn written_otherwise(context: &Context, query: &Query, results: &Results) -> Option<String> {
    if !results.files.is_empty() || results.timed_out {
        return None;
    }
    let query = Query {
        pattern: spelling::forgiving(&query.pattern)?,
        mode: Mode::FilesWithMatches,
        max_files: 1,
        ..query.clone()
    };
    let settings = &context.settings.search;
    let most = settings.deadline_milliseconds.min(HINT_MILLISECONDS);
    let settings = Settings { deadline_milliseconds: most, ..settings.clone() };
    let index = &context.index.text;
    let found = index.search(&context.vault, &query, &settings, &context.cancel).ok()?;
    (!found.files.is_empty()).then_some(query.pattern)
}

fn query(context: &Context, input: &SearchFiles) -> Result<Query, ToolError> {
    let around =
        paging::within(0..=MAX_CONTEXT, "context_lines", input.context_lines.unwrap_or(2))?;
    let before = input.context_before.unwrap_or(around);
    let after = input.context_after.unwrap_or(around);
    let (folder, files) = place(context, input)?;
    Ok(Query {
        pattern: input.pattern.clone(),
        ignore_case: input.ignore_case,
        files,
        folder,
        before: paging::within(0..=MAX_CONTEXT, "context_before", before)?,
        after: paging::within(0..=MAX_CONTEXT, "context_after", after)?,
        mode: match input.output_mode {
            OutputMode::Content => Mode::Content,
            OutputMode::FilesWithMatches => Mode::FilesWithMatches,
            OutputMode::Count => Mode::Count,
        },
        // Counting everything requires reading everything.
        max_files: match (
            paging::within(1..=MAX_FILES, "max_results", input.max_results)?,
            input.output_mode,
        ) {
            (_, OutputMode::Count) => usize::MAX,
            (most, _) => most,
        },
        max_matches: paging::within(1..=MAX_MATCHES, "max_matches", input.max_matches)?,
    })
}

/// The folder to search below, and which files: if a file is named itself, that one alone.
fn place(context: &Context, input: &SearchFiles) -> Result<(VaultPath, Option<Glob>), ToolError> {
    let no_folder = match context.find(&input.path, Want::Folder) {
        Ok(ResolvedEntry { path, .. }) => {
            let glob = |pattern: &str| glob_below(context, &path, pattern, true);
            let files = input.file_pattern.as_deref().map(glob).transpose()?;
            return Ok((path, files));
        }
        Err(error) => error,
    };
    let Ok(file) = context.find(&input.path, Want::File) else {
        return Err(no_folder.into());
    };
    let folder = file.path.parent().unwrap_or_else(VaultPath::root);
    Ok((folder, Some(Glob::of_name(file.path.name()))))
}

fn file_result(file: FileMatches, mode: Mode) -> FileResult {
    let excerpts = file.excerpts.into_iter().map(|excerpt| {
        let lines = excerpt.lines.into_iter();
        lines
            .map(|line| Line { line: line.number, text: line.text, is_match: line.is_match })
            .collect()
    });
    FileResult {
        path: file.path.as_str().to_owned(),
        matches: (mode != Mode::FilesWithMatches).then_some(file.matches),
        shown: file.shown,
        excerpts: excerpts.collect(),
    }
}

/// The answer as text, and the number of files that fit.
fn text(input: &SearchFiles, results: &Results, totals: &Totals) -> (String, usize) {
    let mut text = String::new();
    let mut whole = 0;
    for file in &results.files {
        let part = match input.output_mode {
            OutputMode::Content => excerpts(file),
            OutputMode::FilesWithMatches => format!("{}\n", file.path),
            OutputMode::Count => format!("{}: {}\n", file.path, file.matches),
        };
        if whole > 0 && text.len() + part.len() > MAX_TEXT {
            break;
        }
        text.push_str(&part);
        whole += 1;
    }
    text.push_str(&format!("[{}]", summary(input, results, totals, whole)));
    (text, whole)
}

fn excerpts(file: &FileMatches) -> String {
    let found = usize::try_from(file.matches).unwrap_or(usize::MAX);
    let mut text = format!("{} ({})\n", file.path, counted(found, "match"));
    for (at, excerpt) in file.excerpts.iter().enumerate() {
        if at > 0 {
            text.push_str("  --\n");
        }
        for line in &excerpt.lines {
            let mark = if line.is_match { ':' } else { '-' };
            text.push_str(&format!("  {}{mark} {}\n", line.number, line.text));
        }
    }
    if found > file.shown {
        text.push_str(&format!("  [{} more in this file]\n", counted(found - file.shown, "match")));
    }
    text.push('\n');
    text
}

/// The numbers of matches shown and left out, in one line.
fn summary(input: &SearchFiles, results: &Results, totals: &Totals, whole: usize) -> String {
    let mut parts = Vec::new();
    let files = results.files.len();
    if files == 0 {
        parts.push(format!("no line matches `{}`", input.pattern));
    } else {
        let least = if totals.at_least { "at least " } else { "" };
        let in_all = counted(totals.files, "file");
        let found = match totals.matches {
            Some(matches) => {
                let matches = counted(usize::try_from(matches).unwrap_or(usize::MAX), "match");
                format!("{least}{matches} in {in_all}")
            }
            None => format!("matches in {least}{in_all}"),
        };
        let shown = if totals.files > files {
            format!(", the newest {files} shown")
        } else {
            String::new()
        };
        parts.push(format!("{found}{shown}"));
    }
    if whole < results.files.len() {
        let left = counted(results.files.len() - whole, "file");
        parts.push(format!("{left} left out to keep the answer short"));
    }
    let others = if totals.at_least { 0 } else { results.not_searched };
    parts.push(format!("{} searched", counted(results.searched + others, "file")));
    if results.timed_out && results.not_searched > 0 {
        let left = results.not_searched;
        parts.push(format!(
            "{left} not searched: the time limit was reached; narrow it with path or file_pattern"
        ));
    } else if totals.files > files {
        let count = if totals.at_least { "; output_mode `count` counts all" } else { "" };
        let others = "raise max_results or max_matches, or narrow the pattern, for the others";
        parts.push(format!("{others}{count}"));
    } else if totals.at_least && results.not_searched > 0 {
        let left = results.not_searched;
        parts.push(format!(
            "{left} not searched: the answer was full; raise max_results or max_matches, or narrow the pattern"
        ));
    } else if results.timed_out {
        parts.push("the time limit was reached in the middle of a file".to_owned());
    }
    if results.binary > 0 {
        parts.push(format!("{} without text", counted(results.binary, "file")));
    }
    if let Some((path, reason)) = results.skipped.first() {
        let skipped = counted(results.skipped.len(), "file");
        parts.push(format!("{skipped} skipped, the first `{path}`: {reason}"));
    }
    parts.join("; ")
}
