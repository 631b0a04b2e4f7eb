//! One segment of a glob that has wildcards: texts and `?` between stars.

use memchr::memmem;

use crate::note::fold::fold_key;

/// A segment with `*` or `?`, as the parts between its stars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wild {
    /// None of them is empty.
    parts: Vec<Part>,
    /// Whether it begins with a star.
    open_start: bool,
    open_end: bool,
}

/// What stands between two stars.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part(Vec<Unit>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Unit {
    /// This folded text; not empty.
    Text(String),
    /// One character.
    One,
}

impl Wild {
    /// Reads a segment, folding the text between the wildcards.
    pub fn parse(text: &str) -> Self {
        let parts = text.split('*').map(Part::parse).filter(|part| !part.0.is_empty());
        Self {
            parts: parts.collect(),
            open_start: text.starts_with('*'),
            open_end: text.ends_with('*'),
        }
    }

    /// Whether a folded name fits.
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
        // Each as far to the left as it goes: what comes after has the more room.
        parts.iter().all(|part| match part.after_first(rest) {
            Some(after) => {
                rest = after;
                true
            }
            None => false,
        })
    }

    /// Whether there is no star in it.
    fn is_one_part(&self) -> bool {
        self.parts.len() == 1
    }

    /// The text with which a name has to begin; empty if that is open.
    pub fn beginning(&self) -> &str {
        match self.parts.first().and_then(|part| part.0.first()) {
            Some(Unit::Text(text)) if !self.open_start => text,
            _ => "",
        }
    }

    /// The text that is all it asks of a name's end.
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

    /// The texts in it.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| &part.0).filter_map(|unit| match unit {
            Unit::Text(text) => Some(text.as_str()),
            Unit::One => None,
        })
    }
}

impl Part {
    fn parse(text: &str) -> Self {
        let mut units = Vec::new();
        for (number, literal) in text.split('?').enumerate() {
            units.extend((number > 0).then_some(Unit::One));
            units.extend((!literal.is_empty()).then(|| Unit::Text(fold_key(literal))));
        }
        Self(units)
    }

    /// What follows this part at the beginning of `text`.
    fn strip_start<'t>(&self, text: &'t str) -> Option<&'t str> {
        strip(&self.0, text)
    }

    /// What stands before this part at the end of `text`.
    fn strip_end<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.0.iter().rev().try_fold(text, |text, unit| match unit {
            Unit::Text(literal) => text.strip_suffix(literal.as_str()),
            Unit::One => {
                let mut characters = text.chars();
                characters.next_back().map(|_| characters.as_str())
            }
        })
    }

    /// What follows the first place in `text` where this part stands.
    fn after_first<'t>(&self, text: &'t str) -> Option<&'t str> {
        let Some((Unit::Text(first), others)) = self.0.split_first() else {
            let mut starts = text.char_indices().map(|(at, _)| &text[at..]);
            return starts.find_map(|start| self.strip_start(start));
        };
        let first_place = memmem::find(text.as_bytes(), first.as_bytes());
        if others.is_empty() {
            return first_place.map(|at| &text[at + first.len()..]);
        }
        // Places that overlap count too.
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
