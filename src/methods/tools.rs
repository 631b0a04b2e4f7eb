//! The tools, as clients list them.

use crate::calls::Calls;
use crate::protocol::tools::{Tool, ToolAnnotations, ToolsListResult};
use crate::tools::{Definition, Tier};

/// Those that are offered, sorted by name.
pub fn list(calls: &Calls) -> ToolsListResult {
    ToolsListResult { tools: calls.tools().offered(calls.context()).map(shown).collect() }
}

fn shown(tool: &Definition) -> Tool {
    Tool {
        name: tool.name.clone(),
        title: tool.title.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
        output_schema: tool.output_schema.clone(),
        annotations: ToolAnnotations {
            title: tool.title.clone(),
            read_only_hint: tool.tier == Tier::Safe,
            destructive_hint: tool.tier != Tier::Safe,
            idempotent_hint: tool.idempotent,
            open_world_hint: false,
        },
    }
}
