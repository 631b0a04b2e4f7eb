//! The vaults Obsidian itself knows, from its own `obsidian.json`.

#![expect(clippy::disallowed_methods, reason = "Obsidian's own list, outside every vault")]

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::config::Environment;
use crate::config::folders::obsidian_json;

/// One vault that Obsidian knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownVault {
    /// The folder's name, which Obsidian shows as the vault's.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// Obsidian has it open, or had when it last saved its list.
    pub open: bool,
    /// The folder is still there; Obsidian's list outlives its vaults.
    pub exists: bool,
    /// When it was last opened, in milliseconds since 1970.
    pub last_opened: Option<i64>,
}

/// What Obsidian's lists say.
#[derive(Debug, Clone, Default)]
pub struct KnownVaults {
    /// Every vault once, open ones first, then the most recently opened.
    pub vaults: Vec<KnownVault>,
    /// The lists that were found.
    pub read: Vec<PathBuf>,
    /// Lists that are there and could not be used, with the reason.
    pub faults: Vec<(PathBuf, String)>,
}

/// Reads every place where Obsidian may keep its list; a list that cannot be used is reported in
/// [`KnownVaults::faults`] and never stops anything, since it belongs to another program.
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
    /// Adds a vault unless another list, or another spelling, named it already.
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

/// Takes one list apart: entries that make no sense are left out, a list that makes none is a
/// fault.
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
        let list = br#"{"vaults":{
            "a1":{"path":"/gone/Notes","ts":1700000000000,"open":true},
            "b2":{"path":"relative"}, "c3":{}, "d4":7,
            "e5":{"path":"/","ts":"x"}},"updateDisabled":true}"#;
        let mut vaults = parse(list).unwrap();
        vaults.sort_by(|a, b| a.path.cmp(&b.path));
        assert_eq!(vaults.len(), 2);
        assert_eq!((vaults[0].name.as_str(), vaults[0].exists), ("/", true));
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
