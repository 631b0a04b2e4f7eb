#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
//! Vault Steward: a daemon that attaches to an Obsidian vault and offers file tools made for
//! language models and for speech over a local protocol.
//!
//! # Layout
//!
//! A column of floors; a room imports only from floors below its own, which
//! `tests/architecture` holds. `docs/architecture.md` shows the house, each room's `mod.rs` is
//! its front door.
//!
//! | floor | room | what it is |
//! |---|---|---|
//! | 0 | `chaos` | where the chaos suite may end the process; nothing otherwise |
//! | 1 | [`note`] | a note as text: paths, names, globs, edits, patches; pure |
//! | 1 | [`conversation`] | what was said, and where one conversation ends, as values; pure |
//! | 1 | [`protocol`] | what crosses the socket |
//! | 1 | [`llm`] | one turn asked of a language model, or of the first in a row that answers |
//! | 1 | [`media`] | images and PDFs as models can be given them; pure |
//! | 1 | [`hooks`] | commands of the user's own that hear of what happens |
//! | 2 | [`bases`] | Obsidian's Bases: expressions, `.base` files and their tables; pure |
//! | 2 | [`vault`] | the only room that touches the user's files |
//! | 2 | [`store`] | the steward's own memory: a database and texts by their hash |
//! | 3 | [`journal`] | the only caller of the vault's write side |
//! | 3 | [`index`] | finding things by what is in them |
//! | 3 | [`policy`] | may this call run; pure |
//! | 4 | [`edits`] | changes made in a caller's name: judged, with the links that follow them |
//! | 4 | [`organize`] | rules and plans: what should be where, and what would happen; decides, changes nothing |
//! | 5 | [`tools`] | what a caller can ask for, one file a tool |
//! | 6 | [`calls`] | the one way to a tool: policy, approval, tool, audit |
//! | 6 | [`mcp`] | what MCP clients say and are told; pure |
//! | 7 | [`agent`] | the part that thinks: turns, what a model is given and may call |
//! | 7 | [`server`] | the WebSocket door |
//! | 7 | [`smarthole`] | the door to SmartHole, which hears what a person says |
//! | 7 | [`workflows`] | steps that call tools one after another |
//! | 8 | [`config`], [`methods`] | settings; what the daemon answers, method by method |
//! | 8 | [`daemon`], [`cli`] | the composition root, the command line |

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
pub mod hooks;
pub mod index;
pub mod journal;
pub mod llm;
pub mod mcp;
pub mod media;
pub mod methods;
pub mod note;
pub mod organize;
pub mod policy;
pub mod protocol;
pub mod server;
pub mod smarthole;
pub mod store;
pub mod tools;
pub mod vault;
pub mod workflows;
