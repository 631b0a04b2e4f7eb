//! Vault Steward.
pub mod note;
