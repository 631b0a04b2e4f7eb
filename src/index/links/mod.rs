//! The link graph of the vault in memory: the links and tags of every note and canvas.
//!
//! It stores what the texts say; where a link leads is resolved at queries ([`resolver`]), since one new file
//! can change the target of many links. So a record depends on its file's text only. Equal linkpaths are one
//! (`graph`), which a query resolves once for all files that contain it: one for backlinks those with a matching
//! name, one for all links those that were not yet, or of which a possible target came or went since.
//!
//! It is built at the first query by reading all files in the background: until that is done, a query uses what was
//! read and tells how much was not ([`Links::look`]), and a change waits for it. Then the change feed tells which
//! files to read again, and records are `saved` from run to run. Before a query returns, the stamps of the files it
//! depends on are compared with the disk. Files over the vault's size limit are left out, and so are links of a
//! file beyond [`record::MAX_LINKS`]; what was left out is counted ([`Summary`]).
//!
//! Invariant: no thread waits for the thread pool while it holds the catalogue.
//!
//! In reading order: this file, [`resolver`], [`record`], `graph`, `saved`, `answers`, `parts`; then the update of
//! links after renames: [`names`], `form`, [`rewrite`], `unknown`.

mod answers;
mod form;
mod graph;
pub mod names;
mod parts;
pub mod record;
pub mod resolver;
pub mod rewrite;
mod saved;
#[cfg(test)]
mod tests;
mod unknown;

pub use super::synced::Cancelled;
pub use answers::{Backlinks, Doubtful, Lead, Links, Scope, Seen, TagCount};
pub use graph::Summary;
pub use parts::{LinkPlace, MissingPart, missing_parts, place};
pub use record::{Form, Gap, StoredLink, StoredTag};
pub use resolver::Resolution;
pub use unknown::Unknown;
