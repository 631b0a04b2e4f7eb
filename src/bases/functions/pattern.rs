//! The method of patterns.

use super::super::context::Context;
use super::super::value::{Outcome, Value};
use super::{Type, one, text_of};

functions! { FUNCTIONS of Pattern:
    "matches"(one("value", &[Type::Text])) -> Bool, Plain(matches):
        "Whether it matches somewhere in a text.";
}

fn matches(_: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    let Value::Pattern(pattern) = value else { return Ok(Value::Null) };
    Ok(Value::Bool(pattern.regex.is_match(text_of(args, 0))))
}
