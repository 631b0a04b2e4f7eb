//! Reads a line from the terminal on Unix, polling so that the read can be cancelled.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};

/// The polling interval.
const STEP: Duration = Duration::from_millis(50);

/// Whether [`line()`] can be cancelled.
pub const GIVES_UP: bool = true;

/// The longest line, in bytes: the limit of a terminal's own line buffer.
const LONGEST: usize = 4_096;

/// Restores the terminal's mode on exit, even if a line was being typed.
#[derive(Debug)]
pub struct TerminalMode(Option<Termios>);

impl TerminalMode {
    /// Saves the current mode.
    pub fn new() -> Self {
        Self(tcgetattr(std::io::stdin()).ok())
    }
}

impl Drop for TerminalMode {
    fn drop(&mut self) {
        if let Some(found) = &self.0 {
            // Fails only if the terminal is gone.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, found);
        }
    }
}

/// Discards typed input that was not read yet.
pub fn forget_what_was_typed() {
    // Fails only if stdin is not a terminal.
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
}

/// The next line; `None` at the end of the input, or once `stop` is set. Bypasses the standard
/// library's buffer, which the line editor does not share.
pub fn line(stop: &AtomicBool) -> Option<String> {
    let stdin = std::io::stdin();
    let step = Timespec::try_from(STEP).expect("a short time fits");
    while !stop.load(Ordering::Acquire) {
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut polled, Some(&step)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // The input may belong to the line editor.
            Ok(_) if stop.load(Ordering::Acquire) => return None,
            Ok(_) => {
                let mut bytes = [0; LONGEST];
                return match rustix::io::read(&stdin, &mut bytes) {
                    Ok(0) | Err(_) => None,
                    Ok(length) => Some(String::from_utf8_lossy(&bytes[..length]).into_owned()),
                };
            }
            Err(_) => return None,
        }
    }
    None
}
