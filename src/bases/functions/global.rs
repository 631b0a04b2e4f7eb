//! Global functions.

use std::sync::Arc;

use super::super::ast::Expr;
use super::super::compare::as_text;
use super::super::context::{Context, Walk, moment};
use super::super::number_text;
use super::super::value::{Date, Duration, Link, Outcome, Value};
use super::{Type, number_of, one, optional, repeated, text_of};

const ANY: &[Type] = &[Type::Any];
const TEXT: &[Type] = &[Type::Text, Type::Null];
const PATH: &[Type] = &[Type::Text, Type::File, Type::Link, Type::Null];

functions! { FUNCTIONS of Globals:
    "date"(one("date", &[Type::Text, Type::Date, Type::Null])) -> Date, Plain(date):
        "The date that a text writes: \"2026-05-27\" or \"2026-05-27 12:00:00\".";
    "duration"(one("value", &[Type::Text, Type::Duration, Type::Null])) -> Duration, Plain(duration):
        "The duration that a text writes: \"1d\", \"2 hours\", \"1M 3d\".";
    "escapeHTML"(one("html", TEXT)) -> Text, Plain(escape_html):
        "The text with <, >, &, \" and ' escaped for HTML.";
    "file"(one("path", PATH)) -> File, Plain(file):
        "The file that a path, name or link leads to; null where there is none.";
    "html"(one("html", TEXT)) -> Text, Plain(|_, _, args| Ok(first(args).clone())):
        "A text that a view draws as HTML.";
    "icon"(one("name", TEXT)) -> Text, Plain(|_, _, args| Ok(first(args).clone())):
        "The icon of that name, of Lucide's.";
    "if"(one("condition", ANY), one("trueResult", ANY), optional("falseResult", ANY))
        -> Any, Lazy(either):
        "One value if the condition holds, else another, or null.";
    "image"(one("path", PATH)) -> Text, Plain(image):
        "A picture of the vault or of the web.";
    "link"(one("path", PATH), optional("display", ANY)) -> Link, Plain(link):
        "A link to a path, name, file or web address, with another text to show.";
    "list"(one("element", ANY)) -> List, Plain(list):
        "A list as it is, anything else as a list of one.";
    "max"(repeated("values", &[Type::Number])) -> Number,
        Plain(|_, _, args| Ok(Value::Number(most(args, |a, b| a > b)))):
        "The largest of the numbers.";
    "min"(repeated("values", &[Type::Number])) -> Number,
        Plain(|_, _, args| Ok(Value::Number(most(args, |a, b| a < b)))):
        "The smallest of the numbers.";
    "now"() -> Date, Plain(|context, _, _| Ok(moment(context.now()))): "This moment.";
    "number"(one("input", ANY)) -> Number, Plain(number):
        "The number that a text writes; of a date its milliseconds since 1970, of true 1, of false 0.";
    "random"() -> Number, Plain(|context, _, _| Ok(Value::Number(context.random()))):
        "A number from 0 up to 1, another for each note.";
    "today"() -> Date, Plain(today): "Today, without a time.";
}

/// The argument of a function of one; null where it is missing.
fn first(args: &[Value]) -> &Value {
    args.first().unwrap_or(&Value::Null)
}

fn date(context: &mut Context<'_>, _: &Value, args: &[Value]) -> Outcome {
    match first(args) {
        value @ (Value::Date(_) | Value::Null) => Ok(value.clone()),
        _ => {
            let text = text_of(args, 0);
            let date = context.times().parse(text).map(Value::Date);
            date.ok_or_else(|| format!("Unable to parse \"{}\" as a date.", shorten(text)))
        }
    }
}

fn duration(_: &mut Context<'_>, _: &Value, args: &[Value]) -> Outcome {
    match first(args) {
        value @ (Value::Duration(_) | Value::Null) => Ok(value.clone()),
        _ => {
            let text = text_of(args, 0);
            let duration = Duration::parse(text).map(Value::Duration);
            duration.ok_or_else(|| format!("Unable to parse \"{}\" as a duration.", shorten(text)))
        }
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(100).collect()
}

fn escape_html(context: &mut Context<'_>, _: &Value, args: &[Value]) -> Outcome {
    if matches!(first(args), Value::Null) {
        return Ok(Value::Null);
    }
    context.made_text(escaped_html(text_of(args, 0)))
}

pub fn escaped_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

fn file(context: &mut Context<'_>, _: &Value, args: &[Value]) -> Outcome {
    let link = match first(args) {
        value @ (Value::File(_) | Value::Null) => return Ok(value.clone()),
        Value::Link(link) => Arc::clone(link),
        _ => Arc::new(Link::of_text(text_of(args, 0), context.from())),
    };
    let at_path = || context.source().at(&link.target);
    let found = context.compare().leads_to(&link).or_else(at_path);
    Ok(found.map_or(Value::Null, Value::File))
}

fn image(context: &mut Context<'_>, _: &Value, args: &[Value]) -> Outcome {
    let target = match first(args) {
        Value::Null => return Ok(Value::Null),
        Value::File(file) => context.source().path(*file),
        Value::Link(link) => match context.compare().leads_to(link) {
            Some(file) => context.source().path(file),
            None => link.target.clone(),
        },
        _ => text_of(args, 0).into(),
    };
    context.made_text(format!("![]({target})"))
}

fn either(walk: &mut dyn Walk<'_>, _: &Value, args: &[Expr]) -> Outcome {
    let branch = if walk.eval(&args[0]).is_true() { args.get(1) } else { args.get(2) };
    Ok(branch.map_or(Value::Null, |branch| walk.eval(branch)))
}

fn link(context: &mut Context<'_>, _: &Value, args: &[Value]) -> Outcome {
    let mut link = match first(args) {
        Value::Null => return Ok(Value::Null),
        Value::File(file) => {
            let target = context.source().path(*file);
            Link { target, display: None, from: None, is_external: false }
        }
        Value::Link(link) => Link::clone(link),
        _ => Link::of_text(text_of(args, 0), context.from()),
    };
    if let Some(display) = args.get(1).filter(|display| !matches!(display, Value::Null)) {
        link.display = Some(context.text(display)?.into());
    }
    Ok(Value::Link(Arc::new(link)))
}

fn list(context: &mut Context<'_>, _: &Value, args: &[Value]) -> Outcome {
    match first(args) {
        value @ Value::List(_) => Ok(value.clone()),
        value => context.made_list(vec![value.clone()]),
    }
}

/// The first number in an order; NaN if one of them is NaN.
fn most(args: &[Value], is_before: fn(f64, f64) -> bool) -> f64 {
    let numbers = (0..args.len()).filter_map(|at| number_of(args, at));
    let most = numbers.reduce(|a, b| if a.is_nan() || is_before(a, b) { a } else { b });
    most.unwrap_or(f64::NAN)
}

fn number(context: &mut Context<'_>, _: &Value, args: &[Value]) -> Outcome {
    let number = match first(args) {
        Value::Null => return Ok(Value::Null),
        Value::Number(number) => Some(*number),
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        Value::Date(date) => Some(date.millis as f64),
        value => as_text(value).and_then(number_text::read),
    };
    match number {
        Some(number) => Ok(Value::Number(number)),
        None => {
            let text = context.text(first(args))?;
            Err(format!("Unable to parse \"{}\" as a number.", shorten(&text)))
        }
    }
}

fn today(context: &mut Context<'_>, _: &Value, _: &[Value]) -> Outcome {
    let now = Date { millis: context.now(), has_time: true };
    Ok(Value::Date(context.times().day(now)))
}
