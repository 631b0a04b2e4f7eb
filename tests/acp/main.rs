//! ACP clients, through the real program: their requests, and the answers and events that they get.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(unix)]

#[path = "../support/mod.rs"]
mod door;
#[allow(dead_code, reason = "the tests of the command line use all of it")]
#[path = "../cli/support.rs"]
mod home;
#[path = "../support/machine.rs"]
mod machine;
#[allow(dead_code, reason = "the tests of models use all of it")]
#[path = "../support/models.rs"]
mod models;
#[allow(dead_code, reason = "the agent's tests use all of it")]
#[path = "../agent/script.rs"]
mod script;

mod acpx;
mod editor;
mod independent;
mod proposals;
mod rights;
mod round;
mod sessions;
mod setup;
mod stdio;
