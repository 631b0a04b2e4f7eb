//! The settings of the log.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The `[log]` section.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The least severe messages to write. Default: `info` for `steward serve`, `warn` for all
    /// other commands.
    pub level: Option<Level>,
    pub format: Format,
}

/// The severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(clap::ValueEnum)]
pub enum Level {
    /// Nothing.
    Off,
    /// Failures.
    Error,
    /// Potential problems.
    Warn,
    /// Events: started, stopped, which files changed. May name files, but never contains note text
    /// or a token.
    Info,
    /// Details for troubleshooting.
    Debug,
    /// Everything.
    Trace,
}

// The word in the file and on the command line.
words!(pub Level::word, ALL {
    Off => "off", Error => "error", Warn => "warn", Info => "info", Debug => "debug",
    Trace => "trace",
});

impl FromStr for Level {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|level| level.word().eq_ignore_ascii_case(word))
            .ok_or_else(|| "expected off, error, warn, info, debug or trace".to_owned())
    }
}

/// The format of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Text for people.
    #[default]
    Human,
    /// One JSON object per line.
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
