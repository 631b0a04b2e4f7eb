//! Unified diffs: read as people, tools and models write them, applied as a value.
//!
//! Strict where a guess could damage a note: every context and removed line must be in the file,
//! the place must be the line that the header names or the only match near it, and hunks must not
//! overlap. Lenient where a guess cannot: models miscount the lines of a hunk, so its body counts,
//! not its header; line endings of patch and file may differ; the file's byte-order mark need not
//! be in the patch.
//!
//! Nothing is fetched or written: [`parse()`] returns the content of a patch, [`apply()`] the new
//! file.

mod apply;
mod error;
mod headers;
mod parse;
#[cfg(any(test, feature = "conformance"))]
mod reverse;

use std::fmt;

pub use apply::{Applied, HunkPosition, apply};
pub use error::PatchError;
pub use parse::parse;

use crate::note::text::{Eol, Line};

/// The longest patch, in bytes.
pub const MAX_PATCH_BYTES: usize = 10 * 1024 * 1024;

/// The maximum distance of a hunk from its header's position, in lines.
pub const MAX_DRIFT: usize = 200;

/// Places that an error names where a hunk fits at several.
const MAX_NAMED: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// The file, as the header names it without `a/` or `b/`: not yet checked or resolved.
    pub path: String,
    /// Whether the file is created, changed or deleted.
    pub action: Action,
    /// The changes, from the top of the file down.
    pub hunks: Vec<Hunk>,
}

/// The action on the file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It must not be there before.
    Create,
    /// It is there before and after.
    Modify,
    /// It is gone afterwards.
    Delete,
}

/// One run of changed lines with those around it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk {
    /// The number in the header for the old file: its first line here, 1-based; where the hunk has
    /// no old line, the one before. `None` for a bare `@@`.
    pub old_start: Option<usize>,
    /// The same for the new file.
    pub new_start: Option<usize>,
    pub lines: Vec<HunkLine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkLine {
    Context(PatchLine),
    Remove(PatchLine),
    Add(PatchLine),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchLine {
    /// The text, without what ends it.
    pub text: String,
    /// The line's ending; `None` if `\ No newline at end of file` says so.
    pub ending: Option<Eol>,
}

impl PatchLine {
    /// Takes a line with its ending, as [`str::split_inclusive`] gives it.
    pub fn new(raw: &str) -> Self {
        let Line { text, ending } = Line::new(raw);
        Self { text: text.to_owned(), ending }
    }
}

impl Hunk {
    /// The lines that must be in the old file.
    pub fn old_lines(&self) -> impl Iterator<Item = &PatchLine> {
        self.lines.iter().filter_map(|line| match line {
            HunkLine::Context(line) | HunkLine::Remove(line) => Some(line),
            HunkLine::Add(_) => None,
        })
    }

    /// The lines that will be in the new file.
    pub fn new_lines(&self) -> impl Iterator<Item = &PatchLine> {
        self.lines.iter().filter_map(|line| match line {
            HunkLine::Context(line) | HunkLine::Add(line) => Some(line),
            HunkLine::Remove(_) => None,
        })
    }
}

impl fmt::Display for FilePatch {
    /// The patch as text that [`parse()`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |prefix: &str, gone: bool| {
            if gone { "/dev/null".to_owned() } else { headers::write_path(prefix, &self.path) }
        };
        writeln!(f, "--- {}", side("a/", self.action == Action::Create))?;
        writeln!(f, "+++ {}", side("b/", self.action == Action::Delete))?;
        self.hunks.iter().try_for_each(|hunk| hunk.fmt(f))
    }
}

impl fmt::Display for Hunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.header())?;
        self.lines.iter().try_for_each(|line| line.fmt(f))
    }
}

impl Hunk {
    /// The line that opens the hunk.
    pub fn header(&self) -> String {
        let range = |start: Option<usize>, count: usize| match count {
            1 => start.unwrap_or(1).to_string(),
            _ => format!("{},{count}", start.unwrap_or(usize::from(count > 0))),
        };
        let old = range(self.old_start, self.old_lines().count());
        let new = range(self.new_start, self.new_lines().count());
        format!("@@ -{old} +{new} @@\n")
    }
}

impl fmt::Display for HunkLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, line) = match self {
            Self::Context(line) => (' ', line),
            Self::Remove(line) => ('-', line),
            Self::Add(line) => ('+', line),
        };
        let ending = line.ending.map_or("\n\\ No newline at end of file\n", Eol::as_str);
        write!(f, "{sign}{}{ending}", line.text)
    }
}

#[cfg(test)]
mod tests;
