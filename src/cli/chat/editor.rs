//! The line that is typed: edited, completed, remembered. On a thread of its own, since waiting for
//! a key blocks.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use rustyline::config::{BellStyle, ColorMode, CompletionType};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, ExternalPrinter as _};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::completion::{Assistant, Names, joined};
use crate::server::private;

/// Lines that are remembered.
const MAX_REMEMBERED: usize = 1_000;

/// The longest line that is remembered, in bytes.
const LONGEST_REMEMBERED: usize = 4_096;

/// What came of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// It was entered.
    Line(String),
    /// Ctrl-C; whether there was something in the line.
    Interrupted {
        /// It was not empty.
        had_text: bool,
    },
    /// Ctrl-D, or the terminal is gone.
    End,
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
        let config = Config::builder()
            .max_history_size(MAX_REMEMBERED)
            .map_err(io::Error::other)?
            .history_ignore_space(true)
            .auto_add_history(false)
            .completion_type(CompletionType::List)
            .bell_style(BellStyle::None)
            .color_mode(if styled { ColorMode::Enabled } else { ColorMode::Disabled })
            .build();
        let memory = FileHistory::with_config(&config);
        let mut editor = rustyline::Editor::<Assistant, _>::with_history(config, memory)
            .map_err(io::Error::other)?;
        let typed = Arc::new(AtomicBool::new(false));
        editor.set_helper(Some(Assistant { names, typed: Arc::clone(&typed), styled }));
        remember(&mut editor, &history);

        let (printer, to_print) = mpsc::channel::<String>();
        if let Ok(mut printer) = editor.create_external_printer() {
            // It may have to wait for the editor to look up, and nobody else may with it.
            thread::Builder::new().name("printer".to_owned()).spawn(move || {
                for text in to_print {
                    if printer.print(text).is_err() {
                        return;
                    }
                }
            })?;
        }
        let (wanted, prompts) = mpsc::channel::<String>();
        let (told, lines) = unbounded_channel();
        thread::Builder::new().name("editor".to_owned()).spawn(move || {
            for prompt in prompts {
                if !read(&mut editor, &prompt, &history, &typed, &told) {
                    return;
                }
            }
        })?;
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
        // Without a printer there is no terminal that would show it.
        let _ = self.printer.send(lines);
    }
}

fn read(
    editor: &mut rustyline::Editor<Assistant, FileHistory>,
    prompt: &str,
    history: &Path,
    typed: &AtomicBool,
    told: &UnboundedSender<Typed>,
) -> bool {
    typed.store(false, Ordering::Release);
    let said = match editor.readline(prompt) {
        Ok(line) => {
            let keep = !line.trim().is_empty() && line.len() <= LONGEST_REMEMBERED;
            if keep && editor.add_history_entry(line.as_str()).unwrap_or(false) {
                // What cannot be remembered is no reason not to say it.
                if let Err(error) = editor.append_history(history) {
                    tracing::debug!(%error, "could not remember a line");
                }
            }
            Typed::Line(joined(&line))
        }
        Err(ReadlineError::Interrupted) => {
            Typed::Interrupted { had_text: typed.load(Ordering::Acquire) }
        }
        Err(error) => {
            tracing::debug!(%error, "no more lines are typed");
            Typed::End
        }
    };
    let ended = said == Typed::End;
    told.send(said).is_ok() && !ended
}

/// Takes up what was typed in earlier chats; a file that others could read or have written is not
/// used.
fn remember(editor: &mut rustyline::Editor<Assistant, FileHistory>, history: &Path) {
    match private::check_file(history) {
        Ok(_) => {
            if let Err(error) = editor.load_history(history) {
                tracing::debug!(%error, "could not read what was typed earlier");
            }
        }
        Err(private::NotPrivate::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, path = %history.display(), "not used"),
    }
}
