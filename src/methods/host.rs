//! Requests to the program that has the vault open (the host). The disk decides whether a request
//! succeeded, not the host's answer.
//!
//! The steward moves and deletes through the journal, whether or not Obsidian is running, so that
//! everything is recorded and undoable. Obsidian's own operations are only for a person who asks
//! for them.

use std::sync::OnceLock;
use std::time::Duration;

use super::policy;
use crate::calls::Calls;
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::host::{
    ActiveNote, HostActiveNoteParams, HostActiveNoteResult, HostNoticeParams, HostNoticeResult,
    HostOpenParams, HostOpenResult, HostOperation, HostRenameParams, HostRenameResult,
    HostRequestParams, HostRequestResult, HostTrashParams, HostTrashResult,
};
use crate::server::hosts::{HostError, Hosts};
use crate::tools::{Host, OpenNote, ToolError};
use crate::vault::{Cancel, TrashOption, Vault, VaultError, Want};

/// The time limit for the host to say which note is open.
const ACTIVE_NOTE_TIMEOUT: Duration = Duration::from_secs(2);
/// The time limit for opening a note or showing a notice.
const SHOW_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit for trashing or renaming, links included.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The most characters of a notice.
const NOTICE: usize = 1_000;
/// The most seconds that a notice stays.
const NOTICE_SECONDS: u32 = 60;

/// The connection to the host; empty until the server has started.
#[derive(Debug, Default)]
pub struct HostDoor(OnceLock<Hosts>);

impl HostDoor {
    /// Connects to the server's hosts.
    pub fn open(&self, hosts: Hosts) {
        let _ = self.0.set(hosts);
    }

    fn hosts(&self) -> Option<&Hosts> {
        self.0.get()
    }

    /// The open note that the host last reported; sends no request. `None` if no host is connected.
    pub fn known(&self) -> Option<Option<String>> {
        self.hosts()?.open_note()
    }
}

impl Host for HostDoor {
    fn can_open(&self) -> bool {
        self.hosts().is_some_and(|hosts| hosts.can(HostOperation::Open))
    }

    fn open_note(&self, cancel: &Cancel) -> Option<Option<OpenNote>> {
        let hosts = self.hosts().filter(|hosts| hosts.can(HostOperation::ActiveNote))?;
        match active_note(hosts, cancel) {
            Ok((_, note)) => Some(note.map(|note| {
                OpenNote {
                    path: note.path,
                    line: note.line,
                    selection: note
                        .selection
                        .map(|selected| (selected.text, selected.start_line, selected.end_line)),
                }
            })),
            Err(error) => {
                tracing::info!(%error, "the workspace file is asked for the open note instead");
                None
            }
        }
    }

    fn open(
        &self,
        path: &VaultPath,
        line: Option<u32>,
        cancel: &Cancel,
    ) -> Result<Option<String>, ToolError> {
        let unavailable = HostError::Unavailable { operation: HostOperation::Open };
        let hosts = self.hosts().ok_or_else(|| for_tools(&unavailable))?;
        let opened = open(hosts, path, line, cancel).map_err(|error| for_tools(&error))?;
        Ok(opened.1)
    }
}

fn active_note(hosts: &Hosts, cancel: &Cancel) -> Result<(String, Option<ActiveNote>), HostError> {
    let params = |call| HostActiveNoteParams { call };
    let answer = hosts.ask(HostOperation::ActiveNote, ACTIVE_NOTE_TIMEOUT, cancel, params)?;
    let (client, HostActiveNoteResult { note }) = answer;
    Ok((client, note))
}

fn open(
    hosts: &Hosts,
    path: &VaultPath,
    line: Option<u32>,
    cancel: &Cancel,
) -> Result<(String, Option<String>), HostError> {
    let path = path.as_str().to_owned();
    let params = |call| HostOpenParams { call, path, line };
    let answer = hosts.ask(HostOperation::Open, SHOW_TIMEOUT, cancel, params)?;
    let (client, HostOpenResult { path }) = answer;
    Ok((client, path))
}

/// Sends a request for a person's program; may block.
///
/// # Errors
/// Kinds `host_unavailable`, `invalid_params`, `failed`, `timeout` if it is unknown what was done,
/// and `cancelled`.
pub fn request(
    calls: &Calls,
    hosts: &Hosts,
    params: HostRequestParams,
    cancel: &Cancel,
) -> Result<HostRequestResult> {
    let vault = &calls.context().vault;
    match params {
        HostRequestParams::ActiveNote => {
            let (client, note) = active_note(hosts, cancel)?;
            Ok(HostRequestResult { client, note, done: None })
        }
        HostRequestParams::Open { path, line } => {
            let found = vault.resolve(&path, Want::File).map_err(|error| invalid_path(&error))?;
            let opened = open(hosts, &found.path, line, cancel)?;
            let (client, path) = opened;
            let note = path.map(|path| ActiveNote { path, ..ActiveNote::default() });
            Ok(HostRequestResult { client, note, done: None })
        }
        HostRequestParams::Notice { text, seconds } => {
            let text: String = text.trim().chars().take(NOTICE).collect();
            if text.is_empty() {
                return Err(ErrorObject::new(Kind::InvalidParams, "the notice is empty"));
            }
            let seconds = seconds.map(|seconds| seconds.clamp(1, NOTICE_SECONDS));
            let params = |call| HostNoticeParams { call, text, seconds };
            let answer = hosts.ask(HostOperation::Notice, SHOW_TIMEOUT, cancel, params);
            let (client, HostNoticeResult { shown }) = answer?;
            Ok(HostRequestResult { client, note: None, done: Some(shown) })
        }
        HostRequestParams::Trash { path } => {
            policy::may_change(calls)?;
            let path = there(vault, &path)?;
            if vault.obsidian().trash == TrashOption::None {
                let message = "Obsidian is set to delete permanently, without a trash";
                return Err(ErrorObject::new(Kind::InvalidParams, message)
                    .hint("the tool `delete` keeps a copy"));
            }
            let name = path.as_str().to_owned();
            let params = |call| HostTrashParams { call, path: name };
            let answer = hosts.ask::<_, HostTrashResult>(
                HostOperation::Trash,
                CHANGE_TIMEOUT,
                cancel,
                params,
            );
            let is_gone = || !is_there(vault, &path);
            result_by_disk(
                answer.map(|(client, _)| client),
                is_gone,
                &format!("`{path}` is still there"),
            )
        }
        HostRequestParams::Rename { path, to } => {
            policy::may_change(calls)?;
            let path = there(vault, &path)?;
            let to = free(vault, &path, &to)?;
            if !vault.obsidian().always_update_links {
                let message = "Obsidian is set to ask before it updates links, and would wait for \
                               somebody to answer";
                return Err(ErrorObject::new(Kind::InvalidParams, message)
                    .hint("the tool `move` lets links follow without asking"));
            }
            let (from, name) = (path.as_str().to_owned(), to.as_str().to_owned());
            let params = |call| HostRenameParams { call, path: from, to: name };
            let answer = hosts.ask::<_, HostRenameResult>(
                HostOperation::Rename,
                CHANGE_TIMEOUT,
                cancel,
                params,
            );
            let is_moved = || is_there(vault, &to) && !is_there(vault, &path);
            let not = format!("`{path}` still has this name");
            result_by_disk(answer.map(|(client, _)| client), is_moved, &not)
        }
    }
}

/// The result of a change: the disk decides, not the host's answer.
fn result_by_disk(
    answer: Result<String, HostError>,
    is_done: impl Fn() -> bool,
    not: &str,
) -> Result<HostRequestResult> {
    let done = |client| Ok(HostRequestResult { client, note: None, done: Some(true) });
    match answer {
        Ok(client) if is_done() => done(client),
        Ok(client) => Err(ErrorObject::new(
            Kind::Failed,
            format!("`{client}` says that it is done, but {not}"),
        )),
        // The answer was lost, or refused after the change.
        Err(HostError::Unknown { client } | HostError::Refused { client, .. }) if is_done() => {
            done(client)
        }
        Err(error @ HostError::Unknown { .. }) => {
            let message = format!("{error}, and {not}");
            Err(ErrorObject::new(Kind::Timeout, message)
                .hint("it may still be done; check before you ask again"))
        }
        Err(error) => Err(error.into()),
    }
}

/// The path of an existing, visible file or folder, spelt exactly so.
fn there(vault: &Vault, path: &str) -> Result<VaultPath> {
    let asked = vault.parse(path).map_err(|error| invalid_path(&error))?;
    let found = vault.resolve(path, Want::Entry).map_err(|error| invalid_path(&error))?.path;
    if found != asked || found.is_root() {
        let message = format!("there is no `{asked}`");
        return Err(
            ErrorObject::new(Kind::InvalidParams, message).hint(format!("did you mean `{found}`?"))
        );
    }
    Ok(found)
}

/// A path for something new; fails if anything else is there.
fn free(vault: &Vault, path: &VaultPath, to: &str) -> Result<VaultPath> {
    let to = vault.parse(to).map_err(|error| invalid_path(&error))?;
    match vault.resolve(to.as_str(), Want::Entry) {
        Ok(found) if found.path == to || found.path != *path => {
            let message = format!("`{}` already exists", found.path);
            Err(ErrorObject::new(Kind::InvalidParams, message).hint("choose another name"))
        }
        Ok(_) => Ok(to),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(to),
        Err(error) => Err(invalid_path(&error)),
    }
}

/// Whether something exists at exactly this path on the disk.
fn is_there(vault: &Vault, path: &VaultPath) -> bool {
    vault.resolve(path.as_str(), Want::Entry).is_ok_and(|found| found.path == *path)
}

fn invalid_path(error: &VaultError) -> ErrorObject {
    ErrorObject::new(Kind::InvalidParams, error.to_string()).maybe_hint(error.hint())
}

const CONNECT: &str = "it is there while Obsidian is open with the Vault Steward plugin";
const MAYBE: &str = "it may have been done nevertheless";

impl From<HostError> for ErrorObject {
    fn from(error: HostError) -> Self {
        let (kind, hint) = match &error {
            HostError::Unavailable { .. } => (Kind::HostUnavailable, CONNECT),
            HostError::Unknown { .. } => (Kind::Timeout, MAYBE),
            HostError::Cancelled => (Kind::Cancelled, MAYBE),
            HostError::Refused { .. } | HostError::Nonsense { .. } => {
                (Kind::Failed, "try it in Obsidian itself")
            }
        };
        ErrorObject::new(kind, error.to_string()).hint(hint)
    }
}

fn for_tools(error: &HostError) -> ToolError {
    let (code, hint) = match error {
        HostError::Unavailable { .. } => (ErrorCode::HostUnavailable, CONNECT),
        HostError::Unknown { .. } => (ErrorCode::Timeout, MAYBE),
        HostError::Cancelled => (ErrorCode::Cancelled, MAYBE),
        HostError::Refused { .. } | HostError::Nonsense { .. } => {
            (ErrorCode::IoError, "say the note's name instead")
        }
    };
    ToolError::new(code, error.to_string(), hint)
}
