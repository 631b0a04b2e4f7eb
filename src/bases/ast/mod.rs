//! The syntax tree of an expression. The parsers of both dialects build it, one evaluator runs it.

mod print;

use std::sync::Arc;

pub use super::value::Span;
use super::value::{Pattern, Text};

#[derive(Debug, Clone)]
pub struct Expression {
    pub source: Arc<str>,
    pub root: Expr,
    /// The distinct properties that the expression reads, so that a source resolves each once and not for every row.
    /// [`Node::Property`] is an index into this list.
    pub properties: Vec<Text>,
}

#[derive(Debug, Clone)]
pub struct Expr {
    pub node: Node,
    pub at: Span,
}

#[derive(Debug, Clone)]
pub enum Node {
    Null,
    Bool(bool),
    Number(f64),
    Text(Text),
    Pattern(Arc<Pattern>),
    List(Vec<Expr>),
    /// A property of the row's note: `status`, `note.status`, `note["due date"]`.
    Property(usize),
    /// `file`: the row's file.
    File,
    /// `note` alone: all properties of the row's note, as an object.
    Note,
    /// `formula.NAME`.
    Formula(Text),
    /// `this`: the file that shows the base.
    This,
    /// A variable bound by an enclosing call.
    Local(Local),
    /// `x.name`, without arguments.
    Field {
        of: Box<Expr>,
        name: Text,
        name_at: Span,
    },
    /// `x[key]`.
    Index {
        of: Box<Expr>,
        key: Box<Expr>,
    },
    /// `name(…)`.
    Call {
        name: Text,
        name_at: Span,
        args: Vec<Expr>,
    },
    /// `x.name(…)`.
    Method {
        of: Box<Expr>,
        name: Text,
        name_at: Span,
        args: Vec<Expr>,
    },
    Not(Box<Expr>),
    Negate(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Binary {
        op: Op,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// An operation of the classic dialect, whose rules differ: see [`Classic`].
    Classic {
        op: Classic,
        left: Box<Expr>,
        right: Box<Expr>,
    },
}

/// A variable bound within the arguments of a list's method, or within a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Local {
    /// The element, in `filter`, `map` and `reduce`.
    Value,
    /// Its position, from 0.
    Index,
    /// The accumulator of `reduce`.
    Acc,
    /// All values of a column, in a summary's own formula.
    Values,
}

/// A binary operator on two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Operations of the classic dialect. Equality and the functions of texts ignore case, order and patterns do not.
/// Null, which an empty text is too, equals null alone and matches nothing; a text is ordered against a date as
/// ISO 8601 in UTC, a number as Unix milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classic {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// The right side is a list.
    In,
    /// The right side is a pattern; case counts.
    Matches,
    Contains,
    StartsWith,
    EndsWith,
}
