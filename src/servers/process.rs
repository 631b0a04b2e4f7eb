//! One running server: its process and its pipes.

#![expect(clippy::disallowed_methods, reason = "a folder and a log of ours, outside every vault")]

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::hooks::children;
use crate::locks::lock;

/// The longest line, in bytes.
pub(super) const MAX_LINE: usize = 1 << 20;

/// The most messages queued for the server.
const QUEUED: usize = 32;

/// The most bytes of standard error that a run may add to the log.
const MAX_LOGGED: usize = 256 << 10;

/// The bytes of the log that are kept when a run begins.
const KEPT: usize = 64 << 10;

/// The pause between reads once a server has filled its log, which slows it down without blocking
/// it.
const SLOW: Duration = Duration::from_millis(10);

/// How long to keep reading after the server has exited.
const DRAIN: Duration = Duration::from_millis(500);

/// The environment variable that marks the processes of one run.
const MARK: &str = "STEWARD_SERVER_RUN";

/// An event on the server's standard output.
pub(super) enum LineRead<'a> {
    Line(&'a [u8]),
    /// A line exceeded the limit.
    TooLong,
    /// It closed its output or exited.
    Closed,
}

/// A started server.
#[derive(Debug)]
pub(super) struct Process {
    child: Mutex<Option<Child>>,
    /// `None` once its standard input is closed.
    input: Mutex<Option<SyncSender<Vec<u8>>>>,
    mark: String,
    has_exited: Mutex<bool>,
    exited: Condvar,
}

impl Process {
    /// Starts a prepared command. Its standard error goes into `log`.
    pub fn start(mut command: Command, mark: String, log: &Path) -> io::Result<(Self, Output)> {
        command.env(MARK, &mark);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        children::prepare(&mut command);
        let mut child = command.spawn()?;
        let (sender, receiver) = mpsc::sync_channel(QUEUED);
        if let Some(pipe) = child.stdin.take() {
            std::thread::spawn(move || write(pipe, &receiver));
        }
        if let Some(pipe) = child.stderr.take() {
            let log = open_log(log);
            std::thread::spawn(move || drain(pipe, log));
        }
        let output = Output { pipe: child.stdout.take(), id: child.id() };
        let process = Self {
            child: Mutex::new(Some(child)),
            input: Mutex::new(Some(sender)),
            mark,
            has_exited: Mutex::new(false),
            exited: Condvar::new(),
        };
        Ok((process, output))
    }

    /// Queues one message; `false` if the server does not read them, or its input is closed.
    pub fn send(&self, message: &serde_json::Value) -> bool {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        match lock(&self.input).as_ref().map(|input| input.try_send(line)) {
            Some(Ok(())) => true,
            Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) | None => false,
        }
    }

    /// Closes its input, after which a server exits by itself.
    pub fn close(&self) {
        lock(&self.input).take();
    }

    /// Waits for it to exit; returns whether it did.
    pub fn wait(&self, timeout: Duration) -> bool {
        let exited = lock(&self.has_exited);
        let waited = self.exited.wait_timeout_while(exited, timeout, |exited| !*exited);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Calls `over` once it uses more than `most` bytes of memory, including everything that it
    /// started.
    pub fn watch(self: &Arc<Self>, most: u64, over: impl FnOnce() + Send + 'static) {
        let id = lock(&self.child).as_ref().map(Child::id);
        let (Some(id), Some(look)) = (id, children::MEMORY_CHECK) else { return };
        let mut memory = children::Memory::of(id, format!("{MARK}={}", self.mark));
        let process = Arc::downgrade(self);
        std::thread::spawn(move || {
            while let Some(process) = process.upgrade() {
                if process.wait(look) {
                    return;
                }
                if memory.bytes(most) > most {
                    return over();
                }
            }
        });
    }

    /// Kills it with everything that it started.
    pub fn end(&self) {
        self.close();
        let Some(mut child) = lock(&self.child).take() else { return };
        children::end(&child, Some(&format!("{MARK}={}", self.mark)));
        let _ = child.wait();
    }

    fn exited(&self) {
        *lock(&self.has_exited) = true;
        self.exited.notify_all();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// The standard output of a server.
pub(super) struct Output {
    pipe: Option<ChildStdout>,
    id: u32,
}

impl Output {
    /// Reads lines on a separate thread until the end, or until `on_line` returns `false`; calls
    /// `left` some time after the server has exited.
    pub fn follow(
        self,
        process: &Arc<Process>,
        mut on_line: impl FnMut(LineRead<'_>) -> bool + Send + 'static,
        left: impl FnOnce() + Send + 'static,
    ) {
        let waits = Arc::downgrade(process);
        let id = self.id;
        std::thread::spawn(move || {
            if children::wait(id)
                && let Some(process) = waits.upgrade()
            {
                process.exited();
                drop(process);
                // Reads its last lines first; other processes may hold its output open.
                std::thread::sleep(DRAIN);
                left();
            }
        });
        let Some(pipe) = self.pipe else { return };
        std::thread::spawn(move || {
            let mut reader = BufReader::with_capacity(64 << 10, pipe);
            let mut line = Vec::new();
            loop {
                line.clear();
                let most = MAX_LINE as u64 + 1;
                let outcome = match (&mut reader).take(most).read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => LineRead::Closed,
                    Ok(_) if line.len() > MAX_LINE => LineRead::TooLong,
                    Ok(_) => LineRead::Line(&line),
                };
                let is_last = !matches!(outcome, LineRead::Line(_));
                if !on_line(outcome) || is_last {
                    return;
                }
            }
        });
    }
}

fn write(mut pipe: ChildStdin, messages: &Receiver<Vec<u8>>) {
    for message in messages {
        if pipe.write_all(&message).and_then(|()| pipe.flush()).is_err() {
            return;
        }
    }
}

/// Drains standard error, so that the server never blocks on it.
fn drain(mut pipe: ChildStderr, mut log: Option<File>) {
    let mut buffer = vec![0; 16 << 10];
    let mut left = MAX_LOGGED;
    while let Ok(read @ 1..) = pipe.read(&mut buffer) {
        if left == 0 {
            std::thread::sleep(SLOW);
            continue;
        }
        let taken = read.min(left);
        left -= taken;
        if let Some(file) = &mut log {
            let _ = file.write_all(&buffer[..taken]);
            if left == 0 {
                let _ = file.write_all(b"\n[the rest of this run is left out]\n");
            }
        }
    }
}

/// The log, with the end of earlier runs' output.
fn open_log(path: &Path) -> Option<File> {
    let before = std::fs::read(path).unwrap_or_default();
    if before.len() > KEPT {
        let _ = std::fs::write(path, &before[before.len() - KEPT..]);
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).ok()?;
    let now = chrono::Local::now().format("%Y-%m-%d %H:%M:%S");
    let _ = writeln!(file, "[started at {now}]");
    Some(file)
}
