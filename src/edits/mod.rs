//! Changes made in a caller's name: judged first, with the links that follow them.
//!
//! Floor 4: imports `note`, `vault`, `journal`, `index` and the values of `policy`. It knows no
//! tool, so that whatever makes changes can use it: a tool now, a plan later.
//!
//! Invariants:
//! - Nothing is applied before the [`Gate`], where there is one, has seen all of it.
//! - Links that a change of names would turn are rewritten in the same change set, each text on the
//!   revision it was planned on; what was written meanwhile is planned anew.
//! - What the system would refuse is refused as a whole, before a person is asked.
//!
//! In reading order: [`Editor`], `links` (what follows a change of names), `rights` (whether it may
//! be written), `since` (what an undo leaves alone), [`Gate`], [`EditsError`].

mod editor;
mod error;
mod gate;
mod links;
mod rights;
mod since;

pub use editor::Editor;
pub use error::EditsError;
pub use gate::{Gate, Proposal, Proposed};
pub use links::{Followed, names};
pub use rights::ReadOnly;
