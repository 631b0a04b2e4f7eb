//! The steward with third-party programs from npm: a model server, Markdown renderers, an ACP
//! client.
//!
//! `scripts/test` installs them, with their versions pinned in `package-lock.json`, and sets
//! `STEWARD_TEST_NPM` to their folder.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod acp;
mod aimock;
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
mod renderers;
#[allow(dead_code, reason = "the agent's tests use all of it")]
#[path = "../agent/script.rs"]
mod script;

#[allow(dead_code, reason = "the tests of ACP clients use all of it")]
#[path = "../acp/editor.rs"]
mod editor;
