//! Arguments of a call that the server also requires as headers: schema properties with
//! `x-mcp-header`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use super::settings::is_token;

/// The keyword in a schema.
const KEYWORD: &str = "x-mcp-header";

/// The prefix of the headers.
const PREFIX: &str = "Mcp-Param-";

/// A property and its header.
#[derive(Debug, PartialEq, Eq)]
struct Mirrored {
    header: String,
    path: Vec<String>,
}

/// What is wrong with the headers that a schema requires.
pub(super) fn fault(schema: &Value) -> Option<String> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found).err()
}

/// The headers for a call of a tool with this schema.
pub(super) fn headers(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if collect(schema, &mut Vec::new(), &mut found).is_err() {
        return Vec::new();
    }
    let headers = found.into_iter().filter_map(|Mirrored { header, path }| {
        let value = path.iter().try_fold(arguments, |value, key| value.get(key))?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((format!("{PREFIX}{header}"), encoded(&text)))
    });
    headers.collect()
}

/// A value encoded for a header.
pub(super) fn encoded(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    let is_marked = text.starts_with("=?base64?") && text.ends_with("?=");
    if is_plain && text.trim() == text && !is_marked {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", BASE64_STANDARD.encode(text))
    }
}

/// Collects the properties, following only `properties`.
fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<Mirrored>,
) -> Result<(), String> {
    let Some(members) = schema.as_object() else { return Ok(()) };
    if let Some(header) = members.get(KEYWORD) {
        let header = header.as_str().filter(|header| is_token(header));
        let header = header.ok_or("its schema names a header that cannot be one")?;
        if !["string", "integer", "boolean"].iter().any(|kind| schema["type"] == *kind) {
            return Err(format!(
                "its schema wants the header `{header}` from an argument that is not a text, integer or boolean"
            ));
        }
        if found.iter().any(|other| other.header.eq_ignore_ascii_case(header)) {
            return Err(format!("its schema names the header `{header}` twice"));
        }
        if path.is_empty() {
            return Err("its schema wants all arguments as one header".to_owned());
        }
        found.push(Mirrored { header: header.to_owned(), path: path.clone() });
    }
    for (key, value) in members {
        if key == "properties" {
            for (name, property) in value.as_object().into_iter().flatten() {
                path.push(name.clone());
                collect(property, path, found)?;
                path.pop();
            }
        } else if holds_keyword(value) {
            return Err("its schema wants a header from an argument that is not plain".to_owned());
        }
    }
    Ok(())
}

fn holds_keyword(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.iter().any(|(key, value)| key == KEYWORD || holds_keyword(value))
        }
        Value::Array(items) => items.iter().any(holds_keyword),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marked_arguments_become_headers() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "type": "object", "properties": { "count": { "type": "integer", "x-mcp-header": "Count" } } },
            "quiet": { "type": "boolean", "x-mcp-header": "Quiet" },
            "other": { "type": "string" },
        } });
        let arguments =
            json!({ "region": "us", "deep": { "count": 3 }, "quiet": null, "other": "x" });
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            headers(&schema, &arguments),
            [pair("Mcp-Param-Count", "3"), pair("Mcp-Param-Region", "us")]
        );
        for (text, header) in [
            ("us west", "us west"),
            ("", ""),
            (" us", "=?base64?IHVz?="),
            ("a\r\nX: 1", "=?base64?YQ0KWDogMQ==?="),
            ("\u{e9}", "=?base64?w6k=?="),
            ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ] {
            assert_eq!(encoded(text), header, "{text:?}");
        }
    }

    #[test]
    fn a_schema_that_wants_what_cannot_be_is_refused() {
        let property =
            |property: Value| fault(&json!({ "type": "object", "properties": { "a": property } }));
        assert_eq!(property(json!({ "type": "string", "x-mcp-header": "A" })), None);
        for (wrong, why) in [
            (json!({ "type": "string", "x-mcp-header": "" }), "cannot be one"),
            (json!({ "type": "string", "x-mcp-header": "a: b" }), "cannot be one"),
            (json!({ "type": "string", "x-mcp-header": 3 }), "cannot be one"),
            (json!({ "type": "number", "x-mcp-header": "A" }), "not a text, integer"),
            (
                json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "A" } }),
                "argument that is not plain",
            ),
        ] {
            let fault = property(wrong.clone()).expect("a fault");
            assert!(fault.contains(why), "{wrong}: {fault}");
        }
        let twice = json!({ "type": "object", "properties": {
            "a": { "type": "string", "x-mcp-header": "A" }, "b": { "type": "string", "x-mcp-header": "a" } } });
        assert!(fault(&twice).expect("a fault").contains("twice"));
    }
}
