//! Changes of properties as people write them.

use serde_json::json;

use super::*;

fn set(name: &str, value: Value) -> PropertyChange {
    PropertyChange { name: name.to_owned(), value: Some(value) }
}

fn remove(name: &str) -> PropertyChange {
    PropertyChange { name: name.to_owned(), value: None }
}

#[track_caller]
fn gives(text: &str, change: PropertyChange, new: &str) {
    let edited = apply(text, std::slice::from_ref(&change)).expect("it can be changed");
    assert_eq!(edited.text, new);
    let again = apply(new, &[change]).expect("and again");
    assert_eq!(again.text, new, "a second time changes nothing");
    assert!(again.set.is_empty() && again.removed.is_empty());
}

#[track_caller]
fn refused(text: &str, change: PropertyChange) -> String {
    apply(text, &[change]).expect_err("it is refused").to_string()
}

#[test]
fn one_value_changes_and_all_else_stays() {
    let text = "---\n# about\nTitle:   Old   # why\n\nz: 'it''s'\nq: \"x\"\nempty:\nn: ~ # none\n---\nbody\n";
    gives(text, set("title", json!("New")), &text.replace("Old ", "New "));
    gives(text, set("title", json!("a: b")), &text.replace("Old ", "\"a: b\" "));
    gives(text, set("z", json!("that's")), &text.replace("'it''s'", "'that''s'"));
    gives("---\nz: 'x' # it's\n---\n", set("z", json!("y")), "---\nz: 'y' # it's\n---\n");
    gives(text, set("z", json!(5)), &text.replace("'it''s'", "5"));
    gives(text, set("q", json!("y")), &text.replace("\"x\"", "\"y\""));
    gives(text, set("empty", json!(true)), &text.replace("empty:", "empty: true"));
    gives(text, set("n", json!(1.5)), &text.replace('~', "1.5"));
    gives(text, set("title", json!(null)), &text.replace("   Old ", " "));
    gives(
        text,
        set("new", json!("2026-11-21")),
        &text.replace("\n---\nb", "\nnew: 2026-11-21\n---\nb"),
    );
    gives(text, remove("TITLE"), &text.replace("Title:   Old   # why\n", ""));
    gives(text, remove("absent"), text);
}

#[test]
fn lists_keep_the_lines_of_what_stays() {
    let text = "---\ntags:\n    - a # first\n    # of b\n    - \"b\"\n    - c\n# last\nx: 1\n---\n";
    gives(
        text,
        set("tags", json!(["a", "c", "new"])),
        "---\ntags:\n    - a # first\n    # of b\n    - c\n    - new\n# last\nx: 1\n---\n",
    );
    gives(text, set("tags", json!([])), "---\ntags: []\n    # of b\n# last\nx: 1\n---\n");
    gives(text, remove("tags"), "---\n# last\nx: 1\n---\n");
    gives(
        text,
        set("other", json!(["[[L]]", 2])),
        &text.replace("x: 1\n", "x: 1\nother:\n    - \"[[L]]\"\n    - 2\n"),
    );
    gives(
        "---\nl: ['a', b]  # c\n---\n",
        set("l", json!(["a", "x, y"])),
        "---\nl: ['a', \"x, y\"]  # c\n---\n",
    );
    gives(
        "---\nl: one # c\nm:\n- 1\n---\n",
        set("l", json!(["two"])),
        "---\nl: # c\n- two\nm:\n- 1\n---\n",
    );
    gives("---\nl:\n- 1\n- 2\nm: 3\n---\n", set("l", json!("x")), "---\nl: x\nm: 3\n---\n");
    gives("---\nl:\n- 1\n\n- 2\n---\n", set("l", json!([2])), "---\nl:\n\n- 2\n---\n");
    gives("---\nl:\n  - p: 1\n    q: 2\n---\n", set("l", json!(["x"])), "---\nl:\n  - x\n---\n");
    gives("---\nl:\n  a: 1\n  b: 2\nm: 1\n---\n", set("l", json!("x")), "---\nl: x\nm: 1\n---\n");
}

#[test]
fn what_must_be_a_list_is_one() {
    gives("", set("tags", json!("#a, b")), "---\ntags:\n  - a\n  - b\n---\n");
    gives("", set("Aliases", json!("Smith, J")), "---\nAliases:\n  - Smith, J\n---\n");
    gives("", set("cssclasses", json!("wide")), "---\ncssclasses:\n  - wide\n---\n");
    gives("---\ntags: a b\n---\n", set("tags", json!(["a"])), "---\ntags:\n  - a\n---\n");
    assert!(refused("", set("tags", json!(["a b"]))).contains("not a tag"));
    assert!(refused("", set("tags", json!(2026))).contains("not a tag"));
}

#[test]
fn blocks_come_and_go() {
    gives("body", set("a", json!("x")), "---\na: x\n---\nbody");
    gives("a\r\nb", set("a", json!(1)), "---\r\na: 1\r\n---\r\na\r\nb");
    gives("\u{feff}body\n", set("a", json!(1)), "\u{feff}---\na: 1\n---\nbody\n");
    gives("---\n---\nbody", set("a", json!(1)), "---\na: 1\n---\nbody");
    gives("---\na: 1\n---\nbody", remove("a"), "body");
    gives("---\r\na: 1\r\n---  \r\nbody", remove("a"), "body");
    gives("---\n# kept\na: 1\n---\nbody", remove("a"), "---\n# kept\n---\nbody");
    gives("---\na: 1\n---\n---\nb: 2\n---\n", remove("a"), "---\n---\n---\nb: 2\n---\n");
    gives("---\nprose\n", set("a", json!(1)), "---\na: 1\n---\n---\nprose\n");
}

#[test]
fn line_endings_and_texts_of_several_lines() {
    let text = "---\r\na: |\r\n  one\r\n  # two\r\nb: \"x\r\n  y\"\r\nnö: ü # ß\r\n---\r\n";
    gives(text, set("a", json!("x")), "---\r\na: x\r\nb: \"x\r\n  y\"\r\nnö: ü # ß\r\n---\r\n");
    gives(text, set("b", json!("z")), &text.replace("x\r\n  y", "z"));
    gives(text, set("NÖ", json!("two\nlines")), &text.replace("ü #", "\"two\\nlines\" #"));
    gives(text, set("l", json!(["x"])), &text.replace("# ß\r\n", "# ß\r\nl:\r\n  - x\r\n"));
    gives(text, remove("a"), "---\r\nb: \"x\r\n  y\"\r\nnö: ü # ß\r\n---\r\n");
}

#[test]
fn braces_are_yaml_too() {
    let text = "---\n{\"a\": 1, \"b\": [1, 2],\n \"c\": \"x\"}\n---\nbody";
    gives(text, set("a", json!("y")), &text.replace("1, \"b", "\"y\", \"b"));
    gives(text, set("B", json!(["z"])), &text.replace("[1, 2]", "[\"z\"]"));
    gives(text, set("d", json!(null)), &text.replace("\"x\"}", "\"x\", \"d\": null}"));
    gives(text, remove("a"), &text.replace("\"a\": 1, ", ""));
    gives(text, remove("c"), &text.replace(",\n \"c\": \"x\"", ""));
    gives("---\n{}\n---\n", set("d", json!(1)), "---\n{\"d\": 1}\n---\n");
    gives("---\n{a: 1}\n---\nbody", remove("a"), "body");
}

#[test]
fn what_cannot_be_done_safely_is_refused() {
    for (text, change, says) in [
        ("---\na: 1\nb: [x\n---\n", set("a", json!(2)), "cannot be read"),
        ("---\na: 1\na: 2\n---\n", set("a", json!(2)), "a second time"),
        ("---\na:\n\t- x\n---\n", set("a", json!(2)), "cannot be read"),
        ("---\na: &x 1\nb: *x\n---\n", set("a", json!(2)), "by itself"),
        ("---\na: &x 1\nb: *x\n---\n", remove("a"), "by itself"),
        ("---\n? a\n: 1\n---\n", set("a", json!(2)), "lines of its own"),
        ("---\na: 1", set("b", json!(2)), "no second `---`"),
        ("---\na: 1", remove("a"), "no second `---`"),
        ("---\na: [x\nprose\n", set("a", json!(2)), "no second `---`"),
        ("---\na: 1\n...\n---\n", set("b", json!(2)), "by itself"),
        ("---\nTag: 1\nTAG: 2\n---\n", set("tag", json!(2)), "either of"),
        ("", set("a", json!({"b": 1})), "inside another"),
        ("", set("a", json!([[1]])), "inside another"),
        ("", set("a", json!(18_446_744_073_709_551_615_u64)), "too large"),
        ("", set("a\nb", json!(1)), "cannot be seen"),
        ("", set(" ", json!(1)), "is empty"),
    ] {
        let error = refused(text, change);
        assert!(error.contains(says), "{text:?}: {error}");
    }
    gives("---\na: &x 1\nb: *x\n---\n", set("b", json!(2)), "---\na: &x 1\nb: 2\n---\n");
    gives("---\na: &x 1\nb: 3\n---\n", set("a", json!(2)), "---\na: 2\nb: 3\n---\n");
    gives("---\na: 1", set("a", json!(2)), "---\na: 2");
    let big = format!("---\na: {}\n---\n", "x".repeat(65_000));
    assert!(refused(&big, set("b", json!("y".repeat(1000)))).contains("too large"));
}
