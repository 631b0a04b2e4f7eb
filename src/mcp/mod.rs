//! The Model Context Protocol: what its clients say, and what they are told.
//!
//! Floor 6. Text in, values and text out: it has no sockets, calls no tool and decides nothing. The way in
//! is `server/mcp` (HTTP, which `steward mcp` uses too); it has what is asked done by `calls::run`, as for
//! every other client.
//!
//! The protocol has two eras. In the one to 2025-11-25 a client begins with `initialize`; from 2026-07-28
//! on every request says in its `_meta` what it speaks. A request is answered in the era it comes in, and
//! nothing is remembered from one to the next.
//!
//! In reading order: [`settings`], [`mod@hear`] (one message), [`call`] (a tool's call, and its answer), [`listed`] (the
//! tools, as clients are shown them), [`ask`] (a question to the client), `lookup` (resources, prompts, completion) with `uri`, [`listen`] (what is told as it happens), [`fault`],
//! [`identity`].

pub mod ask;
pub mod call;
pub mod fault;
#[cfg(feature = "conformance")]
pub mod fixtures;
pub mod hear;
pub mod identity;
pub mod listed;
pub mod listen;
mod lookup;
pub mod settings;
mod uri;

pub use call::Call;
pub use hear::{Headers, Said, What, hear};
pub use settings::Settings;

/// Versions in which each request says what it speaks.
const MODERN: [&str; 1] = ["2026-07-28"];

/// Versions that begin with `initialize`, the newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Where a modern request says which version it speaks.
pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Where it says what its client can do.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The `_meta` of a modern request that a relay makes itself.
#[must_use]
pub fn relayed_meta() -> serde_json::Value {
    serde_json::json!({ VERSION: MODERN[0], CAPABILITIES: {} })
}

/// How a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// It begins with `initialize`.
    Legacy,
    /// It says with each request what it speaks.
    Modern,
}
