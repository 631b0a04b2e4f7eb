//! A turn as a state machine: events in, effects out. No runtime, no clock, no network.
//!
//! Invariants, whatever events come in whatever order:
//! - the recorded entries are a valid history for any model: each call of an answer gets exactly
//!   one result before any other message to the model;
//! - a call starts at most once, only after the answer that contains it was recorded, and never
//!   from a truncated answer;
//! - an effect that shows something as done comes after the effect that records it;
//! - [`Effect::Finish`] comes exactly once, and nothing follows it.

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

use super::entry::{Entry, UserMessage};
use crate::conversation::question;
use crate::llm::turn::StartKind;
use crate::llm::{self, Block, BlockKind, ErrorKind, Message, Stop, TurnEvent, Usage};
use crate::policy::Scope;

/// Limits of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most requests to the model.
    pub rounds: u32,
    /// The most tool calls.
    pub calls: u32,
    /// The most input and output tokens of all requests together; 0: no limit.
    pub tokens: u64,
    /// The most characters of a tool result that the model gets.
    pub result_chars: usize,
}

/// All tools, and whether each one changes something. Tools that only read run in parallel.
pub type ToolEffects = Arc<BTreeMap<String, bool>>;

#[derive(Debug)]
pub struct Turn {
    /// The prefix of this turn's message ids.
    name: String,
    limits: Limits,
    changes: ToolEffects,
    phase: Phase,
    /// The number of message ids issued.
    messages: u32,
    /// Messages that arrived while the model was working; delivered in the next round.
    undelivered: VecDeque<UserMessage>,
    /// The most restricted scope among the senders of the messages so far.
    scope: Scope,
    answer: PartialAnswer,
    slots: Vec<Slot>,
    /// How many calls of this turn used each id.
    names: HashMap<String, u32>,
    /// The action once every call has its result.
    then: AfterCalls,
    rounds: u32,
    calls: u32,
    /// Input and output tokens since the person's last message.
    tokens: u64,
    was_compacted: bool,
    /// The last round: the model gets no tools.
    is_last: bool,
    /// Why the next round must be the last.
    must_end: Option<&'static str>,
    is_cancelled: bool,
    /// The turn exceeded its time. A new message grants new time.
    is_late: bool,
    asks_person: bool,
    ends: Option<String>,
    /// The model has sent a message to the person in this turn.
    has_spoken: bool,
    /// The kind of model failure that ends the turn.
    cause: Option<ErrorKind>,
    /// Failures and equal results of each call in this turn.
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
    /// No message was delivered yet.
    New,
    /// A model request is in progress.
    AwaitingModel,
    Compacting,
    /// Calls are running.
    Working,
    Over,
}

/// The part of an answer received so far.
#[derive(Debug, Default)]
struct PartialAnswer {
    text: String,
    text_id: Option<String>,
    thought_id: Option<String>,
    has_begun: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterCalls {
    Continue,
    Compact,
    Finish(Reason),
}

impl Turn {
    /// A turn without a message. `name` is unique among all turns.
    pub fn new(name: impl Into<String>, limits: Limits, changes: ToolEffects) -> Self {
        Self {
            name: name.into(),
            limits,
            changes,
            phase: Phase::New,
            messages: 0,
            undelivered: VecDeque::new(),
            scope: Scope::Person,
            answer: PartialAnswer::default(),
            slots: Vec::new(),
            names: HashMap::new(),
            then: AfterCalls::Continue,
            rounds: 0,
            calls: 0,
            tokens: 0,
            was_compacted: false,
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

    /// Restricts the turn to `scope`, because the history contains messages from such a sender.
    pub fn restrict(&mut self, scope: Scope) {
        self.scope = self.scope.max(scope);
    }

    /// The number of messages waiting to be delivered.
    pub fn waiting(&self) -> usize {
        self.undelivered.len()
    }

    /// The most characters of a tool result that the model gets.
    pub fn max_chars(&self) -> usize {
        self.limits.result_chars
    }

    /// Handles an event and returns the effects to perform, in order. An event that comes too late,
    /// or for a call that already has its result, has no effect.
    pub fn handle(&mut self, event: Event) -> Vec<Effect> {
        let mut out = Vec::new();
        if self.phase == Phase::Over {
            return out;
        }
        match event {
            Event::Started(user_message) if self.phase == Phase::New => {
                self.restrict_to_sender(&user_message);
                let note = user_message.note.clone();
                out.push(Effect::Show(Show::User(user_message)));
                out.extend(note.map(|note| Effect::Record(Entry::notice(note))));
                self.ask_model(&mut out);
            }
            Event::Resumed(user_message) if self.phase == Phase::New => {
                self.restrict_to_sender(&user_message);
                out.push(Effect::Show(Show::Resumed(user_message)));
                self.ask_model(&mut out);
            }
            Event::Started(user_message)
            | Event::Resumed(user_message)
            | Event::Message(user_message) => self.undelivered.push_back(user_message),
            Event::Streamed(event) => self.streamed(event, &mut out),
            Event::Answered(turn) => self.answered(*turn, &mut out),
            Event::Failed(error) => self.failed(&error, &mut out),
            Event::Unavailable { words } => self.unavailable(words, &mut out),
            Event::NoAgent { words, hint } => self.no_agent(words, hint, &mut out),
            Event::Compacted { done } => self.compacted(done, &mut out),
            Event::NeedsApproval { call, title } => self.needs_approval(&call, title, &mut out),
            Event::Decided { call, decision, by } => self.decided(&call, decision, by, &mut out),
            Event::Finished { call, called } => self.finished(&call, called, &mut out),
            Event::TimeIsUp => self.time_is_up(&mut out),
            Event::Cancel => self.cancel(&mut out),
        }
        out
    }

    /// The number of the present round, from 1. A message of the person restarts the count.
    pub fn round(&self) -> u32 {
        self.rounds
    }

    fn next_id(&mut self) -> String {
        self.messages += 1;
        format!("{}.{}", self.name, self.messages)
    }

    /// Delivers a person's message.
    fn deliver(&mut self, user_message: UserMessage, out: &mut Vec<Effect>) {
        self.restrict_to_sender(&user_message);
        let note = user_message.note.clone();
        out.push(Effect::Record(user_message.entry()));
        out.push(Effect::Show(Show::User(user_message)));
        out.extend(note.map(|note| Effect::Record(Entry::notice(note))));
        // A new message is new work.
        (self.rounds, self.calls, self.tokens, self.is_last) = (0, 0, 0, false);
        (self.must_end, self.is_late) = (None, false);
        self.repeats.clear();
        self.broken_calls = 0;
    }

    /// Restricts the turn to the least trusted sender so far. A turn never has the scope of the
    /// person's own programs.
    fn restrict_to_sender(&mut self, user_message: &UserMessage) {
        self.scope = self.scope.max(user_message.scope).max(Scope::Client);
    }

    fn ask_model(&mut self, out: &mut Vec<Effect>) {
        self.rounds += 1;
        self.answer = PartialAnswer::default();
        self.phase = Phase::AwaitingModel;
        out.push(Effect::AskModel { tools: !self.is_last });
    }

    /// Starts another round, or the last one if a limit is reached.
    fn next_round(&mut self, out: &mut Vec<Effect>) {
        let has_messages = !self.undelivered.is_empty();
        while let Some(user_message) = self.undelivered.pop_front() {
            self.deliver(user_message, out);
        }
        if self.is_last {
            return self.finish(Reason::MaxRounds, String::new(), None, out);
        }
        let why = match (self.must_end, has_messages) {
            (Some(why), _) => Some(why),
            (None, false) if self.rounds >= self.limits.rounds => {
                Some("it has reached the limit of rounds")
            }
            (None, false) if self.calls >= self.limits.calls => {
                Some("it has reached the limit of tool calls")
            }
            (None, false) if self.limits.tokens > 0 && self.tokens >= self.limits.tokens => {
                Some("it has reached the limit of tokens")
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
        self.ask_model(out);
    }

    fn streamed(&mut self, event: TurnEvent, out: &mut Vec<Effect>) {
        if self.phase != Phase::AwaitingModel {
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
            TurnEvent::Retry { provider, wait, reason, usage } => {
                self.count_failed_answer(usage, out);
                self.discard_shown(out);
                self.answer = PartialAnswer::default();
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

    /// Tells clients to discard the text shown of this answer.
    fn discard_shown(&mut self, out: &mut Vec<Effect>) {
        let shown_ids = [self.answer.text_id.take(), self.answer.thought_id.take()];
        out.extend(shown_ids.into_iter().flatten().map(|id| Effect::Show(Show::Discard { id })));
    }

    fn answered(&mut self, turn: llm::Turn, out: &mut Vec<Effect>) {
        if self.phase != Phase::AwaitingModel {
            return;
        }
        // A model may report no tokens; the request counts.
        self.spend(&turn.usage.unwrap_or_default());
        out.push(Effect::Usage { usage: turn.usage, origin: Some(turn.origin.clone()) });
        let calls: Vec<_> = turn.content.iter().filter_map(Block::call).cloned().collect();
        let text = visible_text(&turn.content);
        if !turn.content.is_empty() {
            let id = (!text.is_empty()).then(|| self.text_id());
            out.push(Effect::Record(Entry::message(
                Message::Assistant { content: turn.content, origin: Some(turn.origin) },
                id.clone(),
            )));
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
        // Calls in a truncated answer may be incomplete.
        let cut_off = match &turn.stop {
            Stop::MaxTokens => Some("the answer was cut off at its token limit"),
            Stop::ContextFull => Some("the answer was cut off, since the window is full"),
            Stop::Refusal(_) => Some("the answer was refused"),
            _ if self.is_last => Some("there are no tools in the last step of a turn"),
            _ => None,
        };
        self.then = match turn.stop {
            Stop::Refusal(reason) => {
                self.declined(&reason, out);
                AfterCalls::Finish(Reason::Refused)
            }
            Stop::ContextFull => AfterCalls::Compact,
            _ if self.is_last => AfterCalls::Finish(Reason::MaxRounds),
            Stop::Paused => AfterCalls::Continue,
            _ if !calls.is_empty() || !self.undelivered.is_empty() => AfterCalls::Continue,
            Stop::MaxTokens => {
                let title = "the answer was cut off at its token limit";
                self.notice(Severity::Warning, title, "", out);
                AfterCalls::Finish(Reason::MaxTokens)
            }
            Stop::EndTurn | Stop::ToolUse | Stop::Other(_) => {
                if !self.has_spoken {
                    self.notice(Severity::Info, "the model ended without a word", "", out);
                }
                AfterCalls::Finish(match question::at_end(&text) {
                    Some(_) => Reason::Waiting,
                    None => Reason::Done,
                })
            }
        };
        self.add_calls(calls);
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

    fn compact(&mut self, out: &mut Vec<Effect>) {
        self.was_compacted = true;
        self.phase = Phase::Compacting;
        out.push(Effect::Compact);
    }

    fn compacted(&mut self, done: bool, out: &mut Vec<Effect>) {
        if self.phase != Phase::Compacting {
            return;
        }
        if done {
            self.rounds = self.rounds.saturating_sub(1);
            return self.ask_model(out);
        }
        let text = "the conversation is longer than the model can read, and nothing of it can be \
                    left out";
        let hint = "begin a new conversation, or take a model with a larger window";
        self.finish(Reason::Failed, text.to_owned(), Some(hint.to_owned()), out);
    }
}

fn visible_text(content: &[Block]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|block| match &block.kind {
            BlockKind::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n\n").trim_end().to_owned()
}
