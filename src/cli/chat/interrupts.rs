//! Ctrl-C stops the agent's turn, not this program.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlC, ctrl_c};

/// Receives Ctrl-C.
pub struct Interrupts {
    #[cfg(unix)]
    came: Signal,
    #[cfg(windows)]
    came: CtrlC,
}

impl Interrupts {
    /// From now on Ctrl-C no longer ends the program. Must be created before the first line is
    /// edited: the editor restores the handler that it found.
    pub fn new() -> io::Result<Self> {
        #[cfg(unix)]
        let came = signal(SignalKind::interrupt())?;
        #[cfg(windows)]
        let came = ctrl_c()?;
        Ok(Self { came })
    }

    /// Waits for the next Ctrl-C. Cancel-safe.
    pub async fn next(&mut self) {
        if self.came.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}
