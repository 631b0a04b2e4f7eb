//! What one call told its reader of the texts of files.

use serde::{Deserialize, Serialize};

use crate::vault::VaultError;

/// What one call told a model of the text of a file. Paths are real ones; revisions are those that
/// tools give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "learnt", rename_all = "snake_case")]
pub enum Learnt {
    /// It was shown lines of it.
    Read {
        /// The file.
        path: String,
        /// The revision that they are of.
        revision: String,
        /// The first line, from 1.
        first: u64,
        /// The last line that it was shown, itself included; before the first where it was shown none.
        last: u64,
        /// Lines in the file.
        lines: u64,
    },
    /// It wrote all of it.
    Written {
        /// The file.
        path: String,
        /// The revision that it has now.
        revision: String,
    },
    /// It changed a part, and knows the rest as well as before.
    Edited {
        /// The file.
        path: String,
        /// The revision that it had.
        before: String,
        /// The revision that it has now.
        revision: String,
    },
    /// The file, or the folder with all that is in it, has another path.
    Moved {
        /// The one before.
        from: String,
        /// The one now.
        to: String,
    },
    /// There is nothing at this path any more.
    Gone {
        /// The path.
        path: String,
    },
}

impl Learnt {
    /// What a refusal tells: the file is gone, or has another name.
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
