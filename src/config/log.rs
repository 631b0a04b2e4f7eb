//! How much is logged, and in which form.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The `[log]` section.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The least serious messages that are still written; unset is `info` for `steward serve` and
    /// `warn` for every other command.
    pub level: Option<Level>,
    /// How a line is written.
    pub format: Format,
}

/// How serious a message must be to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(clap::ValueEnum)]
pub enum Level {
    /// Nothing.
    Off,
    /// What failed.
    Error,
    /// What may go wrong later.
    Warn,
    /// What happened: started, stopped, which files were changed. May name files; never note
    /// contents, never a token.
    Info,
    /// What is needed to find a fault.
    Debug,
    /// Everything.
    Trace,
}

impl Level {
    /// The word for it, as in the file and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        [Self::Off, Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace]
            .into_iter()
            .find(|level| level.word().eq_ignore_ascii_case(word))
            .ok_or_else(|| "expected off, error, warn, info, debug or trace".to_owned())
    }
}

/// How a log line is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For people.
    #[default]
    Human,
    /// One JSON object a line.
    Json,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word.to_ascii_lowercase().as_str() {
            "human" => Ok(Self::Human),
            "json" => Ok(Self::Json),
            _ => Err("expected human or json".to_owned()),
        }
    }
}
