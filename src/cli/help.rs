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
        &["plugin", "pair", "mcp", "acp", "token", "mode", "approvals", "audit"],
    ),
    ("Scripts", &["call", "workflow", "tools", "completions", "man", "help"]),
];

/// Examples by command; the empty name is the program itself.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "",
        &[
            ("steward search last frost", "find words in notes"),
            ("steward read 'Garden/Tomato'", "print a note"),
            ("steward edit 'Garden/Tomato'", "change it in your editor"),
            ("steward undo", "undo the last change"),
            ("steward serve", "run the daemon, for the chat and other programs"),
            ("steward chat", "chat with a language model about your notes"),
        ],
    ),
    (
        "search",
        &[
            ("steward search last frost", "notes with these words"),
            ("steward search -l budget --in Projects", "only the names, in one folder"),
            ("steward search -E 'frost|hail' -C 2", "a regular expression, with lines around"),
        ],
    ),
    (
        "find",
        &[
            ("steward find how to keep tomatoes from frost", "the notes that answer"),
            ("steward find '\"green tea\"' -- -black", "these exact words, without that one"),
            ("steward find kettle --all --since 1w", "changed within a week"),
        ],
    ),
    (
        "query",
        &[
            ("steward query 'status == \"open\" && due < today()'", "by properties"),
            ("steward query --base Books.base --view Shelf", "a view of a base"),
            ("steward query 'file.hasTag(\"book\")' -s file.name -s rating", "with these columns"),
        ],
    ),
    (
        "read",
        &[
            ("steward read 'Garden/Tomato'", "the whole note"),
            ("steward read 'Garden/Tomato' --lines 10-20", "some lines, with their numbers"),
            ("steward show 'Garden/Tomato' --at yesterday", "as it was then"),
        ],
    ),
    (
        "list",
        &[
            ("steward list Projects", "what is in a folder"),
            ("steward list '**/*frost*'", "by name, in all folders"),
            ("steward list Projects --at 14:02", "what was in it then"),
        ],
    ),
    (
        "links",
        &[
            ("steward links 'Garden/Tomato'", "links in a note and to it"),
            ("steward links check", "broken links in the whole vault"),
        ],
    ),
    (
        "names",
        &[
            ("steward names conventions", "how files are named, folder by folder"),
            ("steward names check", "names that break, mislead or do not fit"),
            ("steward names suggest Inbox", "better names, with reasons"),
            ("steward names rename Inbox --convention kebab-case", "plan them; links follow"),
        ],
    ),
    ("tags", &[("steward tags", "all tags"), ("steward tags Projects", "those in one folder")]),
    ("today", &[("steward today", "what is due"), ("steward today --json", "for a script")]),
    (
        "daily",
        &[
            ("steward daily", "today's note"),
            ("steward daily yesterday", "another day's"),
            ("steward daily --append '- [ ] water the beds'", "add a line to it"),
        ],
    ),
    (
        "new",
        &[
            ("steward new Inbox/Shed 'new hinges'", "a note with a text"),
            ("date | steward new Inbox/Now -", "with what is piped to it"),
        ],
    ),
    (
        "edit",
        &[
            ("steward edit 'Garden/Tomato'", "in $VISUAL or $EDITOR"),
            ("EDITOR='code --wait' steward edit Home", "an editor with windows has to wait"),
        ],
    ),
    (
        "copy",
        &[
            ("steward copy Templates/Meeting Meetings/Monday", "a note from a template"),
            ("steward copy plan.pdf 'Archive/plan 2026.pdf'", "any other file"),
        ],
    ),
    (
        "move",
        &[
            ("steward move Inbox/Shed Projects/Shed", "links to it follow"),
            ("steward move Inbox/Shed Projects/Shed --dry-run", "only show what would change"),
        ],
    ),
    (
        "delete",
        &[("steward delete Inbox/Shed", "into the trash"), ("steward restore Shed", "and back")],
    ),
    (
        "organize",
        &[
            ("steward organize plan rules.yaml", "see what rules would do; nothing changes"),
            ("steward organize apply 3", "do just that"),
            ("steward organize undo 1", "take the job back"),
        ],
    ),
    (
        "log",
        &[
            ("steward log", "the last changes"),
            ("steward log --diff -n 3", "with what changed in each"),
            ("steward log Projects --since 3d", "in a folder, of the last three days"),
        ],
    ),
    (
        "undo",
        &[
            ("steward undo", "the last change"),
            ("steward undo 17", "change set 17 of `steward log`"),
            ("steward undo 17.2", "one change of it"),
        ],
    ),
    (
        "chat",
        &[
            ("steward chat", "a conversation on the terminal"),
            ("steward chat 'what is due today?'", "one question and its answer"),
            ("git diff | steward chat 'explain this'", "with what is piped to it"),
            ("steward chat /weekly-review", "one of your prompts"),
        ],
    ),
    (
        "prompts",
        &[
            ("steward prompts", "your prompts, and examples"),
            ("steward prompts add", "shows the examples, and adds them if you agree"),
            ("steward prompts show summarize", "the text of one"),
        ],
    ),
    (
        "workflow",
        &[
            ("steward workflow check inbox.yaml", "is anything wrong with it?"),
            ("steward workflow run inbox.yaml", "show what it would do"),
            ("steward workflow run inbox.yaml --apply", "do it"),
        ],
    ),
    (
        "config",
        &[
            ("steward config list", "all settings"),
            ("steward config set models.chain ollama/qwen3:8b", "choose a model"),
        ],
    ),
    ("status", &[("steward status", "of this vault"), ("steward status --all", "of all vaults")]),
    (
        "restore",
        &[
            ("steward restore Shed", "where it was"),
            ("steward restore Shed --to Archive/Shed", "somewhere else"),
        ],
    ),
    (
        "trash",
        &[
            ("steward trash list", "what can be restored"),
            ("steward trash empty --older-than 90", "delete what has been there for 90 days"),
        ],
    ),
    (
        "serve",
        &[
            ("steward serve", "the vault you are in"),
            ("steward serve --vault ~/Notes", "another one"),
        ],
    ),
    (
        "service",
        &[
            ("steward service install --dry-run", "show what would be set up"),
            ("steward service install", "start now, and at every log-in"),
            ("steward service restart", "after an update"),
        ],
    ),
    (
        "update",
        &[
            ("steward update", "the command that updates this program"),
            ("steward update --check", "ask the project for the newest version"),
        ],
    ),
    (
        "uninstall",
        &[
            ("steward uninstall --dry-run", "show what is where, and remove nothing"),
            ("steward uninstall", "remove all but vaults, history, conversations and settings"),
            ("steward uninstall --purge", "remove all but the vaults"),
        ],
    ),
    (
        "key",
        &[
            ("steward key set anthropic", "paste the key at the prompt"),
            ("steward key status anthropic", "where it comes from"),
        ],
    ),
    (
        "conversations",
        &[
            ("steward conversations", "the latest"),
            ("steward conversations search 'frost dates'", "those that mention something"),
            ("steward conversations export 12", "one as Markdown"),
        ],
    ),
    (
        "audit",
        &[
            ("steward audit", "the last calls"),
            ("steward audit --decision refused --since 1d", "what was refused since yesterday"),
        ],
    ),
    ("mode", &[("steward mode", "show it"), ("steward mode read-only", "allow no changes")]),
    (
        "completions",
        &[
            ("steward completions fish", "save it as ~/.config/fish/completions/steward.fish"),
            ("steward completions bash", "source it from ~/.bashrc"),
        ],
    ),
    ("man", &[("steward man ~/.local/share/man/man1", "then `man steward` works")]),
];

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
    let examples = EXAMPLES.iter().find(|(name, _)| *name == command.get_name());
    let command = match examples {
        Some((_, examples)) => {
            let mut text = String::new();
            list(&mut text, &command, "Examples", examples.iter().copied());
            if let Some((_, tool)) = TOOLS.iter().find(|(name, _)| *name == command.get_name()) {
                let _ = writeln!(text, "More options: `steward call {tool} --help`");
            }
            command.after_help(StyledStr::from(text.trim_end().to_owned()))
        }
        None => command,
    };
    global_options_are_elsewhere(command).mut_subcommands(global_options_are_elsewhere)
}

/// The help of the program itself.
fn overview(command: &Command) -> StyledStr {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let header = command.get_styles().get_header();
    let usage = format!("{header}Usage:{header:#} steward [OPTIONS] <COMMAND>");
    let mut text = format!("{about}\n\n{usage}\n\n");
    let examples = EXAMPLES.iter().filter(|(name, _)| name.is_empty());
    examples.for_each(|(_, all)| list(&mut text, command, "Examples", all.iter().copied()));
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
        for (_, examples) in EXAMPLES {
            for (line, _) in *examples {
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
}
