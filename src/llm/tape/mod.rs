//! The traffic with models, recorded and played back: so that somebody can report a fault, and
//! somebody else can see it.
//!
//! One file a request, numbered in the order in which they were made: what was asked, in this room's own
//! terms and as it was sent, and every byte of what came back in the pieces in which it came. Played
//! back, the bytes go through the vendor's reader as they did then, so that a fault in it shows. Keys
//! are no part of a recording. What was said and read is, so it is as private as the vault, and closed
//! to other users of the machine. A request gets what came of the one it is most like, whatever
//! was asked in between: a title that is asked for in the background takes no turn's answer.
//!
//! In reading order: `exchange` (the bytes), `recording`, `playing`.

mod exchange;
mod playing;
mod recording;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) use exchange::Hearing;
pub use exchange::Tap;
pub use playing::Replaying;
pub use recording::Recording;

use super::Provider;

/// What is done with the traffic.
#[derive(Debug, Clone, Default)]
pub enum Tape {
    /// Nothing.
    #[default]
    Off,
    Record(Arc<Recording>),
    /// It is played back, and no model is asked.
    Replay(Arc<Replaying>),
}

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// The folder or a file in it cannot be used.
    #[error("could not {doing} the recording in `{}`: {source}", place.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        place: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is no part of a recording.
    #[error("`{}` is no part of a recording: {reason}", place.display())]
    Foreign {
        place: PathBuf,
        /// Why not.
        reason: String,
    },
    /// There is something in the folder already.
    #[error("`{}` is not empty", .0.display())]
    Taken(PathBuf),
    /// There is nothing in it.
    #[error("`{}` holds no recording", .0.display())]
    Empty(PathBuf),
}

impl TapeError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Taken(_) => "name a folder that is empty or not there yet",
            _ => "`steward serve --record FOLDER` makes a recording",
        }
    }
}

impl Tape {
    /// Records into `folder`, which is made if need be and must be empty.
    pub fn record(folder: &Path) -> Result<Self, TapeError> {
        Ok(Self::Record(Arc::new(Recording::begin(folder)?)))
    }

    /// Plays back what was recorded in `folder`.
    pub fn replay(folder: &Path) -> Result<Self, TapeError> {
        Ok(Self::Replay(Arc::new(Replaying::open(folder)?)))
    }

    /// The folder that is written to.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Record(recording) => Some(recording.folder()),
            Self::Off | Self::Replay(_) => None,
        }
    }

    /// What is asked instead of any model, where a recording is played back.
    pub fn player(&self) -> Option<Arc<dyn Provider>> {
        match self {
            Self::Replay(replaying) => Some(playing::player(Arc::clone(replaying))),
            Self::Off | Self::Record(_) => None,
        }
    }

    /// `provider`, recorded where that is wanted.
    pub fn around(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        match self {
            Self::Record(recording) => recording::recorder(Arc::clone(recording), provider),
            Self::Off | Self::Replay(_) => provider,
        }
    }
}
