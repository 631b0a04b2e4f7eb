//! Line input without rustyline: its Windows dependency has a licence that we do not accept. The
//! Windows console edits and remembers lines by itself.

use std::io::{self, Write as _};
use std::thread;

use super::{EditorSetup, Typed, goes_on, join_lines};

/// Starts the threads.
pub fn start(desk: EditorSetup) -> io::Result<()> {
    let EditorSetup { history, names, own, styled, prompts, sender, to_print } = desk;
    // The console has its own history, and nothing is completed.
    drop((history, names, own, styled));
    thread::Builder::new().name("printer".to_owned()).spawn(move || {
        let print = |text: String| io::stdout().lock().write_all(text.as_bytes());
        to_print.into_iter().try_for_each(print).is_ok()
    })?;
    thread::Builder::new().name("editor".to_owned()).spawn(move || {
        for prompt in prompts {
            let typed = read(&prompt);
            let ended = typed == Typed::End;
            if sender.send(typed).is_err() || ended {
                return;
            }
        }
    })?;
    Ok(())
}

fn read(prompt: &str) -> Typed {
    let mut text = String::new();
    loop {
        let mut stdout = io::stdout().lock();
        let shown = if text.is_empty() { prompt } else { "" };
        let _ = stdout.write_all(shown.as_bytes()).and_then(|()| stdout.flush());
        drop(stdout);
        match io::stdin().read_line(&mut text) {
            Ok(0) | Err(_) => return Typed::End,
            Ok(_) if goes_on(text.trim_end_matches(['\r', '\n'])) => {}
            Ok(_) => return Typed::Line(join_lines(&text.replace("\r\n", "\n"))),
        }
    }
}
