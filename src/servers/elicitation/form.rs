//! The fields of a form: how they are shown, and how a person's words become their values.

use serde_json::{Map, Value};

use crate::note::invisible::cleared;
use crate::note::path::visible;
use crate::servers::settings::is_secret;

const MAX_FIELDS: usize = 16;
const MAX_CHOICES: usize = 50;

/// The longest label that is shown, in characters.
const MAX_LABEL: usize = 200;

/// A value that a form asks for.
#[derive(Debug)]
pub(super) struct Field {
    pub name: String,
    label: String,
    kind: FieldKind,
    pub default: Option<Value>,
    pub is_required: bool,
}

#[derive(Debug)]
enum FieldKind {
    Text {
        least: u64,
        most: u64,
    },
    Number {
        is_whole: bool,
        least: f64,
        most: f64,
    },
    Flag,
    /// One value, or several where `most` says how many; each with its title.
    Choice {
        values: Vec<(String, String)>,
        several: Option<(u64, u64)>,
    },
}

/// A stranger's text on one line, without invisible characters.
pub(super) fn label(text: &Value, most: usize) -> String {
    let text = cleared(text.as_str().unwrap_or_default()).0;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    visible(&line).chars().take(most).collect()
}

pub(super) fn fields(schema: &Value) -> Result<Vec<Field>, String> {
    let properties = schema["properties"].as_object();
    let required = schema["required"].as_array();
    let is_required =
        |name: &str| required.is_some_and(|all| all.iter().any(|required| required == name));
    let fields = properties.into_iter().flatten().map(|(name, schema)| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || name.len() > MAX_LABEL || !name.chars().all(plain) {
            return Err("a field has no plain name".to_owned());
        }
        let kind =
            FieldKind::read(schema).ok_or_else(|| format!("`{name}` is not a plain value"))?;
        let words = ["title", "description"].map(|key| label(&schema[key], MAX_LABEL));
        let words: Vec<_> = words.into_iter().filter(|words| !words.is_empty()).collect();
        let default = schema.get("default").filter(|value| kind.fits(value)).cloned();
        let (name, is_required) = (name.clone(), is_required(name));
        Ok(Field { name, label: words.join(": "), kind, default, is_required })
    });
    let fields = fields.collect::<Result<Vec<_>, String>>()?;
    if fields.len() <= MAX_FIELDS {
        Ok(fields)
    } else {
        Err(format!("it has more than {MAX_FIELDS} fields"))
    }
}

impl Field {
    /// What a person has to know of it.
    pub fn words(&self) -> String {
        let mut words = format!("`{}`", self.name);
        if !self.label.is_empty() {
            words.push_str(&format!(" ({})", self.label));
        }
        words.push_str(&format!(": {}", self.kind.words()));
        match &self.default {
            Some(default) => {
                let shown = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
                let shown: String = visible(&shown).chars().take(MAX_LABEL).collect();
                words.push_str(&format!(", `{shown}` by default"));
            }
            None if self.is_required => words.push_str(", which has to be given"),
            None => {}
        }
        if is_secret(&self.name) {
            words.push_str("; by its name a secret, and no server may ask for one like this");
        }
        words
    }

    /// The value that the words say.
    fn value(&self, words: &str) -> Result<Value, String> {
        let wrong = || format!("`{}` has to be {}", self.name, self.kind.words());
        self.kind.value(words).filter(|value| self.kind.fits(value)).ok_or_else(wrong)
    }
}

impl FieldKind {
    fn read(schema: &Value) -> Option<Self> {
        let whole = |key: &str| schema[key].as_u64();
        let number = |key: &str| schema[key].as_f64();
        let choice = |of: &Value, several| {
            let values = choices(of)?;
            Some(Self::Choice { values, several })
        };
        match schema["type"].as_str()? {
            "string" if schema.get("enum").or(schema.get("oneOf")).is_some() => {
                choice(schema, None)
            }
            "string" => {
                let (least, most) = (whole("minLength"), whole("maxLength"));
                Some(Self::Text { least: least.unwrap_or(0), most: most.unwrap_or(u64::MAX) })
            }
            kind @ ("number" | "integer") => Some(Self::Number {
                is_whole: kind == "integer",
                least: number("minimum").unwrap_or(f64::MIN),
                most: number("maximum").unwrap_or(f64::MAX),
            }),
            "boolean" => Some(Self::Flag),
            "array" => {
                let (least, most) = (whole("minItems"), whole("maxItems"));
                choice(&schema["items"], Some((least.unwrap_or(0), most.unwrap_or(u64::MAX))))
            }
            _ => None,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Text { .. } => "a text".to_owned(),
            Self::Number { is_whole: true, .. } => "a whole number".to_owned(),
            Self::Number { .. } => "a number".to_owned(),
            Self::Flag => "yes or no".to_owned(),
            Self::Choice { values, several } => {
                let names = values.iter().map(|(value, title)| {
                    if title == value { value.clone() } else { format!("{value} ({title})") }
                });
                let names = names.collect::<Vec<_>>().join(", ");
                let how = if several.is_some() { "some" } else { "one" };
                format!("{how} of {names}")
            }
        }
    }

    fn value(&self, words: &str) -> Option<Value> {
        let words = words.trim();
        match self {
            Self::Text { .. } => Some(words.into()),
            Self::Number { is_whole: true, .. } => words.parse::<i64>().ok().map(Value::from),
            Self::Number { .. } => words.parse::<f64>().ok().map(Value::from),
            Self::Flag => match words.to_lowercase().as_str() {
                "yes" | "y" | "true" => Some(true.into()),
                "no" | "n" | "false" => Some(false.into()),
                _ => None,
            },
            Self::Choice { values, several } => {
                let one = |words: &str| {
                    let words = words.trim();
                    let is_it = |name: &str| name.to_lowercase() == words.to_lowercase();
                    let found =
                        values.iter().find(|(value, title)| is_it(value) || is_it(title))?;
                    Some(Value::from(found.0.as_str()))
                };
                match several {
                    None => one(words),
                    Some(_) => {
                        words.split(',').map(one).collect::<Option<Vec<_>>>().map(Value::from)
                    }
                }
            }
        }
    }

    fn fits(&self, value: &Value) -> bool {
        let is_one = |values: &[(String, String)], value: &Value| {
            values.iter().any(|(known, _)| value == known.as_str())
        };
        match self {
            Self::Text { least, most } => value.as_str().is_some_and(|text| {
                let length = text.chars().count() as u64;
                (*least..=*most).contains(&length)
            }),
            Self::Number { is_whole, least, most } => {
                let is_number = !*is_whole || value.is_i64() || value.is_u64();
                is_number && value.as_f64().is_some_and(|number| (*least..=*most).contains(&number))
            }
            Self::Flag => value.is_boolean(),
            Self::Choice { values, several: None } => is_one(values, value),
            Self::Choice { values, several: Some((least, most)) } => {
                value.as_array().is_some_and(|items| {
                    (*least..=*most).contains(&(items.len() as u64))
                        && items.iter().all(|item| is_one(values, item))
                })
            }
        }
    }
}

/// The values of an enumeration, each with its title.
fn choices(schema: &Value) -> Option<Vec<(String, String)>> {
    let titled = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    let all: Option<Vec<_>> = match (schema["enum"].as_array(), titled) {
        (Some(plain), _) => {
            let names = schema["enumNames"].as_array();
            let one = |(at, value): (usize, &Value)| {
                let title = names.and_then(|names| names.get(at)).unwrap_or(value);
                Some((value.as_str()?.to_owned(), label(title, MAX_LABEL)))
            };
            plain.iter().enumerate().map(one).collect()
        }
        (None, Some(titled)) => {
            let one = |one: &Value| {
                Some((one["const"].as_str()?.to_owned(), label(&one["title"], MAX_LABEL)))
            };
            titled.iter().map(one).collect()
        }
        (None, None) => None,
    };
    // A value is shown exactly as it is sent, so it must contain no control characters.
    let is_plain = |(value, _): &(String, String)| visible(&cleared(value).0) == *value;
    all.filter(|all| (1..=MAX_CHOICES).contains(&all.len()) && all.iter().all(is_plain))
}

/// The values of a form: what the words say, and the defaults for the rest.
pub(super) fn content(fields: &[Field], words: &str) -> Result<Map<String, Value>, String> {
    let mut content = Map::new();
    match (fields, words) {
        (_, "") => {}
        (_, json) if json.starts_with('{') => {
            let given: Map<String, Value> =
                serde_json::from_str(json).map_err(|_| "it is not JSON".to_owned())?;
            for (name, value) in given {
                let field = fields.iter().find(|field| field.name == name);
                let field = field.ok_or_else(|| format!("there is no `{}`", visible(&name)))?;
                if !field.kind.fits(&value) {
                    return Err(format!("`{name}` has to be {}", field.kind.words()));
                }
                content.insert(name, value);
            }
        }
        ([one], words) => {
            content.insert(one.name.clone(), one.value(words)?);
        }
        (fields, words) => {
            for part in words.split(';').filter(|part| !part.trim().is_empty()) {
                let (name, value) = part.split_once(':').unwrap_or((part, ""));
                let field = fields.iter().find(|field| field.name == name.trim());
                let field =
                    field.ok_or_else(|| format!("there is no `{}`", visible(name.trim())))?;
                content.insert(field.name.clone(), field.value(value)?);
            }
        }
    }
    for field in fields {
        let given = content.contains_key(&field.name);
        match &field.default {
            _ if given => {}
            Some(default) => _ = content.insert(field.name.clone(), default.clone()),
            None if field.is_required => return Err(format!("`{}` is missing", field.name)),
            None => {}
        }
    }
    Ok(content)
}
