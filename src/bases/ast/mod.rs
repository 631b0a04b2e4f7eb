//! An expression as a tree. The parsers of both dialects make it, one evaluator runs it.

mod print;

use std::sync::Arc;

pub use super::value::Span;
use super::value::{Pattern, Text};

/// An expression that was parsed.
#[derive(Debug, Clone)]
pub struct Expression {
    /// The text that it was parsed from.
    pub source: Arc<str>,
    pub root: Expr,
    /// Every distinct property that the expression reads by its own name, so that a source looks each up once
    /// and not once a row. [`Node::Property`] is an index into it.
    pub properties: Vec<Text>,
}

/// One node, and where it stands.
#[derive(Debug, Clone)]
pub struct Expr {
    pub node: Node,
    pub at: Span,
}

/// What a node is.
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
    /// `this`: the file that the base is shown in.
    This,
    /// A name that an enclosing call binds.
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
        op_at: Span,
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

/// A name that is bound within the arguments of a list's method, or within a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Local {
    /// The element, in `filter`, `map` and `reduce`.
    Value,
    /// Its position, from 0.
    Index,
    /// What `reduce` has so far.
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
