//! The appearance of a chat on its terminal, or in a pipe.

use std::io::IsTerminal as _;

use super::markdown::Markdown;
use super::markdown::style::Style;
use super::safe::Safe;
use crate::cli::Output;

/// The widest column to which text is wrapped: longer lines are hard to read.
const WIDEST: usize = 100;

/// The minimum width, even if the terminal reports less.
const NARROWEST: usize = 20;

/// The width of a terminal that does not report one.
const USUAL: usize = 80;

/// How output is shown.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Styled and wrapped; otherwise as written.
    pub styled: bool,
    /// Whether transient lines can be shown.
    pub live: bool,
}

impl Look {
    /// By the terminal, `NO_COLOR` and the flags.
    pub fn of(output: &Output) -> Self {
        let styled = output.color_stdout();
        Self { styled, live: styled && std::io::stdout().is_terminal() }
    }

    /// Begins a message, at the terminal's current width.
    pub fn message(self) -> Message {
        if !self.styled {
            return Message::Plain { safe: Safe::default(), open: false };
        }
        let columns = terminal_size::terminal_size().map_or(USUAL, |(width, _)| width.0.into());
        Message::Styled(Box::new(Markdown::new(columns.clamp(NARROWEST, WIDEST))))
    }

    /// `text` in this style, if styles are shown.
    pub fn paint(self, style: Style, text: &str) -> String {
        if self.styled { style.painted(text) } else { text.to_owned() }
    }
}

/// A message that is being shown.
#[derive(Debug)]
pub enum Message {
    Styled(Box<Markdown>),
    /// OutputPart as written.
    Plain {
        /// Removes what could steer the terminal.
        safe: Safe,
        /// Whether its last line has not ended.
        open: bool,
    },
}

impl Message {
    /// Adds a piece of the message; returns what can be shown.
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

    /// Ends the message; returns the rest, with its last line ended.
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
