//! `steward tools`: what can be called.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::failure::Failure;
use super::output::Output;
use crate::tools::{Definition, definitions};

/// Prints the tools, or with `--json` their definitions as MCP has them.
///
/// # Errors
/// stdout cannot be written.
pub fn run(output: &Output) -> Result<ExitCode, Failure> {
    if output.json() {
        let tools: Vec<Value> = definitions().iter().map(as_json).collect();
        output.json_value(&json!({ "tools": tools }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![["TOOL", "TIER", "WHAT IT DOES"].map(str::to_owned).to_vec()];
    for tool in definitions() {
        let tier = serde_json::to_value(tool.tier).ok();
        let tier = tier.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        rows.push(vec![tool.name.to_string(), tier, tool.title.to_string()]);
    }
    output.text(&output.table(&rows))?;
    Ok(ExitCode::SUCCESS)
}

fn as_json(tool: &Definition) -> Value {
    json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "tier": tool.tier,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
    })
}
