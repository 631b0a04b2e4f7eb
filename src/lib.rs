//! Vault Steward.
#[doc(hidden)]
pub mod fuzzing;
pub mod note;
