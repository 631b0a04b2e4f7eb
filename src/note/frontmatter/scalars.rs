//! Every value of a YAML text at any depth, with its keys.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser};

/// A value that is neither a list nor a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The keys above it, joined by dots; empty without any.
    pub key: String,
    pub value: String,
    /// The 1-based first line.
    pub line: usize,
}

/// The scalars of a YAML text, with keys as values without a key; `None` if it is not YAML, or an
/// alias repeats a list or mapping.
pub fn read(yaml: &str) -> Option<Vec<Scalar>> {
    let mut scalars = Vec::new();
    let mut anchors: HashMap<usize, String> = HashMap::new();
    // For each open list or mapping: whether it is a mapping, and the key of the value being
    // parsed.
    let mut open: Vec<(bool, Option<String>)> = Vec::new();
    for event in Parser::new_from_str(yaml) {
        let (event, span) = event.ok()?;
        let (text, anchor) = match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                open.push((matches!(event, Event::MappingStart(..)), None));
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
                // The ended value belonged to a key.
                if let Some((true, key)) = open.last_mut() {
                    *key = match key.take() {
                        Some(_) => None,
                        None => Some(String::new()),
                    };
                }
                continue;
            }
            Event::Scalar(text, _, anchor, _) => (text.into_owned(), anchor),
            Event::Alias(anchor) => (anchors.get(&anchor)?.clone(), 0),
            _ => continue,
        };
        if anchor != 0 {
            anchors.insert(anchor, text.clone());
        }
        let line = span.start.line();
        match open.last_mut() {
            Some((true, key @ None)) => {
                *key = Some(text.clone());
                scalars.push(Scalar { key: String::new(), value: text, line });
            }
            _ => {
                let keys: Vec<&str> = open.iter().filter_map(|(_, key)| key.as_deref()).collect();
                scalars.push(Scalar { key: keys.join("."), value: text, line });
                if let Some((true, key)) = open.last_mut() {
                    *key = None;
                }
            }
        }
    }
    Some(scalars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_keys_above_them() {
        let yaml = "a: &x one\nb:\n  c: [two, {d: *x}]\n  e: |\n    four\n? [k]\n: five\n";
        let found: Vec<_> = read(yaml)
            .expect("it is YAML")
            .into_iter()
            .filter(|scalar| !scalar.key.is_empty())
            .map(|scalar| (scalar.key, scalar.value, scalar.line))
            .collect();
        let scalar = |key: &str, value: &str, line| (key.to_owned(), value.to_owned(), line);
        assert_eq!(
            found,
            [
                scalar("a", "one", 1),
                scalar("b.c", "two", 3),
                scalar("b.c.d", "one", 3),
                scalar("b.e", "four\n", 5),
            ]
        );
        assert_eq!(read("a: [b\nc: d"), None);
        assert_eq!(read("a: &x [b]\nc: *x"), None);
        assert_eq!(read(""), Some(Vec::new()));
    }
}
