//! Methods of texts, and of links as the text of their target.

use super::super::compare::as_text;
use super::super::compare::show::{LONGEST_TEXT, TooLong};
use super::super::context::Context;
use super::super::value::{Outcome, Value};
use super::{Type, number_of, one, optional, repeated, replacement, span, text_of};

const TEXT: &[Type] = &[Type::Text];
const NUMBER: &[Type] = &[Type::Number];
const TEXT_OR_PATTERN: &[Type] = &[Type::Text, Type::Pattern];

functions! { FUNCTIONS of Text:
    "length" -> Number, Plain(|_, value, _| Ok(Value::Number(own(value).chars().count() as f64))):
        "How many characters it has.";
    "contains"(one("value", TEXT)) -> Bool,
        Plain(|_, value, args| Ok(Value::Bool(own(value).contains(text_of(args, 0))))):
        "Whether it has the value in it; case counts.";
    "containsAll"(repeated("values", TEXT)) -> Bool,
        Plain(|_, value, args| Ok(Value::Bool((0..args.len()).all(|at| own(value).contains(text_of(args, at)))))):
        "Whether it has all of the values in it.";
    "containsAny"(repeated("values", TEXT)) -> Bool,
        Plain(|_, value, args| Ok(Value::Bool((0..args.len()).any(|at| own(value).contains(text_of(args, at)))))):
        "Whether it has one of the values in it.";
    "endsWith"(one("query", TEXT)) -> Bool,
        Plain(|_, value, args| Ok(Value::Bool(own(value).ends_with(text_of(args, 0))))):
        "Whether it ends with the query.";
    "isEmpty"() -> Bool, Plain(|_, value, _| Ok(Value::Bool(own(value).is_empty()))):
        "Whether it has no characters, or is not there.";
    "lower"() -> Text, Plain(|context, value, _| context.made_text(own(value).to_lowercase())):
        "In lower case.";
    "repeat"(one("count", NUMBER)) -> Text, Plain(repeat): "As many times as count says.";
    "replace"(one("pattern", TEXT_OR_PATTERN), one("replacement", TEXT)) -> Text, Plain(replace):
        "All places of a text, or the first of a pattern (all with flag g), replaced; $1 is a pattern's first group.";
    "reverse"() -> Text,
        Plain(|context, value, _| context.made_text(own(value).chars().rev().collect::<String>())):
        "Its characters from the last to the first.";
    "slice"(one("start", NUMBER), optional("end", NUMBER)) -> Text, Plain(slice):
        "From the character at start, counted from 0, up to end; below 0 from the end.";
    "split"(one("separator", TEXT_OR_PATTERN), optional("n", NUMBER)) -> List, Plain(split):
        "The texts between the separators, the first n of them.";
    "startsWith"(one("query", TEXT)) -> Bool,
        Plain(|_, value, args| Ok(Value::Bool(own(value).starts_with(text_of(args, 0))))):
        "Whether it begins with the query.";
    "title"() -> Text, Plain(title): "The first letter of each word as a capital.";
    "trim"() -> Text,
        Plain(|context, value, _| context.made_text(own(value).trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}'))):
        "Without the white space at both ends.";
}

/// The text; of a link its target.
fn own(value: &Value) -> &str {
    as_text(value).unwrap_or_default()
}

fn repeat(context: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    let count = number_of(args, 0).unwrap_or(0.0).trunc();
    if count < 0.0 || count.is_infinite() {
        return Err("repeat() takes a count from 0".to_owned());
    }
    // Check the length before allocating.
    if own(value).len() as f64 * count > LONGEST_TEXT as f64 {
        return Err(TooLong.to_string());
    }
    let count = if own(value).is_empty() { 0 } else { count as usize };
    context.made_text(own(value).repeat(count))
}

fn replace(context: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    let with = text_of(args, 1);
    let text = match args.first() {
        Some(Value::Pattern(pattern)) => replacement::replaced(pattern, own(value), with)?,
        _ => {
            let what = text_of(args, 0);
            let places = if with.len() > what.len() { own(value).matches(what).count() } else { 0 };
            if own(value).len().saturating_add(places.saturating_mul(with.len())) > LONGEST_TEXT {
                return Err(TooLong.to_string());
            }
            own(value).replace(what, with)
        }
    };
    context.made_text(text)
}

fn slice(context: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    let (start, end) = (number_of(args, 0), number_of(args, 1));
    let text = own(value);
    if text.is_ascii() {
        return context.made_text(&text[span(text.len(), start, end)]);
    }
    let range = span(text.chars().count(), start, end);
    context.made_text(text.chars().skip(range.start).take(range.len()).collect::<String>())
}

fn split(context: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    let most = match number_of(args, 1) {
        Some(most) if most >= 0.0 => most as usize,
        _ => usize::MAX,
    };
    let text = own(value);
    let parts: Vec<Value> = match args.first() {
        Some(Value::Pattern(pattern)) => replacement::split(pattern, text, most),
        _ => match text_of(args, 0) {
            "" => text.chars().take(most).map(|c| Value::text(c.to_string())).collect(),
            separator => text.split(separator).take(most).map(Value::text).collect(),
        },
    };
    context.made_list(parts)
}

fn title(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    let mut titled = String::new();
    let mut is_inside = false;
    for c in own(value).chars() {
        if is_inside {
            titled.extend(c.to_lowercase());
        } else {
            titled.extend(c.to_uppercase());
        }
        is_inside = !c.is_whitespace() && (is_inside || c.is_alphanumeric());
    }
    context.made_text(titled)
}
