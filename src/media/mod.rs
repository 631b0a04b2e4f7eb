//! Images and PDFs as models can be given them.
//!
//! May import nothing of ours. Pure: from bytes to bytes or text. A file in a vault may come from anywhere, so its
//! size is checked before memory is used for it, and a decoder that panics is an error of that file alone.

pub mod image;
pub mod pdf;
