//! The `[smarthole]` section of the configuration file.

use serde::{Deserialize, Deserializer, Serialize, de};

use super::name;

/// SmartHole's limit for the routing description, in UTF-16 units.
pub const MAX_DESCRIPTION: usize = 1024;

const DESCRIPTION: &str = "The user's notes in Obsidian. Takes everything to be remembered, noted, \
    written down or put on a list: ideas, tasks, shopping, meetings, diary. Finds, reads, edits, \
    moves and tidies notes, and answers questions about what is in them.";

/// The `[smarthole]` section. The address is always 127.0.0.1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub enabled: bool,
    #[serde(deserialize_with = "port")]
    pub port: u16,
    /// The steward's name in SmartHole; best one word that can be spoken.
    #[serde(deserialize_with = "registrable")]
    pub name: String,
    /// SmartHole's router decides by it which messages are for the steward.
    #[serde(deserialize_with = "description")]
    pub description: String,
    /// Seconds before a failed message is retried; twice as long after the second failure.
    pub retry_seconds: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            port: 9473,
            name: "obsidian".to_owned(),
            description: DESCRIPTION.to_owned(),
            retry_seconds: 60,
        }
    }
}

fn port<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    match u16::deserialize(deserializer)? {
        0 => Err(de::Error::custom("`port` must be at least 1")),
        port => Ok(port),
    }
}

fn registrable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match name::registered(&text) {
        Some(_) => Ok(text),
        None => Err(de::Error::custom("`name` must hold a letter from a to z")),
    }
}

fn description<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let long = text.encode_utf16().count();
    if text.trim().is_empty() {
        return Err(de::Error::custom("`description` must say something"));
    }
    if long > MAX_DESCRIPTION {
        return Err(de::Error::custom(format!(
            "`description` has {long} characters, and SmartHole takes {MAX_DESCRIPTION}"
        )));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_smarthole_would_refuse_is_refused_here() {
        let read = |value| serde_json::from_value::<Settings>(value).map_err(|e| e.to_string());
        assert_eq!(read(json!({})).unwrap(), Settings::default());
        assert_eq!(read(json!({"name": "Miss Simone"})).unwrap().name, "Miss Simone");
        assert!(read(json!({"name": "42"})).unwrap_err().contains("a letter"));
        assert!(read(json!({"port": 0})).is_err());
        assert!(read(json!({"description": " "})).is_err());
        assert!(read(json!({"description": "😀".repeat(512)})).is_ok());
        let long = read(json!({"description": "😀".repeat(513)})).unwrap_err();
        assert!(long.contains("1026 characters, and SmartHole takes 1024"), "{long}");
        assert!(DESCRIPTION.len() <= MAX_DESCRIPTION);
    }
}
