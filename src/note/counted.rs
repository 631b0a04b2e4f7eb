//! A number with its noun, for messages.

use std::fmt;

/// A number of things: `1 file`, `3 files`, `2 entries`, `2 matches`.
pub fn counted(number: impl fmt::Display + PartialEq + From<u8>, noun: &str) -> String {
    if number == 1.into() {
        return format!("{number} {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) => format!("{number} {stem}ies"),
        None if noun.ends_with("ch") => format!("{number} {noun}es"),
        None => format!("{number} {noun}s"),
    }
}
