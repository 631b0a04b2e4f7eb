//! Tools of third-party servers for the model: each by its name, or all through two tools if there
//! are many.

use serde_json::{Value, json};

use super::call_result::CallResult;
use crate::llm::{ToolArgs, ToolCall, ToolSpec};
use crate::tools::{Definition, Registry};

/// Beyond this many tools, or bytes of definitions, they are offered through two tools, since each
/// definition is part of every request.
const MAX_TOOLS: usize = 24;
const MAX_BYTES: usize = 16 << 10;

/// The most tools that a search finds.
const MAX_FOUND: usize = 8;

/// Searches foreign tools.
const FIND: &str = "find_tools";

pub const CALL: &str = "call_tool";

pub fn specs(tools: &Registry) -> Vec<ToolSpec> {
    let external = tools.iter().filter(|tool| tool.is_external);
    let (foreign, own): (Vec<_>, Vec<_>) = external.partition(|tool| tool.foreign.is_some());
    let all: Vec<ToolSpec> = foreign.iter().map(|tool| spec(tool)).collect();
    let own = own.into_iter().map(spec);
    let bytes: usize = all.iter().map(size).sum();
    if all.len() <= MAX_TOOLS && bytes <= MAX_BYTES {
        return all.into_iter().chain(own).collect();
    }
    let mut servers: Vec<&str> =
        foreign.iter().filter_map(|tool| Some(&*tool.foreign.as_ref()?.server)).collect();
    servers.dedup();
    [find(all.len(), &servers), call()].into_iter().chain(own).collect()
}

/// A tool for a model. The schema repeats the tool's description.
pub fn spec(tool: &Definition) -> ToolSpec {
    let mut schema = tool.input_schema.clone();
    if let Some(object) = schema.as_object_mut() {
        object.remove("description");
    }
    ToolSpec { name: tool.name.clone(), description: tool.description.clone(), schema }
}

/// The actual call: that of the foreign tool if it was made through one of the two tools.
///
/// # Errors
/// The result, if no tool has to be called.
pub fn read(call: ToolCall, tools: &Registry) -> Result<ToolCall, Box<CallResult>> {
    let ToolArgs::Object(arguments) = &call.args else { return Ok(call) };
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    match call.name.as_str() {
        FIND => Err(Box::new(search_tools(text("query"), tools))),
        CALL => {
            let name = text("name");
            if !tools.get(name).is_some_and(|tool| tool.is_external) {
                let why = format!("there is no such tool `{name}`; find_tools finds their names");
                return Err(Box::new(CallResult::error(why)));
            }
            let args = match arguments.get("arguments") {
                Some(Value::Object(arguments)) => arguments.clone(),
                None | Some(Value::Null) => serde_json::Map::new(),
                Some(_) => {
                    let why = "`arguments` must be an object: the arguments of the tool";
                    return Err(Box::new(CallResult::error(why)));
                }
            };
            Ok(ToolCall { name: name.to_owned(), args: ToolArgs::Object(args), ..call })
        }
        _ => Ok(call),
    }
}

fn size(spec: &ToolSpec) -> usize {
    spec.description.len() + spec.schema.to_string().len()
}

fn find(count: usize, servers: &[&str]) -> ToolSpec {
    ToolSpec {
        name: FIND.to_owned(),
        description: format!(
            "Finds tools among the {count} of these servers, which are not the steward's: {}. Answers their names, what \
             their authors say of them, and the schemas of their arguments; call_tool calls one.",
            servers.join(", ")
        ),
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "properties": { "query": {
                "type": "string",
                "description": "Words of what the tool should do, or of its name.",
            }},
            "required": ["query"],
        }),
    }
}

fn call() -> ToolSpec {
    ToolSpec {
        name: CALL.to_owned(),
        description: "Calls a tool that find_tools has found. The user may be asked first."
            .to_owned(),
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "name": { "type": "string", "description": "Its name." },
                "arguments": { "type": "object", "description": "Its arguments, by its schema." },
            },
            "required": ["name", "arguments"],
        }),
    }
}

/// The tools that contain the most words of the query.
fn search_tools(query: &str, tools: &Registry) -> CallResult {
    let query = query.to_lowercase();
    let words: Vec<&str> = query.split(|c: char| !c.is_alphanumeric()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| word.len() > 1).collect();
    let hits = |tool: &Definition| {
        let name = tool.name.to_lowercase();
        let text = format!("{} {}", tool.title, *tool.description).to_lowercase();
        let points =
            |word: &&str| 3 * usize::from(name.contains(word)) + usize::from(text.contains(word));
        words.iter().map(points).sum::<usize>()
    };
    let foreign = tools.iter().filter(|tool| tool.foreign.is_some());
    let mut ranked: Vec<(usize, &Definition)> =
        foreign.map(|tool| (hits(tool), tool)).filter(|(points, _)| *points > 0).collect();
    ranked.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.name.cmp(&other.name)));
    let shown: Vec<Value> = ranked
        .iter()
        .take(MAX_FOUND)
        .map(|(_, tool)| {
            let ToolSpec { name, description, schema } = spec(tool);
            json!({ "name": name, "description": description, "arguments": schema })
        })
        .collect();
    if shown.is_empty() {
        let servers = tools.iter().filter_map(|tool| Some(&*tool.foreign.as_ref()?.server));
        let mut servers: Vec<&str> = servers.collect();
        servers.dedup();
        let text = format!("no tool has these words; there are tools of {}", servers.join(", "));
        return CallResult::done(text, json!({ "tools": [] }));
    }
    let lines: Vec<String> = shown.iter().map(Value::to_string).collect();
    CallResult::done(lines.join("\n"), json!({ "tools": shown }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{Answer, External, Facts, Foreign};

    fn registry(count: usize) -> Registry {
        let tools = (0..count).map(|number| {
            let what = if number % 2 == 0 { "weather" } else { "mail" };
            Definition::external(External {
                name: format!("s{}__{what}_{number:02}", number % 2),
                title: String::new(),
                description: format!("About the {what}"),
                schema: json!({ "type": "object", "description": "again" }),
                foreign: Some(Foreign {
                    server: format!("s{}", number % 2),
                    is_allowed: false,
                    reaches_out: false,
                }),
                run: Box::new(|_, _| Ok(Answer::new(String::new(), Facts::from(json!({}))))),
            })
        });
        let mut all = Registry::built_in().clone();
        tools.for_each(|tool| all.insert(tool));
        all
    }

    fn call_of(name: &str, args: Value) -> ToolCall {
        let args = ToolArgs::parse(&args.to_string());
        ToolCall { id: "1".to_owned(), name: name.to_owned(), args }
    }

    #[test]
    fn many_tools_are_found_and_called_through_two() {
        let few = specs(&registry(24));
        assert_eq!(few.len(), 24);
        assert_eq!(few[0].name, "s0__weather_00");
        assert!(few[0].schema.get("description").is_none());
        let many = registry(25);
        let names: Vec<String> = specs(&many).into_iter().map(|spec| spec.name).collect();
        assert_eq!(names, [FIND, CALL]);

        let found =
            *read(call_of(FIND, json!({ "query": "the mail, please" })), &many).unwrap_err();
        let tools = found.data["tools"].as_array().unwrap();
        assert_eq!(tools.len(), MAX_FOUND);
        assert!(tools[0]["name"].as_str().unwrap().starts_with("s1__mail"), "{tools:?}");
        let none = *read(call_of(FIND, json!({ "query": "xyzzy" })), &many).unwrap_err();
        assert!(none.text.contains("s0, s1"), "{}", none.text);

        let wanted = json!({ "name": "s1__mail_01", "arguments": { "a": 1 } });
        let meant = read(call_of(CALL, wanted), &many).unwrap();
        assert_eq!((meant.name.as_str(), meant.id.as_str()), ("s1__mail_01", "1"));
        assert!(matches!(&meant.args, ToolArgs::Object(args) if args["a"] == 1));
        // A built-in tool cannot be called this way.
        let wanted = json!({ "name": "read_file", "arguments": {} });
        assert!(read(call_of(CALL, wanted), &many).unwrap_err().is_error);
        let other = call_of("read_file", json!({ "path": "a" }));
        assert_eq!(read(other.clone(), &many).unwrap(), other);
    }
}
