//! Translates tools' texts into the terms of the command line, and other programs' command names into
//! ours.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::config::quoting::quoted;
use crate::tools::{
    ApplyPlan, DailyNote, DescribeVault, GetLinks, ListChanges, ListFiles, ListJobs, ListTags,
    ListTrash, PlanChanges, ReadFile, Registry, RollbackJob, SearchFiles, SearchNotes, ShowPlan,
    SuggestNames, Tool as _,
};

/// Tools with a command of their own.
const COMMANDS: &[(&str, &str)] = &[
    (ApplyPlan::NAME, "organize apply"),
    (ListJobs::NAME, "organize jobs"),
    (PlanChanges::NAME, "organize plan"),
    (RollbackJob::NAME, "organize undo"),
    (ShowPlan::NAME, "organize show"),
    (DailyNote::NAME, "daily"),
    (DescribeVault::NAME, "names conventions"),
    (GetLinks::NAME, "links"),
    (ListChanges::NAME, "log"),
    (ListFiles::NAME, "list"),
    (ListTags::NAME, "tags"),
    (ListTrash::NAME, "trash list"),
    (ReadFile::NAME, "read"),
    (SearchFiles::NAME, "search"),
    (SearchNotes::NAME, "find"),
    (SuggestNames::NAME, "names suggest"),
];

/// Other programs' command names and our equivalent. Checked before the nearest spelling, which would be
/// wrong: `service` for `search`.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (&["grep", "rg"], "steward search WORDS"),
    (&["ls", "dir", "files", "tree"], "steward list"),
    (&["cat", "less", "show", "view", "print", "get", "note"], "steward read NAME"),
    (&["rm", "del", "remove", "trash-put"], "steward delete NAME"),
    (&["cp", "duplicate"], "steward copy NAME NEW-NAME"),
    (&["mv", "rename", "ren"], "steward move NAME NEW-NAME"),
    (&["touch", "create", "add", "write"], "steward new NAME"),
    (&["vi", "vim", "nano", "change"], "steward edit NAME"),
    (&["todo", "tasks", "task", "due", "agenda"], "steward today"),
    (&["diary", "journal-today"], "steward daily"),
    (&["backlinks", "graph"], "steward links NAME"),
    (&["broken", "broken-links", "unresolved"], "steward links check"),
    (&["related", "similar"], "steward call related_notes NAME"),
    (&["mentions", "unlinked"], "steward call unlinked_mentions NAME"),
    (&["duplicates", "dupes"], "steward call find_duplicates"),
    (&["outline", "overview"], "steward call vault_outline"),
    (&["describe", "stats"], "steward call describe_vault"),
    (&["tag"], "steward tags"),
    (&["history", "changes"], "steward log"),
    (&["diff"], "steward log --diff"),
    (&["revert", "rollback", "reset"], "steward undo"),
    (&["init"], "steward serve --vault PATH"),
    (&["start", "run", "daemon", "server", "up"], "steward serve"),
    (&["ps", "info"], "steward status --all"),
    (&["plan", "sort", "tidy"], "steward organize plan FILE"),
    (&["rules"], "steward organize rules check FILE"),
    (&["apply"], "steward organize apply PLAN"),
    (&["jobs"], "steward organize jobs"),
    (&["ask", "talk"], "steward chat"),
    (&["login", "auth"], "steward key set PROVIDER"),
    (&["model", "providers"], "steward models"),
    (&["settings", "set", "preferences"], "steward config list"),
    (&["install"], "steward plugin install"),
    (&["mkdir", "md"], "steward call create_folder PATH"),
    (&["run-plan", "pipeline", "flow", "workflows"], "steward workflow run FILE"),
    (&["web", "ui", "gui", "browser"], "steward open"),
    (&["export"], "steward conversations export"),
    (&["version"], "steward --version"),
    (&["restart", "reload"], "steward service restart"),
    (&["upgrade", "self-update"], "steward update"),
    (&["cleanup", "prune", "gc"], "steward journal gc"),
    (&["--session", "--resume", "--continue"], "steward chat --conversation N"),
    (&["--dir", "--directory", "--folder", "--root"], "--vault PATH"),
];

/// Words that follow one of our commands elsewhere, and our equivalent.
const BELOW: &[(&str, &[&str], &str)] = &[
    ("config", &["show", "ls"], "steward config list"),
    ("config", &["edit", "file"], "steward config path"),
    ("journal", &["check", "fsck"], "steward journal verify"),
    ("key", &["list", "ls", "show", "get"], "steward key status PROVIDER"),
    ("models", &["set", "use"], "steward setup"),
    ("models", &["ls"], "steward models"),
    ("organize", &["list", "ls"], "steward organize jobs"),
    ("plugin", &["list", "load", "unload"], "steward plugin status"),
];

/// Other programs' commands without an equivalent, with our advice.
const NOT_HERE: &[(&[&str], &str)] = &[
    (&["--host", "--bind", "--listen"], "the daemon listens on this machine alone"),
    (
        &["--execution-mode", "--approval-mode", "--sandbox"],
        "`steward mode` shows and sets which changes need your approval; `steward call TOOL --dry-run` \
         shows what a change would do",
    ),
    (
        &["--agent", "--profile", "--allow-tools"],
        "there is one agent; what it and programs may do are the settings `policy.*`",
    ),
    (
        &["stop", "kill", "quit", "exit", "shutdown"],
        "Ctrl-C ends `steward serve`; `steward service uninstall` ends the one that starts at log-in",
    ),
    (
        &["index", "reindex", "memory"],
        "the index is built automatically: `steward search WORDS` searches notes, `steward conversations search WORDS` conversations",
    ),
];

/// The message for a command that only other programs have.
pub fn not_here(word: &str) -> Option<&'static str> {
    NOT_HERE.iter().find(|(words, _)| words.contains(&word)).map(|(_, hint)| *hint)
}

/// Our command for another program's command `word`.
pub fn known_elsewhere(word: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(words, _)| words.contains(&word)).map(|(_, command)| *command)
}

/// Our command for another program's `word` after our `command`.
pub fn known_below(command: &str, word: &str) -> Option<&'static str> {
    BELOW.iter().find(|(of, words, _)| *of == command && words.contains(&word)).map(|one| one.2)
}

pub fn command_of(tool: &str) -> String {
    match COMMANDS.iter().find(|(name, _)| *name == tool) {
        Some((_, command)) => format!("steward {command}"),
        None => format!("steward call {tool}"),
    }
}

/// Hints that need more than single words replaced: a revision is only in the JSON of `steward call`, a job and a plan
/// are given without a flag.
const PHRASES: &[(&str, &str)] = &[
    (
        "use the `revision` of the last read_file, write_file or edit_file",
        "`steward call read_file --json` shows the revision",
    ),
    (
        "the `expected_revision` that read_file gives",
        "the `--expected-revision` that `steward call read_file --json` shows",
    ),
    (
        "read it first with read_file and give the `revision` that comes with it",
        "give the `revision` that `steward call read_file --json` shows as `--expected-revision`",
    ),
    ("with `if_exists: \"overwrite\"`", "with `--if-exists overwrite`"),
    ("`move` with `leave_read_only`", "`steward call move --leave-read-only`"),
    ("list_jobs with `job`", "`steward organize jobs JOB`"),
    ("apply_plan with `job`: ", "`steward organize resume` with job "),
    ("rollback_job with job: ", "`steward organize undo` with job "),
    ("`restore` with item `", "`steward restore` with `"),
    ("list_changes with change_set: ", "`steward log --change-set` with "),
];

/// Replaces tools and arguments in a tool's hint by commands and flags. Names that are also ordinary words
/// (`undo`, `path`) stay.
pub fn hint(hint: &str) -> String {
    let phrased = PHRASES.iter().fold(hint.to_owned(), |hint, (old, new)| hint.replace(old, new));
    flags(&commands(&phrased))
}

fn flags(hint: &str) -> String {
    static ARGUMENTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let schemas = Registry::built_in().iter().filter_map(|tool| {
            Some(tool.input_schema["properties"].as_object()?.keys().cloned().collect::<Vec<_>>())
        });
        let names: Vec<String> = schemas.flatten().filter(|name| name.contains('_')).collect();
        Regex::new(&format!("`({})`", names.join("|"))).ok()
    });
    let flag = |found: &Captures<'_>| format!("`--{}`", found[1].replace('_', "-"));
    match ARGUMENTS.as_ref() {
        Some(arguments) => arguments.replace_all(hint, flag).into_owned(),
        None => hint.to_owned(),
    }
}

fn commands(hint: &str) -> String {
    static TOOLS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let names = Registry::built_in().iter().map(|tool| regex::escape(&tool.name));
        let names: Vec<String> = names.filter(|name| name.contains('_')).collect();
        Regex::new(&format!(
            r"`?\b(?P<tool>{})\b`?(?: with path `(?P<path>[^`]*)`)?",
            names.join("|")
        ))
        .ok()
    });
    // A suggested name stays as it is.
    let Some(tools) = TOOLS.as_ref().filter(|_| !hint.starts_with("did you mean")) else {
        return hint.replace("`create: true`", "`--create`");
    };
    let command = |found: &Captures<'_>| {
        let whole = found.get_match();
        if hint[..whole.start()].ends_with("steward call ") {
            return whole.as_str().to_owned();
        }
        let path =
            found.name("path").map_or(String::new(), |path| format!(" {}", quoted(path.as_str())));
        format!("`{}{path}`", command_of(&found["tool"]))
    };
    tools.replace_all(hint, command).replace("`create: true`", "`--create`")
}

/// A tool's text without a file's revision, which programs find in the JSON.
pub fn without_revision(text: &str) -> String {
    static REVISION: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^(.*)[,;] revision [0-9a-f]{32}(\n|$)").ok());
    match REVISION.as_ref() {
        Some(revision) => revision.replace(text, "$1$2").into_owned(),
        None => text.to_owned(),
    }
}

/// A tool's text, adapted to the command line: how to continue, and no revision.
pub fn answer(text: &str) -> String {
    static UNDO: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?:undo change set (\d+) to have it back|change set (\d+) brings it back)")
            .ok()
    });
    let text = without_revision(text);
    let lines = text.lines().enumerate().map(|(at, line)| {
        let mut line = in_own_words(line).unwrap_or_else(|| line.to_owned());
        if let (0, Some(undo)) = (at, UNDO.as_ref()) {
            line = undo.replace(&line, "`steward undo $1$2` brings it back").into_owned();
        }
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Translates a line of [`answer`]. Note text is never mistaken for advice: in a diff it is
/// indented further, in a search result it is numbered.
fn in_own_words(line: &str) -> Option<String> {
    let number = |text: &str| text.parse::<u64>().ok();
    if let Some(before) = line.strip_prefix("[older ones with before: ") {
        let before = number(before.strip_suffix(']')?)?;
        return Some(format!("[older ones with --before {before}]"));
    }
    if let Some((rest, place)) = line.strip_prefix("and ").and_then(|line| line.split_once("; ")) {
        let (first, _) = place.strip_prefix("first_result: ")?.split_once(',')?;
        let command = format!("steward trash list --first-result {}", number(first)?);
        return Some(format!("and {rest}; `{command}` shows them"));
    }
    if line.starts_with('[') || line.starts_with("  [") {
        let first = line.replace("first_result: ", "--first-result ");
        let first = first.replace("first_item: ", "--first-item ");
        let limit = first.replace("max_results or max_matches", "--limit");
        let limit = limit.replace("max_results", "--limit").replace("file_pattern", "--files");
        return Some(limit.replace("narrow it with path or ", "narrow it with --in or "));
    }
    if let Some(lost) = line.strip_suffix("list_links finds what leads nowhere") {
        return Some(format!("{lost}`steward links check` finds what leads nowhere"));
    }
    let (rest, place) = line.strip_prefix("    and ")?.split_once("; ")?;
    let (set, first) = place.split_once("change_set: ")?.1.split_once(", first_change: ")?;
    let first = first.strip_suffix(" shows them").unwrap_or(first);
    let (set, first) = (number(set)?, number(first)?);
    let command = format!("steward log --change-set {set} --first-change {first}");
    Some(format!("    and {rest}; `{command}` shows them"))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn hints_name_commands() {
        let cases = [
            ("list_changes lists them", "`steward log` lists them"),
            ("list_files with path `A` shows it", "`steward list A` shows it"),
            (
                "read it with read_file, or `edit_file`",
                "read it with `steward read`, or `steward call edit_file`",
            ),
            ("did you mean `read_file`?", "did you mean `read_file`?"),
            ("`undo` undoes it", "`undo` undoes it"),
            (
                "`restore` with item `A b.md` brings it back",
                "`steward restore` with `A b.md` brings it back",
            ),
            ("use `old_text` with `new_text`", "use `--old-text` with `--new-text`"),
            ("see `steward call read_file --help`", "see `steward call read_file --help`"),
            (
                "resume it: apply_plan with `job`: 4; or take it back: rollback_job",
                "resume it: `steward organize resume` with job 4; or take it back: `steward organize undo`",
            ),
            (
                "use the `revision` of the last read_file, write_file or edit_file",
                "`steward call read_file --json` shows the revision",
            ),
        ];
        for (old, shown) in cases {
            assert_eq!(hint(old), shown);
        }
    }

    /// Every command and flag that the command line's texts mention exists.
    #[test]
    fn every_command_that_is_named_exists() {
        let span = Regex::new(r"`steward ([a-z][^`\n]*)`").unwrap();
        let joined = Regex::new(r"\\\n\s*").unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = vec![root.join("README.md")];
        for folder in ["src", "docs"] {
            collect(&root.join(folder), &mut files);
        }
        let mut cli = super::super::arguments::command();
        cli.build();
        let (mut wrong, mut named) = (Vec::new(), 0);
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let text = joined.replace_all(&text, "");
            let hints = if text.contains("hint") { hint(&text) } else { String::new() };
            for found in span.captures_iter(&text).chain(span.captures_iter(&hints)) {
                named += 1;
                if let Err(why) = exists(&cli, &found[1]) {
                    wrong.push(format!("{}: `steward {}`: {why}", file.display(), &found[1]));
                }
            }
        }
        assert!(named > 300, "{named}");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            match path.extension().and_then(|end| end.to_str()) {
                _ if path.is_dir() => collect(&path, files),
                Some("rs" | "md") => files.push(path),
                _ => {}
            }
        }
    }

    /// Whether a line names a command and flags that it has. Ignores values and placeholders.
    fn exists(cli: &clap::Command, line: &str) -> Result<(), String> {
        let (mut command, mut all) = (cli, true);
        for word in line.split_whitespace().take_while(|word| *word != "|") {
            let is_word = word.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c == '_');
            if let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.is_empty()) {
                let flag = flag.split('=').next().unwrap_or(flag);
                let has = |command: &clap::Command| {
                    command.get_arguments().any(|arg| arg.get_long() == Some(flag))
                };
                let is_known = flag == "help" || flag == "version" || has(command) || has(cli);
                // A placeholder such as TOOL may be any command.
                if !is_known && !command.get_subcommands().any(has) {
                    return Err(format!("no `--{flag}`"));
                }
            } else if let Some(found) = command.find_subcommand(word).filter(|_| all) {
                command = found;
            } else if command.has_subcommands() && is_word && all {
                return Err(format!("no `{word}`"));
            } else {
                all = false;
            }
        }
        Ok(())
    }

    #[test]
    fn answers_are_for_people() {
        let revision = "91d886206a5b85df04bf96da7042ed2c";
        let cases = [
            (format!("created `a.md` (12 B), revision {revision}"), "created `a.md` (12 B)"),
            (format!("`a.md`: set x; revision {revision}\n+x"), "`a.md`: set x\n+x"),
            (format!("a\nx, revision {revision}"), &*format!("a\nx, revision {revision}")),
            (
                "undid 2; change set 3 brings it back".into(),
                "undid 2; `steward undo 3` brings it back",
            ),
            (
                "gone; undo change set 6 to have it back".into(),
                "gone; `steward undo 6` brings it back",
            ),
            (
                "[2 of 9; go on with first_result: 3, or not]".into(),
                "[2 of 9; go on with --first-result 3, or not]",
            ),
            (
                "[7 more items; go on with first_item: 201]".into(),
                "[7 more items; go on with --first-item 201]",
            ),
        ];
        for (old, shown) in cases {
            assert_eq!(answer(&old), shown);
        }
    }

    #[test]
    fn no_word_of_another_program_is_one_of_ours() {
        let ours: Vec<_> = super::super::arguments::names();
        for (words, _) in ELSEWHERE {
            assert!(words.iter().all(|word| !ours.contains(&(*word).to_owned())), "{words:?}");
        }
        let command = super::super::arguments::command();
        for (of, words, _) in BELOW {
            let of = command.find_subcommand(of).expect("one of ours");
            assert!(words.iter().all(|word| of.find_subcommand(word).is_none()), "{words:?}");
        }
        for (words, _) in NOT_HERE {
            assert!(words.iter().all(|word| !ours.contains(&(*word).to_owned())), "{words:?}");
        }
    }
}
