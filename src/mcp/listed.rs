//! The tools, as clients are shown them.

use serde_json::{Value, json};

use super::settings::Settings;
use crate::protocol::tools::ToolAnnotations;
use crate::tools::{Definition, Registry, Tier};

/// Characters of an answer that a client may show its model whole, of a tool with long answers.
const LONG_ANSWER: u32 = 120_000;

/// What a client may assume of a tool.
#[must_use]
pub fn annotations(tool: &Definition) -> ToolAnnotations {
    ToolAnnotations {
        title: tool.title.clone(),
        read_only_hint: tool.tier == Tier::Safe,
        destructive_hint: tool.tier != Tier::Safe,
        idempotent_hint: tool.idempotent,
        open_world_hint: false,
    }
}

/// The tool of this name, where clients may call it.
pub fn find<'a>(tools: &'a Registry, settings: &Settings, name: &str) -> Option<&'a Definition> {
    tools.get(name).map(AsRef::as_ref).filter(|tool| settings.offer(tool))
}

/// All that clients may call, sorted by name. The list is the same whatever is connected: clients keep
/// it, and models' caches with it.
#[must_use]
pub fn all(tools: &Registry, settings: &Settings) -> Vec<Value> {
    let all = tools.iter().filter(|tool| settings.offer(tool)).map(shown);
    #[cfg(feature = "conformance")]
    let all = all.chain(super::fixtures::tools());
    all.collect()
}

/// Without the schema of its answer: clients that see one show their model that in place of the text.
fn shown(tool: &Definition) -> Value {
    let mut schema = tool.input_schema.clone();
    // It stands beside the schema, and each byte is part of every conversation.
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("description");
    }
    if let Some((argument, word)) = tool.only_new {
        // As `calls` fills it in for these clients.
        schema["properties"][argument]["default"] = word.into();
    }
    let mut shown = json!({
        "name": tool.name,
        "title": tool.title,
        "description": *tool.description,
        "inputSchema": schema,
        "annotations": annotations(tool),
    });
    // It stands above already.
    if let Some(annotations) = shown["annotations"].as_object_mut() {
        annotations.remove("title");
    }
    if tool.long_answer {
        shown["_meta"] = json!({ "anthropic/maxResultSizeChars": LONG_ANSWER });
    }
    shown
}
