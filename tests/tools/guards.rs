//! Overwriting a note with much less text requires that the note was read.

use serde_json::json;
use vault_steward::note::code::ErrorCode;

use crate::vault::vault;

#[test]
fn emptying_and_shrinking_want_the_revision() {
    let long = "a line of text\n".repeat(200);
    let vault = vault(&[("long.md", &long), ("short.md", "short"), ("empty.md", "")]);
    let before = vault.snapshot();
    for (path, content) in [("long", ""), ("long", "x"), ("long", " \n"), ("short", "")] {
        let write = json!({"path": path, "content": content});
        let error = vault.err("write_file", write, ErrorCode::InvalidInput);
        assert!(error.message.contains("expected_revision"), "{}", error.text());
        assert!(
            error.hint.is_some_and(|hint| hint.contains("read_file") && hint.contains("edit_file"))
        );
        let revision = vault.ok("read_file", json!({"path": path}))["revision"].clone();
        let data = json!(error.data).to_string();
        assert!(!data.contains(revision.as_str().expect("a text")), "it has to be read for it");
    }
    assert_eq!(vault.snapshot(), before);
    let half = &long[..long.len() / 2];
    for (path, content) in [("long", half), ("short", "s"), ("empty", ""), ("new", "")] {
        let path = format!("{path}.md");
        vault.ok("write_file", json!({"path": path, "content": content}));
        assert_eq!(vault.content(&path), content);
    }
    let revision = vault.ok("read_file", json!({"path": "long"}))["revision"].clone();
    let write = json!({"path": "long", "content": "", "expected_revision": revision});
    vault.ok("write_file", write);
    assert_eq!(vault.content("long.md"), "");
}
