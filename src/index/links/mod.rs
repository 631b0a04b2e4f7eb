//! The link graph of the vault in memory: the links and tags of every note and canvas.
//!
//! It stores what the texts say; where a link leads is resolved at queries ([`resolver`]), since
//! one new file can change the target of many links. So a record depends on its file's text only.
//! Equal linkpaths are stored once (`graph`) and resolved once for all files that contain them. A
//! query for backlinks resolves those with a matching name; a query for all links those not yet
//! resolved, and those that had a possible target appear or disappear since.
//!
//! It is built at the first query by reading all files in the background: until that is done, a
//! query uses what has been read and reports how much is missing ([`Links::available`]), and a change
//! waits. Then the change feed names the files to read again, and records are `saved` from run to
//! run. Before a query returns, the stamps of the files it depends on are compared with the disk.
//! Files over the vault's size limit are left out, and so are links of a file beyond
//! [`record::MAX_LINKS`]; what was left out is counted ([`Summary`]).
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
pub use answers::{Backlinks, Doubtful, Links, ResolvedLink, Scope, TagCount, VisibleLinks};
pub use graph::Summary;
pub use parts::{LinkPlace, MissingPart, missing_parts, place};
pub use record::{Form, Gap, StoredLink, StoredTag};
pub use resolver::Resolution;
pub use unknown::Unknown;
