//! Where deleted things are.

use std::path::PathBuf;

use crate::note::path::VaultPath;
use crate::vault::dir::Meta;
use crate::vault::temp::{random_tag, temp_name};

/// Where a deleted thing went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trashed {
    /// Under this path in the vault, below `.trash/`. `instead` says why it is not in the system's
    /// trash where Obsidian would have put it there.
    Local {
        /// Its path now.
        path: VaultPath,
        /// Why the system's trash was not used, if it should have been.
        instead: Option<String>,
    },
    /// In the system's trash.
    System {
        /// Where on this machine, as far as the system tells.
        place: Option<PathBuf>,
    },
    /// In the steward's own folder, because the vault keeps no trash.
    Kept {
        /// Where on this machine.
        place: PathBuf,
    },
}

impl Trashed {
    /// Where a file below a deleted folder lies.
    pub fn below(&self, file: &str) -> Option<Self> {
        let mut names = file.split('/');
        Some(match self {
            Self::Local { path, .. } => {
                let path = names.try_fold(path.clone(), |at, name| at.join(name))?;
                Self::Local { path, instead: None }
            }
            Self::System { place } => Self::System { place: Some(place.as_ref()?.join(file)) },
            Self::Kept { place } => Self::Kept { place: place.join(file) },
        })
    }
}

/// A thing found in a trash.
#[derive(Debug, Clone)]
pub struct InTrash {
    pub place: Trashed,
    /// What the file system says of it.
    pub meta: Meta,
    /// The newest change of it and of all that is in it, its coming there included where the system
    /// notes that: nanoseconds since the Unix epoch. `None` if it cannot be looked through.
    pub touched: Option<i64>,
}

impl InTrash {
    /// When it came there, or was changed there since, where the system tells: nanoseconds since
    /// the Unix epoch.
    pub fn since(&self) -> Option<i64> {
        // Elsewhere a file says when it was written, which may be long before it was deleted.
        self.touched.filter(|_| cfg!(unix))
    }
}

/// The names that a deletion into the steward's own keeping uses, chosen beforehand so that what a
/// crash leaves can be found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeping {
    /// The folder in the keeping that is made for it.
    pub folder: String,
    /// The hidden name that it has in the vault while it is carried to another disk.
    pub aside: String,
    /// Whether it comes here whatever trash the vault's settings name.
    pub past_trash: bool,
}

impl Keeping {
    /// Names that nothing has.
    pub fn new() -> Self {
        let time = chrono::Utc::now().format("%Y%m%dT%H%M%SZ");
        Self { folder: format!("{time}-{}", random_tag()), aside: temp_name(), past_trash: false }
    }
}

impl Default for Keeping {
    fn default() -> Self {
        Self::new()
    }
}
