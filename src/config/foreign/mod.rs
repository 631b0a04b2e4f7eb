//! Adds one entry to other programs' settings files and leaves every other byte unchanged.
//!
//! An edit replaces one piece of the old text ([`json`], [`toml`]). Afterwards the new text is
//! parsed again; if it does not have the intended meaning, the change is refused.

#![expect(clippy::disallowed_methods, reason = "files of other programs, outside every vault")]

mod json;
mod toml;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::change::NewVersion;

/// The largest settings file in bytes: some programs also keep other data in theirs.
const MAX_BYTES: u64 = 64 << 20;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Json,
    /// JSON with comments and trailing commas.
    LooseJson,
    Toml,
}

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    #[error("could not read `{}`: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("could not change `{}`: {reason}", path.display())]
    Unusual { path: PathBuf, reason: String },
    /// Another program changed it in the meantime.
    #[error("`{}` was changed by another program at the same time", .0.display())]
    Raced(PathBuf),
    #[error("could not write `{}`: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
}

impl ForeignError {
    /// Advice for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unusual { .. } => "fix it with an editor, or paste the entry there yourself",
            Self::Raced(_) => "close that program, then try again",
            Self::Unreadable { .. } | Self::Unwritable { .. } => "paste the entry there yourself",
        }
    }
}

/// A settings file and its content.
#[derive(Debug)]
pub struct ForeignFile {
    path: PathBuf,
    /// The path with links resolved.
    real: PathBuf,
    language: Language,
    /// The text; `None` if the file does not exist.
    before: Option<String>,
}

impl ForeignFile {
    /// Reads the file, which may be missing.
    pub fn read(path: &Path, language: Language) -> Result<Self, ForeignError> {
        let real = dunce::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let before = current(&real)
            .map_err(|source| ForeignError::Unreadable { path: path.to_path_buf(), source })?;
        Ok(Self { path: path.to_path_buf(), real, language, before })
    }

    /// The text; `None` if the file does not exist.
    pub fn text(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// Returns the text with the entry `section`.`name`, an object of strings and lists of strings.
    pub fn with(&self, section: &str, name: &str, entry: &Value) -> Result<String, ForeignError> {
        let before = self.before.as_deref().unwrap_or_default();
        let (mark, body) = match before.strip_prefix('\u{feff}') {
            Some(body) => ("\u{feff}", body),
            None => ("", before),
        };
        let edited = match self.language {
            Language::Json => json::with(body, section, name, entry, false),
            Language::LooseJson => json::with(body, section, name, entry, true),
            Language::Toml => toml::with(body, section, name, entry),
        };
        let edited =
            edited.map_err(|reason| ForeignError::Unusual { path: self.path.clone(), reason })?;
        Ok(format!("{mark}{edited}"))
    }

    /// Returns the text of a TOML file without the section `section`.`name`.
    pub fn without(&self, section: &str, name: &str) -> Result<String, ForeignError> {
        let edited = toml::without(self.before.as_deref().unwrap_or_default(), section, name);
        edited.map_err(|reason| ForeignError::Unusual { path: self.path.clone(), reason })
    }

    /// Replaces the file with `text` atomically.
    pub fn save(&self, text: &str) -> Result<(), ForeignError> {
        let unwritable = |source| ForeignError::Unwritable { path: self.path.clone(), source };
        if let Some(folder) = self.real.parent() {
            std::fs::create_dir_all(folder).map_err(unwritable)?;
        }
        let new_version = NewVersion::write(&self.real, text.as_bytes()).map_err(unwritable)?;
        match current(&self.real) {
            Ok(now) if now == self.before => new_version.replace(&self.real).map_err(unwritable),
            _ => Err(ForeignError::Raced(self.path.clone())),
        }
    }
}

/// The content of a settings file as a value.
pub fn value(path: &Path, language: Language) -> Result<Value, ForeignError> {
    let unreadable = |source| ForeignError::Unreadable { path: path.to_path_buf(), source };
    let text = current(path).map_err(unreadable)?;
    let text = text.ok_or_else(|| unreadable(io::ErrorKind::NotFound.into()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let value = match language {
        Language::Json => serde_json::from_str(text).map_err(|error| error.to_string()),
        Language::LooseJson => json::loose_value(text),
        Language::Toml => ::toml::from_str(text).map_err(|error| error.message().to_owned()),
    };
    value.map_err(|reason| unreadable(io::Error::other(reason)))
}

fn current(path: &Path) -> io::Result<Option<String>> {
    let meta = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        meta => meta?,
    };
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if meta.len() > MAX_BYTES {
        return Err(io::Error::other("it is over 64 MiB, so it cannot be settings"));
    }
    std::fs::read_to_string(path).map(Some)
}
