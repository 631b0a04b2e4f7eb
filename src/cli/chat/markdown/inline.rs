//! Inline Markdown: emphasis, code, links.
//!
//! A mark counts only with its closing mark; an unclosed one is shown as written. The search for the
//! closing mark ends with the line or after [`WINDOW`] bytes, so streamed text never waits longer.
//! Every decision depends on the text alone, never on where a piece ended.

use super::block::boundary;
use super::style::Style;

/// The longest span, in bytes.
const WINDOW: usize = 600;

/// The deepest nesting of spans.
const DEPTH: usize = 4;

/// The parse of the beginning of a text.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// More text is needed.
    Need,
    /// This many bytes, as styled text.
    OutputPart(usize, Vec<(String, Style)>),
}

#[derive(Debug, Clone, Copy)]
struct Text<'a> {
    /// The examined part.
    known: &'a str,
    /// Whether nothing follows, or nothing that is examined.
    is_complete: bool,
}

impl<'a> Text<'a> {
    fn window(text: &'a str, is_complete: bool) -> Self {
        if text.len() <= WINDOW {
            return Self { known: text, is_complete };
        }
        Self { known: &text[..boundary(text, WINDOW)], is_complete: true }
    }

    /// The character at `at`; `Err` if it has not arrived yet.
    fn at(self, at: usize) -> Result<Option<char>, ()> {
        match self.known[at..].chars().next() {
            Some(c) => Ok(Some(c)),
            None if self.is_complete => Ok(None),
            None => Err(()),
        }
    }

    fn run(self, at: usize, mark: char) -> Result<usize, ()> {
        let length = self.known[at..].chars().take_while(|c| *c == mark).count();
        self.at(at + length).map(|_| length)
    }

    /// The offset of `end` at or after `from`.
    fn find(self, from: usize, end: &str) -> Result<Option<usize>, ()> {
        match self.known[from..].find(end) {
            Some(at) => Ok(Some(from + at)),
            None if self.is_complete => Ok(None),
            None => Err(()),
        }
    }
}

/// Parses the beginning of `text`, which is not empty and has no line break. `before` is the preceding
/// character; `is_complete` means that the line ends with `text`.
pub fn step(text: &str, before: Option<char>, style: Style, is_complete: bool) -> Step {
    read_step(Text::window(text, is_complete), before, style, 0).unwrap_or(Step::Need)
}

/// Parses a complete line, or the inside of a span.
fn spans(text: &str, style: Style, depth: usize) -> Vec<(String, Style)> {
    let (mut found, mut at, mut before) = (Vec::new(), 0, None);
    while at < text.len() {
        let rest = Text { known: &text[at..], is_complete: true };
        let Ok(Step::OutputPart(length, shown)) = read_step(rest, before, style, depth) else {
            break;
        };
        found.extend(shown);
        before = text[at..at + length].chars().next_back();
        at += length;
    }
    found
}

fn read_step(text: Text<'_>, before: Option<char>, style: Style, depth: usize) -> Result<Step, ()> {
    let Some(first) = text.at(0)? else { return Ok(Step::OutputPart(0, Vec::new())) };
    let span = match first {
        _ if depth >= DEPTH => None,
        '\\' => read_escape(text, style)?,
        '`' => code(text, style)?,
        '*' | '_' | '~' => emphasis(text, before, first, style, depth)?,
        '[' => link(text, 0, style, depth)?,
        '!' if text.at(1)? == Some('[') => link(text, 1, style, depth)?,
        _ => None,
    };
    Ok(span.unwrap_or_else(|| {
        // A run of literal marks is taken at once, so that it is not examined again mark by mark.
        let length = match first {
            '*' | '_' | '~' | '`' => text.known.chars().take_while(|c| *c == first).count(),
            _ => first.len_utf8(),
        };
        Step::OutputPart(length, vec![(text.known[..length].to_owned(), style)])
    }))
}

fn read_escape(text: Text<'_>, style: Style) -> Result<Option<Step>, ()> {
    let next = text.at(1)?.filter(char::is_ascii_punctuation);
    Ok(next.map(|c| Step::OutputPart(2, vec![(c.to_string(), style)])))
}

fn code(text: Text<'_>, style: Style) -> Result<Option<Step>, ()> {
    let length = text.run(0, '`')?;
    let Some(end) = code_end(text, length, length)? else { return Ok(None) };
    let inside = &text.known[length..end];
    let trimmed = inside.strip_prefix(' ').and_then(|inside| inside.strip_suffix(' '));
    let shown = trimmed.filter(|inside| !inside.trim().is_empty()).unwrap_or(inside);
    let look = style.with(Style::CYAN);
    Ok(Some(Step::OutputPart(end + length, vec![(shown.to_owned(), look)])))
}

/// The offset of the marks that close a code span opened by `length` backticks.
fn code_end(text: Text<'_>, mut at: usize, length: usize) -> Result<Option<usize>, ()> {
    while let Some(found) = text.find(at, "`")? {
        let run = text.run(found, '`')?;
        if run == length {
            return Ok(Some(found));
        }
        at = found + run;
    }
    Ok(None)
}

fn emphasis(
    text: Text<'_>,
    before: Option<char>,
    mark: char,
    style: Style,
    depth: usize,
) -> Result<Option<Step>, ()> {
    let length = text.run(0, mark)?;
    let look = match (mark, length) {
        ('~', 2) => Style::STRIKE,
        ('*' | '_', 1) => Style::ITALIC,
        ('*' | '_', 2) => Style::BOLD,
        ('*' | '_', 3) => Style::BOLD.with(Style::ITALIC),
        _ => return Ok(None),
    };
    let next = text.at(length)?;
    let in_word = before.is_some_and(char::is_alphanumeric);
    let opens = next.is_some_and(|c| !c.is_whitespace()) && !(mark == '_' && in_word);
    // `2*(3+4)*5` emphasises nothing.
    let bracket =
        next.is_some_and(|c| c.is_ascii_punctuation() && !matches!(c, '*' | '_' | '`' | '['));
    if !opens || (in_word && bracket) {
        return Ok(None);
    }
    let Some(end) = emphasis_end(text, length, mark)? else { return Ok(None) };
    let inside = spans(&text.known[length..end], style.with(look), depth + 1);
    Ok(Some(Step::OutputPart(end + length, inside)))
}

/// The offset of the marks that close an emphasis opened by `length` marks.
fn emphasis_end(text: Text<'_>, length: usize, mark: char) -> Result<Option<usize>, ()> {
    let mut at = length;
    let mut before = mark;
    while let Some(c) = text.at(at)? {
        if c == '`' {
            let run = text.run(at, '`')?;
            at = code_end(text, at + run, run)?.unwrap_or(at) + run;
            before = c;
            continue;
        }
        if c == '\\' {
            at += 1 + text.at(at + 1)?.map_or(0, char::len_utf8);
            before = 'x';
            continue;
        }
        if c == mark {
            let run = text.run(at, mark)?;
            let closes = !before.is_whitespace() && at > length;
            let word_goes_on = mark == '_' && text.at(at + run)?.is_some_and(char::is_alphanumeric);
            // `**a *b* c**`: a single mark does not close a double one, nor the reverse.
            let fits = run == length || (run == 3 && length < 3);
            if closes && fits && !word_goes_on {
                return Ok(Some(at + run - length));
            }
            at += run;
            before = mark;
            continue;
        }
        before = c;
        at += c.len_utf8();
    }
    Ok(None)
}

/// Parses `[words](address)` and `[[Note]]`, both also with a preceding `!`.
fn link(text: Text<'_>, open: usize, style: Style, depth: usize) -> Result<Option<Step>, ()> {
    if text.at(open + 1)? == Some('[') {
        let end = text.find(open + 2, "]]")?.map(|end| end + 2);
        let look = style.with(Style::CYAN);
        return Ok(end.map(|end| Step::OutputPart(end, vec![(text.known[..end].to_owned(), look)])));
    }
    let Some(close) = text.find(open + 1, "]")? else { return Ok(None) };
    if text.at(close + 1)? != Some('(') {
        return Ok(None);
    }
    let Some(end) = text.find(close + 2, ")")? else { return Ok(None) };
    let (words, address) = (&text.known[open + 1..close], &text.known[close + 2..end]);
    if words.contains('[') || address.is_empty() {
        return Ok(None);
    }
    let mut shown = spans(words, style.with(Style::UNDERLINE), depth + 1);
    // The address is always shown: a terminal has no tooltip.
    if words != address {
        shown.push((format!(" ({address})"), style.with(Style::DIM)));
    }
    Ok(Some(Step::OutputPart(end + 1, shown)))
}
