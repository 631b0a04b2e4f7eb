//! Settings files of other programs: one entry is put into them, and every other byte stays.
//!
//! What is written is the old text with one piece of it replaced ([`json`], [`toml`]). Afterwards the new text is
//! read again and must say what was meant, or the change is refused.

#![expect(clippy::disallowed_methods, reason = "files of other programs, outside every vault")]

mod json;
mod toml;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::change::Beside;

/// Bytes of the largest file that is taken for settings: some programs keep much beside them.
const MAX_BYTES: u64 = 64 << 20;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Json,
    /// JSON in which comments and commas at the end may stand.
    LooseJson,
    Toml,
}

/// Why a file was not changed; it is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// It cannot be read.
    #[error("could not read `{}`: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is not in its language.
    #[error("could not change `{}`: {reason}", path.display())]
    Unusual {
        path: PathBuf,
        /// What is in the way.
        reason: String,
    },
    /// Another program changed it at the same time.
    #[error("`{}` was changed by another program at the same time", .0.display())]
    Raced(PathBuf),
    /// It cannot be written.
    #[error("could not write `{}`: {source}", path.display())]
    Unwritable {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ForeignError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unusual { .. } => "mend it with an editor, or paste the entry there yourself",
            Self::Raced(_) => "close that program, then try again",
            Self::Unreadable { .. } | Self::Unwritable { .. } => "paste the entry there yourself",
        }
    }
}

/// A settings file as it was read.
#[derive(Debug)]
pub struct ForeignFile {
    path: PathBuf,
    /// What a link at its path leads to.
    real: PathBuf,
    language: Language,
    /// `None` where it is missing.
    before: Option<String>,
}

impl ForeignFile {
    /// Reads the file, which need not be there.
    ///
    /// # Errors
    /// [`ForeignError::Unreadable`].
    pub fn read(path: &Path, language: Language) -> Result<Self, ForeignError> {
        let real = dunce::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let before = current(&real)
            .map_err(|source| ForeignError::Unreadable { path: path.to_path_buf(), source })?;
        Ok(Self { path: path.to_path_buf(), real, language, before })
    }

    /// Its text; `None` where it is missing.
    pub fn text(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// Its text with the entry `section`.`name`, an object of texts and lists of texts.
    ///
    /// # Errors
    /// [`ForeignError::Unusual`].
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

    /// Puts `text` in its place, whole or not at all.
    ///
    /// # Errors
    /// [`ForeignError::Raced`], [`ForeignError::Unwritable`].
    pub fn save(&self, text: &str) -> Result<(), ForeignError> {
        let unwritable = |source| ForeignError::Unwritable { path: self.path.clone(), source };
        if let Some(folder) = self.real.parent() {
            std::fs::create_dir_all(folder).map_err(unwritable)?;
        }
        let beside = Beside::write(&self.real, text.as_bytes()).map_err(unwritable)?;
        match current(&self.real) {
            Ok(now) if now == self.before => beside.put(&self.real).map_err(unwritable),
            _ => Err(ForeignError::Raced(self.path.clone())),
        }
    }
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
