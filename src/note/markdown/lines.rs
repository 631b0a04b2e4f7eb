//! Line numbers of offsets asked for in ascending order.

/// Counts newlines once, however many offsets are asked for.
pub(super) struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), at: 0, line: 1 }
    }

    /// The line of `offset`, from 1. Offsets must not go down.
    pub fn of(&mut self, offset: usize) -> usize {
        let passed = self.text.get(self.at..offset).unwrap_or_default();
        self.line += passed.iter().filter(|byte| **byte == b'\n').count();
        self.at = self.at.max(offset);
        self.line
    }
}
