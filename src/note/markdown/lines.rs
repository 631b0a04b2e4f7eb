//! Line numbers of ascending offsets.

/// Counts each newline once, however many offsets are requested.
pub(super) struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), at: 0, line: 1 }
    }

    /// The 1-based line of `offset`. Offsets must not decrease.
    pub fn line_at(&mut self, offset: usize) -> usize {
        let passed = self.text.get(self.at..offset).unwrap_or_default();
        self.line += passed.iter().filter(|byte| **byte == b'\n').count();
        self.at = self.at.max(offset);
        self.line
    }
}
