//! The differences between two texts as a unified diff.
//!
//! People and models read it after an edit, so its size is bounded, and it says how much it leaves
//! out. [`hunks`] returns the whole diff as values.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_deadline, group_diff_ops};

use crate::note::patch::{Action, FilePatch, Hunk, HunkLine, PatchLine};

/// The most lines of a diff in text form.
pub const MAX_DIFF_LINES: usize = 200;

/// The most bytes of a diff in text form, not counting the line that says how much was left out.
pub const MAX_DIFF_BYTES: usize = 20 * 1024;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// Above this many changed lines, both sides together, the diff is not minimised.
const MAX_COMPARED: usize = 20_000;

/// Time limit for minimising a diff. After it the diff is still correct, only longer.
const PATIENCE: Duration = Duration::from_millis(200);

/// Characters shown of one line.
const LINE_CHARS: usize = 1_000;

/// The text diff between a file's old and new bytes: at most [`MAX_DIFF_LINES`] lines and
/// [`MAX_DIFF_BYTES`] bytes, then a line with the number of lines left out. Empty if both are
/// equal; one sentence if either is not UTF-8. `path` is the file's vault path.
pub fn unified(old: &[u8], new: &[u8], path: &str) -> String {
    part(old, new, path, 0, false).into_text()
}

/// A page of a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffPart {
    /// The text of the page, with the file headers on the first page.
    pub text: String,
    /// The number of lines after this page.
    pub more: usize,
    /// The index of the line at which the next page starts. `None` on the last page.
    pub next: Option<usize>,
    /// The number of lines on this page that were cut.
    pub cut: usize,
    /// Lines added by the whole diff.
    pub added: usize,
    /// Lines removed by the whole diff.
    pub removed: usize,
}

impl DiffPart {
    /// The page, with a last line that says how many lines follow.
    pub fn into_text(self) -> String {
        let mut text = self.text;
        match self.more {
            0 => {}
            1 => text.push_str("[1 more line of the diff is left out]\n"),
            more => text.push_str(&format!("[{more} more lines of the diff are left out]\n")),
        }
        text
    }
}

/// The diff between a file's old and new bytes from line `first` (0-based) on, as many lines as
/// [`unified`] shows, and at least one. Long lines are cut unless `whole` is set.
pub fn part(old: &[u8], new: &[u8], path: &str, first: usize, whole: bool) -> DiffPart {
    if old == new {
        return DiffPart::default();
    }
    let (Ok(old), Ok(new)) = (std::str::from_utf8(old), std::str::from_utf8(new)) else {
        let text = format!("Binary files a/{path} and b/{path} differ\n");
        return DiffPart {
            text: if first == 0 { text } else { String::new() },
            ..DiffPart::default()
        };
    };
    let file = FilePatch { path: path.to_owned(), action: Action::Modify, hunks: Vec::new() };
    let mut part = DiffPart::default();
    let (mut shown, mut at) = (0, 0);
    if first == 0 {
        part.text = file.to_string();
    }
    for hunk in &hunks(old, new) {
        let of =
            |wanted: fn(&HunkLine) -> bool| hunk.lines.iter().filter(|line| wanted(line)).count();
        part.added += of(|line| matches!(line, HunkLine::Add(_)));
        part.removed += of(|line| matches!(line, HunkLine::Remove(_)));
        let lines = hunk.lines.iter().map(ToString::to_string);
        for line in std::iter::once(hunk.header()).chain(lines) {
            at += 1;
            if at <= first {
                continue;
            }
            let shorter = if whole { line.clone() } else { cut_line(&line) };
            let is_full =
                shown >= MAX_DIFF_LINES - 2 || part.text.len() + shorter.len() > MAX_DIFF_BYTES;
            // After the first line left out, nothing more is shown.
            if part.more > 0 || (is_full && shown > 0) {
                part.next.get_or_insert(at - 1);
                part.more += 1;
                continue;
            }
            shown += shorter.matches('\n').count();
            part.cut += usize::from(shorter != line);
            part.text.push_str(&shorter);
        }
    }
    part
}

/// Cuts a long line and keeps its ending.
fn cut_line(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) if line[end..].trim_end_matches(['\r', '\n']).contains(|_| true) => {
            let ending =
                if line.contains("\n\\ ") { "\n\\ No newline at end of file\n" } else { "\n" };
            format!("{}…{ending}", &line[..end])
        }
        _ => line.to_owned(),
    }
}

/// The diff between two texts as hunks with three lines of context. Applied to `old` they give
/// `new`; reversed and applied to `new` they give `old`, byte for byte.
///
/// The cost is bounded: the common start and end are skipped, and above a size and a time limit the
/// diff is not minimal.
pub fn hunks(old: &str, new: &str) -> Vec<Hunk> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let groups = group_diff_ops(operations(&old, &new), CONTEXT);
    groups.iter().filter(|group| !group.is_empty()).map(|group| hunk(group, &old, &new)).collect()
}

pub(super) fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
    let old_len = old_rest.len() - tail;
    let new_len = new_rest.len() - tail;
    let mut operations = vec![DiffOp::Equal { old_index: 0, new_index: 0, len: head }];
    if old_len + new_len > MAX_COMPARED || old_len == 0 || new_len == 0 {
        let (old_index, new_index) = (head, head);
        operations.push(match (old_len, new_len) {
            (_, 0) => DiffOp::Delete { old_index, old_len, new_index },
            (0, _) => DiffOp::Insert { old_index, new_index, new_len },
            _ => DiffOp::Replace { old_index, old_len, new_index, new_len },
        });
    } else {
        operations.extend(capture_diff_deadline(
            Algorithm::Myers,
            old,
            head..head + old_len,
            new,
            head..head + new_len,
            Some(Instant::now() + PATIENCE),
        ));
    }
    let (old_index, new_index) = (head + old_len, head + new_len);
    operations.push(DiffOp::Equal { old_index, new_index, len: tail });
    operations.retain(|operation| {
        !(operation.old_range().is_empty() && operation.new_range().is_empty())
    });
    operations
}

fn hunk(group: &[DiffOp], old: &[&str], new: &[&str]) -> Hunk {
    let mut lines = Vec::new();
    for operation in group {
        let (olds, news) = (operation.old_range(), operation.new_range());
        if let DiffOp::Equal { .. } = operation {
            lines.extend(old[olds].iter().map(|raw| HunkLine::Context(PatchLine::new(raw))));
        } else {
            lines.extend(old[olds].iter().map(|raw| HunkLine::Remove(PatchLine::new(raw))));
            lines.extend(new[news].iter().map(|raw| HunkLine::Add(PatchLine::new(raw))));
        }
    }
    let mut hunk = Hunk { old_start: None, new_start: None, lines };
    // A side without lines gets the number of the line before it.
    let (no_old, no_new) = (hunk.old_lines().next().is_none(), hunk.new_lines().next().is_none());
    let number = |at: usize, empty: bool| at + usize::from(!empty);
    if let Some(first) = group.first() {
        hunk.old_start = Some(number(first.old_range().start, no_old));
        hunk.new_start = Some(number(first.new_range().start, no_new));
    }
    hunk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_like_any_diff() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
        let new = "a\nb\nc\nd\nE\nf\ng\nh\ni\nj\nk\nl\n";
        insta::assert_snapshot!(unified(old.as_bytes(), new.as_bytes(), "Note.md"), @r"
        --- a/Note.md
        +++ b/Note.md
        @@ -2,10 +2,11 @@
         b
         c
         d
        -e
        +E
         f
         g
         h
         i
         j
         k
        +l
        ");
        let whole =
            "--- a/n.md\n+++ b/n.md\n@@ -0,0 +1,2 @@\n+a\r\n+b\n\\ No newline at end of file\n";
        assert_eq!(unified(b"", b"a\r\nb", "n.md"), whole);
        let newline = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n";
        assert!(unified(b"a", b"a\n", "n.md").ends_with(newline));
        assert!(
            unified(b"a", b"b", "my note.md")
                .starts_with("--- a/my note.md\t\n+++ b/my note.md\t\n")
        );
        assert_eq!(unified(b"a", b"a", "n.md"), "");
        assert_eq!(unified(b"a", b"\xff", "n.md"), "Binary files a/n.md and b/n.md differ\n");
    }

    #[test]
    fn carriage_returns_stay() {
        let text = unified(b"a\r\nb\rc\r\n", b"a\r\nb\rd\r\n", "n.md");
        assert!(text.ends_with(" a\r\n-b\rc\r\n+b\rd\r\n"), "{text:?}");
    }

    #[test]
    fn long_text_is_cut_with_a_note() {
        let many: String = (0..1000).map(|line| format!("{line}\n")).collect();
        let text = unified(b"", many.as_bytes(), "n.md");
        assert_eq!(text.lines().count(), MAX_DIFF_LINES + 1);
        assert!(text.ends_with("\n+196\n[803 more lines of the diff are left out]\n"), "{text}");
        let text = unified(b"a\n", "x".repeat(3_000_000).as_bytes(), "n.md");
        assert!(text.len() < 2_000 && text.contains("x…\n\\ No newline"), "{text}");
        let wide = format!("{}\n", "é".repeat(900)).repeat(100);
        assert!(unified(b"", wide.as_bytes(), "n.md").len() < MAX_DIFF_BYTES + 100);
    }

    #[test]
    fn parts_make_the_whole() {
        let old: String = (0..1_000).map(|line| format!("{line}\n")).collect();
        let long = "x".repeat(50_000);
        let new = old.replace("7\n", "seven\n").replace("500\n", &format!("{long}\n")) + "end";
        let first = part(old.as_bytes(), new.as_bytes(), "n.md", 0, true);
        let (mut text, mut at) = (first.text.clone(), first.clone());
        while let Some(next) = at.next {
            at = part(old.as_bytes(), new.as_bytes(), "n.md", next, true);
            assert_eq!((at.added, at.removed, at.cut), (first.added, first.removed, 0));
            text.push_str(&at.text);
        }
        let whole: String = hunks(&old, &new)
            .iter()
            .flat_map(|hunk| {
                let lines = hunk.lines.iter().map(ToString::to_string);
                std::iter::once(hunk.header()).chain(lines).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(text, format!("--- a/n.md\n+++ b/n.md\n{whole}"));
        assert_eq!((first.added, first.removed), (102, 101));
        let cut = part(b"", long.as_bytes(), "n.md", 0, false);
        assert_eq!((cut.cut, cut.more, cut.added), (1, 0, 1));
    }

    #[test]
    fn a_big_change_does_not_take_long() {
        let started = Instant::now();
        let old: String =
            (0..200_000).map(|line| format!("the old line with number {line}\n")).collect();
        let new = old.replace("old", "new");
        unified(old.as_bytes(), new.as_bytes(), "n.md");
        let old: String = (0..9_000).map(|line| format!("{}\n", line * 7 % 1000)).collect();
        let new: String = (0..9_000).map(|line| format!("{}\n", line * 11 % 1000)).collect();
        unified(old.as_bytes(), new.as_bytes(), "n.md");
        assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    }
}
