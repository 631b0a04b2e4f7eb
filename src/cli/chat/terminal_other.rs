//! Reads a line from the terminal where the read cannot be cancelled: a question that another client
//! answered stays until the next line.

use std::sync::atomic::AtomicBool;

/// Whether [`line()`] can be cancelled.
pub const GIVES_UP: bool = false;

/// The mode of the terminal, which is never changed here.
#[derive(Debug)]
pub struct TerminalMode;

impl TerminalMode {
    /// Does nothing.
    pub fn new() -> Self {
        Self
    }
}

/// Does nothing.
pub fn forget_what_was_typed() {}

/// The next line; `None` at the end of the input.
pub fn line(_: &AtomicBool) -> Option<String> {
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}
