//! Lines within a room of characters.

/// Characters kept for the line that says how much is missing.
const LAST_LINE: usize = 40;

/// Lines that fit.
pub struct Room {
    lines: Vec<String>,
    left: usize,
    missing: usize,
}

impl Room {
    /// Room for so many characters.
    pub fn new(characters: usize) -> Self {
        Self { lines: Vec::new(), left: characters.saturating_sub(LAST_LINE), missing: 0 }
    }

    /// Adds a line, or counts it where it does not fit.
    pub fn line(&mut self, line: &str) {
        let length = line.chars().count() + 1;
        if self.missing > 0 || length > self.left {
            self.missing += 1;
            return;
        }
        self.left -= length;
        self.lines.push(line.to_owned());
    }

    /// Says how many of a group are not shown.
    pub fn more(&mut self, all: usize, shown: usize) {
        if all > shown {
            self.line(&format!("      … {} more", all - shown));
        }
    }

    /// Whether nothing more fits.
    pub fn is_full(&self) -> bool {
        self.missing > 0
    }

    /// All lines that fit, and how many did not.
    pub fn finish(mut self) -> String {
        if self.missing > 0 {
            self.lines.push(format!("[{} more lines]", self.missing));
        }
        self.lines.join("\n")
    }
}
