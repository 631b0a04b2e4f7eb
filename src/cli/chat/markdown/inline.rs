//! What is within a line: emphasis, code, links.
//!
//! A mark counts only together with the one that ends it, so what is not ended is shown as it was
//! written. The search for it ends with the line, or [`WINDOW`] bytes on: a text that comes in
//! pieces waits no longer than that. Whatever is decided is decided by the text alone, never by
//! where a piece ended.

use super::block::boundary;
use super::style::Style;

/// How far the end of a span is looked for, in bytes.
const WINDOW: usize = 600;

/// How deep spans lie in each other.
const DEPTH: usize = 4;

/// What the text begins with.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// That depends on what follows.
    Need,
    /// So many bytes, looking so.
    Shown(usize, Vec<(String, Style)>),
}

/// What is known of a text that is still coming.
#[derive(Debug, Clone, Copy)]
struct Text<'a> {
    /// As far as it is looked at.
    known: &'a str,
    /// Whether nothing follows, or nothing that is looked at.
    over: bool,
}

impl<'a> Text<'a> {
    fn window(text: &'a str, over: bool) -> Self {
        if text.len() <= WINDOW {
            return Self { known: text, over };
        }
        Self { known: &text[..boundary(text, WINDOW)], over: true }
    }

    /// The character at `at`: `Err` where it is not known yet.
    fn at(self, at: usize) -> Result<Option<char>, ()> {
        match self.known[at..].chars().next() {
            Some(c) => Ok(Some(c)),
            None if self.over => Ok(None),
            None => Err(()),
        }
    }

    /// How often `mark` stands at `at`, one after the other.
    fn run(self, at: usize, mark: char) -> Result<usize, ()> {
        let length = self.known[at..].chars().take_while(|c| *c == mark).count();
        self.at(at + length).map(|_| length)
    }

    /// Where `end` next stands at or after `from`: `Ok(None)` where it does not.
    fn find(self, from: usize, end: &str) -> Result<Option<usize>, ()> {
        match self.known[from..].find(end) {
            Some(at) => Ok(Some(from + at)),
            None if self.over => Ok(None),
            None => Err(()),
        }
    }
}

/// What `text` begins with, which is not empty and holds no line break; `before` is the character
/// before it, and `over` says that the line ends with it.
pub fn step(text: &str, before: Option<char>, style: Style, over: bool) -> Step {
    read(Text::window(text, over), before, style, 0).unwrap_or(Step::Need)
}

/// The whole of a line, or of a span's inside.
fn spans(text: &str, style: Style, depth: usize) -> Vec<(String, Style)> {
    let (mut found, mut at, mut before) = (Vec::new(), 0, None);
    while at < text.len() {
        let rest = Text { known: &text[at..], over: true };
        let Ok(Step::Shown(length, shown)) = read(rest, before, style, depth) else { break };
        found.extend(shown);
        before = text[at..at + length].chars().next_back();
        at += length;
    }
    found
}

fn read(text: Text<'_>, before: Option<char>, style: Style, depth: usize) -> Result<Step, ()> {
    let Some(first) = text.at(0)? else { return Ok(Step::Shown(0, Vec::new())) };
    let span = match first {
        _ if depth >= DEPTH => None,
        '\\' => escaped(text, style)?,
        '`' => code(text, style)?,
        '*' | '_' | '~' => emphasis(text, before, first, style, depth)?,
        '[' => link(text, 0, style, depth)?,
        '!' if text.at(1)? == Some('[') => link(text, 1, style, depth)?,
        _ => None,
    };
    Ok(span.unwrap_or_else(|| {
        // Marks that mean nothing are taken together, or the rest of them would be looked at anew.
        let length = match first {
            '*' | '_' | '~' | '`' => text.known.chars().take_while(|c| *c == first).count(),
            _ => first.len_utf8(),
        };
        Step::Shown(length, vec![(text.known[..length].to_owned(), style)])
    }))
}

fn escaped(text: Text<'_>, style: Style) -> Result<Option<Step>, ()> {
    let next = text.at(1)?.filter(char::is_ascii_punctuation);
    Ok(next.map(|c| Step::Shown(2, vec![(c.to_string(), style)])))
}

fn code(text: Text<'_>, style: Style) -> Result<Option<Step>, ()> {
    let length = text.run(0, '`')?;
    let Some(end) = code_end(text, length, length)? else { return Ok(None) };
    let inside = &text.known[length..end];
    let trimmed = inside.strip_prefix(' ').and_then(|inside| inside.strip_suffix(' '));
    let shown = trimmed.filter(|inside| !inside.trim().is_empty()).unwrap_or(inside);
    let look = style.with(Style::CYAN);
    Ok(Some(Step::Shown(end + length, vec![(shown.to_owned(), look)])))
}

/// Where the marks stand that end a code span begun with `length` of them.
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
    Ok(Some(Step::Shown(end + length, inside)))
}

/// Where the marks stand that end an emphasis begun with `length` of them.
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
            // `**a *b* c**`: one mark alone does not end two, and two do not end one.
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

/// `[words](address)`, `[[Note]]`, and both with a `!` before.
fn link(text: Text<'_>, open: usize, style: Style, depth: usize) -> Result<Option<Step>, ()> {
    if text.at(open + 1)? == Some('[') {
        let end = text.find(open + 2, "]]")?.map(|end| end + 2);
        let look = style.with(Style::CYAN);
        return Ok(end.map(|end| Step::Shown(end, vec![(text.known[..end].to_owned(), look)])));
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
    // Where a link leads is always shown: a terminal cannot be asked.
    if words != address {
        shown.push((format!(" ({address})"), style.with(Style::DIM)));
    }
    Ok(Some(Step::Shown(end + 1, shown)))
}
