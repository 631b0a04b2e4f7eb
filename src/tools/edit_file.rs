//! `edit_file`

use std::sync::Arc;

use super::prelude::*;
use super::text_file::{self, TextFile, fits};
use super::{Basis, ReadUpdate, long_line};
use crate::journal::Change;
use crate::note::counted::counted;
use crate::note::diff;
use crate::note::edit::{Edit, EditError, apply_edit};
use crate::vault::Precondition;

/// Changes part of a text file. Use exactly one of: `old_text` with `new_text`; `insert_after_line`
/// or `insert_before_line` with `content`; `delete_lines`; `replace_lines` with `content`. The old
/// text is literal and must be in the file exactly once, unless `replace_all` is set. Line endings
/// and everything outside the edit stay as they are. The answer shows a diff.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditFile {
    /// The file, from the vault's root, or a note's name or alias alone.
    path: String,
    /// The text to replace, exactly as in the file, without line numbers.
    old_text: Option<String>,
    /// The new text; empty to remove the old one.
    new_text: Option<String>,
    /// Replace every occurrence of `old_text`.
    #[serde(default)]
    replace_all: bool,
    /// Insert `content` after this line, from 1; 0 is the start of the file, -1 its end.
    insert_after_line: Option<i64>,
    /// Insert `content` before this line, from 1.
    insert_before_line: Option<i64>,
    /// Remove these lines.
    delete_lines: Option<Lines>,
    /// Replace these lines by `content`.
    replace_lines: Option<Lines>,
    /// The lines to insert, or to replace others with.
    content: Option<String>,
    /// The revision that was read; the edit is refused if the file has changed since.
    expected_revision: Option<String>,
}

/// A range of lines, both ends included.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Lines {
    /// The first, from 1.
    start: i64,
    /// The last; -1 is the last of the file.
    end: i64,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The real path.
    path: String,
    /// The number of occurrences replaced; 0 for edits by line.
    replacements: usize,
    /// The first line that changed.
    first_line: usize,
    /// Lines added.
    lines_added: usize,
    /// Lines removed or changed.
    lines_removed: usize,
    /// The change as a unified diff; long ones are cut and say so.
    diff: String,
    /// Identity of the new content.
    revision: String,
    /// Identity of the old content.
    previous_revision: String,
    /// The change set, for `undo`.
    change_set: u64,
}

impl Tool for EditFile {
    const NAME: &'static str = "edit_file";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[(argument!(old_text), "old_string"), (argument!(new_text), "new_string")];
    const TITLE: &'static str = "Edit a file";
    const TIER: Tier = Tier::Cautious;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"path": "a.md", "old_text": "one", "new_text": "two"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let edit = operation(&self)?;
        let file = text_file::read(context, &self.path)?;
        file.expect(self.expected_revision.as_deref())?;
        let old = file.text()?;
        let edited =
            apply_edit(&file.content.bytes, &edit).map_err(|error| edit_failure(&file, &error))?;
        if let Edit::ReplaceLines { content, .. } = &edit {
            long_line::refuse_cut(&file.path, &old, content)?;
        }
        let path = &file.path;
        fits(&context.vault, path, edited.bytes.len())?;
        let diff = diff::part(&file.content.bytes, &edited.bytes, path.as_str(), 0, false);
        // Counted in the diff: a replaced range may contain unchanged lines.
        let (lines_added, lines_removed) = (diff.added, diff.removed);
        let previous = file.content.revision;
        let applied = context.editor().apply(
            format!("edit `{path}`"),
            vec![Change::Write {
                path: path.clone(),
                content: edited.bytes,
                before: Precondition::Read(Arc::new(file.content)),
            }],
        )?;
        let saved = applied.written();
        let data = Output {
            path: path.as_str().to_owned(),
            replacements: edited.replacements,
            first_line: edited.first_line,
            lines_added,
            lines_removed,
            diff: diff.into_text(),
            revision: saved.revision.to_string(),
            previous_revision: previous.to_string(),
            change_set: applied.change_set.0,
        };
        let what = match edited.replacements {
            0 => format!(
                "{} added, {} removed",
                counted(lines_added, "line"),
                counted(lines_removed, "line")
            ),
            number => counted(number, "replacement"),
        };
        let note = if saved.in_place { "; its hard links show the change too" } else { "" };
        let text =
            format!("edited `{path}`: {what}{note}, revision {}\n{}", data.revision, data.diff);
        Ok(Answer::new(text, data))
    }

    fn read_updates(edited: &Output) -> Vec<ReadUpdate> {
        vec![ReadUpdate::Edited {
            path: edited.path.clone(),
            before: edited.previous_revision.clone(),
            revision: edited.revision.clone(),
        }]
    }

    fn rests_on(&self) -> Option<Basis> {
        let takes = self.delete_lines.is_some() || self.replace_lines.is_some();
        // The start and the end of the file do not move.
        let goes_by_line = takes
            || self.insert_after_line.is_some_and(|line| ![0, -1].contains(&line))
            || self.insert_before_line.is_some_and(|line| line != 1);
        (goes_by_line && self.expected_revision.is_none()).then(|| Basis::Lines {
            path: self.path.clone(),
            revision: argument!(expected_revision),
            takes,
        })
    }
}

/// The one operation that the arguments name.
fn operation(input: &EditFile) -> Result<Edit, ToolError> {
    let content = || {
        input.content.clone().ok_or_else(|| {
            ToolError::invalid("`content` is missing", "give the lines to insert as `content`")
        })
    };
    let mut found: Vec<Result<Edit, ToolError>> = Vec::new();
    match (&input.old_text, &input.new_text) {
        (None, None) => {}
        (Some(old), Some(new)) => found.push(Ok(Edit::Replace {
            old_text: old.clone(),
            new_text: new.clone(),
            replace_all: input.replace_all,
        })),
        (Some(_), None) => found.push(Err(ToolError::invalid(
            "`new_text` is missing",
            "give `new_text`; an empty one removes the old text",
        ))),
        (None, Some(_)) => found.push(Err(ToolError::invalid(
            "`old_text` is missing",
            "give the text to replace as `old_text`, or use an edit by line",
        ))),
    }
    if let Some(line) = input.insert_after_line {
        found.push(content().map(|content| Edit::InsertAfter { line, content }));
    }
    if let Some(line) = input.insert_before_line {
        found.push(content().map(|content| Edit::InsertBefore { line, content }));
    }
    if let Some(Lines { start, end }) = input.delete_lines {
        found.push(Ok(Edit::DeleteLines { start, end }));
    }
    if let Some(Lines { start, end }) = input.replace_lines {
        found.push(content().map(|content| Edit::ReplaceLines { start, end, content }));
    }
    let by_line = [input.insert_after_line.is_some(), input.insert_before_line.is_some()];
    let takes_content = by_line.contains(&true) || input.replace_lines.is_some();
    if input.content.is_some() && !takes_content && !found.is_empty() {
        let hint = "only an insertion or `replace_lines` takes it; leave it out";
        return Err(ToolError::invalid("`content` does not go with this edit", hint));
    }
    if input.replace_all && input.old_text.is_none() {
        return Err(ToolError::invalid("`replace_all` goes only with `old_text`", "leave it out"));
    }
    let way = "use exactly one of `old_text` with `new_text`, `insert_after_line`, \
               `insert_before_line`, `delete_lines`, `replace_lines`";
    match found.len() {
        1 => found.remove(0),
        0 => Err(ToolError::invalid("no edit was given", way)),
        _ => Err(ToolError::invalid("more than one edit was given", way)),
    }
}

fn edit_failure(file: &TextFile, error: &EditError) -> ToolError {
    let data = match error {
        EditError::Several { lines, count } => {
            Some(serde_json::json!({ "lines": lines, "count": count }))
        }
        _ => None,
    };
    let message = format!("could not edit `{}`: {error}", file.path);
    let hint = error.hint().map(str::to_owned);
    ToolError { hint, data, ..ToolError::plain(error.code(), message) }
}
