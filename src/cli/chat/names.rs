//! The names of the vault's notes, for completion.

use std::sync::{Arc, RwLock};

use serde_json::json;

use super::link::Link;
use crate::locks::write;
use crate::protocol::events::{ChangedKind, ChangedParams, EntryKind};
use crate::tools::{ListFiles, Tool};

/// The vault's notes by path, without `.md`.
pub type Names = Arc<RwLock<Vec<String>>>;

/// Requests all names; without an answer none are offered.
pub async fn load(names: &Names, link: &mut Link<'_>) {
    let arguments = json!({ "pattern": "**/*.md", "type": "file", "max_results": 1_000 });
    let Ok(answer) = link.call_tool(ListFiles::NAME, arguments, None).await else { return };
    let entries = answer["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    let paths = entries.iter().filter_map(|entry| entry["path"].as_str());
    let found = paths.filter_map(|path| path.strip_suffix(".md")).map(str::to_owned);
    *write(names) = found.collect();
}

/// Follows notes that are created and deleted.
pub fn update(names: &Names, changed: &ChangedParams) {
    if changed.entry != EntryKind::File || changed.kind == ChangedKind::Modified {
        return;
    }
    let mut names = write(names);
    let gone = match changed.kind {
        ChangedKind::Renamed => changed.from.as_deref(),
        ChangedKind::Removed => Some(&*changed.path),
        ChangedKind::Created | ChangedKind::Modified => None,
    };
    if let Some(gone) = gone.and_then(|path| path.strip_suffix(".md")) {
        names.retain(|name| name != gone);
    }
    if changed.kind != ChangedKind::Removed
        && let Some(name) = changed.path.strip_suffix(".md")
        && !names.iter().any(|known| known == name)
    {
        names.push(name.to_owned());
    }
}
