//! Turns a tool's JSON Schema into command-line flags.
//!
//! Names, kinds, choices and descriptions follow from the schema, so a new tool has its flags, help
//! and completions without further code.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches};
use serde_json::{Map, Value, json};

use super::{Failure, Result};

#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name in JSON (`start_line`).
    pub name: String,
    /// Whether every call needs it.
    pub required: bool,
    kind: Kind,
    help: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Text,
    Integer,
    Number,
    Switch,
    Choice(Vec<String>),
    List(Box<Kind>),
    /// An object with free keys: as JSON, or as repeated `name=value`.
    Map,
    /// Any other value without a flag form: as JSON.
    Json,
}

/// The parameters of a tool, from its input schema, in the schema's order.
pub fn parameters(schema: &Value) -> Vec<Parameter> {
    let mut found = Vec::new();
    collect(schema, schema, &mut found);
    found
}

fn collect(root: &Value, node: &Value, found: &mut Vec<Parameter>) {
    let required: Vec<&str> = node["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    for (name, property) in node["properties"].as_object().into_iter().flatten() {
        if found.iter().any(|parameter| parameter.name == *name) {
            continue;
        }
        let required = required.contains(&name.as_str());
        found.push(Parameter {
            name: name.clone(),
            required,
            kind: kind(root, property),
            help: help(root, property, required),
        });
    }
    // A tool that accepts several shapes has the parameters of all; the tool checks which go
    // together.
    for shapes in ["oneOf", "anyOf", "allOf"] {
        for shape in node[shapes].as_array().into_iter().flatten() {
            collect(root, resolve_schema(root, shape), found);
        }
    }
}

/// Follows references and removes "or null": an omitted flag is null.
fn resolve_schema<'a>(root: &'a Value, node: &'a Value) -> &'a Value {
    if let Some(name) = node["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return resolve_schema(root, &root["$defs"][name]);
    }
    for shapes in ["anyOf", "oneOf", "allOf"] {
        let Some(shapes) = node[shapes].as_array() else { continue };
        let mut shapes = shapes.iter().filter(|shape| shape["type"] != "null");
        if let (Some(only), None) = (shapes.next(), shapes.next()) {
            return resolve_schema(root, only);
        }
    }
    node
}

fn kind(root: &Value, node: &Value) -> Kind {
    let node = resolve_schema(root, node);
    if let Some(choices) = choices(node) {
        return Kind::Choice(choices);
    }
    let types = match &node["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        Value::String(only) => vec![only.as_str()],
        _ => Vec::new(),
    };
    let mut types = types.into_iter().filter(|name| *name != "null");
    match (types.next(), types.next()) {
        (Some("string"), None) => Kind::Text,
        (Some("integer"), None) => Kind::Integer,
        (Some("number"), None) => Kind::Number,
        (Some("boolean"), None) => Kind::Switch,
        (Some("array"), None) => Kind::List(Box::new(kind(root, &node["items"]))),
        (Some("object"), None) if !node["properties"].is_object() => Kind::Map,
        _ => Kind::Json,
    }
}

/// The values of an enumeration: from `enum`, or from a `oneOf` of `const`.
fn choices(node: &Value) -> Option<Vec<String>> {
    let words = |list: &Value, of: fn(&Value) -> &Value| -> Option<Vec<String>> {
        let list = list.as_array()?.iter().filter(|word| !word.is_null());
        list.map(|word| of(word).as_str().map(str::to_owned)).collect()
    };
    words(&node["enum"], |word| word)
        .or_else(|| words(&node["oneOf"], |variant| &variant["const"]))
        .filter(|words| !words.is_empty())
}

fn help(root: &Value, property: &Value, required: bool) -> String {
    let description = property["description"]
        .as_str()
        .or_else(|| resolve_schema(root, property)["description"].as_str())
        .unwrap_or_default();
    let mut help = description.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(fields) = resolve_schema(root, property)["properties"].as_object() {
        let shape: Vec<_> = fields.keys().map(|name| format!("\"{name}\": …")).collect();
        help.push_str(&format!(" As JSON: {{{}}}", shape.join(", ")));
    }
    if required {
        help.push_str(" (required)");
    }
    match &property["default"] {
        Value::Null | Value::Bool(false) => {}
        default => help.push_str(&format!(" [default: {default}]")),
    }
    help
}

impl Parameter {
    /// The clap id of the flag, distinct from the ids of other flags.
    fn id(&self) -> String {
        format!("parameter:{}", self.name)
    }

    /// The flag without its hyphens: `start-line`.
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// Whether it accepts any text.
    pub fn is_text(&self) -> bool {
        self.kind == Kind::Text
    }

    /// The flag, with its JSON name as an alias: `--start-line` and `--start_line`.
    pub fn arg(&self) -> Arg {
        let flag = self.flag();
        let mut arg = Arg::new(self.id()).long(flag.clone()).help(self.help.clone());
        if flag != self.name {
            arg = arg.alias(self.name.clone());
        }
        let value_name = self.name.to_uppercase();
        match &self.kind {
            Kind::Switch => arg
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .value_name("true|false")
                .value_parser(["true", "false"])
                .hide_possible_values(true),
            Kind::Choice(words) => {
                arg.value_name(value_name).value_parser(PossibleValuesParser::new(words.clone()))
            }
            Kind::List(_) => {
                arg.action(ArgAction::Append).allow_hyphen_values(true).value_name(value_name)
            }
            Kind::Json => arg.allow_hyphen_values(true).value_name("JSON"),
            Kind::Map => arg
                .action(ArgAction::Append)
                .allow_hyphen_values(true)
                .value_name("NAME=VALUE or JSON"),
            // Values may begin with a hyphen: `--content "- milk"`, `--end-line -1`.
            Kind::Text => arg.allow_hyphen_values(true).value_name(value_name),
            Kind::Integer | Kind::Number => arg.allow_hyphen_values(true).value_name("N"),
        }
    }

    /// The given value as JSON; `None` if it was omitted.
    pub fn value(&self, matches: &ArgMatches) -> Result<Option<Value>> {
        let Ok(Some(mut parsed)) = matches.try_get_many::<String>(&self.id()) else {
            return Ok(None);
        };
        if let Kind::List(of) = &self.kind {
            return parsed.map(|text| self.one(of, text)).collect::<Result<_, _>>().map(Some);
        }
        if self.kind == Kind::Map {
            let mut map = Map::new();
            for text in parsed {
                match self.one(&Kind::Map, text)? {
                    Value::Object(some) => map.extend(some),
                    _ => return Err(self.wrong(text, "NAME=VALUE")),
                }
            }
            return Ok(Some(Value::Object(map)));
        }
        parsed.next().map(|text| self.one(&self.kind, text)).transpose()
    }

    fn one(&self, kind: &Kind, text: &str) -> Result<Value> {
        let wrong = |what: &str| self.wrong(text, what);
        match kind {
            Kind::Text | Kind::Choice(_) => Ok(Value::from(text)),
            Kind::Switch => Ok(Value::from(text == "true")),
            Kind::Integer => text.parse::<i64>().map(Value::from).map_err(|_| wrong("a number")),
            Kind::Number => text.parse::<f64>().map(Value::from).map_err(|_| wrong("a number")),
            Kind::Map if !text.trim_start().starts_with('{') => {
                let (name, value) = text.split_once('=').ok_or_else(|| wrong("NAME=VALUE"))?;
                Ok(json!({ name.trim(): typed_value(value) }))
            }
            Kind::List(_) | Kind::Map | Kind::Json => {
                serde_json::from_str(text).map_err(|_| wrong("JSON"))
            }
        }
    }

    fn wrong(&self, text: &str, expected: &str) -> Failure {
        Failure::usage(
            format!("invalid value '{text}' for '--{}': expected {expected}", self.flag()),
            "`--help` after the tool's name lists its flags",
        )
    }
}

/// The given flags as tool arguments, merged over `base`.
pub fn arguments(
    parameters: &[Parameter],
    matches: &ArgMatches,
    mut base: Map<String, Value>,
) -> Result<Map<String, Value>> {
    for parameter in parameters {
        if let Some(value) = parameter.value(matches)? {
            base.insert(parameter.name.clone(), value);
        }
    }
    Ok(base)
}

/// Parses a typed property value: a number, `true`, `false`, `null`, a list as `[a, b]`, other JSON,
/// else text.
fn typed_value(text: &str) -> Value {
    let text = text.trim();
    if let Ok(value) = serde_json::from_str(text) {
        return value;
    }
    let list = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    match list.filter(|list| !list.starts_with('[')) {
        Some(list) => list.split(',').map(typed_value).collect(),
        None => Value::from(text),
    }
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["path"],
            "properties": {
                "path": {"type": "string", "description": "Where\n it lies."},
                "end_line": {"type": ["integer", "null"], "format": "int64"},
                "replace_all": {"type": "boolean", "default": false},
                "if_exists": {"$ref": "#/$defs/IfExists", "default": "overwrite"},
                "sort": {"anyOf": [{"$ref": "#/$defs/IfExists"}, {"type": "null"}]},
                "exclude": {"type": ["array", "null"], "items": {"type": "string"}},
                "delete_lines": {"anyOf": [{"$ref": "#/$defs/Range"}, {"type": "null"}]},
                "set": {"type": "object", "additionalProperties": true},
            },
            "anyOf": [{"properties": {"old_text": {"type": "string"}}}],
            "$defs": {
                "IfExists": {"oneOf": [
                    {"type": "string", "const": "overwrite", "description": "x"},
                    {"type": "string", "const": "fail"}]},
                "Range": {"type": "object", "properties": {"start": {"type": "integer"}}},
            },
        })
    }

    fn parsed(line: &[&str]) -> Result<Value, String> {
        let parameters = parameters(&schema());
        let command =
            Command::new("t").no_binary_name(true).args(parameters.iter().map(Parameter::arg));
        let matches = command.try_get_matches_from(line).map_err(|error| error.to_string())?;
        match arguments(&parameters, &matches, Map::new()) {
            Ok(map) => Ok(Value::Object(map)),
            Err(failure) => Err(failure.message),
        }
    }

    #[test]
    fn every_kind_of_parameter_has_its_flag() {
        let line = [
            "--path",
            "- a",
            "--end-line",
            "-1",
            "--replace-all",
            "--if_exists",
            "fail",
            "--exclude",
            "a",
            "--exclude",
            "-b",
            "--delete-lines",
            "{\"start\":1}",
            "--old_text=x",
            "--sort",
            "overwrite",
        ];
        let wanted = json!({
            "path": "- a", "end_line": -1, "replace_all": true, "if_exists": "fail",
            "exclude": ["a", "-b"], "delete_lines": {"start": 1}, "old_text": "x",
            "sort": "overwrite",
        });
        assert_eq!(parsed(&line), Ok(wanted));
        assert_eq!(parsed(&["--replace-all=false"]), Ok(json!({"replace_all": false})));
        assert_eq!(parsed(&[]), Ok(json!({})));
    }

    #[test]
    fn properties_are_given_as_people_write_them() {
        let set = |value: &str| parsed(&["--set", value]).map(|all| all["set"].clone());
        assert_eq!(set("status=done"), Ok(json!({"status": "done"})));
        assert_eq!(set("pages = 12"), Ok(json!({"pages": 12})));
        assert_eq!(set("read=true"), Ok(json!({"read": true})));
        assert_eq!(set("tags=[plot, 2026]"), Ok(json!({"tags": ["plot", 2026]})));
        assert_eq!(set("day=2026-11-21"), Ok(json!({"day": "2026-11-21"})));
        assert_eq!(set("of=[[My note]]"), Ok(json!({"of": "[[My note]]"})));
        assert_eq!(set(r#"{"a": [1]}"#), Ok(json!({"a": [1]})));
        let both = parsed(&["--set", "a=1", "--set", "b=x=y"]);
        assert_eq!(both, Ok(json!({"set": {"a": 1, "b": "x=y"}})));
        assert!(set("status").unwrap_err().contains("NAME=VALUE"));
    }

    #[test]
    fn mistakes_name_the_flag_and_the_nearest() {
        assert!(parsed(&["--pth", "x"]).unwrap_err().contains("--path"));
        assert!(parsed(&["--if-exists", "fial"]).unwrap_err().contains("fail"));
        assert!(parsed(&["--end-line", "x"]).unwrap_err().contains("--end-line"));
        assert!(parsed(&["--delete-lines", "{"]).unwrap_err().contains("JSON"));
    }

    #[test]
    fn help_shows_requirements_and_defaults() {
        let parameters = parameters(&schema());
        let help = |name: &str| {
            let found = parameters.iter().find(|parameter| parameter.name == name);
            found.map(|parameter| parameter.help.clone()).unwrap()
        };
        assert_eq!(help("path"), "Where it lies. (required)");
        assert_eq!(help("delete_lines"), " As JSON: {\"start\": …}");
        assert_eq!(help("if_exists"), " [default: \"overwrite\"]");
    }
}
