//! Conversations as they are kept: a real database, a clock that is set.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod boundary;
mod branches;
mod clock;
mod keeping;
mod search;
mod titles;
