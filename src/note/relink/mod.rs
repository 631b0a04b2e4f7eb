//! Replaces the paths of links in a text, and nothing else.
//!
//! The caller gives the target of each link as one or more spellings of a linkpath; this module
//! writes it in the link's own syntax: wikilinks stay wikilinks, percent-encoding, angle brackets,
//! `\|`, quotes, subpath, title and alias stay as they are. The result is parsed again: a spelling
//! that the scanner would not read back is not used.
//!
//! In reading order: this file, `spell` (one link), `card` (canvases).

mod card;
mod spell;

use std::ops::Range;

pub use card::rewrite_canvas;

use super::link::{Link, is_external};
use super::markdown;

/// The most edits to try one by one if they are not valid together.
const MAX_TRIED: usize = 100;

/// The parts of a link that determine its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkReference<'a> {
    /// Its linkpath, decoded; for a canvas's file the whole path.
    pub path: &'a str,
    /// Whether it is a canvas's file, which is named by its whole path.
    pub is_file: bool,
    /// Whether the name of a note is written with its extension in it.
    pub extension: bool,
}

/// The new target of a link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Goal {
    /// Linkpaths, the one wanted most first.
    pub paths: Vec<String>,
    /// Display texts of a Markdown link to update, as old and new text. The first match counts.
    pub shown: Vec<(String, String)>,
    /// The same for the alias of a wikilink.
    pub alias: Option<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    pub range: Range<usize>,
    pub text: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// In the order of the text; they do not overlap.
    pub edits: Vec<Replacement>,
    /// How many links were changed.
    pub links: usize,
    /// Links for which no spelling would do: the line (in a canvas the node) and the linkpath.
    pub stuck: Vec<(usize, String)>,
}

/// Decides the new form of a link; `None` leaves it unchanged.
pub type Decide<'d> = &'d mut dyn FnMut(LinkReference<'_>) -> Option<Goal>;

pub fn rewrite_note(text: &str, decide: Decide<'_>) -> Rewritten {
    let links = markdown::read(text).links;
    let mut wanted: Vec<Option<String>> = vec![None; links.len()];
    let mut edits: Vec<(usize, Vec<Replacement>)> = Vec::new();
    let mut rewritten = Rewritten::default();
    for (number, link) in links.iter().enumerate().filter(|(_, link)| link.counts()) {
        let raw = &text[link.path.clone()];
        if raw.is_empty() || (!link.kind.is_wiki() && is_external(raw)) {
            continue;
        }
        let path = link.linkpath(text);
        let extension = !link.kind.is_wiki() || ends_with_extension(&path);
        let reference = LinkReference { path: &path, is_file: false, extension };
        let Some(goal) = decide(reference) else { continue };
        let spelt = goal.paths.iter().find_map(|path| {
            let edits = spell::edits(text, link, path, &goal)?;
            Some((path.clone(), edits))
        });
        match spelt {
            None => rewritten.stuck.push((link.line, path.into_owned())),
            Some((path, replacements)) => {
                wanted[number] = Some(path);
                edits.push((number, replacements));
            }
        }
    }
    if edits.is_empty() {
        return rewritten;
    }
    if !has_wanted_links(text, &links, &edits, &wanted) {
        // Names with backticks, for example, can change the meaning of the text around them.
        let (mut accepted, tried) = (Vec::new(), edits.len() <= MAX_TRIED);
        for edit in edits {
            accepted.push(edit);
            if !tried || !has_wanted_links(text, &links, &accepted, &wanted) {
                let (number, _) = accepted.pop().expect("just pushed");
                let link = &links[number];
                rewritten.stuck.push((link.line, link.linkpath(text).into_owned()));
            }
        }
        edits = accepted;
    }
    rewritten.links = edits.len();
    rewritten.edits = edits.into_iter().flat_map(|(_, replacements)| replacements).collect();
    rewritten.edits.sort_by_key(|edit| edit.range.start);
    rewritten.stuck.sort();
    rewritten
}

/// A text with these replacements, which are in order and do not overlap.
pub fn replaced(text: &str, edits: &[Replacement]) -> String {
    let mut new = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for edit in edits {
        new.push_str(&text[at..edit.range.start]);
        new.push_str(&edit.text);
        at = edit.range.end;
    }
    new + &text[at..]
}

/// Whether the edited text has the same links in order, with new paths for the edited ones.
fn has_wanted_links(
    text: &str,
    links: &[Link],
    edits: &[(usize, Vec<Replacement>)],
    wanted: &[Option<String>],
) -> bool {
    let mut all: Vec<Replacement> = edits.iter().flat_map(|(_, e)| e.clone()).collect();
    all.sort_by_key(|edit| edit.range.start);
    if all.windows(2).any(|pair| pair[0].range.end > pair[1].range.start) {
        return false;
    }
    let new = replaced(text, &all);
    let found = markdown::read(&new).links;
    // Both are in the order of the text: a note may have a hundred thousand links.
    let mut edited = edits.iter().map(|(number, _)| *number).peekable();
    found.len() == links.len()
        && links.iter().zip(&found).enumerate().all(|(number, (old, now))| {
            let is_edited = edited.next_if_eq(&number).is_some();
            let path = match &wanted[number] {
                Some(path) if is_edited => path.as_str().into(),
                _ => old.linkpath(text),
            };
            old.kind == now.kind
                && now.linkpath(&new) == path
                && now.subpath(&new) == old.subpath(text)
        })
}

fn ends_with_extension(path: &str) -> bool {
    path.len()
        .checked_sub(3)
        .and_then(|at| path.get(at..))
        .is_some_and(|end| end.eq_ignore_ascii_case(".md"))
}

#[cfg(test)]
mod tests;
