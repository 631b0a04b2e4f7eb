//! `query_notes`

mod query;
mod words;

use std::borrow::Cow;

use serde_json::Value as Json;

use super::prelude::*;
use super::{Names, paging};
use crate::bases::compare::Compare;
use crate::bases::date::Times;
use crate::bases::diagnostic::Diagnostic;
use crate::bases::query::{ColumnKey, Query, ShownColumn, Summary as SummedBy};
use crate::bases::source::Source as _;
use crate::bases::trace::{self, Outcome};
use crate::bases::value::{Text, Value};
use crate::bases::view::{self, Page, Table};
use crate::bases::{Evaluator, Scope};
use crate::index::properties::VaultSnapshot;
use crate::note::path::VaultPath;
use crate::vault::Want;
use query::{RunnableQuery, written};
use words::words;

const MAX_RESULTS: usize = 1_000;

/// Finds notes and files by properties, tags, links, dates and folders: what is overdue, what has no status. For words
/// in texts use search_files. `where` is an expression of Obsidian's Bases: `status != "done" && due < today()`,
/// `file.hasTag("book") && note["my rating"] >= 4`, `file.mtime > now() - "7d"`. Files have `file.name path folder ext
/// size ctime mtime tags links`, `file.hasTag() hasLink() inFolder() hasProperty()`; texts and lists `contains()
/// isEmpty() length`, lists `filter(value > 1)`, dates `format("YYYY-MM")`; `/re/.matches(text)`, `if(a, b, c)`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryNotes {
    /// The condition, as an expression. Default: everything that `base` shows.
    #[serde(default, rename = "where")]
    condition: Option<String>,
    /// A `.base` file whose view to query, or a `base` block of a note by number: `Note.md#2`.
    base: Option<String>,
    /// The view of the base, by its name. Default: the first.
    view: Option<String>,
    /// The note that `this` means.
    this: Option<String>,
    /// The columns: keys such as `status` or `file.mtime`, or expressions. Default: those of the view, or the
    /// properties that `where` reads.
    #[serde(default)]
    select: Vec<String>,
    /// What to sort by, most important first: a key or expression, followed by ` desc` for
    /// descending order.
    #[serde(default)]
    sort: Vec<String>,
    /// Maximum number of rows, 1 to 1,000. Default: 50.
    #[serde(default = "paging::signed::<50>")]
    limit: i64,
    /// The first row to show, from 1, to continue a list that was cut off.
    #[serde(default = "paging::default::<1>")]
    first_result: usize,
    /// A note: explains why it is in the answer or not, part by part.
    explain: Option<String>,
    /// How `where` is written.
    #[serde(default)]
    dialect: Dialect,
}

/// How a condition is written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// As in Obsidian's Bases.
    #[default]
    Bases,
    /// With `AND`, `OR`, `IN` and `MATCHES`, on files alone.
    Classic,
}

/// A table.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The view, if a base was queried.
    view: Option<String>,
    /// The columns, in their order.
    columns: Vec<Column>,
    /// The rows shown, in order; those of a group are adjacent.
    rows: Vec<Row>,
    /// The groups of the rows shown, in order, if the view has groups.
    groups: Vec<Group>,
    /// Summaries over all rows, if the view has any.
    summaries: Vec<Summary>,
    /// The number of all rows, including those beyond the limit.
    total: usize,
    /// Parts that may not mean what was intended.
    warnings: Vec<Warning>,
    /// Rows for which the condition failed; `None` if there are none.
    row_errors: Option<RowErrors>,
    /// Whether `this` was needed but not given: it is then the base itself, or null without a base.
    is_this_missing: bool,
    /// Notes whose properties could not be read.
    unknown_files: usize,
    /// Why the note in `explain` is in the answer or not.
    explanation: Option<Explanation>,
}

/// A column.
#[derive(Serialize, JsonSchema)]
pub struct Column {
    /// As requested: `note.status`, `file.mtime`, `formula.total`, or an expression.
    key: String,
    /// The column's heading.
    title: String,
}

/// A row.
#[derive(Serialize, JsonSchema)]
pub struct Row {
    /// The file.
    path: String,
    /// A value for each column: dates as ISO texts, links as `[[…]]`, files as paths, an error as an object with
    /// `error`.
    cells: Vec<Json>,
    /// The same as displayed texts.
    texts: Vec<String>,
    /// The index of its group in `groups`, from 0.
    group: Option<usize>,
}

/// Rows with the same value of the grouping column.
#[derive(Serialize, JsonSchema)]
pub struct Group {
    /// The value.
    key: Json,
    /// The same as text.
    text: String,
    /// The number of its rows.
    count: usize,
    /// Summaries over the rows of the group.
    summaries: Vec<Summary>,
}

/// A summary of a column.
#[derive(Serialize, JsonSchema)]
pub struct Summary {
    /// The key of the column.
    column: String,
    /// Its name: `Sum`, `Average`.
    name: String,
    /// The value.
    value: Json,
    /// The same as text.
    text: String,
}

/// A part that may not mean what was intended.
#[derive(Serialize, JsonSchema)]
pub struct Warning {
    /// The message.
    message: String,
    /// A replacement.
    hint: Option<String>,
    /// The line in the expression or base, from 1.
    line: u32,
    /// The character in the line, from 1.
    column: u32,
}

/// Rows for which the condition ended in an error. None of them is in the table.
#[derive(Serialize, JsonSchema)]
pub struct RowErrors {
    /// The number of rows.
    count: usize,
    /// The first row's file.
    path: String,
    /// The error.
    message: String,
    /// The expression.
    expression: String,
    /// The character in it, from 1.
    column: usize,
}

/// Why a note is in the answer or not.
#[derive(Serialize, JsonSchema)]
pub struct Explanation {
    /// The note.
    path: String,
    /// Whether it is a row.
    is_row: bool,
    /// Each part of the condition, the whole first, with its value for this note.
    parts: Vec<Part>,
}

/// A part of a condition.
#[derive(Serialize, JsonSchema)]
pub struct Part {
    /// Its depth in the whole.
    depth: usize,
    /// Its text; `and`, `or`, `not`, `&&`, `||`, `!` for operators on the parts below it.
    expression: String,
    /// Its outcome.
    outcome: PartOutcome,
    /// Why it failed, if it did.
    error: Option<String>,
    /// The values that it read from the note.
    reads: Vec<Read>,
}

/// The outcome of a part.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PartOutcome {
    Holds,
    HoldsNot,
    /// It ended in an error.
    Failed,
    /// An earlier part decided.
    NotAsked,
}

/// A value that a part read.
#[derive(Serialize, JsonSchema)]
pub struct Read {
    /// Its name: `status`, `file.tags`.
    name: String,
    /// Its value.
    value: Json,
    /// The same as text.
    text: String,
}

impl Tool for QueryNotes {
    const NAME: &'static str = "query_notes";
    const TITLE: &'static str = "Query notes by their properties";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const HEAVY: bool = true;
    const DRAWN: bool = true;
    const TOUCHES: &'static [Touch] = &[
        (Cow::Borrowed("where"), Names::Pattern),
        (Cow::Borrowed("base"), Names::Path),
        (Cow::Borrowed("this"), Names::Path),
        (Cow::Borrowed("explain"), Names::Path),
    ];
    const EXAMPLE: &'static str = r#"{"where": "file.name == \"a\""}"#;
    type Output = Output;

    fn run(mut self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let QueryNotes { condition, base, view, this, explain, .. } = &mut self;
        for text in [condition, base, view, this, explain] {
            // Models fill in arguments that they do not need.
            text.take_if(|text| text.trim().is_empty());
        }
        let limit = paging::within(1..=MAX_RESULTS, "limit", self.limit)?;
        let skipped = paging::skipped(self.first_result);
        let asked = RunnableQuery::of(context, &self)?;
        let zone = context.clock.zone();
        let times = Times::new(&*zone);
        let snapshot = context.snapshot()?.in_zone(&times);
        let this = match &self.this {
            Some(asked) => Some(context.find(asked, Want::File)?.path),
            None => asked.base.clone(),
        };
        let now = context.clock.now().timestamp_millis();
        let scope = Scope {
            source: &snapshot,
            now,
            zone: &*zone,
            this: this.and_then(|path| snapshot.file(&path)),
            seed: now.cast_unsigned(),
            formulas: &asked.query.formulas,
        };
        let table = view::run(&asked.query, scope, Page { first: skipped, rows: limit });
        let explanation = match &self.explain {
            Some(note) => {
                let path = context.find(note, Want::File)?.path;
                Some(explanation(&asked.query, &path, &snapshot, scope)?)
            }
            None => None,
        };
        let warnings = asked.warnings(&snapshot);
        let compare = Compare { source: &snapshot, times: &times };
        // In a note, `this` is the note that holds the base.
        let is_embedded = asked.base.as_ref().is_some_and(|base| base.is_note());
        let is_this_missing = table.used_this && self.this.is_none() && !is_embedded;
        let data = output(&asked, table, explanation, warnings, &snapshot, compare);
        let data = Output { is_this_missing, ..data };
        if snapshot.is_cancelled() || context.cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        Ok(Answer::new(words(&data, skipped), data))
    }
}

fn output(
    asked: &RunnableQuery,
    table: Table,
    explanation: Option<Explanation>,
    warnings: Vec<Diagnostic>,
    snapshot: &VaultSnapshot<'_>,
    compare: Compare<'_>,
) -> Output {
    let text = |value: &Value| compare.text(value).unwrap_or_else(|error| error.to_string());
    let sums = |values: &[Value]| -> Vec<Summary> {
        let summed = asked.query.summaries.iter().zip(values);
        let summary = |((key, by), value): (&(ColumnKey, SummedBy), &Value)| Summary {
            column: written(key),
            name: match by {
                SummedBy::BuiltIn(name) | SummedBy::Own { name, .. } => name.to_string(),
            },
            value: compare.json(value),
            text: text(value),
        };
        summed.map(summary).collect()
    };
    let mut groups = Vec::new();
    let mut rows = Vec::new();
    for group in &table.groups {
        if let Some(key) = &group.key {
            groups.push(Group {
                key: compare.json(key),
                text: text(key),
                count: group.total,
                summaries: sums(&group.summaries),
            });
        }
        rows.extend(group.rows.iter().map(|row| Row {
            path: snapshot.path(row.file).to_string(),
            cells: row.cells.iter().map(|value| compare.json(value)).collect(),
            texts: row.cells.iter().map(text).collect(),
            group: group.key.as_ref().map(|_| groups.len() - 1),
        }));
    }
    let column = |column: &ShownColumn| Column {
        key: match &column.expression {
            Some(expression) => expression.source.to_string(),
            None => written(&column.key),
        },
        title: column.title.to_string(),
    };
    let failed = table.failed;
    let row_errors = failed.first.map(|(path, first)| RowErrors {
        count: failed.count,
        path: path.to_string(),
        message: first.error.message.clone(),
        column: column_of(&first.expression, first.error.at.start),
        expression: first.expression.to_string(),
    });
    Output {
        view: asked.view.as_deref().map(str::to_owned),
        columns: asked.query.columns.iter().map(column).collect(),
        rows,
        groups,
        summaries: sums(&table.summaries),
        total: table.total,
        warnings: warnings.into_iter().map(Warning::of).collect(),
        row_errors,
        is_this_missing: false,
        unknown_files: snapshot.gaps().map_or(0, |gaps| gaps.count),
        explanation,
    }
}

impl Warning {
    fn of(diagnostic: Diagnostic) -> Self {
        let (message, hint) = (diagnostic.message.clone(), diagnostic.hint.clone());
        Self { message, hint, line: diagnostic.line, column: diagnostic.column }
    }
}

/// The position in its line, from 1, of the character at this byte.
fn column_of(text: &str, at: u32) -> usize {
    let before = text.get(..at as usize).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.chars().count() + 1
}

fn explanation(
    query: &Query,
    path: &VaultPath,
    snapshot: &VaultSnapshot<'_>,
    scope: Scope<'_>,
) -> Result<Explanation, ToolError> {
    let Some(file) = snapshot.file(path) else {
        let message = format!("`{path}` was not there yet when the question began");
        return Err(ToolError::not_found(message, "ask again"));
    };
    let mut evaluator = Evaluator::new(scope);
    let filter = query.filter.as_ref();
    let parts = filter.map(|filter| trace::explain(filter, file, &mut evaluator));
    let parts: Vec<trace::ExplainedPart> = parts.unwrap_or_default();
    let is_row = parts.first().is_none_or(|whole| matches!(whole.outcome, Outcome::Holds));
    let compare = evaluator.compare();
    let read = |(name, value): &(Text, Value)| Read {
        name: name.to_string(),
        value: compare.json(value),
        text: compare.text(value).unwrap_or_else(|error| error.to_string()),
    };
    let part = |part: trace::ExplainedPart| Part {
        depth: part.depth,
        expression: part.text.to_string(),
        reads: part.reads.iter().map(read).collect(),
        outcome: match &part.outcome {
            Outcome::Holds => PartOutcome::Holds,
            Outcome::HoldsNot => PartOutcome::HoldsNot,
            Outcome::Failed(_) => PartOutcome::Failed,
            Outcome::NotAsked => PartOutcome::NotAsked,
        },
        error: match part.outcome {
            Outcome::Failed(error) => Some(error.message.clone()),
            _ => None,
        },
    };
    Ok(Explanation {
        path: path.as_str().to_owned(),
        is_row,
        parts: parts.into_iter().map(part).collect(),
    })
}
