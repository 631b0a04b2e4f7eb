//! Finds links, tags and comment marks in a piece of prose. Skips code spans, math and HTML.

use std::collections::HashMap;
use std::ops::Range;

use super::{Block, BlockId, Heading, TagAt, ahead, destination};
use crate::note::link::{Encoding, Link, LinkKind};
use crate::note::tag;

/// The longest HTML tag or autolink, in bytes.
const MAX_TAG: usize = 2048;

/// The results so far. Line numbers are filled in at the end.
#[derive(Default)]
pub(super) struct ParsedInline {
    pub links: Vec<Link>,
    pub headings: Vec<Heading>,
    pub blocks: Vec<BlockId>,
    pub block_ranges: Vec<Block>,
    pub tags: Vec<TagAt>,
    /// The positions of `%%`, with the number of the piece of prose.
    pub percents: Vec<(usize, usize)>,
}

/// The context of a piece of prose.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InlineContext {
    Prose,
    Table,
}

struct Bracket {
    at: usize,
    image: bool,
}

struct InlineReader<'t, 'f> {
    text: &'t str,
    range: Range<usize>,
    place: InlineContext,
    found: &'f mut ParsedInline,
    /// For each run of backticks, the start of the next run with the same length.
    ticks: HashMap<usize, usize>,
    /// The positions where inline math can end, ascending.
    math_ends: Vec<usize>,
    /// In a table, the positions of the pipes between cells, ascending: no code or math crosses them.
    cell_ends: Vec<usize>,
    brackets: Vec<Bracket>,
    /// Openers with a lower index can only be images: links contain no links.
    links_below: usize,
    /// The position of an unescaped `!`.
    bang: Option<usize>,
    /// The end of the last HTML comment: none begins after it.
    last_comment: usize,
}

pub(super) fn read(
    text: &str,
    range: Range<usize>,
    place: InlineContext,
    found: &mut ParsedInline,
) {
    let mut reader = InlineReader {
        ticks: tick_pairs(text, &range),
        math_ends: math_ends(text, &range),
        cell_ends: if place == InlineContext::Table { cell_ends(text, &range) } else { Vec::new() },
        last_comment: text[range.clone()].rfind("-->").map_or(0, |at| range.start + at),
        text,
        range,
        place,
        found,
        brackets: Vec::new(),
        links_below: 0,
        bang: None,
    };
    reader.run();
}

/// The link that fills all of `range`, as required of a property's value.
pub fn single_link(text: &str, range: Range<usize>) -> Option<Link> {
    if text.get(range.clone())?.contains('\n') {
        return None;
    }
    let mut found = ParsedInline::default();
    read(text, range.clone(), InlineContext::Prose, &mut found);
    found.links.into_iter().find(|link| link.range == range)
}

impl InlineReader<'_, '_> {
    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        let end = self.range.end;
        let mut at = self.range.start;
        while at < end {
            let next = bytes.get(at + 1).copied().filter(|_| at + 1 < end);
            at = match bytes[at] {
                b'\\' if next.is_some_and(|byte| byte.is_ascii_punctuation()) => at + 2,
                b'`' => self.code(at),
                b'$' => self.math(at),
                b'<' => self.html(at),
                b'%' if next == Some(b'%') => {
                    self.found.percents.push((at, self.range.start));
                    at + 2
                }
                b'!' => {
                    self.bang = Some(at);
                    at + 1
                }
                b'[' => self.open(at),
                b']' => self.close(at),
                b'#' => self.tag(at),
                _ => at + 1,
            };
        }
    }

    fn code(&self, at: usize) -> usize {
        let length = run(self.text, at, self.range.end, b'`');
        match self.ticks.get(&at) {
            Some(close) if self.is_in_cell(at..*close) => close + length,
            _ => at + length,
        }
    }

    /// Whether no pipe between cells of a table lies in `range`.
    fn is_in_cell(&self, range: Range<usize>) -> bool {
        let next = self.cell_ends.partition_point(|end| *end < range.start);
        self.cell_ends.get(next).is_none_or(|end| *end >= range.end)
    }

    fn math(&self, at: usize) -> usize {
        let rest = &self.text[at..self.range.end];
        if let Some(inside) = rest.strip_prefix("$$") {
            let end = inside.find("$$");
            ahead::count(end.unwrap_or(inside.len()));
            let end = end.map(|end| at + 2 + end + 2).filter(|end| self.is_in_cell(at..*end));
            return end.unwrap_or(at + 2);
        }
        if rest[1..].starts_with(|c: char| c.is_whitespace()) {
            return at + 1;
        }
        let next = self.math_ends.partition_point(|end| *end <= at + 1);
        let end = self.math_ends.get(next).filter(|end| self.is_in_cell(at..**end));
        end.map_or(at + 1, |end| end + 1)
    }

    fn html(&self, at: usize) -> usize {
        let rest = &self.text[at..self.range.end];
        if let Some(comment) = rest.strip_prefix("<!--") {
            if self.last_comment < at + 4 {
                return at + 4;
            }
            let end = comment.find("-->");
            ahead::count(end.unwrap_or(comment.len()));
            return end.map_or(at + 4, |end| at + 4 + end + 3);
        }
        html_tag(rest).or_else(|| autolink(rest)).map_or(at + 1, |length| at + length)
    }

    fn tag(&mut self, at: usize) -> usize {
        let before = self.text[self.range.start..at].chars().next_back();
        let rest = &self.text[at + 1..self.range.end];
        match tag::name_length(rest) {
            Some(length) if before.is_none_or(char::is_whitespace) => {
                let name = at + 1..at + 1 + length;
                self.found.tags.push(TagAt { name, line: 0 });
                at + 1 + length
            }
            _ => at + 1,
        }
    }

    fn open(&mut self, at: usize) -> usize {
        let banged = self.bang.is_some_and(|bang| bang + 1 == at);
        if self.text[at..self.range.end].starts_with("[[")
            && let Some(link) = self.wikilink(at, banged)
        {
            let end = link.range.end;
            self.found.links.push(link);
            return end;
        }
        self.brackets.push(Bracket { at, image: banged });
        at + 1
    }

    /// The wikilink whose first bracket is at `at`.
    fn wikilink(&self, at: usize, banged: bool) -> Option<Link> {
        let inner = self.inner(at + 2)?;
        let text = &self.text[inner.clone()];
        let pipe = text.find('|');
        let escaped = pipe.is_some_and(|pipe| text[..pipe].ends_with('\\'));
        if pipe.is_some() && !escaped && self.place == InlineContext::Table {
            return None;
        }
        let head = &text[..pipe.map_or(text.len(), |pipe| pipe - usize::from(escaped))];
        let hash = head.find('#');
        let path = trimmed(self.text, inner.start..inner.start + hash.unwrap_or(head.len()));
        let subpath = hash.map(|hash| {
            let whole = inner.start + hash..inner.start + head.len();
            trimmed(self.text, whole)
        });
        if self.text[path.clone()].contains(['[', ']']) || (path.is_empty() && subpath.is_none()) {
            return None;
        }
        let kind = if banged { LinkKind::Embed } else { LinkKind::Wikilink };
        Some(Link {
            kind,
            range: at - usize::from(banged)..inner.end + 2,
            path,
            subpath,
            display: pipe.map(|pipe| inner.start + pipe + 1..inner.end),
            escaped_pipe: escaped,
            ..self.link(Encoding::Plain)
        })
    }

    /// The content between `[[` and `]]` on one line.
    fn inner(&self, start: usize) -> Option<Range<usize>> {
        let bytes = &self.text.as_bytes()[..self.range.end];
        let mut at = start;
        loop {
            ahead::count(1);
            match (bytes.get(at)?, bytes.get(at + 1)) {
                (b'\n', _) | (b'[', Some(b'[')) => return None,
                // Closes at the first `]]`: `[[a#b [c]]]` leads to `a#b [c`, as in Obsidian.
                (b']', Some(b']')) => return Some(start..at),
                _ => {}
            }
            at += 1;
        }
    }

    fn close(&mut self, at: usize) -> usize {
        let Some(bracket) = self.brackets.pop() else { return at + 1 };
        let number = self.brackets.len();
        let open = number >= self.links_below || bracket.image;
        self.links_below = self.links_below.min(number);
        let parenthesis = at + 1 < self.range.end && self.text.as_bytes()[at + 1] == b'(';
        if !open || !parenthesis {
            return at + 1;
        }
        let Some(found) = destination::read(self.text, at + 1, self.range.end) else {
            return at + 1;
        };
        let whole = found.range.clone();
        let raw = &self.text[whole.clone()];
        let hash = raw.find('#').map_or(whole.end, |hash| whole.start + hash);
        if !bracket.image {
            self.links_below = number;
        }
        if !whole.is_empty() {
            let encoding = if found.angle { Encoding::Angle } else { Encoding::Percent };
            let kind = if bracket.image { LinkKind::Image } else { LinkKind::Markdown };
            let link = Link {
                kind,
                range: bracket.at - usize::from(bracket.image)..found.end,
                path: whole.start..hash,
                subpath: (hash < whole.end).then_some(hash..whole.end),
                display: Some(bracket.at + 1..at),
                title: found.title,
                ..self.link(encoding)
            };
            self.found.links.push(link);
        }
        found.end
    }

    fn link(&self, encoding: Encoding) -> Link {
        Link {
            kind: LinkKind::Wikilink,
            range: 0..0,
            path: 0..0,
            subpath: None,
            display: None,
            title: None,
            encoding,
            frontmatter: None,
            in_table: self.place == InlineContext::Table,
            escaped_pipe: false,
            in_comment: false,
            line: 0,
        }
    }
}

pub(super) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let inside = &text[range.clone()];
    let start = range.start + (inside.len() - inside.trim_start().len());
    start..start + inside.trim().len()
}

fn run(text: &str, at: usize, end: usize, mark: u8) -> usize {
    text.as_bytes()[at..end].iter().take_while(|byte| **byte == mark).count()
}

/// For each run of backticks, the start of the next run with the same length.
fn tick_pairs(text: &str, range: &Range<usize>) -> HashMap<usize, usize> {
    let mut runs = Vec::new();
    let mut at = range.start;
    while let Some(next) = text[at..range.end].find('`') {
        let length = run(text, at + next, range.end, b'`');
        runs.push((at + next, length));
        at += next + length;
    }
    let mut next_of_length: HashMap<usize, usize> = HashMap::new();
    let mut pairs = HashMap::new();
    for (at, length) in runs.into_iter().rev() {
        if let Some(next) = next_of_length.insert(length, at) {
            pairs.insert(at, next);
        }
    }
    pairs
}

/// The positions of the unescaped pipes of a table's row, ascending.
fn cell_ends(text: &str, range: &Range<usize>) -> Vec<usize> {
    let bytes = text.as_bytes();
    let is_end = |at: &usize| bytes[*at] == b'|' && (*at == range.start || bytes[at - 1] != b'\\');
    range.clone().filter(is_end).collect()
}

/// The positions where a `$` can end inline math: not after whitespace, not before a digit, not
/// doubled, not escaped.
fn math_ends(text: &str, range: &Range<usize>) -> Vec<usize> {
    let bytes = &text.as_bytes()[..range.end];
    let mut ends = Vec::new();
    for at in range.start + 1..range.end {
        let (before, after) = (bytes[at - 1], bytes.get(at + 1));
        let closes = bytes[at] == b'$'
            && !before.is_ascii_whitespace()
            && !matches!(before, b'$' | b'\\')
            && !after.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'$');
        if closes {
            ends.push(at);
        }
    }
    ends
}

/// The length of the HTML tag with which `text` begins.
pub(super) fn html_tag(text: &str) -> Option<usize> {
    let bytes = &text.as_bytes()[..text.len().min(MAX_TAG)];
    let mut at = 1 + usize::from(bytes.get(1) == Some(&b'/'));
    if !bytes.get(at)?.is_ascii_alphabetic() {
        return None;
    }
    while bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'-') {
        ahead::count(1);
        at += 1;
    }
    if !matches!(bytes.get(at)?, b' ' | b'\t' | b'\n' | b'\r' | b'/' | b'>') {
        return None;
    }
    let mut value = false;
    loop {
        ahead::count(1);
        match bytes.get(at)? {
            b'>' => return Some(at + 1),
            b'<' | b'`' => return None,
            quote @ (b'"' | b'\'') if value => {
                let inside = &bytes[at + 1..];
                let end = inside.iter().position(|byte| byte == quote);
                ahead::count(end.unwrap_or(inside.len()));
                let end = end?;
                at += end + 1;
                value = false;
            }
            b'"' | b'\'' => return None,
            b'=' => value = true,
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b'[' | b']' | b'|' => return None,
            _ => value = false,
        }
        at += 1;
    }
}

/// The length of the autolink (`<https://…>`, `<a@b.c>`) with which `text` begins.
fn autolink(text: &str) -> Option<usize> {
    // Not beyond the start of the next possible one.
    let ends = |byte: &u8| matches!(byte, b'>' | b'<') || byte.is_ascii_whitespace();
    let bytes = &text.as_bytes()[1..text.len().min(MAX_TAG)];
    let length = bytes.iter().position(ends);
    ahead::count(length.unwrap_or(bytes.len()));
    let end = 1 + length?;
    let inside = text.get(1..end)?;
    let whole = text.as_bytes()[end] == b'>';
    let leads_out = crate::note::link::is_external(inside) || inside.contains('@');
    (whole && leads_out).then_some(end + 1)
}
