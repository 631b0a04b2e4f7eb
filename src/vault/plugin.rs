//! Installs the steward's plugin in Obsidian's configuration folder. Nothing else in this program
//! writes there, and this only into the plugin's own folder.
//!
//! No tool uses it: the folder is protected, since Obsidian runs the code in it. Only a person
//! installs the plugin, by the command line. Works by handles, like everything in this room: a link
//! in place of the plugin's folder is refused.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::dir::{Folder, Kind, Name, is_refused_link};
use super::obsidian::config_folders;
use super::temp::temp_name;

const PLUGINS: &str = "plugins";
/// The list of enabled plugins.
const ENABLED: &str = "community-plugins.json";
const MANIFEST: &str = "manifest.json";
/// The largest file that is compared, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Why the plugin cannot be inspected or changed. Paths are relative to the vault's root.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// Obsidian has never opened the vault.
    #[error("`{}` has no configuration folder of Obsidian's", .root.display())]
    NoConfigFolder { root: PathBuf },
    #[error("`{folder}` contains something other than this plugin: {what}")]
    Foreign { folder: String, what: String },
    #[error("could not {doing} `{path}`: {source}")]
    Io { doing: &'static str, path: String, source: io::Error },
}

impl PluginError {
    pub fn hint(&self) -> String {
        match self {
            Self::NoConfigFolder { .. } => "open the folder as a vault in Obsidian once".to_owned(),
            Self::Foreign { .. } => {
                "look at what it is; `--force` replaces its program and leaves the rest".to_owned()
            }
            Self::Io { source, .. } if is_refused_link(source) => {
                "it is a link, which is not followed: put a folder in its place".to_owned()
            }
            Self::Io { .. } => "check that the folder can be written".to_owned(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginStatus {
    /// From its manifest; `None` if it is not installed.
    pub version: Option<String>,
    /// The number of files that are equal to the given ones.
    pub same: usize,
    /// The folder's content if it is not this plugin, for people.
    pub foreign: Option<String>,
    /// Whether it is enabled in Obsidian.
    pub switched_on: bool,
}

/// The folder of one plugin in a vault; it may not exist.
#[derive(Debug)]
pub struct PluginFolder {
    root: PathBuf,
    config: String,
    id: &'static str,
}

impl PluginFolder {
    /// The folder of the plugin `id` in the vault at `root`, in its first configuration folder.
    pub fn of(root: &Path, id: &'static str) -> Result<Self, PluginError> {
        match config_folders(root).into_iter().next() {
            Some(config) => Ok(Self { root: root.to_owned(), config, id }),
            None => Err(PluginError::NoConfigFolder { root: root.to_owned() }),
        }
    }

    /// Its path from the vault's root.
    pub fn path(&self) -> String {
        format!("{}/{PLUGINS}/{}", self.config, self.id)
    }

    /// Compares the installed plugin with these files.
    pub fn status(&self, files: &[(&str, &[u8])]) -> Result<PluginStatus, PluginError> {
        let switched_on = self.is_switched_on();
        let gone = PluginStatus { version: None, same: 0, foreign: None, switched_on };
        let Some(folder) = self.existing()? else { return Ok(gone) };
        let manifest = self.read(&folder, MANIFEST)?;
        let manifest: Option<Value> = manifest.and_then(|text| serde_json::from_slice(&text).ok());
        let text = |key: &str| manifest.as_ref().and_then(|manifest| manifest[key].as_str());
        if text("id") != Some(self.id) {
            let names = self.list(&folder)?;
            let foreign = match (text("id"), names.is_empty()) {
                (_, true) => None,
                (Some(id), _) => Some(format!("the plugin `{id}`")),
                (None, _) => Some(format!("no manifest, but {}", names.join(", "))),
            };
            return Ok(PluginStatus { foreign, ..gone });
        }
        let mut same = 0;
        for (name, bytes) in files {
            same += usize::from(self.read(&folder, name)?.as_deref() == Some(*bytes));
        }
        let version = text("version").unwrap_or("?").to_owned();
        Ok(PluginStatus { version: Some(version), same, foreign: None, switched_on })
    }

    fn list(&self, folder: &Folder) -> Result<Vec<String>, PluginError> {
        let listed = folder.list().map_err(|error| self.failed("list", "", error))?;
        let mut names: Vec<String> =
            listed.iter().map(|one| one.name.to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }

    /// Writes these files, each atomically, in this order. Put the manifest last, since its version
    /// says that the others are written. Other files stay.
    ///
    /// # Errors
    /// [`PluginError::Io`]; earlier files are written then.
    pub fn write(&self, files: &[(&str, &[u8])]) -> Result<(), PluginError> {
        let folder = self.made()?;
        for (name, bytes) in files {
            let failed = |error| self.failed("write", name, error);
            let temp = temp_name();
            let temp = Name::new(&temp).map_err(failed)?;
            let name = Name::new(name).map_err(failed)?;
            // A link or a folder of that name is not replaced.
            if let Ok(meta) = folder.stat(name)
                && meta.kind != Kind::File
            {
                return Err(failed(io::Error::other(format!("it is a {}", meta.kind.word()))));
            }
            let written = folder.create_new(temp, false).and_then(|mut file| {
                file.write_all(bytes)?;
                file.sync_all()?;
                folder.rename_replacing(temp, &folder, name)
            });
            if written.is_err() {
                let _ = folder.remove_file(temp);
            }
            written.map_err(failed)?;
        }
        folder.sync().map_err(|error| self.failed("write", "", error))
    }

    /// Removes these files, then the plugin's folder and that of all plugins if they are empty;
    /// returns the names of other files in the plugin's folder.
    pub fn remove(&self, names: &[&str]) -> Result<Vec<String>, PluginError> {
        let Some(folder) = self.existing()? else { return Ok(Vec::new()) };
        for name in names {
            let removed = Name::new(name).and_then(|name| folder.remove_file(name));
            optional(removed).map_err(|error| self.failed("remove", name, error))?;
        }
        let left = self.list(&folder)?;
        // Windows removes no folder that is open.
        drop(folder);
        if left.is_empty() {
            self.remove_folders().map_err(|error| self.failed("remove", "", error))?;
        }
        Ok(left)
    }

    fn remove_folders(&self) -> io::Result<()> {
        let root = Folder::open_root(&self.root)?;
        let config = root.open_folder(Name::new(&self.config)?)?;
        let plugins = config.open_folder(Name::new(PLUGINS)?)?;
        plugins.remove_folder(Name::new(self.id)?)?;
        let is_empty = plugins.list()?.is_empty();
        drop(plugins);
        if is_empty {
            config.remove_folder(Name::new(PLUGINS)?)?;
        }
        Ok(())
    }

    fn config(&self) -> Result<Folder, PluginError> {
        let root = Folder::open_root(&self.root);
        let opened = root.and_then(|root| root.open_folder(Name::new(&self.config)?));
        let path = self.config.clone();
        opened.map_err(|source| PluginError::Io { doing: "open", path, source })
    }

    fn existing(&self) -> Result<Option<Folder>, PluginError> {
        let config = self.config()?;
        let plugins = Name::new(PLUGINS).and_then(|name| config.open_folder(name));
        let opened = plugins.and_then(|plugins| plugins.open_folder(Name::new(self.id)?));
        optional(opened).map_err(|error| self.failed("open", "", error))
    }

    /// The folder, made if it is missing.
    fn made(&self) -> Result<Folder, PluginError> {
        let mut folder = self.config()?;
        for name in [PLUGINS, self.id] {
            let made = Name::new(name).and_then(|name| {
                match folder.create_folder(name) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(error);
                    }
                    _ => {}
                }
                folder.open_folder(name)
            });
            folder = made.map_err(|error| self.failed("make", "", error))?;
        }
        Ok(folder)
    }

    fn read(&self, folder: &Folder, name: &str) -> Result<Option<Vec<u8>>, PluginError> {
        let opened = Name::new(name).and_then(|name| folder.open_file(name));
        let read = optional(opened).and_then(|opened| {
            let Some((file, _)) = opened else { return Ok(None) };
            let mut bytes = Vec::new();
            file.take(MAX_BYTES).read_to_end(&mut bytes)?;
            Ok(Some(bytes))
        });
        read.map_err(|error| self.failed("read", name, error))
    }

    /// An unreadable list counts as empty.
    fn is_switched_on(&self) -> bool {
        let Ok(config) = self.config() else { return false };
        let listed = self.read(&config, ENABLED).ok().flatten().unwrap_or_default();
        let listed: Vec<String> = serde_json::from_slice(&listed).unwrap_or_default();
        listed.iter().any(|id| id == self.id)
    }

    fn failed(&self, doing: &'static str, name: &str, source: io::Error) -> PluginError {
        let path = match name {
            "" => self.path(),
            name => format!("{}/{name}", self.path()),
        };
        PluginError::Io { doing, path, source }
    }
}

/// Maps `NotFound` to `None`.
fn optional<T>(opened: io::Result<T>) -> io::Result<Option<T>> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &[u8]); 2] =
        [("main.js", b"one"), ("manifest.json", br#"{"id":"our-plugin","version":"1.2.3"}"#)];

    fn vault(config: &str) -> (tempfile::TempDir, PluginFolder) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(config)).unwrap();
        for name in ["app.json", "core-plugins.json"] {
            std::fs::write(folder.path().join(config).join(name), "{}").unwrap();
        }
        let plugin = PluginFolder::of(folder.path(), "our-plugin").unwrap();
        (folder, plugin)
    }

    #[test]
    fn it_is_written_whole_updated_and_removed_and_data_stays() {
        let (vault, plugin) = vault(".notes-config");
        assert_eq!(plugin.path(), ".notes-config/plugins/our-plugin");
        let status = plugin.status(&FILES).unwrap();
        assert_eq!((status.version, status.same), (None, 0));
        plugin.write(&FILES).unwrap();
        let status = plugin.status(&FILES).unwrap();
        assert_eq!((status.version.as_deref(), status.same), (Some("1.2.3"), 2));
        assert!(!status.switched_on);

        let folder = vault.path().join(plugin.path());
        std::fs::write(folder.join("data.json"), "{}").unwrap();
        std::fs::write(folder.join("main.js"), "old").unwrap();
        let listed = vault.path().join(".notes-config/community-plugins.json");
        std::fs::write(listed, r#"["other","our-plugin"]"#).unwrap();
        let status = plugin.status(&FILES).unwrap();
        assert_eq!((status.same, status.switched_on), (1, true));
        plugin.write(&FILES).unwrap();
        assert_eq!(plugin.status(&FILES).unwrap().same, 2);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3, "no other file is left");

        assert_eq!(plugin.remove(&["main.js", "manifest.json"]).unwrap(), ["data.json"]);
        std::fs::remove_file(folder.join("data.json")).unwrap();
        assert_eq!(plugin.remove(&["main.js", "manifest.json"]).unwrap(), [""; 0]);
        assert!(!folder.exists() && !folder.parent().unwrap().exists());

        plugin.write(&FILES).unwrap();
        std::fs::create_dir(folder.parent().unwrap().join("other")).unwrap();
        assert_eq!(plugin.remove(&["main.js", "manifest.json"]).unwrap(), [""; 0]);
        assert!(!folder.exists() && folder.parent().unwrap().join("other").exists());
    }

    #[test]
    fn another_plugin_there_is_reported() {
        let (vault, plugin) = vault(".obsidian");
        let folder = vault.path().join(plugin.path());
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(plugin.status(&FILES).unwrap().foreign, None, "an empty folder is nobody's");
        std::fs::write(folder.join("notes.txt"), "mine").unwrap();
        let foreign = plugin.status(&FILES).unwrap().foreign.unwrap();
        assert!(foreign.contains("notes.txt"), "{foreign}");
        std::fs::write(folder.join("manifest.json"), r#"{"id":"other"}"#).unwrap();
        assert_eq!(plugin.status(&FILES).unwrap().foreign.unwrap(), "the plugin `other`");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_neither_followed_nor_written_through() {
        let (vault, plugin) = vault(".obsidian");
        let outside = tempfile::tempdir().unwrap();
        std::fs::create_dir(vault.path().join(".obsidian/plugins")).unwrap();
        let place = vault.path().join(plugin.path());
        std::os::unix::fs::symlink(outside.path(), &place).unwrap();
        assert!(plugin.write(&FILES).is_err());
        assert!(plugin.status(&FILES).is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);

        std::fs::remove_file(&place).unwrap();
        std::fs::create_dir(&place).unwrap();
        std::fs::write(outside.path().join("victim"), "theirs").unwrap();
        std::os::unix::fs::symlink(outside.path().join("victim"), place.join("main.js")).unwrap();
        assert!(plugin.write(&FILES).is_err());
        assert_eq!(std::fs::read(outside.path().join("victim")).unwrap(), b"theirs");
    }

    #[test]
    fn a_folder_that_obsidian_never_opened_has_no_place_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let error = PluginFolder::of(folder.path(), "our-plugin").unwrap_err();
        assert!(error.hint().contains("Obsidian once"), "{error}");
    }
}
