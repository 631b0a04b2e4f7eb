//! The files that a caller may see and change, under any spelling.

use serde_json::{Value, json};
use vault_steward::calls::{Calls, Outcome};
use vault_steward::policy::{Scope, Settings};
use vault_steward::tools::Registry;
use vault_steward::vault::Cancel;

use crate::doors::{answered, calls, request};
use crate::vault::{TestVault, vault};

const SECRET: &str = "canary-secret";

fn ground() -> TestVault {
    vault(&[
        ("Open/a.md", "[[b]] [[hidden]] #open\nplain\n"),
        ("Open/b.md", "b\n"),
        ("Closed/hidden.md", "canary-secret [[a]] #canary-tag\n"),
        ("Closed/Deep/other.md", "canary-secret\n"),
        ("top.md", "canary-secret [[a]]\n"),
        ("Table.base", "filters: 'Open/a.md canary-secret'\n"),
    ])
}

fn limited(vault: &TestVault) -> Calls {
    calls(vault, Settings { read: vec!["open".to_owned()], ..Settings::default() })
}

/// Whether a call names the link `Open/way`, which the tests create on Unix only.
fn names_missing_link(arguments: &Value) -> bool {
    cfg!(not(unix)) && arguments.to_string().contains("Open/way")
}

/// The answer to a caller that may see only `Open`, including errors.
fn answer(calls: &Calls, tool: &str, arguments: Value) -> String {
    match calls.call(request(Scope::Client, tool, arguments), &Cancel::default()) {
        Outcome::Answered(Ok(answer)) => {
            format!("{}\n{}", answer.text, answer.data.clone().into_json())
        }
        Outcome::Answered(Err(error)) => format!("{}\n{:?}", error.text(), error.data),
        Outcome::Ask(question) => format!("{:?}", question.changes()),
    }
}

/// Determining which folders it may see takes disk reads.
#[test]
fn a_limited_caller_gets_no_nonblocking_call() {
    let vault = ground();
    let calls = limited(&vault);
    for path in ["Open/a.md", "Closed/hidden.md"] {
        let request = request(Scope::Client, "read_file", json!({"path": path}));
        assert!(calls.call_nonblocking(&request).is_none(), "{path}");
    }
}

#[test]
fn no_tool_reveals_hidden_files() {
    let vault = ground();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../Closed", vault.place.join("Open/way")).unwrap();
        std::os::unix::fs::symlink("../Closed/hidden.md", vault.place.join("Open/way.md")).unwrap();
        vault.context.vault.rescan().unwrap();
    }
    let calls = limited(&vault);
    let paths = [
        "Closed/hidden.md",
        "closed/HIDDEN",
        "hidden",
        "Open/../Closed/hidden.md",
        "./Closed/hidden.md",
        "Open/way.md",
        "Open/way/hidden.md",
        "top.md",
        "/Closed/hidden.md",
        "Table.base",
    ];
    for tool in Registry::built_in().iter() {
        for path in paths {
            for arguments in [
                json!({"path": path}),
                json!({"path": path, "pattern": "canary"}),
                json!({"path": path, "old_text": SECRET, "new_text": "x"}),
                json!({"source": path, "destination": "Open/stolen.md"}),
                json!({"path": "Open/way", "pattern": SECRET}),
            ] {
                if names_missing_link(&arguments) {
                    continue;
                }
                let said = answer(&calls, &tool.name, arguments.clone());
                // The error may repeat the requested path, never what exists there.
                assert!(
                    !said.contains(SECRET) || arguments["old_text"] == SECRET,
                    "{} {arguments}: {said}",
                    tool.name
                );
                assert!(!said.contains("other.md"), "{} {arguments}: {said}", tool.name);
            }
        }
    }
    for (tool, arguments) in [
        ("list_files", json!({"pattern": "**/*"})),
        ("directory_tree", json!({})),
        ("search_files", json!({"pattern": "canary|plain", "file_pattern": "**/*"})),
        ("search_notes", json!({"query": "canary plain"})),
        ("search_notes", json!({"query": "canary plain", "meaning": "only"})),
        ("related_notes", json!({"path": "Open/a.md", "linked": true})),
        ("vault_outline", json!({})),
        ("find_duplicates", json!({})),
        ("memory_search", json!({"query": "canary plain hidden"})),
        ("unlinked_mentions", json!({"path": "Open/a.md"})),
        ("unlinked_mentions", json!({"path": "Open/a.md", "direction": "from"})),
        ("list_tags", json!({})),
        ("list_links", json!({"kind": "orphans"})),
        ("list_links", json!({"kind": "unresolved"})),
        ("list_links", json!({"kind": "dead_ends"})),
        ("get_links", json!({"path": "Open/a.md"})),
        ("get_file_info", json!({"path": ""})),
        ("read_file", json!({"path": "hiden"})),
    ] {
        let said = answer(&calls, tool, arguments.clone());
        for hidden in [SECRET, "Closed/", "top.md", "canary-tag", "Table.base"] {
            assert!(!said.contains(hidden), "{tool} {arguments} tells of {hidden}: {said}");
        }
    }
    assert!(answer(&calls, "list_files", json!({"pattern": "**/*"})).contains("Open/a.md"));
    assert!(answer(&calls, "list_tags", json!({})).contains("#open"));
    assert!(answer(&calls, "read_file", json!({"path": "OPEN/A"})).contains("plain"));
    let person = request(Scope::Person, "read_file", json!({"path": "top"}));
    assert!(answered(calls.call(person, &Cancel::default())).unwrap().text.contains(SECRET));
}

#[test]
fn no_spelling_of_a_path_leads_outside() {
    let vault = ground();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../Closed", vault.place.join("Open/way")).unwrap();
        vault.context.vault.rescan().unwrap();
    }
    let before = vault.snapshot();
    let write = Settings { write: vec!["Open".to_owned()], ..Settings::default() };
    let read = Settings { read: vec!["Open".to_owned()], ..Settings::default() };
    for settings in [write, read] {
        let calls = calls(&vault, settings);
        for path in [
            "new.md",
            "Closed/new.md",
            "closed/new.md",
            "Closed/hidden.md",
            "Open/way/new.md",
            "Open/way/hidden.md",
            "Open/../new.md",
            "Openly/new.md",
        ] {
            for (tool, arguments) in [
                ("write_file", json!({"path": path, "content": "x"})),
                ("create_folder", json!({"path": format!("{path}x")})),
                ("delete", json!({"path": path})),
                ("move", json!({"source": "Open/b.md", "destination": path})),
                ("move", json!({"source": path, "destination": "Open/c.md"})),
                (
                    "apply_patch",
                    json!({"patch": format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n")}),
                ),
            ] {
                if names_missing_link(&arguments) {
                    continue;
                }
                let request = request(Scope::Client, tool, arguments.clone());
                let result = answered(calls.call(request, &Cancel::default()));
                result.expect_err(&format!("{tool} {arguments}"));
            }
        }
    }
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn a_link_to_a_hidden_note_looks_broken() {
    let vault = ground();
    let text = "[[hidden]] [[Closed/hidden]] [[nowhere at all]]\n";
    std::fs::write(vault.place.join("Open/guess.md"), text).unwrap();
    std::fs::write(vault.place.join("Open/named.md"), "[[guess]]\n").unwrap();
    std::fs::write(vault.place.join("Closed/names it.md"), "[[Open/named]]\n").unwrap();
    vault.context.vault.rescan().unwrap();
    let settings = Settings { read: vec!["Open".to_owned()], ..Settings::default() };
    let calls = calls(&vault, settings);
    let ask = |tool: &str, arguments: Value| {
        let request = request(Scope::Client, tool, arguments);
        answered(calls.call(request, &Cancel::default())).unwrap().data
    };
    let in_guess = |found: &Value| -> Vec<String> {
        let entries = found["entries"].as_array().unwrap().iter();
        let entries = entries.filter(|entry| entry["path"] == "Open/guess.md");
        entries.map(|entry| entry["link"].as_str().unwrap().to_owned()).collect()
    };
    let broken = ask("list_links", json!({"kind": "unresolved"}));
    assert_eq!(in_guess(&broken), ["hidden", "Closed/hidden", "nowhere at all"], "{broken}");
    let links = ask("get_links", json!({"path": "Open/guess"}));
    assert_eq!(links["unresolved"].as_array().unwrap().len(), 3, "{links}");
    let has = |found: &Value, path: &str| {
        found["entries"].as_array().unwrap().iter().any(|entry| entry["path"] == path)
    };
    assert!(has(&ask("list_links", json!({"kind": "orphans"})), "Open/named.md"));
    assert!(has(&ask("list_links", json!({"kind": "dead_ends"})), "Open/guess.md"));
}
