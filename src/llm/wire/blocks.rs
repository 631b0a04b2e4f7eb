//! The blocks of an answer in progress, and the events about them.

use crate::llm::message::{Block, BlockKind, ToolArgs, ToolCall};
use crate::llm::turn::{StartKind, TurnEvent};

#[derive(Debug)]
pub(super) enum Draft {
    Text(String),
    Thinking { text: String, redacted: bool },
    Call { id: String, name: String, args: String },
    Opaque,
}

#[derive(Debug)]
struct Entry {
    draft: Draft,
    native: Option<String>,
    ended: bool,
}

#[derive(Debug, Default)]
pub(super) struct Blocks(Vec<Entry>);

impl Blocks {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Starts a block, emits its events and returns its index.
    pub(super) fn start(&mut self, draft: Draft, out: &mut Vec<TurnEvent>) -> usize {
        let block = self.0.len();
        let kind = match &draft {
            Draft::Text(_) => Some(StartKind::Text),
            Draft::Thinking { redacted: false, .. } => Some(StartKind::Thinking),
            Draft::Call { id, name, .. } => {
                Some(StartKind::ToolCall { id: id.clone(), name: name.clone() })
            }
            Draft::Thinking { redacted: true, .. } | Draft::Opaque => None,
        };
        out.extend(kind.map(|kind| TurnEvent::Start { block, kind }));
        let first = match &draft {
            Draft::Text(text) | Draft::Thinking { text, .. } => text.clone(),
            Draft::Call { args, .. } => args.clone(),
            Draft::Opaque => String::new(),
        };
        self.0.push(Entry { draft, native: None, ended: false });
        self.emit(block, first, out);
        block
    }

    /// Appends to the block's text, thinking or arguments.
    pub(super) fn add(&mut self, block: usize, delta: &str, out: &mut Vec<TurnEvent>) {
        let Some(entry) = self.0.get_mut(block) else { return };
        match &mut entry.draft {
            Draft::Text(text) | Draft::Thinking { text, .. } => text.push_str(delta),
            Draft::Call { args, .. } => args.push_str(delta),
            Draft::Opaque => return,
        }
        self.emit(block, delta.to_owned(), out);
    }

    fn emit(&self, block: usize, delta: String, out: &mut Vec<TurnEvent>) {
        if delta.is_empty() {
            return;
        }
        out.push(match self.0[block].draft {
            Draft::Text(_) => TurnEvent::Text { block, delta },
            Draft::Thinking { .. } => TurnEvent::Thinking { block, delta },
            Draft::Call { .. } => TurnEvent::ToolArgs { block, delta },
            Draft::Opaque => return,
        });
    }

    pub(super) fn draft(&self, block: usize) -> Option<&Draft> {
        self.0.get(block).map(|entry| &entry.draft)
    }

    pub(super) fn draft_mut(&mut self, block: usize) -> Option<&mut Draft> {
        self.0.get_mut(block).map(|entry| &mut entry.draft)
    }

    pub(super) fn set_native(&mut self, block: usize, native: Option<String>) {
        if let Some(entry) = self.0.get_mut(block) {
            entry.native = native;
        }
    }

    /// Ends a block; later calls do nothing.
    pub(super) fn end(&mut self, block: usize, out: &mut Vec<TurnEvent>) {
        if let Some(entry) = self.0.get_mut(block)
            && !std::mem::replace(&mut entry.ended, true)
            && !matches!(entry.draft, Draft::Opaque | Draft::Thinking { redacted: true, .. })
        {
            out.push(TurnEvent::End { block });
        }
    }

    pub(super) fn end_all(&mut self, out: &mut Vec<TurnEvent>) {
        (0..self.0.len()).for_each(|block| self.end(block, out));
    }

    pub(super) fn has_calls(&self) -> bool {
        self.0.iter().any(|entry| matches!(entry.draft, Draft::Call { .. }))
    }

    /// Takes all blocks as they are so far.
    pub(super) fn take(&mut self) -> Vec<Block> {
        let blocks = self.0.drain(..).map(|entry| {
            let kind = match entry.draft {
                Draft::Text(text) => BlockKind::Text { text },
                Draft::Thinking { text, redacted } => BlockKind::Thinking { text, redacted },
                Draft::Call { id, name, args } => {
                    BlockKind::ToolCall(ToolCall { id, name, args: ToolArgs::parse(&args) })
                }
                Draft::Opaque => BlockKind::Opaque,
            };
            Block { kind, native: entry.native }
        });
        blocks.collect()
    }
}
