//! The syntax of early versions of Bases, with its present form.

use super::ast::{Expr, Expression, Node};
use super::functions;

/// Functions of early versions of Bases, or of other languages, with their present equivalents. `{0}` and `{1}` are the
/// arguments.
const OUTDATED: [(&str, &str); 11] = [
    ("not", "!{0}"),
    ("empty", "{0}.isEmpty()"),
    ("notEmpty", "!{0}.isEmpty()"),
    ("and", "{0} && {1}"),
    ("or", "{0} || {1}"),
    ("concat", "{0} + {1}"),
    ("length", "{0}.length"),
    ("len", "{0}.length"),
    ("size", "{0}.length"),
    ("taggedWith", "file.hasTag({1})"),
    ("linksTo", "file.hasLink({1})"),
];

/// The present form of a call of an early version: `not(empty(x))` is `!x.isEmpty()`.
pub(super) fn current(of: &Expression, part: &Expr) -> Option<String> {
    let Node::Call { name, args, .. } = &part.node else { return None };
    let first = args.first()?;
    let inner = |arg: &Expr, is_receiver: bool| {
        current(of, arg).unwrap_or_else(|| match arg.node {
            Node::Binary { .. } | Node::And(..) | Node::Or(..) => {
                format!("({})", of.print(arg))
            }
            Node::Not(_) | Node::Negate(_) | Node::Number(_) if is_receiver => {
                format!("({})", of.print(arg))
            }
            _ => of.print(arg),
        })
    };
    let form = OUTDATED.iter().find(|(outdated, _)| outdated.eq_ignore_ascii_case(name));
    if let Some((_, form)) = form {
        let second = args.get(1).map(|arg| of.print(arg));
        if form.contains("{1}") && second.is_none() {
            return None;
        }
        let first = inner(first, form.starts_with("{0}."));
        return Some(form.replace("{0}", &first).replace("{1}", &second.unwrap_or_default()));
    }
    let is_method = functions::all()
        .any(|known| known.of.is_some() && known.name == &**name && known.is_call());
    let rest: Vec<_> = args.iter().skip(1).map(|arg| of.print(arg)).collect();
    is_method.then(|| format!("{}.{name}({})", inner(first, true), rest.join(", ")))
}
