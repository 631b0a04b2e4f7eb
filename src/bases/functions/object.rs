//! Methods of objects: keys and their values.

use super::super::context::Context;
use super::super::value::{Outcome, Text, Value};
use super::{Code, Function, Type};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::method(
        Type::Object,
        "isEmpty",
        &[],
        Type::Bool,
        "Whether it has no keys.",
        Code::Plain(is_empty),
    ),
    Function::method(Type::Object, "keys", &[], Type::List, "Its keys.", Code::Plain(keys)),
    Function::method(
        Type::Object,
        "values",
        &[],
        Type::List,
        "The values of its keys.",
        Code::Plain(values),
    ),
];

fn entries(value: &Value) -> &[(Text, Value)] {
    match value {
        Value::Object(object) => &object.0,
        _ => &[],
    }
}

fn is_empty(_: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    Ok(Value::Bool(value.is_empty()))
}

fn keys(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    let keys = entries(value).iter().map(|(key, _)| Value::Text(key.clone()));
    context.made_list(keys.collect())
}

fn values(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    context.made_list(entries(value).iter().map(|(_, value)| value.clone()).collect())
}
