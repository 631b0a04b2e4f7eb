//! The link graph of the whole vault, kept in memory: what every note and canvas links to, and its
//! tags.
//!
//! Kept is what the texts say; where a link leads is decided anew at each question ([`resolver`]),
//! since one new file can turn many links. So nothing but the text of a file ever makes what is
//! kept of it stale, and a question about backlinks only looks at links of the right name.
//!
//! Built at the first question by reading every source in parallel, beside what is asked: until that is over a
//! question is answered from what was read, and says how much was not ([`Links::look`]), and a change waits for it.
//! From then on the change feed says which files to read again, and what was read is `saved` from run to run. Before an answer the size and time of each file it rests on
//! are compared with the disk. Bounded: files over the vault's limit are left out, and of one file
//! no more than [`record::MAX_LINKS`] links; what was left out is counted ([`Summary`]).
//!
//! Invariant: nobody waits for anything of the thread pool while holding the catalogue.
//!
//! In reading order: this page, [`resolver`], [`record`], `graph`, `saved`, `answers`, `parts`; then how links
//! survive a change of names: [`names`], `form`, [`rewrite`], `unknown`.

mod answers;
mod form;
mod graph;
pub mod names;
mod parts;
pub mod record;
pub mod resolver;
pub mod rewrite;
mod saved;
mod unknown;

pub use super::fresh::Withdrawn;
pub use answers::{Backlinks, Doubtful, Lead, Links, Scope, Seen, TagCount};
pub use graph::Summary;
pub use parts::{MissingPart, missing_parts};
pub use record::{Form, Gap, Kept, KeptTag};
pub use resolver::Resolution;
pub use unknown::Unknown;
