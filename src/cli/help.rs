//! The layout of the help: commands in groups, examples, and the global options once.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::StyledStr;

use crate::tools::{
    Copy, DailyNote, Delete, EditFile, ListFiles, ListTags, Move, QueryNotes, ReadFile,
    SearchFiles, SearchNotes, Tool as _, WriteFile,
};

/// The commands by group, in the order of the help.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Notes",
        &[
            "search", "find", "query", "read", "list", "links", "names", "tags", "today", "daily",
            "new", "edit", "copy", "move", "delete", "organize",
        ],
    ),
    ("Changes", &["log", "undo", "restore", "trash", "journal"]),
    (
        "Language models",
        &["setup", "chat", "prompts", "models", "key", "usage", "conversations", "inbox"],
    ),
    (
        "Daemon",
        &[
            "serve",
            "status",
            "open",
            "service",
            "vaults",
            "doctor",
            "config",
            "update",
            "uninstall",
        ],
    ),
    (
        "Programs and permissions",
        &["plugin", "pair", "mcp", "servers", "acp", "token", "mode", "approvals", "audit"],
    ),
    ("Scripts", &["call", "workflow", "tools", "completions", "man", "help"]),
];

/// Paragraphs of examples, each below the name of its command or of the program.
const EXAMPLES: &str = include_str!("examples.txt");

/// The examples of a command with what they do.
fn examples(command: &str) -> Vec<(&'static str, &'static str)> {
    let mut paragraphs = EXAMPLES.split("\n\n").map(str::lines);
    let lines = paragraphs.find_map(|mut lines| (lines.next()? == command).then_some(lines));
    let line =
        |line: &'static str| line.trim().split_once("  ").map(|(line, does)| (line, does.trim()));
    lines.into_iter().flatten().filter_map(line).collect()
}

/// The tool behind a command; the tool has more options.
const TOOLS: &[(&str, &str)] = &[
    ("search", SearchFiles::NAME),
    ("find", SearchNotes::NAME),
    ("query", QueryNotes::NAME),
    ("read", ReadFile::NAME),
    ("list", ListFiles::NAME),
    ("tags", ListTags::NAME),
    ("daily", DailyNote::NAME),
    ("new", WriteFile::NAME),
    ("edit", EditFile::NAME),
    ("copy", Copy::NAME),
    ("move", Move::NAME),
    ("delete", Delete::NAME),
];

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 the tool or the command failed, 2 wrong arguments or settings,
3 another daemon serves the vault, 4 no vault was found, 5 the model declined.";

const GLOBAL_OPTIONS: &str = "\
Global options: --vault, --config, --json, --color, --log-level, -v; see `steward --help`";

/// Arranges the help of the command line; does not change its arguments.
pub fn arranged(command: Command) -> Command {
    let help = overview(&command);
    let mut command = explained(command).override_help(help);
    for option in ["vault", "config", "json", "log_level", "verbose", "color"] {
        command = command.mut_arg(option, |option| option.hide(true));
    }
    command
}

/// Like [`arranged`], with the global options in every command's help, for man pages.
pub fn explained(command: Command) -> Command {
    command.mut_subcommands(with_examples)
}

/// Replaces the global options in a command's help by one line: they would be its longest part.
pub fn global_options_are_elsewhere(command: Command) -> Command {
    let before = command.get_after_help().map(|help| format!("{}\n\n", help.ansi()));
    command.after_help(StyledStr::from(before.unwrap_or_default() + GLOBAL_OPTIONS))
}

fn with_examples(command: Command) -> Command {
    let examples = examples(command.get_name());
    let command = if examples.is_empty() {
        command
    } else {
        let mut text = String::new();
        list(&mut text, &command, "Examples", examples.into_iter());
        if let Some((_, tool)) = TOOLS.iter().find(|(name, _)| *name == command.get_name()) {
            let _ = writeln!(text, "More options: `steward call {tool} --help`");
        }
        command.after_help(StyledStr::from(text.trim_end().to_owned()))
    };
    global_options_are_elsewhere(command).mut_subcommands(global_options_are_elsewhere)
}

/// The help of the program itself.
fn overview(command: &Command) -> StyledStr {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let header = command.get_styles().get_header();
    let usage = format!("{header}Usage:{header:#} steward [OPTIONS] <COMMAND>");
    let mut text = format!("{about}\n\n{usage}\n\n");
    list(&mut text, command, "Examples", examples("steward").into_iter());
    let abouts: Vec<(String, String)> = command
        .get_subcommands()
        .map(|one| (one.get_name().to_owned(), one.get_about().map(ToString::to_string)))
        .map(|(name, about)| (name, about.unwrap_or_default()))
        .chain([("help".to_owned(), "Print this, or the help of a command".to_owned())])
        .collect();
    for (heading, names) in GROUPS {
        let about = |name: &str| {
            let found = abouts.iter().find(|(known, _)| known == name);
            found.map_or("", |(_, about)| about.as_str())
        };
        list(&mut text, command, heading, names.iter().map(|name| (*name, about(name))));
    }
    let options: Vec<(String, String)> = command
        .get_arguments()
        .filter_map(|option| {
            let long = option.get_long()?;
            let short = option.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
            let takes = option.get_action().takes_values();
            let names = option.get_value_names().filter(|_| takes);
            let value = names.and_then(|names| names.first());
            let value = value.map(|name| format!(" <{name}>")).unwrap_or_default();
            let help = option.get_help().map(ToString::to_string).unwrap_or_default();
            Some((format!("{short}--{long}{value}"), help))
        })
        .chain([
            ("-h, --help".to_owned(), "Print help".to_owned()),
            ("-V, --version".to_owned(), "Print the version".to_owned()),
        ])
        .collect();
    let options = options.iter().map(|(option, help)| (option.as_str(), help.as_str()));
    list(&mut text, command, "Global options", options);
    text.push_str("`steward help COMMAND` and `steward call TOOL --help` say more.\n\n");
    text.push_str(EXIT_CODES);
    StyledStr::from(text)
}

/// A heading and its entries, in two columns.
fn list<'a>(
    text: &mut String,
    command: &Command,
    heading: &str,
    rows: impl Iterator<Item = (&'a str, &'a str)>,
) {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let rows: Vec<_> = rows.collect();
    let width = rows.iter().map(|(left, _)| left.len()).max().unwrap_or(0);
    let _ = writeln!(text, "{header}{heading}:{header:#}");
    for (left, right) in rows {
        let blanks = width - left.len();
        let _ = writeln!(text, "  {literal}{left}{literal:#}{:blanks$}  {right}", "");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::arguments;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let mut all = arguments::names();
        all.push("help".to_owned());
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn every_example_can_be_typed() {
        let lines = EXAMPLES.lines().filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
        for (line, _) in lines {
            let at = line.find("steward ").unwrap();
            let words = line[at..].replace('\'', "\u{1}");
            let mut arguments = Vec::new();
            for (number, part) in words.split('\u{1}').enumerate() {
                match number % 2 {
                    0 => arguments.extend(part.split_whitespace().map(str::to_owned)),
                    _ => arguments.push(part.to_owned()),
                }
            }
            let arguments: Vec<_> = arguments.into_iter().map(Into::into).collect();
            let read = arguments::Cli::read(&arguments);
            assert!(read.is_ok(), "{line}: {}", read.unwrap_err());
        }
    }
}
