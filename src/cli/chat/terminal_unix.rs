//! A line from the terminal on Unix: waited for in small steps, so that the wait can be given up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};

/// How long a step of the wait is.
const STEP: Duration = Duration::from_millis(50);

/// Whether [`line()`] ends soon after it is told to.
pub const GIVES_UP: bool = true;

/// The longest line that is read, in bytes; what a terminal gives at once.
const LONGEST: usize = 4_096;

/// The terminal as it was found, and as it is left: also where a line was being typed at the end.
#[derive(Debug)]
pub struct AsFound(Option<Termios>);

impl AsFound {
    /// Remembers how it is.
    pub fn new() -> Self {
        Self(tcgetattr(std::io::stdin()).ok())
    }
}

impl Drop for AsFound {
    fn drop(&mut self) {
        if let Some(found) = &self.0 {
            // Whoever has no terminal any more has nothing to put in order.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, found);
        }
    }
}

/// Forgets what was typed and not read yet.
pub fn forget_what_was_typed() {
    // Where that cannot be done, it is no terminal.
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
}

/// The next line; nothing at its end, or once `stop` is set. Past the buffer of the standard
/// library, which the line editor does not share.
pub fn line(stop: &AtomicBool) -> Option<String> {
    let stdin = std::io::stdin();
    let step = Timespec::try_from(STEP).expect("a short time fits");
    while !stop.load(Ordering::Acquire) {
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut polled, Some(&step)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // What came meanwhile may be for somebody else.
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
