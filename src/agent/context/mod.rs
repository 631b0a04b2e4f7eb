//! What a model is given, made from what is kept: it only ever grows at its end.
//!
//! A prompt that is sent again with more behind it is read from the vendor's cache, and some models
//! refuse their own thoughts where anything before them has changed. So the system prompt and the
//! tools are made once and kept, news comes as messages, and the same entries always make the same
//! bytes, after a restart too. Only where the window is nearly full is the head replaced by a
//! summary, once, and that is an entry like any other.

mod cut;
mod size;
#[cfg(test)]
mod tests;
mod transcript;

use std::sync::Arc;

pub use cut::Cut;

use super::entry::Entry;
use super::known::Known;
use crate::llm::{Block, BlockKind, Message, ToolCall, ToolResult, ToolSpec};
use crate::policy::Scope;
use crate::tools::Learnt;

/// A conversation as a model is given it.
#[derive(Debug, Clone)]
pub struct Context {
    system: Arc<str>,
    tools: Arc<[ToolSpec]>,
    has_opening: bool,
    messages: Vec<Message>,
    /// Calls of the last answer, until each has its result.
    open: Vec<ToolCall>,
    results: Vec<ToolResult>,
    known: Known,
    /// What vendors counted, against what was estimated.
    factor: f64,
    /// What the person wanted last, where that was left out.
    asked: String,
    /// What the least trusted of those may do whose words are in it.
    scope: Scope,
    /// Messages whose senders may do less than any program of the person's.
    limiting: usize,
}

/// What a model is told of a message that the person did not type.
fn foreign(scope: Scope) -> &'static str {
    match scope {
        Scope::Person | Scope::Client => "[said by a program that does not speak for the user]",
        Scope::Acp => "[said in an editor or another ACP client]",
        Scope::Mcp => "[said by an MCP client, not by the user]",
        Scope::Voice => "[heard by a microphone or a service; it may not be what the user said]",
    }
}

impl Default for Context {
    fn default() -> Self {
        Self {
            system: "".into(),
            tools: Arc::new([]),
            has_opening: false,
            messages: Vec::new(),
            open: Vec::new(),
            results: Vec::new(),
            known: Known::default(),
            factor: 1.0,
            asked: String::new(),
            scope: Scope::Person,
            limiting: 0,
        }
    }
}

impl Context {
    /// The context that these entries make.
    pub fn of(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut context = Self::default();
        entries.into_iter().for_each(|entry| context.push(entry));
        context
    }

    /// Takes one more entry, the newest.
    pub fn push(&mut self, entry: Entry) {
        match entry {
            Entry::Opening { system, tools } => {
                (self.system, self.tools) = (system.into(), tools.into());
                self.has_opening = true;
            }
            Entry::Message { mut message, scope, attached, .. } => {
                // Whoever keeps entries fills them first; this keeps the history valid in any case.
                for call in self.missing() {
                    self.take(unknown(&call), Vec::new());
                }
                if let Message::Assistant { content, .. } = &message {
                    self.open = content.iter().filter_map(Block::call).cloned().collect();
                }
                if let Message::User { content } = &mut message {
                    content.extend(attached.blocks());
                }
                if let (Some(scope), Message::User { content }) = (scope, &mut message) {
                    self.scope = self.scope.max(scope);
                    self.limiting += usize::from(scope.limits());
                    content.insert(0, Block::text(foreign(scope)));
                }
                self.messages.push(message);
            }
            Entry::Result { result, learnt } => self.take(result, learnt),
            Entry::Sent { .. } => {}
            Entry::Trimmed { summary, asked, kept } => {
                let from = self.messages.len().saturating_sub(kept);
                let told = self.messages.split_off(from);
                self.messages.clear();
                self.messages.push(Message::Notice { text: cut::in_its_place(&summary, &asked) });
                // Where something between is damaged, results may have lost their calls.
                let is_result = |message: &Message| matches!(message, Message::ToolResults { .. });
                let told = told.into_iter().skip_while(is_result);
                self.messages.extend(told.filter_map(without_thinking));
                self.asked = asked;
            }
        }
    }

    fn take(&mut self, result: ToolResult, learnt: Vec<Learnt>) {
        let is_open = self.missing().iter().any(|call| call.id == result.call_id);
        if !is_open {
            return;
        }
        learnt.into_iter().for_each(|one| self.known.learn(one));
        self.results.push(result);
        if self.results.len() < self.open.len() {
            return;
        }
        let mut results = std::mem::take(&mut self.results);
        let ordered = self.open.drain(..).map(|call| {
            let at = results.iter().position(|result| result.call_id == call.id);
            results.remove(at.expect("every call has its result"))
        });
        let results = ordered.collect();
        self.messages.push(Message::ToolResults { results });
        self.known.told();
    }

    /// Which text of each file the model knows.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// The calls that have no result yet: of a turn that is at work, or was cut short.
    pub fn missing(&self) -> Vec<ToolCall> {
        let mut had: Vec<&str> = self.results.iter().map(|one| one.call_id.as_str()).collect();
        let mut missing = self.open.clone();
        missing.retain(|call| match had.iter().position(|id| *id == call.id) {
            Some(at) => {
                had.swap_remove(at);
                false
            }
            None => true,
        });
        missing
    }

    /// What the least trusted of those may do whose words are in it, also in what a summary tells of
    /// them: whatever a model does may have come of those.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// How many messages are in it whose senders may do less than any program of the person's.
    pub fn limiting(&self) -> usize {
        self.limiting
    }

    /// Whether the conversation has its system prompt and tools.
    pub fn has_opening(&self) -> bool {
        self.has_opening
    }

    /// The system prompt.
    pub fn system(&self) -> &Arc<str> {
        &self.system
    }

    /// The tools.
    pub fn tools(&self) -> &Arc<[ToolSpec]> {
        &self.tools
    }

    /// The history, whole: no call is without its result.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }
}

/// The result of a call of which nobody knows what came of it.
pub fn unknown(call: &ToolCall) -> ToolResult {
    filled(
        call,
        "unknown: the steward ended before this call did. It may have been done or not: look at \
         list_changes before doing it again",
    )
}

/// A result of ours for a call that has none.
pub fn filled(call: &ToolCall, why: &str) -> ToolResult {
    ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: vec![Block::text(why)],
        is_error: true,
    }
}

/// The meaning of a message alone: thinking is bound to all that came before it, and other items of
/// a vendor's are bound to the thinking.
fn without_thinking(message: Message) -> Option<Message> {
    let Message::Assistant { content, .. } = message else { return Some(message) };
    let content: Vec<Block> = content
        .into_iter()
        .filter(|block| !matches!(block.kind, BlockKind::Thinking { .. } | BlockKind::Opaque))
        .map(|block| Block { native: None, ..block })
        .collect();
    (!content.is_empty()).then_some(Message::Assistant { content, origin: None })
}
