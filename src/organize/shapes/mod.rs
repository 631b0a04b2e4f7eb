//! A file name, without its extension, cut into its parts, and the patterns it can be read as.
//!
//! A name is read from the most exact pattern to the loosest: `2024 Trip 03` is a year, words and two digits, then
//! two numbers around a word, then words alone. Which reading a folder means is decided over all its names
//! ([`super::conventions`]). Pure, and linear in the length of the name.

pub mod parts;
pub mod pattern;
pub mod style;
#[cfg(test)]
mod tests;
