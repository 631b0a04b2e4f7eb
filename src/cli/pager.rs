//! A pager for answers longer than the terminal: `$PAGER`, else `less`, as in git.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

/// Shows `text` in a pager; returns whether it did. Does not without a terminal, if the text fits, or if
/// no pager can be started.
pub fn show(text: &str) -> bool {
    let Some((_, height)) = terminal_size::terminal_size() else { return false };
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if !is_terminal || text.lines().count() < usize::from(height.0) {
        return false;
    }
    let Some(mut command) = pager() else { return false };
    let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // Fails if the person quits the pager early.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| status.code() != Some(NOT_FOUND))
}

/// A shell's exit code for a missing program.
const NOT_FOUND: i32 = 127;

#[cfg(unix)]
fn pager() -> Option<Command> {
    let named = std::env::var_os("PAGER");
    let line = match named {
        Some(line) if line.is_empty() || line == "cat" => return None,
        Some(line) => line,
        None => "less".into(),
    };
    let mut command = Command::new("sh");
    command.arg("-c").arg(line);
    if std::env::var_os("LESS").is_none() {
        // Passes colours through, and exits if the text fits on one screen.
        command.env("LESS", "FRX");
    }
    if std::env::var_os("LESSCHARSET").is_none() {
        // Notes are UTF-8 in every locale.
        command.env("LESSCHARSET", "utf-8");
    }
    Some(command)
}

/// Windows' `more` breaks text outside its own code page.
#[cfg(not(unix))]
fn pager() -> Option<Command> {
    None
}
