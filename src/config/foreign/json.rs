//! Edits JSON, with or without comments, through `jsonc-parser`.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

/// Returns `text` with the entry `section`.`name`. `loose` allows comments and trailing commas.
pub fn with(
    text: &str,
    section: &str,
    name: &str,
    entry: &Value,
    loose: bool,
) -> Result<String, String> {
    let mut meant = value(text, loose)?;
    let root = CstRootNode::parse(text, &options(loose)).map_err(|error| error.to_string())?;
    let whole = root.object_value_or_create().ok_or("it contains no object")?;
    let servers = match only_member(&whole, section)? {
        Some(there) => {
            there.object_value().ok_or_else(|| format!("`{section}` is not an object"))?
        }
        None => whole.object_value_or_set(section),
    };
    let old = only_member(&servers, name)?.and_then(|old| old.object_value());
    match (old, entry) {
        // Keep what the user set next to the command.
        (Some(old), Value::Object(entry)) if old.get("command").is_some() => {
            let was = meant[section][name].clone();
            for (key, value) in entry.iter().filter(|(key, value)| was.get(*key) != Some(*value)) {
                put(&old, key, value)?;
                meant[section][name][key] = value.clone();
            }
        }
        _ => {
            put(&servers, name, entry)?;
            meant[section][name] = entry.clone();
        }
    }
    let edited = root.to_string();
    match value(&edited, loose) {
        Ok(now) if now == meant => Ok(edited),
        _ => Err("it is written in a way that cannot be changed safely".to_owned()),
    }
}

fn put(object: &CstObject, name: &str, new_value: &Value) -> Result<(), String> {
    match only_member(object, name)? {
        Some(old) => old.set_value(input(new_value)),
        None => drop(object.append(name, input(new_value))),
    }
    Ok(())
}

/// The member with this name. A duplicate is an error, since programs disagree on which one counts.
fn only_member(object: &CstObject, name: &str) -> Result<Option<CstObjectProp>, String> {
    let mut found = object.properties();
    found.retain(|member| member.decoded_name().as_deref() == Some(name));
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => Err(format!("it has `{name}` twice")),
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is) => CstInputValue::Bool(*is),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => CstInputValue::Object(
            members.iter().map(|(name, value)| (name.clone(), input(value))).collect(),
        ),
    }
}

/// JSON, or JSON with comments and trailing commas; nothing else that other dialects allow.
fn options(loose: bool) -> ParseOptions {
    ParseOptions {
        allow_comments: loose,
        allow_trailing_commas: loose,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The value of a text, `{}` for an empty one.
fn value(text: &str, loose: bool) -> Result<Value, String> {
    let value = jsonc_parser::parse_to_serde_value(text, &options(loose));
    value.map_err(|error| format!("it is not JSON: {error}"))
}

/// The value of a text with comments and trailing commas.
pub fn loose_value(text: &str) -> Result<Value, String> {
    value(text, true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn put(text: &str) -> Result<String, String> {
        super::with(text, "servers", "vault", &json!({"a": ["b"]}), true)
    }

    #[test]
    fn an_entry_is_put_in_and_the_rest_stays() {
        let entry = "\"vault\": {\n      \"a\": [\"b\"]\n    }";
        assert_eq!(
            put("").unwrap(),
            "{\n  \"servers\": {\n    ENTRY\n  }\n}\n".replace("ENTRY", entry)
        );
        let text = "// mine\n{\n  \"x\": 1, // why\n  /* y */ \"servers\": {\n    \"o\": {} // last\n  }\n}\n";
        let expected = text.replace("{} // last", &format!("{{}}, // last\n    {entry}"));
        assert_eq!(put(text).unwrap(), expected);
        assert_eq!(put(&expected).unwrap(), expected, "a second time");
        let text = "{\n  \"x\": 1,\n  // the end\n}";
        let servers = format!("\"servers\": {{\n    {entry}\n  }}");
        assert_eq!(put(text).unwrap(), text.replace("1,", &format!("1,\n  {servers},")));
        let text = "{\r\n\t\"servers\": {}\r\n}";
        let edited = put(text).unwrap();
        assert!(
            edited.starts_with("{\r\n\t\"servers\": {\r\n\t\t\"vault\": {\r\n\t\t\t\"a\""),
            "{edited}"
        );
        assert!(!edited.replace("\r\n", "").contains('\n'));
        assert_eq!(
            put(r#"{"x":1,"servers":{"o":{}}}"#).unwrap(),
            "{\"x\":1,\"servers\":{\n    \"o\":{},\n    ENTRY\n  }}".replace("ENTRY", entry)
        );
        let old = "{\"servers\": {\"vault\": {\"old\": [1, {}]}, \"z\": 0}}";
        assert!(put(old).unwrap().ends_with("}, \"z\": 0}}"));
        let old = "{\"servers\": {\"vault\": {\"command\": \"c\", \"env\": {} /* mine */}}}";
        let members = "\"command\": \"c\",\n      \"env\": {}, /* mine */\n      \"a\": [\"b\"]";
        let kept = format!("{{\"servers\": {{\"vault\": {{\n      {members}\n    }}}}}}");
        assert_eq!(put(old).unwrap(), kept);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for text in [
            "[]",
            "{",
            "{]",
            "{\"a\" 1}",
            "{,}",
            "{\"a\": 1,,}",
            "{} {}",
            "nul",
            "/* open",
            "{\"servers\": []}",
            "{\"servers\": {}, \"servers\": {}}",
            "{\"servers\": {\"vault\": 1, \"vault\": 2}}",
            &format!("{}{}", "[".repeat(9_000), "]".repeat(9_000)),
        ] {
            assert!(put(text).is_err(), "{text}");
        }
        for text in ["{\"a\": 1,}", "{ // c\n}", "{}//"] {
            assert!(with(text, "s", "v", &json!({}), false).is_err(), "{text}");
            assert!(put(text).is_ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_what_was_meant_or_refused(
            pieces in proptest::collection::vec(
                proptest::sample::select(vec![
                    "{", "}", "[", "]", ",", ":", "\"servers\"", "\"vault\"", "1", "null", "\n", "  ",
                    "// c\n", "/* d */", "\"x\"", "\r\n",
                ]), 0..24)
        ) {
            let text = pieces.concat();
            if let Ok(edited) = put(&text) {
                let now = loose_value(&edited).expect("it can be read");
                prop_assert_eq!(&now["servers"]["vault"], &json!({"a": ["b"]}));
            }
        }
    }

    #[test]
    fn comments_and_trailing_commas_are_left_out() {
        let text = "{ // one\n \"a\": \"b // \\\" c\", /* two */ \"d\": [1, 2,\n], }";
        let value = loose_value(text).unwrap();
        assert_eq!(value, serde_json::json!({ "a": "b // \" c", "d": [1, 2] }));
    }
}
