//! Vault Steward.
pub mod note;
pub mod protocol;
pub mod server;
pub mod vault;
