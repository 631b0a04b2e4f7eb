//! `steward edit`: opens a note in the user's editor and saves it as an ordinary change.

#![expect(clippy::disallowed_methods, reason = "a copy in our own state folder, for the editor")]

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use serde_json::{Value, json};

use super::whole_note::WholeNote;
use super::{CallOptions, Failure, Result, Session, completions};
use crate::config::Environment;
use crate::config::quoting::quoted;
#[cfg(not(unix))]
use crate::hooks::program_path::find;
use crate::tools::{EditFile, Tool as _};

/// The folder of copies, in the private state folder.
const DRAFTS: &str = "drafts";

#[derive(Debug, Args)]
pub struct EditArguments {
    /// The note: its name or its path
    #[arg(add = completions::notes())]
    pub name: String,
    /// Skip confirmation prompts
    #[arg(long, short)]
    pub yes: bool,
}

/// Opens a copy of the note in the user's editor and saves the edits, if the note has not changed
/// meanwhile. The copy is deleted only after the save.
///
/// # Errors
/// The tool's error, or the editor cannot be started or fails. The edited copy remains then.
pub fn run(session: &Session, edit: &EditArguments) -> Result<()> {
    let note = WholeNote::read(session, &edit.name)?;
    let root = session.vault()?;
    let folder = session.folders.prepare(root)?.join(DRAFTS);
    let draft = copy(&folder, &note)?;
    let opened = open(&draft, &session.environment);
    let edited = opened.and_then(|()| std::fs::read_to_string(&draft).map_err(Failure::from));
    let edited = edited.and_then(|edited| match change(&note, &edited) {
        None => Ok(None),
        Some(change) => {
            let call_options = CallOptions::agreed(edit.yes);
            session.call_with(EditFile::NAME, change, call_options).map(Some)
        }
    });
    let is_as_read = || std::fs::read_to_string(&draft).is_ok_and(|text| text == note.text);
    let saved = match edited {
        Err(failure) if !is_as_read() => return Err(with_draft(failure, &draft, &note.path)),
        saved => {
            let _ = std::fs::remove_file(&draft);
            saved?
        }
    };
    match saved {
        Some(saved) => session.print_answer(&session.output, &saved)?,
        None => {
            let unchanged = json!({ "path": note.path, "changed": false });
            session.output.answer(&unchanged, format!("`{}` is unchanged", note.path))?;
        }
    }
    Ok(())
}

/// Adds the location of the edited copy to the failure.
fn with_draft(failure: Failure, draft: &Path, path: &str) -> Failure {
    let (draft, path) = (draft.display(), quoted(path));
    let next = match failure.code.as_str() {
        "stale_revision" => format!("`steward edit {path}` opens the note as it is now"),
        _ => failure.hint.unwrap_or_else(|| format!("`steward edit {path}` tries again")),
    };
    Failure { hint: Some(format!("your text is in `{draft}`; {next}")), ..failure }
}

/// Writes a copy with the note's name, so that the editor recognises the file type. Never overwrites an
/// earlier copy, which holds unsaved edits.
fn copy(folder: &Path, note: &WholeNote) -> Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let name = note.path.rsplit('/').next().unwrap_or(&note.path);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut number = 1;
    loop {
        let place = match number {
            1 => folder.join(name),
            _ => folder.join(format!("{number} {name}")),
        };
        match options.open(&place) {
            Ok(mut file) => {
                file.write_all(note.text.as_bytes())?;
                return Ok(place);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Runs the editor on this terminal and waits for it.
fn open(draft: &Path, environment: &Environment) -> Result<()> {
    let named = ["VISUAL", "EDITOR"].into_iter().find_map(|name| environment.get(name));
    // Without a terminal `vi` would wait forever.
    if cfg!(unix) && named.is_none() && !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        let message = "there is no terminal for an editor";
        let hint = "set `EDITOR` to a program that edits the file it is given, or use `steward call edit_file`";
        return Err(Failure::other("no_editor", message, hint));
    }
    let editor = named.map_or_else(
        || OsString::from(if cfg!(windows) { "notepad" } else { "vi" }),
        OsString::from,
    );
    let failed = |why: String| {
        Failure::other(
            "no_editor",
            format!("the editor `{}` {why}", editor.display()),
            "set `EDITOR` to a program that waits, such as `nano` or `code --wait`",
        )
    };
    let status = command(&editor, draft).status();
    let status = status.map_err(|error| failed(format!("could not be started: {error}")))?;
    if status.success() { Ok(()) } else { Err(failed(format!("ended with {status}"))) }
}

/// Runs it through a shell, as git does: the variable may have arguments and quotes.
#[cfg(unix)]
fn command(editor: &OsString, draft: &Path) -> Command {
    let mut line = editor.clone();
    line.push(" \"$@\"");
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).arg("editor").arg(draft);
    command
}

#[cfg(not(unix))]
fn command(editor: &OsString, draft: &Path) -> Command {
    let line = editor.to_string_lossy();
    let (program, more) = match line.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
        Some(quoted) => quoted,
        None if Path::new(&*line).is_file() => (&*line, ""),
        None => line.split_once(' ').unwrap_or((&*line, "")),
    };
    let found = std::env::var_os("PATH").and_then(|folders| find(program, &folders));
    let mut command = Command::new(found.unwrap_or_else(|| program.into()));
    command.args(more.split_whitespace()).arg(draft);
    command
}

/// The tool arguments for the edit: replaces the lines from the first to the last that differ, so that
/// other lines keep their endings. `None` if nothing differs.
fn change(note: &WholeNote, edited: &str) -> Option<Value> {
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(&note.text), lines(edited));
    let before = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let ends = old[before..].iter().rev().zip(new[before..].iter().rev());
    let after = ends.take_while(|(old, new)| old == new).count();
    let (gone, come) = (before..old.len() - after, &new[before..new.len() - after]);
    let mut arguments = json!({ "path": note.path, "expected_revision": note.revision });
    let content: String = come.iter().map(|line| format!("{line}\n")).collect();
    let range = json!({ "start": gone.start + 1, "end": gone.end });
    match (gone.is_empty(), come.is_empty()) {
        (true, true) => return None,
        (true, false) => {
            arguments["insert_after_line"] = json!(before);
            arguments["content"] = json!(content);
        }
        (false, true) => arguments["delete_lines"] = range,
        (false, false) => {
            arguments["replace_lines"] = range;
            arguments["content"] = json!(content);
        }
    }
    Some(arguments)
}

/// The lines without their endings, of any kind.
fn lines(text: &str) -> Vec<&str> {
    let lines = text.split_terminator('\n');
    lines.map(|line| line.strip_suffix('\r').unwrap_or(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(old: &str, new: &str) -> Option<Value> {
        let (path, revision) = ("a.md".to_owned(), "r".to_owned());
        let mut change = change(&WholeNote { path, text: old.to_owned(), revision }, new)?;
        let fields = change.as_object_mut().unwrap();
        assert_eq!(fields.remove("path"), Some(json!("a.md")));
        assert_eq!(fields.remove("expected_revision"), Some(json!("r")));
        Some(change)
    }

    #[test]
    fn only_the_lines_that_differ_are_sent() {
        assert_eq!(changed("a\nb\n", "a\nb\n"), None);
        assert_eq!(changed("a\nb\n", "a\r\nb"), None);
        let inserted = json!({ "insert_after_line": 1, "content": "x\n" });
        assert_eq!(changed("a\nb\n", "a\nx\nb\n"), Some(inserted));
        let gone = json!({ "delete_lines": { "start": 2, "end": 2 } });
        assert_eq!(changed("a\na\n", "a\n"), Some(gone));
        let replaced = json!({ "replace_lines": { "start": 2, "end": 3 }, "content": "x\n" });
        assert_eq!(changed("a\nb\nc\nd\n", "a\nx\nd\n"), Some(replaced));
        let first = json!({ "insert_after_line": 0, "content": "x\n" });
        assert_eq!(changed("", "x"), Some(first));
    }
}
