//! The only way to the tools: what may run, what needs approval, what is audited.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "the harness of the tools' own tests")]
#[path = "../tools/vault.rs"]
mod vault;

mod approvals;
mod automatic;
mod doors;
#[cfg(unix)]
mod hooks;
mod names;
mod places;
mod plans;
mod table;
mod taking_back;
