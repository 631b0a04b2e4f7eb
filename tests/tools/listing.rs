//! Listings, trees and facts about files.

use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode::{InvalidInput, InvalidPattern, NotFound};

use crate::vault::{TestVault, vault};

fn paths(answer: &Value) -> Vec<String> {
    let entries = answer["entries"].as_array().expect("a list").iter();
    entries.map(|entry| entry["path"].as_str().expect("a path").to_owned()).collect()
}

pub fn aged(vault: &TestVault, path: &str, seconds: u64) {
    // Not every file system supports times before 1980.
    let seconds = 1_000_000_000 + seconds;
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    let file = std::fs::File::options().append(true).open(vault.place.join(path));
    // Both times: some file systems in user space forget one that is set alone.
    let times = std::fs::FileTimes::new().set_accessed(time).set_modified(time);
    file.expect("opened").set_times(times).expect("set");
    vault.context.vault.rescan().expect("rescanned");
}

#[test]
fn the_newest_come_first_and_the_rest_is_counted() {
    let vault = vault(&[("old.md", "1"), ("new.md", "22"), ("Folder/mid.md", "333")]);
    aged(&vault, "old.md", 1_000);
    aged(&vault, "Folder/mid.md", 2_000);
    aged(&vault, "new.md", 3_000);
    let list = |arguments: Value| paths(&vault.ok("list_files", arguments));
    assert_eq!(list(json!({ "pattern": "**/*.md" })), ["new.md", "Folder/mid.md", "old.md"]);
    assert_eq!(
        list(json!({ "pattern": "**/*.md", "sort_by": "name" })),
        ["Folder/mid.md", "new.md", "old.md"]
    );
    assert_eq!(
        list(json!({ "pattern": "**", "sort_by": "size", "type": "file" })),
        ["Folder/mid.md", "new.md", "old.md"]
    );
    assert_eq!(list(json!({ "type": "folder" })), ["Folder"]);
    let one = vault.ok("list_files", json!({ "pattern": "**/*.md", "max_results": 1 }));
    assert_eq!((paths(&one), &one["total"]), (vec!["new.md".to_owned()], &json!(3)));
    let text = vault.text("list_files", json!({ "pattern": "**/*.md", "max_results": 1 }));
    assert!(text.contains("[1 of 3"), "{text}");
}

#[test]
fn patterns_are_about_this_folder_and_case_does_not_matter() {
    let vault = vault(&[
        ("Projects/A [draft].md", "x"),
        ("Projects/Sub/B.md", "x"),
        ("c.txt", "x"),
        ("Ärger.md", "x"),
    ]);
    let list = |arguments: Value| {
        let mut found = paths(&vault.ok("list_files", arguments));
        found.sort();
        found
    };
    assert_eq!(list(json!({ "path": "projects", "pattern": "*.MD" })), ["Projects/A [draft].md"]);
    assert_eq!(list(json!({ "pattern": "projects/**" })).len(), 3);
    assert_eq!(list(json!({ "pattern": "**/*[DRAFT]*" })), ["Projects/A [draft].md"]);
    assert_eq!(list(json!({ "pattern": "*.{md,txt}" })), ["c.txt", "Ärger.md"]);
    assert_eq!(list(json!({ "pattern": "?rger.md" })), ["Ärger.md"]);
    let none = vault.ok("list_files", json!({ "pattern": "b.md" }));
    assert_eq!((&none["total"], &none["total_below"]), (&json!(0), &json!(1)));
    let text = vault.text("list_files", json!({ "pattern": "b.md" }));
    assert!(text.contains("**/b.md"), "{text}");
    let text = vault.text("list_files", json!({ "pattern": "*.pdf" }));
    assert_eq!(text, "nothing in `/` fits `*.pdf`");
    for bad in [
        json!({ "max_results": 0 }),
        json!({ "max_results": 1001 }),
        json!({ "max_results": -1 }),
        json!({ "type": "note" }),
    ] {
        vault.err("list_files", bad, InvalidInput);
    }
    vault.err("list_files", json!({ "path": "nowhere" }), NotFound);
    let bomb = "{a,b}".repeat(40);
    vault.err("list_files", json!({ "pattern": bomb }), InvalidPattern);
    vault.ok("list_files", json!({ "pattern": "**/".repeat(200) + "*" }));
}

#[test]
fn a_listing_shows_the_present_files() {
    let vault = vault(&[("a.md", "x"), ("b.md", "x")]);
    std::fs::remove_file(vault.place.join("a.md")).expect("removed");
    let listed = vault.ok("list_files", json!({}));
    assert_eq!((paths(&listed), &listed["total"]), (vec!["b.md".to_owned()], &json!(1)));
}

#[test]
fn the_tree_shows_upper_levels_first_and_counts_the_rest() {
    let mut files = vec![("Z/deep/er/far.md".to_owned(), "x")];
    files.extend((0..30).map(|n| (format!("A/{n:02}.md"), "x")));
    files.push(("top.md".to_owned(), "x"));
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), *t)).collect();
    let vault = vault(&files);
    let text = vault.text("directory_tree", json!({ "max_entries": 8 }));
    let expected = "/\n  A/\n    00.md\n    01.md\n    02.md\n    03.md\n    04.md\n    … 25 more\n  Z/\n    … 1 more\n  top.md\n[28 entries not shown; raise max_depth or max_entries]";
    assert_eq!(text, expected);
    let text = vault.text("directory_tree", json!({ "max_depth": 2, "exclude": ["A"] }));
    assert_eq!(
        text,
        "/\n  Z/\n    deep/\n      … 1 more\n  top.md\n[2 entries not shown; raise max_depth or max_entries]"
    );
    let text = vault.text("directory_tree", json!({ "path": "z/deep" }));
    assert_eq!(text, "Z/deep/\n  er/\n    far.md");
    vault.err("directory_tree", json!({ "max_depth": 0 }), InvalidInput);
}

#[test]
fn facts_about_files_and_folders() {
    let vault =
        vault(&[("Projects/a.md", "one two\nthree\n"), ("Projects/Sub/b.md", "x"), ("p.png", "")]);
    let info = vault.ok("get_file_info", json!({ "path": "projects/A" }));
    assert_eq!((&info["path"], &info["type"]), (&json!("Projects/a.md"), &json!("file")));
    assert_eq!((&info["lines"], &info["words"], &info["size"]), (&json!(2), &json!(3), &json!(14)));
    assert_eq!((&info["readable"], &info["writable"]), (&json!(true), &json!(true)));
    assert!(
        chrono::DateTime::parse_from_rfc3339(info["modified"].as_str().expect("a time")).is_ok()
    );
    let folder = vault.ok("get_file_info", json!({ "path": "PROJECTS" }));
    let children = &folder["children"];
    for (what, number) in
        [("files", 1), ("folders", 1), ("total_files", 2), ("total_notes", 2), ("total_folders", 1)]
    {
        assert_eq!(children[what], number, "{what}");
    }
    assert_eq!(folder["vault"], Value::Null);
    assert_eq!((&folder["size"], &folder["lines"]), (&json!(15), &Value::Null));
    let root = vault.ok("get_file_info", json!({ "path": "/" }));
    assert_eq!((&root["path"], &root["children"]["total_files"]), (&json!(""), &json!(3)));
}

#[test]
fn the_vault_itself_is_described_by_its_name_and_totals() {
    let vault = vault(&[("a.md", "one"), ("A/b.md", "two"), ("A/B/p.png", "")]);
    for (at, path) in ["a.md", "A/B/p.png", "A/b.md"].into_iter().enumerate() {
        aged(&vault, path, at as u64);
    }
    let name = vault.context.vault.name().to_owned();
    for said in ["/", ".", ""] {
        let info = vault.ok("get_file_info", json!({ "path": said }));
        assert_eq!(info["vault"], name.as_str(), "{said}");
        let children = &info["children"];
        assert_eq!((&children["total_notes"], &children["total_files"]), (&json!(2), &json!(3)));
        assert_eq!(children["total_folders"], 2);
        assert_eq!(children["newest"]["path"], "A/b.md");
    }
    let text = vault.text("get_file_info", json!({ "path": "/" }));
    assert!(text.starts_with(&format!("the vault `{name}`: folder, ")), "{text}");
    assert!(text.contains("with all below 3 files (2 notes) and 2 folders"), "{text}");
    assert!(text.contains("\nwhat is deleted goes to `.trash` in the vault"), "{text}");
    let info = vault.ok("get_file_info", json!({ "path": "/" }));
    assert_eq!((&info["trash"], &info["conflict_copies"]), (&json!("local"), &json!(0)));
    let info = vault.ok("get_file_info", json!({ "path": "A" }));
    assert_eq!((&info["trash"], &info["conflict_copies"]), (&Value::Null, &Value::Null));
}

#[test]
fn the_open_note_comes_from_the_workspace() {
    let vault = vault(&[("A note.md", "x")]);
    vault.err("get_active_note", json!({}), NotFound);
    vault.put(
        ".obsidian/workspace.json",
        r#"{"main":{},"active":"x","lastOpenFiles":["A note.md"]}"#,
    );
    let active = vault.ok("get_active_note", json!({}));
    assert_eq!((&active["path"], &active["exists"]), (&json!("A note.md"), &json!(true)));
    vault.put(".obsidian/workspace.json", "{broken");
    vault.err("get_active_note", json!({}), NotFound);
}

#[test]
fn a_tree_of_long_paths_is_cut_to_the_size_of_a_message() {
    let long = "n".repeat(200);
    let files: Vec<(String, &str)> =
        (0..3_000).map(|n| (format!("{long}/{n}{long}.md"), "")).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let vault = vault(&files);
    let tree = vault.ok("directory_tree", json!({ "max_entries": 5000 }));
    assert!(tree.to_string().len() < 500_000);
    assert!(tree["omitted"].as_u64().expect("a number") > 1_000);
}

/// All entries of a list, from answers that each continue the previous one.
fn in_parts(vault: &TestVault, tool: &str, arguments: &Value, list: &str) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let mut arguments = arguments.clone();
        arguments["first_result"] = json!(all.len() + 1);
        let answer = vault.ok(tool, arguments.clone());
        let part = answer[list].as_array().expect("a list");
        all.extend(part.iter().cloned());
        let text = vault.text(tool, arguments);
        let goes_on = format!("first_result: {}", all.len() + 1);
        if !text.contains(&goes_on) {
            assert!(!text.contains("first_result"), "{text}");
            return all;
        }
        assert!(!part.is_empty(), "{tool}: {text}");
    }
}

#[test]
fn every_list_can_be_gone_on_with() {
    let names: Vec<String> = (0..25).map(|n| format!("{n:02}.md")).collect();
    let files: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), "[[nowhere]] [[a]] #tag")).collect();
    let vault = vault(&files);
    for sort_by in ["modified", "name", "size"] {
        let listing = json!({ "max_results": 10, "sort_by": sort_by });
        let all = vault.ok("list_files", json!({ "sort_by": sort_by }))["entries"].take();
        assert_eq!(json!(in_parts(&vault, "list_files", &listing, "entries")), all, "{sort_by}");
    }
    for kind in ["unresolved", "orphans", "dead_ends"] {
        let all = vault.ok("list_links", json!({ "kind": kind }))["entries"].take();
        let asked = json!({ "kind": kind, "max_results": 10 });
        assert_eq!(json!(in_parts(&vault, "list_links", &asked, "entries")), all, "{kind}");
    }
    let past = vault.text("list_files", json!({ "first_result": 26 }));
    assert_eq!(past, "[there are only 25]");
    let nothing = vault.text("list_files", json!({ "pattern": "x*" }));
    assert!(nothing.starts_with("nothing in"), "{nothing}");
    for name in &names {
        vault.ok("delete", json!({ "path": name }));
    }
    let all = vault.ok("list_trash", json!({}))["items"].take();
    assert_eq!(all.as_array().map(Vec::len), Some(25));
    assert_eq!(json!(in_parts(&vault, "list_trash", &json!({ "limit": 10 }), "items")), all);
}

#[test]
fn links_and_tags_beyond_the_first_answer_can_be_had() {
    let many: String = (0..1_203).map(|n| format!("#tag{n:04} [[to {n}]]\n")).collect();
    let sources: Vec<String> = (0..120).map(|n| format!("s{n:03}.md")).collect();
    let mut files: Vec<(&str, &str)> =
        sources.iter().map(|name| (name.as_str(), "[[many]]")).collect();
    files.push(("many.md", &many));
    let vault = vault(&files);
    assert_eq!(in_parts(&vault, "list_tags", &json!({}), "tags").len(), 1_203);
    let of_note = json!({ "path": "many" });
    let links = in_parts(&vault, "get_links", &of_note, "outgoing");
    assert_eq!(links.len(), 1_203);
    assert_eq!(links[1_000]["link"], "to 1000");
    let second = vault.ok("get_links", json!({ "path": "many", "first_result": 101 }));
    assert_eq!(second["backlinks"].as_array().map(Vec::len), Some(20));
    assert_eq!(second["backlinks"][0]["path"], "s100.md");
}

#[test]
fn a_limit_beyond_the_maximum_is_reported() {
    let vault = vault(&[("a.md", "x")]);
    vault.ok("write_file", json!({ "path": "b.md", "content": "x" }));
    let text = vault.text("list_changes", json!({ "limit": 500 }));
    assert!(text.ends_with("[limit is 200 at most, not 500]"), "{text}");
    assert!(!vault.text("list_changes", json!({ "limit": 200 })).contains("at most"));
    assert!(vault.text("list_trash", json!({ "limit": 2_000 })).contains("limit is 1000 at most"));
}
