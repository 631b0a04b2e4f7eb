//! Searching one file and collecting excerpts.

use std::fs::File;
use std::io::{self, Read};

use grep_matcher::Matcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};

use super::long::{Interruptible, TIME_OVER};
use super::matcher::Pattern;
use super::{EXCERPTS_A_FILE, Limit, MAX_LINE_BYTES, Mode, Query, count};
use crate::note::path::VaultPath;
use crate::vault::{Vault, VaultError};

/// Maximum characters shown of a line; a longer one is cut around its match.
const SHOWN_CHARACTERS: usize = 300;

/// In lines longer than this the match is not located: that can cost more than the search.
const MAX_PLACED: usize = 64 << 10;

/// Bytes that are searched between two checks of the time, and maximum size of a file that is read by one call.
const AT_ONCE: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// From 1.
    pub number: u64,
    /// Without its line end, with `…` where it was cut.
    pub text: String,
    pub is_match: bool,
}

/// Adjacent lines with at least one match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Excerpt {
    pub lines: Vec<Line>,
}

pub(in crate::index) enum Outcome {
    Searched(SearchedFile),
    /// The file was deleted.
    Gone,
    Binary,
    Skipped(String),
}

#[derive(Default)]
pub(in crate::index) struct SearchedFile {
    pub matches: u64,
    pub excerpts: Vec<Excerpt>,
    pub timed_out: bool,
}

#[derive(Clone, Copy)]
pub(in crate::index) struct Search<'a> {
    pub pattern: &'a Pattern,
    pub query: &'a Query,
    pub limit: &'a Limit,
}

/// Per-thread state that is reused for many files.
pub(in crate::index) struct Scratch {
    searcher: Searcher,
    /// Buffer for the file's content.
    bytes: Vec<u8>,
}

impl Search<'_> {
    /// New per-thread state.
    pub fn scratch(&self) -> Scratch {
        Scratch { searcher: self.searcher(), bytes: Vec::new() }
    }

    fn searcher(&self) -> Searcher {
        let query = self.query;
        let shown = query.mode == Mode::Content;
        SearcherBuilder::new()
            .line_terminator(self.pattern.line_terminator())
            .line_number(shown)
            .before_context(if shown { query.before } else { 0 })
            .after_context(if shown { query.after } else { 0 })
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE_BYTES))
            .build()
    }

    pub fn file(&self, vault: &Vault, path: &VaultPath, scratch: &mut Scratch) -> Outcome {
        match vault.open_file(path) {
            Ok((file, meta)) => self.opened(file, meta.size, scratch),
            Err(VaultError::NotFound { .. }) => Outcome::Gone,
            Err(error) => Outcome::Skipped(error.to_string()),
        }
    }

    /// Searches an open file, which had `size` bytes.
    fn opened(&self, mut file: File, size: u64, scratch: &mut Scratch) -> Outcome {
        let Scratch { searcher, bytes } = scratch;
        let size = match usize::try_from(size) {
            Ok(size) if size <= AT_ONCE => size,
            _ => return self.read(file, &mut self.searcher()),
        };
        // One byte more than expected, to see that the file ends there.
        if bytes.len() <= size {
            bytes.resize(size + 1, 0);
        }
        match file.read(&mut bytes[..=size]) {
            Ok(got) if got == size => self.bytes(&bytes[..size], searcher),
            // The file is growing or shrinking.
            Ok(got) => {
                let mut whole = bytes[..got].to_vec();
                let rest = (AT_ONCE + 1).saturating_sub(got) as u64;
                match file.by_ref().take(rest).read_to_end(&mut whole) {
                    Ok(_) if whole.len() <= AT_ONCE => self.bytes(&whole, searcher),
                    Ok(_) => self.read(whole.chain(file), &mut self.searcher()),
                    Err(error) => Self::outcome(self.gather(), Err(error)),
                }
            }
            Err(error) => Self::outcome(self.gather(), Err(error)),
        }
    }

    /// Searches the whole content of a file.
    fn bytes(&self, bytes: &[u8], searcher: &mut Searcher) -> Outcome {
        match memchr::memchr(0, bytes) {
            None => self.text_with(bytes, searcher),
            // The searcher decides whether lines before the NUL count.
            Some(_) => self.read(bytes, &mut self.searcher()),
        }
    }

    /// Searches a text in memory, which has no NUL.
    pub fn text(&self, text: &[u8], scratch: &mut Scratch) -> Outcome {
        self.text_with(text, &mut scratch.searcher)
    }

    fn text_with(&self, text: &[u8], searcher: &mut Searcher) -> Outcome {
        if text.len() > AT_ONCE {
            return self.read(text, searcher);
        }
        let mut gather = self.gather();
        if self.query.mode != Mode::Content
            && let Some(counted) = count::count(&self.matcher(), text, self.query.mode)
        {
            (gather.found.matches, gather.found.timed_out) = (counted.lines, counted.given_up);
            return Outcome::Searched(gather.found);
        }
        let searched = searcher.search_slice(self.matcher(), text, &mut gather);
        Self::outcome(gather, searched)
    }

    /// Searches chunk by chunk. A text that may contain a NUL needs a new searcher: one that has
    /// read a longer line keeps its larger buffer, and would find a NUL further ahead before it
    /// searches a line.
    fn read(&self, from: impl Read, searcher: &mut Searcher) -> Outcome {
        let mut gather = self.gather();
        let reader = Bounded { from, limit: self.limit };
        let searched = searcher.search_reader(self.matcher(), reader, &mut gather);
        Self::outcome(gather, searched)
    }

    fn matcher(&self) -> Interruptible<'_> {
        self.pattern.interruptible(self.limit)
    }

    fn gather(&self) -> Gather<'_> {
        let Self { pattern, query, .. } = self;
        Gather { pattern, query, found: SearchedFile::default(), last: 0, stored: 0, binary: false }
    }

    fn outcome(mut gather: Gather<'_>, searched: io::Result<()>) -> Outcome {
        match searched {
            Ok(()) if gather.binary && gather.found.matches == 0 => Outcome::Binary,
            Ok(()) => Outcome::Searched(gather.found),
            Err(error) if is_timeout(&error) => {
                gather.found.timed_out = true;
                Outcome::Searched(gather.found)
            }
            // The searcher's message for a line over its limit.
            Err(error) if error.to_string().contains("allocation limit") => {
                Outcome::Skipped("a line in it is longer than 8 MB".to_owned())
            }
            Err(error) => Outcome::Skipped(error.to_string()),
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    // A matcher's error arrives as text only.
    error.kind() == io::ErrorKind::TimedOut || error.to_string() == TIME_OVER
}

/// Keeps at most `room` matching lines, with the context after the last. Returns how many.
pub(in crate::index) fn trim(excerpts: &mut Vec<Excerpt>, room: usize) -> usize {
    let mut kept = 0;
    for excerpt in excerpts.iter_mut() {
        let mut end = excerpt.lines.len();
        for (at, line) in excerpt.lines.iter().enumerate() {
            if line.is_match {
                if kept == room {
                    end = at;
                    break;
                }
                kept += 1;
            }
        }
        excerpt.lines.truncate(end);
    }
    excerpts.retain(|excerpt| excerpt.lines.iter().any(|line| line.is_match));
    kept
}

/// Stops reading when the time is over, also in a file without any match.
struct Bounded<'a, R> {
    from: R,
    limit: &'a Limit,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.limit.reached() {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        self.from.read(buffer)
    }
}

struct Gather<'a> {
    pattern: &'a Pattern,
    query: &'a Query,
    found: SearchedFile,
    /// Number of the last line; a gap begins a new excerpt.
    last: u64,
    /// Number of matching lines in the excerpts.
    stored: usize,
    binary: bool,
}

impl Gather<'_> {
    /// The excerpt for line `number`, unless there are enough.
    fn excerpt(&mut self, number: u64, is_match: bool) -> Option<&mut Excerpt> {
        // More than the results can show is only counted.
        if self.stored >= self.query.max_matches {
            return None;
        }
        self.stored += usize::from(is_match);
        let excerpts = &mut self.found.excerpts;
        if excerpts.is_empty() || number != self.last + 1 {
            if excerpts.len() == EXCERPTS_A_FILE {
                return None;
            }
            excerpts.push(Excerpt::default());
        }
        self.last = number;
        excerpts.last_mut()
    }

    fn add(&mut self, number: u64, bytes: &[u8], is_match: bool) {
        // Most lines are short and shown whole.
        let whole =
            if is_match && !self.pattern.begins_at_characters() { None } else { short_line(bytes) };
        let text =
            whole.map_or_else(|| shown_line(bytes, self.place(bytes, is_match)), str::to_owned);
        if let Some(excerpt) = self.excerpt(number, is_match) {
            excerpt.lines.push(Line { number, text, is_match });
        }
    }

    /// Where the match begins in a line, if it can be located quickly.
    fn place(&self, line: &[u8], is_match: bool) -> usize {
        if !is_match || line.len() > MAX_PLACED.min(self.pattern.at_once()) {
            return 0;
        }
        self.pattern.matcher().find(line).ok().flatten().map_or(0, |found| found.start())
    }
}

impl Sink for &mut Gather<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.found.matches += 1;
        if self.query.mode == Mode::Content {
            self.add(found.line_number().unwrap_or(0), found.bytes(), true);
        }
        Ok(self.query.mode != Mode::FilesWithMatches)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.add(context.line_number().unwrap_or(0), context.bytes(), false);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The line as text, if it is valid UTF-8 and short enough.
fn short_line(line: &[u8]) -> Option<&str> {
    let line = without_end(line);
    if line.len() > SHOWN_CHARACTERS {
        return None;
    }
    std::str::from_utf8(line).ok()
}

/// The line as text: decoded, without its line end, cut around `place` if it is long.
fn shown_line(bytes: &[u8], place: usize) -> String {
    let end = without_end(bytes);
    // Decode only what could be shown: the line may have megabytes.
    let from = place.saturating_sub(SHOWN_CHARACTERS * 4).min(end.len());
    let to = (place + SHOWN_CHARACTERS * 4).min(end.len());
    let before: Vec<char> = String::from_utf8_lossy(&end[from..place.min(to)]).chars().collect();
    let after: Vec<char> = String::from_utf8_lossy(&end[place.min(to)..to]).chars().collect();
    if from == 0 && to == end.len() && before.len() + after.len() <= SHOWN_CHARACTERS {
        return before.into_iter().chain(after).collect();
    }
    // A quarter of the characters before the match, the rest after it.
    let lead = before
        .len()
        .min(SHOWN_CHARACTERS / 4)
        .max(SHOWN_CHARACTERS.saturating_sub(after.len()).min(before.len()));
    let mut text = String::new();
    if from > 0 || lead < before.len() {
        text.push('…');
    }
    text.extend(&before[before.len() - lead..]);
    let tail = SHOWN_CHARACTERS - lead;
    text.extend(after.iter().take(tail));
    if to < end.len() || after.len() > tail {
        text.push('…');
    }
    text
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
