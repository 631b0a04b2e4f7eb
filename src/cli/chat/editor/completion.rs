//! The helper of the line editor: completes commands and note names, and detects continued lines.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use super::super::commands::COMMANDS;
use super::super::names::Names;
use super::super::safe;
use super::goes_on;
use crate::locks::read;

/// The most names offered at a time.
const MAX_OFFERED: usize = 50;

/// Completes and highlights the edited line.
#[derive(Debug)]
pub struct Assistant {
    /// The names to complete after `[[`.
    pub names: Names,
    /// The person's own prompts, completed after `/`.
    pub own: Names,
    /// Whether the line holds text, or held some a moment ago.
    pub typed: Arc<AtomicBool>,
    /// Whether the prompt may have styles.
    pub styled: bool,
}

impl Helper for Assistant {}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let names = read(&self.names);
        let own = read(&self.own);
        Ok(complete(line, at, &names, &own))
    }
}

/// The completions of the word before `at`, and the offset where it begins.
fn complete(line: &str, at: usize, names: &[String], own: &[String]) -> (usize, Vec<Pair>) {
    let before = &line[..at];
    if let Some(typed) = before.strip_prefix('/').filter(|typed| !typed.contains(' ')) {
        let fits = COMMANDS.iter().filter(|(name, ..)| name.starts_with(typed));
        let pairs = fits.map(|(name, takes, does)| Pair {
            display: format!("/{name} {takes}  {does}"),
            replacement: format!("/{name}{}", if takes.is_empty() { "" } else { " " }),
        });
        let own = own
            .iter()
            .filter(|name| name.starts_with(typed))
            .map(|name| Pair { display: format!("/{name}"), replacement: format!("/{name} ") });
        return (0, pairs.chain(own).collect());
    }
    let Some(open) = before.rfind("[[").filter(|open| !before[*open..].contains("]]")) else {
        return (at, Vec::new());
    };
    let typed = before[open + 2..].to_lowercase();
    let leaf = |name: &str| name.rsplit('/').next().unwrap_or_default().to_lowercase();
    // Names that begin with the text come first, then paths that contain it.
    let begins = names.iter().filter(|name| leaf(name).starts_with(&typed));
    let holds = names
        .iter()
        .filter(|name| !leaf(name).starts_with(&typed) && name.to_lowercase().contains(&typed));
    let pairs = begins.chain(holds).take(MAX_OFFERED).map(|name| Pair {
        display: safe::line(name),
        replacement: format!("[[{}]]", safe::line(name)),
    });
    (open, pairs.collect())
}

impl Hinter for Assistant {
    type Hint = String;

    /// The argument of a command, once the command is complete; also records that something is typed.
    fn hint(&self, line: &str, at: usize, _: &Context<'_>) -> Option<String> {
        self.typed.store(!line.is_empty(), Ordering::Release);
        let typed = line.strip_prefix('/').filter(|_| at == line.len())?;
        let (_, takes, _) = COMMANDS.iter().find(|(name, ..)| *name == typed.trim_end())?;
        let hint = if typed.ends_with(' ') { (*takes).to_owned() } else { format!(" {takes}") };
        Some(hint).filter(|_| !takes.is_empty())
    }
}

impl Highlighter for Assistant {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        if self.styled {
            Cow::Owned(format!("\u{1b}[1m{prompt}\u{1b}[0m"))
        } else {
            Cow::Borrowed(prompt)
        }
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        if self.styled {
            Cow::Owned(format!("\u{1b}[2m{hint}\u{1b}[0m"))
        } else {
            Cow::Borrowed(hint)
        }
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if goes_on(context.input()) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(line: &str) -> Vec<String> {
        let names = ["Garden/Compost", "Garden/Frost  dates", "Inbox", "People/Ana"];
        let names = names.map(str::to_owned);
        let own = ["weekly-review".to_owned()];
        let (at, pairs) = complete(line, line.len(), &names, &own);
        pairs.into_iter().map(|pair| format!("{}{}", &line[..at], pair.replacement)).collect()
    }

    #[test]
    fn commands_and_names_of_notes_are_completed() {
        assert_eq!(offered("/un"), ["/undo"]);
        assert_eq!(offered("/co"), ["/conversations "]);
        assert_eq!(offered("/we"), ["/weekly-review "]);
        assert_eq!(offered("see [[comp"), ["see [[Garden/Compost]]"]);
        assert_eq!(offered("see [[in"), ["see [[Inbox]]"]);
        assert_eq!(
            offered("see [[garden/"),
            ["see [[Garden/Compost]]", "see [[Garden/Frost  dates]]"]
        );
        assert_eq!(offered("[[Inbox]] and"), [] as [&str; 0]);
        assert_eq!(offered("plain words"), [] as [&str; 0]);
        assert_eq!(offered("say /un"), [] as [&str; 0]);
    }
}
