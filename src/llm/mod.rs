//! Language models: one turn asked of one of them, or of the first in a row that answers.
//!
//! Floor 1; imports nothing of ours. A thin layer of our own over HTTP, because a history must go
//! back to its vendor verbatim and in order, and because failures must be told apart by kind. It
//! knows no vault and no tool: an agent gives it messages and gets text, thinking and tool calls.
//!
//! Invariants: nothing is sent unless [`Provider::stream`] or [`Endpoint::offered`] is called; a
//! stream ends with exactly one [`Item::Done`] or one error; dropping it closes the connection; a
//! key is in no error, log or `Debug`, and goes to no other host than its provider's; what waits is
//! bounded in time and what is read in bytes.
//!
//! Reading order: [`message`] (a history), [`request`] and [`turn`] (what is asked and answered),
//! [`error`], [`sse`] and [`wire`] (the vendors' languages, without I/O), [`reading`] (bytes to
//! events), [`endpoint`] (one model over HTTP), [`breaker`] and [`chain`] (several of them),
//! [`facts`], [`settings`], [`key`] and [`setup`] (what the user chose), [`tape`] (recorded and
//! played back).

pub mod breaker;
pub mod chain;
mod classify;
pub mod clock;
mod delay;
pub mod endpoint;
pub mod error;
pub mod facts;
mod http;
pub mod key;
pub mod message;
pub mod reading;
pub mod request;
pub mod settings;
pub mod setup;
pub mod sse;
pub mod tape;
pub mod turn;
pub mod wire;

pub use chain::Chain;
pub use endpoint::Endpoint;
pub use error::{ErrorKind, LlmError};
pub use facts::Facts;
pub use key::Key;
pub use message::{Block, BlockKind, Message, Origin, ToolArgs, ToolCall, ToolResult, Usage, Wire};
pub use request::{Cache, Effort, ToolChoice, ToolSpec, TurnRequest};
pub use settings::Settings;
pub use turn::{Item, Stop, Turn, TurnEvent, TurnStream};

/// What an agent's loop sees of a model, or of several in a row.
pub trait Provider: Send + Sync {
    /// A name for logs and messages: `anthropic/claude-sonnet-5-5`.
    fn id(&self) -> &str;

    /// Asks for one turn. Nothing is sent before the stream is polled; dropping it cancels.
    fn stream(&self, request: std::sync::Arc<TurnRequest>) -> TurnStream;
}
