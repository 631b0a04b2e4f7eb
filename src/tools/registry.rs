//! The tools by name, made from the list of their types, to be listed and called.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::context::Context;
use super::departed;
use super::error::ToolError;
use super::facts::Facts;
use super::foreign::{External, Foreign, Run};
use super::tool::{Answer, Basis, Names, Tier, Tool, ToolKind, Touch};
use crate::note::code::ErrorCode;

/// A value created at its first use: creating the schemas of all tools takes longer than most
/// commands.
pub type Made<T> = LazyLock<T, Box<dyn FnOnce() -> T + Send>>;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    pub name: String,
    #[serde(skip)]
    pub other_names: &'static [&'static str],
    /// For people.
    pub title: String,
    #[serde(serialize_with = "made")]
    pub description: Made<String>,
    /// Its risk.
    pub tier: Tier,
    /// Whether a second call with the same input changes nothing more.
    pub idempotent: bool,
    /// Whether it may take long.
    pub heavy: bool,
    /// Whether to try it without blocking first.
    pub quick: bool,
    /// Whether it is available only while Obsidian is connected.
    pub needs_host: bool,
    /// Whether short lists omit it.
    #[serde(skip)]
    pub seldom: bool,
    /// Whether clients draw its answer's data.
    #[serde(skip)]
    pub drawn: bool,
    /// Whether its answer may quote any note.
    #[serde(skip)]
    pub quotes: bool,
    /// Whether its answer may fill many pages.
    #[serde(skip)]
    pub long_answer: bool,
    /// Whether it is not built in. MCP clients do not get it: they have their own servers.
    #[serde(skip)]
    pub is_external: bool,
    /// The server that it belongs to.
    #[serde(skip)]
    pub foreign: Option<Foreign>,
    /// The argument that makes it fail if the file exists, and its value.
    #[serde(skip)]
    pub only_new: Option<(&'static str, &'static str)>,
    #[serde(serialize_with = "made")]
    pub input_schema: Made<Value>,
    /// JSON Schema of its answer's data.
    #[serde(serialize_with = "made")]
    pub output_schema: Made<Value>,
    #[serde(skip)]
    pub kind: ToolKind,
    #[serde(skip)]
    pub touches: Vec<Touch>,
    /// The argument that, if true, makes the effect permanent.
    #[serde(skip)]
    pub permanent: Option<String>,
    /// Other names of arguments: the argument, and the other name.
    #[serde(skip)]
    pub aliases: &'static [(&'static str, &'static str)],
    /// A call of it as JSON, for tests.
    #[serde(skip)]
    pub example: String,
    #[serde(skip)]
    rests_on: fn(&Value) -> Option<Basis>,
    #[serde(skip)]
    run: Run,
}

fn made<T: Serialize, S: Serializer>(value: &Made<T>, serializer: S) -> Result<S::Ok, S::Error> {
    (**value).serialize(serializer)
}

debug_only!(Definition, name);

impl Definition {
    pub fn of<T: Tool + 'static>() -> Self {
        Self {
            name: T::NAME.to_owned(),
            other_names: T::OTHER_NAMES,
            title: T::TITLE.to_owned(),
            description: LazyLock::new(Box::new(manual::<T>)),
            tier: T::TIER,
            idempotent: T::IDEMPOTENT,
            heavy: T::HEAVY,
            quick: T::QUICK,
            seldom: T::SELDOM,
            drawn: T::DRAWN,
            quotes: T::QUOTES,
            long_answer: T::LONG_ANSWER,
            is_external: false,
            foreign: None,
            only_new: T::ONLY_NEW,
            needs_host: T::NEEDS_HOST,
            input_schema: LazyLock::new(Box::new(schema_of_input::<T>)),
            output_schema: LazyLock::new(Box::new(schema_of_output::<T>)),
            kind: T::KIND,
            touches: T::TOUCHES.to_vec(),
            permanent: T::PERMANENT.map(str::to_owned),
            aliases: T::ALIASES,
            example: T::EXAMPLE.to_owned(),
            rests_on: |arguments| parse::<T>(arguments).ok()?.rests_on(),
            run: Box::new(run::<T>),
        }
    }

    /// Creates a tool that is not built in. The effects of a server's tool are unknown.
    pub fn external(tool: External) -> Self {
        let External { name, title, description, schema, foreign, run } = tool;
        let tier = if foreign.is_some() { Tier::Unknown } else { Tier::Safe };
        Self {
            name,
            other_names: &[],
            title,
            description: LazyLock::new(Box::new(|| description)),
            tier,
            idempotent: foreign.is_none(),
            heavy: false,
            quick: false,
            seldom: true,
            drawn: false,
            quotes: false,
            long_answer: false,
            is_external: true,
            foreign,
            only_new: None,
            needs_host: false,
            input_schema: LazyLock::new(Box::new(|| schema)),
            output_schema: LazyLock::new(Box::new(|| json!({ "type": "object" }))),
            kind: ToolKind::Other,
            touches: Vec::new(),
            permanent: None,
            aliases: &[],
            example: String::new(),
            rests_on: |_| None,
            run,
        }
    }

    /// The files, folders and so on that these arguments name, most important first.
    pub fn touched<'a>(
        &self,
        arguments: &'a Map<String, Value>,
    ) -> impl Iterator<Item = (Names, &'a str)> {
        let text = |name: &str| arguments.get(name)?.as_str();
        self.touches.iter().filter_map(move |(argument, names)| Some((*names, text(argument)?)))
    }

    /// Renames arguments from known other names, and wraps a single text in a list where a list of
    /// texts is expected.
    pub fn name_arguments(&self, arguments: &mut Value) {
        if let Some(renamed) = by_own_names(self.aliases, arguments) {
            *arguments = renamed;
        }
        for (name, given) in arguments.as_object_mut().into_iter().flatten() {
            if !given.is_string() {
                continue;
            }
            let property_schema = &self.input_schema["properties"][name.as_str()];
            if property_schema["type"] == "array" && property_schema["items"]["type"] == "string" {
                *given = json!([given.take()]);
            }
        }
    }

    /// Unless these arguments decide it, makes the call leave an existing file alone.
    pub fn protect_existing(&self, arguments: &mut Value) {
        let is_blind =
            matches!(self.rests_on(arguments), Some(Basis::Text { is_only_new: false, .. }));
        if let (true, Some((argument, word)), Some(given)) =
            (is_blind, self.only_new, arguments.as_object_mut())
        {
            given.entry(argument).or_insert_with(|| word.into());
        }
    }

    /// The places of the vault and its trash that these arguments name.
    pub fn places<'a>(&self, arguments: &'a Value) -> impl Iterator<Item = &'a str> {
        let touched = arguments.as_object().into_iter().flat_map(|given| self.touched(given));
        touched.filter(|(names, _)| matches!(names, Names::Path | Names::Trashed)).map(|one| one.1)
    }

    /// Whether the effect of a call with these arguments is permanent.
    pub fn is_permanent(&self, arguments: &Value) -> bool {
        self.permanent.as_ref().is_some_and(|argument| arguments[argument] == true)
    }

    /// The state that a call with these arguments relies on without naming it; `None` if there is
    /// none, or the arguments are invalid.
    pub fn rests_on(&self, arguments: &Value) -> Option<Basis> {
        (self.rests_on)(arguments)
    }
}

/// Calls a tool with its arguments as JSON, bypassing policy and audit: only `calls` may do this.
pub fn call(
    tool: &Definition,
    context: &Context,
    arguments: &Value,
) -> Result<Answer<Facts>, ToolError> {
    let answer = catch_unwind(AssertUnwindSafe(|| {
        (tool.run)(context, arguments).map_err(|error| departed::explain(context, error))
    }));
    answer.unwrap_or_else(|_| {
        Err(ToolError::new(
            ErrorCode::IoError,
            format!("`{}` crashed; nothing else is affected", tool.name),
            "please report it, with the log",
        ))
    })
}

/// The tools in addition to the built-in ones.
pub trait ForeignTools: fmt::Debug + Send + Sync {
    /// All of them, if they may have changed since the last call. Quick, but reads the disk.
    fn renewed(&self) -> Option<Vec<Definition>>;
}

/// Other programs' names of similar tools, with ours. They are only suggested, since their
/// arguments differ.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (&["grep", "rg", "grep_search", "search_text"], "search_files"),
    (&["glob", "ls", "list_dir", "list_directory", "find_files"], "list_files"),
    (&["cat", "view", "file_read", "get_file", "get_note", "read_note"], "read_file"),
    (&["create_file", "file_write", "create_note", "save_file"], "write_file"),
    (&["file_edit", "str_replace", "insert_at_line", "append_to_file"], "edit_file"),
    (&["rm", "remove", "delete_file", "file_delete", "delete_note"], "delete"),
    (&["mv", "rename", "rename_file", "move_file", "file_move"], "move"),
    (&["cp", "copy_file"], "copy"),
    (&["mkdir", "create_directory"], "create_folder"),
    (&["vault_info", "vault_stats", "get_project_root"], "describe_vault"),
    (&["semantic_search", "query_semantic_index", "search_vault"], "search_notes"),
    (&["get_backlinks"], "get_links"),
];

/// Tools by name. They can be added and removed; a call in progress keeps a removed one.
#[derive(Debug, Clone, Default)]
pub struct Registry(BTreeMap<String, Arc<Definition>>);

impl Registry {
    /// The tool with this name or alias.
    pub fn get(&self, name: &str) -> Option<&Arc<Definition>> {
        let other = || self.0.values().find(|tool| tool.other_names.contains(&name));
        self.0.get(name).or_else(other)
    }

    /// As [`Self::get`], or an error for the caller that names the nearest tool.
    pub fn find(&self, name: &str) -> Result<&Arc<Definition>, ToolError> {
        self.get(name).ok_or_else(|| {
            let likeness = |known: &&str| strsim::jaro_winkler(known, name);
            let names = self.0.keys().map(String::as_str);
            let alike = names.filter(|known| likeness(known) > 0.8);
            let near = || alike.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
            let near = self.known_elsewhere_as(name).or_else(near);
            ToolError {
                hint: near.map(|name| format!("did you mean `{name}`?")),
                ..ToolError::plain(ErrorCode::NotFound, format!("there is no tool `{name}`"))
            }
        })
    }

    /// The tool that other programs call `name`.
    pub fn known_elsewhere_as(&self, name: &str) -> Option<&'static str> {
        let (_, tool) = ELSEWHERE.iter().find(|(names, _)| names.contains(&name))?;
        self.0.contains_key(*tool).then_some(*tool)
    }

    /// All tools, sorted by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Definition> {
        self.0.values().map(Arc::as_ref)
    }

    /// The tools available now: those that need Obsidian only while it is connected.
    pub fn offered(&self, context: &Context) -> impl Iterator<Item = &Definition> {
        let is_host_there = context.host.as_ref().is_some_and(|host| host.can_open());
        self.iter().filter(move |tool| is_host_there || !tool.needs_host)
    }

    /// Adds a tool; replaces one of the same name.
    pub fn insert(&mut self, tool: Definition) {
        self.0.insert(tool.name.clone(), Arc::new(tool));
    }
}

impl FromIterator<Definition> for Registry {
    fn from_iter<I: IntoIterator<Item = Definition>>(tools: I) -> Self {
        Self(tools.into_iter().map(|tool| (tool.name.clone(), Arc::new(tool))).collect())
    }
}

fn manual<T: Tool>() -> String {
    schema_of_input::<T>()["description"].as_str().unwrap_or_default().to_owned()
}

fn schema_of_input<T: Tool>() -> Value {
    schema_of::<T>(without_null)
}

fn schema_of_output<T: Tool>() -> Value {
    schema_of::<T::Output>(plain)
}

/// A schema without references, which models handle badly, and without formats such as `uint64`
/// that JSON Schema validators do not know.
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

/// Optional arguments are omitted; `null` as a second type only confuses models.
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

/// The arguments with whole numbers as integers; `None` if they already were.
fn with_integers(input: &Value) -> Option<Value> {
    /// From here on, a float cannot represent every whole number.
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

/// The arguments by the tool's own names; `None` if they already were.
fn by_own_names(aliases: &[(&str, &str)], arguments: &Value) -> Option<Value> {
    let given = arguments.as_object()?;
    let meant =
        |(own, other): &&(&str, &str)| given.contains_key(*other) && !given.contains_key(*own);
    let aliases: Vec<_> = aliases.iter().filter(meant).collect();
    let mut renamed = (!aliases.is_empty()).then(|| given.clone())?;
    for (own, other) in aliases {
        let value = renamed.remove(*other).unwrap_or_default();
        renamed.insert((*own).to_owned(), value);
    }
    Some(Value::Object(renamed))
}

fn parse<T: Tool>(arguments: &Value) -> Result<T, serde_json::Error> {
    if arguments.is_null() {
        return T::deserialize(json!({}));
    }
    let renamed = by_own_names(T::ALIASES, arguments);
    let arguments = renamed.as_ref().unwrap_or(arguments);
    // Whole numbers may come as `3.0`, which JSON Schema calls an integer, too.
    T::deserialize(arguments).or_else(|error| match with_integers(arguments) {
        Some(arguments) => T::deserialize(&arguments),
        None => Err(error),
    })
}

fn run<T: Tool>(context: &Context, arguments: &Value) -> Result<Answer<Facts>, ToolError> {
    let tool = parse::<T>(arguments).map_err(|error| {
        let message = format!("the arguments of `{}` do not fit: {error}", T::NAME);
        ToolError::invalid(message, "correct that argument")
    })?;
    context.check_cancelled()?;
    let answer = tool.run(context)?;
    let data = Facts::of(&answer.data).map_err(|error| {
        let message = format!("the answer of `{}` could not be written as JSON: {error}", T::NAME);
        ToolError::plain(ErrorCode::IoError, message)
    })?;
    Ok(Answer {
        data,
        read_updates: T::read_updates(&answer.data),
        text: answer.text,
        image: answer.image,
    })
}

/// Makes [`Registry::built_in`] from the list of tools.
macro_rules! tools {
    ($($tool:path),+ $(,)?) => {
        impl Registry {
            /// The program's own tools.
            pub fn built_in() -> &'static Self {
                static ALL: std::sync::LazyLock<Registry> = std::sync::LazyLock::new(|| {
                    [$(Definition::of::<$tool>()),+].into_iter().collect()
                });
                &ALL
            }
        }

        #[cfg(test)]
        const NAMES: &[&str] = &[$(<$tool as Tool>::NAME),+];
    };
}
pub(super) use tools;

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::Registry;
    use crate::tools::NAMES;

    #[test]
    fn names_are_in_order_and_unique_and_every_tool_is_explained() {
        let all = Registry::built_in();
        let names: Vec<_> = all.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, NAMES);
        for tool in all.iter() {
            let is_plain = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(tool.name.chars().all(is_plain), "{} is not in snake_case", tool.name);
            assert!(tool.description.len() > 40, "{} has no manual", tool.name);
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert_eq!(tool.input_schema["additionalProperties"], false, "{}", tool.name);
            let properties = tool.input_schema["properties"].as_object().expect("an object");
            for (name, schema) in properties {
                assert!(schema["description"].is_string(), "{}.{name} is not explained", tool.name);
            }
        }
    }

    #[test]
    fn a_tool_is_suggested_by_the_name_that_other_programs_give_it() {
        let all = Registry::built_in();
        for (names, tool) in super::ELSEWHERE {
            assert!(all.get(tool).is_some(), "there is no {tool}");
            for name in *names {
                assert!(all.get(name).is_none(), "{name} is ours");
                let hint = all.find(name).unwrap_err().hint;
                assert_eq!(hint, Some(format!("did you mean `{tool}`?")));
            }
        }
    }

    #[test]
    fn every_argument_that_names_a_place_is_declared() {
        for tool in Registry::built_in().iter() {
            let properties = tool.input_schema["properties"].as_object().expect("an object");
            for place in ["path", "source", "destination", "item", "pattern"] {
                let is_declared = tool.touches.iter().any(|(argument, _)| argument == place);
                let is_there = properties.contains_key(place);
                assert_eq!(is_declared, is_there, "{}.{place}", tool.name);
            }
            for (argument, _) in &tool.touches {
                assert!(properties.contains_key(&**argument), "{}.{argument}", tool.name);
            }
            let permanent = properties.contains_key("permanent").then_some("permanent");
            assert_eq!(tool.permanent.as_deref(), permanent, "{}", tool.name);
            let example: Value = serde_json::from_str(&tool.example).expect("JSON");
            assert!(example.is_object(), "{} has no example", tool.name);
        }
    }
}
