//! The inverse of a patch, for tests and fuzz targets.

use super::{Action, FilePatch, Hunk, HunkLine};

impl FilePatch {
    /// The inverse patch: applied to the result of this one, it restores the original bytes,
    /// provided the patch matches the file's line endings.
    pub fn reverse(&self) -> Self {
        let action = match self.action {
            Action::Create => Action::Delete,
            Action::Modify => Action::Modify,
            Action::Delete => Action::Create,
        };
        let hunks = self.hunks.iter().map(Hunk::reverse).collect();
        Self { path: self.path.clone(), action, hunks }
    }
}

impl Hunk {
    fn reverse(&self) -> Self {
        let reverse = |line: &HunkLine| match line.clone() {
            HunkLine::Context(line) => HunkLine::Context(line),
            HunkLine::Remove(line) => HunkLine::Add(line),
            HunkLine::Add(line) => HunkLine::Remove(line),
        };
        Self {
            old_start: self.new_start,
            new_start: self.old_start,
            lines: self.lines.iter().map(reverse).collect(),
        }
    }
}
