//! Methods of links. They also have those of [`text`](super::text).

use super::super::context::Context;
use super::super::value::{Outcome, Value};
use super::{Type, file::has_link_to as has_link, one};

functions! { FUNCTIONS of Link:
    "asFile"() -> File, Plain(as_file): "The file that it leads to; null where it leads to none.";
    "linksTo"(one("file", &[Type::File, Type::Link, Type::Text, Type::Null])) -> Bool, Plain(links_to):
        "Whether the file that it leads to links to another.";
}

fn as_file(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    let Value::Link(link) = value else { return Ok(Value::Null) };
    Ok(context.compare().leads_to(link).map_or(Value::Null, Value::File))
}

fn links_to(context: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    match as_file(context, value, &[])? {
        Value::File(file) => Ok(Value::Bool(has_link(context, file, args.first()))),
        _ => Ok(Value::Bool(false)),
    }
}
