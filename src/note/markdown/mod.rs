//! Reads what Obsidian indexes of a note: links, headings, block ids, tags and frontmatter, with
//! their byte ranges.
//!
//! Not a renderer: it parses only as much Markdown as is needed to tell prose from code, math and
//! HTML, in which nothing counts. One pass over the lines (`block`) finds the prose, and one over
//! each piece of prose (`inline`) finds its content. The cost is linear in the text.
//!
//! In reading order: this file, `block`, `inline`, `destination`; `ahead` counts steps so that
//! tests can check the linear cost.

pub(super) mod ahead;
mod block;
mod destination;
mod inline;
mod lines;

use std::ops::Range;

pub use inline::single_link;

use super::frontmatter::{self, Frontmatter};
use super::link::Link;
use lines::Lines;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its text, without the marks around it.
    pub text: Range<usize>,
    /// 1-based line.
    pub line: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockId {
    /// The id, without `^`.
    pub id: Range<usize>,
    /// 1-based line.
    pub line: usize,
}

/// A block of the body: a paragraph, a list item without the items below it, a heading, a table,
/// code, or any other separate block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its lines, with the marks before them, without the last line's end.
    pub range: Range<usize>,
    /// The character between the brackets of a task; a blank if it is open.
    pub task: Option<char>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagAt {
    /// Its name, without `#`.
    pub name: Range<usize>,
    /// 1-based line.
    pub line: usize,
}

/// The content of a note in text order. Ranges are bytes of the text, on character boundaries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    pub frontmatter: Option<Frontmatter>,
    /// The start of the body, after byte-order mark and frontmatter.
    pub body: usize,
    /// Every link, external ones included. A link may be inside the text of another.
    pub links: Vec<Link>,
    pub headings: Vec<Heading>,
    pub blocks: Vec<BlockId>,
    /// Every block, in order; none overlap.
    pub block_ranges: Vec<Block>,
    /// Every tag of the body; the tags of the frontmatter are in its properties.
    pub tags: Vec<TagAt>,
}

/// Parses a note. Never fails: anything that is not understood is prose.
pub fn read(text: &str) -> Document {
    let mut document = Document::default();
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    document.frontmatter = frontmatter::find(text, start);
    document.body = start;
    // The links of an unclosed block are read as text: Obsidian reads no properties in it.
    if let Some(frontmatter) = document.frontmatter.as_ref().filter(|found| found.is_closed()) {
        document.body = frontmatter.range.end;
        document.links = frontmatter.links.clone();
    }
    let mut found = inline::ParsedInline::default();
    block::walk(text, document.body, &mut found);
    comments(text, &mut found);
    document.links.append(&mut found.links);
    document.headings = found.headings;
    document.blocks = found.blocks;
    document.block_ranges = found.block_ranges;
    document.tags = found.tags;
    document.links.sort_by_key(|link| (link.range.start, std::cmp::Reverse(link.range.end)));
    number_lines(text, &mut document);
    document
}

fn number_lines(text: &str, document: &mut Document) {
    let mut lines = Lines::new(text);
    document.links.iter_mut().for_each(|link| link.line = lines.line_at(link.range.start));
    let mut lines = Lines::new(text);
    document
        .headings
        .iter_mut()
        .for_each(|heading| heading.line = lines.line_at(heading.text.start));
    let mut lines = Lines::new(text);
    document.blocks.iter_mut().for_each(|block| block.line = lines.line_at(block.id.start));
    let mut lines = Lines::new(text);
    document.tags.sort_by_key(|tag| tag.name.start);
    document.tags.iter_mut().for_each(|tag| tag.line = lines.line_at(tag.name.start));
}

/// Pairs the `%%` marks and flags the links between them. A mark at the beginning of a line can
/// close anywhere below, or never; one inside a line must close in the same piece of prose.
fn comments(text: &str, found: &mut inline::ParsedInline) {
    let marks = std::mem::take(&mut found.percents);
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some((open, region)) = marks.get(at).copied() {
        let begins_line = begins_line(text, open);
        match marks.get(at + 1) {
            Some((close, other)) if begins_line || *other == region => {
                spans.push(open..*close);
                at += 2;
            }
            None if begins_line => {
                spans.push(open..text.len());
                break;
            }
            _ => at += 1,
        }
    }
    for link in &mut found.links {
        let next = spans.partition_point(|span| span.start <= link.range.start);
        link.in_comment = next > 0 && spans[next - 1].contains(&link.range.start);
    }
}

/// Whether only a few spaces precede `at` in its line.
fn begins_line(text: &str, at: usize) -> bool {
    let before = text.as_bytes()[..at].iter().rev().take(64);
    let other = before.copied().find(|byte| !matches!(byte, b' ' | b'\t' | b'>'));
    other.is_none_or(|byte| byte == b'\n')
}

#[cfg(test)]
mod tests;
