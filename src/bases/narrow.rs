//! Hints for an index, derived from a filter.

use super::ast::{Expr, Expression, Node, Op};
use super::query::Filter;
use super::source::Hint;
use super::value::Text;

/// A hint that every file accepted by the filter meets; `None` if an index cannot help.
///
/// It may leave out only rows that the filter rejects without an error, since rows with an error are counted.
/// So a part of a group is used only if no part before it can fail.
pub(super) fn hint(filter: &Filter) -> Option<Hint> {
    match filter {
        Filter::Is(expression) => of_expr(&expression.root),
        Filter::And(parts) => {
            let mut hints = Vec::new();
            for part in parts {
                hints.extend(hint(part));
                if !cannot_fail(part) {
                    break;
                }
            }
            join_hints(hints)
        }
        Filter::Or(parts) => {
            let hints: Option<Vec<Hint>> = parts.iter().map(hint).collect();
            // A row whose part fails is counted, so the hints must not leave it out.
            hints.filter(|hints| !hints.is_empty()).map(Hint::Any)
        }
        Filter::Not(_) => None,
    }
}

fn join_hints(mut hints: Vec<Hint>) -> Option<Hint> {
    if hints.len() > 1 { Some(Hint::All(hints)) } else { hints.pop() }
}

fn of_expr(expr: &Expr) -> Option<Hint> {
    match &expr.node {
        Node::And(left, right) => {
            join_hints(of_expr(left).into_iter().chain(of_expr(right)).collect())
        }
        Node::Or(left, right) => Some(Hint::Any(vec![of_expr(left)?, of_expr(right)?])),
        Node::Method { of, name, args, .. } if matches!(of.node, Node::File) => {
            let texts: Option<Vec<Text>> = args.iter().map(text).collect();
            match (&**name, texts?.as_slice()) {
                ("inFolder", [folder]) => Some(Hint::InFolder(folder.clone())),
                ("hasTag", [tag]) => Some(Hint::HasTag(tag.clone())),
                ("hasTag", tags @ [_, ..]) => {
                    Some(Hint::Any(tags.iter().cloned().map(Hint::HasTag).collect()))
                }
                _ => None,
            }
        }
        Node::Binary { op: Op::Equal, left, right, .. } => match (text(left), text(right)) {
            (None, Some(ext)) if is_extension(left) => Some(Hint::Extension(ext)),
            (Some(ext), None) if is_extension(right) => Some(Hint::Extension(ext)),
            _ => None,
        },
        _ => None,
    }
}

fn text(expr: &Expr) -> Option<Text> {
    match &expr.node {
        Node::Text(text) => Some(text.clone()),
        _ => None,
    }
}

fn is_extension(expr: &Expr) -> bool {
    matches!(&expr.node, Node::Field { of, name, .. } if &**name == "ext" && matches!(of.node, Node::File))
}

/// Whether a condition cannot fail for any row.
fn cannot_fail(filter: &Filter) -> bool {
    match filter {
        Filter::Is(expression) => is_safe(expression),
        Filter::And(parts) | Filter::Or(parts) | Filter::Not(parts) => {
            parts.iter().all(cannot_fail)
        }
    }
}

fn is_safe(expression: &Expression) -> bool {
    match &expression.root.node {
        // `&&`, `||` and `!` give true or false for all operands.
        Node::And(..) | Node::Or(..) | Node::Not(_) => true,
        Node::Binary { op: Op::Equal | Op::NotEqual, left, right, .. } => {
            let is_plain = |expr: &Expr| is_plain(expr) || is_extension(expr);
            is_plain(left) && is_plain(right)
        }
        _ => is_plain(&expression.root) || of_expr(&expression.root).is_some(),
    }
}

fn is_plain(expr: &Expr) -> bool {
    matches!(
        expr.node,
        Node::Null
            | Node::Bool(_)
            | Node::Number(_)
            | Node::Text(_)
            | Node::Property(_)
            | Node::File
    )
}
