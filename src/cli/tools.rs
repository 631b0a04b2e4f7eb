//! `steward tools`: what can be called.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::failure::Failure;
use super::output::Output;
use crate::tools::definitions;

/// Prints the tools, or with `--json` their definitions as MCP has them.
///
/// # Errors
/// stdout cannot be written.
pub fn run(output: &Output) -> Result<ExitCode, Failure> {
    if output.json() {
        output.json_value(&json!({ "tools": definitions() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![["TOOL", "TIER", "WHAT IT DOES"].map(str::to_owned).to_vec()];
    for tool in definitions() {
        let tier = serde_json::to_value(tool.tier).ok();
        let tier = tier.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        rows.push(vec![tool.name.to_owned(), tier, tool.title.to_owned()]);
    }
    output.text(&output.table(&rows))?;
    Ok(ExitCode::SUCCESS)
}
