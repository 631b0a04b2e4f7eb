//! The Model Context Protocol: messages of its clients, and the answers.
//!
//! Floor 6. Text in, values and text out: it has no sockets, calls no tool and decides nothing. Requests come through
//! `server/mcp` (HTTP, also used by `steward mcp`), which runs them by `calls::run` like those of every other client.
//!
//! The protocol has two eras. Up to 2025-11-25 a client begins with `initialize`; from 2026-07-28 every request has its
//! version in `_meta`. A request is answered in its own era, and no state is kept between requests.
//!
//! In reading order: [`settings`], [`mod@dispatch`] (one message), [`call`] (a tool's call, and its
//! answer), [`tool_list`] (the tools, as clients are shown them), [`ask`] (a question to the client),
//! `lookup` (resources, prompts, completion) with `uri`, [`listen`] (notifications), [`fault`],
//! [`identity`].

pub mod ask;
pub mod call;
pub mod dispatch;
pub mod fault;
#[cfg(feature = "conformance")]
pub mod fixtures;
pub mod identity;
pub mod listen;
mod lookup;
pub mod settings;
pub mod tool_list;
mod uri;

pub use call::Call;
pub use dispatch::{Dispatched, Headers, Response, dispatch};
pub use settings::Settings;

/// Versions in which each request has its version.
const MODERN: [&str; 1] = ["2026-07-28"];

/// Versions that begin with `initialize`, newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The `_meta` key of a modern request's version.
pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The `_meta` key of the client's capabilities.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The `_meta` of a relay's own modern requests.
pub fn relayed_meta() -> serde_json::Value {
    serde_json::json!({ VERSION: MODERN[0], CAPABILITIES: {} })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// The client begins with `initialize`.
    Legacy,
    /// Each request has its version.
    Modern,
}
