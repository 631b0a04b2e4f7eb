//! The door to SmartHole, a desktop program that hears what a person says and hands it to whoever it
//! is for: a WebSocket client of a program on this machine.
//!
//! Floor 7: imports `llm` for its clock, nothing else of ours; what is heard goes to whoever
//! implements [`Inbox`], what is to be shown comes in by [`SmartHole::notify`]. The composition root
//! puts the two ends together.
//!
//! Invariants: it connects to 127.0.0.1 alone; a message is acknowledged once it is kept, never
//! before, and never rejected afterwards; no `null` is ever sent (SmartHole dies of one); nothing that
//! the other end sends can do more than put a text into the inbox, since any program may sit on
//! that port.
//!
//! In reading order: [`settings`], [`name`] (what it is registered as), [`frames`] (the wire),
//! [`standing`] (how the connection stands), `backoff`, [`notification`] (what a person is shown),
//! `outbox` (when), [`dial`] (the way there), [`connection`] (all of it at work).

mod backoff;
pub mod connection;
pub mod dial;
pub mod frames;
pub mod name;
pub mod notification;
mod outbox;
pub mod settings;
pub mod standing;

pub use connection::{Inbox, SmartHole};
pub use frames::Heard;
pub use notification::{Notification, Priority};
pub use outbox::Sent;
pub use settings::Settings;
pub use standing::{Standing, State};
