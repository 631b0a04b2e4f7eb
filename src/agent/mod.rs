//! The agent and its conversations: a message arrives, a model works on it with the tools, clients
//! follow live, and everything is stored.
//!
//! Floor 7. It reaches tools through `calls` alone. No server imports it; the composition root
//! connects them.
//!
//! Invariants: a message is durable before anybody sees it; its conversation is chosen before a
//! model is asked; an ended conversation always has a title, even if no model ever answers; each of
//! a model's calls runs at most once; and a history always stays valid for a model, whatever fails.
//!
//! Reading order: [`conversations`] (the handle for everything stored), [`clock`], [`settings`],
//! `one_shot`, `digest` and [`summary`] (titles), [`drafting`] (rules from a sentence), [`naming`]
//! (names for files), [`view`] (conversations for the tools); [`entry`] (what is stored),
//! [`call_result`], [`changed_files`] (the files that a call changed), [`attachments`], `images`, [`turn`] (a turn
//! as a value), [`context`] (the prompt), [`prompt`], [`wrap`] (marks note text as data),
//! [`read_set`] (the file versions that the model has seen) and `guard` (which checks changes
//! against it), [`own_tools`], [`foreign`] (third-party tools), [`turn_settings`], [`named`]
//! (the user's agents) and `answering` (who answers in a turn); [`ports`] (the interfaces to the
//! outside), `shared` (state of all parts), `driver` (runs a turn) with `load`, `coalesce` and
//! `compaction`, `turns` (how turns begin and end), `router` (which turn a message goes to),
//! [`handle`] (the public interface), [`memory`] and [`toolbox`] (the production implementations of
//! the ports).

mod answering;
pub mod attachments;
pub mod call_result;
pub mod changed_files;
pub mod clock;
mod coalesce;
mod compaction;
pub mod context;
pub mod conversations;
mod digest;
pub mod drafting;
mod driver;
pub mod entry;
pub mod foreign;
mod guard;
pub mod handle;
mod images;
mod load;
pub mod memory;
pub mod named;
pub mod naming;
mod one_shot;
pub mod own_tools;
pub mod ports;
pub mod prompt;
pub mod read_set;
mod router;
pub mod settings;
mod shared;
pub mod summary;
pub mod toolbox;
pub mod turn;
pub mod turn_settings;
mod turns;
pub mod view;
pub mod wrap;

pub use clock::Clock;
pub use conversations::{
    Arrived, ConversationError, ConversationEvent, ConversationMatch, Conversations,
    DeliveryResult, Excerpt, TurnEnd, foreign_source, is_foreign,
};
pub use handle::{Agent, Undelivered};
pub use named::Agents;
pub use settings::ConversationSettings;
pub use shared::{MessageOutcome, PendingOutcome, Ports, PromptError};
pub use summary::Summaries;
pub use turn_settings::TurnSettings;
