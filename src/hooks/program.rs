//! Runs one program: writes its input, reads its output, enforces its limits, and kills it with all
//! processes that it started.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::children;

/// Bytes of standard error that are read.
const MAX_STDERR: u64 = 4 << 10;

/// Characters of its last line that are shown.
const SHOWN: usize = 200;

/// How often `withdrawn` is polled.
const POLL: Duration = Duration::from_millis(20);

/// How long to keep reading after the program has exited, while another process holds its pipes
/// open.
const DRAIN: Duration = Duration::from_millis(500);

/// The environment variable that marks the processes of one run.
const MARK: &str = "STEWARD_HOOK_RUN";

#[derive(Debug)]
pub struct Program {
    /// Without pipes, which [`Self::run`] sets.
    pub command: Command,
    pub input: Vec<u8>,
    pub time: Duration,
    /// The limit of its output, in bytes.
    pub most: u64,
    /// The value of `STEWARD_HOOK_RUN`, by which on Linux processes outside its process group are
    /// found and killed too.
    pub mark: Option<String>,
}

/// The result of a program that exited by itself.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    /// Empty if another process still holds its standard output open.
    pub output: Vec<u8>,
    /// The last line of standard error, without control characters.
    pub error_line: String,
}

/// Why a program was not started, or was killed.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("could not be started: {0}")]
    Start(io::Error),
    #[error("took too long and was ended")]
    Late,
    #[error("wrote too much and was ended")]
    TooMuch,
    #[error("was cancelled")]
    Withdrawn,
}

enum Received {
    Exit,
    Output { bytes: Vec<u8>, all: bool },
    Stderr(Vec<u8>),
}

impl Program {
    /// Runs it until it exits or its time is over. Blocks. `withdrawn` is polled and cancels it.
    ///
    /// # Errors
    /// [`ProgramError`]. A failure status is not an error.
    pub fn run(mut self, withdrawn: &dyn Fn() -> bool) -> Result<Finished, ProgramError> {
        let until = Instant::now() + self.time;
        if let Some(mark) = &self.mark {
            self.command.env(MARK, mark);
        }
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        children::prepare(&mut self.command);
        let mut child = self.command.spawn().map_err(ProgramError::Start)?;
        let (sender, receiver) = mpsc::channel();
        start_threads(&mut child, self.input, self.most, &sender);
        let (mut output, mut stderr) = (None, None);
        let ended = loop {
            let now = Instant::now();
            if now >= until {
                break Err(ProgramError::Late);
            }
            if withdrawn() {
                break Err(ProgramError::Withdrawn);
            }
            match receiver.recv_timeout(POLL.min(until - now)) {
                Ok(Received::Exit) => break Ok(()),
                Ok(Received::Output { all: false, .. }) => break Err(ProgramError::TooMuch),
                Ok(Received::Output { bytes, all: true }) => output = Some(bytes),
                Ok(Received::Stderr(bytes)) => stderr = Some(bytes),
                Err(RecvTimeoutError::Timeout) if children::has_ended(&mut child) => break Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
                // Unreachable: this function holds a sender too.
                Err(RecvTimeoutError::Disconnected) => break Ok(()),
            }
        };
        // Processes that it left running are killed too.
        let mark = self.mark.as_ref().map(|mark| format!("{MARK}={mark}"));
        children::end(&child, ended.as_ref().err().and(mark.as_deref()));
        let status = child.wait();
        ended?;
        let status = status.map_err(ProgramError::Start)?;
        let closed = Instant::now() + DRAIN;
        while output.is_none() || stderr.is_none() {
            match receiver.recv_timeout(closed.saturating_duration_since(Instant::now())) {
                Ok(Received::Output { all: false, .. }) => return Err(ProgramError::TooMuch),
                Ok(Received::Output { bytes, all: true }) => output = Some(bytes),
                Ok(Received::Stderr(bytes)) => stderr = Some(bytes),
                Ok(Received::Exit) => {}
                Err(_) => break,
            }
        }
        let error_line = last_line(&stderr.unwrap_or_default());
        Ok(Finished { status, output: output.unwrap_or_default(), error_line })
    }
}

/// Starts threads that write its input, read its pipes and wait for its exit; they end with it.
fn start_threads(child: &mut Child, input: Vec<u8>, most: u64, sender: &mpsc::Sender<Received>) {
    if let Some(mut pipe) = child.stdin.take() {
        // A program need not read its input.
        std::thread::spawn(move || drop(pipe.write_all(&input)));
    }
    if let Some(pipe) = child.stdout.take() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            let bytes = read_up_to(pipe, most + 1);
            let all = bytes.len() as u64 <= most;
            let _ = sender.send(Received::Output { bytes, all });
        });
    }
    if let Some(mut pipe) = child.stderr.take() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            let bytes = read_up_to(&mut pipe, MAX_STDERR);
            // Read on, so that the program does not block on a full pipe.
            let _ = io::copy(&mut pipe, &mut io::sink());
            let _ = sender.send(Received::Stderr(bytes));
        });
    }
    let (id, sender) = (child.id(), sender.clone());
    std::thread::spawn(move || {
        if children::wait(id) {
            let _ = sender.send(Received::Exit);
        }
    });
}

fn read_up_to(pipe: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = pipe.take(most).read_to_end(&mut bytes);
    bytes
}

fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(SHOWN).collect()
}
