//! Wraps words to a width.

use unicode_width::UnicodeWidthChar as _;

use super::style::Style;

/// The narrowest width for words, in columns.
const NARROWEST: usize = 8;

/// The line being filled. A word is shown when it is complete, so it never moves.
#[derive(Debug)]
pub struct Wrap {
    width: usize,
    /// The prefix of each continuation line, and its width.
    hanging: (String, usize),
    column: usize,
    /// Spaces before the word.
    blanks: usize,
    word: Vec<(char, Style)>,
    word_width: usize,
}

impl Wrap {
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

    /// Begins a block: `mark` now, and `hanging`, of the same width, before each continuation line.
    pub fn begin(&mut self, mark: &str, hanging: String, width: usize, out: &mut String) {
        out.push_str(mark);
        self.column = width;
        self.hanging = (hanging, width);
    }

    pub fn push(&mut self, c: char, style: Style, out: &mut String) {
        if c == ' ' {
            self.end_word(out);
            self.blanks += 1;
            return;
        }
        let width = c.width().unwrap_or(0);
        // Wide scripts have no spaces between words and may be broken between any two characters.
        if width > 1 {
            self.end_word(out);
        }
        self.word.push((c, style));
        self.word_width += width;
        if width > 1 || self.word_width >= self.room() {
            self.end_word(out);
        }
    }

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

    pub fn end_line(&mut self, out: &mut String) {
        self.end_word(out);
        out.push('\n');
        (self.column, self.blanks) = (0, 0);
        self.hanging = (String::new(), 0);
    }

    /// The columns available for words.
    fn room(&self) -> usize {
        self.width.saturating_sub(self.hanging.1).max(NARROWEST)
    }
}
