//! Methods of links. They also have those of [`text`](super::text).

use super::super::context::Context;
use super::super::value::{Outcome, Value};
use super::{Code, Function, Type, file::has_link_to as has_link, one};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::method(
        Type::Link,
        "asFile",
        &[],
        Type::File,
        "The file that it leads to; null where it leads to none.",
        Code::Plain(as_file),
    ),
    Function::method(
        Type::Link,
        "linksTo",
        &[one("file", &[Type::File, Type::Link, Type::Text, Type::Null])],
        Type::Bool,
        "Whether the file that it leads to links to another.",
        Code::Plain(links_to),
    ),
];

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
