//! What `--json` prints, command by command: what a tool answers has names `like_this`, all else
//! `likeThis`, and nothing has both.

use serde_json::Value;

use crate::chat::{Place, WIRE};
use crate::script::says;
use crate::shape::COMMANDS;
use crate::support::finish;

/// Names below these are data: tools, their arguments, settings, values.
const DATA: [&str; 6] = ["inputSchema", "outputSchema", "calls", "settings", "value", "default"];

/// What they print is no JSON, is an entry for another program's settings, waits for ever, asks the system for a
/// service, or is a list of commands.
const OTHERS: [&[&str]; 31] = [
    &["serve"],
    &["completions"],
    &["man"],
    &["chat"],
    &["edit"],
    &["call", "read-file"],
    &["conversations"],
    &["inbox"],
    &["inbox", "show"],
    &["inbox", "retry"],
    &["inbox", "discard"],
    &["approvals"],
    &["approvals", "allow"],
    &["approvals", "deny"],
    &["approvals", "revoke"],
    &["plugin"],
    &["key"],
    &["key", "set"],
    &["config"],
    &["service"],
    &["mcp"],
    &["mcp", "config"],
    &["acp"],
    &["organize"],
    &["organize", "draft"],
    &["organize", "edit"],
    &["organize", "resume"],
    &["organize", "rules"],
    &["organize", "rules", "check"],
    &["organize", "why"],
    &["setup"],
];

const TOOLS: [&[&str]; 26] = [
    &["search", "salt"],
    &["find", "salt"],
    &["query", "file.name == \"Bread\""],
    &["read", "Recipes/Bread"],
    &["list"],
    &["tags"],
    &["daily"],
    &["new", "One", "- [ ] [[Two]] #tag 📅 2020-01-01"],
    &["links", "One"],
    &["names", "conventions"],
    &["names", "suggest", "One"],
    &["copy", "One", "Four"],
    &["organize", "plan", "tidy.yaml"],
    &["organize", "show", "1"],
    &["organize", "apply", "1", "--yes"],
    &["organize", "jobs"],
    &["organize", "undo", "1"],
    &["move", "One", "Three"],
    &["delete", "Three"],
    &["trash", "list"],
    &["restore", "Three"],
    &["log", "--diff"],
    &["undo"],
    &["call", "read_file", "Recipes/Bread"],
    &["call", "get_file_info", "/"],
    &["call"],
];

const COMMANDS_OF_OURS: [&[&str]; 40] = [
    &["today"],
    &["links", "check"],
    &["names", "check"],
    &["tools"],
    &["trash", "empty", "--yes"],
    &["journal", "verify"],
    &["journal", "gc", "--dry-run"],
    &["mode"],
    &["audit"],
    &["approvals", "list"],
    &["approvals", "pending"],
    &["conversations", "list"],
    &["conversations", "show", "1"],
    &["conversations", "search", "salt"],
    &["conversations", "export", "1"],
    &["conversations", "end"],
    &["conversations", "delete", "1", "--yes"],
    &["conversations", "clear", "--yes"],
    &["inbox", "list"],
    &["usage"],
    &["status"],
    &["status", "--all"],
    &["vaults"],
    &["doctor"],
    &["models"],
    &["key", "status", "work"],
    &["key", "remove", "work"],
    &["config", "init"],
    &["config", "path"],
    &["config", "check"],
    &["config", "list"],
    &["config", "get", "server.port"],
    &["config", "set", "server.max_in_flight", "16"],
    &["token"],
    &["pair"],
    &["open"],
    &["plugin", "install"],
    &["plugin", "update"],
    &["plugin", "status"],
    &["plugin", "remove"],
];

#[cfg(target_os = "linux")]
const SERVICE: [&[&str]; 3] = [
    &["service", "install", "--dry-run"],
    &["service", "uninstall", "--dry-run"],
    &["service", "status"],
];
#[cfg(not(target_os = "linux"))]
const SERVICE: [&[&str]; 0] = [];

/// The names of an answer that are not data.
fn names(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                found.push(name.clone());
                if !DATA.contains(&name.as_str()) || value.is_array() {
                    names(value, found);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, found)),
        _ => {}
    }
}

#[test]
fn names_are_written_in_one_way_by_each_command() {
    let place = Place::new(vec![says(WIRE, "Nine grams. More?")]);
    let run = |arguments: &[&str]| {
        let mut command = place.home.steward(&[arguments, &["--json"]].concat());
        command.current_dir(&place.vault).env("BROWSER", "true");
        finish(command)
    };
    run(&["chat", "how much salt?"]).expect(0);
    let rules = "rules: [{name: x, in: [Recipes], do: [{tag: [recipe]}]}]\n";
    std::fs::write(place.vault.join("tidy.yaml"), rules).unwrap();
    let tools = TOOLS.iter().map(|command| (command, '_'));
    let others = COMMANDS_OF_OURS.iter().chain(&SERVICE).map(|command| (command, 'A'));
    for (command, style) in tools.chain(others) {
        let answer = run(command);
        let json = answer.json();
        let mut found = Vec::new();
        names(&json, &mut found);
        assert!(!found.is_empty() || json == Value::Null, "{command:?}: {answer:?}");
        for name in found {
            let is_right = match style {
                '_' => !name.contains(|c: char| c.is_uppercase()),
                _ => !name.contains('_'),
            };
            assert!(is_right, "{command:?} prints `{name}`: {json:#}");
        }
    }
    let tried: Vec<&[&str]> =
        TOOLS.iter().chain(&COMMANDS_OF_OURS).chain(&SERVICE).chain(&OTHERS).copied().collect();
    for command in COMMANDS.iter().filter(|command| !command.is_empty()) {
        let is_tried = tried.iter().any(|one| one.starts_with(command));
        assert!(is_tried, "{command:?} stands in no list here");
    }
}
