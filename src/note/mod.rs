//! A note as text.
pub mod fold;
pub mod path;
