//! Ends a turn: model failures, timeouts and cancellation, including what to record of a partial
//! answer.

use super::{AfterCalls, Effect, End, MessageKind, Phase, Reason, Severity, Show, Turn};
use crate::agent::entry::{Entry, UserMessage};
use crate::llm::{Block, ErrorKind, LlmError, Message, Usage};

/// Why the turn ends after its time is over.
const LATE: &str = "the time for one turn is over";

impl Turn {
    pub(super) fn failed(&mut self, error: &LlmError, out: &mut Vec<Effect>) {
        if self.phase != Phase::AwaitingModel {
            return;
        }
        self.count_failed_answer(error.detail.usage, out);
        if error.kind == ErrorKind::ContextLength && !self.was_compacted {
            self.discard_shown(out);
            return self.compact(out);
        }
        self.keep_part("[the answer was interrupted here]", out);
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

    /// Counts a failed answer. If any of it arrived, it has a cost, even if its tokens are unknown.
    pub(super) fn count_failed_answer(&mut self, usage: Option<Usage>, out: &mut Vec<Effect>) {
        if usage.is_some() || self.answer.has_begun {
            self.spend(&usage.unwrap_or_default());
            out.push(Effect::Usage { usage, origin: None });
        }
    }

    /// Shows that the model refused, and why.
    pub(super) fn declined(&mut self, why: &str, out: &mut Vec<Effect>) {
        self.notice(Severity::Warning, "the model declined to answer", why, out);
    }

    /// Records the part of an unfinished answer that people have read.
    fn keep_part(&mut self, why: &str, out: &mut Vec<Effect>) {
        let text = std::mem::take(&mut self.answer.text);
        if text.trim().is_empty() {
            return;
        }
        let id = self.text_id();
        let content = vec![Block::text(text.trim_end())];
        out.push(Effect::Record(Entry::message(
            Message::Assistant { content, origin: None },
            Some(id.clone()),
        )));
        out.push(Effect::Record(Entry::notice(why)));
        let (text, kind) = (text.trim_end().to_owned(), MessageKind::Part);
        out.push(Effect::Show(Show::Message { id, text, kind }));
    }

    /// Answers in the model's place if there is none.
    pub(super) fn unavailable(&mut self, words: String, out: &mut Vec<Effect>) {
        if self.phase != Phase::AwaitingModel {
            return;
        }
        let id = self.text_id();
        out.push(Effect::Record(Entry::message(
            Message::Notice { text: words.clone() },
            Some(id.clone()),
        )));
        out.push(Effect::Show(Show::Text { id: id.clone(), delta: words.clone() }));
        let kind = MessageKind::Answer;
        out.push(Effect::Show(Show::Message { id, text: words, kind }));
        self.cause = Some(ErrorKind::NotFound);
        self.finish(Reason::Done, String::new(), None, out);
    }

    /// Ends the turn, since the conversation's agent cannot answer.
    pub(super) fn no_agent(&mut self, words: String, hint: String, out: &mut Vec<Effect>) {
        if self.phase == Phase::AwaitingModel {
            self.cause = Some(ErrorKind::NotFound);
            self.finish(Reason::Failed, words, Some(hint), out);
        }
    }

    /// Ends the turn without effects, because storing failed. Returns the undelivered messages.
    pub fn abandon(&mut self) -> Vec<UserMessage> {
        self.phase = Phase::Over;
        self.undelivered.drain(..).collect()
    }

    /// The first time, the turn has to finish by itself; the second time, running calls are
    /// cancelled.
    pub(super) fn time_is_up(&mut self, out: &mut Vec<Effect>) {
        if !std::mem::replace(&mut self.is_late, true) {
            self.must_end.get_or_insert(LATE);
            return;
        }
        match self.phase {
            Phase::AwaitingModel | Phase::Compacting => {
                out.push(Effect::Stop);
                self.keep_part("[the time for the turn was over here]", out);
                self.notice(Severity::Warning, &format!("the turn ends here: {LATE}"), "", out);
                self.finish(Reason::MaxRounds, String::new(), None, out);
            }
            Phase::Working => {
                out.push(Effect::Stop);
                self.then = AfterCalls::Finish(Reason::MaxRounds);
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
            Phase::AwaitingModel | Phase::Compacting => {
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

    /// Called once every call has its result.
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
            AfterCalls::Continue => self.next_round(out),
            AfterCalls::Compact if self.was_compacted => self.cannot_compact(out),
            AfterCalls::Compact => {
                // A model would continue a history that ends with its own answer.
                let words = "Your answer was cut off, since the window was full. Go on with it.";
                out.push(Effect::Record(Entry::notice(words)));
                self.compact(out);
            }
            AfterCalls::Finish(reason) => self.finish(reason, String::new(), None, out),
        }
    }

    fn cannot_compact(&mut self, out: &mut Vec<Effect>) {
        self.phase = Phase::Compacting;
        self.compacted(false, out);
    }

    pub(super) fn finish(
        &mut self,
        reason: Reason,
        words: String,
        hint: Option<String>,
        out: &mut Vec<Effect>,
    ) {
        if reason == Reason::Cancelled {
            // Messages that arrived meanwhile stay in the history, although the model does not
            // answer them.
            while let Some(user_message) = self.undelivered.pop_front() {
                self.deliver(user_message, out);
            }
        }
        self.phase = Phase::Over;
        let undelivered = self.undelivered.drain(..).collect();
        out.push(Effect::Finish(End { reason, words, cause: self.cause, hint, undelivered }));
    }
}
