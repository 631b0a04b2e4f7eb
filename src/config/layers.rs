//! Merges the settings layers: the file, then the environment, then the flags. Later layers win.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::config::Environment;
use crate::config::file::{self, Config, ConfigError};
use crate::config::folders::Folders;
use crate::config::log::Level;
use crate::config::vaults::Origin;
use crate::policy::Mode;

/// Settings from the command line; `None` leaves a setting to the lower layers.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    pub config: Option<PathBuf>,
    pub vault: Option<PathBuf>,
    pub port: Option<u16>,
    /// `--log-level`, `-v`.
    pub level: Option<Level>,
}

/// The layer that set a value. A setting without a layer has its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    File,
    Environment(&'static str),
    /// A command-line flag.
    Flag(&'static str),
}

#[derive(Debug, Clone)]
pub struct Settings {
    pub config: Config,
    /// The settings file, whether or not it exists.
    pub file: PathBuf,
    pub file_exists: bool,
    /// The vault named in a layer, and which one.
    pub vault: Option<(PathBuf, Origin)>,
    /// The layer of each setting that is not at its default, by the setting's name.
    pub sources: BTreeMap<String, Source>,
    /// Hints for the user that are not errors.
    pub notices: Vec<String>,
}

/// The settings file to use, and whether it was named explicitly: `--config`, then
/// `STEWARD_CONFIG`, then the default location.
pub fn which_file(flags: &Flags, environment: &Environment, folders: &Folders) -> (PathBuf, bool) {
    let named = flags
        .config
        .clone()
        .or_else(|| Some(environment.expand(Path::new(environment.get("STEWARD_CONFIG")?))));
    match named {
        Some(path) => (path, true),
        None => (folders.config_file(), false),
    }
}

/// Reads the file, if it exists, and merges environment and flags.
///
/// # Errors
/// [`ConfigError`] for the file or a variable; also if an explicitly named file does not exist.
pub fn load(
    flags: &Flags,
    environment: &Environment,
    folders: &Folders,
) -> Result<Settings, ConfigError> {
    let (path, named) = which_file(flags, environment, folders);
    let loaded = match file::read(&path) {
        Ok(loaded) => Some(loaded),
        Err(ConfigError::Unreadable { source, .. })
            if !named && source.kind() == std::io::ErrorKind::NotFound =>
        {
            None
        }
        Err(error) => return Err(error),
    };
    merge(loaded, path, flags, environment)
}

/// The settings to fall back on if [`load`] rejects the file: defaults, environment and flags, and
/// the vault that the file names. `None` if the vault cannot be determined.
pub fn fallback(flags: &Flags, environment: &Environment, folders: &Folders) -> Option<Settings> {
    let (path, _) = which_file(flags, environment, folders);
    let loaded = file::bytes(&path).ok().and_then(|bytes| file::read_vault_only(&bytes, &path));
    let is_named = flags.vault.is_some() || environment.get("STEWARD_VAULT").is_some();
    if loaded.is_none() && !is_named {
        return None;
    }
    merge(Some(loaded.unwrap_or_default()), path, flags, environment).ok()
}

/// Merges environment and flags into the file's settings; `file` is `None` if it does not exist.
pub fn merge(
    loaded: Option<file::Loaded>,
    path: PathBuf,
    flags: &Flags,
    environment: &Environment,
) -> Result<Settings, ConfigError> {
    let file_exists = loaded.is_some();
    let file::Loaded { mut config, set_keys, notices } = loaded.unwrap_or_default();
    let mut sources: BTreeMap<String, Source> =
        set_keys.into_iter().map(|key| (key, Source::File)).collect();

    let number = |text: &str| {
        text.parse::<u16>().map_err(|_| "expected a number from 0 to 65535".to_owned())
    };
    let port = variable(environment, "STEWARD_PORT", number)?;
    let smarthole = variable(environment, "STEWARD_SMARTHOLE_PORT", number)?;
    let level = variable(environment, "STEWARD_LOG", Level::from_str)?;
    let format = variable(environment, "STEWARD_LOG_FORMAT", FromStr::from_str)?;
    let mode = variable(environment, "STEWARD_MODE", |word| {
        Mode::parse(word).ok_or_else(|| "expected `ask`, `auto`, `plan` or `read-only`".to_owned())
    })?;
    let vault = environment.get("STEWARD_VAULT").map(PathBuf::from);
    let mut over = |key: &str, flag: Option<&'static str>, variable: Option<&'static str>| {
        if let Some(source) = flag.map(Source::Flag).or(variable.map(Source::Environment)) {
            sources.insert(key.to_owned(), source);
        }
    };
    over("server.port", flags.port.map(|_| "--port"), port.map(|_| "STEWARD_PORT"));
    over("smarthole.port", None, smarthole.map(|_| "STEWARD_SMARTHOLE_PORT"));
    over("log.level", flags.level.map(|_| "--log-level"), level.map(|_| "STEWARD_LOG"));
    over("log.format", None, format.map(|_| "STEWARD_LOG_FORMAT"));
    over("policy.mode", None, mode.map(|_| "STEWARD_MODE"));
    let by_flag = flags.vault.as_ref().map(|_| "--vault");
    over("vault.path", by_flag, vault.as_ref().map(|_| "STEWARD_VAULT"));
    if let Some(port) = flags.port.or(port) {
        config.server.port = port;
    }
    config.smarthole.port = smarthole.unwrap_or(config.smarthole.port);
    config.log.level = flags.level.or(level).or(config.log.level);
    config.policy.mode = mode.unwrap_or(config.policy.mode);
    config.log.format = format.unwrap_or(config.log.format);
    config.models.ollama =
        environment.get("OLLAMA_HOST").and_then(|host| host.to_str()).map(str::to_owned);

    let from = |path: Option<PathBuf>, origin| path.map(|path| (path, origin));
    let vault = from(flags.vault.clone(), Origin::Flag)
        .or_else(|| from(vault, Origin::Environment))
        .or_else(|| from(config.path.clone(), Origin::Config));
    Ok(Settings { config, file: path, file_exists, vault, sources, notices })
}

fn variable<T>(
    environment: &Environment,
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, ConfigError> {
    let Some(value) = environment.get(name) else { return Ok(None) };
    let parsed = value.to_str().ok_or_else(|| "expected text".to_owned()).and_then(parse);
    parsed.map(Some).map_err(|reason| ConfigError::Variable {
        name,
        value: value.to_string_lossy().into_owned(),
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(file: &str, vars: &[(&'static str, &str)], flags: &Flags) -> String {
        let place = tempfile::tempdir().unwrap();
        let vars = vars.iter().map(|(name, value)| (*name, (*value).into()));
        let environment = Environment::new(vars, Some(place.path().to_path_buf()), None);
        let folders = Folders { config: place.path().into(), state: place.path().into() };
        std::fs::write(folders.config_file(), file).unwrap();
        match load(flags, &environment, &folders) {
            Ok(s) => format!("{} {:?}", s.config.server.port, s.config.log.level),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_later_layer_wins() {
        let file = "[server]\nport = 1\n[log]\nlevel = \"error\"\n";
        let none = Flags::default();
        let flags = Flags { port: Some(3), level: Some(Level::Trace), ..Flags::default() };
        let vars = [("STEWARD_PORT", "2"), ("STEWARD_LOG", "Debug")];
        assert_eq!(settings(file, &[], &none), "1 Some(Error)");
        assert_eq!(settings(file, &vars, &none), "2 Some(Debug)");
        assert_eq!(settings(file, &vars, &flags), "3 Some(Trace)");
        assert_eq!(settings(file, &[("STEWARD_PORT", "")], &none), "1 Some(Error)");
    }

    #[test]
    fn a_bad_variable_is_named() {
        for (name, value) in [
            ("STEWARD_PORT", "65536"),
            ("STEWARD_SMARTHOLE_PORT", "no"),
            ("STEWARD_LOG", "loud"),
            ("STEWARD_LOG_FORMAT", "xml"),
            ("STEWARD_MODE", "yolo"),
        ] {
            let message = settings("", &[(name, value)], &Flags::default());
            assert!(message.contains(name) && message.contains(value), "{message}");
        }
    }
}
