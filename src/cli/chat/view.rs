//! The output of a chat and the line being typed.

use super::editor::Editor;
use super::look::Look;
use super::markdown::style::Style;
use super::safe;
use super::screen::Screen;
use super::transcript::{OutputPart, Transcript};
use crate::cli::{Failure, Result};

/// The terminal of one chat, or the pipes in its place.
pub struct View {
    pub look: Look,
    pub transcript: Transcript,
    pub screen: Screen,
    /// The line editor, if a person is there.
    pub editor: Option<Editor>,
}

impl View {
    /// Whether a line is being typed.
    pub fn is_typing(&self) -> bool {
        self.editor.as_ref().is_some_and(Editor::is_reading)
    }

    pub fn show(&mut self, shown: Vec<OutputPart>) -> Result<()> {
        Ok(self.screen.show(shown, self.editor.as_ref())?)
    }

    /// A remark of this program.
    pub fn remark(&mut self, style: Style, words: &str) -> Result<()> {
        let shown = self.transcript.styled_line(style, words);
        self.show(shown)
    }

    /// Shows an error and its hint.
    pub fn fail(&mut self, failure: &Failure) -> Result<()> {
        self.remark(Style::RED, &safe::line(&failure.message))?;
        match failure.hint.as_deref().filter(|hint| !hint.is_empty()) {
            Some(hint) => self.remark(Style::DIM, &safe::lines(hint)),
            None => Ok(()),
        }
    }
}
