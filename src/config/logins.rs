//! Sign-ins at third-party servers: a private file for each, next to the keys.

#![expect(clippy::disallowed_methods, reason = "our own files, next to the settings")]

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::vendor_keys;
use crate::config::folders::Folders;
use crate::llm::endpoint::Address;
use crate::server::private;
use crate::servers::oauth::error::LoginError;
use crate::servers::oauth::stored::Logins;
use crate::servers::settings::is_name;

/// The folder of sign-ins in `own`, the folder for the steward's settings.
fn folder(own: &Path) -> PathBuf {
    own.join("logins")
}

/// The same, if it exists.
pub fn existing_folder(own: &Path) -> Option<PathBuf> {
    Some(folder(own)).filter(|folder| folder.is_dir())
}

/// The sign-ins of this user.
#[derive(Debug, Clone)]
pub struct LoginFiles {
    own: PathBuf,
}

impl LoginFiles {
    /// The sign-ins in the folder for the steward's settings.
    pub fn new(folders: &Folders) -> Self {
        Self { own: folders.config.clone() }
    }

    fn file(&self, server: &str, ending: &str) -> PathBuf {
        folder(&self.own).join(format!("{server}.{ending}"))
    }

    fn prepare(&self) -> io::Result<()> {
        fs::create_dir_all(&self.own)?;
        Ok(private::folder(&folder(&self.own))?)
    }
}

impl Logins for LoginFiles {
    fn load(&self, server: &str) -> Result<Option<String>, LoginError> {
        let path = self.file(server, "json");
        match private::check_file(&path)
            .map_err(io::Error::from)
            .and_then(|_| fs::read_to_string(&path))
        {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_failure("read", path)(error)),
        }
    }

    fn store(&self, server: &str, text: &str) -> Result<(), LoginError> {
        let path = self.file(server, "json");
        let stored = self.prepare().and_then(|()| vendor_keys::replace(&path, text));
        stored.map_err(io_failure("store", path))
    }

    fn remove(&self, server: &str) -> Result<bool, LoginError> {
        let path = self.file(server, "json");
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(io_failure("remove", path)(error)),
        }
    }

    fn lock(&self, server: &str) -> Result<File, LoginError> {
        let path = self.file(server, "lock");
        let open = || {
            self.prepare()?;
            let file = File::options().write(true).create(true).truncate(false).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        open().map_err(io_failure("lock", path.clone()))
    }
}

/// The TCP ports of the addresses where the sign-ins in `own` are renewed.
pub fn ports(own: &Path) -> Vec<u16> {
    let files = fs::read_dir(folder(own)).into_iter().flatten().flatten();
    let port = |path: PathBuf| {
        is_name(path.file_stem()?.to_str()?).then_some(())?;
        let login: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        Address::new(login["token_endpoint"].as_str()?).ok()?.port()
    };
    files.filter_map(|file| port(file.path())).collect()
}

fn io_failure(doing: &'static str, path: PathBuf) -> impl FnOnce(io::Error) -> LoginError {
    move |error| LoginError::Store { doing, path, why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_is_stored_for_this_user_alone() {
        let place = tempfile::tempdir().expect("a folder");
        let folders = Folders { config: place.path().join("c"), state: place.path().into() };
        let logins = LoginFiles::new(&folders);
        assert_eq!(logins.load("s").expect("read"), None);
        assert!(!logins.remove("s").expect("removed"));
        let lock = logins.lock("s").expect("a lock");
        let text = r#"{"token_endpoint":"https://auth.example:8443/token"}"#;
        logins.store("s", text).expect("stored");
        drop(lock);
        assert_eq!(logins.load("s").expect("read").as_deref().map(str::trim), Some(text));
        private::check_file(&logins.file("s", "json")).expect("private");
        assert_eq!(ports(&folders.config), [8443]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let open = fs::Permissions::from_mode(0o644);
            fs::set_permissions(logins.file("s", "json"), open).expect("changed");
            let error = logins.load("s").expect_err("others can read it").to_string();
            assert!(error.contains("lets other users in"), "{error}");
        }
        assert!(logins.remove("s").expect("removed"));
    }
}
