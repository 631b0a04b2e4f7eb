//! The rows of conversations: themselves, their branches, turns and items, and search over all that
//! was said.
//!
//! Speaks in the values of `crate::conversation`. A row that cannot be read, or is not as it was
//! written, is an error that names it.
//!
//! In reading order: `rows`, `write`, `branches` (fork and history), `ending`, `read`, `indexing`,
//! `search`.

mod branches;
mod ending;
mod indexing;
mod read;
mod rows;
mod search;
mod write;

pub use branches::Branch;
pub use ending::{Ending, Untitled};
pub use read::Order;
pub use rows::{Arrival, NewConversation, NewItem, Placed, TurnEnd};
pub use search::Hit;
