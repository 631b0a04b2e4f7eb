//! The model layer: prepared streams, and a scripted server in place of a vendor.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/models.rs"]
mod models;

mod chain;
mod faults;
mod replay;
mod requests;
mod secrets;
mod server;
mod streams;
mod tape;
