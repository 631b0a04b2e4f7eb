//! The questions to the person: asked in place, or while a line is being typed.

use std::collections::VecDeque;

use serde_json::Value;

use super::approval;
use super::line_read::LineRead;
use super::link::Link;
use super::markdown::style::Style;
use super::transcript::OutputPart;
use super::view::View;
use crate::cli::Result;
use crate::protocol::permission::RequestPermissionParams;

struct Question {
    id: Value,
    request: Box<RequestPermissionParams>,
}

#[derive(Default)]
pub struct Questions {
    waiting: VecDeque<Question>,
    /// The answer to the first question, while it is asked in place.
    answer: Option<LineRead>,
}

impl Questions {
    /// Adds a question: asks it now, or when its turn comes.
    pub fn add(
        &mut self,
        id: Value,
        request: Box<RequestPermissionParams>,
        view: &mut View,
    ) -> Result<()> {
        // The daemon asks open questions again after a reconnect.
        if self.waiting.iter().any(|question| question.id == id) {
            return Ok(());
        }
        self.waiting.push_back(Question { id, request });
        if view.is_typing() && self.waiting.len() == 1 { self.show(view) } else { Ok(()) }
    }

    /// Asks the next question in place, unless one is being answered or a line is being typed.
    pub fn ask_next(&mut self, view: &mut View) -> Result<()> {
        let free = self.answer.is_none() && view.editor.is_some() && !view.is_typing();
        if free && !self.waiting.is_empty() {
            self.show(view)?;
            self.answer = Some(LineRead::start()?);
        }
        Ok(())
    }

    /// Whether a question is being answered in place.
    pub fn is_asking(&self) -> bool {
        self.answer.is_some()
    }

    /// The answer once it is typed. Cancel-safe.
    pub async fn typed(&mut self) -> Option<String> {
        match &mut self.answer {
            Some(answer) => answer.line().await,
            None => std::future::pending().await,
        }
    }

    /// Handles an answer typed in place.
    pub async fn decide(
        &mut self,
        typed: Option<String>,
        link: &mut Link<'_>,
        view: &mut View,
    ) -> Result<()> {
        self.answer = None;
        if typed.is_none() {
            // Ctrl-D approves nothing.
            view.screen.write("\n", None)?;
        }
        self.agree(&typed.unwrap_or_default(), link, view).await
    }

    /// Answers the first question.
    pub async fn agree(&mut self, typed: &str, link: &mut Link<'_>, view: &mut View) -> Result<()> {
        let Some(question) = self.waiting.pop_front() else {
            return view.remark(Style::DIM, "you are asked nothing");
        };
        let (option, words) = approval::answer(&question.request, typed);
        // After a lost connection the daemon asks again.
        let _ = link.decide(&question.id, option, words).await;
        if view.is_typing() { self.show(view) } else { Ok(()) }
    }

    /// Refuses the question that is asked in place, if any.
    pub async fn refuse(&mut self, link: &mut Link<'_>, view: &mut View) -> Result<()> {
        if let Some(question) = self.waiting.front().filter(|_| self.answer.is_some()) {
            let _ = link.decide(&question.id, "reject_once", "").await;
            self.waiting.pop_front();
            self.answer = None;
            view.screen.write("\n", None)?;
        }
        Ok(())
    }

    /// Removes a question that was answered elsewhere, or no longer needs an answer.
    pub fn withdraw(&mut self, id: &Value, view: &mut View) -> Result<()> {
        let Some(at) = self.waiting.iter().position(|question| question.id == *id) else {
            return Ok(());
        };
        self.waiting.remove(at);
        if at > 0 {
            return Ok(());
        }
        if self.answer.take().is_some() {
            view.screen.write("\n", None)?;
        }
        view.remark(Style::DIM, "that question no longer needs an answer")?;
        if view.is_typing() { self.show(view) } else { Ok(()) }
    }

    /// Forgets all questions: the next daemon asks again.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn show(&self, view: &mut View) -> Result<()> {
        let Some(question) = self.waiting.front() else { return Ok(()) };
        let mut text = approval::shown(&question.request, view.look);
        let typing = view.is_typing();
        if typing {
            text.push_str("  /yes, /always or /no [WHY NOT] answers it\n");
        }
        let mut shown = view.transcript.styled_line(Style::PLAIN, text.trim_end());
        if !typing {
            shown.push(OutputPart::Remark(approval::prompt(&question.request)));
        }
        view.show(shown)
    }
}

/// Asks the person in place, while no line is being typed; returns whether they approved.
pub async fn confirm(words: &str, view: &mut View) -> Result<bool> {
    view.screen.write(words, None)?;
    let typed = LineRead::start()?.line().await;
    if typed.is_none() {
        view.screen.write("\n", None)?;
    }
    let typed = typed.unwrap_or_default();
    Ok(matches!(typed.trim().to_lowercase().as_str(), "y" | "yes"))
}
