//! Markdown for a terminal, as it comes.
//!
//! Light: what a model writes in a chat, each line as soon as it can be told what it is, each word as
//! soon as it has ended. Tables and code keep their lines. What is put out depends on the text
//! alone, never on how it was cut into pieces: a property holds that.
//!
//! Reading order: [`style`], [`wrap`], [`block`], [`inline`], then what is here.

mod block;
mod inline;
pub mod style;
mod wrap;

use super::safe::Safe;
use block::{Block, Opening};
use inline::Step;
use style::Style;
use wrap::Wrap;

/// The widest that blanks before a line are kept, in columns.
const DEEPEST: usize = 24;

/// The longest piece of a line of code that is put out at once, in bytes.
const CODE_PIECE: usize = 400;

/// How a text is shown.
#[derive(Debug)]
pub struct Markdown {
    safe: Safe,
    /// What was said and is not shown yet.
    rest: String,
    place: Place,
    wrap: Wrap,
    /// Whether anything was shown.
    begun: bool,
    /// An empty line is due before what comes next.
    blank: bool,
}

/// Where in the text we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the beginning of a line.
    Line,
    /// Within words that look so, after this character.
    Words(Style, Option<char>),
    /// In a row of a table.
    Row,
    /// At the beginning of a line of code that ends with so many of a mark.
    CodeLine(char, usize),
    /// Within a line of it.
    Code(char, usize),
}

impl Markdown {
    /// Nothing yet, on lines of `width` columns.
    pub fn new(width: usize) -> Self {
        Self {
            safe: Safe::default(),
            rest: String::new(),
            place: Place::Line,
            wrap: Wrap::new(width),
            begun: false,
            blank: false,
        }
    }

    /// One more piece of the text; what can be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        self.safe.push(piece, &mut self.rest);
        let mut out = String::new();
        self.go_on(false, &mut out);
        out
    }

    /// The text is over: what is left of it, its last line ended.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        self.go_on(true, &mut out);
        if !matches!(self.place, Place::Line | Place::CodeLine(..)) {
            self.wrap.end_line(&mut out);
        }
        self.place = Place::Line;
        (self.begun, self.blank) = (false, false);
        out
    }

    fn go_on(&mut self, finished: bool, out: &mut String) {
        let rest = std::mem::take(&mut self.rest);
        let mut at = 0;
        loop {
            let line = &rest[at..];
            let (line, over, ended) = match line.find('\n') {
                Some(end) => (&line[..end], true, true),
                None => (line, finished, false),
            };
            if line.is_empty() && !ended {
                break;
            }
            let Some(taken) = self.take(line, over, out) else { break };
            at += taken;
            // The line was taken to its end.
            if taken == line.len() && ended {
                at += 1;
                self.end_line(out);
            } else if taken == line.len() && finished {
                break;
            }
        }
        self.rest = rest[at..].to_owned();
    }

    /// Shows the beginning of a line; how much of it that was, `None` while more must be known.
    fn take(&mut self, line: &str, over: bool, out: &mut String) -> Option<usize> {
        match self.place {
            Place::Line => {
                let opening = block::open(line, over)?;
                Some(self.open(&opening, line, out))
            }
            Place::Words(..) if line.is_empty() => Some(0),
            Place::Words(style, before) => {
                let Step::Shown(length, shown) = inline::step(line, before, style, over) else {
                    return None;
                };
                for (text, look) in shown {
                    text.chars().for_each(|c| self.wrap.push(c, look, out));
                }
                self.place = Place::Words(style, line[..length].chars().next_back());
                Some(length)
            }
            Place::Row => whole(line, over).inspect(|length| out.push_str(&line[..*length])),
            Place::CodeLine(mark, length) => {
                if block::closes(line, mark, length, over)? {
                    Style::DIM.paint(line, out);
                    self.place = Place::Row;
                    return Some(line.len());
                }
                self.place = Place::Code(mark, length);
                Some(0)
            }
            Place::Code(..) => {
                whole(line, over).inspect(|length| Style::CYAN.paint(&line[..*length], out))
            }
        }
    }

    fn open(&mut self, opening: &Opening, line: &str, out: &mut String) -> usize {
        if opening.block == Block::Blank {
            self.blank = self.begun;
            return opening.length.max(line.len());
        }
        if std::mem::take(&mut self.blank) {
            out.push('\n');
        }
        self.begun = true;
        let indent = " ".repeat(opening.indent.min(DEEPEST));
        let within = |style| Place::Words(style, None);
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
                Place::Row
            }
            Block::Fence(..) => {
                Style::DIM.paint(line.trim_end(), out);
                self.place
            }
            Block::Row => Place::Row,
        };
        if let Block::Fence(mark, length) = opening.block {
            self.place = Place::Code(mark, length);
        }
        opening.length
    }

    /// A line is over.
    fn end_line(&mut self, out: &mut String) {
        self.place = match self.place {
            // An empty one, shown when something follows.
            Place::Line => return,
            Place::CodeLine(mark, length) | Place::Code(mark, length) => {
                out.push('\n');
                Place::CodeLine(mark, length)
            }
            Place::Words(..) => {
                self.wrap.end_line(out);
                Place::Line
            }
            Place::Row => {
                out.push('\n');
                Place::Line
            }
        };
    }
}

/// How much of a line that is shown as it is can be put out: all of it, or a piece of fixed length.
fn whole(line: &str, over: bool) -> Option<usize> {
    match line.len() > CODE_PIECE {
        true => Some(block::boundary(line, CODE_PIECE)),
        false => over.then_some(line.len()),
    }
}

#[cfg(test)]
mod tests;
