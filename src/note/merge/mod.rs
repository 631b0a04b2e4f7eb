//! Merges two independent changes of one text.
//!
//! Both start from one base, here the text that a change of ours left. [`lines`] and [`without`]
//! merge them where they do not overlap: by lines, where a line that both changed is left to a
//! person, or by words, where only a link differs. The result contains nothing that is in neither
//! text, and loses no line that one side has and the other did not touch.
//!
//! `similar` merges too, but searches for a shortest difference without a time limit, may match the
//! wrong one of repeated lines, and cannot detect that part of a change is already undone. The
//! tests compare with its result.

mod edits;
mod parts;

use super::diff;
use edits::{Edit, Side};
use parts::{parts, pieces};

/// Why two changes are not joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unmerged {
    /// One of the three is not UTF-8, or holds a NUL.
    #[error("it is not text")]
    NotText,
    /// Both changed the same lines, or lines next to each other.
    #[error("both changed line {line}")]
    Clash {
        /// Where, as a line of the second text, from 1.
        line: usize,
    },
}

/// Merges two versions of `base` by lines. Their order matters only for the line of a conflict.
///
/// Lines keep their own endings, and the byte-order mark is a part of the first; whether the last
/// one has an ending counts as a separate line. A change that both made, or that one made in part,
/// counts once. In a run of equal lines, changes of any two of them overlap.
pub fn lines(base: &[u8], one: &[u8], other: &[u8]) -> Result<Vec<u8>, Unmerged> {
    let text = |bytes| {
        let text: &str = std::str::from_utf8(bytes).map_err(|_| Unmerged::NotText)?;
        if text.contains('\0') { Err(Unmerged::NotText) } else { Ok(Lines::of(text)) }
    };
    let (base, one, other) = (text(base)?, text(one)?, text(other)?);
    let tokens = (base.tokens(), one.tokens(), other.tokens());
    let joined = join(&tokens.0, &tokens.1, &tokens.2, Met::Clashes);
    let joined = joined.map_err(|at| Unmerged::Clash { line: at + 1 })?;
    Ok(unended(joined.concat(), joined.last() == Some(&NO_ENDING)).into_bytes())
}

/// Reverts a change in a text that was edited since: the change turned `before` into `done`, and
/// later edits turned `done` into `now`. `None` if both changed the same place, or it is not text.
///
/// Compares words and single marks, so that a link in a paragraph edited elsewhere is not an
/// obstacle. The result contains nothing that is in neither `before` nor `now`.
pub fn without(done: &[u8], before: &[u8], now: &[u8]) -> Option<Vec<u8>> {
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let (done, before, now) = (pieces(text(done)?), pieces(text(before)?), pieces(text(now)?));
    join(&done, &before, &now, Met::Clashes).ok().map(|joined| joined.concat().into_bytes())
}

/// As [`without`], if `now` differs from `done` only in links: a link that both changed stays as in
/// `now`. `None` if more than links changed since, or if the change created, redirected or moved
/// one of these links.
pub fn reverted_except_links(done: &[u8], before: &[u8], now: &[u8]) -> Option<Vec<u8>> {
    if !differ_in_links_alone(done, now) {
        return None;
    }
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let links =
        |text| parts(text).into_iter().filter(|part| part.0).map(|part| part.1).collect::<Vec<_>>();
    let (was, is, had) = (links(text(done)?), links(text(now)?), links(text(before)?));
    if had.len() != was.len() {
        return following(done, now, before).filter(|merged| differ_in_links_alone(merged, before));
    }
    // A link that is elsewhere on the other side may have been moved: two files can have one name.
    let may_lead_elsewhere = |link: &str, part: &str| {
        link != part
            && (file_name(link) != file_name(part) || had.contains(&link) || was.contains(&part))
    };
    // Link by link, since only the order identifies them.
    let (mut since, mut joined) = (was.iter().zip(is), String::new());
    for (is_link, part) in parts(text(before)?) {
        joined.push_str(match is_link.then(|| since.next()).flatten() {
            Some((was, is)) if *was != is && is != part && may_lead_elsewhere(was, part) => {
                return None;
            }
            Some((was, is)) if *was != is => is,
            _ => part,
        });
    }
    Some(joined.into_bytes())
}

fn file_name(link: &str) -> &str {
    let target = match (link.strip_prefix("[["), link.split_once("](")) {
        (Some(wikilink), _) => wikilink.split(['|', '#', ']']).next(),
        (None, Some((_, target))) => target
            .strip_suffix(')')
            .and_then(|target| target.trim_start_matches('<').split(['#', '>', '"']).next()),
        // In a canvas.
        (None, None) => link.rsplit('"').nth(1),
    };
    let name = target.unwrap_or(link).rsplit('/').next().unwrap_or(link).trim_end();
    name.strip_suffix(".md").unwrap_or(name)
}

/// `merged`, made from `base`, with the later link changes between `base` and `followed`. If both
/// changed a link, `merged` wins. `None` if it is not text.
pub fn following(base: &[u8], merged: &[u8], followed: &[u8]) -> Option<Vec<u8>> {
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let tokens = |text| parts(text).into_iter().map(|(_, part)| part).collect::<Vec<_>>();
    let base = tokens(text(base)?);
    let (merged, followed) = (tokens(text(merged)?), tokens(text(followed)?));
    let joined = join(&base, &merged, &followed, Met::FirstWins);
    joined.ok().map(|joined| joined.concat().into_bytes())
}

/// Whether two texts differ only in their links.
pub fn differ_in_links_alone(one: &[u8], other: &[u8]) -> bool {
    let (Ok(one), Ok(other)) = (std::str::from_utf8(one), std::str::from_utf8(other)) else {
        return false;
    };
    let (one, other) = (parts(one), parts(other));
    one.len() == other.len()
        && one.iter().zip(&other).all(|(one, other)| one == other || (one.0 && other.0))
}

/// The result of two changes at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    /// They cannot be joined.
    Clashes,
    /// The first one's is taken.
    FirstWins,
}

/// The tokens with both changes, or where in `theirs` one is that meets one of ours.
fn join<'t>(
    base: &[&'t str],
    ours: &[&'t str],
    theirs: &[&'t str],
    met: Met,
) -> Result<Vec<&'t str>, usize> {
    let mut ours = edits::between(base, ours, diff::operations(base, ours), Side::Ours);
    let mut theirs = edits::between(base, theirs, diff::operations(base, theirs), Side::Theirs);
    let mut dropped = (vec![false; ours.len()], vec![false; theirs.len()]);
    edits::each_meeting(&ours, &theirs, |our, their| {
        // Equal edits count once.
        if theirs[their].is_part_of(&ours[our]) {
            dropped.1[their] = true;
        } else if ours[our].is_part_of(&theirs[their]) {
            dropped.0[our] = true;
        }
    });
    retain(&mut ours, &dropped.0);
    retain(&mut theirs, &dropped.1);
    let (mut clashes, mut above) = (vec![false; theirs.len()], Above::default());
    edits::each_meeting(&ours, &theirs, |our, their| {
        clashes[their] |= !above.lets_stand(&ours[our], &theirs[their]);
    });
    match met {
        Met::Clashes => {
            if let Some(clash) = clashes.iter().position(|clash| *clash) {
                return Err(theirs[clash].at());
            }
        }
        Met::FirstWins => retain(&mut theirs, &clashes),
    }
    let mut all: Vec<Edit<'_, 't>> = ours.into_iter().chain(theirs).collect();
    all.sort_by_key(Edit::order);
    let (mut joined, mut at) = (Vec::with_capacity(base.len()), 0);
    for edit in &all {
        joined.extend_from_slice(&base[at..edit.old.start]);
        joined.extend_from_slice(edit.tokens());
        at = edit.old.end;
    }
    joined.extend_from_slice(&base[at..]);
    Ok(joined)
}

fn retain(edits: &mut Vec<Edit<'_, '_>>, dropped: &[bool]) {
    let mut dropped = dropped.iter();
    edits.retain(|_| !dropped.next().is_some_and(|dropped| *dropped));
}

/// The edits of each side that must not move to the beginning of their reach, since an earlier one
/// ends there.
#[derive(Default)]
struct Above([Option<usize>; 2]);

impl Above {
    /// Whether two edits of different sides are independent. Called from the top downwards. If they
    /// would touch, an edit that can be placed elsewhere with the same result moves away.
    fn lets_stand(&mut self, one: &Edit<'_, '_>, other: &Edit<'_, '_>) -> bool {
        let (first, second) = if one.reach().end <= other.reach().start {
            (one, other)
        } else if other.reach().end <= one.reach().start {
            (other, one)
        } else {
            return false;
        };
        if first.reach().end < second.reach().start {
            return true;
        }
        let is_pushed = self.0[first.side as usize] == Some(first.old.start);
        if first.slack > usize::from(is_pushed) {
            return true;
        }
        let has_room = second.slack > 0;
        if has_room {
            self.0[second.side as usize] = Some(second.old.start);
        }
        has_room
    }
}

/// Follows a last line without an ending.
const NO_ENDING: &str = "";

/// A text whose last line has an ending, and whether it was put there.
struct Lines {
    text: String,
    ended: bool,
}

impl Lines {
    fn of(text: &str) -> Self {
        // An ending behind a lone carriage return would make another ending of the two.
        let ended = !text.is_empty() && !text.ends_with(['\n', '\r']);
        let mut text = text.to_owned();
        if ended {
            let is_crlf = text.split_inclusive('\n').next().is_some_and(|l| l.ends_with("\r\n"));
            text.push_str(if is_crlf { "\r\n" } else { "\n" });
        }
        Self { text, ended }
    }

    fn tokens(&self) -> Vec<&str> {
        let lines = self.text.split_inclusive('\n');
        lines.chain(self.ended.then_some(NO_ENDING)).collect()
    }
}

fn unended(mut text: String, unended: bool) -> String {
    if unended {
        let ending = if text.ends_with("\r\n") { 2 } else { 1 };
        text.truncate(text.len().saturating_sub(ending));
    }
    text
}

#[cfg(test)]
mod tests;
