//! One component of a glob with wildcards: text, `?` and stars.

use crate::note::fold::fold_key;

/// A component with `*` or `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wild(Vec<Sign>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Sign {
    /// Folded text, never empty.
    Text(String),
    /// Any one character.
    One,
    /// Any characters; never two stars in a row.
    Star,
}

impl Wild {
    /// Parses a component and folds the text between the wildcards. A character after `\` is literal.
    pub fn parse(text: &str) -> Self {
        let (mut signs, mut literal) = (Vec::new(), String::new());
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            let sign = match character {
                '*' => Sign::Star,
                '?' => Sign::One,
                '\\' => {
                    literal.extend(characters.next());
                    continue;
                }
                _ => {
                    literal.push(character);
                    continue;
                }
            };
            push_literal(&mut literal, &mut signs);
            if sign != Sign::Star || signs.last() != Some(&Sign::Star) {
                signs.push(sign);
            }
        }
        push_literal(&mut literal, &mut signs);
        Self(signs)
    }

    /// Its folded text, if it has no wildcard.
    pub fn is_text(&self) -> Option<&str> {
        match &self.0[..] {
            [Sign::Text(text)] => Some(text),
            _ => None,
        }
    }

    pub fn matches(&self, name: &str) -> bool {
        let (mut at, mut rest) = (0, name);
        let mut retry: Option<(usize, &str)> = None;
        loop {
            let after = match self.0.get(at) {
                None if rest.is_empty() => return true,
                None => None,
                Some(Sign::Star) => {
                    retry = Some((at + 1, rest));
                    Some(rest)
                }
                Some(Sign::Text(text)) => rest.strip_prefix(text.as_str()),
                Some(Sign::One) => without_first(rest),
            };
            if let Some(after) = after {
                (at, rest) = (at + 1, after);
                continue;
            }
            // The last star takes one more character. Backtracking further cannot help: this star can
            // reach whatever an earlier one could.
            let Some((next, from)) = retry else { return false };
            let Some(from) = without_first(from) else { return false };
            retry = Some((next, from));
            (at, rest) = (next, from);
        }
    }

    /// The text with which every match begins; empty if it varies.
    pub fn beginning(&self) -> &str {
        match self.0.first() {
            Some(Sign::Text(text)) => text,
            _ => "",
        }
    }

    /// The ending, if it alone decides on a match.
    pub fn ending(&self) -> Option<&str> {
        match &self.0[..] {
            [Sign::Star] => Some(""),
            [Sign::Star, Sign::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The literal texts in it.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|sign| match sign {
            Sign::Text(text) => Some(text.as_str()),
            Sign::One | Sign::Star => None,
        })
    }
}

/// Appends a folded literal to `signs`.
fn push_literal(literal: &mut String, signs: &mut Vec<Sign>) {
    if !literal.is_empty() {
        signs.push(Sign::Text(fold_key(literal)));
        literal.clear();
    }
}

fn without_first(text: &str) -> Option<&str> {
    let mut characters = text.chars();
    characters.next().map(|_| characters.as_str())
}
