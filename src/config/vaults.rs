//! Chooses the vault.
//!
//! In this order: the vault named by flag, environment or settings; the nearest parent folder with
//! `.obsidian`; the only vault that is open in Obsidian. Anything more would be guessing and could
//! change the wrong person's notes, so otherwise this returns an error that lists the known vaults.

#![expect(
    clippy::disallowed_methods,
    reason = "which folder is the vault is decided before there is a vault"
)]

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use crate::config::Environment;
use crate::config::folders::{Folders, same_folder};
use crate::config::obsidian::{KnownVault, KnownVaults};

/// How a vault was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// `--vault`.
    Flag,
    Environment,
    Config,
    /// The working folder or a folder above it.
    Folder,
    /// The vault is open in Obsidian.
    Obsidian,
}

words!(pub Origin::words {
    Flag => "named by `--vault`", Environment => "named by `STEWARD_VAULT`",
    Config => "named in the settings", Folder => "the nearest folder upward with `.obsidian`",
    Obsidian => "the one vault open in Obsidian",
});

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Its canonical folder: every alias of a path gives the same one.
    pub root: PathBuf,
    pub origin: Origin,
    /// Whether it contains `.obsidian`.
    pub is_vault: bool,
    /// Hints for the user that are not errors.
    pub notices: Vec<String>,
}

/// Why no vault was chosen.
#[derive(Debug, thiserror::Error)]
pub enum NoVault {
    #[error("the vault `{}` ({}) {reason}", path.display(), origin.words())]
    Named { path: PathBuf, origin: Origin, reason: String, known: Vec<KnownVault> },
    #[error("{} vaults are called `{name}`", known.len())]
    Ambiguous { name: String, known: Vec<KnownVault> },
    /// No vault was named or found.
    #[error("no vault found")]
    None { known: Vec<KnownVault> },
    #[error("{} vaults are open in Obsidian, and none was named", known.iter().filter(|v| v.open).count())]
    Several { known: Vec<KnownVault> },
}

impl NoVault {
    fn known(&self) -> &[KnownVault] {
        match self {
            Self::Named { known, .. }
            | Self::Ambiguous { known, .. }
            | Self::None { known }
            | Self::Several { known } => known,
        }
    }

    /// Advice, with one line for each known vault.
    pub fn hint(&self) -> String {
        let known = self.known();
        let first = match self {
            Self::None { .. } => "run this inside a vault or pass `--vault PATH`",
            Self::Ambiguous { .. } => "pass `--vault PATH`",
            _ => "pass `--vault PATH`, or a name that `steward vaults` lists",
        };
        if known.is_empty() {
            return first.to_owned();
        }
        let mut hint = format!("{first}; these are known:");
        for vault in known {
            hint.push_str(&format!("\n  {}{}", vault.path.display(), marks(vault)));
        }
        hint
    }

    /// The known vaults, for programs.
    pub fn data(&self) -> Value {
        json!({ "vaults": self.known() })
    }
}

/// ` (open)`, ` (missing)`, both or nothing.
pub fn marks(vault: &KnownVault) -> &'static str {
    match (vault.open, vault.exists) {
        (true, true) => "  (open)",
        (true, false) => "  (open, missing)",
        (false, true) => "",
        (false, false) => "  (missing)",
    }
}

/// Chooses the vault. `named`: the value from flag, environment or settings, whichever is
/// strongest; a path, or the name of a vault that Obsidian knows or that was served before.
pub fn choose(
    named: Option<(PathBuf, Origin)>,
    environment: &Environment,
    folders: &Folders,
    known: &KnownVaults,
) -> Result<Choice, NoVault> {
    if let Some((path, origin)) = named {
        let path = called(&path, environment, folders, known)?.unwrap_or(path);
        return self::named(path, origin, environment, || all_known(folders, known));
    }
    if let Some(root) = upward(environment) {
        return Ok(Choice { root, origin: Origin::Folder, is_vault: true, notices: Vec::new() });
    }
    let open: Vec<_> = known.vaults.iter().filter(|vault| vault.open).collect();
    let known = || all_known(folders, known);
    match open.as_slice() {
        [] => Err(NoVault::None { known: known() }),
        [one] if too_wide(&one.path, environment) => Err(NoVault::None { known: known() }),
        [one] => match dunce::canonicalize(&one.path) {
            Ok(root) if root.is_dir() => {
                let is_vault = root.join(".obsidian").is_dir();
                Ok(Choice { root, origin: Origin::Obsidian, is_vault, notices: Vec::new() })
            }
            _ => Err(NoVault::None { known: known() }),
        },
        _ => Err(NoVault::Several { known: known() }),
    }
}

fn named(
    path: PathBuf,
    origin: Origin,
    environment: &Environment,
    known: impl Fn() -> Vec<KnownVault>,
) -> Result<Choice, NoVault> {
    let refuse =
        |reason: String| NoVault::Named { path: path.clone(), origin, reason, known: known() };
    let full = match environment.working_folder() {
        Some(folder) => folder.join(environment.expand(&path)),
        None => environment.expand(&path),
    };
    let root = dunce::canonicalize(&full).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => refuse("does not exist".to_owned()),
        _ => refuse(format!("cannot be opened: {error}")),
    })?;
    if !root.is_dir() {
        return Err(refuse("is not a folder".to_owned()));
    }
    if root.parent().is_none() {
        return Err(refuse("is the whole file system".to_owned()));
    }
    let mut notices = Vec::new();
    if root.file_name().is_some_and(|name| name == ".obsidian") {
        return Err(refuse(
            "is a configuration folder; name the folder that contains it".to_owned(),
        ));
    }
    let is_vault = root.join(".obsidian").is_dir();
    if !is_vault {
        notices.push(format!(
            "`{}` has no `.obsidian`: it works as a vault, with Obsidian's defaults",
            root.display()
        ));
    }
    Ok(Choice { root, origin, is_vault, notices })
}

/// The folder of the vault called `name`; `None` if `name` is a path or no vault has that name. A
/// folder of that name in the working folder comes first.
fn called(
    name: &Path,
    environment: &Environment,
    folders: &Folders,
    known: &KnownVaults,
) -> Result<Option<PathBuf>, NoVault> {
    let Some(text) = name.to_str().filter(|text| !text.contains(['/', '\\']) && *text != ".")
    else {
        return Ok(None);
    };
    if environment.working_folder().is_some_and(|folder| folder.join(name).exists()) {
        return Ok(None);
    }
    let wanted = text.to_lowercase();
    let mut found = with_names(folders, known);
    found.retain(|vault| vault.name.to_lowercase() == wanted);
    match &found[..] {
        [] => Ok(None),
        [one] => Ok(Some(one.path.clone())),
        _ => Err(NoVault::Ambiguous { name: text.to_owned(), known: found }),
    }
}

/// The vaults of Obsidian's list, then those that were served before and still exist.
pub fn all_known(folders: &Folders, known: &KnownVaults) -> Vec<KnownVault> {
    let mut found = known.vaults.clone();
    for (_, owner) in folders.remembered() {
        let path = PathBuf::from(&owner.path);
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let vault = KnownVault {
            name: name.unwrap_or_default(),
            open: false,
            exists: path.is_dir(),
            last_opened: None,
            path,
        };
        if vault.exists && !found.iter().any(|other| same_folder(&other.path, &vault.path)) {
            found.push(vault);
        }
    }
    found
}

/// The vaults that can be chosen by name: [`all_known`] without those whose folder is missing.
pub fn with_names(folders: &Folders, known: &KnownVaults) -> Vec<KnownVault> {
    let mut found = all_known(folders, known);
    found.retain(|vault| vault.exists);
    found
}

/// Whether a folder without `.obsidian` is too broad to serve: the home folder or a system folder.
pub fn is_too_broad(root: &Path, environment: &Environment) -> bool {
    const SYSTEM: &[&str] = &[
        "/bin",
        "/boot",
        "/dev",
        "/etc",
        "/lib",
        "/lib64",
        "/proc",
        "/run",
        "/sbin",
        "/sys",
        "/usr",
        "/var",
        "/home",
        "/Users",
        "/System",
        "/Library",
        "/Applications",
        "/private",
        "/opt",
        "C:\\Windows",
        "C:\\Users",
        "C:\\Program Files",
        "C:\\ProgramData",
    ];
    too_wide(root, environment) || SYSTEM.iter().any(|folder| Path::new(folder) == root)
}

/// The nearest folder with `.obsidian`, upward from the working folder.
fn upward(environment: &Environment) -> Option<PathBuf> {
    let start = dunce::canonicalize(environment.working_folder()?).ok()?;
    start
        .ancestors()
        .filter(|folder| !too_wide(folder, environment))
        .find(|folder| folder.join(".obsidian").is_dir())
        .map(Path::to_path_buf)
}

/// `/` and the home folder are never chosen implicitly: a stray `.obsidian` there would expose all
/// of the user's files.
fn too_wide(folder: &Path, environment: &Environment) -> bool {
    folder.parent().is_none() || environment.home().is_some_and(|home| same_folder(home, folder))
}
