//! A person's agreement, asked for on the terminal.

use std::io::{IsTerminal, Write};

use super::failure::Failure;

/// Lines of what would be done that are shown.
const MAX_LINES: usize = 200;

/// Whether a call was not made because a person has to agree, and one can be asked here.
pub fn can_ask(failure: &Failure) -> bool {
    failure.code == "approval_needed"
        && std::io::stdin().is_terminal()
        && std::io::stderr().is_terminal()
}

/// Shows what would be done and why that is asked about; whether the person agrees.
///
/// # Errors
/// The terminal cannot be read or written.
pub fn ask(failure: &Failure) -> Result<bool, Failure> {
    let mut terminal = std::io::stderr().lock();
    let data = failure.data.clone().unwrap_or_default();
    let mut lines = 0;
    for change in data["changes"].as_array().into_iter().flatten() {
        let (action, path) = (word(&change["action"]), word(&change["path"]));
        let from = change["from"].as_str().map(|from| format!("`{from}` to ")).unwrap_or_default();
        writeln!(terminal, "{} {from}`{path}`", action.replace('_', " "))?;
        for line in word(&change["diff"]).lines() {
            lines += 1;
            if lines > MAX_LINES {
                break;
            }
            let shown: String = line.chars().flat_map(crate::note::path::show).collect();
            writeln!(terminal, "    {shown}")?;
        }
    }
    if lines > MAX_LINES {
        writeln!(terminal, "    …")?;
    }
    for reason in data["reasons"].as_array().into_iter().flatten() {
        writeln!(terminal, "asked because {}", word(reason))?;
    }
    write!(terminal, "{}? [y/N] ", word(&data["title"]))?;
    terminal.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn word(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or_default()
}
