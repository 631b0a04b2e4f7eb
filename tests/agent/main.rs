//! The agent: simulated over thousands of seeds, and end to end with the real program and a
//! scripted model server.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/chance.rs"]
mod chance;
#[path = "../support/mod.rs"]
mod door;
#[allow(dead_code, reason = "the tests of the command line use all of it")]
#[path = "../cli/support.rs"]
mod home;
#[path = "../support/machine.rs"]
mod machine;
#[cfg(unix)]
#[path = "../support/manual.rs"]
mod manual;
#[allow(dead_code, reason = "the tests of `llm` use all of it")]
#[path = "../support/models.rs"]
mod models;
#[allow(dead_code, reason = "the harness of the tools' own tests")]
#[path = "../tools/vault.rs"]
mod vault;

mod arrivals;
#[cfg(unix)]
mod asked;
mod attached;
mod crash;
mod endings;
mod guards;
#[cfg(unix)]
mod hooks;
mod injection;
mod kept;
mod meanwhile;
mod reconnect;
mod script;
mod serve;
mod shown;
mod simulation;
mod stored;
mod turns;
mod world;
