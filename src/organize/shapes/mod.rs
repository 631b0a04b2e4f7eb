//! The parts of a file name (without its extension), and the patterns that it fits.
//!
//! A name has readings from the most exact pattern to the loosest: `2024 Trip 03` is a year, words and two digits; two
//! numbers around a word; words alone. The folder's other names decide between them ([`super::conventions`]).
//! Pure, and linear in the length of the name.

pub mod parts;
pub mod pattern;
pub mod style;
#[cfg(test)]
mod tests;
