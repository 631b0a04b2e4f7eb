//! A line from the terminal where waiting for it cannot be given up: a question that somebody else
//! answered goes away with the next line.

use std::sync::atomic::AtomicBool;

/// Whether [`line()`] ends soon after it is told to: it cannot.
pub const GIVES_UP: bool = false;

/// Nothing to put in order.
#[derive(Debug)]
pub struct AsFound;

impl AsFound {
    /// Nothing to remember.
    pub fn new() -> Self {
        Self
    }
}

/// Nothing to forget by.
pub fn forget_what_was_typed() {}

/// The next line; nothing at the end.
pub fn line(_: &AtomicBool) -> Option<String> {
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}
