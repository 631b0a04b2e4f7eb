//! `steward query`: the notes that match a condition, or a view of a base, as a table.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::output::Paint;
use super::{Output, Result, Session, completions};
use crate::note::counted::counted;
use crate::tools::{Answer, QueryNotes, Tool as _};

/// The default number of rows in a table on a terminal.
const TABLE_ROWS: usize = 100;

/// Rows per call: the tool's maximum.
const PAGE: usize = 1000;

/// The length of the longest bar, in characters.
const BAR: u64 = 30;

#[derive(Debug, Args)]
pub struct QueryArguments {
    /// A condition for notes, such as 'status == "open" && due < today()'
    #[arg(required_unless_present = "base")]
    pub expression: Option<String>,
    /// Run a view of this base; `Note.md#2` is the second base in a note
    #[arg(long, value_name = "FILE", conflicts_with = "expression", add = completions::notes())]
    pub base: Option<String>,
    /// The view [default: the first]
    #[arg(long, value_name = "NAME", requires = "base")]
    pub view: Option<String>,
    /// The note that `this` means
    #[arg(long, value_name = "NOTE", add = completions::notes())]
    pub this: Option<String>,
    /// A column: a property, `file.mtime`, or any expression; repeat it for more
    #[arg(long, short, value_name = "EXPRESSION")]
    pub select: Vec<String>,
    /// Sort by this property or field, `-due` the last first; repeat it for more
    #[arg(long, value_name = "PROPERTY", allow_hyphen_values = true)]
    pub sort: Vec<String>,
    /// Rows at most [default: 100 in a table, else all]
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// The first row shown, from 1
    #[arg(long, value_name = "N", default_value = "1")]
    pub first_result: NonZeroUsize,
    /// How rows are printed
    #[arg(long, short, value_enum, default_value = "table")]
    pub format: Format,
    /// Say why this note is among the rows, or is not
    #[arg(long, value_name = "NOTE", conflicts_with = "format", add = completions::notes())]
    pub explain: Option<String>,
    /// Read the condition in the classic dialect, with AND, OR, IN and MATCHES
    #[arg(long, requires = "expression")]
    pub classic: bool,
}

/// How rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns that line up
    Table,
    /// One JSON value, as with --json
    Json,
    /// A JSON object a row
    Jsonl,
    /// Comma-separated, with a header
    Csv,
    /// Tab-separated, with a header
    Tsv,
    /// A Markdown table
    Md,
    /// The paths alone
    Paths,
}

/// Prints the rows, or why a note is or is not among them.
pub fn run(session: &Session, query: &QueryArguments) -> Result<()> {
    if query.explain.is_some() {
        let found = page(session, query, query.first_result.get(), 1)?;
        return session.output.paged().answer(&found.data, &found.text);
    }
    let format = if session.output.json() { Format::Json } else { query.format };
    let default = if format == Format::Table { TABLE_ROWS } else { usize::MAX };
    let mut found = rows(session, query, query.limit.unwrap_or(default))?;
    let names_no_note = query.base.is_none() && query.select.is_empty();
    if names_no_note && !matches!(format, Format::Json | Format::Jsonl) {
        name_notes(&mut found);
    }
    for notice in notices(&found) {
        session.output.notice(&notice);
    }
    match format {
        Format::Table => session.output.paged().text(&table(&found, query, &session.output))?,
        Format::Json => session.output.json_value(&found)?,
        Format::Jsonl => {
            let lines: Vec<String> = list(&found["rows"]).map(|row| object(&found, row)).collect();
            session.output.text(&lines.join("\n"))?;
        }
        Format::Csv => session.output.raw(&separated(&found, b',')?)?,
        Format::Tsv => session.output.raw(&separated(&found, b'\t')?)?,
        Format::Md => session.output.text(&markdown(&found))?,
        Format::Paths => {
            let paths: Vec<&str> = list(&found["rows"]).map(|row| text(&row["path"])).collect();
            session.output.text(&paths.join("\n"))?;
        }
    }
    Ok(())
}

/// The answer with up to `most` rows; makes several calls if one cannot return as many.
fn rows(session: &Session, query: &QueryArguments, most: usize) -> Result<Value> {
    let mut found = page(session, query, query.first_result.get(), most.min(PAGE))?.data;
    loop {
        let shown = list(&found["rows"]).count();
        let next = query.first_result.get() + shown;
        let is_whole = found["total"].as_u64().is_none_or(|total| next as u64 > total);
        if is_whole || shown >= most || shown == 0 {
            return Ok(found);
        }
        let mut more = page(session, query, next, (most - shown).min(PAGE))?.data;
        let Some(more) = more["rows"].as_array_mut().filter(|rows| !rows.is_empty()) else {
            return Ok(found);
        };
        if let Some(rows) = found["rows"].as_array_mut() {
            rows.append(more);
        }
    }
}

fn page(
    session: &Session,
    query: &QueryArguments,
    first: usize,
    limit: usize,
) -> Result<Answer<Value>> {
    let order = |key: &String| match key.strip_prefix('-') {
        Some(key) => format!("{key} desc"),
        None => key.clone(),
    };
    let sort: Vec<String> = query.sort.iter().map(order).collect();
    let some = |values: &[String]| (!values.is_empty()).then(|| values.to_vec());
    let arguments = json!({
        "where": query.expression,
        "base": query.base,
        "view": query.view,
        "this": query.this,
        "explain": query.explain,
        "select": some(&query.select),
        "sort": some(&sort),
        "dialect": query.classic.then_some("classic"),
        "first_result": first,
        "limit": limit,
    });
    session.call(QueryNotes::NAME, arguments)
}

/// Puts a column of paths before the properties that the condition reads.
fn name_notes(found: &mut Value) {
    if let Some(columns) = found["columns"].as_array_mut() {
        columns.insert(0, json!({ "title": "path" }));
    }
    for row in found["rows"].as_array_mut().into_iter().flatten() {
        let path = row["path"].clone();
        if let Some(texts) = row["texts"].as_array_mut() {
            texts.insert(0, path);
        }
    }
}

/// Notices about the rows.
fn notices(found: &Value) -> Vec<String> {
    let warning = |warning: &Value| match text(&warning["hint"]) {
        "" => name(&warning["message"]),
        hint => format!("{}; {hint}", text(&warning["message"])),
    };
    let mut notices: Vec<String> = list(&found["warnings"]).map(warning).collect();
    let failed = &found["row_errors"];
    if failed.is_object() {
        let [path, message] = ["path", "message"].map(|key| text(&failed[key]));
        let count = &failed["count"];
        notices.push(format!(
            "left out, since the condition failed: {count}, such as `{path}`: {message}"
        ));
    }
    if found["is_this_missing"] == true {
        notices.push("`this` was not given; name a note with `--this`".to_owned());
    }
    if let Some(count) = found["unknown_files"].as_u64().filter(|count| *count > 0) {
        notices.push(format!("notes whose properties could not be read: {count}"));
    }
    notices
}

/// Groups as bars, the rows, their summaries and their number.
fn table(found: &Value, query: &QueryArguments, output: &Output) -> String {
    let mut text = String::new();
    let groups: Vec<(String, u64)> = list(&found["groups"])
        .map(|group| {
            (on_a_line(&name(&group["text"])), group["count"].as_u64().unwrap_or_default())
        })
        .collect();
    if !groups.is_empty() {
        text.push_str(&bars(&groups));
        text.push('\n');
    }
    let mut lines = vec![titles(found)];
    lines.extend(
        list(&found["rows"]).map(|row| cells(row).iter().map(|cell| on_a_line(cell)).collect()),
    );
    if lines.len() > 1 {
        text.push_str(&output.table(&lines));
    }
    for summary in list(&found["summaries"]) {
        let [column, how, value] =
            ["column", "name", "text"].map(|key| on_a_line(&name(&summary[key])));
        text.push_str(&format!("{column}: {} {value}\n", output.paint(Paint::Bold, how)));
    }
    let (shown, total) = (lines.len() - 1, found["total"].as_u64().unwrap_or_default());
    let first = query.first_result.get();
    text.push_str(&match total {
        _ if shown as u64 == total => format!("[{}]", counted(total, "note")),
        _ if shown == 0 => format!("[no row from {first} on; {}]", counted(total, "note")),
        _ => {
            let last = first + shown - 1;
            format!(
                "[rows {first}-{last} of {total}; --limit N for more, --first-result {} continues]",
                last + 1
            )
        }
    });
    text
}

/// Names with bars proportional to their counts.
fn bars(groups: &[(String, u64)]) -> String {
    let widest = groups.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let most = groups.iter().map(|(_, count)| *count).max().unwrap_or_default().max(1);
    let line = |(name, count): &(String, u64)| {
        let bar = "█".repeat((count * BAR).div_ceil(most) as usize);
        format!("{name:<widest$}  {bar} {count}\n")
    };
    groups.iter().map(line).collect()
}

fn markdown(found: &Value) -> String {
    let line = |cells: Vec<String>| {
        let cells = cells.iter().map(|cell| on_a_line(&cell.replace('|', "\\|")));
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let titles = titles(found);
    let rule = vec!["---".to_owned(); titles.len()];
    let rows = list(&found["rows"]).map(cells);
    [titles, rule].into_iter().chain(rows).map(line).collect()
}

fn separated(found: &Value, delimiter: u8) -> Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
    let rows = list(&found["rows"]).map(cells);
    for row in std::iter::once(titles(found)).chain(rows) {
        writer.write_record(row).map_err(anyhow::Error::from)?;
    }
    Ok(writer.into_inner().map_err(|error| anyhow::Error::from(error.into_error()))?)
}

/// A row as a JSON object: its path, and its values keyed by column title.
fn object(found: &Value, row: &Value) -> String {
    let mut object = Map::new();
    object.insert("path".to_owned(), row["path"].clone());
    object.extend(titles(found).into_iter().zip(list(&row["cells"]).cloned()));
    Value::Object(object).to_string()
}

fn titles(found: &Value) -> Vec<String> {
    list(&found["columns"]).map(|column| name(&column["title"])).collect()
}

fn cells(row: &Value) -> Vec<String> {
    list(&row["texts"]).map(name).collect()
}

/// A value that may have several lines.
fn on_a_line(text: &str) -> String {
    text.replace(['\n', '\r', '\t'], " ")
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn name(value: &Value) -> String {
    text(value).to_owned()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
