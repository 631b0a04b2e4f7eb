//! The line editor: editing, completion and history. Runs on its own thread, since waiting for a
//! key blocks.

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

/// The result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    Line(String),
    /// Ctrl-C; whether the line held text.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there it comes as a signal"))]
    Interrupted {
        /// The line was not empty.
        had_text: bool,
    },
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// The inputs of the editor's thread.
struct EditorSetup {
    history: PathBuf,
    names: Names,
    /// The names of the person's own prompts.
    own: Names,
    /// Whether styles may be shown.
    styled: bool,
    /// Requests for a line, with the prompt.
    prompts: mpsc::Receiver<String>,
    /// Receives the lines.
    sender: UnboundedSender<Typed>,
    /// Lines to print above the edited one.
    to_print: mpsc::Receiver<String>,
}

/// The line editor. Reads a line only on request.
pub struct Editor {
    prompt_sender: mpsc::Sender<String>,
    lines: UnboundedReceiver<Typed>,
    printer: mpsc::Sender<String>,
    reading: bool,
}

impl Editor {
    /// Starts the editor with the history file `history`.
    pub fn start(history: PathBuf, names: Names, own: Names, styled: bool) -> io::Result<Self> {
        let (prompt_sender, prompts) = mpsc::channel();
        let (sender, lines) = unbounded_channel();
        let (printer, to_print) = mpsc::channel();
        system::start(EditorSetup { history, names, own, styled, prompts, sender, to_print })?;
        Ok(Self { prompt_sender, lines, printer, reading: false })
    }

    /// Whether a line is being typed; only [`Editor::print`] may write then.
    pub fn is_reading(&self) -> bool {
        self.reading
    }

    /// Begins to read a line.
    pub fn read(&mut self, prompt: &str) {
        if !self.reading {
            self.reading = self.prompt_sender.send(prompt.to_owned()).is_ok();
        }
    }

    /// Waits for the requested line. Cancel-safe.
    pub async fn line(&mut self) -> Typed {
        let typed = self.lines.recv().await.unwrap_or(Typed::End);
        self.reading = false;
        typed
    }

    /// Prints whole lines above the edited one.
    pub fn print(&self, lines: String) {
        // If the terminal is gone, the output is lost.
        let _ = self.printer.send(lines);
    }
}

/// The typed text without the marks that continue lines.
fn join_lines(typed: &str) -> String {
    typed.replace("\\\n", "\n")
}

/// Whether the next line continues this one.
fn goes_on(text: &str) -> bool {
    text.len() - text.trim_end_matches('\\').len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_final_backslash_continues() {
        assert!(goes_on("a\\") && goes_on("a\\\nb\\"));
        assert!(!goes_on("a") && !goes_on("C:\\\\") && !goes_on(""));
        assert_eq!(join_lines("a\\\nb"), "a\nb");
    }
}
