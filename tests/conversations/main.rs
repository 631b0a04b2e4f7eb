//! Stored conversations: a real database, and a simulated clock.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod boundary;
mod branches;
mod clock;
mod keeping;
mod search;
mod titles;
