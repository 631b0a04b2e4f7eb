//! Runs the calls of one answer: their order and their results.

use serde_json::{Value, json};

use super::{Effect, MessageKind, Show, Turn};
use crate::agent::call_result::CallResult;
use crate::agent::entry::Entry;
use crate::agent::own_tools::{self, OwnCall};
use crate::agent::{read_set, wrap};
use crate::calls::{Answerer, Decision};
use crate::llm::{Block, BlockKind, ToolArgs, ToolCall, ToolResult};

/// The most read-only calls running at the same time.
const MAX_PARALLEL: usize = 8;

/// After this many failures of the same call, the turn has to end.
const FAILURES: u32 = 3;

/// After this many equal results of the same call, the model is warned; then the turn has to end.
const SAME: (u32, u32) = (3, 5);

/// The most bytes of a structured result that are stored for clients to draw.
const MAX_DRAWN: usize = 256 << 10;

/// After this many calls with invalid arguments, the turn has to end.
const BROKEN: u32 = 3;

/// A call of an answer.
#[derive(Debug)]
pub(super) struct Slot {
    /// The call with the model's own id, under which its result is stored.
    call: ToolCall,
    /// The id for everyone else, unique within the turn.
    name: String,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Running,
    /// Waiting for approval; nothing was done yet.
    AwaitingApproval,
    Done,
}

impl Slot {
    fn new(call: ToolCall, name: String) -> Self {
        Self { call, name, stage: Stage::Waiting }
    }

    /// The call under its unique id.
    fn named(&self) -> ToolCall {
        ToolCall { id: self.name.clone(), ..self.call.clone() }
    }
}

/// The id that clients know the `nth` call with this id of a turn by, counted from 1. Some model
/// servers repeat ids in each round.
pub fn name_of(id: &str, nth: u32) -> String {
    match nth {
        0 | 1 => id.to_owned(),
        nth => format!("{id}#{nth}"),
    }
}

impl Turn {
    pub(super) fn add_calls(&mut self, calls: Vec<ToolCall>) {
        let named = |call: ToolCall| {
            let nth = self.names.entry(call.id.clone()).or_default();
            *nth += 1;
            let name = name_of(&call.id, *nth);
            Slot::new(call, name)
        };
        self.slots = calls.into_iter().map(named).collect();
    }

    /// Starts every call that may start now, and continues the turn once all are done.
    pub(super) fn work(&mut self, out: &mut Vec<Effect>) {
        loop {
            let Some(at) = self.slots.iter().position(|slot| slot.stage != Stage::Done) else {
                return self.all_done(out);
            };
            if self.must_be_alone(at) {
                if self.slots[at].stage != Stage::Waiting {
                    return;
                }
                self.begin(at, out);
                if self.slots[at].stage != Stage::Done {
                    return;
                }
            } else {
                let started_reads = self.begin_reads(at, out);
                if !started_reads {
                    return;
                }
            }
        }
    }

    /// Starts the read-only calls from `at` to the next change; returns whether one is done
    /// already.
    fn begin_reads(&mut self, at: usize, out: &mut Vec<Effect>) -> bool {
        let end = (at..self.slots.len()).find(|at| self.must_be_alone(*at));
        for at in at..end.unwrap_or(self.slots.len()) {
            let running = self.slots.iter().filter(|slot| slot.stage == Stage::Running).count();
            if self.slots[at].stage == Stage::Waiting && running < MAX_PARALLEL {
                self.begin(at, out);
                if self.slots[at].stage == Stage::Done {
                    return true;
                }
            }
        }
        false
    }

    /// Whether a call runs alone, after the calls before it: it changes something, or is one of the
    /// agent's own tools.
    fn must_be_alone(&self, at: usize) -> bool {
        let name = &self.slots[at].call.name;
        own_tools::read(&self.slots[at].call).is_some()
            || self.changes.get(name).copied().unwrap_or(false)
    }

    fn begin(&mut self, at: usize, out: &mut Vec<Effect>) {
        let call = self.slots[at].call.clone();
        let named = self.slots[at].named();
        out.push(Effect::Show(Show::Call { call: named.clone() }));
        if self.asks_person {
            return self.refuse(at, "it was not made: the turn waits for the user's answer", out);
        }
        if self.slots[..at].iter().any(|other| other.call.id == call.id) {
            let why = "it was not made: another call of this answer has the same id";
            return self.refuse(at, why, out);
        }
        if let ToolArgs::Invalid(_) = call.args {
            self.broken_calls += 1;
            if self.broken_calls >= BROKEN {
                self.must_end.get_or_insert("calls came with arguments that cannot be read");
            }
            let why = "it was not made: its arguments are not a JSON object, or were cut off; make \
                       the call again with whole arguments";
            return self.refuse(at, why, out);
        }
        if self.calls >= self.limits.calls {
            return self.refuse(at, "it was not made: this turn may make no more calls", out);
        }
        self.calls += 1;
        match own_tools::read(&call) {
            None => {
                self.slots[at].stage = Stage::Running;
                let changes = self.must_be_alone(at);
                out.push(Effect::Show(Show::Running { call: named.id.clone() }));
                out.push(Effect::Run { call: named, scope: self.scope, changes });
            }
            Some(Err(wrong)) => self.settle(at, CallResult::error(wrong), out),
            Some(Ok(OwnCall::Send { text, is_question })) => self.send(at, text, is_question, out),
            Some(Ok(OwnCall::End { reason })) => {
                self.ends = Some(reason);
                let text = "the conversation ends after this turn".to_owned();
                self.settle(at, CallResult::done(text, json!({})), out);
            }
        }
    }

    fn send(&mut self, at: usize, text: String, is_question: bool, out: &mut Vec<Effect>) {
        let id = self.next_id();
        let entry = Entry::Sent { id: id.clone(), text: text.clone(), is_question };
        out.push(Effect::Record(entry));
        let delta = text.clone();
        out.push(Effect::Show(Show::Text { id: id.clone(), delta }));
        let kind = if is_question { MessageKind::Question } else { MessageKind::Sent };
        out.push(Effect::Show(Show::Message { id, text, kind }));
        self.has_spoken = true;
        self.asks_person |= is_question;
        let text =
            if is_question { "asked; the user's next message is the answer" } else { "delivered" };
        self.settle(at, CallResult::done(text.to_owned(), json!({})), out);
    }

    /// Refuses every call of this answer.
    pub(super) fn refuse_all(&mut self, why: &str, out: &mut Vec<Effect>) {
        for at in 0..self.slots.len() {
            let call = self.slots[at].named();
            out.push(Effect::Show(Show::Call { call }));
            self.refuse(at, &format!("it was not made: {why}"), out);
        }
    }

    fn refuse(&mut self, at: usize, why: &str, out: &mut Vec<Effect>) {
        self.settle(at, CallResult::error(why), out);
    }

    fn find(&self, call: &str, stage: Stage) -> Option<usize> {
        self.slots.iter().position(|slot| slot.name == call && slot.stage == stage)
    }

    pub(super) fn needs_approval(&mut self, call: &str, title: String, out: &mut Vec<Effect>) {
        let Some(at) = self.find(call, Stage::Running) else { return };
        if self.is_cancelled {
            let (call, by) = (call.to_owned(), Answerer::default());
            out.push(Effect::Resume { call, decision: Decision::Withdrawn, by });
            return;
        }
        self.slots[at].stage = Stage::AwaitingApproval;
        out.push(Effect::Show(Show::AwaitingApproval { call: call.to_owned(), title }));
        out.push(Effect::AskPerson { call: call.to_owned() });
    }

    pub(super) fn decided(
        &mut self,
        call: &str,
        decision: Decision,
        by: Answerer,
        out: &mut Vec<Effect>,
    ) {
        let Some(at) = self.find(call, Stage::AwaitingApproval) else { return };
        self.slots[at].stage = Stage::Running;
        out.push(Effect::Show(Show::Running { call: call.to_owned() }));
        out.push(Effect::Resume { call: call.to_owned(), decision, by });
    }

    pub(super) fn finished(&mut self, call: &str, called: CallResult, out: &mut Vec<Effect>) {
        let Some(at) = self.find(call, Stage::Running) else { return };
        self.settle(at, called, out);
        self.work(out);
    }

    /// Records a call's result, then shows it.
    fn settle(&mut self, at: usize, called: CallResult, out: &mut Vec<Effect>) {
        let call = self.slots[at].call.clone();
        self.slots[at].stage = Stage::Done;
        let mut text = match own_tools::read(&call) {
            Some(_) => called.text.clone(),
            None => wrap::data(&called.text, self.limits.result_chars),
        };
        if let Some(warning) = self.repeated(&call, &called) {
            text = format!("{text}\n[{warning}]");
        }
        let is_cut = called.text.chars().count() > self.limits.result_chars;
        let read_updates = if is_cut {
            read_set::of_a_part(called.read_updates.clone())
        } else {
            called.read_updates.clone()
        };
        let image = called.image.as_ref().map(|image| {
            let (path, revision) = (image.path.clone(), image.revision.clone());
            Block { kind: BlockKind::ImageFile { path, revision }, native: None }
        });
        out.push(Effect::Record(Entry::Result {
            result: ToolResult {
                call_id: call.id,
                name: call.name,
                content: std::iter::once(Block::text(text)).chain(image).collect(),
                is_error: called.is_error,
            },
            read_updates,
            data: called
                .refusal()
                .or_else(|| called.proposal(MAX_DRAWN))
                .or_else(|| structured_result(&called)),
        }));
        let call = self.slots[at].name.clone();
        out.push(Effect::Show(Show::Result { call, called }));
    }

    /// Counts repeated calls; returns a warning for the model if this call repeats itself without
    /// progress.
    fn repeated(&mut self, call: &ToolCall, called: &CallResult) -> Option<String> {
        if self.is_cancelled {
            return None;
        }
        let ToolArgs::Object(arguments) = &call.args else { return None };
        let key = (call.name.clone(), Value::Object(arguments.clone()).to_string());
        let repeats = self.repeats.entry(key).or_default();
        if called.is_error {
            repeats.failed += 1;
        }
        repeats.same = if repeats.last == called.text { repeats.same + 1 } else { 1 };
        repeats.last.clone_from(&called.text);
        if repeats.failed >= FAILURES {
            self.must_end.get_or_insert("the same call failed again and again");
            return Some(format!(
                "this very call has failed {} times: do not repeat it",
                repeats.failed
            ));
        }
        if repeats.same >= SAME.1 {
            self.must_end.get_or_insert("the same call was made again and again");
        }
        (repeats.same >= SAME.0).then(|| {
            format!("this very call gave this very answer {} times: do not repeat it", repeats.same)
        })
    }

    /// Ends the calls that can end at once: those not started, and those that only read. A change
    /// in progress is completed.
    pub(super) fn cancel_calls(&mut self, why: &str, out: &mut Vec<Effect>) {
        for at in 0..self.slots.len() {
            match self.slots[at].stage {
                Stage::Done => {}
                Stage::Waiting => {
                    let call = self.slots[at].named();
                    out.push(Effect::Show(Show::Call { call }));
                    self.refuse(at, &format!("it was not made: {why}"), out);
                }
                Stage::AwaitingApproval => {
                    self.slots[at].stage = Stage::Running;
                    let call = self.slots[at].name.clone();
                    let (decision, by) = (Decision::Withdrawn, Answerer::default());
                    out.push(Effect::Resume { call, decision, by });
                }
                Stage::Running if self.must_be_alone(at) => {}
                Stage::Running => self.refuse(at, why, out),
            }
        }
        self.work(out);
    }
}

/// The structured result, if clients draw it and it is not too long to be stored.
fn structured_result(called: &CallResult) -> Option<Value> {
    let is_stored = called.is_drawn && called.data.to_string().len() <= MAX_DRAWN;
    is_stored.then(|| called.data.clone())
}
