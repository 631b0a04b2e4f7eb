//! No room above the tools decides anything by the name of a tool: each tool states its own
//! properties.

use std::fs;
use std::path::{Path, PathBuf};

use vault_steward::tools::Registry;

const ROOMS: [&str; 8] =
    ["agent", "calls", "cli", "config", "daemon", "methods", "server", "smarthole"];

/// Words that also name something else, with the files where they do.
const OTHERS: [(&str, &[&str]); 6] = [
    // Words for actions on files, of people and of the protocol.
    ("calls/call.rs", &["create_folder", "delete", "move", "restore"]),
    // The protocol's kinds of calls.
    ("methods/session_updates.rs", &["delete", "move"]),
    ("server/permission.rs", &["delete", "move"]),
    // A slash command for ACP clients.
    ("methods/prompt.rs", &["undo"]),
    // A slash command of the chat.
    ("cli/chat/commands.rs", &["undo"]),
    // Subcommands that are named like tools.
    ("cli/help.rs", &["copy", "delete", "move", "restore", "undo"]),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

#[test]
fn tool_names_occur_only_in_the_tools() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    ROOMS.iter().for_each(|room| sources(&src.join(room), &mut files));
    let mut faults = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let name = file.strip_prefix(&src).unwrap();
        for (at, line) in code.lines().enumerate() {
            let is_quoted = |tool: &str| line.contains(&format!("\"{tool}\""));
            let is_other = |tool: &str| {
                OTHERS.iter().any(|(place, words)| name.starts_with(place) && words.contains(&tool))
            };
            let tools = Registry::built_in().iter().map(|tool| &*tool.name);
            let named = tools.filter(|tool| is_quoted(tool) && !is_other(tool));
            let name = name.display();
            faults.extend(named.map(|tool| format!("src/{name}:{}: `{tool}`", at + 1)));
        }
    }
    assert!(files.len() > 150, "only {} files were looked at", files.len());
    assert!(faults.is_empty(), "a tool is known by its name:\n{}", faults.join("\n"));
}
