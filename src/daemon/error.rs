//! Errors of starting a daemon.

use std::io;
use std::path::PathBuf;

use crate::config::folders::FolderError;
use crate::config::running::Running;
use crate::server::ServerError;

/// The reason why a daemon could not start or continue.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(
        "a daemon serves this vault already: pid {}, port {}, since {}",
        .0.pid, .0.port, .0.started_at
    )]
    AlreadyRunning(Box<Running>),
    /// Another process is starting on the vault, or changing it directly.
    #[error("another process is using this vault{}", .pid.map(|pid| format!(": pid {pid}")).unwrap_or_default())]
    Busy {
        /// Its process id, if known.
        pid: Option<u32>,
    },
    #[error("port {port} on 127.0.0.1 is in use")]
    PortInUse { port: u16 },
    /// The folders for the steward's files cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("could not open the vault: {message}")]
    Vault { message: String, hint: Option<String> },
    /// The journal cannot be used, so no change could be recorded.
    #[error("could not open the journal: {message}")]
    Journal { message: String, hint: Option<String> },
    /// The folder is empty where a vault was.
    #[error(
        "`{}` contains neither notes nor Obsidian's settings, though it was a vault before: \
         its disk seems not to be mounted", .root.display()
    )]
    NotMounted {
        root: PathBuf,
        /// The evidence that it was a vault.
        marker: PathBuf,
    },
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

/// Why the server does not listen.
pub(super) fn not_bound(error: ServerError) -> StartError {
    match error {
        ServerError::Bind { port, source } if source.kind() == io::ErrorKind::AddrInUse => {
            StartError::PortInUse { port }
        }
        error => StartError::Other(error.into()),
    }
}
