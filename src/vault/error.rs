//! Errors of the vault, with messages and hints for people and models.

use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::dir::{Kind, is_absence};
use crate::note::code::ErrorCode;
use crate::note::names::NameFault;
use crate::note::path::{PathError, VaultPath};

/// The `fault`s of [`VaultError::BrokenLink`].
pub(super) const DEAD_END: &str = "leads to nothing";
pub(super) const CIRCLE: &str = "leads in a circle";

/// An error of the vault. [`code`](Self::code) is stable, `Display` says what happened,
/// [`hint`](Self::hint) what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    #[error(transparent)]
    Path(#[from] PathError),
    /// A new name that is invalid in Obsidian or on a desktop system.
    #[error("`{path}` cannot be made: {fault}")]
    Name { path: String, fault: NameFault },
    #[error("`{path}` does not exist in the vault")]
    NotFound {
        path: VaultPath,
        /// Up to five similar paths that exist, best first.
        near: Vec<VaultPath>,
    },
    #[error("`{path}` is not on this machine: iCloud keeps it and has not downloaded it")]
    NotDownloaded { path: VaultPath },
    #[error("`{path}` could be any of {}", list(candidates))]
    Ambiguous { path: VaultPath, candidates: Vec<VaultPath> },
    #[error("`{path}` is off limits: `{folder}` is protected because {reason}")]
    Protected { path: String, folder: String, reason: String },
    #[error("`{path}` leads out of the vault: `{link}` is a link to {target}")]
    LinkOutside { path: VaultPath, link: VaultPath, target: String },
    #[error("`{path}` cannot be followed: the link `{link}` {fault}")]
    BrokenLink { path: VaultPath, link: VaultPath, fault: &'static str },
    #[error("`{path}` already exists")]
    AlreadyExists { path: VaultPath },
    #[error("`{path}` is a {}, not a file", kind.word())]
    NotAFile { path: VaultPath, kind: Kind },
    #[error("`{path}` is a {}, not a folder", kind.word())]
    NotAFolder { path: VaultPath, kind: Kind },
    /// The file exceeds a limit; both in bytes.
    #[error("`{path}` has {size} bytes; the limit is {limit}")]
    TooLarge { path: VaultPath, size: u64, limit: u64 },
    /// The file changed since the caller read it.
    #[error("`{path}` has changed since it was read")]
    Stale {
        path: VaultPath,
        /// The revision it has now; `None` if it is gone.
        current: Option<super::Revision>,
    },
    /// The file was renamed since the caller read it.
    #[error("`{path}` was renamed since it was read: it is `{now}` now")]
    Renamed { path: VaultPath, now: VaultPath },
    /// Another program writes the file again and again.
    #[error("`{path}` keeps changing while it is being saved")]
    Busy { path: VaultPath },
    #[error("`{from}` cannot be moved into itself")]
    IntoItself { from: VaultPath },
    #[error("`{path}` is read-only")]
    ReadOnly { path: VaultPath },
    /// A rename to another disk, such as one mounted inside the vault.
    #[error("could not {action} `{path}`: it would have to go to another disk")]
    OtherDisk { action: &'static str, path: VaultPath },
    /// The vault's folder is missing, or an empty one is in its place.
    #[error("the vault at `{}` is gone", root.display())]
    Gone { root: PathBuf },
    /// Another folder took the vault's path, and this confined process cannot write to it.
    #[error("the folder at `{}` was replaced after the steward started, which may not write to the new one", root.display())]
    Replaced { root: PathBuf },
    #[error("could not {action} `{path}`")]
    Io {
        action: &'static str,
        path: String,
        #[source]
        source: io::Error,
    },
}

impl VaultError {
    /// Converts an error of the system; `action` follows "could not".
    pub(super) fn io(action: &'static str, path: &VaultPath, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path: path.clone(), near: Vec::new() },
            io::ErrorKind::AlreadyExists => Self::AlreadyExists { path: path.clone() },
            io::ErrorKind::IsADirectory => {
                Self::NotAFile { path: path.clone(), kind: Kind::Folder }
            }
            io::ErrorKind::CrossesDevices => Self::OtherDisk { action, path: path.clone() },
            _ => Self::Io { action, path: path.to_string(), source },
        }
    }

    pub(super) fn broken_link(path: &VaultPath, link: &VaultPath, fault: &'static str) -> Self {
        Self::BrokenLink { path: path.clone(), link: link.clone(), fault }
    }

    /// Whether this means that the path does not exist. Other errors do not tell.
    pub fn is_absence(&self) -> bool {
        match self {
            Self::NotFound { .. } => true,
            Self::Io { source, .. } => is_absence(source),
            _ => false,
        }
    }

    /// Stable, for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Path(PathError::Outside { .. }) | Self::LinkOutside { .. } => {
                ErrorCode::OutsideVault
            }
            Self::Path(PathError::Invalid { .. }) | Self::Name { .. } => ErrorCode::InvalidPath,
            Self::NotFound { .. } | Self::NotDownloaded { .. } | Self::BrokenLink { .. } => {
                ErrorCode::NotFound
            }
            Self::Ambiguous { .. } => ErrorCode::AmbiguousPath,
            Self::Protected { .. } => ErrorCode::ProtectedPath,
            Self::AlreadyExists { .. } => ErrorCode::AlreadyExists,
            Self::NotAFile { .. } => ErrorCode::NotAFile,
            Self::NotAFolder { .. } => ErrorCode::NotAFolder,
            Self::TooLarge { .. } => ErrorCode::TooLarge,
            Self::Stale { .. } | Self::Renamed { .. } | Self::Busy { .. } => {
                ErrorCode::StaleRevision
            }
            Self::IntoItself { .. } => ErrorCode::InvalidInput,
            Self::ReadOnly { .. } => ErrorCode::PermissionDenied,
            Self::OtherDisk { .. } | Self::Gone { .. } | Self::Replaced { .. } => {
                ErrorCode::IoError
            }
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    ErrorCode::PermissionDenied
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorCode::StorageFull,
                io::ErrorKind::Unsupported => ErrorCode::NotAFile,
                _ => ErrorCode::IoError,
            },
        }
    }

    /// What to do next, without a full stop.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Path(PathError::Outside { .. }) => {
                "give a path inside the vault, relative to its root".to_owned()
            }
            Self::Path(PathError::Invalid { .. }) => return None,
            Self::Name { fault, .. } => {
                format!("try `{}`", fault.suggestion)
            }
            Self::NotFound { near, .. } if near.is_empty() => {
                "list_files shows what is there".to_owned()
            }
            Self::NotFound { near, .. } => format!("did you mean {}?", list(near)),
            Self::NotDownloaded { .. } => "open it once in the Finder, then try again".to_owned(),
            Self::Ambiguous { .. } => "give one of these exactly".to_owned(),
            Self::Protected { .. } => "leave this folder alone; nothing in it is a note".to_owned(),
            Self::LinkOutside { .. } => {
                "use a path inside the vault; links that leave it are never followed"
                    .to_owned()
            }
            Self::BrokenLink { .. } => "delete the link or give the real path".to_owned(),
            Self::AlreadyExists { .. } => "choose another name".to_owned(),
            Self::NotAFile { kind: Kind::Folder, path } => {
                format!("list_files with path `{path}` shows what is in it")
            }
            Self::NotAFile { .. } => "only regular files can be opened".to_owned(),
            Self::NotAFolder { .. } => "give the folder's path".to_owned(),
            Self::TooLarge { .. } => {
                "search_files finds text in it without reading it whole".into()
            }
            Self::Stale { current: Some(_), .. } => {
                "read it again and repeat the change on its present text".to_owned()
            }
            Self::Stale { current: None, .. } => {
                "write it again if you still want it; it was removed meanwhile".to_owned()
            }
            Self::Renamed { now, .. } => format!("repeat the change on `{now}`"),
            Self::Busy { .. } => "wait until the other program is done, then try again".to_owned(),
            Self::IntoItself { .. } => "choose a destination outside it".to_owned(),
            Self::ReadOnly { .. } => "make it writable first if it is meant to change".to_owned(),
            Self::OtherDisk { .. } => {
                "it is where it was; write its text at the new place, or move it with the system's \
                 own tools"
                    .to_owned()
            }
            Self::Gone { .. } => {
                "put the folder back or mount it; nothing is written until then".to_owned()
            }
            Self::Replaced { .. } => {
                "restart the steward; until then the vault can only be read".to_owned()
            }
            Self::Io { source, .. } if too_many_open(source) => {
                "too many files are open: raise the limit (`ulimit -n`), or change \
                 fewer files at a time; nothing was changed"
                    .to_owned()
            }
            Self::Io { source, .. } if is_held(source) => {
                "another program has it open, or something in it: close that there, then try again; \
                 nothing was changed"
                    .to_owned()
            }
            Self::Io { source, .. } => match self.code() {
                ErrorCode::StorageFull => "free some space; the file is unchanged".to_owned(),
                ErrorCode::PermissionDenied if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                    "the disk is mounted read-only: mount it so that it can be written; nothing was \
                     changed"
                        .to_owned()
                }
                ErrorCode::PermissionDenied if cfg!(windows) => {
                    "check the permissions of the file and its folder, and that no other program has \
                     it open, or something in it; it is unchanged"
                        .to_owned()
                }
                ErrorCode::PermissionDenied => {
                    "check the permissions of the file and its folder; it is unchanged".to_owned()
                }
                ErrorCode::NotAFile => "only regular files can be opened".to_owned(),
                _ => format!("the system says: {source}; nothing was changed"),
            },
        };
        Some(hint)
    }

    pub fn data(&self) -> Option<Value> {
        Some(match self {
            Self::NotFound { near, .. } if !near.is_empty() => json!({ "near": texts(near) }),
            Self::Ambiguous { candidates, .. } => json!({ "candidates": texts(candidates) }),
            Self::Stale { current, .. } => {
                json!({ "revision": current.map(|revision| revision.to_string()) })
            }
            Self::Renamed { now, .. } => json!({ "now": now.as_str() }),
            Self::TooLarge { size, limit, .. } => json!({ "size": size, "limit": limit }),
            Self::Protected { folder, .. } => json!({ "folder": folder }),
            _ => return None,
        })
    }
}

/// Whether the limit of open files was reached, of this process or of the system.
fn too_many_open(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let found = error.raw_os_error();
        [Errno::MFILE, Errno::NFILE].iter().any(|errno| found == Some(errno.raw_os_error()))
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// Whether another program has it open and does not share it.
fn is_held(error: &io::Error) -> bool {
    // ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION
    cfg!(windows) && matches!(error.raw_os_error(), Some(32 | 33))
}

fn texts(paths: &[VaultPath]) -> Vec<&str> {
    paths.iter().map(VaultPath::as_str).collect()
}

/// The first ten paths, quoted, for a sentence.
fn list(paths: &[VaultPath]) -> String {
    let mut text =
        paths.iter().take(10).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    if paths.len() > 10 {
        text.push_str(&format!(" and {} more", paths.len() - 10));
    }
    text
}
