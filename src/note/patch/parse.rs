//! Reads a patch's text.
//!
//! Any text may surround the diffs: a mail's head, a model's remarks, a fence. Within a hunk each
//! line counts. The counts of a header only settle ambiguities: whether an empty line at the end,
//! or a removed line that looks like a file header, still belongs to the hunk.

use std::collections::HashSet;

use super::headers::{self, Numbers, Side};
use super::{Action, FilePatch, Hunk, HunkLine, MAX_PATCH_BYTES, PatchError, PatchLine};
use crate::note::path::{VaultPath, show};
use crate::note::text::Eol;

/// The most lines in the hunks of one patch: what bounds the memory for short ones.
const MAX_LINES: usize = 500_000;

/// Reads a unified diff of one or more files.
///
/// # Errors
/// The text is not a unified diff, is malformed, renames files, or names one twice.
/// [`super::apply()`] checks whether it matches the files; the caller validates the paths.
pub fn parse(patch: &str) -> Result<Vec<FilePatch>, PatchError> {
    if patch.len() > MAX_PATCH_BYTES {
        return Err(PatchError::TooLarge { bytes: patch.len() });
    }
    if let Some(at) = patch.find('\0') {
        let line = 1 + patch[..at].bytes().filter(|&byte| byte == b'\n').count();
        let reason = "a NUL would make the file binary";
        return Err(PatchError::Malformed { line, reason, text: String::new() });
    }
    let eol = Eol::last_in(patch).unwrap_or(Eol::Lf);
    let mut parser = Parser { rest: patch, line: 1, lines: 0, eol };
    let mut files = Vec::new();
    while let Some(line) = parser.peek() {
        files.extend(parser.section(line)?);
    }
    if files.is_empty() {
        return Err(PatchError::NoFile);
    }
    let mut seen = HashSet::new();
    for file in &files {
        let key = VaultPath::parse(&file.path, None)
            .map_or_else(|_| file.path.clone(), |path| path.fold_key());
        if !seen.insert(key) {
            return Err(PatchError::Twice { path: file.path.clone() });
        }
    }
    Ok(files)
}

struct Parser<'a> {
    rest: &'a str,
    /// The number of the line that comes next.
    line: usize,
    /// How many lines hunks have so far.
    lines: usize,
    /// The ending of a last line after which the patch was cut.
    eol: Eol,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.rest.split_inclusive('\n').next()
    }

    fn next(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        self.rest = &self.rest[line.len()..];
        self.line += 1;
        Some(line)
    }

    fn malformed(&self, reason: &'static str) -> PatchError {
        let text = self.peek().unwrap_or_default().trim_end().chars().take(100).flat_map(show);
        PatchError::Malformed { line: self.line, reason, text: text.collect() }
    }

    /// Reads the section that begins with `line`: a file's part, or an irrelevant line.
    fn section(&mut self, line: &str) -> Result<Option<FilePatch>, PatchError> {
        if let Some(paths) = line.strip_prefix("diff --git ") {
            self.next();
            return self.git(paths);
        }
        if self.at_file_header() {
            return self.file().map(Some);
        }
        for (mark, reason) in [
            ("@@", "a hunk needs a `--- ` and a `+++ ` line before it"),
            ("--- a/", "a `--- ` line needs a `+++ ` line after it"),
        ] {
            if line.starts_with(mark) {
                return Err(self.malformed(reason));
            }
        }
        if ["*** Begin Patch", "<<<<<<< "].iter().any(|mark| line.starts_with(mark)) {
            return Err(PatchError::OtherFormat { found: line.trim_end().to_owned() });
        }
        self.next();
        Ok(None)
    }

    /// Whether a `--- ` line with a `+++ ` line after it comes next.
    fn at_file_header(&self) -> bool {
        let mut lines = self.rest.split_inclusive('\n');
        lines.next().is_some_and(|line| line.starts_with("--- "))
            && lines.next().is_some_and(|line| line.starts_with("+++ "))
    }

    /// Reads a part that Git wrote, after its first line.
    fn git(&mut self, paths: &str) -> Result<Option<FilePatch>, PatchError> {
        let (mut action, mut from) = (None, None);
        while let Some(line) = self.peek().filter(|_| !self.at_file_header()) {
            if line.starts_with("new file mode ") {
                action = Some(Action::Create);
            } else if line.starts_with("deleted file mode ") {
                action = Some(Action::Delete);
            } else if let Some(path) =
                line.strip_prefix("rename from ").or_else(|| line.strip_prefix("copy from "))
            {
                from = Some(headers::path(path));
            } else if let Some(path) =
                line.strip_prefix("rename to ").or_else(|| line.strip_prefix("copy to "))
            {
                let (from, to) = (from.unwrap_or_default(), headers::path(path));
                return Err(PatchError::Renames { from, to });
            } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
                return Err(PatchError::Binary { path: git_path(paths) });
            } else if !["index ", "old mode ", "new mode ", "similarity ", "dissimilarity "]
                .iter()
                .any(|mark| line.starts_with(mark))
            {
                break;
            }
            self.next();
        }
        if self.at_file_header() {
            return self.file().map(Some);
        }
        // An empty file is created or deleted without hunks; a mere change of mode is ignored.
        Ok(action.map(|action| FilePatch { path: git_path(paths), action, hunks: Vec::new() }))
    }

    /// Reads a file's header and its hunks.
    fn file(&mut self) -> Result<FilePatch, PatchError> {
        let error = self.malformed("the header names no file");
        let mut side = |mark| {
            let line = self.next().unwrap_or_default();
            headers::side(line.strip_prefix(mark).unwrap_or_default())
        };
        let sides = headers::strip_prefixes(side("--- "), side("+++ "));
        let (path, action) = match sides {
            (Side::Path(from), Side::Path(to)) if from != to => {
                return Err(PatchError::Renames { from, to });
            }
            (Side::Path(path), Side::Path(_)) => (path, Action::Modify),
            (Side::Nothing, Side::Path(path)) => (path, Action::Create),
            (Side::Path(path), Side::Nothing) => (path, Action::Delete),
            (Side::Nothing, Side::Nothing) => return Err(error),
        };
        if path.is_empty() {
            return Err(error);
        }
        let mut hunks = Vec::new();
        while let Some(numbers) = self.peek().and_then(headers::numbers) {
            let line = self.line;
            self.next();
            let hunk = self.hunk(numbers)?;
            if !hunk.lines.iter().any(|line| !matches!(line, HunkLine::Context(_))) {
                return Err(PatchError::EmptyHunk { path, hunk: hunks.len() + 1, line });
            }
            hunks.push(hunk);
        }
        if hunks.is_empty() && action == Action::Modify {
            return Err(self.malformed("the header of a file needs a hunk after it"));
        }
        Ok(FilePatch { path, action, hunks })
    }

    /// Reads a hunk's lines, after its header.
    fn hunk(&mut self, numbers: Numbers) -> Result<Hunk, PatchError> {
        let Numbers { old_start, new_start, counts } = numbers;
        let mut hunk = Hunk { old_start, new_start, lines: Vec::new() };
        let (mut old, mut new, mut blanks) = (0, 0, 0);
        while let Some(raw) = self.peek() {
            let due = counts.map(|(olds, news): (usize, usize)| {
                (olds.saturating_sub(old), news.saturating_sub(new))
            });
            let done = due == Some((0, 0));
            let line = |text: &str| {
                let mut line = PatchLine::new(text);
                // A patch that lacks its final newline does not define the file's end.
                line.ending = line.ending.or(Some(self.eol));
                line
            };
            let mut blank = false;
            match raw.as_bytes() {
                [b' ', ..] => hunk.lines.push(HunkLine::Context(line(&raw[1..]))),
                [b'+', ..] => hunk.lines.push(HunkLine::Add(line(&raw[1..]))),
                [b'-', ..] if self.at_file_header() && !self.header_is_body(due) => break,
                // Git's signature at the end of a mail.
                [b'-', b'-', b' ', b'\r' | b'\n', ..] if done => break,
                [b'-', ..] => hunk.lines.push(HunkLine::Remove(line(&raw[1..]))),
                [b'\\', b' ', ..] => {
                    let Some(last) = hunk.lines.last_mut() else {
                        return Err(self.malformed("there is no line before it"));
                    };
                    let (HunkLine::Context(last) | HunkLine::Remove(last) | HunkLine::Add(last)) =
                        last;
                    // Where the marker ends in `\n`, a `\r` before it is the line's own.
                    if last.ending == Some(Eol::CrLf)
                        && Eol::last_in(raw).unwrap_or(self.eol) == Eol::Lf
                    {
                        last.text.push('\r');
                    }
                    last.ending = None;
                    self.next();
                    continue;
                }
                // Editors and models strip the one space of an empty line that stays.
                [b'\n'] | [b'\r', b'\n'] => {
                    blank = true;
                    hunk.lines.push(HunkLine::Context(line(raw)));
                }
                [b'@', b'@', ..] => break,
                _ if done || raw.starts_with("diff ") || raw.starts_with("```") => break,
                _ => {
                    return Err(self.malformed("a line of a hunk begins with a space, `-` or `+`"));
                }
            }
            blanks = if blank { blanks + 1 } else { 0 };
            old += usize::from(!matches!(hunk.lines.last(), Some(HunkLine::Add(_))));
            new += usize::from(!matches!(hunk.lines.last(), Some(HunkLine::Remove(_))));
            self.lines += 1;
            if self.lines > MAX_LINES {
                return Err(PatchError::TooManyLines { max: MAX_LINES });
            }
            self.next();
        }
        // Empty lines at the end are the hunk's only as far as it counts them.
        let counted = counts.map_or(0, |(olds, _)| olds);
        let extra = blanks.min(old.saturating_sub(counted));
        hunk.lines.truncate(hunk.lines.len() - extra);
        // A line number for missing lines does not place the others.
        if old == extra && counted > 0 {
            hunk.old_start = None;
        }
        Ok(hunk)
    }

    /// Whether a removed and an added line, together looking like a file's header, are still due.
    fn header_is_body(&self, due: Option<(usize, usize)>) -> bool {
        let mut lines = self.rest.split_inclusive('\n');
        let (old, new) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let usual = (old.starts_with("--- a/") || old.starts_with("--- /dev/null"))
            && (new.starts_with("+++ b/") || new.starts_with("+++ /dev/null"));
        match (due, lines.next()) {
            // Models count badly, and notes hardly ever hold such pairs.
            _ if usual => false,
            (None, _) => false,
            (Some(due), None) => due == (1, 1),
            (Some(due), Some(after)) if after.starts_with("@@") => due == (1, 1),
            (Some((old, new)), _) => old > 0 && new > 0,
        }
    }
}

/// The path of a `diff --git` line; the line's own text if the path is ambiguous.
fn git_path(paths: &str) -> String {
    let sides = headers::git_paths(paths).map(|(old, new)| headers::strip_prefixes(old, new));
    match sides {
        Some((_, Side::Path(path))) => path,
        _ => paths.trim_end().to_owned(),
    }
}
