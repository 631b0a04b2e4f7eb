#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
//! Vault Steward.
pub mod note;
pub mod vault;
