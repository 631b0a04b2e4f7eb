//! One turn as a value: what happened in, what is to be done out. No runtime, no clock, no network.
//!
//! Invariants, whatever happens in whatever order:
//! - the entries that are to be kept are a history any model takes: each call of an answer gets
//!   exactly one result before anything else is said to the model;
//! - a call is begun at most once, only after the answer that asks for it is kept, and never from an
//!   answer that was cut off;
//! - what is shown as done stands behind what is kept of it;
//! - after [`Effect::Finish`], which comes exactly once, nothing follows.

mod calls;
mod effect;
mod ending;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use calls::Slot;
pub use calls::name_of;
pub use effect::{Effect, End, Event, MessageKind, Reason, Severity, Show};

use super::attached::Attached;
use super::entry::{Entry, Said};
use crate::conversation::question;
use crate::llm::turn::StartKind;
use crate::llm::{self, Block, BlockKind, ErrorKind, Message, Stop, TurnEvent, Usage};
use crate::policy::Scope;

/// How much one turn may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How often the model is asked before it has to come to an end.
    pub rounds: u32,
    /// How many tools are called at most.
    pub calls: u32,
    /// How many tokens its rounds may take together, read and written; 0: as many as they take.
    pub tokens: u64,
    /// How much of one result the model is given, in characters.
    pub result_chars: usize,
}

/// The tools there are: whether each changes something. Those that only read run side by side.
pub type Changes = Arc<BTreeMap<String, bool>>;

/// A turn.
#[derive(Debug)]
pub struct Turn {
    /// What the names of its messages begin with.
    name: String,
    limits: Limits,
    changes: Changes,
    phase: Phase,
    /// How many messages have a name.
    messages: u32,
    /// Said while the model was at work, heard at its next round.
    unheard: VecDeque<Said>,
    /// What the weakest of those who were heard may do.
    scope: Scope,
    answer: Answer,
    slots: Vec<Slot>,
    /// How many calls of the turn had each id.
    names: HashMap<String, u32>,
    /// What follows once every call has its result.
    then: Then,
    rounds: u32,
    calls: u32,
    /// Tokens that were read and written since a person last spoke.
    tokens: u64,
    was_shortened: bool,
    /// The model gets no tools any more: this round is its last.
    is_last: bool,
    /// Why this round is to be the last.
    must_end: Option<&'static str>,
    is_cancelled: bool,
    /// Its time is over; whoever speaks to it gives it new time.
    is_late: bool,
    asks_person: bool,
    ends: Option<String>,
    /// Something was said to the person in this turn.
    has_spoken: bool,
    /// The kind of the model's failure that ends it.
    cause: Option<ErrorKind>,
    /// How often each call failed, or gave the same result, in this turn.
    repeats: HashMap<(String, String), Repeats>,
    broken_calls: u32,
}

#[derive(Debug, Default)]
struct Repeats {
    failed: u32,
    same: u32,
    last: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing has been said yet.
    New,
    /// A model is asked.
    Asking,
    /// The history is being made shorter.
    Shortening,
    /// Calls are at work.
    Working,
    Over,
}

/// What has been seen of an answer.
#[derive(Debug, Default)]
struct Answer {
    text: String,
    text_id: Option<String>,
    thought_id: Option<String>,
    has_begun: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    GoOn,
    Shorten,
    Finish(Reason),
}

impl Turn {
    /// A turn in which nothing has been said yet. `name` is one that no other turn has.
    pub fn new(name: impl Into<String>, limits: Limits, changes: Changes) -> Self {
        Self {
            name: name.into(),
            limits,
            changes,
            phase: Phase::New,
            messages: 0,
            unheard: VecDeque::new(),
            scope: Scope::Person,
            answer: Answer::default(),
            slots: Vec::new(),
            names: HashMap::new(),
            then: Then::GoOn,
            rounds: 0,
            calls: 0,
            tokens: 0,
            was_shortened: false,
            is_last: false,
            must_end: None,
            is_cancelled: false,
            is_late: false,
            asks_person: false,
            ends: None,
            has_spoken: false,
            cause: None,
            repeats: HashMap::new(),
            broken_calls: 0,
        }
    }

    /// Lets it do no more than this: less trusted words are in the history that it goes on from.
    pub fn limit(&mut self, scope: Scope) {
        self.scope = self.scope.max(scope);
    }

    /// How many messages wait to be heard.
    pub fn waiting(&self) -> usize {
        self.unheard.len()
    }

    /// Characters of a result that the model is given.
    pub fn room(&self) -> usize {
        self.limits.result_chars
    }

    /// Whether it has come to its end.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Takes what happened; what is to be done for it, in this order. What comes too late, or for a
    /// call that has its result, changes nothing.
    pub fn handle(&mut self, event: Event) -> Vec<Effect> {
        let mut out = Vec::new();
        if self.phase == Phase::Over {
            return out;
        }
        match event {
            Event::Began(said) if self.phase == Phase::New => {
                self.trust(&said);
                let note = said.note.clone();
                out.push(Effect::Show(Show::User(said)));
                out.extend(note.map(|note| Effect::Record(Entry::notice(note))));
                self.ask(&mut out);
            }
            Event::Again(said) if self.phase == Phase::New => {
                self.trust(&said);
                out.push(Effect::Show(Show::Again(said)));
                self.ask(&mut out);
            }
            Event::Began(said) | Event::Again(said) | Event::Said(said) => {
                self.unheard.push_back(said)
            }
            Event::Streamed(event) => self.streamed(event, &mut out),
            Event::Answered(turn) => self.answered(*turn, &mut out),
            Event::Failed(error) => self.failed(&error, &mut out),
            Event::Unavailable { words } => self.unavailable(words, &mut out),
            Event::Shortened { done } => self.shortened(done, &mut out),
            Event::Asks { call, title } => self.asks(&call, title, &mut out),
            Event::Decided { call, decision, by } => self.decided(&call, decision, by, &mut out),
            Event::Finished { call, called } => self.finished(&call, called, &mut out),
            Event::TimeIsUp => self.time_is_up(&mut out),
            Event::Cancel => self.cancel(&mut out),
        }
        out
    }

    fn next_id(&mut self) -> String {
        self.messages += 1;
        format!("{}.{}", self.name, self.messages)
    }

    /// Puts what a person said into the history.
    fn hear(&mut self, said: Said, out: &mut Vec<Effect>) {
        self.trust(&said);
        let note = said.note.clone();
        out.push(Effect::Record(said.entry()));
        out.push(Effect::Show(Show::User(said)));
        out.extend(note.map(|note| Effect::Record(Entry::notice(note))));
        // Who speaks to it gives it new work.
        (self.rounds, self.calls, self.tokens, self.is_last) = (0, 0, 0, false);
        (self.must_end, self.is_late) = (None, false);
        self.repeats.clear();
        self.broken_calls = 0;
    }

    /// A turn may do no more than the least trusted of those who are heard in it, and never what a
    /// person's own program may.
    fn trust(&mut self, said: &Said) {
        self.scope = self.scope.max(said.scope).max(Scope::Client);
    }

    fn ask(&mut self, out: &mut Vec<Effect>) {
        self.rounds += 1;
        self.answer = Answer::default();
        self.phase = Phase::Asking;
        out.push(Effect::Ask { tools: !self.is_last });
    }

    /// Another round, or the last one where there may be no more.
    fn go_on(&mut self, out: &mut Vec<Effect>) {
        let heard = !self.unheard.is_empty();
        while let Some(said) = self.unheard.pop_front() {
            self.hear(said, out);
        }
        if self.is_last {
            return self.finish(Reason::MaxRounds, String::new(), None, out);
        }
        let why = match (self.must_end, heard) {
            (Some(why), _) => Some(why),
            (None, false) if self.rounds >= self.limits.rounds => {
                Some("the most rounds of one turn are reached")
            }
            (None, false) if self.calls >= self.limits.calls => {
                Some("the most calls of one turn are reached")
            }
            (None, false) if self.limits.tokens > 0 && self.tokens >= self.limits.tokens => {
                Some("the most tokens of one turn are reached")
            }
            (None, _) => None,
        };
        if let Some(why) = why {
            self.is_last = true;
            out.push(Effect::Record(Entry::notice(format!(
                "This is the last step of this turn, without tools: {why}. Tell the user what is \
                 done and what is left."
            ))));
            out.push(Effect::Show(Show::Notice {
                severity: Severity::Warning,
                title: format!("the turn ends here: {why}"),
                text: None,
            }));
        }
        self.ask(out);
    }

    fn streamed(&mut self, event: TurnEvent, out: &mut Vec<Effect>) {
        if self.phase != Phase::Asking {
            return;
        }
        self.answer.has_begun |= event.bytes() > 0;
        match event {
            TurnEvent::Text { delta, .. } if !delta.is_empty() => {
                self.answer.text.push_str(&delta);
                let id = self.text_id();
                out.push(Effect::Show(Show::Text { id, delta }));
            }
            TurnEvent::Start { kind: StartKind::Text, .. } if !self.answer.text.is_empty() => {
                self.answer.text.push_str("\n\n");
                let id = self.text_id();
                out.push(Effect::Show(Show::Text { id, delta: "\n\n".to_owned() }));
            }
            TurnEvent::Thinking { delta, .. } if !delta.is_empty() => {
                let id = match self.answer.thought_id.clone() {
                    Some(id) => id,
                    None => self.next_id(),
                };
                self.answer.thought_id = Some(id.clone());
                out.push(Effect::Show(Show::Thought { id, delta }));
            }
            TurnEvent::Again { provider, wait, reason, usage } => {
                self.spent_in_vain(usage, out);
                self.take_back(out);
                self.answer = Answer::default();
                let next = match wait.as_secs() {
                    _ if wait.is_zero() => "now".to_owned(),
                    0 | 1 => "again in a second".to_owned(),
                    seconds => format!("again in {seconds} seconds"),
                };
                let words = format!("{}; `{provider}` is asked {next}", reason.words());
                let severity = Severity::Info;
                out.push(Effect::Show(Show::Notice { severity, title: words, text: None }));
            }
            _ => {}
        }
    }

    fn text_id(&mut self) -> String {
        if let Some(id) = &self.answer.text_id {
            return id.clone();
        }
        let id = self.next_id();
        self.answer.text_id = Some(id.clone());
        id
    }

    /// Tells clients that what they saw of the answer counts for nothing.
    fn take_back(&mut self, out: &mut Vec<Effect>) {
        let seen = [self.answer.text_id.take(), self.answer.thought_id.take()];
        out.extend(seen.into_iter().flatten().map(|id| Effect::Show(Show::Void { id })));
    }

    fn answered(&mut self, turn: llm::Turn, out: &mut Vec<Effect>) {
        if self.phase != Phase::Asking {
            return;
        }
        if let Some(usage) = turn.usage {
            self.spend(&usage);
            out.push(Effect::Usage { usage: Some(usage), origin: Some(turn.origin.clone()) });
        }
        let calls: Vec<_> = turn.content.iter().filter_map(Block::call).cloned().collect();
        let text = visible(&turn.content);
        if !turn.content.is_empty() {
            let id = (!text.is_empty()).then(|| self.text_id());
            out.push(Effect::Record(Entry::Message {
                message: Message::Assistant { content: turn.content, origin: Some(turn.origin) },
                id: id.clone(),
                source: None,
                scope: None,
                attached: Attached::default(),
            }));
            if let Some(id) = id {
                if self.answer.text.is_empty() {
                    let delta = text.clone();
                    out.push(Effect::Show(Show::Text { id: id.clone(), delta }));
                }
                self.has_spoken = true;
                let kind = MessageKind::Answer;
                out.push(Effect::Show(Show::Message { id, text: text.clone(), kind }));
            }
        }
        // What such an answer asks for may be half of what was meant.
        let cut_off = match &turn.stop {
            Stop::MaxTokens => Some("the answer was cut off at the most tokens it may have"),
            Stop::ContextFull => Some("the answer was cut off, since the window is full"),
            Stop::Refusal(_) => Some("the answer was refused"),
            _ if self.is_last => Some("there are no tools in the last step of a turn"),
            _ => None,
        };
        self.then = match turn.stop {
            Stop::Refusal(reason) => {
                self.declined(&reason, out);
                Then::Finish(Reason::Refused)
            }
            Stop::ContextFull => Then::Shorten,
            _ if self.is_last => Then::Finish(Reason::MaxRounds),
            Stop::Paused => Then::GoOn,
            _ if !calls.is_empty() || !self.unheard.is_empty() => Then::GoOn,
            Stop::MaxTokens => {
                let title = "the answer was cut off: it reached the most tokens it may have";
                self.notice(Severity::Warning, title, "", out);
                Then::Finish(Reason::MaxTokens)
            }
            Stop::EndTurn | Stop::ToolUse | Stop::Other(_) => {
                if !self.has_spoken {
                    self.notice(Severity::Info, "the model ended without a word", "", out);
                }
                Then::Finish(match question::at_end(&text) {
                    Some(_) => Reason::Waiting,
                    None => Reason::Done,
                })
            }
        };
        self.take_up(calls);
        self.phase = Phase::Working;
        if let Some(why) = cut_off {
            self.refuse_all(why, out);
        }
        self.work(out);
    }

    fn spend(&mut self, usage: &Usage) {
        self.tokens = self.tokens.saturating_add(usage.input).saturating_add(usage.output);
    }

    fn notice(&mut self, severity: Severity, title: &str, text: &str, out: &mut Vec<Effect>) {
        let text = (!text.is_empty()).then(|| text.to_owned());
        out.push(Effect::Show(Show::Notice { severity, title: title.to_owned(), text }));
    }

    fn shorten(&mut self, out: &mut Vec<Effect>) {
        self.was_shortened = true;
        self.phase = Phase::Shortening;
        out.push(Effect::Shorten);
    }

    fn shortened(&mut self, done: bool, out: &mut Vec<Effect>) {
        if self.phase != Phase::Shortening {
            return;
        }
        if done {
            self.rounds = self.rounds.saturating_sub(1);
            return self.ask(out);
        }
        let text = "the conversation is longer than the model can read, and nothing of it can be \
                    left out";
        let hint = "begin a new conversation, or take a model with a larger window";
        self.finish(Reason::Failed, text.to_owned(), Some(hint.to_owned()), out);
    }
}

/// The text of an answer that people read.
fn visible(content: &[Block]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|block| match &block.kind {
            BlockKind::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n\n").trim_end().to_owned()
}
