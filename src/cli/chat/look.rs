//! How a chat looks on its terminal, or that it goes into a pipe.

use std::io::IsTerminal as _;

use super::super::output::Output;
use super::markdown::Markdown;
use super::markdown::style::Style;
use super::safe::Safe;

/// The widest that words are wrapped to, in columns: longer lines are hard to read.
const WIDEST: usize = 100;

/// The narrowest, whatever the terminal says.
const NARROWEST: usize = 20;

/// The columns of a terminal that does not say.
const USUAL: usize = 80;

/// How things are shown.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// With looks and wrapped words; else as it was written.
    pub styled: bool,
    /// Whether lines that go away again can be shown.
    pub live: bool,
}

impl Look {
    /// As the terminal, `NO_COLOR` and the flags say.
    pub fn of(output: &Output) -> Self {
        let styled = output.color_stdout();
        Self { styled, live: styled && std::io::stdout().is_terminal() }
    }

    /// A message that begins, at the width that the terminal has now.
    pub fn message(self) -> Message {
        if !self.styled {
            return Message::Plain { safe: Safe::default(), open: false };
        }
        let columns = terminal_size::terminal_size().map_or(USUAL, |(width, _)| width.0.into());
        Message::Styled(Box::new(Markdown::new(columns.clamp(NARROWEST, WIDEST))))
    }

    /// `text`, looking so where looks are shown.
    pub fn paint(self, style: Style, text: &str) -> String {
        if self.styled { style.painted(text) } else { text.to_owned() }
    }
}

/// A message that is being shown.
#[derive(Debug)]
pub enum Message {
    Styled(Box<Markdown>),
    /// As it was written.
    Plain {
        /// What keeps the terminal safe.
        safe: Safe,
        /// Whether its last line has not ended.
        open: bool,
    },
}

impl Message {
    /// One more piece of it; what can be shown.
    pub fn push(&mut self, piece: &str) -> String {
        match self {
            Self::Styled(markdown) => markdown.push(piece),
            Self::Plain { safe, open } => {
                let mut shown = String::new();
                safe.push(piece, &mut shown);
                *open = shown.chars().next_back().map_or(*open, |last| last != '\n');
                shown
            }
        }
    }

    /// It is over; what is left to show, its last line ended.
    pub fn finish(&mut self) -> String {
        match self {
            Self::Styled(markdown) => markdown.finish(),
            Self::Plain { open, .. } => {
                if std::mem::take(open) {
                    "\n".to_owned()
                } else {
                    String::new()
                }
            }
        }
    }
}
