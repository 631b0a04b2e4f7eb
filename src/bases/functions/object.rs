//! Methods of objects: keys and their values.

use super::super::context::Context;
use super::super::value::{Outcome, Text, Value};

functions! { FUNCTIONS of Object:
    "isEmpty"() -> Bool, Plain(|_, value, _| Ok(Value::Bool(value.is_empty()))): "Whether it has no keys.";
    "keys"() -> List, Plain(keys): "Its keys.";
    "values"() -> List,
        Plain(|context, value, _| context.made_list(entries(value).iter().map(|(_, value)| value.clone()).collect())):
        "The values of its keys.";
}

fn entries(value: &Value) -> &[(Text, Value)] {
    match value {
        Value::Object(object) => &object.0,
        _ => &[],
    }
}

fn keys(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    let keys = entries(value).iter().map(|(key, _)| Value::Text(key.clone()));
    context.made_list(keys.collect())
}
