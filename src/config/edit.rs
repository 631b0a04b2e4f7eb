//! Changes one setting in the TOML text and leaves every other byte unchanged.
//!
//! The TOML parser only locates the setting; the edit replaces one piece of the text, so that
//! comments, order, blank lines and line endings stay. Afterwards the new text is parsed again; if
//! it does not have the intended meaning, the change is refused.

use std::ops::Range;

use serde_json::Value;
use toml_edit::{Array, Document, InlineTable, Table};

use super::keys::commented_key;

/// Why the text was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("the file is not valid TOML: {0}")]
    NotToml(String),
    /// The value has no TOML form.
    #[error("a setting cannot be {0}")]
    Value(&'static str),
    /// The setting is written in a form that this module cannot edit.
    #[error("`{0}` is written in a way that cannot be changed safely")]
    Unusual(String),
}

/// Returns `text` with `section`.`key` set to `value`, or removed if `value` is null.
///
/// # Errors
/// [`EditError`]. Does not check the value's type.
pub fn set(text: &str, section: &str, key: &str, value: &Value) -> Result<String, EditError> {
    let bom = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let (mark, body) = text.split_at(bom);
    let edited = edit(body, section, key, value)?;
    let expected = expected_table(body, section, key, value)?;
    match edited.parse::<toml::Table>() {
        Ok(actual) if actual == expected => Ok(format!("{mark}{edited}")),
        _ => Err(EditError::Unusual(format!("{section}.{key}"))),
    }
}

/// The table that the new text must parse to.
fn expected_table(
    text: &str,
    section: &str,
    key: &str,
    value: &Value,
) -> Result<toml::Table, EditError> {
    let mut table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| not_toml(error.message()))?;
    let value = match value {
        Value::Null => None,
        value => Some(toml::Value::try_from(value).map_err(|_| EditError::Value("this"))?),
    };
    if section == "vault" && table.get("vault").is_some_and(toml::Value::is_str) {
        let path = table.remove("vault").expect("it was just there");
        match (key, value) {
            ("path", None) => {}
            ("path", Some(value)) => {
                table.insert("vault".to_owned(), value);
            }
            (_, value) => {
                let more = value.map(|value| (key.to_owned(), value));
                let all = [("path".to_owned(), path.clone())].into_iter().chain(more);
                let settings: toml::Table = all.collect();
                let short = settings.len() == 1;
                let vault = if short { path } else { toml::Value::Table(settings) };
                table.insert("vault".to_owned(), vault);
            }
        }
        return Ok(table);
    }
    match value {
        Some(value) => {
            let section = table
                .entry(section.to_owned())
                .or_insert_with(|| toml::Value::Table(toml::Table::new()));
            let Some(section) = section.as_table_mut() else {
                return Err(EditError::Unusual(key.to_owned()));
            };
            section.insert(key.to_owned(), value);
        }
        None => {
            if let Some(section) = table.get_mut(section).and_then(toml::Value::as_table_mut) {
                section.remove(key);
            }
        }
    }
    Ok(table)
}

fn edit(text: &str, section: &str, key: &str, value: &Value) -> Result<String, EditError> {
    let document = Document::parse(text).map_err(|error| not_toml(error.message()))?;
    let unusual = || EditError::Unusual(format!("{section}.{key}"));
    let value = toml_value(value)?;
    let end = line_end(text);
    let Some(item) = document.as_table().get(section) else {
        let Some(value) = value else { return Ok(text.to_owned()) };
        return Ok(with_section(text, section, key, &value, end));
    };
    if let Some(path) = item.as_str() {
        // `vault = "…"`, the short form of `vault.path`.
        let span = item.span().ok_or_else(unusual)?;
        return match (key, value) {
            ("path", Some(value)) => Ok(replace_range(text, span, &value.to_string())),
            ("path", None) => Ok(without_lines(text, span)),
            (_, None) => Ok(text.to_owned()),
            (_, Some(value)) => {
                let mut table = InlineTable::new();
                table.insert("path", path.into());
                table.insert(key, value);
                Ok(replace_range(text, span, &table.to_string()))
            }
        };
    }
    if let Some(table) = item.as_inline_table() {
        let mut table = table.clone();
        match value {
            Some(value) => drop(table.insert(key, value)),
            None => drop(table.remove(key)),
        }
        let span = item.span().ok_or_else(unusual)?;
        return Ok(replace_range(text, span, table.to_string().trim()));
    }
    let table = item.as_table().ok_or_else(unusual)?;
    match (table.get_key_value(key), value) {
        (None, None) => Ok(text.to_owned()),
        (Some((_, item)), Some(value)) => {
            let span = item.span().ok_or_else(unusual)?;
            Ok(replace_range(text, span, &value.to_string()))
        }
        (Some((name, item)), None) => {
            let (name, item) = (name.span(), item.span());
            let (name, item) = (name.ok_or_else(unusual)?, item.ok_or_else(unusual)?);
            Ok(without_lines(text, name.start..item.end))
        }
        (None, Some(value)) => {
            let dotted = table.is_dotted();
            if table.is_implicit() && !dotted {
                // Only `[models.providers.x]` exists, without a header for the section itself.
                let at = end_of_section_above(text, section).ok_or_else(unusual)?;
                let (before, after) = text.split_at(at);
                return Ok(format!("{before}[{section}]{end}{key} = {value}{end}{end}{after}"));
            }
            let prefix = if dotted { format!("{section}.") } else { String::new() };
            let line = format!("{prefix}{key} = {value}");
            let at = place(text, section, key, table, dotted).ok_or_else(unusual)?;
            Ok(with_line(text, at, &line, end))
        }
    }
}

/// The offset of the line end after which a new line of the section belongs: after the comment with
/// the setting's default, else after the section's last setting, else after its header.
fn place(text: &str, section: &str, key: &str, table: &Table, dotted: bool) -> Option<usize> {
    // Subsections have their own headers.
    let own = table.iter().filter(|(_, item)| item.is_value());
    let last = own.filter_map(|(_, item)| item.span()).map(|span| span.end).max();
    if dotted {
        return last.map(|at| end_of_line(text, at));
    }
    let head = heads(text).into_iter().find(|(_, name)| name == section).map(|(at, _)| at)?;
    let next = heads(text).into_iter().map(|(at, _)| at).find(|at| *at > head);
    let mut at = head;
    for line in text[head..next.unwrap_or(text.len())].split_inclusive('\n') {
        let ended = at + line.trim_end_matches(['\r', '\n']).len();
        if commented_key(line) == Some(key) {
            return Some(ended);
        }
        at += line.len();
    }
    Some(end_of_line(text, last.unwrap_or(head)))
}

/// The offset of the first subsection of `section`, including the comment directly above its
/// header.
fn end_of_section_above(text: &str, section: &str) -> Option<usize> {
    let is_below =
        |name: &str| name.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
    let head = heads(text).into_iter().find(|(_, name)| is_below(name)).map(|(at, _)| at)?;
    let lines = text[..head].split_inclusive('\n').rev();
    let comment = lines.take_while(|line| line.trim_start().starts_with('#'));
    Some(head - comment.map(str::len).sum::<usize>())
}

/// Offset and name of each plain section header. A line of a multi-line string may look like a
/// header; the check afterwards detects that.
fn heads(text: &str) -> Vec<(usize, String)> {
    let mut at = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(rest) = line.trim_start().strip_prefix('[')
            && let Some((name, _)) = rest.split_once(']')
        {
            found.push((at, name.trim().trim_matches('"').to_owned()));
        }
        at += line.len();
    }
    found
}

fn with_section(
    text: &str,
    section: &str,
    key: &str,
    value: &toml_edit::Value,
    end: &str,
) -> String {
    let mut text = text.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(end);
    }
    if !text.is_empty() {
        text.push_str(end);
    }
    text + &format!("[{section}]{end}{key} = {value}{end}")
}

fn with_line(text: &str, at: usize, line: &str, end: &str) -> String {
    format!("{}{end}{line}{}", &text[..at], &text[at..])
}

fn replace_range(text: &str, span: Range<usize>, by: &str) -> String {
    format!("{}{by}{}", &text[..span.start], &text[span.end..])
}

fn without_lines(text: &str, span: Range<usize>) -> String {
    let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let after = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at + 1);
    format!("{}{}", &text[..start], &text[after..])
}

/// The end of the line at `at`, without its newline.
fn end_of_line(text: &str, at: usize) -> usize {
    let line = text[at..].split('\n').next().unwrap_or_default();
    at + line.trim_end_matches('\r').len()
}

fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Converts JSON to TOML; `None` for null.
fn toml_value(value: &Value) -> Result<Option<toml_edit::Value>, EditError> {
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Bool(value) => (*value).into(),
        Value::String(value) => value.as_str().into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => number.into(),
            (None, Some(number)) if number.is_finite() && !value.is_u64() => number.into(),
            _ => return Err(EditError::Value("so large a number")),
        },
        Value::Array(items) => {
            let mut array = Array::new();
            for item in items {
                array.push(toml_value(item)?.ok_or(EditError::Value("a list with null in it"))?);
            }
            array.into()
        }
        Value::Object(_) => return Err(EditError::Value("an object")),
    }))
}

fn not_toml(message: &str) -> EditError {
    EditError::NotToml(message.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::init::TEMPLATE;
    use super::*;

    #[test]
    fn one_line_changes_and_the_rest_stays() {
        let port = |text: &str, value: Value| set(text, "server", "port", &value).unwrap();
        let text = "# mine\n[server]\nport = 1 # why\n\n# after\nmax_in_flight=3\n";
        assert_eq!(port(text, json!(2)), text.replace("= 1 ", "= 2 "));
        assert_eq!(port(text, Value::Null), text.replace("port = 1 # why\n", ""));
        let text = "[server]\r\n# the door\r\n\r\n[log]\r\nlevel = 'warn'\r\n";
        assert_eq!(port(text, json!(2)), text.replacen("]\r\n", "]\r\nport = 2\r\n", 1));
        assert_eq!(port("", json!(2)), "[server]\nport = 2\n");
        assert_eq!(port("[log]", json!(2)), "[log]\n\n[server]\nport = 2\n");
        assert_eq!(
            port("server.max_in_flight = 1", json!(2)),
            "server.max_in_flight = 1\nserver.port = 2"
        );
        assert_eq!(
            port("server = { max_in_flight = 1 }", json!(2)),
            "server = { max_in_flight = 1, port = 2 }"
        );
        assert_eq!(
            port("server = { max_in_flight = 1, port = 3 }", Value::Null),
            "server = { max_in_flight = 1 }"
        );
        assert_eq!(port("\u{feff}[server]\nport = 1", json!(2)), "\u{feff}[server]\nport = 2");
        assert_eq!(port("[log]\n", Value::Null), "[log]\n");
    }

    #[test]
    fn a_setting_goes_below_the_comment_that_shows_its_default() {
        let text = set(TEMPLATE, "server", "max_in_flight", &json!(4)).unwrap();
        assert!(text.contains("#max_in_flight = 32\nmax_in_flight = 4\n"), "{text}");
        assert_eq!(set(&text, "server", "max_in_flight", &Value::Null).unwrap(), TEMPLATE);
        let text = set(TEMPLATE, "vault", "path", &json!("~/N \"q\"")).unwrap();
        assert!(text.contains("# path = \"~/Notes\"\npath = '~/N \"q\"'\n"), "{text}");
    }

    #[test]
    fn a_setting_precedes_the_subsections_of_its_section() {
        let chain = |text: &str| set(text, "models", "chain", &json!(["x/y"])).unwrap();
        let below = "# mine\n[models.providers.x]\nbase_url = \"http://localhost:1\"\n";
        let added = "[models]\nchain = [\"x/y\"]\n";
        assert_eq!(chain(below), format!("{added}\n{below}"));
        let text = format!("[log]\nlevel = 'warn'\n\n{below}");
        assert_eq!(chain(&text), format!("[log]\nlevel = 'warn'\n\n{added}\n{below}"));
        assert_eq!(chain(&format!("[models]\n\n{below}")), format!("{added}\n{below}"));
        let again = chain(&format!("[models]\ntimeout = 3\n\n{below}"));
        assert_eq!(again, format!("[models]\ntimeout = 3\nchain = [\"x/y\"]\n\n{below}"));
        let without = set(&again, "models", "chain", &Value::Null).unwrap();
        assert_eq!(without, format!("[models]\ntimeout = 3\n\n{below}"));
    }

    #[test]
    fn the_short_form_of_the_vault_stays_one() {
        let text = "vault = \"a\" # home\n";
        assert_eq!(set(text, "vault", "path", &json!("b")).unwrap(), "vault = \"b\" # home\n");
        assert_eq!(set(text, "vault", "path", &Value::Null).unwrap(), "");
        let longer = set(text, "vault", "poll_seconds", &json!(3)).unwrap();
        assert_eq!(longer, "vault = { path = \"a\", poll_seconds = 3 } # home\n");
    }

    #[test]
    fn what_cannot_be_changed_is_refused() {
        let set = |text: &str, value| set(text, "server", "port", &value);
        assert!(matches!(set("[server", json!(1)), Err(EditError::NotToml(_))));
        assert!(matches!(set("", json!({})), Err(EditError::Value(_))));
        assert!(matches!(set("", json!(u64::MAX)), Err(EditError::Value(_))));
        assert!(matches!(set("", json!([null])), Err(EditError::Value(_))));
        assert!(matches!(set("server = 3", json!(1)), Err(EditError::Unusual(_))));
        assert!(matches!(set("[[server]]\n", json!(1)), Err(EditError::Unusual(_))));
        let hidden = "[log]\nx = \"\"\"\n[server]\n\"\"\"\n[server]\na = 1\n";
        let edited = set(hidden, json!(1));
        assert!(edited.is_err() || edited.is_ok_and(|text| text.contains("a = 1\nport = 1\n")));
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[^\\x00-\\x08\\x0b-\\x1f]{0,12}".prop_map(Value::from),
            Just(Value::Null),
            prop::collection::vec("[a-z\"\n]{0,4}", 0..3).prop_map(|all| json!(all)),
        ]
    }

    fn settings() -> impl Strategy<Value = Vec<(&'static str, &'static str, Value)>> {
        let section = prop::sample::select(vec!["vault", "server", "log", "other"]);
        let key = prop::sample::select(vec!["port", "path", "level", "max_in_flight", "x"]);
        prop::collection::vec((section, key, value()), 1..12)
    }

    proptest! {
        /// After any sequence of changes the text has the values that were set and every original
        /// line; removing all of them restores the template.
        #[test]
        fn changes_add_up_and_leave_the_rest(settings in settings(), windows in any::<bool>()) {
            let template = if windows { TEMPLATE.replace('\n', "\r\n") } else { TEMPLATE.to_owned() };
            let mut text = template.clone();
            let mut wanted = std::collections::BTreeMap::new();
            for (section, key, value) in settings {
                text = set(&text, section, key, &value).unwrap();
                wanted.insert((section, key), value);
                let mut lines = text.split('\n');
                for line in template.split('\n').filter(|line| line.starts_with('#')) {
                    prop_assert!(lines.any(|other| other == line), "{line:?} in {text}");
                }
            }
            let table: toml::Table = text.parse().unwrap();
            for ((section, key), value) in &wanted {
                let actual = table.get(*section).and_then(|section| section.get(*key));
                let actual = actual.map_or(Value::Null, |actual| serde_json::to_value(actual).unwrap());
                prop_assert_eq!(&actual, value);
            }
            for (section, key) in wanted.keys() {
                text = set(&text, section, key, &Value::Null).unwrap();
            }
            let left = text.replace("[other]", "").replace('\r', "");
            prop_assert_eq!(left.trim_end(), TEMPLATE.trim_end());
        }
    }
}
