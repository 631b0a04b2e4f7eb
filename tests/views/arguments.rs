//! Calls of a tool, generated from its input schema: a new tool, or a new argument, is tested without a line here.

use serde_json::{Map, Value, json};
use vault_steward::tools::{Definition, Names};

/// Existing names, hidden names, near misses, and a missing one.
pub const PATHS: &[&str] = &[
    "Open",
    "Open/Sub",
    "",
    "Open/a.md",
    "a",
    "c",
    "Open/links.md",
    "Open/twin.md",
    "twin",
    // As people say them; a hidden note has the second one as an alias.
    "open slash links dot md",
    "alone",
    "the twins",
    "Open/board.canvas",
    "Open/way.md",
    // Hidden paths.
    "Zzmark Closed",
    "Zzmark Closed/Zzmark deep",
    "Zzmark Closed/Zzmark plan.md",
    "Zzmark plan",
    "zzmark PLAN.md",
    "Zzmark deep/Zzmark two",
    "Zzmark pla",
    "Zzmark nickname",
    "Zzmark root",
    "Zzmark Closed/twin.md",
    "Zzmark Closed/Zzmark plan/below.md",
    "Zzmark picture.png",
    "Zzmark Closed/Zzmark base.base",
    "Zzmark Closed/Zzmark gone.md",
    "Shade/shadow.md",
    "shadow",
    "Shade",
    "Open/../Shade/shadow.md",
    // Missing paths.
    "Zzmark Closed/Zzmark none.md",
    "Zzmark nobody",
    "Shade/nobody.md",
];

/// Conditions that would reveal hidden files, by properties, tags, links and folders.
const CONDITIONS: &[&str] = &[
    "true",
    "zzmarkprop == \"zzmarkvalue\"",
    "zzmarknone == 1 || kind == \"bed\"",
    "file.hasTag(\"zzmarktag\", \"garden\")",
    "file.backlinks.length > 0",
    "file.links.filter(value.asFile()).length > 0",
    "file.hasLink(\"Zzmark plan\") || file.hasLink(\"shadow\") || file.hasLink(\"alone\")",
    "file.inFolder(\"Zzmark Closed\") || file.inFolder(\"Open\")",
    "file(\"Zzmark plan\") || link(\"shadow\").asFile()",
    "file.name.contains(1)",
    "zzmark ==",
    // Near misses for which hints could name the right one.
    "zzmarkpro == 1 || knd == \"bed\"",
    "file.hasTag(\"zzmarkta\") || file.hasTag(\"gardn\")",
    "this.file.backlinks.length > 0 || this.zzmarkprop",
    "file.links.contains(link(\"Zzmark picture.png\")) || file.properties.keys().length > 1",
];

fn strings(tool: &Definition, name: &str, schema: &Value, example: Option<&Value>) -> Vec<Value> {
    let touched = tool.touches.iter().find(|(argument, _)| argument == name).map(|one| one.1);
    let texts: Vec<&str> = match touched {
        _ if name == "where" => CONDITIONS.to_vec(),
        Some(Names::Path) => PATHS.to_vec(),
        Some(Names::Pattern) => {
            vec!["*", "**/*", "*zzmark*", "Zzmark Closed/**", "one", "zzmark", "garden|zzmarktext"]
        }
        Some(Names::Tag) => vec!["garden", "zzmarktag", "zzmarknone"],
        Some(Names::Trashed) => {
            vec!["deleted", "Zzmark gone", "Zzmark Closed/Zzmark gone.md", "Zzmark gon"]
        }
        None => match name {
            // The destination of a restored or moved file, and names that distinguish.
            "to" => vec!["Open/Back.md", "Zzmark Closed/Zzmark plan.md", "Zzmark Closed/none.md"],
            "since" => vec!["2h", "today"],
            "change" => vec!["1.1", "2.1", "3.1", "9999.1"],
            "search" => vec!["zzmark", "hello"],
            _ => vec!["today", "zzmarktext"],
        },
    };
    // A tool that changes texts must not write the markers that are searched for in the output.
    let changes = tool.tier != vault_steward::tools::Tier::Safe;
    let mut texts: Vec<Value> = texts.into_iter().map(Value::from).collect();
    if changes && touched.is_none() && name != "to" && name != "change" {
        texts.retain(|text| !text.as_str().unwrap().contains("zzmark"));
        texts.extend(example.cloned());
    }
    if let Some(words) = schema["enum"].as_array() {
        texts = words.clone();
    }
    texts
}

/// Values to try for an argument.
fn values(tool: &Definition, name: &str, schema: &Value, example: Option<&Value>) -> Vec<Value> {
    let options = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    let constants: Vec<Value> = options
        .into_iter()
        .flatten()
        .filter_map(|one| one.get("const").or(one["enum"].get(0)).cloned())
        .collect();
    if !constants.is_empty() {
        return constants;
    }
    match schema["type"].as_str() {
        Some("string") => strings(tool, name, schema, example),
        Some("boolean") => vec![true.into(), false.into()],
        Some("integer" | "number") => [1, 2, 3, 500].map(Value::from).to_vec(),
        Some("array") if name == "select" => {
            vec![json!(["zzmarkprop", "kind", "file.backlinks", "file.links", "file.tags"])]
        }
        Some("array") if name == "sort" => vec![json!(["zzmarkprop"]), json!(["file.size desc"])],
        Some("array") => vec![json!(["zzmark*"]), json!(["Sub"])],
        _ => example.cloned().into_iter().collect(),
    }
}

/// The tool's own example, in the visible folder.
fn example(tool: &Definition) -> Map<String, Value> {
    let mut text = tool.example.clone();
    for name in ["a.md", "b.md", "c.md", "t.md", "deleted.md"] {
        for before in ["\"", "a/", "b/"] {
            text = text.replace(&format!("{before}{name}"), &format!("{before}Open/{name}"));
        }
    }
    let text = text.replace("\"New\"", "\"Open/New\"");
    serde_json::from_str(&text).unwrap()
}

/// Calls of a tool: its example, with each argument varied, and the paths together with each choice.
pub fn calls(tool: &Definition) -> Vec<Map<String, Value>> {
    let base = example(tool);
    let mut calls = vec![base.clone()];
    let mut add = |call: Map<String, Value>| {
        if !calls.contains(&call) {
            calls.push(call);
        }
    };
    let properties = tool.input_schema["properties"].as_object().unwrap();
    let tried: Vec<(&String, Vec<Value>)> = properties
        .iter()
        .map(|(name, schema)| (name, values(tool, name, schema, base.get(name))))
        .collect();
    for (name, values) in &tried {
        for value in values {
            // With the example's other arguments, and with only the required ones.
            let required = tool.input_schema["required"].as_array().cloned().unwrap_or_default();
            let least = base.iter().filter(|(key, _)| required.iter().any(|one| *one == **key));
            let least = least.map(|(key, value)| (key.clone(), value.clone())).collect();
            for mut call in [base.clone(), least] {
                call.insert((*name).clone(), value.clone());
                add(call);
            }
        }
    }
    let is_choice = |values: &[Value]| {
        values.len() <= 6 && values.iter().all(|value| value.is_boolean() || value.is_string())
    };
    let is_path = |name: &str| {
        tool.touches.iter().any(|(argument, names)| argument == name && *names == Names::Path)
    };
    for (path, paths) in tried.iter().filter(|(name, _)| is_path(name)) {
        for (choice, values) in
            tried.iter().filter(|(name, values)| !is_path(name) && is_choice(values))
        {
            for (place, value) in paths.iter().flat_map(|one| values.iter().map(move |v| (one, v)))
            {
                let mut call = base.clone();
                call.insert((*path).clone(), place.clone());
                call.insert((*choice).clone(), value.clone());
                add(call);
            }
        }
    }
    // A patch names its files in its text.
    for (name, text) in &base {
        let Some(text) = text.as_str().filter(|text| text.contains("+++ ")) else { continue };
        for path in PATHS.iter().filter(|path| !path.is_empty()) {
            let new = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+two\n");
            let gone = format!("--- a/{path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n");
            for text in [text.replace("Open/a.md", path), new, gone] {
                let mut call = base.clone();
                call.insert(name.clone(), text.into());
                add(call);
            }
        }
    }
    calls
}
