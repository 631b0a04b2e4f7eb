//! The line that is typed: edited, completed, remembered. On a thread of its own, since waiting for
//! a key blocks.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::names::Names;

#[cfg(unix)]
mod completion;
#[cfg(not(unix))]
#[path = "other.rs"]
mod system;
#[cfg(unix)]
#[path = "unix.rs"]
mod system;

/// What came of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// It was entered.
    Line(String),
    /// Ctrl-C; whether there was something in the line.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there it comes as a signal"))]
    Interrupted {
        /// It was not empty.
        had_text: bool,
    },
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// What the thread that reads lines is given.
struct Desk {
    /// A file that remembers what was typed.
    history: PathBuf,
    /// What can be completed.
    names: Names,
    /// Whether looks may be shown.
    styled: bool,
    /// A line is wanted, behind this prompt.
    prompts: mpsc::Receiver<String>,
    /// Where it goes.
    told: UnboundedSender<Typed>,
    /// Lines to write above it.
    to_print: mpsc::Receiver<String>,
}

/// The editor. It reads a line when it is asked to, and never else.
pub struct Editor {
    wanted: mpsc::Sender<String>,
    lines: UnboundedReceiver<Typed>,
    printer: mpsc::Sender<String>,
    reading: bool,
}

impl Editor {
    /// Starts it; what is typed is remembered in the file `history`.
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub fn start(history: PathBuf, names: Names, styled: bool) -> io::Result<Self> {
        let (wanted, prompts) = mpsc::channel();
        let (told, lines) = unbounded_channel();
        let (printer, to_print) = mpsc::channel();
        system::start(Desk { history, names, styled, prompts, told, to_print })?;
        Ok(Self { wanted, lines, printer, reading: false })
    }

    /// Whether a line is being typed: then nothing but [`Editor::print`] may write.
    pub fn is_reading(&self) -> bool {
        self.reading
    }

    /// Begins to read a line.
    pub fn read(&mut self, prompt: &str) {
        if !self.reading {
            self.reading = self.wanted.send(prompt.to_owned()).is_ok();
        }
    }

    /// Waits for the line that is being read. Given up in between, it loses nothing.
    pub async fn line(&mut self) -> Typed {
        let typed = self.lines.recv().await.unwrap_or(Typed::End);
        self.reading = false;
        typed
    }

    /// Writes whole lines above the one that is being typed.
    pub fn print(&self, lines: String) {
        // Where the terminal is gone nobody reads it.
        let _ = self.printer.send(lines);
    }
}

/// What was typed, the marks that made lines go on taken out.
fn joined(typed: &str) -> String {
    typed.replace("\\\n", "\n")
}

/// Whether the next line belongs to it too.
fn goes_on(text: &str) -> bool {
    text.len() - text.trim_end_matches('\\').len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_ends_with_a_mark_goes_on() {
        assert!(goes_on("a\\") && goes_on("a\\\nb\\"));
        assert!(!goes_on("a") && !goes_on("C:\\\\") && !goes_on(""));
        assert_eq!(joined("a\\\nb"), "a\nb");
    }
}
