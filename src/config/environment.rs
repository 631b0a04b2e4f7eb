//! The environment of the process: variables, home folder, working folder.
//!
//! This is a value instead of calls to `std::env`, so that tests need not change their own process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, OsString>,
    home: Option<PathBuf>,
    working_folder: Option<PathBuf>,
}

impl Environment {
    pub fn of_process() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((canonical_name(name.to_str()?), value)))
            .collect();
        Self {
            variables,
            home: std::env::home_dir().filter(|home| home.is_absolute()),
            working_folder: std::env::current_dir().ok(),
        }
    }

    #[cfg(test)]
    pub fn new(
        variables: impl IntoIterator<Item = (&'static str, OsString)>,
        home: Option<PathBuf>,
        working_folder: Option<PathBuf>,
    ) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value));
        Self { variables: variables.collect(), home, working_folder }
    }

    /// A variable's value. An empty value counts as unset, because shells and service managers
    /// leave empty variables behind.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// A variable with an absolute path. Ignores a relative path, as the XDG rules require.
    pub fn absolute(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// The user's home folder, if absolute.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The folder that the program was started in.
    pub fn working_folder(&self) -> Option<&Path> {
        self.working_folder.as_deref()
    }

    /// Expands `~` and `~/x` to the home folder.
    pub fn expand(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.home()) {
            (Ok(rest), Some(home)) if rest.as_os_str().is_empty() => home.to_path_buf(),
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_path_buf(),
        }
    }
}

/// Windows compares variable names case-insensitively.
fn canonical_name(name: &str) -> String {
    if cfg!(windows) { name.to_ascii_uppercase() } else { name.to_owned() }
}
