//! Runs a query: filters, sorts and groups rows, and evaluates their columns.

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

#[derive(Debug, Clone, Default)]
pub struct Table {
    /// The groups with rows on this page; a single one without a key if the query does not group.
    pub groups: Vec<Group>,
    /// Rows on all pages together, at most the query's limit.
    pub total: usize,
    /// The query's summaries over all rows, in its order.
    pub summaries: Vec<Value>,
    /// Rows for which the filter failed with an error. They are not in the table.
    pub failed: Failed,
    /// Whether an expression read `this`.
    pub used_this: bool,
}

/// Rows that share the value of the grouping property.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// The shared value; `None` if the query does not group.
    pub key: Option<Value>,
    /// Rows of the group on all pages.
    pub total: usize,
    /// The query's summaries over all rows of the group; none if the query does not group.
    pub summaries: Vec<Value>,
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone)]
pub struct Row {
    pub file: FileId,
    /// In the order of the query's columns.
    pub cells: Vec<Value>,
}

/// Rows for which the filter failed.
#[derive(Debug, Clone, Default)]
pub struct Failed {
    pub count: usize,
    /// The first of them by path, with its error.
    pub first: Option<(Text, FailedAt)>,
}

/// An error and the expression that caused it.
#[derive(Debug, Clone)]
pub struct FailedAt {
    pub error: Arc<EvalError>,
    pub expression: Text,
}

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

/// Runs a query over a source. Expressions use the formulas of `query`, never those of `scope`.
pub fn run(query: &Query, scope: Scope<'_>, page: Page) -> Table {
    let mut evaluator = Evaluator::new(Scope { formulas: &query.formulas, ..scope });
    let (mut rows, failed) = matching(query, &mut evaluator);
    sort(&mut rows, query, page, &mut evaluator);
    rows.truncate(query.limit.unwrap_or(usize::MAX));
    let summaries: Vec<_> = query
        .summaries
        .iter()
        .map(|(key, summary)| {
            (ColumnReader::new(key, scope.source), Own::new(summary, scope.source))
        })
        .collect();
    let mut groups = grouped(rows, query, &mut evaluator);
    let total = groups.iter().map(|(_, rows)| rows.len()).sum();
    // Each summarised column is evaluated once, for its group and for the whole.
    let mut columns: Vec<Vec<Value>> = vec![Vec::new(); summaries.len()];
    let mut table = Table { total, failed, ..Table::default() };
    let columns_shown: Vec<_> =
        query.columns.iter().map(|column| ColumnReader::of_column(column, scope.source)).collect();
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
                own.push(summary.value(&mut evaluator, &column[begin..]));
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
        .map(|((_, summary), column)| summary.value(&mut evaluator, column))
        .collect();
    table.used_this = evaluator.used_this();
    table
}

/// A filter whose properties are resolved in a source.
pub struct PreparedFilter {
    parts: Prefilter,
    hint: Option<Hint>,
}

debug_only!(PreparedFilter, hint);

impl PreparedFilter {
    /// Resolves the filter's properties in `source` once for all rows.
    pub fn new(filter: &Filter, source: &dyn Source) -> Self {
        Self { parts: Prefilter::new(filter, source), hint: narrow::hint(filter) }
    }

    /// A superset of the files that match, in no order; `None` if no index narrows the filter.
    pub fn candidates(&self, source: &dyn Source) -> Option<Vec<FileId>> {
        self.hint.as_ref().and_then(|hint| source.narrow(hint))
    }

    /// Whether a file matches. The evaluator is at that file afterwards.
    ///
    /// # Errors
    /// The first expression of the filter that failed.
    pub fn holds(&self, file: FileId, evaluator: &mut Evaluator<'_>) -> Result<bool, FailedAt> {
        evaluator.begin(Some(file));
        let mut failed = None;
        let holds = self.parts.holds(evaluator, &mut failed);
        failed.map_or(Ok(holds), Err)
    }
}

/// A filter with prepared expressions.
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

    /// Whether the row matches; stores the first error in `failed`.
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

/// The files that match the filter, in no order.
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

enum ColumnReader {
    /// A property, with its column if any note has it.
    Property(Option<Column>),
    Field(Text),
    Formula(Text),
    Expression(Prepared),
}

impl ColumnReader {
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

    /// The column's value for the evaluator's current row.
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

    fn value(&self, evaluator: &mut Evaluator<'_>, values: &[Value]) -> Value {
        match self {
            Self::BuiltIn(name) => evaluator.compare().summary(name, values).unwrap_or_else(|| {
                super::eval::error(format!("Cannot find summary \"{name}\""), &(0..0))
            }),
            Self::Formula(formula) => evaluator.of_values(formula, values.into()),
        }
    }
}

/// The sort keys of a row, its path, and the row.
type Keyed = (Vec<Value>, Text, FileId);

/// Sorts rows by the query's keys, then by `file.name` and path. Empty values come last in both directions.
fn sort(rows: &mut Vec<FileId>, query: &Query, page: Page, evaluator: &mut Evaluator<'_>) {
    let source = evaluator.source();
    let readers: Vec<_> = query.sort.iter().map(|by| ColumnReader::new(&by.key, source)).collect();
    let mut keyed: Vec<Keyed> = Vec::with_capacity(rows.len());
    for file in rows.drain(..) {
        evaluator.begin(Some(file));
        let keys = readers.iter().map(|reader| reader.read(evaluator, file)).collect();
        keyed.push((keys, source.path(file), file));
    }
    let compare = evaluator.compare();
    let order = |(a, a_path, _): &Keyed, (b, b_path, _): &Keyed| {
        let keys = query.sort.iter().zip(a.iter().zip(b));
        let ordering = keys.map(|(by, (a, b))| compare_directed(compare.sorted(a, b), by, a, b));
        let ordering = ordering.fold(Ordering::Equal, Ordering::then);
        ordering.then_with(|| super::functions::by_name(a_path, b_path))
    };
    // Rows after the page or the limit need no order unless they are grouped or summarised.
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

/// Compares two values in the direction of a sort; empty values come last in both directions.
fn compare_directed(ordering: Ordering, by: &SortBy, a: &Value, b: &Value) -> Ordering {
    let is_null = |value: &Value| value.kind() == Type::Null;
    if by.is_descending && !is_null(a) && !is_null(b) { ordering.reverse() } else { ordering }
}

/// Rows by group, in the query's order of groups; a single group without a key if the query does not group.
fn grouped(
    rows: Vec<FileId>,
    query: &Query,
    evaluator: &mut Evaluator<'_>,
) -> Vec<(Option<Value>, Vec<FileId>)> {
    let Some(by) = &query.group_by else { return vec![(None, rows)] };
    let reader = ColumnReader::new(&by.key, evaluator.source());
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
        // Links to the same file form one group, whatever their spelling.
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
    groups.sort_by(|(a, _), (b, _)| compare_directed(compare.sorted(a, b), by, a, b));
    groups.into_iter().map(|(key, rows)| (Some(key), rows)).collect()
}
