//! `steward plugin`: installs and removes the Obsidian plugin that this program contains. Never runs
//! unrequested.

use std::path::Path;

use clap::Subcommand;
use serde_json::json;

use super::{Failure, Result, Session};
use crate::config::installed::Installation;
use crate::protocol::version::Version;
use crate::vault::plugin::{PluginError, PluginFolder, PluginStatus};

/// The plugin's id in Obsidian and the name of its folder.
const ID: &str = "vault-steward";

/// The plugin's files. The manifest is written last: its version shows that the others are complete. Built by `npm run
/// build` in `plugin-shim` and committed, so that building the program needs no Node.
const FILES: [(&str, &[u8]); 3] = [
    ("main.js", include_bytes!("../../plugin-shim/dist/main.js")),
    ("styles.css", include_bytes!("../../plugin-shim/dist/styles.css")),
    ("manifest.json", include_bytes!("../../plugin-shim/dist/manifest.json")),
];

#[derive(Debug, Clone, Copy, Subcommand)]
pub enum PluginAction {
    /// Install the plugin in the vault
    Install {
        /// Replace any other plugin in its folder
        #[arg(long)]
        force: bool,
    },
    /// Update the plugin in the vault
    Update,
    /// Show which version the vault has, and whether it is enabled
    Status,
    /// Remove the plugin from the vault; its settings stay
    Remove,
}

pub fn run(session: &Session, action: PluginAction) -> Result<()> {
    let root = session.vault()?;
    let plugin = PluginFolder::of(root, ID)?;
    let status = plugin.status(&FILES)?;
    let is_whole = status.version.is_some() && status.same == FILES.len();
    let (done, text) = match action {
        PluginAction::Install { .. } | PluginAction::Update if is_newer(&status) => {
            let update = Installation::of_process(&session.environment).update;
            let version = status.version.as_deref().unwrap_or_default();
            let text = format!(
                "version {version} is in `{}`, newer than {}, the version in this program; it stays\n\
                 to update this program: {update}",
                plugin.path(),
                bundled_version()
            );
            (false, text)
        }
        PluginAction::Status => (false, status_text(&plugin, &status)),
        PluginAction::Install { force } => {
            refuse_foreign(&plugin, &status, force)?;
            if let Some(version) = status.version.as_ref().filter(|_| !is_whole && !force) {
                let message = format!("another version, {version}, is already installed");
                return Err(Failure::other(
                    "already_exists",
                    message,
                    "run `steward plugin update`",
                ));
            }
            if !is_whole {
                plugin.write(&FILES)?;
            }
            (!is_whole, format!("{}\n{}", placed(&plugin, !is_whole), next_step(&status)))
        }
        PluginAction::Update => {
            refuse_foreign(&plugin, &status, false)?;
            if status.version.is_none() {
                let message = format!("the plugin is not in `{}`", plugin.path());
                return Err(Failure::other("not_found", message, "run `steward plugin install`"));
            }
            if !is_whole {
                plugin.write(&FILES)?;
            }
            let reload =
                "to load it, disable and enable the plugin in Obsidian, or restart Obsidian";
            if is_whole {
                (false, placed(&plugin, false))
            } else {
                (true, format!("{}\n{reload}", placed(&plugin, true)))
            }
        }
        PluginAction::Remove => {
            refuse_foreign(&plugin, &status, false)?;
            let left = remove(&plugin)?;
            let text = match (status.version.is_some(), left.as_slice()) {
                (false, _) => format!("the plugin is not in `{}`", plugin.path()),
                (true, []) => format!("removed `{}`", plugin.path()),
                (true, left) => {
                    format!(
                        "removed the plugin; `{}` still contains {}",
                        plugin.path(),
                        left.join(", ")
                    )
                }
            };
            (status.version.is_some(), text)
        }
    };
    if session.output.json() {
        let now = plugin.status(&FILES)?;
        session.output.json_value(&json!({
            "folder": plugin.path(),
            "carried": bundled_version(),
            "installed": now.version,
            "isCurrent": now.version.is_some() && now.same == FILES.len(),
            "switchedOn": now.switched_on,
            "changed": done,
        }))?;
    } else {
        session.output.text(&text)?;
    }
    Ok(())
}

/// The plugin's folder in a vault, if the plugin is there.
pub(super) fn in_vault(root: &Path) -> Option<PluginFolder> {
    let folder = PluginFolder::of(root, ID).ok()?;
    let status = folder.status(&FILES).ok()?;
    status.version.is_some().then_some(folder)
}

/// A description of the plugin in a vault, if installed, and whether this program has a different
/// one that is not older.
pub(super) fn described(root: &Path) -> Option<(String, bool)> {
    let folder = PluginFolder::of(root, ID).ok()?;
    let status = folder.status(&FILES).ok()?;
    status.version.as_ref()?;
    let is_older = status.same != FILES.len() && !is_newer(&status);
    Some((status_text(&folder, &status), is_older))
}

/// Removes the plugin's files; returns the names of other files in its folder.
pub(super) fn remove(folder: &PluginFolder) -> Result<Vec<String>, PluginError> {
    folder.remove(&FILES.map(|(name, _)| name))
}

fn refuse_foreign(plugin: &PluginFolder, status: &PluginStatus, force: bool) -> Result<()> {
    match &status.foreign {
        Some(what) if !force => {
            Err(PluginError::Foreign { folder: plugin.path(), what: what.clone() }.into())
        }
        _ => Ok(()),
    }
}

/// Whether the vault has a newer plugin than this program carries. It is never replaced: Obsidian updates the plugin,
/// and other devices may share it.
fn is_newer(status: &PluginStatus) -> bool {
    let version = status.version.as_deref().and_then(Version::parse);
    version.is_some_and(|version| Some(version) > Version::parse(&bundled_version()))
}

fn placed(plugin: &PluginFolder, is_new: bool) -> String {
    if is_new {
        format!("put version {} into `{}`", bundled_version(), plugin.path())
    } else {
        format!("version {} is in `{}` already", bundled_version(), plugin.path())
    }
}

/// How to enable the plugin, which only the person can do.
fn next_step(status: &PluginStatus) -> String {
    if status.switched_on {
        return "it is enabled; restart Obsidian to load it".to_owned();
    }
    "enable it in Obsidian: Settings → Community plugins → Turn on community plugins, then \
     Vault Steward in the list of installed plugins (reload the list if it is not there)\n\
     then run `steward serve` if the daemon is not running, and `steward pair`"
        .to_owned()
}

fn status_text(plugin: &PluginFolder, status: &PluginStatus) -> String {
    let folder = plugin.path();
    if let Some(what) = &status.foreign {
        return format!("`{folder}` contains something other than this plugin: {what}");
    }
    let Some(version) = &status.version else {
        return format!("not installed; `steward plugin install` puts it into `{folder}`");
    };
    let state = match status.same == FILES.len() {
        true => "the version in this program".to_owned(),
        false if is_newer(status) => {
            format!("newer than {}, the version in this program", bundled_version())
        }
        false => format!("not {}, which `steward plugin update` installs", bundled_version()),
    };
    let on = if status.switched_on { "switched on" } else { "not switched on" };
    format!("version {version} in `{folder}`, {state}; {on} in Obsidian")
}

/// The version that this program contains.
fn bundled_version() -> String {
    let (_, manifest) = FILES[2];
    let manifest: serde_json::Value = serde_json::from_slice(manifest).unwrap_or_default();
    manifest["version"].as_str().unwrap_or("?").to_owned()
}

impl From<PluginError> for Failure {
    fn from(error: PluginError) -> Self {
        let code = match error {
            PluginError::NoConfigFolder { .. } => "not_found",
            PluginError::Foreign { .. } => "already_exists",
            PluginError::Io { .. } => "io_error",
        };
        let (message, hint) = (error.to_string(), error.hint());
        Self::other(code, message, hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_files_are_the_plugin() {
        let (name, manifest) = FILES[2];
        assert_eq!(name, "manifest.json");
        let manifest: serde_json::Value = serde_json::from_slice(manifest).unwrap();
        assert_eq!(manifest["id"], ID);
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"), "they are released together");
        assert!(FILES.iter().all(|(_, bytes)| !bytes.is_empty()));
    }

    #[test]
    fn the_plugin_works_with_the_daemon_of_the_minor_version_before() {
        let script = String::from_utf8_lossy(FILES[0].1);
        let (_, after) = script.split_once("minDaemon:\"").unwrap();
        let oldest = Version::parse(after.split('"').next().unwrap()).unwrap();
        assert!(oldest <= Version::own().oldest_partner(), "{oldest} is too new");
    }
}
