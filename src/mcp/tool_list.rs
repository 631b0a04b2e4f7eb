//! The list of tools for clients.

use serde_json::{Value, json};

use super::settings::Settings;
use crate::protocol::tools::ToolAnnotations;
use crate::tools::{Definition, Registry, Tier};

/// The most characters that a client may show to its model unshortened, for tools with long answers.
const LONG_ANSWER: u32 = 120_000;

pub fn annotations(tool: &Definition) -> ToolAnnotations {
    ToolAnnotations {
        title: tool.title.clone(),
        read_only_hint: tool.tier == Tier::Safe,
        destructive_hint: tool.tier != Tier::Safe,
        idempotent_hint: tool.idempotent,
        open_world_hint: tool.is_external,
    }
}

/// The tool with this name, if clients may call it.
pub fn find<'a>(tools: &'a Registry, settings: &Settings, name: &str) -> Option<&'a Definition> {
    tools.get(name).map(AsRef::as_ref).filter(|tool| settings.offer(tool))
}

/// All tools for clients, sorted by name. The list does not depend on connected programs, since clients and the prompt
/// caches of models keep it.
pub fn all(tools: &Registry, settings: &Settings) -> Vec<Value> {
    let all = tools.iter().filter(|tool| settings.offer(tool)).map(tool_json);
    #[cfg(feature = "conformance")]
    let all = all.chain(super::fixtures::tools());
    all.collect()
}

/// Without an output schema: clients that get one show their model the structured result instead of the text.
fn tool_json(tool: &Definition) -> Value {
    let mut schema = tool.input_schema.clone();
    // The tool has it already, and each byte is part of every conversation.
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("description");
    }
    if let Some((argument, word)) = tool.only_new {
        // The default that `calls` uses for these clients.
        schema["properties"][argument]["default"] = word.into();
    }
    let mut shown = json!({
        "name": tool.name,
        "title": tool.title,
        "description": *tool.description,
        "inputSchema": schema,
        "annotations": annotations(tool),
    });
    // Already included above.
    if let Some(annotations) = shown["annotations"].as_object_mut() {
        annotations.remove("title");
    }
    if tool.long_answer {
        shown["_meta"] = json!({ "anthropic/maxResultSizeChars": LONG_ANSWER });
    }
    shown
}
