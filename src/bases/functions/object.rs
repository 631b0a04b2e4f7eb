//! Methods of objects: keys and their values.

use super::super::context::Context;
use super::super::value::{Outcome, Text, Value};

functions! { FUNCTIONS of Object:
    "isEmpty"() -> Bool, Plain(is_empty): "Whether it has no keys.";
    "keys"() -> List, Plain(keys): "Its keys.";
    "values"() -> List, Plain(values): "The values of its keys.";
}

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
