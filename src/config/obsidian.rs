//! The vaults that Obsidian knows, from its `obsidian.json`.

#![expect(clippy::disallowed_methods, reason = "Obsidian's own list, outside every vault")]

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::config::Environment;
use crate::config::folders::obsidian_json;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownVault {
    /// The folder's name, which is the vault's name in Obsidian.
    pub name: String,
    /// The vault's folder.
    pub path: PathBuf,
    /// The vault is open in Obsidian, or was when Obsidian last saved its list.
    pub open: bool,
    /// The folder exists; Obsidian's list keeps deleted vaults.
    pub exists: bool,
    /// When it was last opened, in milliseconds since the Unix epoch.
    pub last_opened: Option<i64>,
}

/// The content of Obsidian's lists.
#[derive(Debug, Clone, Default)]
pub struct KnownVaults {
    /// Every vault once, open ones first, then the most recently opened.
    pub vaults: Vec<KnownVault>,
    /// The lists found.
    pub read: Vec<PathBuf>,
    /// Lists that are unusable, and why.
    pub faults: Vec<(PathBuf, String)>,
}

/// Reads all of Obsidian's lists. An unusable list is reported in [`KnownVaults::faults`] and is
/// not an error, since it belongs to another program.
pub fn known_vaults(environment: &Environment) -> KnownVaults {
    let mut known = KnownVaults::default();
    for list in obsidian_json(environment) {
        match std::fs::read(&list) {
            Ok(bytes) => match parse(&bytes) {
                Ok(vaults) => {
                    vaults.into_iter().for_each(|vault| known.add(vault));
                    known.read.push(list);
                }
                Err(reason) => known.faults.push((list, reason)),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => known.faults.push((list, error.to_string())),
        }
    }
    known.vaults.sort_by_key(|vault| (!vault.open, std::cmp::Reverse(vault.last_opened)));
    known
}

impl KnownVaults {
    /// Adds a vault unless it is there already, possibly under another spelling.
    fn add(&mut self, vault: KnownVault) {
        let same = |a: &Path, b: &Path| match (dunce::canonicalize(a), dunce::canonicalize(b)) {
            (Ok(a), Ok(b)) => a == b,
            _ => a == b,
        };
        match self.vaults.iter_mut().find(|other| same(&other.path, &vault.path)) {
            Some(other) => {
                other.open |= vault.open;
                other.last_opened = other.last_opened.max(vault.last_opened);
            }
            None => self.vaults.push(vault),
        }
    }
}

/// Parses a list. Skips invalid entries; fails if the list itself is invalid.
fn parse(bytes: &[u8]) -> Result<Vec<KnownVault>, String> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let list: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let Some(vaults) = list.get("vaults") else { return Ok(Vec::new()) };
    let vaults = vaults.as_object().ok_or("`vaults` is not an object")?;
    Ok(vaults.values().filter_map(entry).collect())
}

fn entry(value: &Value) -> Option<KnownVault> {
    let path = PathBuf::from(value.get("path")?.as_str()?);
    if !path.is_absolute() {
        return None;
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Some(KnownVault {
        name,
        open: value.get("open").and_then(Value::as_bool).unwrap_or(false),
        exists: path.is_dir(),
        last_opened: value.get("ts").and_then(Value::as_i64),
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_taken_apart_and_nonsense_left_out() {
        let root = if cfg!(windows) { "C:/" } else { "/" };
        let list = r#"{"vaults":{
            "a1":{"path":"ROOTgone/Notes","ts":1700000000000,"open":true},
            "b2":{"path":"relative"}, "c3":{}, "d4":7,
            "e5":{"path":"ROOT","ts":"x"}},"updateDisabled":true}"#;
        let mut vaults = parse(list.replace("ROOT", root).as_bytes()).unwrap();
        vaults.sort_by(|a, b| a.path.cmp(&b.path));
        assert_eq!(vaults.len(), 2);
        assert_eq!((vaults[0].name.as_str(), vaults[0].exists), (root, true));
        assert_eq!((vaults[1].name.as_str(), vaults[1].open), ("Notes", true));
        assert_eq!(vaults[1].last_opened, Some(1_700_000_000_000));
        assert!(!vaults[1].exists);
    }

    #[test]
    fn malformed_lists_are_faults() {
        for list in ["", "{", "[]x", r#"{"vaults":[]}"#, "\u{0}"] {
            assert!(parse(list.as_bytes()).is_err(), "{list:?}");
        }
        assert_eq!(parse(b"{}").unwrap(), []);
        assert_eq!(parse(b"[]").unwrap(), []);
    }
}
