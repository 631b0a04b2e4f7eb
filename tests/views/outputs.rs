//! Every tool, with all arguments, by every kind of limited caller.

use regex::Regex;
use serde_json::{Map, Value, json};
use vault_steward::tools::{Definition, Registry, Tier};

use crate::arguments::{PATHS, calls};
use crate::posted;
use crate::table::rows;
use crate::world::{Ear, LIMITED, MARK, World};

/// Removes the differences between two worlds and two moments: folders, times, and the numbers of questions, which
/// count all calls.
pub fn plain(world: &World, text: &str) -> String {
    let times = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?([+-]\d\d:\d\d|Z)?";
    let times = Regex::new(times).unwrap();
    let questions = Regex::new(r#"question("?:| )\d+"#).unwrap();
    let place = world.home.path("");
    let place = place.to_str().unwrap().trim_end_matches(['/', '\\']);
    // JSON doubles the backslashes of Windows.
    let text = text.replace(&place.replace('\\', r"\\"), "HOME").replace(place, "HOME");
    questions.replace_all(&times.replace_all(&text, "TIME"), "question N").into_owned()
}

/// Shows the request if there is no answer.
struct ShownOnPanic<'a>(&'a str, &'a Value);

impl Drop for ShownOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{} {}", self.0, self.1);
        }
    }
}

/// Calls a tool in both worlds, and reports where the answers differ.
fn differ(
    worlds: &mut [World; 2],
    ears: &mut [Ear; 2],
    tool: &Definition,
    arguments: &Map<String, Value>,
    dry_run: bool,
) -> Option<String> {
    let meta = json!({"vault": {"dryRun": dry_run}});
    let params = json!({"name": tool.name, "arguments": arguments, "_meta": meta});
    let _asking = ShownOnPanic("it was asked", &params);
    let mut answers = Vec::new();
    for (world, ear) in worlds.iter().zip(ears) {
        let answer = match &ear.posts {
            // MCP's own transport has no dry runs, and not all tools.
            Some(token) if !dry_run && !tool.seldom => {
                posted::call(world.port(), token, &tool.name, &json!(arguments))
            }
            _ => ear.call("tools/call", params.clone()),
        };
        answers.push(plain(world, &answer.to_string()));
    }
    let (name, given) = (&tool.name, json!(arguments));
    (answers[0] != answers[1]).then(|| {
        format!(
            "{name} {given} (dry run: {dry_run})\n  with:    {}\n  without: {}",
            answers[0], answers[1]
        )
    })
}

/// The refusal reveals that a hidden note links to a moved one, and nothing else of it.
fn is_known_by_its_refusal(difference: &str) -> bool {
    difference.starts_with("move ")
        && difference.contains("alone")
        && difference.contains("with:    {")
        && difference.contains("it would change something outside of `Open`")
}

/// Tries every third call, from this one on: the three kinds of callers try all of them together.
fn drive(scope: &str, from: usize) {
    let rows = rows();
    let mut worlds = [World::new(true), World::new(false)];
    let mut ears = [worlds[0].ear(scope), worlds[1].ear(scope)];
    if scope == "mcp" {
        for (world, ear) in worlds.iter().zip(&mut ears) {
            ear.posts = Some(world.token(scope));
        }
    }
    let mut faults = Vec::new();
    let mut tried = 0;
    for tool in Registry::built_in().iter() {
        assert!(
            rows.iter().any(|row| row.kind == "tool" && row.output == tool.name && row.open),
            "{} is not in the table as one that a limited caller may call",
            tool.name
        );
        for arguments in calls(tool).iter().skip(from).step_by(3) {
            let changes = tool.tier != Tier::Safe;
            if tried % 3 == 0 {
                worlds[0].meanwhile();
                let sets = worlds[0].last_set();
                worlds[1].count_up(sets);
            }
            if changes {
                faults.extend(differ(&mut worlds, &mut ears, tool, arguments, true));
            }
            faults.extend(differ(&mut worlds, &mut ears, tool, arguments, false));
            if changes {
                worlds.iter_mut().for_each(World::tidy);
            }
            tried += 1;
        }
    }
    faults.retain(|fault| !is_known_by_its_refusal(fault));
    assert!(
        faults.is_empty(),
        "{} of {tried}:\n{}",
        faults.len(),
        faults[..faults.len().min(25)].join("\n")
    );
    let events: Vec<String> = ears[0].heard.iter().map(Value::to_string).collect();
    let marked = |text: &&String| text.to_lowercase().contains(MARK);
    let marked: Vec<&String> = events.iter().filter(marked).take(10).collect();
    assert!(marked.is_empty(), "{marked:#?}");
    let kinds = ears[0].kinds();
    assert!(kinds["_vault/changed"] > 10 && kinds["_vault/hidden"] > 10, "{kinds:?}");
    assert!(tried > 500, "{tried}");
}

#[test]
fn a_client_is_answered_by_every_tool_as_if_the_rest_were_not_there() {
    drive(LIMITED[0], 0);
}

#[test]
fn no_tool_reveals_anything_hidden_to_mcp_clients() {
    drive(LIMITED[1], 1);
}

#[test]
fn a_voice_is_answered_by_every_tool_as_if_the_rest_were_not_there() {
    drive(LIMITED[2], 2);
}

#[test]
fn a_lookup_that_finds_nothing_is_no_news_to_anybody() {
    let world = World::new(true);
    for scope in LIMITED {
        let mut ear = world.ear(scope);
        // Processes pending events first.
        ear.call("tools/call", json!({"name": "list_files"}));
        let before = ear.call("_vault/ping", json!({}));
        for path in PATHS {
            for tool in ["read_file", "get_file_info", "get_links"] {
                let params = json!({"name": tool, "arguments": {"path": path}});
                ear.call("tools/call", params);
            }
        }
        assert_eq!(ear.call("_vault/ping", json!({})), before, "as {scope}: {:?}", ear.kinds());
    }
}
