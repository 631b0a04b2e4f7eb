//! Vault Steward.
pub mod cli;
pub mod config;
pub mod daemon;
pub mod note;
pub mod protocol;
pub mod server;
pub mod vault;
