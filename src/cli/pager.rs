//! A pager, where the answer is longer than the terminal is high: `$PAGER`, else `less`, as git does it.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

/// Shows `text` in a pager; whether it did. It is none without a terminal, for what fits into one, and where
/// none can be started.
pub fn show(text: &str) -> bool {
    let Some((_, height)) = terminal_size::terminal_size() else { return false };
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if !is_terminal || text.lines().count() < usize::from(height.0) {
        return false;
    }
    let Some(mut command) = pager() else { return false };
    let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // Whoever has seen enough closes it.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| status.code() != Some(NOT_FOUND))
}

/// How a shell says that there is no such program.
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
        // Colours as they are, gone from the screen at its end only if it filled it.
        command.env("LESS", "FRX");
    }
    if std::env::var_os("LESSCHARSET").is_none() {
        // Notes are UTF-8, whatever the locale is.
        command.env("LESSCHARSET", "utf-8");
    }
    Some(command)
}

/// `more` of Windows breaks what is not of its own code page.
#[cfg(not(unix))]
fn pager() -> Option<Command> {
    None
}
