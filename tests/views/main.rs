//! The output for a limited caller: every output of the table in `docs/security.md`, over a vault with hidden notes and
//! over the same vault without them. A caller that may see one folder must get the same answer in both.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../smarthole/desktop.rs"]
#[allow(dead_code, reason = "the tests of SmartHole use all of it")]
mod desktop;
#[path = "../support/mod.rs"]
mod door;
#[allow(dead_code, reason = "the tests of the command line use all of it")]
#[path = "../cli/support.rs"]
mod home;
#[allow(dead_code, reason = "the tests of `llm` use all of it")]
#[path = "../support/models.rs"]
mod models;
#[path = "../support/posted.rs"]
mod posted;
#[allow(dead_code, reason = "the agent's tests use all of it")]
#[path = "../agent/script.rs"]
mod script;

mod arguments;
mod channels;
mod outputs;
mod table;
mod world;
