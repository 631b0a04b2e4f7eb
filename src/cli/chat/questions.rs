//! What a person must agree to: asked in place, or while a line is being typed.

use std::collections::VecDeque;

use serde_json::Value;

use super::super::failure::Failure;
use super::approval;
use super::asking::Asking;
use super::link::Link;
use super::markdown::style::Style;
use super::transcript::Shown;
use super::view::View;
use crate::protocol::permission::RequestPermissionParams;

/// A question that waits for the person.
struct Question {
    id: Value,
    asked: Box<RequestPermissionParams>,
}

/// The questions that wait, in order.
#[derive(Default)]
pub struct Questions {
    waiting: VecDeque<Question>,
    /// The answer to the first one, while it is asked in place.
    answer: Option<Asking>,
}

impl Questions {
    /// A person is asked: this one now, or when it is its turn.
    pub fn add(
        &mut self,
        id: Value,
        asked: Box<RequestPermissionParams>,
        view: &mut View,
    ) -> Result<(), Failure> {
        // What still waited when the connection came back is asked anew.
        if self.waiting.iter().any(|question| question.id == id) {
            return Ok(());
        }
        self.waiting.push_back(Question { id, asked });
        if view.is_typing() && self.waiting.len() == 1 { self.show(view) } else { Ok(()) }
    }

    /// Asks the next one in place, unless one is being answered or a line typed.
    pub fn ask_next(&mut self, view: &mut View) -> Result<(), Failure> {
        let free = self.answer.is_none() && view.editor.is_some() && !view.is_typing();
        if free && !self.waiting.is_empty() {
            self.show(view)?;
            self.answer = Some(Asking::start()?);
        }
        Ok(())
    }

    /// Whether one is being answered in place.
    pub fn is_asking(&self) -> bool {
        self.answer.is_some()
    }

    /// What is typed in answer, once it is. Given up in between, it loses nothing.
    pub async fn typed(&mut self) -> Option<String> {
        match &mut self.answer {
            Some(answer) => answer.line().await,
            None => std::future::pending().await,
        }
    }

    /// An answer was typed in place.
    pub async fn decide(
        &mut self,
        typed: Option<String>,
        link: &mut Link<'_>,
        view: &mut View,
    ) -> Result<(), Failure> {
        self.answer = None;
        if typed.is_none() {
            // Ctrl-D: nothing is agreed to.
            view.screen.write("\n", None)?;
        }
        self.agree(&typed.unwrap_or_default(), link, view).await
    }

    /// Answers the question that stands first.
    pub async fn agree(
        &mut self,
        typed: &str,
        link: &mut Link<'_>,
        view: &mut View,
    ) -> Result<(), Failure> {
        let Some(question) = self.waiting.pop_front() else {
            return view.tell(Style::DIM, "you are asked nothing");
        };
        let (option, words) = approval::answer(&question.asked, typed);
        // Where the connection broke the question comes again.
        let _ = link.decide(&question.id, option, words).await;
        if view.is_typing() { self.show(view) } else { Ok(()) }
    }

    /// Refuses the one that is asked in place, if any.
    pub async fn refuse(&mut self, link: &mut Link<'_>, view: &mut View) -> Result<(), Failure> {
        if let Some(question) = self.waiting.front().filter(|_| self.answer.is_some()) {
            let _ = link.decide(&question.id, "reject_once", "").await;
            self.waiting.pop_front();
            self.answer = None;
            view.screen.write("\n", None)?;
        }
        Ok(())
    }

    /// Somebody else has answered, or nobody needs the answer any more.
    pub fn withdraw(&mut self, id: &Value, view: &mut View) -> Result<(), Failure> {
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
        view.tell(Style::DIM, "that needs no answer any more")?;
        if view.is_typing() { self.show(view) } else { Ok(()) }
    }

    /// Forgets them all: whoever is there next asks anew.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Shows the one that stands first.
    fn show(&self, view: &mut View) -> Result<(), Failure> {
        let Some(question) = self.waiting.front() else { return Ok(()) };
        let mut text = approval::shown(&question.asked, view.look);
        let typing = view.is_typing();
        if typing {
            text.push_str("  /yes, /always or /no [WHY NOT] answers it\n");
        }
        let mut shown = view.transcript.say(Style::PLAIN, text.trim_end());
        if !typing {
            shown.push(Shown::Remark(approval::prompt(&question.asked)));
        }
        view.show(shown)
    }
}

/// Asks the person in place, with no line being typed; whether they agreed.
pub async fn confirm(words: &str, view: &mut View) -> Result<bool, Failure> {
    view.screen.write(words, None)?;
    let typed = Asking::start()?.line().await;
    if typed.is_none() {
        view.screen.write("\n", None)?;
    }
    let typed = typed.unwrap_or_default();
    Ok(matches!(typed.trim().to_lowercase().as_str(), "y" | "yes"))
}
