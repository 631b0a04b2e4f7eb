//! From the list of tools to what can be listed and called.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize as _, Serialize, Serializer};
use serde_json::{Value, json};

use super::context::Context;
use super::error::ToolError;
use super::facts::Facts;
use super::tool::{Answer, Tier, Tool};
use crate::edits::EditsError;
use crate::note::code::ErrorCode;

/// What is made of a tool's types when it is first asked for: to make it of all of them takes longer
/// than most commands, and than the first call of a daemon.
pub type Made<T> = LazyLock<T, fn() -> T>;

/// A tool as it is listed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// What callers call it.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// The manual.
    #[serde(serialize_with = "made")]
    pub description: Made<String>,
    /// How much it can do.
    pub tier: Tier,
    /// Whether a second call with the same input changes nothing more.
    pub idempotent: bool,
    /// Whether it may take long.
    pub heavy: bool,
    /// Whether it is tried at a glance first.
    pub quick: bool,
    /// Whether it is only there while Obsidian is connected.
    pub needs_host: bool,
    /// JSON Schema of its arguments.
    #[serde(serialize_with = "made")]
    pub input_schema: Made<Value>,
    /// JSON Schema of its answer's data.
    #[serde(serialize_with = "made")]
    pub output_schema: Made<Value>,
}

fn made<T: Serialize, S: Serializer>(value: &Made<T>, serializer: S) -> Result<S::Ok, S::Error> {
    (**value).serialize(serializer)
}

/// The tools that can be of use now: those that need Obsidian only while it is connected.
pub fn offered(context: &Context) -> impl Iterator<Item = &'static Definition> {
    let is_host_there = context.host.as_ref().is_some_and(|host| host.can_open());
    super::definitions().iter().filter(move |tool| is_host_there || !tool.needs_host)
}

/// Why a call gave no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// There is no such tool.
    #[error("there is no tool `{name}`")]
    UnknownTool {
        /// The name asked for.
        name: String,
        /// The nearest real one.
        near: Option<&'static str>,
    },
    /// The tool failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
}

pub(super) type Call = fn(&Context, &Value) -> Result<Answer<Facts>, ToolError>;

pub(super) fn definition<T: Tool>() -> Definition {
    Definition {
        name: T::NAME,
        title: T::TITLE,
        description: LazyLock::new(manual::<T>),
        tier: T::TIER,
        idempotent: T::IDEMPOTENT,
        heavy: T::HEAVY,
        quick: T::QUICK,
        needs_host: T::NEEDS_HOST,
        input_schema: LazyLock::new(schema_of_input::<T>),
        output_schema: LazyLock::new(schema_of_output::<T>),
    }
}

fn manual<T: Tool>() -> String {
    schema_of_input::<T>()["description"].as_str().unwrap_or_default().to_owned()
}

fn schema_of_input<T: Tool>() -> Value {
    schema_of::<T::Input>(without_null)
}

fn schema_of_output<T: Tool>() -> Value {
    schema_of::<T::Output>(plain)
}

/// A schema with everything in one place, since models read references badly, and without formats
/// such as `uint64` that checkers of JSON Schema do not know.
fn schema_of<T: JsonSchema>(transform: fn(&mut Schema)) -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.transforms.push(Box::new(schemars::transform::RecursiveTransform(transform)));
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        object.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

fn plain(schema: &mut Schema) {
    schema.remove("format");
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        // Doc comments are wrapped for reading code; a paragraph is one line on the wire.
        let paragraphs: Vec<String> =
            description.split("\n\n").map(|text| text.replace('\n', " ")).collect();
        schema.insert("description".to_owned(), paragraphs.join("\n\n").into());
    }
}

/// An optional argument is simply left out; `null` beside its type only confuses models.
fn without_null(schema: &mut Schema) {
    plain(schema);
    let types = schema.get("type").and_then(Value::as_array).cloned();
    if let Some(types) = types {
        let rest: Vec<Value> = types.into_iter().filter(|kind| kind != "null").collect();
        if let [only] = &rest[..] {
            schema.insert("type".to_owned(), only.clone());
        }
    }
    let one_of = schema.get("anyOf").and_then(Value::as_array).cloned();
    if let Some(options) = one_of {
        let rest: Vec<&Value> = options.iter().filter(|option| option["type"] != "null").collect();
        if let ([Value::Object(only)], 2) = (&rest[..], options.len()) {
            schema.remove("anyOf");
            for (key, value) in only {
                if schema.get(key).is_none() {
                    schema.insert(key.clone(), value.clone());
                }
            }
        }
    }
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
}

/// The arguments with whole numbers written as such; `None` where they were.
fn whole(input: &Value) -> Option<Value> {
    /// Numbers from here on are not told apart by a float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    fn write(value: &mut Value) -> bool {
        match value {
            Value::Number(number) => {
                let float = number.as_f64().filter(|float| number.is_f64() && float.abs() < EXACT);
                let Some(float) = float.filter(|float| float.fract() == 0.0) else { return false };
                // Checked just now: it has no fraction, and fits.
                #[expect(clippy::cast_possible_truncation)]
                let whole = float as i64;
                *value = whole.into();
                true
            }
            Value::Array(items) => {
                items.iter_mut().filter_map(|one| write(one).then_some(())).count() > 0
            }
            Value::Object(fields) => {
                fields.values_mut().filter_map(|one| write(one).then_some(())).count() > 0
            }
            _ => false,
        }
    }
    let mut input = input.clone();
    write(&mut input).then_some(input)
}

pub(super) fn call<T: Tool>(context: &Context, input: &Value) -> Result<Answer<Facts>, ToolError> {
    let read = if input.is_null() {
        T::Input::deserialize(json!({}))
    } else {
        // Whole numbers may come as `3.0`, which JSON Schema calls an integer, too.
        T::Input::deserialize(input).or_else(|error| match whole(input) {
            Some(input) => T::Input::deserialize(&input),
            None => Err(error),
        })
    };
    let input = read.map_err(|error| ToolError {
        code: ErrorCode::InvalidInput,
        message: format!("the arguments of `{}` do not fit: {error}", T::NAME),
        hint: Some("see its input schema in tools/list, or `steward tools --json`".to_owned()),
        data: None,
    })?;
    if context.cancel.is_cancelled() {
        return Err(cancelled());
    }
    let answer = catch_unwind(AssertUnwindSafe(|| T::run(context, input)));
    let answer = answer.unwrap_or_else(|_| {
        Err(ToolError::new(
            ErrorCode::IoError,
            format!("`{}` failed by a fault of its own; nothing else is affected", T::NAME),
            "please report it, with the log",
        ))
    })?;
    let data = Facts::of(&answer.data).map_err(|error| ToolError {
        code: ErrorCode::IoError,
        message: format!("the answer of `{}` could not be written as JSON: {error}", T::NAME),
        hint: None,
        data: None,
    })?;
    Ok(Answer { text: answer.text, data })
}

/// The answer to a caller that withdrew.
pub(super) fn cancelled() -> ToolError {
    EditsError::Withdrawn.into()
}

/// Makes `definitions` and `call` from the list of tools. That names are in order and unique is a
/// test's business.
macro_rules! tools {
    ($($tool:path),+ $(,)?) => {
        use $crate::tools::registry as made;

        static CALLS: &[(&str, made::Call)] =
            &[$((<$tool as Tool>::NAME, made::call::<$tool>)),+];

        /// All tools, sorted by name.
        pub fn definitions() -> &'static [Definition] {
            static ALL: std::sync::OnceLock<Vec<Definition>> = std::sync::OnceLock::new();
            ALL.get_or_init(|| vec![$(made::definition::<$tool>()),+])
        }

        /// Calls a tool with its arguments as JSON.
        ///
        /// # Errors
        /// [`CallError::UnknownTool`], or the tool's own failure.
        pub fn call(
            context: &Context,
            name: &str,
            arguments: &serde_json::Value,
        ) -> Result<Answer<Facts>, CallError> {
            match CALLS.iter().find(|(known, _)| *known == name) {
                Some((_, call)) => Ok(call(context, arguments)?),
                None => {
                    let likeness = |known: &&str| strsim::jaro_winkler(known, name);
                    let near = CALLS
                        .iter()
                        .map(|(known, _)| *known)
                        .filter(|known| likeness(known) > 0.8)
                        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
                    Err(CallError::UnknownTool { name: name.to_owned(), near })
                }
            }
        }
    };
}
pub(super) use tools;

#[cfg(test)]
mod tests {
    use crate::tools::definitions;

    #[test]
    fn names_are_in_order_and_unique_and_every_tool_is_explained() {
        let names: Vec<_> = definitions().iter().map(|tool| tool.name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(names, sorted);
        for tool in definitions() {
            assert!(tool.description.len() > 40, "{} has no manual", tool.name);
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert_eq!(tool.input_schema["additionalProperties"], false, "{}", tool.name);
            let properties = tool.input_schema["properties"].as_object().expect("an object");
            for (name, schema) in properties {
                assert!(schema["description"].is_string(), "{}.{name} is not explained", tool.name);
            }
        }
    }
}
