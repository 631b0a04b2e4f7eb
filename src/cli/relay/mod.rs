//! Shared by the commands that relay a client's lines to the daemon: reading lines, writing messages
//! and nothing else, and finding the daemon.

mod start;

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::thread;

use tokio::sync::{Mutex, mpsc};

use crate::cli::{Result, Session};
use crate::config::folders;
use crate::guests;
use crate::policy::Scope;
use crate::server::token::Token;
pub use start::{IDLE_MINUTES, start};

pub enum Line {
    Text(String),
    /// The message exceeds the size limit.
    TooLong,
}

/// Finds a vault's daemon for clients of one kind.
pub struct DaemonFinder<'a>(DaemonAddress<'a>);

enum DaemonAddress<'a> {
    Vault {
        session: &'a Session,
        root: &'a Path,
        scope: Scope,
        /// The port of the daemon that answered last.
        daemon: Mutex<Option<u16>>,
    },
    /// The daemon that started the guest, with the token of the guest's session.
    Given { port: u16, token: Token },
}

impl<'a> DaemonFinder<'a> {
    pub fn new(session: &'a Session, root: &'a Path, scope: Scope) -> Self {
        Self(DaemonAddress::Vault { session, root, scope, daemon: Mutex::default() })
    }

    /// The way that the daemon gave to a guest that it started, if it did.
    pub fn from_environment() -> Option<Self> {
        let value = std::env::var(guests::VARIABLE).ok()?;
        let (port, token) = value.split_once(' ')?;
        Some(Self(DaemonAddress::Given { port: port.parse().ok()?, token: Token::parse(token)? }))
    }

    /// The port and token of the vault's daemon. Starts a daemon if none is running, or only the ended one on
    /// port `gone`.
    pub async fn reach(&self, gone: Option<u16>) -> Result<(u16, Token)> {
        let (session, root, scope, daemon) = match &self.0 {
            DaemonAddress::Vault { session, root, scope, daemon } => (session, root, scope, daemon),
            // Another daemon does not know the session.
            DaemonAddress::Given { port, token } => return Ok((*port, token.clone())),
        };
        // Locked, so that only one daemon is started.
        let mut known = daemon.lock().await;
        if known.is_none() || *known == gone {
            *known = None;
            let running = |is_new: bool| {
                let found = session.running(root).map(|(running, _)| running.port);
                found.filter(|port| is_new || Some(*port) != gone)
            };
            if running(false).is_none() {
                start(session, root, gone)?;
            }
            *known = running(true);
        }
        let failure = || session.needs_daemon("not_running", "no daemon serves the vault");
        let port = known.ok_or_else(failure)?;
        let state = match session.running(root) {
            Some((_, state)) => state,
            None => session.folders.prepare(root)?,
        };
        let token = Token::load_or_create(&folders::token_file(&state))?;
        Ok((port, token.scoped(*scope)))
    }
}

/// Writes a message; returns false if stdout is closed.
pub fn write(message: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{message}").and_then(|()| stdout.flush()).is_ok()
}

/// The lines of stdin, read on a thread of their own, since reading blocks.
pub fn lines(most: u64) -> mpsc::Receiver<Line> {
    let (sender, lines) = mpsc::channel(1);
    let reader = thread::Builder::new().name("lines".to_owned());
    let read = reader.spawn(move || {
        let mut input = BufReader::new(std::io::stdin());
        while let Some(line) = line(&mut input, most) {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    if let Err(error) = read {
        tracing::error!(%error, "could not read stdin");
    }
    lines
}

/// The next line; a too long one is skipped.
fn line(input: &mut impl BufRead, most: u64) -> Option<Line> {
    let mut bytes = Vec::new();
    let read = input.by_ref().take(most.saturating_add(1)).read_until(b'\n', &mut bytes).ok()?;
    if read == 0 {
        return None;
    }
    if bytes.len() as u64 <= most || bytes.ends_with(b"\n") {
        // Invalid UTF-8 is not a valid message.
        return Some(Line::Text(String::from_utf8_lossy(&bytes).into_owned()));
    }
    while !bytes.ends_with(b"\n") {
        bytes.clear();
        if input.by_ref().take(1 << 16).read_until(b'\n', &mut bytes).ok()? == 0 {
            break;
        }
    }
    Some(Line::TooLong)
}
