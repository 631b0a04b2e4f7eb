//! A foreign tool as offered to a model: its description is untrusted text.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::param_headers;
use crate::note::invisible::cleared;

/// The longest name of a tool, including its server's, in characters, that model vendors accept.
const MAX_NAME: usize = 64;

/// The longest description, in characters.
const MAX_DESCRIPTION: usize = 1_000;

/// The largest schema of a tool's arguments, in bytes.
const MAX_SCHEMA: usize = 8 << 10;

/// The most tools of a server.
pub const MAX_TOOLS: usize = 64;

/// The longest title, in characters.
const MAX_TITLE: usize = 100;

/// The members that are pinned; others, such as icons, are never shown.
const PINNED: [&str; 6] =
    ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// A tool as a server describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// Its own name.
    pub name: String,
    /// The pinned members, in the server's words.
    pub tool: Value,
    /// The hash of these words.
    pub sha256: String,
}

/// An offered tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Its name for models: `server__tool`.
    pub name: String,
    pub title: String,
    pub description: String,
    pub schema: Value,
}

impl Described {
    /// Reads a tool of a list; `None` without a name.
    pub fn read(tool: &Value) -> Option<Self> {
        let name = tool["name"].as_str().filter(|name| !name.is_empty())?.to_owned();
        let members = PINNED.iter().filter_map(|key| Some(((*key).to_owned(), tool.get(key)?)));
        let tool: Value = members.map(|(key, value)| (key, value.clone())).collect();
        // The members of a JSON value are sorted, so equal tools have one text.
        let sha256 = hex(&Sha256::digest(tool.to_string().as_bytes()));
        Some(Self { name, tool, sha256 })
    }

    /// The offered tool, for the server of this name.
    ///
    /// # Errors
    /// Why it is left out.
    pub fn offer(&self, server: &str) -> Result<Offer, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let own: String = self.name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
        let name = format!("{server}__{own}");
        if name.len() > MAX_NAME {
            return Err(format!("`{name}` is longer than {MAX_NAME} characters"));
        }
        let mut schema = match &self.tool["inputSchema"] {
            Value::Null => json!({ "type": "object", "properties": {} }),
            schema => schema.clone(),
        };
        if schema["type"] != "object" {
            return Err("its arguments are not an object".to_owned());
        }
        clear(&mut schema)?;
        if let Some(why) = param_headers::fault(&schema) {
            return Err(why);
        }
        let size = schema.to_string().len();
        if size > MAX_SCHEMA {
            return Err(format!("its schema has {size} bytes, more than {MAX_SCHEMA}"));
        }
        let text = |key: &str| cleared(self.tool[key].as_str().unwrap_or_default()).0;
        let title = match text("title") {
            title if title.trim().is_empty() => own,
            title => title,
        };
        let title = crate::note::path::visible(&title).chars().take(MAX_TITLE).collect();
        Ok(Offer { name, title, description: cut_description(&text("description")), schema })
    }
}

/// The offered tools of a list, and those left out with the reasons.
pub fn offers(server: &str, tools: &[Described]) -> (Vec<(Described, Offer)>, Vec<String>) {
    let (mut offers, mut left_out) = (Vec::<(Described, Offer)>::new(), Vec::new());
    for tool in tools {
        match tool.offer(server) {
            Err(why) => left_out.push(format!("`{}`: {why}", shown(&tool.name))),
            Ok(offer) if offers.iter().any(|(_, other)| other.name == offer.name) => {
                left_out.push(format!("`{}`: another tool has this name", shown(&tool.name)));
            }
            Ok(_) if offers.len() == MAX_TOOLS => {
                left_out.push(format!("`{}`: there are {MAX_TOOLS} before it", shown(&tool.name)));
            }
            Ok(offer) => offers.push((tool.clone(), offer)),
        }
    }
    (offers, left_out)
}

/// An untrusted text on one line, cut, for a person.
pub fn shown(text: &str) -> String {
    crate::note::path::visible(text).chars().take(MAX_TITLE).collect()
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn cut_description(text: &str) -> String {
    match text.char_indices().nth(MAX_DESCRIPTION) {
        Some((at, _)) => format!("{} […]", &text[..at]),
        None => text.to_owned(),
    }
}

/// Removes invisible characters from descriptions.
///
/// # Errors
/// There are invisible characters where removing them would change what the server gets, or the
/// schema refers outside itself.
fn clear(schema: &mut Value) -> Result<(), String> {
    let is_clear = |text: &str| cleared(text).1.is_empty();
    match schema {
        Value::String(text) if !is_clear(text) => {
            Err("its schema has invisible characters".to_owned())
        }
        Value::Array(items) => items.iter_mut().try_for_each(clear),
        Value::Object(members) => {
            for (key, value) in members {
                if !is_clear(key) {
                    return Err("its schema has invisible characters".to_owned());
                }
                match (key.as_str(), &mut *value) {
                    ("description" | "title", Value::String(text)) => {
                        *text = cut_description(&cleared(text).0)
                    }
                    ("$ref" | "$dynamicRef", Value::String(to)) if !to.starts_with('#') => {
                        return Err("its schema refers to another document".to_owned());
                    }
                    _ => clear(value)?,
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(value: &Value) -> Described {
        Described::read(value).unwrap()
    }

    #[test]
    fn a_strangers_text_is_cleared_and_cut() {
        let long = format!("a\u{200b}\u{e0041}{}", "b".repeat(2_000));
        let described = tool(&json!({
            "name": "notes/read", "title": "Read\u{202e}\nnow", "description": long,
            "inputSchema": { "type": "object", "properties": {
                "path": { "type": "string", "description": "a\u{200b}b" } } },
            "icons": ["x"],
        }));
        let offer = described.offer("mine").unwrap();
        assert_eq!(offer.name, "mine__notes_read");
        assert!(offer.description.starts_with("abb") && offer.description.len() < 1_010);
        assert_eq!(offer.schema["properties"]["path"]["description"], "ab");
        assert!(!offer.title.contains(['\n', '\u{202e}']), "{}", offer.title);
    }

    #[test]
    fn what_cannot_be_offered_is_left_out_with_a_reason() {
        let with = |schema: Value| tool(&json!({ "name": "a", "inputSchema": schema })).offer("s");
        let object = |members: Value| with(json!({ "type": "object", "properties": members }));
        assert!(with(Value::Null).is_ok());
        assert!(with(json!({ "type": "string" })).unwrap_err().contains("not an object"));
        assert!(object(json!({ "a\u{200b}": {} })).unwrap_err().contains("invisible"));
        assert!(object(json!({ "a": { "enum": ["x\u{200b}"] } })).is_err());
        assert!(object(json!({ "a": { "$ref": "#/$defs/a" } })).is_ok());
        let remote = object(json!({ "a": { "$ref": "https://example.com/a.json" } }));
        assert!(remote.unwrap_err().contains("another document"));
        let large = object(json!({ "a": { "enum": ["x".repeat(9_000)] } }));
        assert!(large.unwrap_err().contains("bytes"));
        let named = |name: &str| tool(&json!({ "name": name }));
        assert!(named(&"x".repeat(64)).offer("s").is_err());
        let (offers, left_out) = offers("s", &[named("a.b"), named("a/b"), named("c")]);
        assert_eq!((offers.len(), left_out.len()), (2, 1));
        let many: Vec<Described> = (0..70).map(|number| named(&format!("t{number}"))).collect();
        assert_eq!(super::offers("s", &many).0.len(), MAX_TOOLS);
    }

    #[test]
    fn a_tool_is_the_same_by_what_is_shown_of_it() {
        let one = tool(&json!({ "name": "a", "description": "b", "icons": [1] }));
        let same = tool(&json!({ "description": "b", "name": "a" }));
        let other = tool(&json!({ "name": "a", "description": "c" }));
        assert_eq!(one.sha256, same.sha256);
        assert_ne!(one.sha256, other.sha256);
        let hinted = tool(&json!({ "name": "a", "description": "b", "annotations": {} }));
        assert_ne!(one.sha256, hinted.sha256);
    }
}
