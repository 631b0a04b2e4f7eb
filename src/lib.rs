#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
//! Vault Steward: a daemon that attaches to an Obsidian vault and offers file tools made for
//! language models and for speech over a local protocol.
//!
//! # Layout
//!
//! A column of floors; a room imports only from floors below its own, which
//! `tests/architecture` holds. `docs/architecture.md` describes all rooms, each room's `mod.rs` its own.
//!
//! | floor | room | what it is |
//! |---|---|---|
//! | 0 | `locks` | locking that ignores poisoning |
//! | 0 | `macros` | macros of all rooms |
//! | 0 | `chaos` | the points at which the chaos suite can kill the process; empty otherwise |
//! | 1 | [`note`] | a note as text: paths, names, globs, edits, patches; pure |
//! | 1 | [`conversation`] | conversations as values: items, turns, boundaries; pure |
//! | 1 | [`protocol`] | the wire protocol |
//! | 1 | [`llm`] | requests to language models, with fallbacks |
//! | 1 | [`media`] | images and the text of PDFs as models can be given them; pure |
//! | 1 | [`hooks`] | the user's own commands, which receive events and may refuse calls |
//! | 2 | [`bases`] | Obsidian's Bases: expressions, `.base` files and their tables; pure |
//! | 2 | [`vault`] | the only room that touches the user's files |
//! | 2 | [`store`] | the steward's own database, and texts by their hash |
//! | 2 | [`guests`] | third-party agents as models of a turn |
//! | 3 | [`journal`] | records and applies changes; the only caller of the vault's writer |
//! | 3 | [`index`] | search, links, names and properties of all notes |
//! | 3 | [`policy`] | decides whether a call may run; pure |
//! | 4 | [`edits`] | changes on behalf of a caller, with the links that follow |
//! | 4 | [`organize`] | rules, and plans made from them; changes nothing |
//! | 5 | [`tools`] | the tools, one file each |
//! | 6 | [`calls`] | the only way to a tool: policy, approval, tool, audit |
//! | 6 | [`servers`] | third-party MCP servers as tools |
//! | 6 | [`mcp`] | the messages of the Model Context Protocol; pure |
//! | 7 | [`agent`] | the agent: turns, a model's context and tools |
//! | 7 | [`server`] | the WebSocket and HTTP server |
//! | 7 | [`smarthole`] | the connection to SmartHole, which recognises speech |
//! | 7 | [`workflows`] | steps that call tools, in order of their dependencies |
//! | 8 | [`config`], [`methods`] | settings; the handlers of the protocol's methods |
//! | 8 | [`daemon`], [`cli`] | the composition root, the command line |

#[macro_use]
mod macros;

pub mod agent;
pub mod bases;
pub mod calls;
#[doc(hidden)]
pub mod chaos;
pub mod cli;
pub mod config;
pub mod conversation;
pub mod daemon;
pub mod edits;
pub mod guests;
pub mod hooks;
pub mod index;
pub mod journal;
pub mod llm;
mod locks;
pub mod mcp;
pub mod media;
pub mod methods;
pub mod note;
pub mod organize;
pub mod policy;
pub mod protocol;
pub mod server;
pub mod servers;
pub mod smarthole;
pub mod store;
pub mod tools;
pub mod vault;
pub mod workflows;
