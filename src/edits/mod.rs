//! Changes made on behalf of a caller: judged first, and applied together with the links that
//! follow.
//!
//! Floor 4. Knows no tool, so that anything that makes changes can use it.
//!
//! Invariants:
//! - If there is a [`Gate`], nothing is applied before the gate has seen all of it.
//! - Links that a change of names would break are rewritten in the same change set. Each rewrite
//!   names the revision it is based on; if a text changed meanwhile, everything is planned again.
//! - If the system would refuse a part, everything is refused, before a person is asked.
//!
//! Reading order: [`Editor`], `links` (what follows a change of names), `rights` (whether files may
//! be written), `restored_links` (links in texts that a partial undo puts back), `older_texts` (what an undo leaves alone), [`Gate`], [`EditsError`].

mod editor;
mod error;
mod gate;
mod links;
mod older_texts;
mod restored_links;
mod rights;

pub use editor::Editor;
pub use error::EditsError;
pub use gate::{Gate, Proposal, Proposed, Whole};
pub use links::{Followed, names};
pub use rights::ReadOnly;
