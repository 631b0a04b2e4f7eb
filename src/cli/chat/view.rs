//! What the person sees: what happens, in words, and the line that they type.

use super::super::failure::Failure;
use super::editor::Editor;
use super::look::Look;
use super::markdown::style::Style;
use super::safe;
use super::screen::Screen;
use super::transcript::{Shown, Transcript};

/// The terminal of one chat, or the pipes in its place.
pub struct View {
    /// How things look.
    pub look: Look,
    /// What happens, put into words.
    pub transcript: Transcript,
    /// Where they are written.
    pub screen: Screen,
    /// Where lines are typed, if a person is there.
    pub editor: Option<Editor>,
}

impl View {
    /// Whether a line is being typed.
    pub fn is_typing(&self) -> bool {
        self.editor.as_ref().is_some_and(Editor::is_reading)
    }

    /// Shows all of it, in order.
    pub fn show(&mut self, shown: Vec<Shown>) -> Result<(), Failure> {
        Ok(self.screen.show(shown, self.editor.as_ref())?)
    }

    /// A line of our own.
    pub fn tell(&mut self, style: Style, words: &str) -> Result<(), Failure> {
        let shown = self.transcript.say(style, words);
        self.show(shown)
    }

    /// Says what failed, and what to do.
    pub fn fail(&mut self, failure: &Failure) -> Result<(), Failure> {
        self.tell(Style::RED, &safe::line(&failure.message))?;
        match failure.hint.as_deref().filter(|hint| !hint.is_empty()) {
            Some(hint) => self.tell(Style::DIM, &safe::lines(hint)),
            None => Ok(()),
        }
    }
}
