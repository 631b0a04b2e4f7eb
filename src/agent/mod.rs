//! Conversations that go on.
//!
//! Floor 7: imports `conversation`, `llm`, `store`, `tools` and `calls`; no door imports it, the
//! composition root puts them together.
//!
//! Invariants: what was said is durable before anybody is shown it; where a message belongs is
//! decided before a model is asked; an ended conversation always has a title, whether or not a model
//! ever answers.
//!
//! Reading order: [`conversations`] (the handle that everything goes through), [`clock`],
//! [`settings`], `digest` and [`summary`] (titles), [`usage`],
//! [`view`] (what tools see).

pub mod clock;
pub mod conversations;
mod digest;
pub mod settings;
pub mod summary;
pub mod usage;
pub mod view;

pub use clock::Clock;
pub use conversations::{
    Arrived, ConversationError, ConversationEvent, Conversations, Excerpt, Found, Message, TurnEnd,
};
pub use settings::ConversationSettings;
pub use summary::{Model, Models, Summaries};
