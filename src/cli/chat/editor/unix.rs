//! Line input with rustyline.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustyline::config::{BellStyle, ColorMode, CompletionType};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, ExternalPrinter as _};
use tokio::sync::mpsc::UnboundedSender;

use super::completion::Assistant;
use super::{EditorSetup, Typed, join_lines};
use crate::server::private;

/// The most lines in the history.
const MAX_REMEMBERED: usize = 1_000;

/// The longest line in the history, in bytes.
const LONGEST_REMEMBERED: usize = 4_096;

/// Starts the threads.
pub fn start(desk: EditorSetup) -> io::Result<()> {
    let EditorSetup { history, names, own, styled, prompts, sender, to_print } = desk;
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
    editor.set_helper(Some(Assistant { names, own, typed: Arc::clone(&typed), styled }));
    remember(&mut editor, &history);

    let above = editor.create_external_printer();
    // It has its own thread, since it may block until the editor accepts the text.
    thread::Builder::new().name("printer".to_owned()).spawn(move || match above {
        Ok(mut above) => to_print.into_iter().try_for_each(|text| above.print(text)).is_ok(),
        // A terminal that cannot move its cursor: the text is printed after the typed line.
        Err(_) => {
            let print = |text: String| io::stdout().lock().write_all(text.as_bytes());
            to_print.into_iter().try_for_each(print).is_ok()
        }
    })?;
    thread::Builder::new().name("editor".to_owned()).spawn(move || {
        for prompt in prompts {
            if !read(&mut editor, &prompt, &history, &typed, &sender) {
                return;
            }
        }
    })?;
    Ok(())
}

fn read(
    editor: &mut rustyline::Editor<Assistant, FileHistory>,
    prompt: &str,
    history: &Path,
    typed: &AtomicBool,
    sender: &UnboundedSender<Typed>,
) -> bool {
    typed.store(false, Ordering::Release);
    let entry = match editor.readline(prompt) {
        Ok(line) => {
            let keep = !line.trim().is_empty() && line.len() <= LONGEST_REMEMBERED;
            if keep && editor.add_history_entry(line.as_str()).unwrap_or(false) {
                // The line is used even if the history cannot be written.
                if let Err(error) = editor.append_history(history) {
                    tracing::debug!(%error, "could not remember a line");
                }
            }
            Typed::Line(join_lines(&line))
        }
        Err(ReadlineError::Interrupted) => {
            Typed::Interrupted { had_text: typed.load(Ordering::Acquire) }
        }
        Err(error) => {
            tracing::debug!(%error, "no more lines are typed");
            Typed::End
        }
    };
    let ended = entry == Typed::End;
    sender.send(entry).is_ok() && !ended
}

/// Loads the history of earlier chats; a file that other users could read or write is not used.
fn remember(editor: &mut rustyline::Editor<Assistant, FileHistory>, history: &Path) {
    match private::check_file(history) {
        Ok(_) => {
            if let Err(error) = editor.load_history(history) {
                tracing::debug!(%error, "could not read the earlier input");
            }
        }
        Err(private::NotPrivate::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, path = %history.display(), "not used"),
    }
}
