//! Reads Obsidian's settings of the vault from its configuration folder.
//!
//! Sources: Obsidian's help for the meanings, the community's typings for the keys. A missing or
//! broken file means defaults, as in Obsidian; after a read error the last settings stay.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use chrono::{DateTime, FixedOffset};
use regex::RegexSet;
use serde_json::Value;

use super::dir::is_absence;
use super::error::VaultError;
use crate::note::moment::{self, Formatted};
use crate::note::path::PathRef;

/// Larger files are ignored.
const MAX_SETTINGS_BYTES: u64 = 8 << 20;

/// Where deleted files go (`trashOption` in `app.json`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrashOption {
    #[default]
    System,
    /// `.trash/` in the vault.
    Local,
    /// Permanent in Obsidian; the steward still keeps a copy.
    None,
}

/// The path form of new and rewritten links (`newLinkFormat` in `app.json`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkFormat {
    /// The name if it is unique in the vault, else the whole path.
    #[default]
    Shortest,
    /// Relative to the linking note's folder.
    Relative,
    /// Relative to the vault's root.
    Absolute,
}

/// The settings that the steward uses.
#[derive(Debug, Clone, Default)]
pub struct ObsidianSettings {
    /// Name of the configuration folder; `None` if the vault has none.
    pub config_folder: Option<String>,
    pub trash: TrashOption,
    pub link_format: LinkFormat,
    /// Whether Obsidian updates links after a rename without asking (`alwaysUpdateLinks`).
    pub always_update_links: bool,
    /// "Excluded files" as the user wrote them: prefixes, or `/regex/`.
    pub ignore_filters: Vec<String>,
    ignored: Option<RegexSet>,
}

impl ObsidianSettings {
    /// Whether the user excluded this path. As in Obsidian it is still found, but ranks last.
    pub fn is_ignored<'p>(&self, path: impl Into<PathRef<'p>>) -> bool {
        self.ignored.as_ref().is_some_and(|set| set.is_match(path.into().as_str()))
    }
}

/// The settings of daily notes, from `daily-notes.json`, as the user wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DailyNotes {
    /// Empty for the vault's root.
    pub folder: String,
    /// The name as a Moment format; `/` separates folders.
    pub format: String,
    /// The template's path, `.md` optional.
    pub template: Option<String>,
    /// Moment format of `{{date}}`.
    pub date_format: String,
    /// Moment format of `{{time}}`.
    pub time_format: String,
    /// The folder of templates, from `templates.json`.
    pub templates: Option<String>,
}

impl DailyNotes {
    /// The path of the day's note, and the unknown letters of the format.
    pub fn path(&self, time: &DateTime<FixedOffset>) -> Formatted {
        let Formatted { text, unknown } = moment::format(time, &self.format);
        let folder = self.folder.replace('\\', "/");
        let name = text.trim_matches('/');
        let extension = if name.to_lowercase().ends_with(".md") { "" } else { ".md" };
        let path = format!("{}/{name}{extension}", folder.trim_matches('/'));
        Formatted { text: path.trim_start_matches('/').to_owned(), unknown }
    }
}

/// The types that the user assigned to properties, from `types.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PropertyTypes(HashMap<String, String>);

impl PropertyTypes {
    /// The property's type as Obsidian calls it: `date`, `text`, `multitext`. Ignores the case of
    /// `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(&name.to_lowercase()).map(String::as_str)
    }
}

/// The note open in Obsidian, from `workspace.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveNote {
    /// As Obsidian wrote it; the note may be gone.
    pub path: String,
    /// How it was found, in words.
    pub source: &'static str,
    /// When Obsidian wrote the file, a second or so after the screen changed.
    pub written: Option<SystemTime>,
}

/// Path, mtime and size of a file that was read.
type Stamp = (PathBuf, Option<SystemTime>, u64);

/// Caches a vault's settings until their files change.
#[derive(Debug, Default)]
pub(super) struct SettingsFile {
    stamp: Option<Stamp>,
    settings: ObsidianSettings,
    types_stamp: Option<Stamp>,
    types: Arc<PropertyTypes>,
}

impl SettingsFile {
    /// The current settings; costs a few stats if nothing changed.
    pub fn settings(&mut self, root: &Path) -> ObsidianSettings {
        let folder = self.settings.config_folder.clone();
        let folder = folder.filter(|name| root.join(name).is_dir());
        let folder = folder.or_else(|| config_folders(root).into_iter().next());
        let file = root.join(folder.as_deref().unwrap_or(".obsidian")).join("app.json");
        match change_since(&file, self.stamp.as_ref()) {
            Changed::To(app, stamp) => {
                self.settings = parse_app(&app, folder);
                self.stamp = Some(stamp);
            }
            Changed::Unreadable => self.settings.config_folder = folder,
            Changed::Not => {}
        }
        self.settings.clone()
    }

    /// The current types of properties; costs a few stats if nothing changed.
    pub fn types(&mut self, root: &Path) -> Arc<PropertyTypes> {
        let folder = self.settings(root).config_folder;
        let file = root.join(folder.as_deref().unwrap_or(".obsidian")).join("types.json");
        if let Changed::To(types, stamp) = change_since(&file, self.types_stamp.as_ref()) {
            self.types = Arc::new(parse_types(&types));
            self.types_stamp = Some(stamp);
        }
        Arc::clone(&self.types)
    }
}

/// Whether a settings file changed.
enum Changed {
    Not,
    /// The new value; null if there is no file.
    To(Value, Stamp),
    /// It is incomplete, or the disk failed: the old value stays, and the next call tries again.
    Unreadable,
}

fn change_since(file: &Path, before: Option<&Stamp>) -> Changed {
    let meta = match std::fs::metadata(file) {
        Ok(meta) => Some(meta),
        Err(error) if is_absence(&error) => None,
        // A failing disk is not a missing file.
        Err(_) => return Changed::Not,
    };
    let (written, size) = meta.as_ref().map_or((None, 0), |m| (m.modified().ok(), m.len()));
    let stamp = (file.to_owned(), written, size);
    if before == Some(&stamp) {
        return Changed::Not;
    }
    match meta.map_or(Some(Value::default()), |_| read_json(file).ok().flatten()) {
        Some(value) => Changed::To(value, stamp),
        None => Changed::Unreadable,
    }
}

fn parse_types(types: &Value) -> PropertyTypes {
    let types = types["types"].as_object().into_iter().flatten();
    let entry =
        |(name, kind): (&String, &Value)| Some((name.to_lowercase(), kind.as_str()?.to_owned()));
    PropertyTypes(types.filter_map(entry).collect())
}

/// The configuration folders at the vault's root, `.obsidian` first: the user can choose other
/// names that start with a dot, and a vault can have several.
pub(super) fn config_folders(root: &Path) -> Vec<String> {
    let mut folders: Vec<String> = std::fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with('.') && is_config_folder(&root.join(name)))
        .collect();
    if !folders.iter().any(|name| name == ".obsidian") && root.join(".obsidian").is_dir() {
        folders.push(".obsidian".to_owned());
    }
    folders.sort_by_key(|name| (name != ".obsidian", name.clone()));
    folders
}

// Every new vault has these files; the folder's name does not matter.
fn is_config_folder(folder: &Path) -> bool {
    folder.join("app.json").is_file() && folder.join("core-plugins.json").is_file()
}

/// The note open in Obsidian: the active tab; if that has no file, the front tab of the main area;
/// else the file opened last.
pub(super) fn active_note(root: &Path, config_folder: &str) -> Option<ActiveNote> {
    let file = root.join(config_folder).join("workspace.json");
    let workspace = read_json(&file).ok()??;
    let written = std::fs::metadata(&file).ok().and_then(|meta| meta.modified().ok());
    let found = |path: String, source| Some(ActiveNote { path, source, written });
    let areas = ["main", "left", "right", "floating"];
    if let Some(id) = workspace["active"].as_str()
        && let Some(path) = areas.iter().find_map(|area| leaf_file(&workspace[area], id))
    {
        return found(path, "the active tab");
    }
    if let Some(path) = front_file(&workspace["main"]) {
        return found(path, "the tab in front");
    }
    let recent = workspace["lastOpenFiles"].as_array()?;
    let path = recent.iter().find_map(|path| path.as_str())?;
    found(path.to_owned(), "the file opened last")
}

/// Reads the settings of daily notes, and those of templates for their formats.
pub(super) fn daily_notes(
    root: &Path,
    config_folder: Option<&str>,
) -> Result<DailyNotes, VaultError> {
    let folder = config_folder.unwrap_or(".obsidian");
    let read = |file: &str| {
        let place = root.join(folder).join(file);
        let failed = |source| {
            let path = format!("{folder}/{file}");
            VaultError::Io { action: "read Obsidian's settings in", path, source }
        };
        match read_json(&place) {
            Err(error) if is_absence(&error) => Ok(Value::default()),
            Err(error) => Err(failed(error)),
            // Obsidian ignores invalid JSON too.
            Ok(found) => Ok(found.unwrap_or_default()),
        }
    };
    let (daily, templates) = (read("daily-notes.json")?, read("templates.json")?);
    let text = |value: &Value| -> Option<String> {
        value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let or = |value: &Value, default: &str| text(value).unwrap_or_else(|| default.to_owned());
    Ok(DailyNotes {
        folder: text(&daily["folder"]).unwrap_or_default(),
        format: or(&daily["format"], "YYYY-MM-DD"),
        template: text(&daily["template"]),
        date_format: or(&templates["dateFormat"], "YYYY-MM-DD"),
        time_format: or(&templates["timeFormat"], "HH:mm"),
        templates: text(&templates["folder"]),
    })
}

fn leaf_file(node: &Value, id: &str) -> Option<String> {
    if node["id"].as_str() == Some(id) {
        return file_of(node);
    }
    node["children"].as_array()?.iter().find_map(|child| leaf_file(child, id))
}

fn front_file(node: &Value) -> Option<String> {
    if let Some(path) = file_of(node) {
        return Some(path);
    }
    let children = node["children"].as_array()?;
    let front = usize::try_from(node["currentTab"].as_u64().unwrap_or(0)).unwrap_or(0);
    let tabs = node["type"].as_str() == Some("tabs");
    match children.get(front).filter(|_| tabs) {
        Some(tab) => front_file(tab),
        None => children.iter().find_map(front_file),
    }
}

fn file_of(leaf: &Value) -> Option<String> {
    leaf["state"]["state"]["file"].as_str().map(str::to_owned)
}

fn parse_app(app: &Value, config_folder: Option<String>) -> ObsidianSettings {
    let trash = match app["trashOption"].as_str() {
        Some("local") => TrashOption::Local,
        Some("none") => TrashOption::None,
        _ => TrashOption::System,
    };
    let link_format = match app["newLinkFormat"].as_str() {
        Some("relative") => LinkFormat::Relative,
        Some("absolute") => LinkFormat::Absolute,
        _ => LinkFormat::Shortest,
    };
    let filters = app["userIgnoreFilters"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ignore_filters: Vec<String> =
        filters.iter().filter_map(|filter| filter.as_str().map(str::to_owned)).collect();
    let patterns = ignore_filters.iter().map(|filter| {
        match filter.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(pattern) if !pattern.is_empty() => pattern.to_owned(),
            _ => format!("^{}", regex::escape(filter)),
        }
    });
    // Patterns that are valid in JavaScript alone are skipped.
    let sound: Vec<String> =
        patterns.filter(|pattern| regex::Regex::new(pattern).is_ok()).collect();
    let ignored = (!sound.is_empty()).then(|| RegexSet::new(&sound).ok()).flatten();
    let always_update_links = app["alwaysUpdateLinks"].as_bool().unwrap_or(false);
    ObsidianSettings {
        config_folder,
        trash,
        link_format,
        always_update_links,
        ignore_filters,
        ignored,
    }
}

/// A settings file's value; `None` if it is not JSON, or too large.
fn read_json(file: &Path) -> io::Result<Option<Value>> {
    let meta = std::fs::metadata(file)?;
    if !meta.is_file() || meta.len() > MAX_SETTINGS_BYTES {
        return Ok(None);
    }
    let bytes = std::fs::read(file)?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    Ok(serde_json::from_slice(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn excluded_files_are_prefixes_or_patterns() {
        let app =
            json!({"userIgnoreFilters": ["Archive/", "/\\.draft\\.md$/", "/(?<!x)y/", "a+b"]});
        let settings = parse_app(&app, None);
        for (path, ignored) in [
            ("Archive/a.md", true),
            ("x/Archive/a.md", false),
            ("x.draft.md", true),
            ("a+b.md", true),
            ("aab.md", false),
        ] {
            let path = crate::note::path::VaultPath::from_disk(path).expect("sound");
            assert_eq!(settings.is_ignored(&path), ignored, "{path}");
        }
    }

    #[test]
    fn settings_that_cannot_be_read_for_a_moment_stay_as_they_were() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let app = folder.path().join(".obsidian/app.json");
        std::fs::create_dir(folder.path().join(".obsidian")).expect("made");
        let mut reader = SettingsFile::default();
        let mut trash_after = |text: Option<&str>| {
            match text {
                Some(text) => std::fs::write(&app, text).expect("written"),
                None => std::fs::remove_file(&app).expect("removed"),
            }
            reader.settings(folder.path()).trash
        };
        assert_eq!(trash_after(Some(r#"{"trashOption":"#)), TrashOption::System, "not known yet");
        assert_eq!(trash_after(Some(r#"{"trashOption":"local"}"#)), TrashOption::Local);
        assert_eq!(trash_after(Some(r#"{"trashOption":"loc"#)), TrashOption::Local, "half written");
        assert_eq!(trash_after(Some(r#"{"trashOption":"none"}"#)), TrashOption::None);
        assert_eq!(trash_after(None), TrashOption::System, "as Obsidian has it without a file");
    }

    #[test]
    fn types_are_read_again_when_their_file_changes() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join(".obsidian/types.json");
        std::fs::create_dir(folder.path().join(".obsidian")).expect("made");
        let mut reader = SettingsFile::default();
        let mut due_after = |text: Option<&str>| {
            match text {
                Some(text) => std::fs::write(&file, text).expect("written"),
                None => std::fs::remove_file(&file).expect("removed"),
            }
            reader.types(folder.path()).get("due").map(str::to_owned)
        };
        assert_eq!(due_after(Some(r#"{"types":{"Due":"date"}}"#)).as_deref(), Some("date"));
        assert_eq!(due_after(Some(r#"{"types":{"Due":"#)).as_deref(), Some("date"), "half written");
        assert_eq!(due_after(Some(r#"{"types":{"due":"text"}}"#)).as_deref(), Some("text"));
        assert_eq!(due_after(Some(r#"{"types":[]}"#)), None);
        assert_eq!(due_after(Some(r#"{"types":{"due":"number"}}"#)).as_deref(), Some("number"));
        assert_eq!(due_after(None), None, "nothing is assigned without a file");
    }

    #[test]
    fn the_active_leaf_wins_then_the_front_tab_then_history() {
        let leaf = |id: &str, file: Option<&str>| json!({"id": id, "type": "leaf", "state": {"state": {"file": file}}});
        let workspace = json!({
            "main": {"type": "split", "children": [{"type": "tabs", "currentTab": 1,
                "children": [leaf("a", Some("A.md")), leaf("b", Some("B.md"))]}]},
            "left": {"type": "split", "children": [leaf("files", None)]},
            "active": "a", "lastOpenFiles": ["C.md"],
        });
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join(".obsidian")).expect("made");
        let note = |mut workspace: Value, active: &str| {
            workspace["active"] = json!(active);
            let file = folder.path().join(".obsidian/workspace.json");
            std::fs::write(file, workspace.to_string()).expect("written");
            active_note(folder.path(), ".obsidian").map(|note| (note.path, note.source))
        };
        let is = |path: &str, source| Some((path.to_owned(), source));
        assert_eq!(note(workspace.clone(), "a"), is("A.md", "the active tab"));
        assert_eq!(note(workspace.clone(), "files"), is("B.md", "the tab in front"));
        let mut empty = workspace;
        empty["main"] = json!({});
        assert_eq!(note(empty, "files"), is("C.md", "the file opened last"));
    }
}
