//! The output of a chat: to the terminal, or above the line that is being typed.

use std::io::{self, ErrorKind, Write as _};

use super::editor::Editor;
use super::look::Look;
use super::markdown::style::Style;
use super::transcript::OutputPart;

#[derive(Debug)]
pub struct Screen {
    look: Look,
    /// Remarks go to stderr, since stdout is for the answer alone.
    apart: bool,
    /// The transient line that shows what the agent is doing.
    status: Option<String>,
    /// The incomplete line that arrived while another one was typed.
    buffered: String,
    /// Whether the cursor is within an output line.
    open: bool,
    /// Whether the reader has gone.
    closed: bool,
}

impl Screen {
    /// Nothing written yet.
    pub fn new(look: Look, apart: bool) -> Self {
        Self { look, apart, status: None, buffered: String::new(), open: false, closed: false }
    }

    /// Whether the reader has gone.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    pub fn show(&mut self, shown: Vec<OutputPart>, editor: Option<&Editor>) -> io::Result<()> {
        for one in shown {
            match one {
                OutputPart::Remark(text) if self.apart => {
                    self.clear_status()?;
                    self.checked(|| {
                        let mut stderr = io::stderr().lock();
                        stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush())
                    })?;
                }
                OutputPart::Answer(text) | OutputPart::Remark(text) => self.write(&text, editor)?,
            }
        }
        Ok(())
    }

    /// Writes `text`; above a line that is being typed, only whole lines.
    pub fn write(&mut self, text: &str, editor: Option<&Editor>) -> io::Result<()> {
        if let Some(editor) = editor.filter(|editor| editor.is_reading()) {
            self.buffered.push_str(text);
            if let Some(end) = self.buffered.rfind('\n') {
                let rest = self.buffered.split_off(end + 1);
                editor.print(std::mem::replace(&mut self.buffered, rest));
            }
            return Ok(());
        }
        self.clear_status()?;
        let buffered = std::mem::take(&mut self.buffered);
        let whole = buffered + text;
        self.open = !whole.is_empty() && !whole.ends_with('\n');
        self.raw(&whole)
    }

    /// Shows what the agent is doing until something else is shown; only on a terminal, and never
    /// after unfinished text.
    pub fn status(&mut self, doing: Option<String>) -> io::Result<()> {
        if !self.look.live || self.open || self.status == doing {
            return Ok(());
        }
        self.clear_status()?;
        if let Some(doing) = &doing {
            let columns = terminal_size::terminal_size().map_or(80, |(width, _)| width.0.into());
            // A wrapped line could not be removed.
            let short: String = doing.chars().take(usize::max(columns, 20) / 2 - 4).collect();
            self.raw(&Style::DIM.painted(&format!("… {short}")))?;
        }
        self.status = doing;
        Ok(())
    }

    fn clear_status(&mut self) -> io::Result<()> {
        match self.status.take() {
            Some(_) => self.raw("\r\u{1b}[K"),
            None => Ok(()),
        }
    }

    fn raw(&mut self, text: &str) -> io::Result<()> {
        self.checked(|| {
            let mut stdout = io::stdout().lock();
            stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
        })
    }

    /// A reader that has gone is not a failure.
    fn checked(&mut self, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        match write() {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            written => written,
        }
    }
}
