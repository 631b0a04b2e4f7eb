//! Lines within a limit of characters.

/// Characters reserved for the line that says how much is missing.
const LAST_LINE: usize = 40;

/// Lines up to a limit.
pub struct Room {
    lines: Vec<String>,
    left: usize,
    missing: usize,
}

impl Room {
    /// Creates an empty list with a limit in characters.
    pub fn new(characters: usize) -> Self {
        Self { lines: Vec::new(), left: characters.saturating_sub(LAST_LINE), missing: 0 }
    }

    /// Adds a line, or counts it if it does not fit.
    pub fn line(&mut self, line: &str) {
        let length = line.chars().count() + 1;
        if self.missing > 0 || length > self.left {
            self.missing += 1;
            return;
        }
        self.left -= length;
        self.lines.push(line.to_owned());
    }

    /// Adds the number of items of a group that are not shown.
    pub fn more(&mut self, all: usize, shown: usize) {
        if all > shown {
            self.line(&format!("      … {} more", all - shown));
        }
    }

    pub fn is_full(&self) -> bool {
        self.missing > 0
    }

    /// The lines that fit, and the number of the others.
    pub fn finish(mut self) -> String {
        if self.missing > 0 {
            self.lines.push(format!("[{} more lines]", self.missing));
        }
        self.lines.join("\n")
    }
}
