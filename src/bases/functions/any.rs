//! Methods of every value.

use super::super::context::Context;
use super::super::value::{Outcome, Value};
use super::{Code, Function, Type, one, text_of};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::method(
        Type::Any,
        "isTruthy",
        &[],
        Type::Bool,
        "Whether it counts as true.",
        Code::Plain(is_truthy),
    ),
    Function::method(
        Type::Any,
        "isType",
        &[one("type", &[Type::Text])],
        Type::Bool,
        "Whether it is of a type: \"string\", \"number\", \"boolean\", \"date\", \"duration\", \"list\", \"object\", \"link\", \"file\", \"regexp\", \"null\".",
        Code::Plain(is_type),
    ),
    Function::method(Type::Any, "toString", &[], Type::Text, "Its text.", Code::Plain(to_string)),
];

fn is_truthy(_: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    Ok(Value::Bool(value.is_true()))
}

fn is_type(_: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    Ok(Value::Bool(value.type_name().eq_ignore_ascii_case(text_of(args, 0))))
}

fn to_string(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    let text = context.text(value)?;
    context.made_text(text)
}
