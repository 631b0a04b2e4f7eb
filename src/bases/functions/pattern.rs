//! The method of patterns.

use super::super::context::Context;
use super::super::value::{Outcome, Value};
use super::{Code, Function, Type, one, text_of};

pub(super) const FUNCTIONS: &[Function] = &[Function::method(
    Type::Pattern,
    "matches",
    &[one("value", &[Type::Text])],
    Type::Bool,
    "Whether it matches somewhere in a text.",
    Code::Plain(matches),
)];

fn matches(_: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    let Value::Pattern(pattern) = value else { return Ok(Value::Null) };
    Ok(Value::Bool(pattern.regex.is_match(text_of(args, 0))))
}
