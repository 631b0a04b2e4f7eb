//! Voice messages through SmartHole, with the real program: a stand-in for SmartHole that behaves
//! as observed, faults included, and a scripted model server.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/chance.rs"]
mod chance;
mod desktop;
#[path = "../support/mod.rs"]
mod door;
#[allow(dead_code, reason = "the tests of the command line use all of it")]
#[path = "../cli/support.rs"]
mod home;
#[cfg(unix)]
#[path = "../support/machine.rs"]
mod machine;
#[allow(dead_code, reason = "the tests of `llm` use all of it")]
#[path = "../support/models.rs"]
mod models;
#[allow(dead_code, reason = "the agent's tests use all of it")]
#[path = "../agent/script.rs"]
mod script;

mod connecting;
mod desk;
mod kept;
mod kills;
mod messages;
#[cfg(unix)]
mod refusals;
mod simulated;
