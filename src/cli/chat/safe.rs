//! Removes everything from a model's text that could steer the terminal.
//!
//! A model's text can contain text of a note, and a note can contain anything. Escape sequences,
//! carriage returns, other control characters, marks that change the writing direction and
//! invisible characters are removed; line breaks stay, a tab becomes spaces.

use crate::note::path::is_invisible;

/// The width of a tab.
const TAB: &str = "    ";

/// The position in an escape sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum EscapeState {
    /// Outside.
    #[default]
    Text,
    /// After the escape character.
    Escape,
    /// In a control sequence, up to its last byte.
    Control,
    /// In a string for the terminal, such as a title, up to its terminator or the end of the line.
    Words,
}

/// Filters a text in pieces; the result does not depend on where it was cut.
#[derive(Debug, Default)]
pub struct Safe {
    place: EscapeState,
}

impl Safe {
    /// Appends the safe part of `piece`.
    pub fn push(&mut self, piece: &str, shown: &mut String) {
        for c in piece.chars() {
            self.read(c, shown);
        }
    }

    fn read(&mut self, c: char, shown: &mut String) {
        self.place = match (self.place, c) {
            (_, '\u{1b}') => EscapeState::Escape,
            // No sequence extends beyond a line, so that none can swallow what follows.
            (_, '\n') => {
                shown.push('\n');
                EscapeState::Text
            }
            (EscapeState::Escape, '[') => EscapeState::Control,
            (EscapeState::Escape, ']' | 'P' | 'X' | '^' | '_') => EscapeState::Words,
            (EscapeState::Escape, ' '..='/') => EscapeState::Escape,
            (EscapeState::Escape, '0'..='~') => EscapeState::Text,
            (EscapeState::Control, ' '..='?') => EscapeState::Control,
            (EscapeState::Control, '@'..='~') => EscapeState::Text,
            (EscapeState::Words, '\u{7}' | '\u{9c}') => EscapeState::Text,
            (EscapeState::Words, _) => EscapeState::Words,
            // The single-character forms of the same openings.
            (_, '\u{9b}') => EscapeState::Control,
            (_, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => EscapeState::Words,
            (_, '\t') => {
                shown.push_str(TAB);
                EscapeState::Text
            }
            (_, c) => {
                let joins = matches!(c, '\u{200c}' | '\u{200d}');
                if !c.is_control() && (joins || !is_invisible(c)) {
                    shown.push(c);
                }
                EscapeState::Text
            }
        };
    }
}

/// A short text on one line: a title, a path, an argument.
pub fn line(text: &str) -> String {
    let mut shown = String::new();
    Safe::default().push(text, &mut shown);
    shown.replace('\n', " ")
}

pub fn lines(text: &str) -> String {
    let mut shown = String::new();
    Safe::default().push(text, &mut shown);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_steers_a_terminal_is_taken_out() {
        for (text, shown) in [
            ("a\u{1b}[31mred\u{1b}[0m b", "ared b"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;https://a.example\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}[2J\u{1b}[H\u{1b}c", ""),
            ("safe\rover", "safeover"),
            ("a\r\nb", "a\nb"),
            ("a\u{8}\u{8}b\u{7f}", "ab"),
            ("\u{9b}31mx\u{9d}0;t\u{9c}y", "xy"),
            ("a\u{202e}gnp\u{202c}.md", "agnp.md"),
            ("a\u{200b}b\u{feff}c\u{e0041}d", "abcd"),
            ("👩\u{200d}🌾", "👩\u{200d}🌾"),
            ("\u{1b}]0;never ended\nnext line", "\nnext line"),
            ("\u{1b}[31", ""),
            ("a\tb", "a    b"),
        ] {
            assert_eq!(lines(text), shown, "{text:?}");
        }
        assert_eq!(line("a\nb"), "a b");
    }

    proptest! {
        #[test]
        fn nothing_that_steers_comes_through_however_it_is_cut(
            text in "([a-z\u{1b}\\[\\];?0-9m\u{7}\u{9b}\u{9d}\u{202e}\r\n\t]|\\PC){0,80}",
            cuts in proptest::collection::vec(0usize..80, 0..6),
        ) {
            let whole = lines(&text);
            prop_assert!(whole.chars().all(|c| c == '\n' || !c.is_control()));
            let steers = whole.contains(['\u{202e}', '\u{200b}']);
            prop_assert!(!steers);
            let chars: Vec<char> = text.chars().collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(chars.len())).collect();
            cuts.sort_unstable();
            let (mut safe, mut shown, mut from) = (Safe::default(), String::new(), 0);
            for to in cuts.into_iter().chain([chars.len()]) {
                safe.push(&chars[from..to].iter().collect::<String>(), &mut shown);
                from = to;
            }
            prop_assert_eq!(shown, whole);
        }
    }
}
