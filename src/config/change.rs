//! Changes one setting in the file: validates it first, then replaces the file atomically.

#![expect(clippy::disallowed_methods, reason = "the settings file, which is never in a vault")]

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::edit::{self, EditError};
use super::file::{self, ConfigError};
use super::keys;
use crate::llm::setup;

/// Why a setting was not changed. The file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// There is no setting with this name.
    #[error("there is no setting `{name}`")]
    Unknown { name: String, near: Option<&'static str> },
    /// The file would be invalid with this value.
    #[error("`{name}` cannot be {value}: {reason}")]
    Invalid {
        name: String,
        value: Value,
        reason: String,
        /// Which values are valid.
        hint: Option<String>,
    },
    /// The file cannot be edited in its present state.
    #[error("could not change `{}`: {source}", path.display())]
    Edit { path: PathBuf, source: EditError },
    #[error(transparent)]
    Unreadable(ConfigError),
    /// Another program changed the file in the meantime.
    #[error("`{}` was changed by another program at the same time", .0.display())]
    Raced(PathBuf),
    #[error("could not write `{}`: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
}

impl ChangeError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { near, .. } => Some(match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`steward config list` names them all".to_owned(),
            }),
            Self::Edit { .. } => Some("fix it with an editor first".to_owned()),
            Self::Raced(_) => Some("look at it, then try again".to_owned()),
            Self::Unreadable(error) => error.hint(),
            Self::Invalid { hint, .. } => hint.clone(),
            Self::Unwritable { .. } => None,
        }
    }
}

/// Sets `name` to a value in the file at `path`, or removes it if `value` is null. Returns whether
/// the file's bytes changed. Creates a missing file.
///
/// # Errors
/// [`ChangeError`]; the file is unchanged.
pub fn set(path: &Path, name: &str, value: &Value) -> Result<bool, ChangeError> {
    let unknown = || {
        let names: Vec<&'static str> = keys::KEYS.iter().map(|key| key.name).collect();
        ChangeError::Unknown { name: name.to_owned(), near: near(name, &names) }
    };
    keys::find(name).ok_or_else(unknown)?;
    let (section, key) = name.split_once('.').ok_or_else(unknown)?;
    // Keep a symbolic link and change its target.
    let real = dunce::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let before = current(&real)?;
    let text = std::str::from_utf8(before.as_deref().unwrap_or_default());
    let refused = |source| ChangeError::Edit { path: path.to_path_buf(), source };
    let text = text.map_err(|_| refused(EditError::NotToml("it is not UTF-8 text".to_owned())))?;
    let invalid_with = |reason, hint| {
        let (name, value) = (name.to_owned(), value.clone());
        ChangeError::Invalid { name, value, reason, hint }
    };
    let invalid = |reason| invalid_with(reason, None);
    let edited = edit::set(text, section, key, value).map_err(|error| match error {
        EditError::Value(_) => invalid(error.to_string()),
        error => refused(error),
    })?;
    if edited == text {
        return Ok(false);
    }
    let now = file::parse(edited.as_bytes(), path).map_err(|error| match error {
        ConfigError::Fault { message, .. } => invalid(expected_value(message)),
        error => invalid(error.to_string()),
    })?;
    if name == "models.chain" {
        // A current chain that is invalid must not prevent choosing another model.
        let was = file::parse(text.as_bytes(), path).unwrap_or_default().config.models.chain;
        let faults = setup::faults(&now.config.models);
        let fault = faults.into_iter().find(|(model, _)| !was.iter().any(|one| one == model));
        if let Some((_, fault)) = fault {
            return Err(invalid_with(fault.to_string(), Some(fault.hint())));
        }
    }
    let unwritable = |source| ChangeError::Unwritable { path: path.to_path_buf(), source };
    if let Some(folder) = real.parent() {
        std::fs::create_dir_all(folder).map_err(unwritable)?;
    }
    let new_version = NewVersion::write(&real, edited.as_bytes()).map_err(unwritable)?;
    if current(&real)? != before {
        return Err(ChangeError::Raced(path.to_path_buf()));
    }
    new_version.replace(&real).map_err(unwritable)?;
    Ok(true)
}

/// The part of the message that says what was expected; the error itself names the setting and the
/// value.
fn expected_value(message: String) -> String {
    let is_wrong = message.contains("invalid type: ") || message.contains("invalid value: ");
    let Some((_, wanted)) = message.rsplit_once(", expected ").filter(|_| is_wrong) else {
        return message;
    };
    match wanted.rsplit_once(" in `").map_or(wanted, |(wanted, _)| wanted) {
        "a boolean" => "expected `true` or `false`".to_owned(),
        wanted => format!("expected {wanted}"),
    }
}

/// Whether this process can change the file at `path` with [`set`]: it needs to write to its
/// folder, or to create it.
pub fn is_writable(path: &Path) -> bool {
    let real = dunce::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = real.ancestors().skip(1).find(|folder| folder.is_dir());
    let (Some(folder), Some(name)) = (folder, real.file_name()) else { return false };
    NewVersion::create(&folder.join(name)).is_ok()
}

/// A suggestion for a misspelt name: the setting that chooses the model, the only setting whose
/// last part is `name`, or the nearest spelling.
pub fn near<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let last = |name: &'a str| name.rsplit('.').next().unwrap_or(name);
    let word = name.rsplit('.').next().unwrap_or(name);
    if ["model", "models", "llm"].contains(&word) {
        return names.iter().copied().find(|name| *name == "models.chain");
    }
    let mut same = names.iter().copied().filter(|name| last(name) == word);
    if let (Some(only), None) = (same.next(), same.next()) {
        return Some(only);
    }
    let near = file::nearest(name, names)?;
    names.iter().copied().find(|name| *name == near)
}

/// The file's bytes; `None` if it does not exist.
fn current(path: &Path) -> Result<Option<Vec<u8>>, ChangeError> {
    match file::bytes(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ConfigError::Unreadable { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(None)
        }
        Err(error) => Err(ChangeError::Unreadable(error)),
    }
}

/// A new version next to the file; deleted unless it replaces the file.
pub(super) struct NewVersion(Option<PathBuf>);

impl NewVersion {
    fn create(path: &Path) -> io::Result<(Self, File)> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let place = path.with_file_name(format!(".{name}.{}.{number}.tmp", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&place)?;
        Ok((Self(Some(place)), file))
    }

    pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        let (new_version, mut file) = Self::create(path)?;
        // Keep the permissions that the user may have set.
        if let Ok(meta) = std::fs::metadata(path) {
            file.set_permissions(meta.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(new_version)
    }

    pub(super) fn replace(mut self, path: &Path) -> io::Result<()> {
        if let Some(place) = self.0.as_ref() {
            std::fs::rename(place, path)?;
        }
        self.0 = None;
        #[cfg(unix)]
        if let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

impl Drop for NewVersion {
    fn drop(&mut self) {
        if let Some(place) = &self.0 {
            let _ = std::fs::remove_file(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refused_value_changes_nothing_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, "[server]\nport = 1\n").unwrap();
        for (name, value) in [
            ("server.port", json!("x")),
            ("server.port", json!(70_000)),
            ("server.max_in_flight", json!(0)),
            ("server.prot", json!(1)),
            ("log.level", json!("loud")),
            ("vault.path", json!("")),
            ("port", json!(1)),
        ] {
            let refused = set(&path, name, &value).unwrap_err();
            assert!(refused.to_string().contains(name), "{refused}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[server]\nport = 1\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let near = set(&path, "server.prot", &json!(1)).unwrap_err().hint().unwrap();
        assert_eq!(near, "did you mean `server.port`?");
    }

    #[test]
    #[cfg(unix)]
    fn mode_and_link_stay_and_a_missing_file_is_made_for_its_owner() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let made = folder.path().join("new/config.toml");
        assert!(set(&made, "server.port", &json!(7)).unwrap());
        assert!(!set(&made, "server.port", &json!(7)).unwrap());
        assert_eq!(mode(&made), 0o600);
        std::fs::set_permissions(&made, std::fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("config.toml");
        symlink(&made, &link).unwrap();
        set(&link, "server.port", &json!(8)).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(mode(&made), 0o640);
        assert_eq!(std::fs::read_to_string(&made).unwrap(), "[server]\nport = 8\n");
    }

    #[test]
    fn a_file_that_is_wrong_can_be_mended_but_not_one_that_is_not_toml() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, "[server]\nport = 'x'\n").unwrap();
        set(&path, "server.port", &json!(7)).unwrap();
        std::fs::write(&path, "[server").unwrap();
        let refused = set(&path, "server.port", &json!(8));
        assert!(matches!(refused, Err(ChangeError::Edit { .. })), "{refused:?}");
    }
}
