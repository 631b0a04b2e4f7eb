//! The read set of a call: the texts of files that it revealed to a model.

use serde::{Deserialize, Serialize};

use crate::vault::VaultError;

/// The part of a file's text that a call revealed. Paths are real paths; revisions are those in
/// tools' answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "learnt", rename_all = "snake_case")]
pub enum ReadUpdate {
    /// Lines were shown.
    Read {
        path: String,
        revision: String,
        /// The first line, from 1.
        first: u64,
        /// The last line shown, inclusive; less than the first if none was shown.
        last: u64,
        lines: u64,
    },
    /// The model wrote the whole file.
    Written {
        path: String,
        revision: String,
    },
    /// The model changed a part; its knowledge of the rest is unchanged.
    Edited {
        path: String,
        /// The old revision.
        before: String,
        revision: String,
    },
    /// A file or folder was moved.
    Moved {
        from: String,
        to: String,
    },
    Gone {
        path: String,
    },
}

impl ReadUpdate {
    /// The information in an error: the file is gone, or was renamed.
    pub(super) fn of_refusal(error: &VaultError) -> Option<Self> {
        match error {
            VaultError::Stale { path, current: None } => {
                Some(Self::Gone { path: path.as_str().to_owned() })
            }
            VaultError::Renamed { path, now } => {
                let (from, to) = (path.as_str().to_owned(), now.as_str().to_owned());
                Some(Self::Moved { from, to })
            }
            _ => None,
        }
    }
}
