//! Where deleted entries are.

use std::path::PathBuf;

use crate::note::path::VaultPath;
use crate::vault::dir::Meta;
use crate::vault::temp::{random_tag, temp_name};

/// Where a deleted entry is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trashed {
    /// In the vault's `.trash/`.
    Local {
        path: VaultPath,
        /// Why it is not in the system's trash, if the vault's settings ask for that.
        instead: Option<String>,
    },
    System {
        /// The absolute path, if the system tells.
        place: Option<PathBuf>,
    },
    /// In the steward's `kept/` folder, because the vault has no trash.
    Kept { place: PathBuf },
}

impl Trashed {
    /// The location of a file below a deleted folder.
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

#[derive(Debug, Clone)]
pub struct TrashEntry {
    pub place: Trashed,
    pub meta: Meta,
    /// The newest change of it and of its content, in nanoseconds since the Unix epoch; on Unix
    /// this includes the deletion. `None` if the content cannot be listed.
    pub touched: Option<i64>,
}

impl TrashEntry {
    /// When it was deleted, or last changed in the trash, in nanoseconds since the Unix epoch.
    pub fn since(&self) -> Option<i64> {
        // Without ctime only the last write is known, which may be long before the deletion.
        self.touched.filter(|_| cfg!(unix))
    }
}

/// Names for a deletion into the steward's `kept/` folder, chosen and recorded beforehand so that
/// the entry can be found after a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeping {
    /// The new folder in `kept/`.
    pub folder: String,
    /// The temporary name in the vault during a move to another disk.
    pub aside: String,
    /// Whether to delete into `kept/` with any `trashOption` of the vault.
    pub past_trash: bool,
}

impl Keeping {
    /// With new, unused names.
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
