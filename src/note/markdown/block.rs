//! Splits lines into pieces of prose: skips fenced and indented code, math and HTML blocks, and
//! recognises headings and tables. Follows CommonMark and GFM unless Obsidian differs.

use std::ops::Range;

use super::inline::{self, InlineContext, ParsedInline, trimmed};
use super::{Block, BlockId, Heading, ahead};

/// The most list marks parsed in one line.
const MAX_MARKS: usize = 16;

/// The indentation of a footnote's further paragraphs, as in cmark-gfm.
const FOOTNOTE_INDENT: usize = 4;

/// The block being skipped.
#[derive(Clone, Copy)]
struct Skip {
    kind: SkipKind,
    /// It ends before a line with fewer quote marks,
    quotes: usize,
    /// or with less indentation: it left the list item,
    indent: usize,
    /// or with less indentation before its quote marks: it left the list item that has the quote.
    margin: usize,
}

#[derive(Clone, Copy)]
enum SkipKind {
    Fence {
        mark: u8,
        length: usize,
    },
    Math,
    /// Until a line that contains this text, ignoring case.
    Html(&'static str),
    /// Until a blank line.
    HtmlBlock,
}

struct Walk<'t, 'f> {
    text: &'t str,
    found: &'f mut ParsedInline,
    skip: Option<Skip>,
    /// The content columns of the open list items, outermost first, strictly increasing.
    lists: Vec<usize>,
    /// Those outside of the open quote.
    outer_lists: Vec<usize>,
    /// The indentation of a list that follows a paragraph and is indented like code. CommonMark reads
    /// its lines as text of the paragraph, so until a blank line nothing at this depth is code.
    deep_list: Option<usize>,
    /// Whether the last line was a list mark alone: a blank line below it ends the item.
    is_empty_item: bool,
    /// The lines of the open paragraph; the first one without container marks.
    paragraph: Vec<Range<usize>>,
    /// The lines of the open block, skipped ones included.
    block: Option<Block>,
    /// Whether the open block ends with the current line.
    ends: bool,
    quotes: usize,
    /// The position of the last `$$`: nothing opens after it.
    last_math: usize,
}

/// Finds the prose of `text` from `start` on and its content.
pub(super) fn walk(text: &str, start: usize, found: &mut ParsedInline) {
    let last_math = text.rfind("$$").unwrap_or(0);
    let mut walk = Walk {
        text,
        found,
        skip: None,
        lists: Vec::new(),
        outer_lists: Vec::new(),
        deep_list: None,
        is_empty_item: false,
        paragraph: Vec::new(),
        block: None,
        ends: false,
        quotes: 0,
        last_math,
    };
    let mut at = start;
    for raw in text[start..].split_inclusive('\n') {
        let line = raw.trim_end_matches(['\n', '\r']);
        walk.line(at..at + line.len());
        at += raw.len();
    }
    walk.flush();
}

impl Walk<'_, '_> {
    fn line(&mut self, line: Range<usize>) {
        let (mut quotes, mut indent, mut content) = self.marks(&line);
        if self.skip.is_some_and(|skip| {
            quotes < skip.quotes
                || (indent < skip.indent && content < line.end)
                || self.margin(&line) < skip.margin
        }) {
            self.skip = None;
            self.flush();
            (quotes, indent, content) = self.marks(&line);
        }
        if content == line.end {
            self.blank();
            return;
        }
        if self.skipped(indent, content, &line) {
            self.extend(line);
            if self.skip.is_none() && self.paragraph.is_empty() {
                self.flush();
            }
            return;
        }
        let is_in_paragraph = quotes < self.quotes && !self.paragraph.is_empty();
        if is_in_paragraph && !self.starts_block(indent, content..line.end) {
            // Text without the mark continues a quoted paragraph.
            self.paragraph.push(content..line.end);
        } else {
            if quotes != self.quotes {
                self.flush();
                let lists = std::mem::take(&mut self.lists);
                if self.quotes == 0 {
                    self.outer_lists = lists;
                } else if quotes == 0 {
                    self.lists = std::mem::take(&mut self.outer_lists);
                }
                self.quotes = quotes;
                self.deep_list = None;
            }
            self.open(indent, content..line.end);
        }
        self.extend(line);
        if std::mem::take(&mut self.ends) {
            self.flush();
        }
    }

    fn blank(&mut self) {
        if matches!(self.skip, Some(Skip { kind: SkipKind::HtmlBlock, .. })) {
            self.skip = None;
        }
        if self.skip.is_none() {
            self.flush();
            self.deep_list = None;
        }
        if std::mem::take(&mut self.is_empty_item) {
            self.lists.pop();
        }
    }

    /// Adds a line to the open block, or opens one with it.
    fn extend(&mut self, line: Range<usize>) {
        match &mut self.block {
            Some(block) if !block.range.is_empty() => block.range.end = line.end,
            Some(block) => block.range = line,
            None => self.block = Some(Block { range: line, task: None }),
        }
    }

    /// The number of quote marks of a line, the columns of the whitespace after them, and the position of the content.
    fn marks(&self, line: &Range<usize>) -> (usize, usize, usize) {
        let limit = self.skip.map_or(usize::MAX, |skip| skip.quotes);
        let (quotes, after_quotes) = self.quote_marks(line, limit);
        let (indent, content) = self.indent(after_quotes, line.end);
        // A column of a tab belongs to the quote mark before it.
        let is_shared = quotes > 0 && self.text[line.start..content].contains(">\t");
        (quotes, indent - usize::from(is_shared && indent > 0), content)
    }

    /// The columns of the whitespace after the marks of the open quote.
    fn margin(&self, line: &Range<usize>) -> usize {
        let (_, after_quotes) = self.quote_marks(line, self.quotes);
        self.indent(after_quotes, line.end).0
    }

    /// Whether this line opens a block although a paragraph is open.
    fn starts_block(&self, indent: usize, line: Range<usize>) -> bool {
        let rest = &self.text[line.clone()];
        let outer = self.outer_lists.iter().rfind(|content| **content <= indent);
        indent < outer.unwrap_or(&0) + 4
            && (fence(rest).is_some()
                || self.starts_math(&line)
                || list_mark(rest).is_some()
                || atx(rest).is_some()
                || html(rest, false).is_some()
                || is_rule(rest))
    }

    fn starts_math(&self, line: &Range<usize>) -> bool {
        let after = self.text[line.clone()].strip_prefix("$$");
        after.is_some_and(|after| !after.contains("$$")) && self.last_math >= line.end
    }

    /// Counts up to `limit` quote marks from the line's start; returns their number and end.
    fn quote_marks(&self, line: &Range<usize>, limit: usize) -> (usize, usize) {
        let bytes = self.text.as_bytes();
        let (mut quotes, mut at) = (0, line.start);
        while quotes < limit {
            let blanks = bytes[at..line.end].iter().take_while(|byte| **byte == b' ').count();
            if blanks > 3 || bytes.get(at + blanks) != Some(&b'>') || at + blanks >= line.end {
                break;
            }
            quotes += 1;
            at += blanks + 1;
            if at < line.end && bytes[at] == b' ' {
                at += 1;
            }
        }
        (quotes, at)
    }

    /// The columns of the whitespace from `at` on, and its end. Tab stops count from the line's start.
    fn indent(&self, at: usize, end: usize) -> (usize, usize) {
        let bytes = self.text.as_bytes();
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
        let after = at + bytes[at..end].iter().take_while(is_blank).count();
        if !bytes[at..after].contains(&b'\t') {
            return (after - at, after);
        }
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        ahead::count(after - start);
        let advance = |column: usize, byte: &u8| match byte {
            b'\t' => column + 4 - column % 4,
            _ => column + 1,
        };
        let before = bytes[start..at].iter().fold(0, advance);
        (bytes[at..after].iter().fold(before, advance) - before, after)
    }

    /// Whether the line belongs to the skipped block; ends the block at its last line.
    fn skipped(&mut self, indent: usize, content: usize, line: &Range<usize>) -> bool {
        let rest = &self.text[content..line.end];
        let Some(skip) = self.skip else { return false };
        match skip.kind {
            SkipKind::HtmlBlock => {}
            SkipKind::Html(end) => {
                if contains_ignoring_case(rest, end) {
                    self.skip = None;
                }
            }
            SkipKind::Fence { mark, length } => {
                let run = rest.bytes().take_while(|byte| *byte == mark).count();
                if run >= length && indent < skip.indent + 4 && rest[run..].trim().is_empty() {
                    self.skip = None;
                }
            }
            SkipKind::Math => {
                if let Some(end) = rest.find("$$") {
                    self.skip = None;
                    let after = content + end + 2;
                    if !self.text[after..line.end].trim().is_empty() {
                        self.paragraph.push(after..line.end);
                    }
                }
            }
        }
        true
    }

    /// The content column of the innermost open item that contains `column`; 0 if there is none.
    fn item_at(&self, column: usize) -> usize {
        let outer = self.lists.partition_point(|content| {
            ahead::count(1);
            *content <= column
        });
        outer.checked_sub(1).map_or(0, |at| self.lists[at])
    }

    /// A line outside skipped blocks.
    fn open(&mut self, indent: usize, mut line: Range<usize>) {
        if self.paragraph.is_empty() {
            while self.lists.last().is_some_and(|content| indent < *content) {
                self.lists.pop();
            }
        }
        self.is_empty_item = false;
        self.deep_list = self.deep_list.filter(|column| *column <= indent);
        let is_far = indent >= self.item_at(indent).max(self.deep_list.unwrap_or(0)) + 4;
        if is_far && self.paragraph.is_empty() {
            return;
        }
        if is_far && list_mark(&self.text[line.clone()]).is_none() {
            self.paragraph.push(line);
            return;
        }
        if is_far {
            self.deep_list = Some(indent);
        }
        let (mut column, mut inner_quotes) = (indent, 0);
        for _ in 0..MAX_MARKS {
            let Some(width) = list_mark(&self.text[line.clone()]) else { break };
            self.flush();
            while self.lists.last().is_some_and(|content| column < *content) {
                self.lists.pop();
            }
            let (blanks, after) = self.indent(line.start + width, line.end);
            let far = blanks > 4 || after == line.end;
            column += width + if far { 1 } else { blanks };
            self.lists.push(column);
            if far {
                self.is_empty_item = after == line.end;
                // The item is still empty, or this is indented code.
                return;
            }
            line.start = after;
            let task = task(&self.text[line.clone()]);
            self.block = Some(Block { range: 0..0, task });
            while self.text[line.clone()].starts_with('>') {
                let (blanks, after) = self.indent(line.start + 1, line.end);
                if blanks > 4 {
                    return;
                }
                inner_quotes += 1;
                line.start = after;
            }
        }
        if is_footnote(&self.text[line.clone()]) {
            self.flush();
            while self.lists.last().is_some_and(|content| column < *content) {
                self.lists.pop();
            }
            self.lists.push(column + FOOTNOTE_INDENT);
        }
        if line.start < line.end {
            self.content(column, inner_quotes, line);
        }
    }

    /// The content of a line after all container marks, of which `inner_quotes` are quote marks after a list mark.
    fn content(&mut self, column: usize, inner_quotes: usize, line: Range<usize>) {
        let mut indent = self.item_at(column);
        // The quote marks of its next lines follow the item's indentation; further right they are not counted.
        let inner_quotes = if indent < 4 { inner_quotes } else { 0 };
        let margin = if inner_quotes > 0 { std::mem::take(&mut indent) } else { 0 };
        let quotes = self.quotes + inner_quotes;
        let rest = &self.text[line.clone()];
        if let Some((mark, length)) = fence(rest) {
            self.flush();
            self.skip =
                Some(Skip { kind: SkipKind::Fence { mark, length }, quotes, indent, margin });
        } else if self.starts_math(&line) {
            self.flush();
            self.skip = Some(Skip { kind: SkipKind::Math, quotes, indent: 0, margin });
        } else if let Some((level, text)) = atx(rest) {
            self.flush();
            let text = line.start + text.start..line.start + text.end;
            self.found.headings.push(Heading { level, text, line: 0 });
            self.paragraph.push(line);
            self.ends = true;
        } else if let Some(kind) = html(rest, self.paragraph.is_empty()) {
            self.flush();
            self.ends = matches!(kind, SkipKind::Html(end) if contains_ignoring_case(rest, end));
            if !self.ends {
                self.skip = Some(Skip { kind, quotes, indent, margin });
            }
        } else if let Some(level) = setext(rest).filter(|_| !self.paragraph.is_empty()) {
            let end = self.paragraph.last().map_or(line.start, |last| last.end);
            let start = self.paragraph.first().map_or(end, |first| first.start);
            let text = trimmed(self.text, start..end);
            self.found.headings.push(Heading { level, text, line: 0 });
            self.ends = true;
        } else if is_rule(rest) {
            self.flush();
            self.ends = true;
        } else {
            self.paragraph.push(line);
        }
    }

    /// Ends the paragraph and parses it.
    fn flush(&mut self) {
        self.found.block_ranges.extend(self.block.take().filter(|block| !block.range.is_empty()));
        let lines = std::mem::take(&mut self.paragraph);
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return };
        if let Some(id) = block_id(self.text, last.clone()) {
            self.found.blocks.push(BlockId { id, line: 0 });
        }
        let table = table(self.text, &lines);
        match table {
            None => {
                inline::read(self.text, first.start..last.end, InlineContext::Prose, self.found)
            }
            Some(header) => {
                if header > 0 {
                    let before = first.start..lines[header - 1].end;
                    inline::read(self.text, before, InlineContext::Prose, self.found);
                }
                for row in &lines[header..] {
                    inline::read(self.text, row.clone(), InlineContext::Table, self.found);
                }
            }
        }
    }
}

/// The length of a list marker at the start, without the spaces after it.
fn list_mark(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let width = match bytes.get(digits) {
        Some(b'-' | b'+' | b'*') if digits == 0 && !is_rule(text) => 1,
        Some(b'.' | b')') if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    matches!(bytes.get(width), None | Some(b' ' | b'\t')).then_some(width)
}

/// Whether the definition of a footnote begins here: `[^1]: text`.
fn is_footnote(text: &str) -> bool {
    let label = text.strip_prefix("[^").and_then(|rest| rest.split_once("]:"));
    label.is_some_and(|(label, _)| {
        !label.is_empty() && !label.contains(|c: char| c.is_whitespace() || matches!(c, '[' | ']'))
    })
}

/// The mark of the task that a list item with this text is: `[x] done`.
fn task(text: &str) -> Option<char> {
    let mut chars = text.strip_prefix('[')?.chars();
    let mark = chars.next()?;
    let rest = chars.as_str().strip_prefix(']')?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(mark)
}

/// The character and length of a fence that opens here.
fn fence(text: &str) -> Option<(u8, usize)> {
    let mark = *text.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = text.bytes().take_while(|byte| *byte == mark).count();
    (length >= 3 && (mark == b'~' || !text[length..].contains('`'))).then_some((mark, length))
}

fn atx(text: &str) -> Option<(u8, Range<usize>)> {
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &text[level..];
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let start = level + (rest.len() - rest.trim_start().len());
    let inside = text[start..].trim_end();
    let without = inside.trim_end_matches('#');
    let closed = without.is_empty() || without.ends_with([' ', '\t']);
    let inside = if closed { without.trim_end() } else { inside };
    Some((level as u8, start..start + inside.len()))
}

fn setext(text: &str) -> Option<u8> {
    let line = text.trim_end();
    match line.as_bytes().first() {
        Some(b'=') if line.bytes().all(|byte| byte == b'=') => Some(1),
        Some(b'-') if line.bytes().all(|byte| byte == b'-') => Some(2),
        _ => None,
    }
}

fn is_rule(text: &str) -> bool {
    let Some(mark) = text.bytes().next().filter(|byte| matches!(byte, b'-' | b'*' | b'_')) else {
        return false;
    };
    text.bytes().all(|byte| byte == mark || byte == b' ' || byte == b'\t')
        && text.bytes().filter(|byte| *byte == mark).count() >= 3
}

/// The HTML block that opens here (CommonMark's seven kinds).
fn html(text: &str, begins: bool) -> Option<SkipKind> {
    const VERBATIM: [(&str, &str); 4] = [
        ("script", "</script>"),
        ("pre", "</pre>"),
        ("style", "</style>"),
        ("textarea", "</textarea>"),
    ];
    const BLOCKS: &str = " address article aside base basefont blockquote body caption center col \
        colgroup dd details dialog dir div dl dt fieldset figcaption figure footer form frame \
        frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link main menu menuitem \
        nav noframes ol optgroup option p param search section summary table tbody td tfoot th \
        thead title tr track ul ";
    let rest = text.strip_prefix('<')?;
    if rest.starts_with("!--") {
        return Some(SkipKind::Html("-->"));
    }
    if rest.starts_with("![CDATA[") {
        return Some(SkipKind::Html("]]>"));
    }
    if rest.starts_with('?') {
        return Some(SkipKind::Html("?>"));
    }
    if rest.starts_with('!') && rest[1..].starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Some(SkipKind::Html(">"));
    }
    let closing = rest.starts_with('/');
    let name = rest.trim_start_matches('/');
    let length = name.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'-').count();
    let after = &name[length..];
    let name = name[..length].to_ascii_lowercase();
    if name.is_empty() || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let parted = after.is_empty() || after.starts_with([' ', '\t', '>']) || after.starts_with("/>");
    if let Some((_, end)) = VERBATIM.iter().find(|(verbatim, _)| *verbatim == name) {
        return (parted && !closing).then_some(SkipKind::Html(end));
    }
    if parted && BLOCKS.contains(&format!(" {name} ")) {
        return Some(SkipKind::HtmlBlock);
    }
    let alone = inline::html_tag(text).is_some_and(|length| text[length..].trim().is_empty());
    (begins && alone).then_some(SkipKind::HtmlBlock)
}

fn contains_ignoring_case(text: &str, what: &str) -> bool {
    text.as_bytes().windows(what.len()).any(|window| window.eq_ignore_ascii_case(what.as_bytes()))
}

/// The id at the end of a block's last line.
fn block_id(text: &str, line: Range<usize>) -> Option<Range<usize>> {
    let inside = text[line.clone()].trim_end();
    let is_id = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let length = inside.bytes().rev().take_while(is_id).count();
    let before = inside[..inside.len() - length].strip_suffix('^')?;
    let parted = before.is_empty() || before.ends_with(char::is_whitespace);
    let end = line.start + inside.len();
    (length > 0 && parted).then_some(end - length..end)
}

/// The line of a paragraph that is the header of a table: the one above a delimiter row.
fn table(text: &str, lines: &[Range<usize>]) -> Option<usize> {
    let row = |at: usize| text[lines[at].clone()].trim();
    let delimits = |line: &str| {
        line.contains('-')
            && line.contains('|')
            && line.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t'))
    };
    let bare = |line: &str| line.trim_start_matches(['>', ' ', '\t']).to_owned();
    (1..lines.len())
        .find(|at| delimits(&bare(row(*at))) && row(at - 1).contains('|'))
        .map(|at| at - 1)
}
