//! The local server, through real sockets.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/fake.rs"]
mod fake;
#[path = "../support/mod.rs"]
mod support;

mod calls;
mod challenge;
mod events;
mod frames;
mod handshake;
mod hosts;
mod http;
mod load;
mod messages;
mod page;
mod secrets;
mod settings;
mod skew;
