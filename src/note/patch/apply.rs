//! Applies a file's part of a patch to that file's bytes.
//!
//! Unchanged lines are copied byte for byte. Endings of added lines: if all old lines of the hunk
//! match the file exactly, including endings, the patch was made for this file and its endings are
//! used; otherwise an added line ends like its neighbour in the file, and the end of the file keeps
//! or lacks its newline.

use super::{Action, FilePatch, Hunk, HunkLine, MAX_DRIFT, MAX_NAMED, PatchError, PatchLine};
use crate::note::path::show;
use crate::note::text::{Eol, Line, NotText, Text};

const BOM: &str = "\u{feff}";

/// The most line comparisons for placing the hunks of one file, which bounds files and patches that
/// repeat one line.
const MAX_COMPARISONS: usize = 20_000_000;

/// Where one hunk was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HunkPosition {
    /// The line of the old file at which it begins, from 1.
    pub line: usize,
    /// How many lines below the position in its header. 0 if the header has none.
    pub drift: i64,
}

/// The result of a patch to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The whole new file; `None` if it is gone.
    pub bytes: Option<Vec<u8>>,
    pub hunks: usize,
    /// Where each hunk was put.
    pub places: Vec<HunkPosition>,
}

/// Applies a patch to a file's bytes, `None` where there is no file. All hunks or none.
///
/// # Errors
/// [`PatchError`], naming the file, the hunk, and the line expected and found.
pub fn apply(file: Option<&[u8]>, patch: &FilePatch) -> Result<Applied, PatchError> {
    let path = || patch.path.clone();
    check_sides(patch)?;
    match (file, patch.action) {
        (None, Action::Create) => {
            let mut output = String::new();
            for line in patch.hunks.iter().flat_map(Hunk::new_lines) {
                start_line(&mut output, Eol::Lf);
                output.push_str(&line.text);
                output.push_str(line.ending.map_or("", Eol::as_str));
            }
            let hunks = patch.hunks.len();
            let places = vec![HunkPosition { line: 1, drift: 0 }; hunks];
            Ok(Applied { bytes: Some(output.into_bytes()), hunks, places })
        }
        (Some(_), Action::Create) => Err(PatchError::Exists { path: path() }),
        (None, _) => Err(PatchError::Missing { path: path() }),
        (Some(bytes), action) => {
            let file = File::read(bytes, patch)?;
            let (output, places) = file.change(patch)?;
            let bytes = match action {
                Action::Delete => {
                    let left = output.strip_prefix(BOM).unwrap_or(&output);
                    if !left.is_empty() {
                        let lines = left.split_inclusive('\n').count();
                        return Err(PatchError::LeavesLines { path: path(), lines });
                    }
                    None
                }
                _ => Some(output.into_bytes()),
            };
            Ok(Applied { bytes, hunks: patch.hunks.len(), places })
        }
    }
}

/// A new file has no old lines, a deleted one no new ones.
fn check_sides(patch: &FilePatch) -> Result<(), PatchError> {
    for (at, hunk) in patch.hunks.iter().enumerate() {
        let (wrong, lines, action) = match patch.action {
            Action::Create => (hunk.old_lines().next(), "old", "is new"),
            Action::Delete => (hunk.new_lines().next(), "new", "is deleted"),
            Action::Modify => continue,
        };
        if wrong.is_some() {
            let path = patch.path.clone();
            return Err(PatchError::WrongSide { path, hunk: at + 1, lines, action });
        }
    }
    Ok(())
}

/// Ends the last line if it has no ending, so that another can follow.
fn start_line(text: &mut String, eol: Eol) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(eol.as_str());
    }
}

/// A file's text, by lines. A byte-order mark is separate from the first line.
struct File<'a> {
    text: &'a str,
    has_bom: bool,
    /// Where each line starts, and the end of the text.
    starts: Vec<u32>,
}

impl<'a> File<'a> {
    fn read(bytes: &'a [u8], patch: &FilePatch) -> Result<Self, PatchError> {
        let path = || patch.path.clone();
        let not_text = |fault: NotText| PatchError::NotText { path: path(), fault };
        let decoded = Text::decode(bytes, &patch.path).map_err(not_text)?;
        let text = match std::str::from_utf8(bytes) {
            Ok(text) if decoded.encoding().is_editable() => text,
            _ => return Err(PatchError::Wide { path: path() }),
        };
        let mut starts = vec![0];
        for line in text.split_inclusive('\n') {
            // Files over 4 GB are not read into memory by anyone.
            let last = starts.last().copied().unwrap_or_default();
            starts.push(last + u32::try_from(line.len()).unwrap_or(u32::MAX - last));
        }
        Ok(Self { text, has_bom: text.starts_with(BOM), starts })
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// A line with its ending.
    fn raw(&self, at: usize) -> &'a str {
        let raw = &self.text[self.starts[at] as usize..self.starts[at + 1] as usize];
        if at == 0 { raw.strip_prefix(BOM).unwrap_or(raw) } else { raw }
    }

    fn ending(&self, at: usize) -> Option<Eol> {
        Line::new(self.raw(at)).ending
    }

    /// Whether the line at `at` of the file is this one of the patch.
    fn is(&self, at: usize, line: &PatchLine) -> bool {
        self.text_is(at, line) && (line.ending.is_some() || at + 1 == self.len())
    }

    fn text_is(&self, at: usize, line: &PatchLine) -> bool {
        let wanted = match at {
            0 if self.has_bom => line.text.strip_prefix(BOM).unwrap_or(&line.text),
            _ => &line.text,
        };
        Line::new(self.raw(at)).text == wanted
    }

    /// The ending of the line at `at`, else of the one before, else none.
    fn eol_near(&self, at: usize) -> Option<Eol> {
        let here = (at < self.len()).then(|| self.ending(at)).flatten();
        here.or_else(|| (at > 0).then(|| self.ending(at - 1)).flatten())
    }

    /// The new text, and where each hunk was put.
    fn change(&self, patch: &FilePatch) -> Result<(String, Vec<HunkPosition>), PatchError> {
        let mut output = String::with_capacity(self.text.len() + 1024);
        let mut places = Vec::with_capacity(patch.hunks.len());
        let (mut copied, mut drift, mut bom) = (0, 0, self.has_bom);
        let mut budget = MAX_COMPARISONS;
        for (number, hunk) in patch.hunks.iter().enumerate() {
            let search = Search::new(self, &patch.path, number + 1, hunk);
            let at = search.locate(drift, copied, &mut budget)?;
            let found = search.stated_line(0).map(|stated_line| at as i64 - stated_line);
            drift = found.unwrap_or(drift);
            places.push(HunkPosition { line: at + 1, drift: found.unwrap_or_default() });
            if at < copied {
                return Err(PatchError::Overlaps { path: patch.path.clone(), hunk: number + 1 });
            }
            (copied..at).for_each(|line| self.copy(&mut output, line));
            copied = at + search.old.len();
            bom &= !self.splice(&mut output, hunk, at, &search.old);
        }
        (copied..self.len()).for_each(|line| self.copy(&mut output, line));
        // The mark is written once: as the patch has it, else as the file did.
        if bom && !output.starts_with(BOM) {
            output.insert_str(0, BOM);
        }
        Ok((output, places))
    }

    fn copy(&self, output: &mut String, at: usize) {
        start_line(output, self.eol_near(at).unwrap_or(Eol::Lf));
        output.push_str(self.raw(at));
    }

    /// Appends the result of the hunk at line `at`. Returns whether the hunk's old lines contain
    /// the file's byte-order mark, so that it decides its position.
    fn splice(&self, output: &mut String, hunk: &Hunk, at: usize, old: &[&PatchLine]) -> bool {
        let exact = !old.is_empty()
            && old.iter().enumerate().all(|(line, wanted)| wanted.ending == self.ending(at + line));
        let has_bom = |line: usize, text: &str| line == 0 && self.has_bom && text.starts_with(BOM);
        let speaks_of_bom = old.first().is_some_and(|line| has_bom(at, &line.text));
        let mut line = at;
        for change in &hunk.lines {
            match change {
                HunkLine::Context(kept) => {
                    start_line(output, self.eol_near(line).unwrap_or(Eol::Lf));
                    if has_bom(line, &kept.text) {
                        output.push_str(BOM);
                    }
                    output.push_str(self.raw(line));
                    line += 1;
                }
                HunkLine::Remove(_) => line += 1,
                HunkLine::Add(added) => {
                    let near = self.eol_near(line).or(added.ending).unwrap_or(Eol::Lf);
                    start_line(output, near);
                    output.push_str(&added.text);
                    output.push_str(match added.ending {
                        Some(ending) if exact => ending.as_str(),
                        Some(_) => near.as_str(),
                        None => "",
                    });
                }
            }
        }
        let speaks_of_end =
            hunk.old_lines().chain(hunk.new_lines()).any(|line| line.ending.is_none());
        if !exact && !speaks_of_end && line == self.len() && line > 0 {
            self.keep_end(output);
        }
        speaks_of_bom
    }

    /// Drops the final newline where the file had none, unless the last line is nothing else.
    fn keep_end(&self, output: &mut String) {
        if self.text.ends_with('\n') || !output.ends_with('\n') {
            return;
        }
        let ending = Eol::last_in(output).unwrap_or(Eol::Lf);
        let end = output.len() - ending.as_str().len();
        if !output[..end].is_empty() && !output[..end].ends_with('\n') {
            output.truncate(end);
        }
    }
}

/// Looks for the place of one hunk.
struct Search<'a> {
    file: &'a File<'a>,
    path: &'a str,
    number: usize,
    hunk: &'a Hunk,
    old: Vec<&'a PatchLine>,
}

impl<'a> Search<'a> {
    fn new(file: &'a File<'a>, path: &'a str, number: usize, hunk: &'a Hunk) -> Self {
        Self { file, path, number, hunk, old: hunk.old_lines().collect() }
    }

    /// The 0-based line where the hunk should begin by its header, moved by `drift`.
    fn stated_line(&self, drift: i64) -> Option<i64> {
        // No file has more lines, but a header may contain any number.
        let start = i64::from(u32::try_from(self.hunk.old_start?).unwrap_or(u32::MAX));
        // Without old lines, the number is that of the line before.
        Some((start - i64::from(!self.old.is_empty())).max(0).saturating_add(drift))
    }

    /// The 0-based line where the hunk begins. `from` is where the one before ended, and `drift` how
    /// far that was off.
    fn locate(&self, drift: i64, from: usize, budget: &mut usize) -> Result<usize, PatchError> {
        let (path, hunk) = (|| self.path.to_owned(), self.number);
        let lines = self.file.len();
        let stated_line = self.stated_line(drift);
        if self.old.is_empty() {
            let stated_line = stated_line.or((lines == 0).then_some(0));
            let stated_line =
                stated_line.ok_or_else(|| PatchError::Nowhere { path: path(), hunk })?;
            return usize::try_from(stated_line).ok().filter(|&at| at <= lines).ok_or_else(|| {
                let expected = "the line before it".to_owned();
                PatchError::BeyondEnd { path: path(), hunk, lines, expected }
            });
        }
        if let Some(at) = stated_line.and_then(|stated_line| self.fits(stated_line, budget)) {
            return Ok(at);
        }
        let (first, last) = match stated_line {
            Some(stated_line) => (
                stated_line.saturating_sub(MAX_DRIFT as i64),
                stated_line.saturating_add(MAX_DRIFT as i64),
            ),
            None => (0, lines as i64),
        };
        let reach = first.max(from as i64)..=last.min(lines as i64);
        let places: Vec<usize> =
            reach.filter_map(|at| self.fits(at, budget)).take(MAX_NAMED + 1).collect();
        match places[..] {
            [] => Err(self.misfit(stated_line, from)),
            [at] => Ok(at),
            _ => Err(PatchError::Ambiguous {
                path: path(),
                hunk,
                places: places.iter().map(|at| at + 1).collect(),
            }),
        }
    }

    /// `at` as a line, if all old lines are there. Out of budget, nothing is.
    fn fits(&self, at: i64, budget: &mut usize) -> Option<usize> {
        let at = usize::try_from(at).ok()?;
        let end = at.checked_add(self.old.len()).filter(|&end| end <= self.file.len())?;
        // The last line first: it most often reveals a wrong place.
        let mut lines = self.old.iter().zip(at..end).rev();
        lines
            .all(|(line, at)| {
                *budget = budget.saturating_sub(1);
                *budget > 0 && self.file.is(at, line)
            })
            .then_some(at)
    }

    /// Reports the place where the hunk fits best, and the first difference there.
    fn misfit(&self, stated_line: Option<i64>, from: usize) -> PatchError {
        let (path, hunk, lines) = (self.path.to_owned(), self.number, self.file.len());
        let (start, reach) = match stated_line {
            Some(stated_line) => (stated_line.clamp(0, lines as i64), MAX_DRIFT as i64),
            None => (from as i64, lines as i64),
        };
        let mut budget = MAX_COMPARISONS / 10;
        let mut alike = |at: usize| {
            let pairs = self.old.iter().zip(at..lines);
            let same = pairs.take_while(|(line, at)| {
                budget = budget.saturating_sub(1);
                budget > 0 && self.file.is(*at, line)
            });
            same.count()
        };
        // The nearest of the places where most lines fit.
        let (mut best, mut most) = (start as usize, alike(start as usize));
        for at in (1..=reach.min(10_000)).flat_map(|distance| [start - distance, start + distance])
        {
            let Some(at) = usize::try_from(at).ok().filter(|&at| at < lines) else { continue };
            let same = alike(at);
            if same > most {
                (best, most) = (at, same);
            }
        }
        let cut = |text: &str| text.chars().take(200).flat_map(show).collect::<String>();
        let wanted = self.old.get(most).or(self.old.last());
        let mut expected = wanted.map(|line| cut(&line.text)).unwrap_or_default();
        let at = best + most;
        if at >= lines {
            return PatchError::BeyondEnd { path, hunk, lines, expected };
        }
        if wanted.is_some_and(|line| self.file.text_is(at, line)) {
            expected.push_str(" at the end of the file");
        }
        let mut budget = MAX_COMPARISONS / 10;
        let mut places = (0..=lines as i64).filter_map(|at| self.fits(at, &mut budget));
        let elsewhere = match (places.next(), places.next()) {
            (Some(at), None) => Some(at + 1),
            _ => None,
        };
        let found = cut(Line::new(self.file.raw(at)).text);
        PatchError::DoesNotFit { path, hunk, line: at + 1, expected, found, elsewhere }
    }
}
