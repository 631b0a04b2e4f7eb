//! Calls from a thread that must not wait: the same answers, or none at all.

use std::fs;
use std::io::Write as _;

use serde_json::{Value, json};
use vault_steward::tools::{Answer, ToolError};
use vault_steward::vault::nonblocking::attempt;

use crate::abilities::{Ability, can};
use crate::vault::{TestVault, vault};

type Called = Result<Answer<Value>, ToolError>;

fn nonblocking(vault: &TestVault, tool: &str, arguments: &Value) -> Option<Called> {
    attempt(|| vault.call(tool, arguments))
}

fn ground() -> TestVault {
    let vault = vault(&[
        ("Projects/My Note.md", "---\nstatus: open\n---\n# Garden\none\n"),
        ("Projects/Deep/other.md", "two\n"),
        ("top.md", "three\n"),
    ]);
    vault.context.vault.watch();
    vault
}

#[test]
fn a_nonblocking_call_answers_as_a_blocking_one() {
    if !can(Ability::NonBlockingReads) {
        return;
    }
    let vault = ground();
    let note = "projects/my note";
    for (tool, arguments) in [
        ("read_file", json!({"path": note})),
        ("read_file", json!({"path": note, "start_line": 4, "end_line": 4})),
        ("read_file", json!({"path": note, "start_line": 99})),
        ("read_file", json!({"path": ".obsidian/app.json"})),
        ("read_file", json!({"path": "x/../.obsidian/app.json"})),
        ("read_file", json!({"path": "../outside.md"})),
        ("read_file", json!({"path": "Projects"})),
        ("read_file", json!({})),
        ("get_properties", json!({"path": note})),
        ("get_file_info", json!({"path": note})),
        ("get_file_info", json!({"path": "projects"})),
        ("list_files", json!({})),
        ("list_files", json!({"pattern": "**/*.md"})),
        ("list_files", json!({"pattern": "*.png"})),
        ("list_files", json!({"pattern": ".."})),
    ] {
        // A first read may change the access time.
        let _ = vault.call(tool, &arguments);
        let looked = vault.call(tool, &arguments);
        let seen = nonblocking(&vault, tool, &arguments);
        assert_eq!(seen, Some(looked), "{tool} {arguments}");
    }
}

/// A search that the index answers from memory need not wait; others do.
#[test]
fn a_search_in_memory_answers_as_a_blocking_one() {
    if !can(Ability::NonBlockingReads) {
        return;
    }
    let vault = ground();
    let index = &vault.context.index.text;
    vault.let_time_pass();
    index.refresh();
    let search = |pattern: &str| json!({ "pattern": pattern });
    for arguments in [
        search("one"),
        search("nowhere"),
        search("o(n|w)"),
        search("("),
        json!({ "pattern": "o", "max_results": 1 }),
        json!({ "pattern": "o", "output_mode": "files_with_matches" }),
    ] {
        let seen = nonblocking(&vault, "search_files", &arguments);
        assert_eq!(seen, Some(vault.call("search_files", &arguments)), "{arguments}");
    }
    // A pattern that may take long to compile, until it is cached.
    let classes = search(r"\w+e\b");
    assert_eq!(nonblocking(&vault, "search_files", &classes), None);
    let answer = vault.call("search_files", &classes);
    assert_eq!(nonblocking(&vault, "search_files", &classes), Some(answer));
    for arguments in [
        json!({ "pattern": "one", "path": "Projects" }),
        json!({ "pattern": "one", "file_pattern": "*.md" }),
    ] {
        vault.ok("search_files", arguments.clone());
        assert_eq!(nonblocking(&vault, "search_files", &arguments), None, "{arguments}");
    }
    // A note that changed and is not read yet.
    for round in 0..50 {
        let text = format!("round {round} one\n");
        vault.put("top.md", &text);
        if let Some(seen) = nonblocking(&vault, "search_files", &search(&format!("round {round} ")))
        {
            assert_eq!(seen.expect("an answer").data["total_files"], 1, "never an old one");
        }
    }
    vault.context.vault.stop();
}

/// A call that might wait for the disk or another thread is refused.
#[test]
fn a_call_that_would_block_is_refused() {
    if !can(Ability::NonBlockingReads) || !can(Ability::SymbolicLinks) || !can(Ability::HardLinks) {
        return;
    }
    let vault = ground();
    std::os::unix::fs::symlink("top.md", vault.place.join("way.md")).expect("linked");
    fs::hard_link(vault.place.join("top.md"), vault.place.join("twin.md")).expect("linked");
    vault.put("large.md", &"x".repeat(300 << 10));
    for path in ["way.md", "twin.md", "large.md", "top.md", "nowhere.md", "Projects/way/x.md"] {
        let arguments = json!({"path": path});
        let looked = vault.call("read_file", &arguments);
        assert_eq!(looked.is_ok(), vault.exists(path), "{path}");
        assert_eq!(nonblocking(&vault, "read_file", &arguments), None, "{path}");
    }
    // Pending events of other programs' changes.
    let (note, arguments) = ("Projects/Deep/other.md", json!({"path": "Projects/Deep/other.md"}));
    for round in 0..50 {
        let text = format!("round {round} {}\n", "x".repeat(round));
        vault.put(note, &text);
        if let Some(seen) = nonblocking(&vault, "read_file", &arguments) {
            assert_eq!(seen.expect("it is there").data["content"], text, "never an old one");
        }
        vault.put(&format!("New {round}.md"), "new");
        let listed =
            nonblocking(&vault, "list_files", &json!({"pattern": "New *", "max_results": 1000}));
        if let Some(listed) = listed {
            assert_eq!(listed.expect("a list").data["total"], round + 1);
        }
    }
    vault.context.vault.stop();
}

#[test]
fn without_events_a_listing_blocks() {
    if !can(Ability::NonBlockingReads) {
        return;
    }
    let vault = vault(&[("a.md", "a")]);
    assert_eq!(nonblocking(&vault, "list_files", &json!({})), None);
    assert_eq!(vault.ok("list_files", json!({}))["total"], 1);
}

/// A slow disk delays only the callers that read from it.
#[test]
fn a_text_outside_the_page_cache_is_refused() {
    if !can(Ability::NonBlockingReads) {
        return;
    }
    let vault = ground();
    let arguments = json!({"path": "top.md"});
    let mut is_left = false;
    for round in 0..100 {
        let text = format!("round {round}\n");
        let mut file = fs::File::create(vault.place.join("top.md")).expect("there");
        file.write_all(text.as_bytes()).expect("written");
        file.sync_all().expect("on the disk");
        vault.ok("list_files", json!({}));
        vault.ok("get_file_info", json!({"path": "top.md"}));
        let was_seen = nonblocking(&vault, "read_file", &arguments).is_some();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("advised");
        is_left = was_seen && nonblocking(&vault, "read_file", &arguments).is_none();
        if is_left {
            break;
        }
    }
    assert!(is_left, "the system never let go of the file's text");
    // It is also refused while another thread applies a change.
    let seen = (0..100).find_map(|_| {
        vault.ok("read_file", arguments.clone());
        nonblocking(&vault, "read_file", &arguments)
    });
    let seen = seen.expect("now it has it in memory");
    assert!(seen.expect("it is there").text.contains("round"));
}
