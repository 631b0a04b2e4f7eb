//! Words onto lines of a width.

use unicode_width::UnicodeWidthChar as _;

use super::style::Style;

/// The narrowest that words are wrapped to, in columns.
const NARROWEST: usize = 8;

/// Lines that are being filled. A word is put out when it has ended, so a word never moves.
#[derive(Debug)]
pub struct Wrap {
    width: usize,
    /// What each further line of the block begins with, and how wide that is.
    hanging: (String, usize),
    column: usize,
    /// Blanks before the word.
    blanks: usize,
    word: Vec<(char, Style)>,
    word_width: usize,
}

impl Wrap {
    /// Nothing yet, on lines of `width` columns.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            hanging: (String::new(), 0),
            column: 0,
            blanks: 0,
            word: Vec::new(),
            word_width: 0,
        }
    }

    /// Begins a block: `mark` now, and `hanging` before each further line of it. Both are as wide.
    pub fn begin(&mut self, mark: &str, hanging: String, width: usize, out: &mut String) {
        out.push_str(mark);
        self.column = width;
        self.hanging = (hanging, width);
    }

    /// One more character of the text.
    pub fn push(&mut self, c: char, style: Style, out: &mut String) {
        if c == ' ' {
            self.end_word(out);
            self.blanks += 1;
            return;
        }
        let width = c.width().unwrap_or(0);
        // Scripts without blanks between words may be broken between any two characters.
        if width > 1 {
            self.end_word(out);
        }
        self.word.push((c, style));
        self.word_width += width;
        if width > 1 || self.word_width >= self.room() {
            self.end_word(out);
        }
    }

    /// The word is over.
    pub fn end_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        if self.column + self.blanks + self.word_width > self.hanging.1 + self.room() {
            out.push('\n');
            out.push_str(&self.hanging.0);
            self.column = self.hanging.1;
        } else {
            out.extend(std::iter::repeat_n(' ', self.blanks));
            self.column += self.blanks;
        }
        self.blanks = 0;
        let mut run = String::new();
        let mut look = Style::PLAIN;
        for (c, style) in self.word.drain(..) {
            if style != look {
                look.paint(&run, out);
                run.clear();
                look = style;
            }
            run.push(c);
        }
        look.paint(&run, out);
        self.column += std::mem::take(&mut self.word_width);
    }

    /// The line is over.
    pub fn end_line(&mut self, out: &mut String) {
        self.end_word(out);
        out.push('\n');
        (self.column, self.blanks) = (0, 0);
        self.hanging = (String::new(), 0);
    }

    /// Columns for words on a line of the block.
    fn room(&self) -> usize {
        self.width.saturating_sub(self.hanging.1).max(NARROWEST)
    }
}
