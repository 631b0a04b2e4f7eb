//! The part that thinks, and the conversations it does it in: a message comes in, a model works
//! through it with the tools, everybody sees it live, and what was said is kept.
//!
//! Floor 7: imports `conversation`, `llm`, `store`, `journal`, `policy`, `tools` and `calls`, through which alone
//! it reaches a tool; no door imports it, the composition root puts them together.
//!
//! Invariants: what was said is durable before anybody is shown it; where a message belongs is
//! decided before a model is asked; an ended conversation always has a title, whether or not a model
//! ever answers; a call of a model's is made at most once, and its history stays one that a model
//! takes, whatever happens in between.
//!
//! Reading order: [`conversations`] (the handle that everything kept goes through), [`clock`],
//! [`settings`], `digest` and [`summary`] (titles), [`view`] (what tools see); [`entry`]
//! (what the agent keeps), [`called`], [`changed`] (which files a call changed), [`attached`] (what goes with a message), [`turn`] (one turn as a value), [`context`] (what a model is given),
//! [`prompt`], [`wrap`] (notes are data), [`known`] (which texts it knows; `guard` has its changes rest on them), [`own_tools`], [`turn_settings`]; [`ports`] (what it works
//! with), `shared` (what all of it goes by), `driver` (a turn at work; its beginning is `scene`, an answer's way `pieces`, room for more
//! `shortening`), `turns` (how they begin and end), `arrivals` (how a message comes to its turn), [`handle`] (how the
//! agent is spoken to), [`memory`] and [`toolbox`] (the real ones).

mod arrivals;
pub mod attached;
pub mod called;
pub mod changed;
pub mod clock;
pub mod context;
pub mod conversations;
mod digest;
mod driver;
pub mod entry;
mod guard;
pub mod handle;
pub mod known;
pub mod memory;
pub mod own_tools;
mod pieces;
pub mod ports;
pub mod prompt;
mod scene;
pub mod settings;
mod shared;
mod shortening;
pub mod summary;
pub mod toolbox;
pub mod turn;
pub mod turn_settings;
mod turns;
pub mod view;
pub mod wrap;

pub use clock::Clock;
pub use conversations::{
    Arrived, ConversationError, ConversationEvent, Conversations, Excerpt, Found, Taken, TurnEnd,
    foreign_source, is_foreign,
};
pub use handle::{Agent, Left};
pub use settings::ConversationSettings;
pub use shared::{Answered, Answering, Ports, PromptError};
pub use summary::Summaries;
pub use turn_settings::TurnSettings;
