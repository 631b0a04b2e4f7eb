//! The steward beside programs from npm that this project did not write: a model's server, renderers of Markdown.
//!
//! `scripts/test` installs them, with their versions pinned in `package-lock.json`, and names their folder in
//! `STEWARD_TEST_NPM`.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod aimock;
#[path = "../support/mod.rs"]
mod door;
#[allow(dead_code, reason = "the tests of the command line use all of it")]
#[path = "../cli/support.rs"]
mod home;
#[path = "../support/machine.rs"]
mod machine;
mod renderers;
