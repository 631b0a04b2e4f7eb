//! Finds vendors' API keys, and stores them in files.
//!
//! The first source with a key wins: the environment, the service manager's credentials, a private
//! file next to the settings, and, if enabled, the system's keyring. Keys are never in the settings
//! or in a vault.

#![expect(clippy::disallowed_methods, reason = "our own key files, next to the settings")]

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::Environment;
use crate::config::folders::Folders;
use crate::config::keyring::{Keyring, KeyringError};
use crate::llm::key::{Key, MAX_BYTES, NoKey};
use crate::llm::setup::{ProviderConfig, SetupError};
use crate::server::private::{self, NotPrivate};

/// Where a key was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "from")]
pub enum Source {
    Environment {
        variable: String,
    },
    Credential {
        path: PathBuf,
    },
    /// The file that `steward key set` writes.
    File {
        path: PathBuf,
    },
    Keyring,
}

/// Why a key is not available. Never shows a key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The value found is not a valid key.
    #[error("`{place}` contains no key: {reason}")]
    NoKey {
        /// The variable or the file.
        place: String,
        reason: NoKey,
    },
    /// Others could read or change it.
    #[error("refused to use the key file `{}`: {reason}", path.display())]
    Unsafe { path: PathBuf, reason: NotPrivate },
    #[error("could not {doing} the key file `{}`: {source}", path.display())]
    Io {
        /// The verb: what failed.
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The provider is unknown or misconfigured.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

impl KeyError {
    pub fn hint(&self) -> String {
        match self {
            Self::NoKey { .. } => "store the key again with `steward key set`".to_owned(),
            Self::Unsafe { path, .. } => format!(
                "give `{}` to yourself alone (chmod 600, 700 for a folder), and treat the key as known to others",
                path.display()
            ),
            Self::Io { .. } => "`steward config path` shows where the settings are".to_owned(),
            Self::Keyring(error) => error.hint(),
            Self::Setup(error) => error.hint(),
        }
    }
}

/// The credential name for a provider's key, for systemd's `LoadCredential=`.
pub fn credential(provider: &str) -> String {
    format!("vault-steward.{provider}")
}

pub fn file(folders: &Folders, provider: &str) -> PathBuf {
    folders.config.join("keys").join(provider)
}

/// Looks for a provider's key everywhere, in `keyring` last, if given. Blocks.
pub fn find_anywhere(
    known: &ProviderConfig,
    environment: &Environment,
    folders: &Folders,
    keyring: Option<&Keyring>,
) -> Result<Option<(Key, Source)>, KeyError> {
    if let Some(found) = find(known, environment, folders)? {
        return Ok(Some(found));
    }
    let Some(keyring) = keyring else { return Ok(None) };
    Ok(keyring.get(&known.name)?.map(|key| (key, Source::Keyring)))
}

/// Looks for a provider's key everywhere except in the keyring.
///
/// # Errors
/// [`KeyError`] if a source has an unusable value. Later sources are not tried then, since they
/// would give another key than the user expects.
pub fn find(
    known: &ProviderConfig,
    environment: &Environment,
    folders: &Folders,
) -> Result<Option<(Key, Source)>, KeyError> {
    for variable in &known.variables {
        if let Some(value) = environment.get(variable) {
            let key = key(&value.to_string_lossy(), variable)?;
            return Ok(Some((key, Source::Environment { variable: variable.clone() })));
        }
    }
    if let Some(folder) = environment.absolute("CREDENTIALS_DIRECTORY") {
        // The service manager protects the folder in ways that its mode does not show.
        let path = folder.join(credential(&known.name));
        if let Some(key) = read_key_file(&path)? {
            return Ok(Some((key, Source::Credential { path })));
        }
    }
    let path = file(folders, &known.name);
    Ok(stored(folders, &known.name)?.map(|key| (key, Source::File { path })))
}

/// Looks for a key with this name that belongs to no provider: in the service manager's
/// credentials, the file, and `keyring` last, if given. Blocks.
pub fn named(
    name: &str,
    environment: &Environment,
    folders: &Folders,
    keyring: Option<&Keyring>,
) -> Result<Option<Key>, KeyError> {
    if !is_file_name(name) {
        return Ok(None);
    }
    if let Some(folder) = environment.absolute("CREDENTIALS_DIRECTORY")
        && let Some(key) = read_key_file(&folder.join(credential(name)))?
    {
        return Ok(Some(key));
    }
    if let Some(key) = stored(folders, name)? {
        return Ok(Some(key));
    }
    let Some(keyring) = keyring else { return Ok(None) };
    Ok(keyring.get(name)?)
}

/// Reads the key file of this name; `None` if there is none.
pub fn stored(folders: &Folders, name: &str) -> Result<Option<Key>, KeyError> {
    if !is_file_name(name) {
        return Ok(None);
    }
    let path = file(folders, name);
    match private::check_file(&path) {
        Ok(_) => read_key_file(&path),
        Err(NotPrivate::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(NotPrivate::Io(source)) => Err(KeyError::Io { doing: "look at", path, source }),
        Err(reason) => Err(KeyError::Unsafe { path, reason }),
    }
}

/// Whether a key file can have this name.
pub fn is_file_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=128).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('.')
}

/// Stores a key in its file, private to this user, and replaces an existing one.
pub fn store(folders: &Folders, provider: &str, key: &Key) -> Result<PathBuf, KeyError> {
    let path = file(folders, provider);
    let folder = folders.config.join("keys");
    fs::create_dir_all(&folders.config).map_err(io_failure("make the folder of", &path))?;
    private::folder(&folder).map_err(|reason| KeyError::Unsafe { path: folder.clone(), reason })?;
    replace(&path, key.reveal()).map_err(io_failure("write", &path))?;
    Ok(path)
}

/// Replaces the content of a file that only this user can read with a line.
pub(super) fn replace(path: &Path, line: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new_file = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
    // Left behind by an earlier process with the same number.
    let _ = fs::remove_file(&new_file);
    let written = private::write_new(&new_file, format!("{line}\n").as_bytes())
        .and_then(|()| fs::rename(&new_file, path));
    if written.is_err() {
        let _ = fs::remove_file(&new_file);
    }
    written
}

/// Removes the file with a provider's key; `false` if there was none.
pub fn remove(folders: &Folders, provider: &str) -> Result<bool, KeyError> {
    let path = file(folders, provider);
    match fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(KeyError::Io { doing: "remove", path, source }),
    }
}

fn key(text: &str, place: &str) -> Result<Key, KeyError> {
    Key::new(text).map_err(|reason| KeyError::NoKey { place: place.to_owned(), reason })
}

fn read_key_file(path: &Path) -> Result<Option<Key>, KeyError> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_failure("open", path)(error)),
    };
    let mut bytes = Vec::new();
    // Read more than a key may have, to detect a longer one.
    file.take(MAX_BYTES as u64 + 64).read_to_end(&mut bytes).map_err(io_failure("read", path))?;
    key(&String::from_utf8_lossy(&bytes), &path.to_string_lossy()).map(Some)
}

fn io_failure(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> KeyError + use<> {
    let path = path.to_path_buf();
    move |source| KeyError::Io { doing, path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::{Settings, setup};

    #[test]
    fn the_environment_comes_first_then_credentials_then_the_file() {
        let place = tempfile::tempdir().unwrap();
        let folders = Folders { config: place.path().join("c"), state: place.path().into() };
        let known = setup::provider(&Settings::default(), "anthropic").unwrap();
        let bare = Environment::new([], None, None);
        assert!(find(&known, &bare, &folders).unwrap().is_none());

        let path = store(&folders, "anthropic", &Key::new("sk-file").unwrap()).unwrap();
        private::check_file(&path).unwrap();
        let (key, source) = find(&known, &bare, &folders).unwrap().unwrap();
        assert_eq!((key.reveal(), source), ("sk-file", Source::File { path: path.clone() }));
        store(&folders, "anthropic", &Key::new("sk-newer").unwrap()).unwrap();
        assert_eq!(find(&known, &bare, &folders).unwrap().unwrap().0.reveal(), "sk-newer");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no other file");

        fs::write(place.path().join(credential("anthropic")), "sk-cred\n").unwrap();
        let directory = ("CREDENTIALS_DIRECTORY", place.path().into());
        let service = Environment::new([directory.clone()], None, None);
        assert_eq!(find(&known, &service, &folders).unwrap().unwrap().0.reveal(), "sk-cred");

        let variable = ("ANTHROPIC_API_KEY", "sk-env".into());
        let both = Environment::new([directory, variable], None, None);
        let (key, source) = find(&known, &both, &folders).unwrap().unwrap();
        assert_eq!(key.reveal(), "sk-env");
        assert_eq!(source, Source::Environment { variable: "ANTHROPIC_API_KEY".to_owned() });

        let named =
            |environment: &Environment| named("anthropic", environment, &folders, None).unwrap();
        assert_eq!(named(&both).unwrap().reveal(), "sk-cred");
        assert_eq!(named(&bare).unwrap().reveal(), "sk-newer");
        assert!(super::named("../c", &bare, &folders, None).unwrap().is_none());

        assert!(remove(&folders, "anthropic").unwrap());
        assert!(!remove(&folders, "anthropic").unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_refused_without_showing_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = tempfile::tempdir().unwrap();
        let folders = Folders { config: place.path().into(), state: place.path().into() };
        let known = setup::provider(&Settings::default(), "gemini").unwrap();
        let path = store(&folders, "gemini", &Key::new("sk-canary").unwrap()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = find(&known, &Environment::new([], None, None), &folders).unwrap_err();
        assert!(matches!(error, KeyError::Unsafe { .. }), "{error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "sk-canary two words").unwrap();
        let error = find(&known, &Environment::new([], None, None), &folders).unwrap_err();
        let shown = format!("{error} {error:?} {}", error.hint());
        assert!(!shown.contains("canary"), "{shown}");
    }
}
