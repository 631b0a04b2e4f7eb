//! Runs a query: which rows there are, in which order and groups, and what their columns show.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::eval::{Evaluator, Prepared, Scope};
use super::functions::Type;
use super::narrow;
use super::query::{ColumnKey, Filter, Query, SortBy, Summary};
use super::source::{Column, Hint, Source};
use super::value::{EvalError, FileId, Text, Value};

/// What a query gives.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// The groups of which rows are on the page; one without a key where there are no groups.
    pub groups: Vec<Group>,
    /// How many rows there are on all pages, the limit of the query kept.
    pub total: usize,
    /// The query's summaries over all rows, in its order.
    pub summaries: Vec<Value>,
    /// Rows for which the filter ended in an error. None of them is in the table.
    pub failed: Failed,
    /// Whether any expression asked for `this`.
    pub used_this: bool,
}

/// Rows that have one value in the property that groups them.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// That value; `None` where the query has no groups.
    pub key: Option<Value>,
    /// How many rows it has, also those that are not on the page.
    pub total: usize,
    /// The query's summaries over all of its rows; none where the query has no groups.
    pub summaries: Vec<Value>,
    /// Its rows on the page.
    pub rows: Vec<Row>,
}

/// A file, and what the columns show of it.
#[derive(Debug, Clone)]
pub struct Row {
    pub file: FileId,
    /// In the order of the query's columns.
    pub cells: Vec<Value>,
}

/// Rows that a filter could not tell.
#[derive(Debug, Clone, Default)]
pub struct Failed {
    pub count: usize,
    /// The first of them by path, and what went wrong.
    pub first: Option<(Text, FailedAt)>,
}

/// What went wrong, and in which expression.
#[derive(Debug, Clone)]
pub struct FailedAt {
    pub error: Arc<EvalError>,
    pub expression: Text,
}

/// Which rows are wanted of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// From 0.
    pub first: usize,
    pub rows: usize,
}

impl Page {
    /// All rows.
    pub const ALL: Self = Self { first: 0, rows: usize::MAX };

    fn range(self, total: usize) -> Range<usize> {
        let first = self.first.min(total);
        first..first.saturating_add(self.rows).min(total)
    }
}

/// Runs a query over a source. The formulas that its expressions name are those of `query`, whatever `scope` has.
pub fn run(query: &Query, scope: Scope<'_>, page: Page) -> Table {
    let mut evaluator = Evaluator::new(Scope { formulas: &query.formulas, ..scope });
    let (mut rows, failed) = matching(query, &mut evaluator);
    sort(&mut rows, query, page, &mut evaluator);
    rows.truncate(query.limit.unwrap_or(usize::MAX));
    let summaries: Vec<_> = query
        .summaries
        .iter()
        .map(|(key, summary)| (Reader::new(key, scope.source), Own::new(summary, scope.source)))
        .collect();
    let mut groups = grouped(rows, query, &mut evaluator);
    let total = groups.iter().map(|(_, rows)| rows.len()).sum();
    // Each summarised column is read once, for its group and for all.
    let mut columns: Vec<Vec<Value>> = vec![Vec::new(); summaries.len()];
    let mut table = Table { total, failed, ..Table::default() };
    let columns_shown: Vec<_> =
        query.columns.iter().map(|column| Reader::of_column(column, scope.source)).collect();
    let on_page = page.range(total);
    let mut at = 0;
    for (key, files) in groups.drain(..) {
        let mut own = Vec::with_capacity(summaries.len());
        for ((reader, summary), column) in summaries.iter().zip(&mut columns) {
            let begin = column.len();
            for file in &files {
                evaluator.begin(Some(*file));
                column.push(reader.read(&mut evaluator, *file));
            }
            if key.is_some() {
                own.push(summary.of(&mut evaluator, &column[begin..]));
            }
        }
        let range = at..at + files.len();
        at = range.end;
        let shown =
            on_page.start.clamp(range.start, range.end)..on_page.end.clamp(range.start, range.end);
        if shown.is_empty() && !(total == 0 && key.is_none()) {
            continue;
        }
        let shown = &files[shown.start - range.start..shown.end - range.start];
        let rows = shown.iter().map(|file| {
            evaluator.begin(Some(*file));
            let cells =
                columns_shown.iter().map(|reader| reader.read(&mut evaluator, *file)).collect();
            Row { file: *file, cells }
        });
        let rows = rows.collect();
        table.groups.push(Group { key, total: files.len(), summaries: own, rows });
    }
    table.summaries = summaries
        .iter()
        .zip(&columns)
        .map(|((_, summary), column)| summary.of(&mut evaluator, column))
        .collect();
    table.used_this = evaluator.used_this();
    table
}

/// A filter whose properties were looked up in a source.
pub struct PreparedFilter {
    parts: Prefilter,
    hint: Option<Hint>,
}

impl std::fmt::Debug for PreparedFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedFilter").field("hint", &self.hint).finish_non_exhaustive()
    }
}

impl PreparedFilter {
    /// Looks the properties of the filter up in `source`, for all rows.
    pub fn new(filter: &Filter, source: &dyn Source) -> Self {
        Self { parts: Prefilter::new(filter, source), hint: narrow::hint(filter) }
    }

    /// At least all files for which it holds, in no order; `None` where an index does not tell.
    pub fn candidates(&self, source: &dyn Source) -> Option<Vec<FileId>> {
        self.hint.as_ref().and_then(|hint| source.narrow(hint))
    }

    /// Whether it holds for a file, at which the evaluator stands afterwards.
    ///
    /// # Errors
    /// The first expression of it that ended in an error.
    pub fn holds(&self, file: FileId, evaluator: &mut Evaluator<'_>) -> Result<bool, FailedAt> {
        evaluator.begin(Some(file));
        let mut failed = None;
        let holds = self.parts.holds(evaluator, &mut failed);
        failed.map_or(Ok(holds), Err)
    }
}

/// A filter with its expressions prepared.
enum Prefilter {
    Is(Prepared),
    And(Vec<Prefilter>),
    Or(Vec<Prefilter>),
    Not(Vec<Prefilter>),
}

impl Prefilter {
    fn new(filter: &Filter, source: &dyn Source) -> Self {
        let all = |parts: &[Filter]| parts.iter().map(|part| Self::new(part, source)).collect();
        match filter {
            Filter::Is(expression) => Self::Is(Prepared::new(expression, source)),
            Filter::And(parts) => Self::And(all(parts)),
            Filter::Or(parts) => Self::Or(all(parts)),
            Filter::Not(parts) => Self::Not(all(parts)),
        }
    }

    /// Whether it holds for the row; the first error is kept in `failed`.
    fn holds(&self, evaluator: &mut Evaluator<'_>, failed: &mut Option<FailedAt>) -> bool {
        match self {
            Self::Is(prepared) => match evaluator.value(prepared) {
                Value::Error(error) => {
                    let expression = Arc::clone(&prepared.expression.source);
                    failed.get_or_insert(FailedAt { error, expression });
                    false
                }
                value => value.is_true(),
            },
            Self::And(parts) => parts.iter().all(|part| part.holds(evaluator, failed)),
            Self::Or(parts) => {
                parts.is_empty() || parts.iter().any(|part| part.holds(evaluator, failed))
            }
            Self::Not(parts) => !parts.iter().any(|part| part.holds(evaluator, failed)),
        }
    }
}

/// The files for which the filter holds, in no order.
fn matching(query: &Query, evaluator: &mut Evaluator<'_>) -> (Vec<FileId>, Failed) {
    let source = evaluator.source();
    let mut failed = Failed::default();
    let Some(filter) = &query.filter else { return (source.files().collect(), failed) };
    let prepared = PreparedFilter::new(filter, source);
    let files: Box<dyn Iterator<Item = FileId>> = match prepared.candidates(source) {
        Some(files) => Box::new(files.into_iter()),
        None => source.files(),
    };
    let mut rows = Vec::new();
    for file in files {
        match prepared.holds(file, evaluator) {
            Ok(true) => rows.push(file),
            Ok(false) => {}
            Err(error) => failed.add(source.path(file), error),
        }
    }
    (rows, failed)
}

impl Failed {
    fn add(&mut self, path: Text, error: FailedAt) {
        self.count += 1;
        if self.first.as_ref().is_none_or(|(first, _)| path < *first) {
            self.first = Some((path, error));
        }
    }
}

/// What reads one column.
enum Reader {
    /// A property, by its column if a note has it.
    Property(Option<Column>),
    Field(Text),
    Formula(Text),
    Expression(Prepared),
}

impl Reader {
    fn new(key: &ColumnKey, source: &dyn Source) -> Self {
        match key {
            ColumnKey::Note(name) => Self::Property(source.column(name)),
            ColumnKey::File(name) => Self::Field(name.clone()),
            ColumnKey::Formula(name) => Self::Formula(name.clone()),
        }
    }

    fn of_column(column: &super::query::ShownColumn, source: &dyn Source) -> Self {
        match &column.expression {
            Some(expression) => Self::Expression(Prepared::new(expression, source)),
            None => Self::new(&column.key, source),
        }
    }

    /// What the column shows for the row that the evaluator is at.
    fn read(&self, evaluator: &mut Evaluator<'_>, file: FileId) -> Value {
        match self {
            Self::Property(None) => Value::Null,
            Self::Property(Some(column)) => evaluator.source().property(file, *column),
            Self::Field(name) => evaluator.field_of(file, name),
            Self::Formula(name) => evaluator.formula(name, &(0..0)),
            Self::Expression(prepared) => evaluator.value(prepared),
        }
    }
}

/// A summary, ready for values.
enum Own<'a> {
    BuiltIn(&'a str),
    Formula(Prepared),
}

impl<'a> Own<'a> {
    fn new(summary: &'a Summary, source: &dyn Source) -> Self {
        match summary {
            Summary::BuiltIn(name) => Self::BuiltIn(name),
            Summary::Own { formula, .. } => Self::Formula(Prepared::new(formula, source)),
        }
    }

    fn of(&self, evaluator: &mut Evaluator<'_>, values: &[Value]) -> Value {
        match self {
            Self::BuiltIn(name) => evaluator.compare().summary(name, values).unwrap_or_else(|| {
                super::eval::error(format!("Cannot find summary \"{name}\""), &(0..0))
            }),
            Self::Formula(formula) => evaluator.of_values(formula, values.into()),
        }
    }
}

/// What a row is sorted by, its path, and the row.
type Keyed = (Vec<Value>, Text, FileId);

/// Sorts rows: by what the query says, then by `file.name` and path. What is empty comes last, in either direction.
fn sort(rows: &mut Vec<FileId>, query: &Query, page: Page, evaluator: &mut Evaluator<'_>) {
    let source = evaluator.source();
    let readers: Vec<_> = query.sort.iter().map(|by| Reader::new(&by.key, source)).collect();
    let mut keyed: Vec<Keyed> = Vec::with_capacity(rows.len());
    for file in rows.drain(..) {
        evaluator.begin(Some(file));
        let keys = readers.iter().map(|reader| reader.read(evaluator, file)).collect();
        keyed.push((keys, source.path(file), file));
    }
    let compare = evaluator.compare();
    let order = |(a, a_path, _): &Keyed, (b, b_path, _): &Keyed| {
        let keys = query.sort.iter().zip(a.iter().zip(b));
        let ordering = keys.map(|(by, (a, b))| directed(compare.sorted(a, b), by, a, b));
        let ordering = ordering.fold(Ordering::Equal, Ordering::then);
        ordering.then_with(|| super::functions::by_name(a_path, b_path))
    };
    // Rows behind the page, or behind the limit, need no order of their own, unless they are grouped or summed up.
    let is_whole = query.group_by.is_some() || !query.summaries.is_empty();
    let limit = query.limit.unwrap_or(usize::MAX);
    let ends = if is_whole { limit } else { page.first.saturating_add(page.rows).min(limit) };
    let ordered = if ends < keyed.len() {
        keyed.select_nth_unstable_by(ends, order).0
    } else {
        &mut keyed[..]
    };
    ordered.sort_unstable_by(order);
    rows.extend(keyed.into_iter().map(|(_, _, file)| file));
}

/// An ordering in the direction of a sort, with what is empty last in both.
fn directed(ordering: Ordering, by: &SortBy, a: &Value, b: &Value) -> Ordering {
    let is_null = |value: &Value| value.kind() == Type::Null;
    if by.is_descending && !is_null(a) && !is_null(b) { ordering.reverse() } else { ordering }
}

/// The rows by group, groups in the order of the query; one group without a key if the query has none.
fn grouped(
    rows: Vec<FileId>,
    query: &Query,
    evaluator: &mut Evaluator<'_>,
) -> Vec<(Option<Value>, Vec<FileId>)> {
    let Some(by) = &query.group_by else { return vec![(None, rows)] };
    let reader = Reader::new(&by.key, evaluator.source());
    let mut groups: Vec<(Value, Vec<FileId>)> = Vec::new();
    let mut known: HashMap<(Type, String), usize> = HashMap::new();
    for file in rows {
        evaluator.begin(Some(file));
        let mut key = reader.read(evaluator, file);
        if key.is_empty() {
            key = Value::Null;
        }
        let leads_to = match &key {
            Value::Link(link) => evaluator.compare().leads_to(link),
            _ => None,
        };
        // Links that lead to one file are one group, however they are written.
        let written = match leads_to {
            Some(file) => format!("file {}", file.0),
            None => evaluator.compare().text(&key).unwrap_or_default(),
        };
        let at = *known.entry((key.kind(), written)).or_insert_with(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(file);
    }
    let compare = evaluator.compare();
    groups.sort_by(|(a, _), (b, _)| directed(compare.sorted(a, b), by, a, b));
    groups.into_iter().map(|(key, rows)| (Some(key), rows)).collect()
}
