//! One component of a glob with wildcards: text and `?` between stars.

use memchr::memmem;

use crate::note::fold::fold_key;

/// A component with `*` or `?`, split at its stars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wild {
    /// None of them is empty.
    parts: Vec<Part>,
    /// Whether it begins with a star.
    open_start: bool,
    open_end: bool,
}

/// The part between two stars.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Part(Vec<Unit>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Unit {
    /// Folded text, never empty.
    Text(String),
    /// Any one character.
    One,
}

impl Wild {
    /// Parses a component and folds the text between the wildcards. A character after `\` is literal.
    pub fn parse(text: &str) -> Self {
        let (mut parts, mut part, mut literal) = (Vec::new(), Part::default(), String::new());
        let mut characters = text.chars();
        let mut open_end = false;
        while let Some(character) = characters.next() {
            open_end = character == '*';
            match character {
                '*' => {
                    part.take(&mut literal);
                    parts.push(std::mem::take(&mut part));
                }
                '?' => {
                    part.take(&mut literal);
                    part.0.push(Unit::One);
                }
                '\\' => literal.extend(characters.next()),
                _ => literal.push(character),
            }
        }
        part.take(&mut literal);
        parts.push(part);
        parts.retain(|part| !part.0.is_empty());
        Self { parts, open_start: text.starts_with('*'), open_end }
    }

    /// Its folded text, if it has no wildcard.
    pub fn is_text(&self) -> Option<&str> {
        match (&self.parts[..], self.open_start, self.open_end) {
            ([Part(units)], false, false) => match &units[..] {
                [Unit::Text(text)] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn matches(&self, name: &str) -> bool {
        let (mut rest, mut parts) = (name, &self.parts[..]);
        if !self.open_start
            && let Some((first, others)) = parts.split_first()
        {
            let Some(after) = first.strip_start(rest) else { return false };
            (rest, parts) = (after, others);
            if others.is_empty() && !self.open_end && self.is_one_part() {
                return rest.is_empty();
            }
        }
        if !self.open_end
            && let Some((last, others)) = parts.split_last()
        {
            let Some(before) = last.strip_end(rest) else { return false };
            (rest, parts) = (before, others);
        }
        // Each part takes the leftmost place, which leaves the most room for the rest.
        parts.iter().all(|part| match part.after_first(rest) {
            Some(after) => {
                rest = after;
                true
            }
            None => false,
        })
    }

    /// Whether it has no star.
    fn is_one_part(&self) -> bool {
        self.parts.len() == 1
    }

    /// The text with which every match begins; empty if it varies.
    pub fn beginning(&self) -> &str {
        match self.parts.first().and_then(|part| part.0.first()) {
            Some(Unit::Text(text)) if !self.open_start => text,
            _ => "",
        }
    }

    /// The ending, if it alone decides on a match.
    pub fn ending(&self) -> Option<&str> {
        match (&self.parts[..], self.open_start, self.open_end) {
            ([], true, _) => Some(""),
            ([Part(units)], true, false) => match &units[..] {
                [Unit::Text(text)] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| &part.0).filter_map(|unit| match unit {
            Unit::Text(text) => Some(text.as_str()),
            Unit::One => None,
        })
    }
}

impl Part {
    /// Moves a literal to its end, folded.
    fn take(&mut self, literal: &mut String) {
        if !literal.is_empty() {
            self.0.push(Unit::Text(fold_key(literal)));
            literal.clear();
        }
    }

    /// The rest of `text` after this part at its beginning.
    fn strip_start<'t>(&self, text: &'t str) -> Option<&'t str> {
        strip(&self.0, text)
    }

    /// The rest of `text` before this part at its end.
    fn strip_end<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.0.iter().rev().try_fold(text, |text, unit| match unit {
            Unit::Text(literal) => text.strip_suffix(literal.as_str()),
            Unit::One => {
                let mut characters = text.chars();
                characters.next_back().map(|_| characters.as_str())
            }
        })
    }

    /// The rest of `text` after the first occurrence of this part.
    fn after_first<'t>(&self, text: &'t str) -> Option<&'t str> {
        let Some((Unit::Text(first), others)) = self.0.split_first() else {
            let mut starts = text.char_indices().map(|(at, _)| &text[at..]);
            return starts.find_map(|start| self.strip_start(start));
        };
        let first_place = memmem::find(text.as_bytes(), first.as_bytes());
        if others.is_empty() {
            return first_place.map(|at| &text[at + first.len()..]);
        }
        // Overlapping places count too.
        let mut from = 0;
        loop {
            let at = from + memmem::find(&text.as_bytes()[from..], first.as_bytes())?;
            if let Some(after) = strip(others, &text[at + first.len()..]) {
                return Some(after);
            }
            from = at + text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
}

fn strip<'t>(units: &[Unit], text: &'t str) -> Option<&'t str> {
    units.iter().try_fold(text, |text, unit| match unit {
        Unit::Text(literal) => text.strip_prefix(literal.as_str()),
        Unit::One => {
            let mut characters = text.chars();
            characters.next().map(|_| characters.as_str())
        }
    })
}
