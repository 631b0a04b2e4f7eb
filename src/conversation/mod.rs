//! Conversations as values: items, turns, where one conversation ends and the next begins, titles
//! and summaries.
//!
//! Floor 1. No I/O and no clock: callers pass times in. It knows no model:
//! data that a model needs back is stored in an item as JSON, which this room never parses.
//!
//! Invariants: a stored item never changes, and a conversation only grows; a history is the items
//! of one branch and of the branches it forked from, in order; the boundary is decided when a
//! message arrives, before any model is asked, and is unaffected by wall clock jumps.
//!
//! Reading order: [`record`] (conversation, turn, item), [`boundary`], [`title`] (titles and
//! summaries), [`extract`] (both without a model), [`question`] (whether an answer ends with a
//! question), [`excerpt`] (search results).

pub mod boundary;
pub mod excerpt;
pub mod extract;
pub mod question;
pub mod record;
pub mod title;

pub use boundary::{Boundary, Limits, Moment, Timeline, decide};
pub use record::{
    BranchId, Chosen, Conversation, ConversationId, ConversationState, End, EndKind, Item,
    ItemKind, ItemNumber, Shown, TitleOrigin, Turn, TurnId, TurnState, Waiting,
};
pub use title::Titled;
