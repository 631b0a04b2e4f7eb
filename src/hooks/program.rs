//! One program, run once: fed, heard, held to its time, and ended with all that it started.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::children;

/// Bytes of what it says on standard error that are kept.
const MAX_SAID: u64 = 4 << 10;

/// Characters of that which are told.
const SHOWN: usize = 200;

/// How often it is looked whether it is still wanted.
const LOOK: Duration = Duration::from_millis(20);

/// How long the pipes of a program that has ended may stay open: something that got away holds them.
const LAST_BYTES: Duration = Duration::from_millis(500);

/// The variable that tells every process of one run from all others.
const MARK: &str = "STEWARD_HOOK_RUN";

/// A program that is to be run.
#[derive(Debug)]
pub struct Program {
    /// The program, its arguments, its environment and its folder. Its pipes are laid here.
    pub command: Command,
    /// What it reads.
    pub input: Vec<u8>,
    /// How long it may take.
    pub time: Duration,
    /// How many bytes it may say.
    pub most: u64,
    /// The value of the variable `STEWARD_HOOK_RUN`, by which on Linux all is found and ended that it
    /// started and that got away; none: only its process group is ended.
    pub mark: Option<String>,
}

/// What came of a program that ended by itself.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// What it said. One that closed its output and goes on elsewhere has said nothing.
    pub output: Vec<u8>,
    /// The last line of what it said on standard error, one line without control characters.
    pub complaint: String,
}

/// Why a program did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Unended {
    /// It cannot be run.
    #[error("could not be started: {0}")]
    Start(io::Error),
    /// Its time is over; it was ended.
    #[error("took too long and was ended")]
    Late,
    /// It said more than it may; it was ended.
    #[error("said too much and was ended")]
    TooMuch,
    /// Nobody wants it any more; it was ended.
    #[error("is no longer wanted")]
    Withdrawn,
}

enum Heard {
    Ended,
    Said { bytes: Vec<u8>, all: bool },
    Complained(Vec<u8>),
}

impl Program {
    /// Runs it to its end, or to the end of its time. Blocks. `withdrawn` is looked at now and then.
    ///
    /// # Errors
    /// [`Unended`]. How it ended by itself is no error.
    pub fn run(mut self, withdrawn: &dyn Fn() -> bool) -> Result<Ended, Unended> {
        let until = Instant::now() + self.time;
        if let Some(mark) = &self.mark {
            self.command.env(MARK, mark);
        }
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        children::prepare(&mut self.command);
        let mut child = self.command.spawn().map_err(Unended::Start)?;
        let (tell, hear) = mpsc::channel();
        listen(&mut child, self.input, self.most, &tell);
        let (mut output, mut complaint) = (None, None);
        let ended = loop {
            let now = Instant::now();
            if now >= until {
                break Err(Unended::Late);
            }
            if withdrawn() {
                break Err(Unended::Withdrawn);
            }
            match hear.recv_timeout(LOOK.min(until - now)) {
                Ok(Heard::Ended) => break Ok(()),
                Ok(Heard::Said { all: false, .. }) => break Err(Unended::TooMuch),
                Ok(Heard::Said { bytes, all: true }) => output = Some(bytes),
                Ok(Heard::Complained(bytes)) => complaint = Some(bytes),
                Err(RecvTimeoutError::Timeout) if children::has_ended(&mut child) => break Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
                // Never: this end holds a sender too.
                Err(RecvTimeoutError::Disconnected) => break Ok(()),
            }
        };
        // What it left running goes with it: nobody would end it later.
        let mark = self.mark.as_ref().map(|mark| format!("{MARK}={mark}"));
        children::end(&child, ended.as_ref().err().and(mark.as_deref()));
        let status = child.wait();
        ended?;
        let status = status.map_err(Unended::Start)?;
        let closed = Instant::now() + LAST_BYTES;
        while output.is_none() || complaint.is_none() {
            match hear.recv_timeout(closed.saturating_duration_since(Instant::now())) {
                Ok(Heard::Said { all: false, .. }) => return Err(Unended::TooMuch),
                Ok(Heard::Said { bytes, all: true }) => output = Some(bytes),
                Ok(Heard::Complained(bytes)) => complaint = Some(bytes),
                Ok(Heard::Ended) => {}
                Err(_) => break,
            }
        }
        let complaint = last_line(&complaint.unwrap_or_default());
        Ok(Ended { status, output: output.unwrap_or_default(), complaint })
    }
}

/// Feeds it, and hears what it says and when it ends, each on a thread that ends with it.
fn listen(child: &mut Child, input: Vec<u8>, most: u64, tell: &mpsc::Sender<Heard>) {
    if let Some(mut pipe) = child.stdin.take() {
        // Who does not read what it is told need not.
        std::thread::spawn(move || drop(pipe.write_all(&input)));
    }
    if let Some(pipe) = child.stdout.take() {
        let tell = tell.clone();
        std::thread::spawn(move || {
            let bytes = taken(pipe, most + 1);
            let all = bytes.len() as u64 <= most;
            let _ = tell.send(Heard::Said { bytes, all });
        });
    }
    if let Some(mut pipe) = child.stderr.take() {
        let tell = tell.clone();
        std::thread::spawn(move || {
            let bytes = taken(&mut pipe, MAX_SAID);
            // Read on, so that it is not held up.
            let _ = io::copy(&mut pipe, &mut io::sink());
            let _ = tell.send(Heard::Complained(bytes));
        });
    }
    let (id, tell) = (child.id(), tell.clone());
    std::thread::spawn(move || {
        if children::wait(id) {
            let _ = tell.send(Heard::Ended);
        }
    });
}

fn taken(pipe: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = pipe.take(most).read_to_end(&mut bytes);
    bytes
}

fn last_line(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let line = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(SHOWN).collect()
}
