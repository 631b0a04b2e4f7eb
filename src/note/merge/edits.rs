//! The edits of one side, compared with those of the other.

use std::ops::Range;

use similar::DiffOp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Ours,
    Theirs,
}

/// Some tokens of the base that are others in a side's text.
#[derive(Debug, Clone)]
pub(super) struct Edit<'e, 't> {
    pub side: Side,
    /// In the base. An insertion or removal in a run of equal tokens is at the lowest position.
    pub old: Range<usize>,
    /// How far above `old` it could be placed with the same result.
    pub slack: usize,
    /// In the side's text.
    range: Range<usize>,
    text: &'e [&'t str],
}

impl<'t> Edit<'_, 't> {
    /// The replacement.
    pub fn tokens(&self) -> &[&'t str] {
        &self.text[self.range.clone()]
    }

    /// The offset in its side's text.
    pub fn at(&self) -> usize {
        self.range.start
    }

    /// The part of the base that it may concern.
    pub fn reach(&self) -> Range<usize> {
        self.old.start - self.slack..self.old.end
    }

    /// The order of edits that do not overlap. Of two insertions at one place the one with more
    /// slack comes first.
    pub fn order(&self) -> (usize, usize, bool) {
        (self.old.start, self.old.end, self.slack == 0)
    }

    /// Whether `other` does all of this, and perhaps more.
    pub fn is_part_of(&self, other: &Self) -> bool {
        if self.old == other.old && self.tokens() == other.tokens() {
            return true;
        }
        if self.old.is_empty() {
            return self.old == other.old && is_subsequence(self.tokens(), other.tokens());
        }
        if self.old.start < other.old.start || self.old.end > other.old.end {
            return false;
        }
        // Token by token, if that is possible.
        match (self.tokens().len(), other.tokens().len()) {
            (0, 0) => true,
            (mine, its) if mine == self.old.len() && its == other.old.len() => {
                let from = self.old.start - other.old.start;
                *self.tokens() == other.tokens()[from..from + mine]
            }
            _ => false,
        }
    }
}

fn is_subsequence(short: &[&str], long: &[&str]) -> bool {
    let mut long = long.iter();
    short.iter().all(|token| long.any(|other| other == token))
}

/// The changes that make `text` of `base`, in order. None touches another.
pub(super) fn between<'e, 't>(
    base: &[&str],
    text: &'e [&'t str],
    operations: Vec<DiffOp>,
    side: Side,
) -> Vec<Edit<'e, 't>> {
    let mut edits: Vec<Edit<'e, 't>> = Vec::new();
    for operation in operations {
        if let DiffOp::Equal { .. } = operation {
            continue;
        }
        let (old, range) = (operation.old_range(), operation.new_range());
        match edits.last_mut() {
            Some(last) if last.old.end == old.start => {
                last.old.end = old.end;
                last.range.end = range.end;
            }
            _ => edits.push(Edit { side, old, slack: 0, range, text }),
        }
    }
    for at in 0..edits.len() {
        // A token stays between it and its neighbours.
        let top = at.checked_sub(1).map_or(0, |before| edits[before].old.end + 1);
        let bottom = edits.get(at + 1).map_or(base.len(), |next| next.old.start - 1);
        let edit = &mut edits[at];
        let (up, down) = (edit.old.start - top, bottom - edit.old.end);
        let (up, down) = match (edit.old.is_empty(), edit.range.is_empty()) {
            (false, true) => slides(base, &edit.old, up, down),
            (true, false) => slides(text, &edit.range, up, down),
            _ => continue,
        };
        edit.old = edit.old.start + down..edit.old.end + down;
        edit.range = edit.range.start + down..edit.range.end + down;
        edit.slack = up + down;
    }
    edits
}

/// How far some tokens can be moved up and down with the same result: as long as the tokens that
/// they pass equal the ones that they leave.
fn slides(text: &[&str], range: &Range<usize>, up: usize, down: usize) -> (usize, usize) {
    let above = (1..=up).take_while(|by| text[range.start - by] == text[range.end - by]);
    let below = (0..down).take_while(|by| text[range.start + by] == text[range.end + by]);
    (above.count(), below.count())
}

/// Calls `met` for each pair of different sides that overlap or touch, from the top downwards.
pub(super) fn each_meeting(
    ours: &[Edit<'_, '_>],
    theirs: &[Edit<'_, '_>],
    mut met: impl FnMut(usize, usize),
) {
    let (mut our, mut their) = (0, 0);
    while let (Some(one), Some(other)) = (ours.get(our), theirs.get(their)) {
        let (one, other) = (one.reach(), other.reach());
        if one.start <= other.end && other.start <= one.end {
            met(our, their);
        }
        // Whichever ends first meets nothing more.
        if (one.end, one.start) <= (other.end, other.start) { our += 1 } else { their += 1 }
    }
}
