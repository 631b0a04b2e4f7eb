//! Ctrl-C: it stops the agent's turn, not this program.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlC, ctrl_c};

/// Ctrl-C, as often as it comes.
pub struct Interrupts {
    #[cfg(unix)]
    came: Signal,
    #[cfg(windows)]
    came: CtrlC,
}

impl Interrupts {
    /// From this moment on it ends nothing by itself. It must be made before the first line is
    /// edited: the editor puts back afterwards what it found.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn new() -> io::Result<Self> {
        #[cfg(unix)]
        let came = signal(SignalKind::interrupt())?;
        #[cfg(windows)]
        let came = ctrl_c()?;
        Ok(Self { came })
    }

    /// The next one. Given up in between, it loses none.
    pub async fn next(&mut self) {
        if self.came.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}
