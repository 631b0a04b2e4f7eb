//! How a turn comes to its end: failures, the end of its time, a person who stops it, and what is
//! kept of an answer that has none.

use super::{Effect, End, MessageKind, Phase, Reason, Severity, Show, Then, Turn};
use crate::agent::attached::Attached;
use crate::agent::entry::{Entry, Said};
use crate::llm::{Block, ErrorKind, LlmError, Message, Usage};

/// Why a turn ends that took too long.
const LATE: &str = "the time for one turn is over";

impl Turn {
    pub(super) fn failed(&mut self, error: &LlmError, out: &mut Vec<Effect>) {
        if self.phase != Phase::Asking {
            return;
        }
        self.spent_in_vain(error.detail.usage, out);
        if error.kind == ErrorKind::ContextLength && !self.was_shortened {
            self.take_back(out);
            return self.shorten(out);
        }
        self.keep_part("[the answer broke off here]", out);
        let reason = match error.kind {
            ErrorKind::Refused => {
                self.declined(&error.message, out);
                Reason::Refused
            }
            _ => Reason::Failed,
        };
        self.cause = Some(error.kind);
        self.finish(reason, error.to_string(), error.hint(), out);
    }

    /// Counts an answer that broke off. One of which something came is paid for, though nobody tells
    /// its tokens.
    pub(super) fn spent_in_vain(&mut self, usage: Option<Usage>, out: &mut Vec<Effect>) {
        if usage.is_some() || self.answer.has_begun {
            self.spend(&usage.unwrap_or_default());
            out.push(Effect::Usage { usage, origin: None });
        }
    }

    /// Says that the model declined, and why.
    pub(super) fn declined(&mut self, why: &str, out: &mut Vec<Effect>) {
        self.notice(Severity::Warning, "the model declined to answer", why, out);
    }

    /// Keeps what people have read of an answer that has no end.
    fn keep_part(&mut self, why: &str, out: &mut Vec<Effect>) {
        let text = std::mem::take(&mut self.answer.text);
        if text.trim().is_empty() {
            return;
        }
        let id = self.text_id();
        let content = vec![Block::text(text.trim_end())];
        out.push(Effect::Record(Entry::Message {
            message: Message::Assistant { content, origin: None },
            id: Some(id.clone()),
            source: None,
            scope: None,
            attached: Attached::default(),
        }));
        out.push(Effect::Record(Entry::notice(why)));
        let (text, kind) = (text.trim_end().to_owned(), MessageKind::Part);
        out.push(Effect::Show(Show::Message { id, text, kind }));
    }

    /// Says in the model's place that there is none.
    pub(super) fn unavailable(&mut self, words: String, out: &mut Vec<Effect>) {
        if self.phase != Phase::Asking {
            return;
        }
        let id = self.text_id();
        out.push(Effect::Record(Entry::Message {
            message: Message::Notice { text: words.clone() },
            id: Some(id.clone()),
            source: None,
            scope: None,
            attached: Attached::default(),
        }));
        out.push(Effect::Show(Show::Text { id: id.clone(), delta: words.clone() }));
        let kind = MessageKind::Answer;
        out.push(Effect::Show(Show::Message { id, text: words, kind }));
        self.cause = Some(ErrorKind::NotFound);
        self.finish(Reason::Done, String::new(), None, out);
    }

    /// Lets go of it, without an end: what it wanted cannot be kept. What was not heard.
    pub fn abandon(&mut self) -> Vec<Said> {
        self.phase = Phase::Over;
        self.unheard.drain(..).collect()
    }

    /// The first time it has to come to an end by itself; the second time what it still does is cut
    /// off.
    pub(super) fn time_is_up(&mut self, out: &mut Vec<Effect>) {
        if !std::mem::replace(&mut self.is_late, true) {
            self.must_end.get_or_insert(LATE);
            return;
        }
        match self.phase {
            Phase::Asking | Phase::Shortening => {
                out.push(Effect::Stop);
                self.keep_part("[the time for the turn was over here]", out);
                self.notice(Severity::Warning, &format!("the turn ends here: {LATE}"), "", out);
                self.finish(Reason::MaxRounds, String::new(), None, out);
            }
            Phase::Working => {
                out.push(Effect::Stop);
                self.then = Then::Finish(Reason::MaxRounds);
                self.notice(Severity::Warning, &format!("the turn ends here: {LATE}"), "", out);
                self.cancel_calls(LATE, out);
            }
            Phase::New | Phase::Over => {}
        }
    }

    pub(super) fn cancel(&mut self, out: &mut Vec<Effect>) {
        if std::mem::replace(&mut self.is_cancelled, true) {
            return;
        }
        match self.phase {
            Phase::Asking | Phase::Shortening => {
                out.push(Effect::Stop);
                self.keep_part("[the user stopped the answer here]", out);
                self.finish(Reason::Cancelled, String::new(), None, out);
            }
            Phase::Working => {
                out.push(Effect::Stop);
                self.cancel_calls("the user cancelled", out);
            }
            Phase::New => self.finish(Reason::Cancelled, String::new(), None, out),
            Phase::Over => {}
        }
    }

    /// Every call has its result.
    pub(super) fn all_done(&mut self, out: &mut Vec<Effect>) {
        self.slots.clear();
        if self.is_cancelled {
            return self.finish(Reason::Cancelled, String::new(), None, out);
        }
        if self.asks_person {
            return self.finish(Reason::Waiting, String::new(), None, out);
        }
        if let Some(reason) = self.ends.clone() {
            return self.finish(Reason::Ended, reason, None, out);
        }
        match self.then {
            Then::GoOn => self.go_on(out),
            Then::Shorten if self.was_shortened => self.shortened_in_vain(out),
            Then::Shorten => {
                // A history that ends with an answer would be taken for one to be continued.
                let words = "Your answer was cut off, since the window was full. Go on with it.";
                out.push(Effect::Record(Entry::notice(words)));
                self.shorten(out);
            }
            Then::Finish(reason) => self.finish(reason, String::new(), None, out),
        }
    }

    fn shortened_in_vain(&mut self, out: &mut Vec<Effect>) {
        self.phase = Phase::Shortening;
        self.shortened(false, out);
    }

    pub(super) fn finish(
        &mut self,
        reason: Reason,
        words: String,
        hint: Option<String>,
        out: &mut Vec<Effect>,
    ) {
        if reason == Reason::Cancelled {
            // What was said meanwhile stays said, though nobody answers it.
            while let Some(said) = self.unheard.pop_front() {
                self.hear(said, out);
            }
        }
        self.phase = Phase::Over;
        let unheard = self.unheard.drain(..).collect();
        out.push(Effect::Finish(End { reason, words, cause: self.cause, hint, unheard }));
    }
}
