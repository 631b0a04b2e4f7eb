//! Methods of every value.

use super::super::context::Context;
use super::super::value::{Outcome, Value};
use super::{Type, one, text_of};

functions! { FUNCTIONS of Any:
    "isTruthy"() -> Bool, Plain(is_truthy): "Whether it counts as true.";
    "isType"(one("type", &[Type::Text])) -> Bool, Plain(is_type):
        "Whether it is of a type: \"string\", \"number\", \"boolean\", \"date\", \"duration\", \"list\", \"object\", \"link\", \"file\", \"regexp\", \"null\".";
    "toString"() -> Text, Plain(to_string): "Its text.";
}

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
