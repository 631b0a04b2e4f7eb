//! `steward uninstall`: removes what this program installed outside of its own file, and reports what stays.

#![expect(
    clippy::disallowed_methods,
    reason = "the steward's own folders and scripts, outside every vault"
)]

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::maintenance::agreed;
use super::status::{bytes, megabytes};
use super::{Failure, Result, Session, plugin, service};
use crate::config::Environment;
use crate::config::folders::same_folder;
use crate::config::installed::Installation;
use crate::config::keyring::Keyring;
use crate::config::running::Running;
use crate::llm::setup;

#[derive(Debug, Args)]
pub struct UninstallArguments {
    /// Also delete history, conversations, settings and keys; never a vault
    #[arg(long)]
    pub purge: bool,
    /// Also remove the Obsidian plugin from each vault, without asking
    #[arg(long)]
    pub plugin: bool,
    /// Only show what would be removed, and what stays
    #[arg(long)]
    pub dry_run: bool,
    /// Skip the confirmation
    #[arg(long)]
    pub yes: bool,
}

/// The history, conversations and token of one vault.
struct History {
    vault: String,
    folder: PathBuf,
    bytes: u64,
}

/// The parts of an installation besides the program file.
struct Installed {
    services: Vec<service::Plan>,
    /// Completions and man pages that a person made.
    scripts: Vec<PathBuf>,
    plugins: Vec<PathBuf>,
    histories: Vec<History>,
    /// The folder with settings and keys, if it exists.
    settings: Option<PathBuf>,
    installed: Installation,
}

/// Shows what is stored where, asks, and removes the confirmed items.
pub fn run(session: &Session, arguments: &UninstallArguments) -> Result<()> {
    let found = find_installed(session);
    if !arguments.dry_run {
        if !session.output.json() {
            session.output.text(&summary(&found, arguments))?;
        }
        let question = || {
            if arguments.purge {
                "Remove these, and delete what `--purge` names for good?".to_owned()
            } else {
                "Remove these?".to_owned()
            }
        };
        if !agreed(arguments.yes, &question)? {
            session.output.notice("nothing was removed");
            return Ok(());
        }
        remove(session, &found, arguments)?;
    }
    let value = json!({
        "removed": !arguments.dry_run,
        "services": found.services.iter().map(|plan| &plan.name).collect::<Vec<_>>(),
        "files": found.scripts,
        "plugins": found.plugins,
        "histories": found.histories.iter().map(|one| json!({
            "vault": one.vault, "folder": one.folder, "bytes": one.bytes,
        })).collect::<Vec<_>>(),
        "settings": found.settings,
        "purge": arguments.purge,
        "installed": found.installed,
    });
    let text = if arguments.dry_run {
        summary(&found, arguments)
    } else {
        format!("done; to remove the program itself: {}", found.installed.remove)
    };
    session.output.answer(&value, text)
}

fn find_installed(session: &Session) -> Installed {
    let folders = &session.folders;
    let histories: Vec<History> = folders
        .remembered()
        .into_iter()
        .map(|(folder, owner)| History { vault: owner.path, bytes: bytes(&folder), folder })
        .collect();
    let roots = histories.iter().map(|one| PathBuf::from(&one.vault)).filter(|root| root.is_dir());
    let plugins = roots.filter(|root| plugin::in_vault(root).is_some()).collect();
    Installed {
        services: service::installed(session),
        scripts: scripts(&session.environment),
        plugins,
        histories,
        settings: Some(folders.config.clone()).filter(|folder| folder.is_dir()),
        installed: Installation::of_process(&session.environment),
    }
}

/// The scripts and pages at the places that the manual names, if they are this program's.
fn scripts(environment: &Environment) -> Vec<PathBuf> {
    let Some(home) = environment.home() else { return Vec::new() };
    let data = environment.absolute("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share"));
    let config = environment.absolute("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
    let completions = [
        data.join("bash-completion/completions/steward"),
        home.join(".zfunc/_steward"),
        config.join("fish/completions/steward.fish"),
    ];
    let pages = std::fs::read_dir(data.join("man/man1")).into_iter().flatten().flatten();
    let pages = pages.map(|page| page.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name == "steward.1" || (name.starts_with("steward-") && name.ends_with(".1"))
    });
    let mut found: Vec<PathBuf> = completions.into_iter().chain(pages).collect();
    found.retain(|path| {
        let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        is_file && std::fs::read_to_string(path).is_ok_and(|text| text.contains("steward"))
    });
    found.sort();
    found
}

fn summary(found: &Installed, arguments: &UninstallArguments) -> String {
    let mut removed: Vec<String> = Vec::new();
    removed.extend(found.services.iter().map(|plan| format!("the service {}", plan.name)));
    removed.extend(found.scripts.iter().map(|path| path.display().to_string()));
    let plugins = found.plugins.iter().map(|root| format!("the plugin in {}", root.display()));
    let mut questions: Vec<String> = plugins.collect();
    if arguments.plugin {
        removed.append(&mut questions);
    }
    let mut own: Vec<String> = found
        .histories
        .iter()
        .map(|one| {
            let (folder, size) = (one.folder.display(), megabytes(one.bytes));
            format!("{folder}: history and conversations of {}, {size}", one.vault)
        })
        .collect();
    let settings = found.settings.iter();
    own.extend(settings.map(|folder| format!("{}: settings and keys", folder.display())));
    let vaults = found.histories.iter().map(|one| format!("{}: your vault", one.vault));
    let mut stays: Vec<String> = vaults.collect();
    if arguments.purge {
        removed.append(&mut own);
    } else {
        stays.append(&mut own);
    }
    let list = |title: &str, lines: Vec<String>| {
        if lines.is_empty() {
            format!("{title}\n  nothing\n")
        } else {
            format!("{title}\n  {}\n", lines.join("\n  "))
        }
    };
    let mut text = list("To remove:", removed);
    if !questions.is_empty() {
        text.push_str(&list("Asked about:", questions));
    }
    text.push_str(&list("Stays:", stays));
    if !arguments.purge {
        text.push_str(
            "`--purge` also deletes history, conversations, settings and keys, never a vault\n",
        );
    }
    text
}

fn remove(session: &Session, found: &Installed, arguments: &UninstallArguments) -> Result<()> {
    if arguments.purge {
        keeps_vaults_apart(session, found)?;
    }
    for plan in &found.services {
        service::remove(plan, &session.output)?;
    }
    if arguments.purge {
        // Before anything is deleted, since it would write deleted files again.
        if let Some((running, _)) = Running::all(&session.folders).into_iter().next() {
            let message = format!("a daemon still serves `{}`", running.vault);
            let hint = format!("end it (pid {}), then run this again", running.pid);
            return Err(Failure::other("already_running", message, hint));
        }
    }
    for path in &found.scripts {
        std::fs::remove_file(path).map_err(|error| removal_failure(path, &error))?;
    }
    for root in &found.plugins {
        let asks = !arguments.yes && std::io::stdin().is_terminal();
        let question = || format!("Remove the plugin from `{}`?", root.display());
        if !(arguments.plugin || asks && agreed(false, &question)?) {
            let root = root.display();
            session
                .output
                .notice(&format!("the plugin stays in `{root}`; `--plugin` removes it, too"));
        } else if let Some(folder) = plugin::in_vault(root) {
            plugin::remove(&folder)?;
        }
    }
    if arguments.purge {
        purge(session, found)?;
    }
    Ok(())
}

/// Refuses to delete a folder of this program that contains a vault.
fn keeps_vaults_apart(session: &Session, found: &Installed) -> Result<()> {
    let own = [&session.folders.state, &session.folders.config];
    let vaults = found.histories.iter().map(|one| Path::new(&one.vault));
    for vault in vaults.filter(|vault| vault.is_dir()) {
        let above = |folder: &&&PathBuf| vault.ancestors().any(|it| same_folder(it, folder));
        if let Some(folder) = own.iter().find(above) {
            let message = format!(
                "`{}` is a vault inside `{}`, which `--purge` would delete",
                vault.display(),
                folder.display()
            );
            return Err(Failure::other("refused", message, "move the vault out of there first"));
        }
    }
    Ok(())
}

fn purge(session: &Session, found: &Installed) -> Result<()> {
    let settings = &session.settings.config.models;
    if settings.keyring {
        let keyring = Keyring::new(&session.environment, None);
        for provider in setup::configured(settings) {
            if let Err(error) = keyring.remove(&provider) {
                session
                    .output
                    .notice(&format!("a key of {provider} may be left in the keyring: {error}"));
            }
        }
    }
    let folders = found.histories.iter().map(|one| &one.folder).chain(&found.settings);
    for folder in folders.filter(|folder| folder.is_dir()) {
        std::fs::remove_dir_all(folder).map_err(|error| removal_failure(folder, &error))?;
    }
    // Files not known to be this program's stay, with their folder.
    let _ = std::fs::remove_dir(&session.folders.state);
    if session.folders.state.is_dir() {
        let folder = session.folders.state.display();
        session.output.notice(&format!("`{folder}` contains other files too, and stays"));
    }
    Ok(())
}

fn removal_failure(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("could not remove `{}`: {error}", path.display());
    Failure::other("io_error", message, "remove it by hand, then run this again")
}
