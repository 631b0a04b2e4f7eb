#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
//! Vault Steward.
pub mod cli;
pub mod config;
pub mod daemon;
#[doc(hidden)]
pub mod fuzzing;
pub mod index;
pub mod journal;
pub mod note;
pub mod protocol;
pub mod server;
pub mod tools;
pub mod vault;
