//! What a person must agree to: asked in place, or while a line is being typed.

use serde_json::Value;

use super::super::failure::Failure;
use super::approval;
use super::asking::Asking;
use super::editor::Editor;
use super::markdown::style::Style;
use super::talk::{Next, Talk};
use super::transcript::Shown;
use crate::protocol::permission::RequestPermissionParams;

/// A question that waits for the person.
pub struct Question {
    pub id: Value,
    pub asked: Box<RequestPermissionParams>,
}

impl Talk<'_> {
    /// A person is asked: this one now, or when it is its turn.
    pub(super) fn asked(
        &mut self,
        id: Value,
        asked: Box<RequestPermissionParams>,
    ) -> Result<(), Failure> {
        // What still waited when the connection came back is asked anew.
        if self.questions.iter().any(|question| question.id == id) {
            return Ok(());
        }
        self.questions.push_back(Question { id, asked });
        let editing = self.editor.as_ref().is_some_and(Editor::is_reading);
        if editing && self.questions.len() == 1 {
            self.show_question()?;
        }
        Ok(())
    }

    /// Puts the next question, unless one is being answered or a line typed.
    pub(super) fn ask_next(&mut self) -> Result<(), Failure> {
        let editing = self.editor.as_ref().is_some_and(Editor::is_reading);
        if self.asking.is_some() || editing || self.editor.is_none() {
            return Ok(());
        }
        if self.questions.is_empty() {
            return Ok(());
        }
        self.show_question()?;
        self.asking = Some(Asking::start()?);
        Ok(())
    }

    fn show_question(&mut self) -> Result<(), Failure> {
        let Some(question) = self.questions.front() else { return Ok(()) };
        let editing = self.editor.as_ref().is_some_and(Editor::is_reading);
        let mut text = approval::shown(&question.asked, self.look);
        if editing {
            text.push_str("  /yes, /always or /no answers it\n");
        }
        let mut shown = self.transcript.say(Style::PLAIN, text.trim_end());
        if !editing {
            shown.push(Shown::Remark(approval::prompt(&question.asked)));
        }
        self.show(shown)
    }

    /// An answer was typed in place.
    pub(super) async fn decided(&mut self, answer: Option<String>) -> Result<Next, Failure> {
        self.asking = None;
        if answer.is_none() {
            // Ctrl-D: nothing is agreed to.
            self.screen.write("\n", None)?;
        }
        self.agree(&answer.unwrap_or_default()).await?;
        Ok(Next::GoOn)
    }

    /// Answers the question that stands first.
    pub(super) async fn agree(&mut self, typed: &str) -> Result<(), Failure> {
        let Some(question) = self.questions.pop_front() else {
            return self.tell(Style::DIM, "you are asked nothing");
        };
        let option = approval::option(&question.asked, typed);
        // Where the connection broke the question comes again.
        let _ = self.link.decide(&question.id, option).await;
        let editing = self.editor.as_ref().is_some_and(Editor::is_reading);
        if editing && !self.questions.is_empty() {
            self.show_question()?;
        }
        Ok(())
    }

    /// Somebody else has answered, or nobody needs the answer any more.
    pub(super) fn withdrawn(&mut self, id: &Value) -> Result<(), Failure> {
        let Some(at) = self.questions.iter().position(|question| question.id == *id) else {
            return Ok(());
        };
        self.questions.remove(at);
        if at > 0 {
            return Ok(());
        }
        let editing = self.editor.as_ref().is_some_and(Editor::is_reading);
        if self.asking.take().is_some() {
            self.screen.write("\n", None)?;
        }
        self.tell(Style::DIM, "that needs no answer any more")?;
        if editing {
            self.show_question()?;
        }
        Ok(())
    }

    /// Asks the person in place, with no line being typed; whether they agreed.
    pub(super) async fn confirm(&mut self, words: &str) -> Result<bool, Failure> {
        self.screen.write(words, None)?;
        let typed = Asking::start()?.line().await;
        if typed.is_none() {
            self.screen.write("\n", None)?;
        }
        let typed = typed.unwrap_or_default();
        Ok(matches!(typed.trim().to_lowercase().as_str(), "y" | "yes"))
    }
}
