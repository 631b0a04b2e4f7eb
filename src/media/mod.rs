//! Prepares images and the text of PDFs for models.
//!
//! Floor 1. Pure: from bytes to bytes or text. A file in a vault may come from
//! anywhere, so its size is checked before memory is allocated, and a panicking decoder is an error
//! of that file alone.

pub mod image;
pub mod pdf;
