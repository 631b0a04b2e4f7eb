//! MCP clients, through the real daemon: their requests, in both eras, and the answers.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod door;
#[allow(dead_code, reason = "the tests of the command line use all of it")]
#[path = "../cli/support.rs"]
mod home;
#[path = "../support/machine.rs"]
mod machine;
#[path = "../support/posted.rs"]
mod posted;

mod asks;
mod ground;
mod http;
mod independent;
mod notifications;
mod resources;
mod settings;
mod stdio;
