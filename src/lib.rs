//! Vault Steward.
pub mod note;
pub mod vault;
