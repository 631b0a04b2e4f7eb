//! Writes a value as YAML that every reader understands alike: text that YAML 1.1 or 1.2 could take
//! for another type is quoted.

use serde_json::Value;

use super::yaml;

/// The quoting of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Unquoted if that is safe, otherwise as [`Style::Double`].
    #[default]
    Plain,
    /// `'…'` if the text allows it, otherwise as [`Style::Double`].
    Single,
    /// `"…"`.
    Double,
}

impl Style {
    /// The style of a scalar as it is written.
    pub fn of(raw: &str) -> Self {
        match raw.as_bytes().first() {
            Some(b'\'') => Self::Single,
            Some(b'"') => Self::Double,
            _ => Self::Plain,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarContext {
    /// On its own line, after a key or the dash of an item.
    Block,
    /// Between brackets or braces, where commas separate.
    Flow,
    /// In JSON, where every text has double quotes.
    Json,
}

/// A text, number, checkbox or null as one line of YAML. Lists and mappings become JSON, which is
/// valid YAML too.
pub fn spell(value: &Value, style: Style, place: ScalarContext) -> String {
    match value {
        Value::String(text) => text_as(text, style, place),
        Value::Null if place == ScalarContext::Block => String::new(),
        Value::Array(items) => {
            let items: Vec<String> =
                items.iter().map(|item| spell(item, style, item_context(place))).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// The context of an item of a one-line list.
fn item_context(place: ScalarContext) -> ScalarContext {
    if place == ScalarContext::Json { ScalarContext::Json } else { ScalarContext::Flow }
}

fn text_as(text: &str, style: Style, place: ScalarContext) -> String {
    match style {
        _ if place == ScalarContext::Json => double(text),
        Style::Plain if is_plain(text, place) => text.to_owned(),
        Style::Single if !text.contains(needs_escape) => format!("'{}'", text.replace('\'', "''")),
        _ => double(text),
    }
}

fn double(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if needs_escape(c) && u32::from(c) <= 0xffff => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Characters that YAML does not allow unescaped, or treats as a line end.
fn needs_escape(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether the unquoted text is read as the same text.
pub fn is_plain(text: &str, place: ScalarContext) -> bool {
    let begins_as_other = text.starts_with(|c: char| {
        matches!(
            c,
            '-' | '?'
                | ':'
                | ','
                | '['
                | ']'
                | '{'
                | '}'
                | '#'
                | '&'
                | '*'
                | '!'
                | '|'
                | '>'
                | '\''
                | '"'
                | '%'
                | '@'
                | '`'
                | '.'
                | '='
                | '~'
        )
    });
    let ends_or_parts = text.contains(": ")
        || text.ends_with(':')
        || text.contains(" #")
        || text.contains(needs_escape)
        || (place != ScalarContext::Block && text.contains([',', '[', ']', '{', '}', ':', '#']));
    // All kinds of whitespace, since readers differ in what they trim.
    text.trim() == text
        && !text.is_empty()
        && place != ScalarContext::Json
        && !begins_as_other
        && !ends_or_parts
        && !is_other_type(text)
}

/// Whether some YAML reader takes the text for a number, a boolean or null.
fn is_other_type(text: &str) -> bool {
    const WORDS: [&str; 11] =
        ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "<<", "nan"];
    !matches!(yaml::plain(text), Value::String(_))
        || WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
        || (looks_like_number(text) && !looks_like_date(text))
}

/// Also YAML 1.1 numbers: `1_000`, `0b1`, `12:30`, and numbers with too many digits.
fn looks_like_number(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.chars().all(|c| c.is_ascii_hexdigit() || "xXoO_.,:+-".contains(c))
}

/// `2026-11-21` and `2026-11-21T10:30:00`: dates stay unquoted, as Obsidian writes them.
fn looks_like_date(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    matches!(&*shape, "0000-00-00" | "0000-00-00T00:00" | "0000-00-00T00:00:00")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_could_be_taken_for_something_else_is_quoted() {
        for (text, block, flow) in [
            ("plain text", "plain text", "plain text"),
            ("a, b", "a, b", "\"a, b\""),
            ("https://x.org/a#b", "https://x.org/a#b", "\"https://x.org/a#b\""),
            ("yes", "\"yes\"", "\"yes\""),
            ("No", "\"No\"", "\"No\""),
            ("1.0", "\"1.0\"", "\"1.0\""),
            ("1_000", "\"1_000\"", "\"1_000\""),
            ("12:30", "\"12:30\"", "\"12:30\""),
            ("123456789012345678901", "\"123456789012345678901\"", "\"123456789012345678901\""),
            ("2026-11-21", "2026-11-21", "2026-11-21"),
            ("2026-11-21T10:30:00", "2026-11-21T10:30:00", "\"2026-11-21T10:30:00\""),
            ("a: b", "\"a: b\"", "\"a: b\""),
            ("[[Link]]", "\"[[Link]]\"", "\"[[Link]]\""),
            ("see [[Link]]", "see [[Link]]", "\"see [[Link]]\""),
            ("#tag", "\"#tag\"", "\"#tag\""),
            ("a #b", "\"a #b\"", "\"a #b\""),
            ("two\nlines", "\"two\\nlines\"", "\"two\\nlines\""),
            (" x", "\" x\"", "\" x\""),
            ("say \"hi\"", "say \"hi\"", "say \"hi\""),
            ("- x", "\"- x\"", "\"- x\""),
            ("", "\"\"", "\"\""),
            ("null", "\"null\"", "\"null\""),
        ] {
            assert_eq!(spell(&json!(text), Style::Plain, ScalarContext::Block), block);
            assert_eq!(spell(&json!(text), Style::Plain, ScalarContext::Flow), flow);
        }
    }

    #[test]
    fn quotes_stay_where_they_can() {
        let spelt = |text: &str, style| spell(&json!(text), style, ScalarContext::Block);
        assert_eq!(spelt("it's", Style::Single), "'it''s'");
        assert_eq!(spelt("a\tb", Style::Single), "\"a\\tb\"");
        assert_eq!(spelt("plain", Style::Double), "\"plain\"");
        assert_eq!(spell(&json!(5), Style::Double, ScalarContext::Block), "5");
        assert_eq!(spell(&json!(null), Style::Plain, ScalarContext::Block), "");
        assert_eq!(
            spell(&json!(["a", null, "b, c"]), Style::Plain, ScalarContext::Block),
            "[a, null, \"b, c\"]"
        );
        assert_eq!(spell(&json!("a"), Style::Plain, ScalarContext::Json), "\"a\"");
    }
}
