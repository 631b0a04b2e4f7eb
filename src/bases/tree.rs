//! The tree builder shared by the parsers of both dialects; it enforces the limits.

use std::collections::VecDeque;

use super::ast::{Expr, Expression, Node, Span};
use super::diagnostic::{Diagnostic, Kind};
use super::pattern::PatternFault;
use super::value::Text;

/// The longest expression, in bytes.
pub const MAX_BYTES: usize = 64 << 10;

/// The deepest nesting of brackets, signs and operands; also the greatest height of a tree.
pub const MAX_NESTING: u32 = 200;

/// The most nodes of a tree.
pub const MAX_NODES: usize = 10_000;

/// A subtree and its height. Small, so that a parser may recurse on a small stack.
pub(super) struct Subtree {
    pub(super) expr: Box<Expr>,
    pub(super) height: u32,
}

pub(super) struct Tree<'s> {
    source: &'s str,
    nodes: usize,
    /// Open brackets and signs.
    depth: u32,
    properties: Vec<Text>,
}

impl<'s> Tree<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self { source, nodes: 0, depth: 0, properties: Vec::new() }
    }

    pub(super) fn finish(self, root: Subtree) -> Expression {
        Expression { source: self.source.into(), root: *root.expr, properties: self.properties }
    }

    /// Enters a level at the bracket or operand at this place.
    pub(super) fn enter(&mut self, at: Span) -> Result<(), Diagnostic> {
        self.depth += 1;
        if self.depth > MAX_NESTING { Err(self.too_deep(at)) } else { Ok(()) }
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// A node whose highest child has `below` levels.
    pub(super) fn make(&mut self, node: Node, at: Span, below: u32) -> Result<Subtree, Diagnostic> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let message = format!("the expression has more than {MAX_NODES} parts");
            return Err(Diagnostic::error(Kind::TooLarge, self.source, at, message)
                .hint("split it into formulas"));
        }
        if below >= MAX_NESTING {
            return Err(self.too_deep(at));
        }
        Ok(Subtree { expr: Box::new(Expr { node, at }), height: below + 1 })
    }

    /// A property of the row's note.
    pub(super) fn property(&mut self, name: &str, at: Span) -> Result<Subtree, Diagnostic> {
        let known = self.properties.iter().position(|property| &**property == name);
        let number = known.unwrap_or_else(|| {
            self.properties.push(name.into());
            self.properties.len() - 1
        });
        self.make(Node::Property(number), at, 0)
    }

    /// An operation on two values.
    pub(super) fn binary(
        &mut self,
        left: Subtree,
        right: Subtree,
        node: impl FnOnce(Box<Expr>, Box<Expr>) -> Node,
    ) -> Result<Subtree, Diagnostic> {
        let at = left.expr.at.start..right.expr.at.end;
        let below = left.height.max(right.height);
        self.make(node(left.expr, right.expr), at, below)
    }

    /// Joins conditions with `||` or `&&` in a balanced tree, since their number is unlimited. Nested groups of the same
    /// operator are flattened.
    pub(super) fn joined(
        &mut self,
        parts: Vec<Subtree>,
        is_or: bool,
    ) -> Result<Subtree, Diagnostic> {
        let mut flat = VecDeque::with_capacity(parts.len());
        for part in parts {
            flatten(part.expr, part.height, is_or, &mut flat);
        }
        let count = flat.len();
        self.halves(&mut flat, count, is_or)
    }

    fn halves(
        &mut self,
        parts: &mut VecDeque<Subtree>,
        count: usize,
        is_or: bool,
    ) -> Result<Subtree, Diagnostic> {
        if count < 2
            && let Some(only) = parts.pop_front()
        {
            return Ok(only);
        }
        let left = self.halves(parts, count.div_ceil(2), is_or)?;
        let right = self.halves(parts, count / 2, is_or)?;
        self.binary(left, right, if is_or { Node::Or } else { Node::And })
    }

    fn too_deep(&self, at: Span) -> Diagnostic {
        let message = format!("this is nested more than {MAX_NESTING} levels deep");
        Diagnostic::error(Kind::TooDeep, self.source, at, message).hint("split it into formulas")
    }
}

fn flatten(mut expr: Box<Expr>, height: u32, is_or: bool, into: &mut VecDeque<Subtree>) {
    match (expr.node, is_or) {
        (Node::And(left, right), false) | (Node::Or(left, right), true) => {
            flatten(left, height, is_or, into);
            flatten(right, height, is_or, into);
        }
        (node, _) => {
            expr.node = node;
            into.push_back(Subtree { expr, height });
        }
    }
}

/// Visits every node of a tree in pre-order.
pub fn visit<'e>(part: &'e Expr, see: &mut impl FnMut(&'e Expr)) {
    see(part);
    match &part.node {
        Node::List(items) | Node::Call { args: items, .. } => {
            items.iter().for_each(|item| visit(item, see));
        }
        Node::Method { of, args, .. } => {
            visit(of, see);
            args.iter().for_each(|arg| visit(arg, see));
        }
        Node::Field { of, .. } | Node::Not(of) | Node::Negate(of) => visit(of, see),
        Node::Index { of: left, key: right }
        | Node::And(left, right)
        | Node::Or(left, right)
        | Node::Binary { left, right, .. }
        | Node::Classic { left, right, .. } => {
            visit(left, see);
            visit(right, see);
        }
        Node::Null
        | Node::Bool(_)
        | Node::Number(_)
        | Node::Text(_)
        | Node::Pattern(_)
        | Node::Property(_)
        | Node::File
        | Node::Note
        | Node::Formula(_)
        | Node::This
        | Node::Local(_) => {}
    }
}

pub(super) fn too_long(source: &str) -> Diagnostic {
    let at = MAX_BYTES as u32..MAX_BYTES as u32;
    Diagnostic::error(Kind::TooLarge, source, at, "the expression is longer than 64 KB")
        .hint("split it into formulas")
}

pub(super) fn pattern_fault(source: &str, start: u32, fault: PatternFault) -> Diagnostic {
    let at = start + fault.at as u32;
    let error = Diagnostic::error(Kind::InvalidPattern, source, at..at + 1, fault.message);
    error.hint(fault.hint.unwrap_or_default())
}
