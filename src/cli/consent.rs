//! Asks a person on the terminal, for example to approve a call.

use std::io::{IsTerminal, Write};

use super::{Failure, Result};
use crate::note::path::visible;

/// The most lines of changes shown.
const MAX_LINES: usize = 200;

/// Whether the call failed because it needs approval, and a person can be asked here.
pub fn can_ask(failure: &Failure) -> bool {
    failure.code == "approval_needed" && has_terminal()
}

/// Whether a person can be asked here.
pub fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Shows the changes and the reason for the question; returns whether the person approves.
pub fn ask(failure: &Failure) -> Result<bool> {
    let mut terminal = std::io::stderr().lock();
    let data = failure.data.clone().unwrap_or_default();
    let mut lines = 0;
    // The outline of a plan is complete; its list of changes is cut.
    let outline = data["outline"].as_str();
    for line in outline.into_iter().flat_map(str::lines) {
        writeln!(terminal, "{}", visible(line))?;
    }
    let changes = data["changes"].as_array().filter(|_| outline.is_none());
    for change in changes.into_iter().flatten() {
        let (action, path) = (word(&change["action"]), word(&change["path"]));
        let from = change["from"].as_str().map(|from| format!("`{}` to ", visible(from)));
        let from = from.unwrap_or_default();
        writeln!(terminal, "{} {from}`{}`", action.replace('_', " "), visible(path))?;
        for line in word(&change["diff"]).lines() {
            lines += 1;
            if lines > MAX_LINES {
                continue;
            }
            writeln!(terminal, "    {}", visible(line))?;
        }
    }
    let count = |name: &str| -> u64 {
        changes.into_iter().flatten().filter_map(|change| change[name].as_u64()).sum()
    };
    let hidden = lines.saturating_sub(MAX_LINES) as u64 + count("more");
    if hidden > 0 {
        writeln!(
            terminal,
            "    … {hidden} more lines; it adds {} and removes {} in all",
            count("added"),
            count("removed")
        )?;
    }
    for reason in data["reasons"].as_array().into_iter().flatten() {
        writeln!(terminal, "asked because {}", visible(word(reason)))?;
    }
    says_yes(&format!("{}?", visible(word(&data["title"]))))
}

/// Asks a question on the terminal; returns whether the answer is yes.
pub fn says_yes(question: &str) -> Result<bool> {
    let mut terminal = std::io::stderr().lock();
    write!(terminal, "{question} [y/N] ")?;
    terminal.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn word(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or_default()
}
