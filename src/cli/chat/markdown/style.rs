//! Terminal styles.

use std::fmt::Write as _;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style(u16);

impl Style {
    pub const PLAIN: Self = Self(0);
    pub const BOLD: Self = Self(1);
    pub const DIM: Self = Self(2);
    pub const ITALIC: Self = Self(4);
    pub const UNDERLINE: Self = Self(8);
    /// Struck-through text.
    pub const STRIKE: Self = Self(16);
    /// Code, and links into the vault.
    pub const CYAN: Self = Self(32);
    /// Success, or added lines.
    pub const GREEN: Self = Self(64);
    /// Failure, or removed lines.
    pub const RED: Self = Self(128);
    /// Warnings.
    pub const YELLOW: Self = Self(256);

    /// Each style and its SGR code.
    const CODES: [(Self, u8); 9] = [
        (Self::BOLD, 1),
        (Self::DIM, 2),
        (Self::ITALIC, 3),
        (Self::UNDERLINE, 4),
        (Self::STRIKE, 9),
        (Self::CYAN, 36),
        (Self::GREEN, 32),
        (Self::RED, 31),
        (Self::YELLOW, 33),
    ];

    /// The union.
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Appends `text` in this style, and resets the style after it.
    pub fn paint(self, text: &str, out: &mut String) {
        if self == Self::PLAIN || text.is_empty() {
            out.push_str(text);
            return;
        }
        let mut first = true;
        for (_, code) in Self::CODES.iter().filter(|(look, _)| self.0 & look.0 != 0) {
            let before = if std::mem::take(&mut first) { "\u{1b}[" } else { ";" };
            let _ = write!(out, "{before}{code}");
        }
        let _ = write!(out, "m{text}\u{1b}[0m");
    }

    /// `text` in this style.
    pub fn painted(self, text: &str) -> String {
        let mut out = String::new();
        self.paint(text, &mut out);
        out
    }
}
