#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
//! Vault Steward.

#[doc(hidden)]
pub mod fuzzing;
pub mod index;
pub mod journal;
pub mod note;
pub mod tools;
pub mod vault;
