//! The published protocol: the reference for people, and TypeScript for the plugin.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod docs;
mod functions;
#[path = "../support/mod.rs"]
mod support;
mod types;
