//! A conversation as values: what was said, in which turn, where one conversation ends and the next
//! begins, and what it is called afterwards.
//!
//! Floor 1; imports nothing of ours. No I/O and no clock: times are handed in. It knows no model
//! either: what a model has to be given again is kept in an item as JSON that this room never reads.
//!
//! Invariants: an item never changes once it is kept, and a conversation only grows; a history is
//! the items of one branch and of those it came from, in order; the boundary is decided when a
//! message arrives, before any model is asked, and never by a wall clock that jumped.
//!
//! Reading order: [`record`] (conversation, turn, item), [`boundary`], [`title`] (titles and
//! summaries), [`extract`] (both of them without a model), [`question`] (what an answer ends with),
//! [`excerpt`] (what is shown of something found).

pub mod boundary;
pub mod excerpt;
pub mod extract;
pub mod question;
pub mod record;
pub mod title;

pub use boundary::{Boundary, Limits, Moment, Timeline, decide};
pub use record::{
    BranchId, Chosen, Conversation, ConversationId, End, EndKind, Item, ItemKind, ItemNumber,
    Shown, State, TitleOrigin, Turn, TurnId, TurnState, Waiting,
};
pub use title::Titled;
