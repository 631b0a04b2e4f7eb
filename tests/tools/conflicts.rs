//! Conflict copies of sync programs, and files that exist only in the cloud: listed, never changed.

use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode;

use crate::vault::vault;

const COPY: &str = "Note.sync-conflict-20261121-103045-ABCDEFG.md";

#[test]
fn copies_are_marked_and_counted() {
    let vault = vault(&[
        ("a/Note.md", "x"),
        (&format!("a/{COPY}"), "y"),
        ("a/note 2.md", "z"),
        ("a/Gone (Anna's conflicted copy 2026-11-21).md", "z"),
        ("b/Note 2.md", "no copy: there is no Note beside it"),
        ("c/Part.md", "the parts of something"),
        ("c/Part 2.md", "that is numbered"),
        ("c/Part 3.md", "by a person"),
        ("d/Plan.md", "short"),
        ("d/Plan 2.md", &"another one altogether\n".repeat(20)),
        ("Chapter 3/x.md", "a folder is none"),
        ("Chapter.md", "x"),
    ]);
    let before = vault.snapshot();
    let listed = vault.ok("list_files", json!({"pattern": "**", "sort_by": "name"}));
    let marked: Vec<(&str, &str)> = listed["entries"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|entry| Some((entry["path"].as_str()?, entry["conflict_of"].as_str()?)))
        .collect();
    assert_eq!(
        marked,
        [
            ("a/Gone (Anna's conflicted copy 2026-11-21).md", "a/Gone.md"),
            ("a/Note.sync-conflict-20261121-103045-ABCDEFG.md", "a/Note.md"),
            ("a/note 2.md", "a/Note.md"),
        ]
    );
    let text = vault.text("list_files", json!({"path": "a"}));
    assert!(text.contains("[conflict copy of `a/Note.md`]"), "{text}");
    let info = vault.ok("get_file_info", json!({"path": format!("a/{COPY}")}));
    assert_eq!(info["conflict_of"], "a/Note.md");
    assert_eq!(vault.ok("get_file_info", json!({"path": "b/Note 2"}))["conflict_of"], Value::Null);
    assert_eq!(vault.context.vault.conflicts().len(), 3);
    assert_eq!(vault.ok("get_file_info", json!({"path": "/"}))["conflict_copies"], 3);
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn cloud_placeholders_are_not_overwritten() {
    let vault = vault(&[("a/.Note.md.icloud", "placeholder"), ("a/other.md", "x")]);
    let before = vault.snapshot();
    for (tool, arguments) in [
        ("read_file", json!({"path": "a/Note.md"})),
        ("get_file_info", json!({"path": "a/Note.md"})),
        ("set_properties", json!({"path": "a/Note.md", "set": {"a": 1}})),
        ("write_file", json!({"path": "a/Note.md", "content": "a twin"})),
    ] {
        let error = vault.err(tool, arguments, ErrorCode::NotFound);
        assert!(error.message.contains("not downloaded"), "{tool}: {}", error.text());
        assert!(error.hint.is_some(), "{tool}");
    }
    assert_eq!(vault.snapshot(), before);
}
