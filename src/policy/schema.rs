//! Validates a value against a JSON Schema, with the keywords that the tools' schemas use.
//!
//! No crate is used: the schemas are our own, generated from types, with everything inline.
//! A test over all tools (`tests/calls/doors.rs`) ensures that no other keyword is used.

use serde_json::Value;

/// Characters of a wrong value that messages show.
const SHOWN: usize = 40;

/// Validates `value`.
///
/// # Errors
/// One line that names the place.
pub fn check(schema: &Value, value: &Value) -> Result<(), String> {
    validate(schema, value, "")
}

/// The members of an object of `schema`, in words.
pub fn takes(schema: &Value) -> String {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let properties = schema["properties"].as_object().into_iter().flat_map(Object::keys);
    let (needed, other): (Vec<_>, Vec<_>) = properties
        .map(|name| format!("`{name}`"))
        .partition(|name| required.iter().any(|one| one.as_str() == Some(name.trim_matches('`'))));
    match (needed.join(", "), other.join(", ")) {
        (needed, other) if needed.is_empty() && other.is_empty() => "it takes none".to_owned(),
        (needed, other) if other.is_empty() => format!("it takes {needed}"),
        (needed, other) if needed.is_empty() => {
            format!("it takes {other}, all optional")
        }
        (needed, other) => format!("it takes {needed}; optional: {other}"),
    }
}

fn validate(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Some(schema) = schema.as_object() else {
        return match schema {
            Value::Bool(false) => Err(format!("{}is not allowed", prefix(at))),
            _ => Ok(()),
        };
    };
    if let Some(types) = schema.get("type") {
        let named = |name: &Value| name.as_str().is_some_and(|name| is_a(value, name));
        let right = match types {
            Value::Array(names) => names.iter().any(named),
            name => named(name),
        };
        if !right {
            let expected = match types {
                Value::Array(names) => {
                    names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
                }
                name => name.as_str().unwrap_or_default().to_owned(),
            };
            return Err(format!(
                "{}invalid type: {}, expected {expected}",
                prefix(at),
                describe_value(value)
            ));
        }
    }
    if let Some(expected) = schema.get("const").filter(|expected| *expected != value) {
        return Err(format!(
            "{}expected `{}`, not {}",
            prefix(at),
            bare(expected),
            describe_value(value)
        ));
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array)
        && !words.contains(value)
    {
        return Err(one_of(at, value, &words.iter().map(bare).collect::<Vec<_>>()));
    }
    alternatives(schema, value, at)?;
    match value {
        Value::Object(members) => object(schema, members, at),
        Value::Array(items) => {
            let length = items.len() as f64;
            check_bounds(schema, "minItems", "maxItems", length, at, "items")?;
            let Some(item) = schema.get("items") else { return Ok(()) };
            let mut items = items.iter().enumerate();
            items.try_for_each(|(index, one)| validate(item, one, &format!("{at}[{index}]")))
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            check_bounds(schema, "minimum", "maximum", number, at, "")
        }
        Value::String(text) => {
            if !schema.contains_key("minLength") && !schema.contains_key("maxLength") {
                return Ok(());
            }
            check_bounds(
                schema,
                "minLength",
                "maxLength",
                text.chars().count() as f64,
                at,
                "characters",
            )
        }
        _ => Ok(()),
    }
}

type Object = serde_json::Map<String, Value>;

fn object(schema: &Object, members: &Object, at: &str) -> Result<(), String> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, member) in members {
        let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
        match properties.and_then(|properties| properties.get(name)) {
            // Some callers send `null` for members that they leave out.
            Some(_) if member.is_null() && !is_required(name) => {}
            Some(schema) => validate(schema, member, &path)?,
            None => match schema.get("additionalProperties") {
                Some(Value::Bool(false)) => {
                    let shown: String = name.chars().take(SHOWN).collect();
                    let known: Vec<String> = properties
                        .into_iter()
                        .flat_map(|properties| properties.keys().map(|name| format!("`{name}`")))
                        .collect();
                    return Err(format!(
                        "{}unknown field `{}`, expected {}",
                        prefix(at),
                        shown.escape_debug(),
                        if known.is_empty() { "none".to_owned() } else { known.join(", ") }
                    ));
                }
                Some(schema) => validate(schema, member, &path)?,
                None => {}
            },
        }
    }
    // Last: an unknown name is a better hint than the missing one.
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            return Err(format!("{}missing field `{name}`", prefix(at)));
        }
    }
    Ok(())
}

fn alternatives(schema: &Object, value: &Value, at: &str) -> Result<(), String> {
    for one in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        validate(one, value, at)?;
    }
    for word in ["oneOf", "anyOf"] {
        let Some(options) = schema.get(word).and_then(Value::as_array) else { continue };
        let fitting = options.iter().filter(|option| validate(option, value, at).is_ok()).count();
        if fitting == 0 {
            let words: Option<Vec<String>> =
                options.iter().map(|option| option.get("const").map(bare)).collect();
            return Err(match (words, &options[..]) {
                (Some(words), _) => one_of(at, value, &words),
                (None, [only]) => validate(only, value, at).err().unwrap_or_default(),
                (None, _) => {
                    format!(
                        "{}{} fits none of the allowed forms",
                        prefix(at),
                        describe_value(value)
                    )
                }
            });
        }
        if word == "oneOf" && fitting > 1 {
            return Err(format!(
                "{}{} fits several forms at once",
                prefix(at),
                describe_value(value)
            ));
        }
    }
    Ok(())
}

fn check_bounds(
    schema: &Object,
    least: &str,
    most: &str,
    number: f64,
    at: &str,
    unit: &str,
) -> Result<(), String> {
    let bound = |word: &str| schema.get(word).and_then(Value::as_f64);
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    match (bound(least), bound(most)) {
        (Some(least), _) if number < least => {
            Err(format!("{}{number}{unit} is less than {least}", prefix(at)))
        }
        (_, Some(most)) if number > most => {
            Err(format!("{}{number}{unit} is more than {most}", prefix(at)))
        }
        _ => Ok(()),
    }
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => match value {
            Value::Number(number) => {
                number.is_i64()
                    || number.is_u64()
                    || number.as_f64().is_some_and(|n| n.fract() == 0.0)
            }
            _ => false,
        },
        _ => false,
    }
}

fn one_of(at: &str, value: &Value, words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    format!("{}{} is not one of {}", prefix(at), describe_value(value), words.join(", "))
}

fn prefix(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!("`{at}`: ") }
}

fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The value's type, and the value itself if it is short.
fn describe_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("boolean `{value}`"),
        Value::Number(number) => format!("number `{number}`"),
        Value::String(text) if text.chars().count() <= SHOWN => format!("string {text:?}"),
        Value::String(_) => "a long string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    }
}
