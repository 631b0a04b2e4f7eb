//! How a piece of text looks.

use std::fmt::Write as _;

/// Looks that add up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style(u16);

impl Style {
    /// As it is.
    pub const PLAIN: Self = Self(0);
    /// Strong.
    pub const BOLD: Self = Self(1);
    /// Less than the rest.
    pub const DIM: Self = Self(2);
    /// Emphasised.
    pub const ITALIC: Self = Self(4);
    /// Underlined.
    pub const UNDERLINE: Self = Self(8);
    /// Struck through.
    pub const STRIKE: Self = Self(16);
    /// Code, and links into the vault.
    pub const CYAN: Self = Self(32);
    /// What is well, or new.
    pub const GREEN: Self = Self(64);
    /// What failed, or goes.
    pub const RED: Self = Self(128);
    /// What to look at.
    pub const YELLOW: Self = Self(256);

    /// Each look and its number among the terminal's.
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

    /// Both looks.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Appends `text` looking so; every look is ended with it.
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

    /// `text`, looking so.
    pub fn painted(self, text: &str) -> String {
        let mut out = String::new();
        self.paint(text, &mut out);
        out
    }
}
