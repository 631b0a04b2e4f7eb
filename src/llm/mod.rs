//! Language models: asks one model for a turn, or asks several in order until one answers.
//!
//! Floor 1. This is our own thin layer over HTTP, for two reasons: a
//! vendor must get its own history back verbatim and in order, and callers must be able to tell
//! failures apart by kind. The room knows no vault and no tool: the agent passes messages in and
//! gets text, thinking and tool calls back.
//!
//! Invariants: only [`Provider::stream`], [`Endpoint::offered`], [`endpoint::Connections::document`] and
//! [`download::download`] send anything; a stream ends with exactly one [`Item::Done`] or one error; dropping a stream closes its connection;
//! no error, log line or `Debug` output contains a key, and a key goes only to its provider's host; every wait has a
//! time limit and every read a size limit.
//!
//! Reading order: [`message`] (the history), [`request`] and [`turn`] (request and response),
//! [`error`], [`sse`] and [`wire`] (the vendors' API formats, without I/O), [`response`] (bytes to
//! events), `http`, [`endpoint`] (one model over HTTP), `classify` (errors by kind), `clock` and `delay`, [`breaker`] and
//! [`chain`] (several models), [`download`],
//! [`facts`], [`settings`], [`key`] and [`setup`] (configuration), [`tape`] (recording and replay).

pub mod breaker;
pub mod chain;
mod classify;
pub mod clock;
mod delay;
pub mod download;
pub mod endpoint;
pub mod error;
pub mod facts;
mod http;
pub mod key;
pub mod message;
pub mod request;
pub mod response;
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
pub use http::Address;
pub use key::Key;
pub use message::{Block, BlockKind, Message, Origin, ToolArgs, ToolCall, ToolResult, Usage, Wire};
pub use request::{Cache, Effort, ToolChoice, ToolSpec, TurnRequest};
pub use settings::Settings;
pub use turn::{Item, Stop, Turn, TurnEvent, TurnStream};

/// A language model, or a chain of them, as the agent sees it.
pub trait Provider: Send + Sync {
    /// A name for logs and messages: `anthropic/claude-sonnet-5-5`.
    fn id(&self) -> &str;

    /// Asks for one turn. Nothing is sent before the stream is polled; dropping it cancels.
    fn stream(&self, request: std::sync::Arc<TurnRequest>) -> TurnStream;
}
