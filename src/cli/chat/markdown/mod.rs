//! Streaming Markdown for a terminal.
//!
//! Supports the Markdown that models write in chats. A line is shown as soon as its kind is known, a
//! word as soon as it is complete. Tables and code are not wrapped. The output depends only on the
//! text, never on how it was cut into pieces (a property test).
//!
//! Reading order: [`style`], [`wrap`], [`block`], [`inline`], then this file.

mod block;
mod inline;
pub mod style;
mod wrap;

use super::safe::Safe;
use block::{Block, Opening};
use inline::Step;
use style::Style;
use wrap::Wrap;

/// The deepest indent, in columns.
const DEEPEST: usize = 24;

/// The longest piece of a code line shown at once, in bytes.
const CODE_PIECE: usize = 400;

#[derive(Debug)]
pub struct Markdown {
    safe: Safe,
    /// Text received but not shown yet.
    rest: String,
    place: ParserState,
    wrap: Wrap,
    /// Whether anything has been shown.
    started: bool,
    /// An empty line is due before the next output.
    blank: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParserState {
    Line,
    /// Within a paragraph, in this style, after this character.
    Words(Style, Option<char>),
    Row,
    /// At the beginning of a line of a code block with this fence.
    CodeLine(char, usize),
    /// Within such a line.
    Code(char, usize),
}

impl Markdown {
    /// A renderer for lines of `width` columns.
    pub fn new(width: usize) -> Self {
        Self {
            safe: Safe::default(),
            rest: String::new(),
            place: ParserState::Line,
            wrap: Wrap::new(width),
            started: false,
            blank: false,
        }
    }

    /// Adds a piece of the text; returns the part that can be shown.
    pub fn push(&mut self, piece: &str) -> String {
        self.safe.push(piece, &mut self.rest);
        let mut out = String::new();
        self.go_on(false, &mut out);
        out
    }

    /// Ends the text; returns the rest, with its last line ended.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        self.go_on(true, &mut out);
        if !matches!(self.place, ParserState::Line | ParserState::CodeLine(..)) {
            self.wrap.end_line(&mut out);
        }
        self.place = ParserState::Line;
        (self.started, self.blank) = (false, false);
        out
    }

    fn go_on(&mut self, finished: bool, out: &mut String) {
        let rest = std::mem::take(&mut self.rest);
        let mut at = 0;
        loop {
            let line = &rest[at..];
            let (line, is_complete, ended) = match line.find('\n') {
                Some(end) => (&line[..end], true, true),
                None => (line, finished, false),
            };
            if line.is_empty() && !ended {
                break;
            }
            let Some(taken) = self.take(line, is_complete, out) else { break };
            at += taken;
            // The line was consumed.
            if taken == line.len() && ended {
                at += 1;
                self.end_line(out);
            } else if taken == line.len() && finished {
                break;
            }
        }
        self.rest = rest[at..].to_owned();
    }

    /// Shows the beginning of a line; returns its length, or `None` if more text is needed.
    fn take(&mut self, line: &str, is_complete: bool, out: &mut String) -> Option<usize> {
        match self.place {
            ParserState::Line => {
                let opening = block::open(line, is_complete)?;
                Some(self.open(&opening, line, out))
            }
            ParserState::Words(..) if line.is_empty() => Some(0),
            ParserState::Words(style, before) => {
                let Step::OutputPart(length, shown) =
                    inline::step(line, before, style, is_complete)
                else {
                    return None;
                };
                for (text, look) in shown {
                    text.chars().for_each(|c| self.wrap.push(c, look, out));
                }
                self.place = ParserState::Words(style, line[..length].chars().next_back());
                Some(length)
            }
            ParserState::Row => {
                whole(line, is_complete).inspect(|length| out.push_str(&line[..*length]))
            }
            ParserState::CodeLine(mark, length) => {
                if block::closes(line, mark, length, is_complete)? {
                    Style::DIM.paint(line, out);
                    self.place = ParserState::Row;
                    return Some(line.len());
                }
                self.place = ParserState::Code(mark, length);
                Some(0)
            }
            ParserState::Code(..) => {
                whole(line, is_complete).inspect(|length| Style::CYAN.paint(&line[..*length], out))
            }
        }
    }

    fn open(&mut self, opening: &Opening, line: &str, out: &mut String) -> usize {
        if opening.block == Block::Blank {
            self.blank = self.started;
            return opening.length.max(line.len());
        }
        if std::mem::take(&mut self.blank) {
            out.push('\n');
        }
        self.started = true;
        let indent = " ".repeat(opening.indent.min(DEEPEST));
        let within = |style| ParserState::Words(style, None);
        let width = indent.len();
        self.place = match &opening.block {
            Block::Paragraph | Block::Blank => {
                self.wrap.begin(&indent, indent.clone(), width, out);
                within(Style::PLAIN)
            }
            Block::Heading(level) => {
                self.wrap.begin("", String::new(), 0, out);
                let look =
                    if *level == 1 { Style::BOLD.with(Style::UNDERLINE) } else { Style::BOLD };
                within(look)
            }
            Block::Item(mark) => {
                let mark_width = mark.chars().count() + 1;
                let hanging = " ".repeat(width + mark_width);
                let mark = format!("{indent}{mark} ");
                self.wrap.begin(&mark, hanging, width + mark_width, out);
                within(Style::PLAIN)
            }
            Block::Quote(depth) => {
                let depth = (*depth).min(DEEPEST / 2);
                let bar = Style::DIM.painted(&"│ ".repeat(depth));
                self.wrap.begin(&bar, bar.clone(), depth * 2, out);
                within(Style::PLAIN)
            }
            Block::Rule => {
                Style::DIM.paint("────────────────────", out);
                ParserState::Row
            }
            Block::Fence(..) => {
                Style::DIM.paint(line.trim_end(), out);
                self.place
            }
            Block::Row => ParserState::Row,
        };
        if let Block::Fence(mark, length) = opening.block {
            self.place = ParserState::Code(mark, length);
        }
        opening.length
    }

    fn end_line(&mut self, out: &mut String) {
        self.place = match self.place {
            // An empty line, shown when something follows.
            ParserState::Line => return,
            ParserState::CodeLine(mark, length) | ParserState::Code(mark, length) => {
                out.push('\n');
                ParserState::CodeLine(mark, length)
            }
            ParserState::Words(..) => {
                self.wrap.end_line(out);
                ParserState::Line
            }
            ParserState::Row => {
                out.push('\n');
                ParserState::Line
            }
        };
    }
}

/// The length of an unwrapped line that can be shown: all of it, or a piece of fixed length.
fn whole(line: &str, is_complete: bool) -> Option<usize> {
    if line.len() > CODE_PIECE {
        Some(block::boundary(line, CODE_PIECE))
    } else {
        is_complete.then_some(line.len())
    }
}

#[cfg(test)]
mod tests;
