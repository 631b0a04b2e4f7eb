//! The output of `--json`, command by command: a tool's answer has names `like_this`, other output
//! `likeThis`, and no output has both.

use std::collections::BTreeSet;

use serde_json::Value;
use vault_steward::store::Store;
use vault_steward::store::inbox::{NewMessage, VOICE};

use crate::chat::{Place, WIRE};
use crate::script::says;
use crate::support::finish;

/// Names below these are data: tools, their arguments and answers, settings, values.
const DATA: [&str; 10] = [
    "inputSchema",
    "outputSchema",
    "calls",
    "settings",
    "value",
    "default",
    "data",
    "input",
    "inputs",
    "plan",
];

/// Commands without JSON output, that print an entry for another program's settings, that never
/// end, whose output equals that of another command in these lists, or that need an installed
/// service.
const OTHERS: [&[&str]; 30] = [
    &["serve"],
    &["completions"],
    &["chat"],
    &["help"],
    &["conversations"],
    &["inbox"],
    &["approvals"],
    &["journal"],
    &["trash"],
    &["trash", "restore"],
    &["plugin"],
    &["key"],
    &["servers", "add"],
    &["servers", "allow"],
    &["servers", "import"],
    &["servers", "log"],
    &["servers", "login"],
    &["servers", "logout"],
    &["servers", "remove"],
    &["servers", "show"],
    &["conversations", "fork"],
    &["config"],
    &["service"],
    &["service", "restart"],
    &["mcp"],
    &["mcp", "config"],
    &["acp"],
    &["workflow"],
    &["organize"],
    &["organize", "rules"],
];

const TOOLS: [&[&str]; 30] = [
    &["search", "salt"],
    &["find", "salt"],
    &["query", "file.name == \"Bread\""],
    &["read", "Recipes/Bread"],
    &["list"],
    &["tags"],
    &["daily"],
    &["new", "One", "--", "- [ ] [[Two]] #tag 📅 2020-01-01"],
    &["links", "One"],
    &["names", "conventions"],
    &["names", "suggest", "One"],
    &["names", "rename", "One"],
    &["copy", "One", "Four"],
    &["edit", "Recipes/Soup"],
    &["organize", "plan", "tidy.yaml"],
    &["organize", "show", "1"],
    &["organize", "edit", "1", "--take-out", "1"],
    &["organize", "apply", "1", "--yes"],
    &["organize", "jobs"],
    &["organize", "resume", "1"],
    &["organize", "why", "Recipes/Soup"],
    &["organize", "undo", "1"],
    &["move", "One", "Three"],
    &["delete", "Three"],
    &["trash", "list"],
    &["restore", "Three"],
    &["log", "--diff"],
    &["undo"],
    &["call", "read_file", "Recipes/Bread"],
    &["call", "get_file_info", "/"],
];

const COMMANDS_OF_OURS: [&[&str]; 71] = [
    &["prompts", "list"],
    &["prompts", "show", "improve"],
    &["prompts", "add", "improve", "--yes"],
    &["today"],
    &["links", "check"],
    &["names", "check"],
    &["tools"],
    &["trash", "empty", "--yes"],
    &["journal", "verify"],
    &["journal", "gc", "--dry-run"],
    &["journal", "adopt"],
    &["mode"],
    &["audit"],
    &["approvals", "list"],
    &["approvals", "pending"],
    &["approvals", "allow", "9"],
    &["approvals", "deny", "9"],
    &["approvals", "revoke", "9"],
    &["organize", "draft", "tidy up"],
    &["organize", "rules", "check", "tidy.yaml"],
    &["organize", "rules", "enable", "often.yaml", "--yes"],
    &["organize", "rules", "list"],
    &["organize", "rules", "diff"],
    &["organize", "rules", "marks", "often"],
    &["organize", "rules", "disable", "often"],
    &["organize", "stop", "9"],
    &["workflow", "check", "flow.yaml"],
    &["workflow", "run", "flow.yaml", "--apply", "--yes"],
    &["workflow", "list"],
    &["workflow", "resume", "1"],
    &["setup", "--model", "work/m"],
    &["man", ".."],
    &["inbox", "list", "--all"],
    &["inbox", "show", "2"],
    &["inbox", "retry", "9"],
    &["inbox", "discard", "2"],
    &["conversations", "list"],
    &["conversations", "show", "1"],
    &["conversations", "search", "salt"],
    &["conversations", "export", "1"],
    &["conversations", "rename", "1", "Salt"],
    &["servers", "list"],
    &["conversations", "end"],
    &["conversations", "delete", "1", "--yes"],
    &["conversations", "clear", "--yes"],
    &["usage"],
    &["status"],
    &["status", "--all"],
    &["vaults"],
    &["doctor"],
    &["models", "list"],
    &["models", "add", "minilm", "--from", "nowhere", "--yes"],
    &["models", "remove", "minilm"],
    &["key", "status", "work"],
    &["key", "remove", "work"],
    &["key", "set", "work"],
    &["config", "init", "--config", "new.toml"],
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
    &["update"],
    &["uninstall", "--dry-run"],
];

/// Run on Linux alone: other systems would be asked for their own services.
const SERVICE: [&[&str]; 3] = [
    &["service", "install", "--dry-run"],
    &["service", "uninstall", "--dry-run"],
    &["service", "status"],
];

/// The model's answer to a question.
const WORDS: &str = "Nine grams. More?";

/// They have nothing to do: they print an error.
const FAILED: [&str; 10] = [
    "organize resume 1",
    "journal adopt",
    "approvals allow 9",
    "approvals deny 9",
    "approvals revoke 9",
    "organize stop 9",
    "workflow resume 1",
    "inbox retry 9",
    "models add minilm --from nowhere --yes",
    "key set work",
];

/// The names in an answer that are not data.
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

/// Every command of the program, by its man pages; the page of a tool is that of `call`.
fn commands(place: &Place) -> BTreeSet<String> {
    let folder = place.home.path("elsewhere/man");
    std::fs::create_dir(&folder).unwrap();
    place.home.run(&["man", folder.to_str().unwrap()]).expect(0);
    let pages = std::fs::read_dir(folder).unwrap();
    let names = pages.map(|page| page.unwrap().file_name().into_string().unwrap());
    let commands = names.filter_map(|name| {
        Some(name.strip_prefix("steward-")?.strip_suffix(".1")?.replace('-', " "))
    });
    commands.filter(|command| !command.starts_with("call ")).collect()
}

#[test]
fn names_are_written_in_one_way_by_each_command() {
    let rules = "rules: [{name: x, in: [Recipes], do: [{tag: [recipe]}]}]\n";
    let answers = [WORDS, rules, "Ready."].map(|words| says(WIRE, words));
    let place = Place::new(answers.into());
    let nothing = if cfg!(windows) { "cmd /c rem" } else { "true" };
    let run = |arguments: &[&str]| {
        let mut command = place.home.steward(&[&["--json"], arguments].concat());
        command.current_dir(&place.vault).env("BROWSER", nothing).env("EDITOR", nothing);
        finish(command)
    };
    run(&["chat", "how much salt?"]).expect(0);
    let spoken =
        NewMessage { source: VOICE, message: "m", text: "add milk", body: None, received: 1 };
    Store::at(&place.home.state()).inbox.receive(&spoken).unwrap();
    let often = rules.replace("name: x", "name: often, once: true, run: change");
    let flow =
        "id: flow\nsteps:\n  - {id: one, tool: read_file, input: {path: Recipes/Bread.md}}\n";
    for (name, text) in [("tidy.yaml", rules), ("often.yaml", &often), ("flow.yaml", flow)] {
        std::fs::write(place.vault.join(name), text).unwrap();
    }
    let tools = TOOLS.iter().map(|command| (command, '_'));
    let service = SERVICE.iter().filter(|_| cfg!(target_os = "linux"));
    let others = COMMANDS_OF_OURS.iter().chain(service).map(|command| (command, 'A'));
    let mut failed = Vec::new();
    for (command, style) in tools.chain(others) {
        let answer = run(command);
        let json = answer.json();
        let mut found = Vec::new();
        names(&json, &mut found);
        assert!(!found.is_empty() || json == Value::Null, "{command:?}: {answer:?}");
        if json.get("code").is_some() && json.get("message").is_some() {
            failed.push(command.join(" "));
        }
        for name in found {
            let is_right = match style {
                '_' => !name.contains(|c: char| c.is_uppercase()),
                _ => !name.contains('_'),
            };
            assert!(is_right, "{command:?} prints `{name}`: {json:#}");
        }
    }
    assert_eq!(failed, FAILED, "these print an error");
    let mut left = commands(&place);
    for tried in TOOLS.iter().chain(&COMMANDS_OF_OURS).chain(&SERVICE).chain(&OTHERS) {
        for words in 1..=tried.len() {
            left.remove(&tried[..words].join(" "));
        }
    }
    assert_eq!(left, BTreeSet::new(), "these stand in no list here");
}
