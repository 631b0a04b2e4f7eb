//! The everyday commands: `search`, `read`, `list`, `new`, `copy`, `move`, `delete`, `daily` and `tags`.
//! Each calls one tool and prints its answer.

use std::io::Read as _;

use clap::Args;
use serde_json::json;

use super::whole_note::{BINARY, WholeNote};
use super::{CallOptions, Failure, Result, Session, as_of, completions, paint, words};
use crate::config::quoting::quoted;
use crate::tools::{
    Copy, DailyNote, Delete, ListFiles, ListTags, Move, ReadFile, SearchFiles, Tool as _, WriteFile,
};

/// The largest text read from stdin, in bytes: the limit of a message to the daemon.
const MAX_STDIN: u64 = 4 << 20;

#[derive(Debug, Args)]
pub struct SearchArguments {
    /// The phrase to find, exactly
    #[arg(required = true)]
    pub words: Vec<String>,
    /// Take the words as a regular expression
    #[arg(long, short = 'E')]
    pub regex: bool,
    /// Only in this folder
    #[arg(long = "in", value_name = "FOLDER", add = completions::notes())]
    pub folder: Option<String>,
    /// Only in files that fit this pattern, such as '*.canvas' [default: notes]
    #[arg(long, value_name = "GLOB")]
    pub files: Option<String>,
    /// Lines shown before and after each hit, up to 20
    #[arg(long, short = 'C', value_name = "N", default_value_t = 0)]
    pub context: u32,
    /// Only name the notes
    #[arg(long, short = 'l', conflicts_with = "count")]
    pub names: bool,
    /// Only count the hits in each note
    #[arg(long, short)]
    pub count: bool,
    /// Notes shown at most, up to 1,000
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub limit: u32,
}

#[derive(Debug, Args)]
pub struct ReadArguments {
    /// The note: its name or its path
    #[arg(add = completions::notes())]
    pub name: String,
    /// Only these lines, with their numbers: 10, 10-20 or 10-
    #[arg(long, short, value_name = "LINES", conflicts_with = "at")]
    pub lines: Option<String>,
    /// As it was then: a time such as 14:02, '2026-11-20 14:30', 2h or yesterday, or after a change
    /// set: 17
    #[arg(long, value_name = "WHEN")]
    pub at: Option<String>,
}

#[derive(Debug, Args)]
pub struct ListArguments {
    /// A folder, or a pattern such as 'Projects/*.md' or '**/*garden*' [default: the vault]
    #[arg(add = completions::notes())]
    pub place: Option<String>,
    /// Entries shown at most, up to 1,000
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    pub limit: u32,
    /// The first entry shown, to continue a list that was cut
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub first_result: u64,
    /// All files that the folder had then: a time, or after a change set: 17
    #[arg(long, value_name = "WHEN", conflicts_with_all = ["limit", "first_result"])]
    pub at: Option<String>,
}

#[derive(Debug, Args)]
pub struct NewArguments {
    /// The new note: a name, or a path such as Projects/Shed
    pub name: String,
    /// Its text; `-` reads it from stdin [default: none]
    pub text: Vec<String>,
    /// Make it even if a note elsewhere has this name
    #[arg(long)]
    pub create: bool,
    /// Skip confirmation prompts
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct CopyArguments {
    /// The note or file
    #[arg(add = completions::notes())]
    pub name: String,
    /// The name or path of the copy
    #[arg(add = completions::notes())]
    pub to: String,
    /// Only say what would change, links included
    #[arg(long)]
    pub dry_run: bool,
    /// Skip confirmation prompts
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct MoveArguments {
    /// The note, file or folder
    #[arg(add = completions::notes())]
    pub name: String,
    /// Its new name or path
    #[arg(add = completions::notes())]
    pub to: String,
    /// Only say what would change, links included
    #[arg(long)]
    pub dry_run: bool,
    /// Skip confirmation prompts
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct DeleteArguments {
    /// The note, file or folder
    #[arg(add = completions::notes())]
    pub name: String,
    /// Skip confirmation prompts
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct DailyArguments {
    /// The day: today, tomorrow, yesterday or a date such as 2026-11-21 [default: today]
    pub day: Vec<String>,
    /// Add this at the end of the note
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub append: Option<String>,
    /// Do not create the note if there is none
    #[arg(long)]
    pub no_create: bool,
    /// Skip confirmation prompts
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct TagsArguments {
    /// Only of this note, or of notes in this folder
    #[arg(add = completions::notes())]
    pub place: Option<String>,
    /// The first tag shown, to continue a list that was cut
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub first_result: u64,
}

/// Prints the lines that match.
pub fn search(session: &Session, search: &SearchArguments) -> Result<()> {
    let words = search.words.join(" ");
    let pattern = if search.regex { words } else { regex::escape(&words) };
    let mode = match (search.names, search.count) {
        (true, _) => "files_with_matches",
        (_, true) => "count",
        _ => "content",
    };
    let arguments = json!({
        "pattern": pattern,
        "path": search.folder,
        "file_pattern": search.files,
        "context_lines": search.context,
        "output_mode": mode,
        "max_results": search.limit,
        "max_matches": 500,
    });
    let found = session.call(SearchFiles::NAME, arguments)?;
    let text = paint::hits(&session.output, &words::answer(&found.text), &pattern);
    session.output.paged().answer(&found.data, text)
}

/// Prints a note unchanged, or a range of its lines with their numbers.
pub fn read(session: &Session, read: &ReadArguments) -> Result<()> {
    if let Some(at) = &read.at {
        return as_of::show(session, Some(&read.name), at);
    }
    let mut arguments = json!({ "path": read.name });
    if let Some(lines) = &read.lines {
        let (first, last) = range(lines).ok_or_else(|| {
            let message = format!("\"{lines}\" is not a range of lines");
            Failure::usage(message, "use 10, 10-20 or 10-")
        })?;
        arguments["start_line"] = json!(first);
        arguments["end_line"] = json!(last);
    } else if !session.output.json() {
        match WholeNote::read(session, &read.name) {
            // The tool reports its type, or returns its text.
            Err(failure) if failure.code == BINARY => {}
            whole => {
                return session.output.paged().text(&whole?.text);
            }
        }
    }
    session.print(ReadFile::NAME, arguments)
}

/// Parses a range of lines; -1 is the last line.
fn range(lines: &str) -> Option<(i64, i64)> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|line| *line > 0).map(i64::from);
    match lines.split_once(['-', ':']) {
        None => number(lines).map(|line| (line, line)),
        Some((first, "")) => Some((number(first)?, -1)),
        Some((first, last)) => Some((number(first)?, number(last)?)),
    }
}

/// Lists a folder, or the entries that match a pattern.
pub fn list(session: &Session, list: &ListArguments) -> Result<()> {
    if let Some(at) = &list.at {
        return as_of::show(session, list.place.as_deref(), at);
    }
    let is_pattern = |place: &&String| place.contains(['*', '?', '{']);
    let place = list.place.as_ref();
    let arguments = json!({
        "pattern": place.filter(is_pattern),
        "path": place.filter(|place| !is_pattern(place)),
        "max_results": list.limit,
        "first_result": list.first_result,
    });
    session.print(ListFiles::NAME, arguments)
}

/// Creates a note; never overwrites one.
pub fn new(session: &Session, new: &NewArguments) -> Result<()> {
    let mut text = new.text.join(" ");
    if new.text == ["-"] {
        text.clear();
        let read = std::io::stdin().lock().take(MAX_STDIN + 1).read_to_string(&mut text);
        read.map_err(|error| {
            Failure::usage(
                format!("could not read stdin: {error}"),
                "pipe UTF-8 text into it, or leave `-` out",
            )
        })?;
        if text.len() as u64 > MAX_STDIN {
            return Err(Failure::usage("stdin has more than 4 MiB", "give less at once"));
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let arguments = json!({ "path": as_note(&new.name), "content": text, "if_exists": "fail", "create": new.create });
    let made = session.call_with(WriteFile::NAME, arguments, CallOptions::agreed(new.yes));
    let made = made.map_err(|failure| match failure.code.as_str() {
        "already_exists" => {
            let hint = format!("`steward edit {}` changes it", quoted(&new.name));
            Failure { hint: Some(hint), ..failure }
        }
        "ambiguous_path" => {
            let other = failure.data.as_ref().and_then(|data| data["did_you_mean"][0].as_str());
            let hint = other.map(quoted).map(|other| {
                format!("`steward edit {other}` changes that one; `--create` makes another")
            });
            Failure { hint: hint.or(failure.hint.clone()), ..failure }
        }
        _ => failure,
    })?;
    session.print_answer(&session.output, &made)
}

/// Adds `.md` unless the name has an extension that Obsidian knows: `Version 1.2` has none.
fn as_note(name: &str) -> String {
    let end = name.rsplit_once('.').map(|(_, end)| end.to_lowercase()).unwrap_or_default();
    if ["md", "canvas", "base"].contains(&&*end) { name.to_owned() } else { format!("{name}.md") }
}

/// Copies a file; links in the copy lead to the same targets.
pub fn copy(session: &Session, copied: &CopyArguments) -> Result<()> {
    let arguments =
        json!({ "source": copied.name, "destination": copied.to, "dry_run": copied.dry_run });
    session.print_with(Copy::NAME, arguments, CallOptions::agreed(copied.yes))
}

/// Moves or renames an entry, and updates the links to it.
pub fn move_to(session: &Session, moved: &MoveArguments) -> Result<()> {
    let arguments =
        json!({ "source": moved.name, "destination": moved.to, "dry_run": moved.dry_run });
    session.print_with(Move::NAME, arguments, CallOptions::agreed(moved.yes))
}

/// Moves an entry to the trash.
pub fn delete(session: &Session, deleted: &DeleteArguments) -> Result<()> {
    let arguments = json!({ "path": deleted.name });
    session.print_with(Delete::NAME, arguments, CallOptions::agreed(deleted.yes))
}

/// Prints a daily note, or adds to it.
pub fn daily(session: &Session, daily: &DailyArguments) -> Result<()> {
    let day = Some(daily.day.join(" ")).filter(|day| !day.is_empty());
    let arguments = json!({ "date": day, "append": daily.append, "create": !daily.no_create });
    session.print_with(DailyNote::NAME, arguments, CallOptions::agreed(daily.yes))
}

/// Prints the tags, the most frequent first.
pub fn tags(session: &Session, tags: &TagsArguments) -> Result<()> {
    let arguments = json!({ "path": tags.place, "first_result": tags.first_result });
    session.print(ListTags::NAME, arguments)
}

#[cfg(test)]
mod tests {
    use super::{as_note, range};

    #[test]
    fn lines_are_read_as_people_write_them() {
        assert_eq!(range("7"), Some((7, 7)));
        assert_eq!(range("7-9"), Some((7, 9)));
        assert_eq!(range("7:9"), Some((7, 9)));
        assert_eq!(range("7-"), Some((7, -1)));
        for wrong in ["", "0", "x", "-3", "1-x"] {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_new_note_is_one_that_obsidian_shows() {
        assert_eq!(as_note("Shed"), "Shed.md");
        assert_eq!(as_note("Version 1.2"), "Version 1.2.md");
        assert_eq!(as_note("a/b.MD"), "a/b.MD");
        assert_eq!(as_note("Plan.canvas"), "Plan.canvas");
    }
}
