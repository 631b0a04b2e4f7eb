//! Tags: `#word` in a note's text, and the `tags` property.
//!
//! A tag consists of letters, digits, `_`, `-`, `/` and any other character that is neither ASCII
//! punctuation, blank nor general punctuation, emoji included, with at least one non-digit. In text
//! it follows a blank or begins the line. Case does not count; nested tags (`a/b`) are also their
//! parents.

pub mod rename;

use serde_json::Value;

/// How many bytes of `text` from its beginning are a tag's name (what follows `#`), if any.
pub fn name_length(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !is_tag_character(c)).unwrap_or(text.len());
    is_name(&text[..end]).then_some(end)
}

/// Whether `name` is a tag's name, without `#`.
pub fn is_name(name: &str) -> bool {
    name.chars().all(is_tag_character) && name.chars().any(|c| !c.is_ascii_digit() && c != '/')
}

fn is_tag_character(c: char) -> bool {
    match c {
        '_' | '-' | '/' => true,
        _ if c.is_ascii() => c.is_ascii_alphanumeric(),
        '\u{2000}'..='\u{206f}' | '\u{2e00}'..='\u{2e7f}' | '\u{3000}'..='\u{303f}' => false,
        _ => !c.is_whitespace() && !c.is_control(),
    }
}

/// The tags that the value of the `tags` property names: a list, or one text parted by commas or
/// blanks. A leading `#` does not count; invalid tags in a list are dropped.
pub fn of_property(value: &Value) -> Vec<&str> {
    let plain = |entry: &'_ str| -> bool { is_name(entry) };
    match value {
        Value::String(text) => text
            .split([',', ' ', '\t', '\n'])
            .map(|entry| entry.strip_prefix('#').unwrap_or(entry))
            .filter(|entry| plain(entry))
            .collect(),
        Value::Array(entries) => entries
            .iter()
            .filter_map(Value::as_str)
            .map(|entry| entry.trim().strip_prefix('#').unwrap_or(entry.trim()))
            .filter(|entry| plain(entry))
            .collect(),
        _ => Vec::new(),
    }
}

/// A tag and all its parents, longest first: `a/b/c`, `a/b`, `a`.
pub fn with_parents(name: &str) -> impl Iterator<Item = &str> {
    let whole = name.trim_matches('/');
    std::iter::successors(Some(whole), |name| name.rsplit_once('/').map(|(parent, _)| parent))
        .filter(|name| !name.is_empty())
}

/// The key under which all spellings of a tag are one.
pub fn key(name: &str) -> String {
    super::fold::fold_key(name.trim_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_name_is() {
        for (text, length) in [
            ("garden/soil and", Some(11)),
            ("2026", None),
            ("2026a", Some(5)),
            ("y2026.", Some(5)),
            ("🌱!", Some(4)),
            ("größe,", Some(7)),
            ("a—b", Some(1)),
            ("#x", None),
            ("", None),
            ("/", None),
        ] {
            assert_eq!(name_length(text), length, "{text}");
        }
    }

    #[test]
    fn properties_hold_lists_or_texts() {
        assert_eq!(of_property(&json!(["a", "#b", "c d", 5, "2020"])), ["a", "b"]);
        assert_eq!(of_property(&json!("a, b c")), ["a", "b", "c"]);
        assert!(of_property(&json!(null)).is_empty());
    }

    #[test]
    fn parents_count() {
        assert_eq!(with_parents("a/b/c").collect::<Vec<_>>(), ["a/b/c", "a/b", "a"]);
        assert_eq!(with_parents("a/").collect::<Vec<_>>(), ["a"]);
    }
}
