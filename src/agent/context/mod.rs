//! The model's context, built from the stored entries. It only ever grows at the end.
//!
//! Vendors cache a prompt's prefix, and some models reject their own thinking if anything before it
//! changed. Therefore the system prompt and the tools are created once and stored, news comes as
//! messages, and the same entries always yield the same bytes, even after a restart. Only when the
//! context window is nearly full does a summary replace the beginning, and that is stored as an
//! entry too.

mod cut;
mod size;
#[cfg(test)]
mod tests;
mod transcript;

use std::sync::Arc;

pub use cut::Cut;

use super::entry::Entry;
use super::read_set::ReadSet;
use crate::llm::{Block, BlockKind, Message, ToolCall, ToolResult, ToolSpec};
use crate::policy::Scope;
use crate::tools::ReadUpdate;

/// A conversation as sent to a model.
#[derive(Debug, Clone)]
pub struct Context {
    system: Arc<str>,
    tools: Arc<[ToolSpec]>,
    has_opening: bool,
    messages: Vec<Message>,
    /// The calls of the last answer, until each has its result.
    open: Vec<ToolCall>,
    results: Vec<ToolResult>,
    known: ReadSet,
    /// The ratio of the vendor's token count to our estimate.
    factor: f64,
    /// The person's last message, if it was dropped.
    asked: String,
    /// The most restricted scope among all senders.
    scope: Scope,
    /// The number of messages from senders with restricted scopes.
    limiting: usize,
}

/// The prefix for the model of a message that the person did not type.
fn foreign(scope: Scope) -> &'static str {
    match scope {
        // Rules send no messages.
        Scope::Person | Scope::Client | Scope::Rule => {
            "[said by a program that does not speak for the user]"
        }
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
            known: ReadSet::default(),
            factor: 1.0,
            asked: String::new(),
            scope: Scope::Person,
            limiting: 0,
        }
    }
}

impl Context {
    pub fn of(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut context = Self::default();
        entries.into_iter().for_each(|entry| context.push(entry));
        context
    }

    pub fn push(&mut self, entry: Entry) {
        match entry {
            Entry::Opening { system, tools } => {
                (self.system, self.tools) = (system.into(), tools.into());
                self.has_opening = true;
            }
            Entry::Message { mut message, scope, attached, .. } => {
                // Callers fill in missing results first; this keeps the history valid in any case.
                for call in self.missing() {
                    self.add_result(unknown(&call), Vec::new());
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
            Entry::Result { result, read_updates, .. } => self.add_result(result, read_updates),
            Entry::Sent { .. } => {}
            Entry::Trimmed { summary, asked, kept } => {
                let from = self.messages.len().saturating_sub(kept);
                let recent = self.messages.split_off(from);
                self.messages.clear();
                self.messages
                    .push(Message::Notice { text: cut::replacement_notice(&summary, &asked) });
                // If an item between them is damaged, results may have lost their calls.
                let is_result = |message: &Message| matches!(message, Message::ToolResults { .. });
                let recent = recent.into_iter().skip_while(is_result);
                self.messages.extend(recent.filter_map(without_thinking));
                self.asked = asked;
            }
        }
    }

    fn add_result(&mut self, result: ToolResult, read_updates: Vec<ReadUpdate>) {
        let is_open = self.missing().iter().any(|call| call.id == result.call_id);
        if !is_open {
            return;
        }
        read_updates.into_iter().for_each(|one| self.known.apply(one));
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
        self.known.results_received();
    }

    /// The file versions that the model has seen.
    pub fn known(&self) -> &ReadSet {
        &self.known
    }

    /// The calls without a result: those of a running turn, or of one that was cut short.
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

    /// The most restricted scope among all senders, even of messages that only the summary
    /// mentions: they may have influenced the model.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The number of messages from senders more restricted than the person's own programs.
    pub fn limiting(&self) -> usize {
        self.limiting
    }

    /// Whether the conversation has its system prompt and tools.
    pub fn has_opening(&self) -> bool {
        self.has_opening
    }

    pub fn system(&self) -> &Arc<str> {
        &self.system
    }

    /// Adds tools that are not stored with the conversation. The prompt stays the same while they do.
    pub fn add_tools(&mut self, tools: Vec<ToolSpec>) {
        if !tools.is_empty() {
            self.tools = self.tools.iter().cloned().chain(tools).collect();
        }
    }

    pub fn tools(&self) -> &Arc<[ToolSpec]> {
        &self.tools
    }

    /// Replaces the system prompt and the tools, for the requests of one turn.
    pub fn present(&mut self, system: String, tools: Vec<ToolSpec>) {
        (self.system, self.tools) = (system.into(), tools.into());
    }

    /// The history. Every call has its result.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }
}

/// The result of a call whose outcome is unknown.
pub fn unknown(call: &ToolCall) -> ToolResult {
    filled(
        call,
        "unknown: the steward ended before this call did. It may have been done or not: look at \
         list_changes before doing it again",
    )
}

/// A substitute result for a call that has none.
pub fn filled(call: &ToolCall, why: &str) -> ToolResult {
    ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: vec![Block::text(why)],
        is_error: true,
    }
}

/// Strips a message to its neutral form: thinking depends on everything before it, and other native
/// items depend on the thinking.
fn without_thinking(message: Message) -> Option<Message> {
    let Message::Assistant { content, .. } = message else { return Some(message) };
    let content: Vec<Block> = content
        .into_iter()
        .filter(|block| !matches!(block.kind, BlockKind::Thinking { .. } | BlockKind::Opaque))
        .map(|block| Block { native: None, ..block })
        .collect();
    (!content.is_empty()).then_some(Message::Assistant { content, origin: None })
}
