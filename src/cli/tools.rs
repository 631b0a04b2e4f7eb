//! `steward tools`: lists the tools.

use serde_json::{Value, json};

use super::{Output, Result};
use crate::tools::Registry;

/// Prints the tools, or with `--json` their MCP definitions.
pub fn run(output: &Output) -> Result<()> {
    let tools = Registry::built_in();
    let value = json!({ "tools": tools.iter().collect::<Vec<_>>() });
    let mut rows = vec![["TOOL", "TIER", "WHAT IT DOES"].map(str::to_owned).to_vec()];
    for tool in tools.iter() {
        let tier = serde_json::to_value(tool.tier).ok();
        let tier = tier.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        rows.push(vec![tool.name.clone(), tier, tool.title.clone()]);
    }
    output.answer(&value, output.table(&rows))
}
