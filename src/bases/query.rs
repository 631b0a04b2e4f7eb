//! A query: the filter, columns, order and summaries of one view, from a `.base` file or the arguments of a tool.

use std::sync::Arc;

use super::ast::Expression;
use super::value::Text;

/// A condition: one expression, or a group of conditions.
#[derive(Debug, Clone)]
pub enum Filter {
    Is(Arc<Expression>),
    /// All of them; true where there are none.
    And(Vec<Filter>),
    /// Any of them; true where there are none.
    Or(Vec<Filter>),
    Not(Vec<Filter>),
}

impl Filter {
    pub fn expressions(&self) -> Vec<&Arc<Expression>> {
        match self {
            Self::Is(expression) => vec![expression],
            Self::And(parts) | Self::Or(parts) | Self::Not(parts) => {
                parts.iter().flat_map(Self::expressions).collect()
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ColumnKey {
    /// A field of the file: `file.mtime`.
    File(Text),
    /// A property of the note: `note.status`, or `status`.
    Note(Text),
    /// `formula.total`.
    Formula(Text),
}

impl ColumnKey {
    /// Parses `file.x`, `formula.x`, `note.x` or `x`.
    pub fn parse(name: &str) -> Self {
        if let Some(field) = name.strip_prefix("file.") {
            Self::File(field.into())
        } else if let Some(formula) = name.strip_prefix("formula.") {
            Self::Formula(formula.into())
        } else {
            Self::Note(name.strip_prefix("note.").unwrap_or(name).into())
        }
    }
}

#[derive(Debug, Clone)]
pub struct ShownColumn {
    pub key: ColumnKey,
    /// The base's `displayName`, else the key as written.
    pub title: Text,
    /// An expression given instead of a key (`select` of the tool).
    pub expression: Option<Arc<Expression>>,
}

#[derive(Debug, Clone)]
pub struct SortBy {
    pub key: ColumnKey,
    pub is_descending: bool,
}

#[derive(Debug, Clone)]
pub enum Summary {
    /// One of the fifteen that Obsidian has, by name.
    BuiltIn(Text),
    /// A formula of the base over `values`.
    Own { name: Text, formula: Arc<Expression> },
}

/// A view that can be run.
#[derive(Debug, Clone, Default)]
pub struct Query {
    pub filter: Option<Filter>,
    /// The formulas that columns and filters may name.
    pub formulas: Vec<(Text, Arc<Expression>)>,
    pub columns: Vec<ShownColumn>,
    /// Empty: by `file.name`, then path.
    pub sort: Vec<SortBy>,
    pub group_by: Option<SortBy>,
    /// The most rows over all groups, in sort order.
    pub limit: Option<usize>,
    pub summaries: Vec<(ColumnKey, Summary)>,
}
