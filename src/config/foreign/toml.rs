//! Edits TOML.

use serde_json::Value;
use toml_edit::Document;

/// Returns `text` with the table `section`.`name`.
pub fn with(text: &str, section: &str, name: &str, entry: &Value) -> Result<String, String> {
    let unusual =
        || format!("`{section}.{name}` is written in a way that cannot be changed safely");
    let mut meant: toml::Table = text.parse().map_err(not_toml)?;
    let entry = toml::Value::try_from(entry).map_err(|error| error.to_string())?;
    let old = meant.get(section).and_then(|section| section.get(name)).cloned();
    if old.as_ref() == Some(&entry) {
        return Ok(text.to_owned());
    }
    let edited = match &old {
        None => appended(text, section, name, &entry),
        Some(_) => change_table(text, section, name, &entry).ok_or_else(unusual)?,
    };
    let all = meant.entry(section).or_insert_with(|| toml::Table::new().into());
    let all = all.as_table_mut().ok_or_else(unusual)?;
    let wanted = match (all.get_mut(name).and_then(toml::Value::as_table_mut), entry) {
        // Keep what the user set in the table.
        (Some(old), toml::Value::Table(new)) => {
            old.extend(new);
            None
        }
        (_, entry) => Some(entry),
    };
    if let Some(entry) = wanted {
        all.insert(name.to_owned(), entry);
    }
    match edited.parse::<toml::Table>() {
        Ok(actual) if actual == meant => Ok(edited),
        _ => Err(unusual()),
    }
}

/// Returns `text` without the table `section`.`name` and its subtables, which have their own
/// headers.
pub fn without(text: &str, section: &str, name: &str) -> Result<String, String> {
    let mut meant: toml::Table = text.parse().map_err(not_toml)?;
    if let Some(all) = meant.get_mut(section).and_then(toml::Value::as_table_mut) {
        all.remove(name);
    }
    let own = format!("{section}.{name}");
    let is_own = |header: &str| {
        header.strip_prefix(&own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let (mut edited, mut in_it) = (String::new(), false);
    for line in text.split_inclusive('\n') {
        if let Some((header, _)) =
            line.trim_start().strip_prefix('[').and_then(|it| it.split_once(']'))
        {
            in_it = is_own(header.trim());
        }
        if !in_it {
            edited.push_str(line);
        }
    }
    match edited.parse::<toml::Table>() {
        Ok(mut actual) => {
            // A section without entries counts as missing.
            for table in [&mut actual, &mut meant] {
                let is_empty =
                    |all: &toml::Value| all.as_table().is_some_and(toml::Table::is_empty);
                if table.get(section).is_some_and(is_empty) {
                    table.remove(section);
                }
            }
            if actual == meant {
                Ok(edited)
            } else {
                Err(format!("`{own}` is written in an unusual way"))
            }
        }
        Err(error) => Err(not_toml(error)),
    }
}

fn appended(text: &str, section: &str, name: &str, entry: &toml::Value) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut text = text.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(end);
    }
    if !text.is_empty() {
        text.push_str(end);
    }
    text.push_str(&format!("[{section}.{name}]{end}"));
    for (key, value) in entry.as_table().into_iter().flatten() {
        text.push_str(&format!("{key} = {value}{end}"));
    }
    text
}

/// Changes the values of an existing table; `None` if it lacks one of the keys.
fn change_table(text: &str, section: &str, name: &str, entry: &toml::Value) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let table = document.as_table().get(section)?.get(name)?;
    let mut pieces = Vec::new();
    for (key, value) in entry.as_table()? {
        pieces.push((table.get(key)?.span()?, value.to_string()));
    }
    pieces.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let mut edited = text.to_owned();
    for (span, value) in pieces {
        edited.replace_range(span, &value);
    }
    Some(edited)
}

fn not_toml(error: toml::de::Error) -> String {
    let words: Vec<&str> = error.message().split_whitespace().collect();
    format!("it is not TOML: {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn put(text: &str) -> Result<String, String> {
        with(text, "mcp_servers", "vault", &json!({"command": "c", "args": ["a", "b"]}))
    }

    #[test]
    fn a_table_is_put_in_and_the_rest_stays() {
        let table = "[mcp_servers.vault]\nargs = [\"a\", \"b\"]\ncommand = \"c\"\n";
        assert_eq!(put("").unwrap(), table);
        let text = "# mine\nmodel = 'x' # why\n[mcp_servers.other]\ncommand = \"o\"\n\n# end";
        assert_eq!(put(text).unwrap(), format!("{text}\n\n{table}"));
        let old = "[mcp_servers.vault] # v\ncommand = 'old' # c\nargs = [] # a\ntool_timeout_sec = 90\n[z]\n";
        let expected = old.replace("'old'", "\"c\"").replace("[] #", "[\"a\", \"b\"] #");
        assert_eq!(put(old).unwrap(), expected);
        assert_eq!(put(&expected).unwrap(), expected, "a second time");
        assert!(put("a = 1\r\n").unwrap().contains("]\r\nargs"));
    }

    #[test]
    fn a_table_is_taken_out_and_the_rest_stays() {
        let text = "a = 1\n\n[servers.one]\ncommand = \"c\"\nargs = [\n  \"[x]\",\n]\n\n[servers.one.env]\nA = \"1\"\n";
        let rest = "[servers.oneself]\ncommand = \"d\"\n";
        let all = format!("{text}{rest}");
        assert_eq!(without(&all, "servers", "one").unwrap(), format!("a = 1\n\n{rest}"));
        assert_eq!(without(text, "servers", "one").unwrap(), "a = 1\n\n");
        assert!(without("servers = { one = 1 }\n", "servers", "one").is_err());
    }

    #[test]
    fn what_cannot_be_changed_is_refused() {
        for text in [
            "[mcp_servers",
            "mcp_servers = 1",
            "mcp_servers = {}",
            "mcp_servers.vault = 1",
            "[[mcp_servers]]",
            "[mcp_servers.vault]\nurl = 'http://127.0.0.1'\n",
        ] {
            assert!(put(text).is_err(), "{text}");
        }
    }
}
