//! Recording and replay of the traffic with models, so that one person can report a fault and
//! another can reproduce it.
//!
//! Each request is one file, numbered in order: the request in this room's own types, the bytes
//! sent, and every byte received, in the pieces in which it arrived. Replay passes the bytes
//! through the vendor's decoder again, so a fault in the decoder shows. A recording contains no
//! keys. It does contain the conversation and the notes that were read, so it is as private as the
//! vault; other users of the machine cannot read it. A replayed request gets the response of the
//! recorded request that is most similar, regardless of order, so a background request for a title
//! never takes a turn's answer.
//!
//! In reading order: `exchange` (the bytes), `recording`, `replay`.

mod exchange;
mod recording;
mod replay;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) use exchange::ExchangeRecorder;
pub use exchange::Tap;
pub use recording::Recording;
pub use replay::Replay;

use super::Provider;

/// Whether to record or replay the traffic.
#[derive(Debug, Clone, Default)]
pub enum Tape {
    /// No recording.
    #[default]
    Off,
    Record(Arc<Recording>),
    /// Play back a recording; ask no model.
    Replay(Arc<Replay>),
}

/// Why a recording cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// The folder or a file in it failed to open.
    #[error("could not {doing} the recording in `{}`: {source}", path.display())]
    Io {
        /// The verb: what failed.
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A file does not belong to a recording.
    #[error("`{}` is not part of a recording: {reason}", path.display())]
    Foreign { path: PathBuf, reason: String },
    /// The folder for a new recording is not empty.
    #[error("`{}` is not empty", .0.display())]
    Taken(PathBuf),
    /// The folder contains no recording.
    #[error("`{}` holds no recording", .0.display())]
    Empty(PathBuf),
}

impl TapeError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Taken(_) => "name a folder that is empty or not there yet",
            _ => "`steward serve --record FOLDER` makes a recording",
        }
    }
}

impl Tape {
    /// Records into `folder`, which is created if missing and must be empty.
    pub fn record(folder: &Path) -> Result<Self, TapeError> {
        Ok(Self::Record(Arc::new(Recording::begin(folder)?)))
    }

    pub fn replay(folder: &Path) -> Result<Self, TapeError> {
        Ok(Self::Replay(Arc::new(Replay::open(folder)?)))
    }

    /// The folder that a recording is written to.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Record(recording) => Some(recording.folder()),
            Self::Off | Self::Replay(_) => None,
        }
    }

    /// The provider that replaces all models during replay.
    pub fn player(&self) -> Option<Arc<dyn Provider>> {
        match self {
            Self::Replay(replay) => Some(replay::player(Arc::clone(replay))),
            Self::Off | Self::Record(_) => None,
        }
    }

    /// Wraps `provider` in a recorder if recording is on.
    pub fn around(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        match self {
            Self::Record(recording) => recording::recorder(Arc::clone(recording), provider),
            Self::Off | Self::Replay(_) => provider,
        }
    }
}
