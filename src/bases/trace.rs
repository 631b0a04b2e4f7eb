//! Explains why a filter accepts or rejects a row: each part with its outcome and the values it read.

use std::sync::Arc;

use super::ast::{Expr, Node, Span};
use super::eval::{Evaluator, Prepared};
use super::query::Filter;
use super::value::{EvalError, FileId, Text, Value};

/// One part of a filter with its outcome for one row.
#[derive(Debug, Clone)]
pub struct ExplainedPart {
    /// Nesting depth in groups and operators, from 0.
    pub depth: usize,
    /// The text of the part; `and`, `or`, `not`, `&&`, `||` or `!` for a part that joins those below it.
    pub text: Text,
    pub outcome: Outcome,
    /// The properties and fields that the part read, each once, with their values.
    pub reads: Vec<(Text, Value)>,
}

#[derive(Debug, Clone)]
pub enum Outcome {
    Holds,
    HoldsNot,
    Failed(Arc<EvalError>),
    /// Not evaluated: an earlier part decided.
    NotAsked,
}

impl Outcome {
    fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::HoldsNot }
    }

    fn holds(&self) -> bool {
        matches!(self, Self::Holds)
    }
}

/// The parts of a filter with their outcomes for a file. The first is the whole filter.
pub fn explain(filter: &Filter, file: FileId, evaluator: &mut Evaluator<'_>) -> Vec<ExplainedPart> {
    evaluator.begin(Some(file));
    let mut trace = Trace { evaluator, file, parts: Vec::new() };
    trace.filter(filter, 0, true);
    trace.parts
}

struct Trace<'e, 'a> {
    evaluator: &'e mut Evaluator<'a>,
    file: FileId,
    parts: Vec<ExplainedPart>,
}

/// How a group combines its parts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    And,
    Or,
    Not,
}

impl Trace<'_, '_> {
    fn push(&mut self, depth: usize, text: &str) -> usize {
        let outcome = Outcome::NotAsked;
        self.parts.push(ExplainedPart { depth, text: text.into(), outcome, reads: Vec::new() });
        self.parts.len() - 1
    }

    fn filter(&mut self, filter: &Filter, depth: usize, is_asked: bool) -> bool {
        let (text, join, parts) = match filter {
            Filter::Is(expression) => {
                let prepared = Prepared::new(expression, self.evaluator.source());
                return self.expr(&prepared, &expression.root, depth, is_asked);
            }
            Filter::And(parts) => ("and", Join::And, parts),
            Filter::Or(parts) => ("or", Join::Or, parts),
            Filter::Not(parts) => ("not", Join::Not, parts),
        };
        self.join(text, join, depth, is_asked, parts, |trace, part, depth, is_asked| {
            trace.filter(part, depth, is_asked)
        })
    }

    /// Adds the line of a group, then those of its parts until one decides.
    fn join<P>(
        &mut self,
        text: &str,
        join: Join,
        depth: usize,
        is_asked: bool,
        parts: &[P],
        mut part: impl FnMut(&mut Self, &P, usize, bool) -> bool,
    ) -> bool {
        let own = self.push(depth, text);
        let mut is_decided = false;
        for of in parts {
            let holds = part(self, of, depth + 1, is_asked && !is_decided);
            is_decided = is_decided || holds != (join == Join::And);
        }
        let holds = match join {
            Join::Or => is_decided || parts.is_empty(),
            Join::And | Join::Not => !is_decided,
        };
        if is_asked {
            self.parts[own].outcome = Outcome::of(holds);
        }
        is_asked && holds
    }

    fn expr(&mut self, of: &Prepared, expr: &Expr, depth: usize, is_asked: bool) -> bool {
        let (text, join, parts) = match &expr.node {
            Node::And(left, right) => ("&&", Join::And, vec![&**left, right]),
            Node::Or(left, right) => ("||", Join::Or, vec![&**left, right]),
            Node::Not(inner) if matches!(inner.node, Node::And(..) | Node::Or(..)) => {
                ("!", Join::Not, vec![&**inner])
            }
            _ => return self.leaf(of, expr, depth, is_asked),
        };
        // A chain of one operator is one group.
        let parts = parts.into_iter().flat_map(|part| chained(part, join)).collect::<Vec<_>>();
        self.join(text, join, depth, is_asked, &parts, |trace, part, depth, is_asked| {
            trace.expr(of, part, depth, is_asked)
        })
    }

    fn leaf(&mut self, of: &Prepared, expr: &Expr, depth: usize, is_asked: bool) -> bool {
        let own = self.push(depth, text(of, &expr.at));
        if !is_asked {
            return false;
        }
        self.evaluator.begin(Some(self.file));
        self.parts[own].outcome = match self.evaluator.eval(of, expr) {
            Value::Error(error) => Outcome::Failed(error),
            value => Outcome::of(value.is_true()),
        };
        let mut read: Vec<(Text, Read<'_>)> = Vec::new();
        collect_reads(of, expr, &mut read);
        for (name, read) in read {
            let value = match read {
                Read::Node(node) => self.evaluator.eval(of, node),
                Read::Field(field) => self.evaluator.field_of(self.file, field),
            };
            self.parts[own].reads.push((name, value));
        }
        self.parts[own].outcome.holds()
    }
}

fn chained(expr: &Expr, join: Join) -> Vec<&Expr> {
    match (&expr.node, join) {
        (Node::And(left, right), Join::And) | (Node::Or(left, right), Join::Or) => {
            let mut parts = chained(left, join);
            parts.extend(chained(right, join));
            parts
        }
        _ => vec![expr],
    }
}

fn text<'p>(of: &'p Prepared, at: &Span) -> &'p str {
    let range = at.start as usize..at.end as usize;
    of.expression.source.get(range).unwrap_or(&of.expression.source)
}

/// A value that an expression reads from the row.
enum Read<'e> {
    Node(&'e Expr),
    /// A field of the row's file.
    Field(&'static str),
}

/// The values that an expression reads from the row, each once, in order of appearance.
fn collect_reads<'e>(of: &Prepared, expr: &'e Expr, found: &mut Vec<(Text, Read<'e>)>) {
    let mut add = |name: Text, read| {
        if !found.iter().any(|(known, _)| *known == name) {
            found.push((name, read));
        }
    };
    match &expr.node {
        Node::Property(index) => {
            let name = of.expression.properties.get(*index);
            add(name.cloned().unwrap_or_else(|| "".into()), Read::Node(expr));
        }
        Node::Formula(name) => add(format!("formula.{name}").into(), Read::Node(expr)),
        Node::Field { of: object, name, .. } if matches!(object.node, Node::File) => {
            add(format!("file.{name}").into(), Read::Node(expr));
        }
        Node::Field { of: object, name, .. } if matches!(object.node, Node::This) => {
            add(format!("this.{name}").into(), Read::Node(expr));
        }
        Node::Method { of: object, name, .. } if matches!(object.node, Node::File) => {
            let field = match &**name {
                "hasTag" => "tags",
                "inFolder" => "folder",
                "hasLink" => "links",
                _ => "",
            };
            if !field.is_empty() {
                add(format!("file.{field}").into(), Read::Field(field));
            }
        }
        _ => {}
    }
    for part in parts(expr) {
        collect_reads(of, part, found);
    }
}

/// The direct children of a node.
fn parts(expr: &Expr) -> Vec<&Expr> {
    match &expr.node {
        Node::List(all) | Node::Call { args: all, .. } => all.iter().collect(),
        Node::Method { of, args, .. } => std::iter::once(&**of).chain(args).collect(),
        Node::Field { of, .. } | Node::Not(of) | Node::Negate(of) => vec![of],
        Node::Index { of, key } => vec![of, key],
        Node::And(left, right) | Node::Or(left, right) => vec![left, right],
        Node::Binary { left, right, .. } | Node::Classic { left, right, .. } => vec![left, right],
        _ => Vec::new(),
    }
}
