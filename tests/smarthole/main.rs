//! What is spoken to SmartHole, with the real program: a stand-in for SmartHole that behaves as the
//! program was found to, faults included, and a model's server that does as it is told.
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
