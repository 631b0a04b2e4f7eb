//! The result as text.

use std::fmt::Write as _;

use super::super::paging;
use super::super::text_file::shown;
use super::{Explanation, Output, Part, PartOutcome, Read, RowErrors, Summary, Warning};
use crate::note::counted::counted;

/// The most characters of a cell in the text; the data is complete.
const MAX_CELL: usize = 160;

pub(super) fn words(data: &Output, skipped: usize) -> String {
    let mut text = String::with_capacity(data.rows.len() * 80 + 200);
    if let Some(explanation) = &data.explanation {
        explain(explanation, &mut text);
        text.truncate(text.trim_end().len());
        warn(data, &mut text);
        return text;
    }
    if !data.rows.is_empty() {
        let titles = data.columns.iter().map(|column| cell(&column.title));
        line(std::iter::once("path".to_owned()).chain(titles), &mut text);
    }
    for row in &data.rows {
        let cells = row.texts.iter().map(|text| cell(text));
        line(std::iter::once(shown(&row.path)).chain(cells), &mut text);
    }
    for group in &data.groups {
        let _ =
            write!(text, "[group {}: {}", quoted_name(&group.text), counted(group.count, "row"));
        sums(&group.summaries, &mut text);
        text.push_str("]\n");
    }
    if !data.summaries.is_empty() {
        text.push_str("[all rows");
        sums(&data.summaries, &mut text);
        text.push_str("]\n");
    }
    if data.rows.is_empty() && data.total == 0 {
        text.push_str("no row fits\n");
    }
    let narrow = "raise limit or narrow `where`";
    text.push_str(&paging::summary(skipped, data.rows.len(), data.total, narrow));
    warn(data, &mut text);
    text
}

/// Warnings about the query, and notes on missing results.
fn warn(data: &Output, text: &mut String) {
    for warning in &data.warnings {
        let Warning { message, line, column, .. } = warning;
        let _ = write!(text, "\n[warning at {line}:{column}: {message}");
        if let Some(hint) = &warning.hint {
            let _ = write!(text, "; {hint}");
        }
        text.push(']');
    }
    if let Some(RowErrors { count: rows, path, message, column, .. }) = &data.row_errors {
        let (rows, path) = (counted(*rows, "row"), shown(path));
        let _ = write!(
            text,
            "\n[{rows} left out, since the condition failed; the first is `{path}`: {message} (column {column})]"
        );
    }
    if data.is_this_missing {
        text.push_str("\n[`this` was not given: name a note with `this`]");
    }
    if data.unknown_files > 0 {
        let notes = counted(data.unknown_files, "note");
        let _ = write!(text, "\n[the properties of {notes} could not be read]");
    }
}

fn line(cells: impl Iterator<Item = String>, text: &mut String) {
    for (at, cell) in cells.enumerate() {
        text.push_str(if at > 0 { " | " } else { "" });
        text.push_str(&cell);
    }
    text.push('\n');
}

/// A cell's text as one line, shortened.
fn cell(text: &str) -> String {
    let mut characters = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = characters.by_ref().take(MAX_CELL).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short.replace('|', "\\|")
}

fn quoted_name(text: &str) -> String {
    if text.is_empty() { "(none)".to_owned() } else { format!("`{}`", cell(text)) }
}

fn sums(summaries: &[Summary], text: &mut String) {
    for Summary { column, name, text: value, .. } in summaries {
        let _ = write!(text, "; {name} of {column}: {}", cell(value));
    }
}

fn explain(explanation: &Explanation, text: &mut String) {
    let outcome = if explanation.is_row { "is a row" } else { "is not a row" };
    let _ = writeln!(text, "{} {outcome}", shown(&explanation.path));
    for Part { depth, expression, outcome, error, reads } in &explanation.parts {
        let mark = match outcome {
            PartOutcome::Holds => "yes",
            PartOutcome::HoldsNot => "no",
            PartOutcome::Failed => "failed",
            PartOutcome::NotAsked => "not asked",
        };
        let _ = write!(text, "{}{mark}  {}", "  ".repeat(depth + 1), cell(expression));
        for Read { name, text: value, .. } in reads {
            let _ = write!(text, "; {name} is {}", quoted_name(value));
        }
        if let Some(error) = error {
            let _ = write!(text, "; {}", cell(error));
        }
        text.push('\n');
    }
}
