//! Shared by the commands that relay a client's lines to the daemon: reading lines, writing messages
//! and nothing else, and finding the daemon.

mod start;

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::thread;

use tokio::sync::{Mutex, mpsc};

use super::failure::Failure;
use super::session::Session;
use crate::config::folders;
use crate::policy::Scope;
use crate::server::token::Token;
use start::start;

/// An input line.
pub enum Line {
    Text(String),
    /// Longer than a message may be.
    TooLong,
}

/// Finds a vault's daemon for clients of one kind.
pub struct Way<'a> {
    session: &'a Session,
    root: &'a Path,
    scope: Scope,
    /// The port of the daemon that answered last.
    daemon: Mutex<Option<u16>>,
}

impl<'a> Way<'a> {
    /// For the vault at `root`.
    pub fn new(session: &'a Session, root: &'a Path, scope: Scope) -> Self {
        Self { session, root, scope, daemon: Mutex::default() }
    }

    /// The port and token of the vault's daemon. Starts a daemon if none is running, or only the ended one on
    /// port `gone`.
    ///
    /// # Errors
    /// No daemon can be started, or there is no token.
    pub async fn reach(&self, gone: Option<u16>) -> Result<(u16, Token), Failure> {
        // Locked, so that only one daemon is started.
        let mut known = self.daemon.lock().await;
        if known.is_none() || *known == gone {
            *known = None;
            let running = |is_new: bool| {
                let found = self.session.running(self.root).map(|(running, _)| running.port);
                found.filter(|port| is_new || Some(*port) != gone)
            };
            if running(false).is_none() {
                start(self.session, self.root, gone)?;
            }
            *known = running(true);
        }
        let failure =
            || Failure::other("not_running", "no daemon serves the vault", "start `steward serve`");
        let port = known.ok_or_else(failure)?;
        let state = match self.session.running(self.root) {
            Some((_, state)) => state,
            None => self.session.folders.prepare(self.root)?,
        };
        let token = Token::load_or_create(&folders::token_file(&state))?;
        Ok((port, token.scoped(self.scope)))
    }
}

/// Writes a message; returns false if stdout is closed.
pub fn tell(message: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{message}").and_then(|()| stdout.flush()).is_ok()
}

/// The lines of stdin, read on a thread of their own, since reading blocks.
pub fn lines(most: u64) -> mpsc::Receiver<Line> {
    let (heard, lines) = mpsc::channel(1);
    let reader = thread::Builder::new().name("lines".to_owned());
    let read = reader.spawn(move || {
        let mut input = BufReader::new(std::io::stdin());
        while let Some(line) = line(&mut input, most) {
            if heard.blocking_send(line).is_err() {
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
