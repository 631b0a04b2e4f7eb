//! The WebSocket client of SmartHole, a desktop program that recognises speech and routes messages
//! to other programs on this machine.
//!
//! Floor 7. Received messages go to an [`Inbox`];
//! notifications come in by [`SmartHole::notify`]. The composition root connects both.
//!
//! Invariants: it connects to 127.0.0.1 alone; a message is acknowledged only after it is stored,
//! and never rejected afterwards; it never sends `null`, which crashes SmartHole; since any program
//! may listen on that port, the other end can do no more than put a text into the inbox.
//!
//! In reading order: [`settings`], [`name`] (the registered name), [`frames`] (the wire),
//! [`status`], `backoff`, [`notification`], `outbox` (rate limits), [`dial`] (connecting),
//! [`connection`] (the client).

mod backoff;
pub mod connection;
pub mod dial;
pub mod frames;
pub mod name;
pub mod notification;
mod outbox;
pub mod settings;
pub mod status;

pub use connection::{Inbox, SmartHole};
pub use frames::ReceivedMessage;
pub use notification::{Notification, Priority};
pub use outbox::Sent;
pub use settings::Settings;
pub use status::{ConnectionState, ConnectionStatus};
