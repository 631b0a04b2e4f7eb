//! Vault Steward.
pub mod index;
pub mod journal;
pub mod note;
pub mod tools;
pub mod vault;
