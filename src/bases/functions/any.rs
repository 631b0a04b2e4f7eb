//! Methods of every value.

use super::super::context::Context;
use super::super::value::{Outcome, Value};
use super::{Type, one, text_of};

functions! { FUNCTIONS of Any:
    "isTruthy"() -> Bool, Plain(|_, value, _| Ok(Value::Bool(value.is_true()))): "Whether it counts as true.";
    "isType"(one("type", &[Type::Text])) -> Bool,
        Plain(|_, value, args| Ok(Value::Bool(value.type_name().eq_ignore_ascii_case(text_of(args, 0))))):
        "Whether it is of a type: \"string\", \"number\", \"boolean\", \"date\", \"duration\", \"list\", \"object\", \"link\", \"file\", \"regexp\", \"null\".";
    "toString"() -> Text, Plain(to_string): "Its text.";
}

fn to_string(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    let text = context.text(value)?;
    context.made_text(text)
}
