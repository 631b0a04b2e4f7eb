//! Vault Steward.
pub mod note;
pub mod protocol;
