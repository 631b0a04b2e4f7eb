//! Lists the tools for clients.

use crate::calls::Calls;
use crate::mcp::tool_list::annotations;
use crate::protocol::tools::{Tool, ToolsListResult};
use crate::tools::Definition;

/// The offered tools, sorted by name.
pub fn list(calls: &Calls) -> ToolsListResult {
    ToolsListResult { tools: calls.tools().offered(calls.context()).map(tool_of).collect() }
}

fn tool_of(tool: &Definition) -> Tool {
    Tool {
        name: tool.name.clone(),
        title: tool.title.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
        output_schema: tool.output_schema.clone(),
        annotations: annotations(tool),
    }
}
