//! Edits JSON, with or without comments.

use std::ops::Range;

use serde_json::{Map, Value};

/// The maximum nesting depth.
const MAX_DEPTH: usize = 127;

/// Returns `text` with the entry `section`.`name`. `loose` allows comments and trailing commas.
pub fn with(
    text: &str,
    section: &str,
    name: &str,
    entry: &Value,
    loose: bool,
) -> Result<String, String> {
    if text.trim().is_empty() {
        let whole = object(section, object(name, entry.clone()));
        let style = Style::of(text);
        return Ok(format!("{}{}", style.written(&whole, ""), style.end));
    }
    let (_, mut meant) = read(text, loose)?;
    let was = meant.get(section).and_then(|section| section.get(name)).cloned();
    let mut edited = text.to_owned();
    match (&was, entry) {
        // Keep what the user set next to the command.
        (Some(Value::Object(was)), Value::Object(entry)) if was.contains_key("command") => {
            for (key, value) in entry.iter().filter(|(key, value)| was.get(*key) != Some(*value)) {
                edited = put(&edited, &[section, name, key], value, loose)?;
                meant[section][name][key] = value.clone();
            }
        }
        _ => {
            edited = put(&edited, &[section, name], entry, loose)?;
            meant[section][name] = entry.clone();
        }
    }
    match read(&edited, loose) {
        Ok((_, now)) if now == meant => Ok(edited),
        _ => Err("it is written in a way that cannot be changed safely".to_owned()),
    }
}

/// Sets the value at a path; creates missing objects on the way.
fn put(text: &str, path: &[&str], value: &Value, loose: bool) -> Result<String, String> {
    let (root, _) = read(text, loose)?;
    let style = Style::of(text);
    let mut place = &root;
    for (depth, name) in path.iter().enumerate() {
        let members = place.members().ok_or_else(|| match depth {
            0 => "it holds no object".to_owned(),
            depth => format!("`{}` is not an object", path[depth - 1]),
        })?;
        let below = &path[depth + 1..];
        match only(members, name)? {
            None => {
                let inner = below.iter().rev().fold(value.clone(), |inner, key| object(key, inner));
                return Ok(insert(text, place, name, &inner, &style));
            }
            Some(old) if below.is_empty() => {
                let indent = indent_at(text, old.key.start);
                return Ok(replaced(text, &old.value.span, &style.written(value, indent)));
            }
            Some(old) => place = &old.value,
        }
    }
    Ok(text.to_owned())
}

fn object(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

/// The member with this name. A duplicate is an error, since programs disagree on which one counts.
fn only<'a>(members: &'a [Member], name: &str) -> Result<Option<&'a Member>, String> {
    let mut found = members.iter().filter(|member| member.name == name);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(format!("it has `{name}` twice")),
        (found, None) => Ok(found),
    }
}

/// The layout of a text.
struct Style {
    unit: String,
    end: &'static str,
}

impl Style {
    fn of(text: &str) -> Self {
        let indents = text.lines().map(indent_of).filter(|indent| !indent.is_empty());
        let least = indents.min_by_key(|indent| indent.len()).unwrap_or("  ");
        let unit = if least.starts_with('\t') { "\t" } else { least };
        Self { unit: unit.to_owned(), end: if text.contains("\r\n") { "\r\n" } else { "\n" } }
    }

    /// Formats a value over several lines; lines after the first start with `indent`.
    fn written(&self, value: &Value, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let lines = |open: char, close: char, lines: Vec<String>| {
            let between = format!(",{}{inner}", self.end);
            format!("{open}{}{inner}{}{}{indent}{close}", self.end, lines.join(&between), self.end)
        };
        match value {
            Value::Object(members) if !members.is_empty() => {
                let member = |(key, value): (&String, &Value)| self.member(key, value, &inner);
                lines('{', '}', members.iter().map(member).collect())
            }
            Value::Array(items) if !items.is_empty() => {
                lines('[', ']', items.iter().map(|item| self.written(item, &inner)).collect())
            }
            plain => plain.to_string(),
        }
    }

    fn member(&self, key: &str, value: &Value, indent: &str) -> String {
        format!("{}: {}", Value::from(key), self.written(value, indent))
    }
}

/// Appends a member to an object.
fn insert(text: &str, object: &Node, name: &str, value: &Value, style: &Style) -> String {
    let close = object.span.end - 1;
    let members = object.members().unwrap_or_default();
    let Some(last) = members.last() else {
        let outer = indent_at(text, object.span.start).to_owned();
        let inner = format!("{outer}{}", style.unit);
        let kept = text[..close].trim_end();
        let member = style.member(name, value, &inner);
        let end = style.end;
        return format!("{kept}{end}{inner}{member}{end}{outer}{}", &text[close..]);
    };
    if !text[object.span.clone()].contains('\n') {
        let (at, before) = match object.comma {
            Some(comma) => (comma + 1, " "),
            None => (last.value.span.end, ", "),
        };
        let member = format!("{}: {value}", Value::from(name));
        let after = if object.comma.is_some() { "," } else { "" };
        return format!("{}{before}{member}{after}{}", &text[..at], &text[at..]);
    }
    let indent = indent_at(text, last.key.start);
    let member = style.member(name, value, indent);
    let (at, comma, after) = match object.comma {
        Some(comma) => (comma + 1, "", ","),
        None => (last.value.span.end, ",", ""),
    };
    // After everything else on that line.
    let line = text[at..close].find('\n').map_or(close, |end| at + end);
    let line = at + text[at..line].trim_end().len();
    let end = style.end;
    // Without a newline, the object ends on the line of its last member.
    let more = if text[line..close].contains('\n') { "" } else { end };
    format!(
        "{}{comma}{}{end}{indent}{member}{after}{more}{}",
        &text[..at],
        &text[at..line],
        &text[line..]
    )
}

fn replaced(text: &str, span: &Range<usize>, by: &str) -> String {
    format!("{}{by}{}", &text[..span.start], &text[span.end..])
}

/// The indentation of the line at `at`.
fn indent_at(text: &str, at: usize) -> &str {
    indent_of(&text[text[..at].rfind('\n').map_or(0, |end| end + 1)..])
}

fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

struct Node {
    span: Range<usize>,
    /// Only for objects.
    members: Option<Vec<Member>>,
    /// The offset of a trailing comma, if any.
    comma: Option<usize>,
}

struct Member {
    name: String,
    key: Range<usize>,
    value: Node,
}

impl Node {
    fn members(&self) -> Option<&[Member]> {
        self.members.as_deref()
    }
}

/// Parses the text into positions and values.
fn read(text: &str, loose: bool) -> Result<(Node, Value), String> {
    let mut reader = JsonReader { text, at: 0, loose };
    reader.blanks()?;
    let (node, value) = reader.value(0)?;
    reader.blanks()?;
    if reader.at < text.len() {
        return Err(reader.wrong());
    }
    Ok((node, value))
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    loose: bool,
}

impl JsonReader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn wrong(&self) -> String {
        let before = &self.text[..self.at.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        format!("it is not JSON at line {line}")
    }

    fn takes(&mut self, sign: char) -> bool {
        let is_there = self.rest().starts_with(sign);
        self.at += usize::from(is_there);
        is_there
    }

    /// Skips whitespace and, if allowed, comments.
    fn blanks(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            let rest = self.rest();
            let length = if !self.loose {
                return Ok(());
            } else if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").ok_or_else(|| self.wrong())? + 2
            } else {
                return Ok(());
            };
            self.at += length;
        }
    }

    fn value(&mut self, depth: usize) -> Result<(Node, Value), String> {
        if depth > MAX_DEPTH {
            return Err(self.wrong());
        }
        let start = self.at;
        let (members, comma, value) = if self.takes('{') {
            let mut members = Vec::new();
            let mut all = Map::new();
            let comma = self.items('}', |reader| {
                let key = reader.at..reader.plain()?;
                let name = serde_json::from_str::<String>(&reader.text[key.clone()]);
                let name = name.map_err(|_| reader.wrong())?;
                reader.at = key.end;
                reader.blanks()?;
                if !reader.takes(':') {
                    return Err(reader.wrong());
                }
                reader.blanks()?;
                let (node, value) = reader.value(depth + 1)?;
                all.insert(name.clone(), value);
                members.push(Member { name, key, value: node });
                Ok(())
            })?;
            (Some(members), comma, Value::Object(all))
        } else if self.takes('[') {
            let mut all = Vec::new();
            self.items(']', |reader| {
                all.push(reader.value(depth + 1)?.1);
                Ok(())
            })?;
            (None, None, Value::Array(all))
        } else {
            let end = self.plain()?;
            let value = serde_json::from_str(&self.text[start..end]).map_err(|_| self.wrong())?;
            self.at = end;
            (None, None, value)
        };
        Ok((Node { span: start..self.at, members, comma }, value))
    }

    /// Parses the items between commas up to `close`; returns the offset of a trailing comma.
    fn items(
        &mut self,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<Option<usize>, String> {
        let mut comma = None;
        self.blanks()?;
        let mut is_first = true;
        while !self.takes(close) {
            if !is_first && comma.is_none() {
                return Err(self.wrong());
            }
            item(self)?;
            is_first = false;
            self.blanks()?;
            comma = self.rest().starts_with(',').then_some(self.at);
            if self.takes(',') {
                self.blanks()?;
                if !self.loose && self.rest().starts_with(close) {
                    return Err(self.wrong());
                }
            }
        }
        Ok(comma)
    }

    /// The end of the string, number or word that starts here.
    fn plain(&self) -> Result<usize, String> {
        let rest = self.rest();
        let length = if let Some(text) = rest.strip_prefix('"') {
            let mut is_escaped = false;
            let end = text.bytes().position(|byte| {
                let is_end = byte == b'"' && !is_escaped;
                is_escaped = byte == b'\\' && !is_escaped;
                is_end
            });
            end.map(|end| end + 2)
        } else {
            let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
            Some(rest.len() - rest.trim_start_matches(is_part).len()).filter(|length| *length > 0)
        };
        length.map(|length| self.at + length).ok_or_else(|| self.wrong())
    }
}

/// The value of a text with comments and trailing commas.
pub fn loose_value(text: &str) -> Result<Value, String> {
    Ok(read(text, true)?.1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn put(text: &str) -> Result<String, String> {
        super::with(text, "servers", "vault", &json!({"a": ["b"]}), true)
    }

    #[test]
    fn an_entry_is_put_in_and_the_rest_stays() {
        let entry = "\"vault\": {\n      \"a\": [\n        \"b\"\n      ]\n    }";
        assert_eq!(
            put("").unwrap(),
            "{\n  \"servers\": {\n    ENTRY\n  }\n}\n".replace("ENTRY", entry)
        );
        let text = "// mine\n{\n  \"x\": 1, // why\n  /* y */ \"servers\": {\n    \"o\": {} // last\n  }\n}\n";
        let expected = text.replace("{} // last", &format!("{{}}, // last\n    {entry}"));
        assert_eq!(put(text).unwrap(), expected);
        assert_eq!(put(&expected).unwrap(), expected, "a second time");
        let text = "{\n  \"x\": 1,\n  // the end\n}";
        let servers = format!("\"servers\": {{\n    {entry}\n  }}");
        assert_eq!(put(text).unwrap(), text.replace("1,", &format!("1,\n  {servers},")));
        let text = "{\r\n\t\"servers\": {}\r\n}";
        let edited = put(text).unwrap();
        assert!(
            edited.starts_with("{\r\n\t\"servers\": {\r\n\t\t\"vault\": {\r\n\t\t\t\"a\""),
            "{edited}"
        );
        assert!(!edited.replace("\r\n", "").contains('\n'));
        assert_eq!(
            put(r#"{"x":1,"servers":{"o":{}}}"#).unwrap(),
            r#"{"x":1,"servers":{"o":{}, "vault": {"a":["b"]}}}"#
        );
        let old = "{\"servers\": {\"vault\": {\"old\": [1, {}]}, \"z\": 0}}";
        assert!(put(old).unwrap().ends_with("}, \"z\": 0}}"));
        let old = "{\"servers\": {\"vault\": {\"command\": \"c\", \"env\": {} /* mine */}}}";
        let kept = old.replace("{} /*", "{}, \"a\": [\"b\"] /*");
        assert_eq!(put(old).unwrap(), kept);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for text in [
            "[]",
            "{",
            "{]",
            "{\"a\" 1}",
            "{,}",
            "{\"a\": 1,,}",
            "{} {}",
            "nul",
            "/* open",
            "{\"servers\": []}",
            "{\"servers\": {}, \"servers\": {}}",
            "{\"servers\": {\"vault\": 1, \"vault\": 2}}",
            &format!("{}{}", "[".repeat(9_000), "]".repeat(9_000)),
        ] {
            assert!(put(text).is_err(), "{text}");
        }
        for text in ["{\"a\": 1,}", "{ // c\n}", "{}//"] {
            assert!(with(text, "s", "v", &json!({}), false).is_err(), "{text}");
            assert!(put(text).is_ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_what_was_meant_or_refused(
            pieces in proptest::collection::vec(
                proptest::sample::select(vec![
                    "{", "}", "[", "]", ",", ":", "\"servers\"", "\"vault\"", "1", "null", "\n", "  ",
                    "// c\n", "/* d */", "\"x\"", "\r\n",
                ]), 0..24)
        ) {
            let text = pieces.concat();
            if let Ok(edited) = put(&text) {
                let now = read(&edited, true).expect("it can be read").1;
                prop_assert_eq!(&now["servers"]["vault"], &json!({"a": ["b"]}));
            }
        }
    }

    #[test]
    fn comments_and_trailing_commas_are_left_out() {
        let text = "{ // one\n \"a\": \"b // \\\" c\", /* two */ \"d\": [1, 2,\n], }";
        let value = loose_value(text).unwrap();
        assert_eq!(value, serde_json::json!({ "a": "b // \" c", "d": [1, 2] }));
    }
}
