//! `set_properties` on real notes; all forms of text are tested with `note/frontmatter/edit`.

use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode;

use crate::vault::vault;

#[test]
fn a_change_shows_its_diff_and_leaves_the_rest() {
    let text = "---\n# about\nStatus: 'open' # of two\ntags: [a]\n---\n# Body\r\nmixed\n";
    let vault = vault(&[("Projects/Garden.md", text), ("other.md", "x")]);
    let read = vault.ok("get_properties", json!({"path": "projects/garden"}));
    let answer = vault.ok(
        "set_properties",
        json!({
            "path": "projects/garden",
            "set": {"status": "done", "due": "2026-11-30", "link": "[[other]]", "count": 2, "ok": true},
            "remove": ["Tags", "absent"],
            "expected_revision": read["revision"],
        }),
    );
    let new = "---\n# about\nStatus: 'done' # of two\ncount: 2\ndue: 2026-11-30\nlink: \
               \"[[other]]\"\nok: true\n---\n# Body\r\nmixed\n";
    assert_eq!(vault.content("Projects/Garden.md"), new);
    assert_eq!(answer["path"], "Projects/Garden.md");
    assert_eq!(answer["set"], json!(["count", "due", "link", "ok", "Status"]));
    assert_eq!(answer["removed"], json!(["tags"]));
    assert_eq!(answer["unchanged"], json!(["absent"]));
    assert_eq!(answer["previous_revision"], read["revision"]);
    assert!(answer["change_set"].is_u64());
    let diff = answer["diff"].as_str().expect("a text");
    assert!(diff.contains("-Status: 'open' # of two\n") && diff.contains("+count: 2\n"), "{diff}");
    let read = vault.ok("get_properties", json!({"path": "Projects/Garden.md"}));
    assert_eq!(read["revision"], answer["revision"]);
    let links = vault.ok("get_links", json!({"path": "other"}));
    assert_eq!(links["backlinks"][0]["path"], "Projects/Garden.md", "{links}");
}

#[test]
fn setting_a_present_value_is_no_change() {
    let text = "---\na: 1\nb: [x]\n---\n";
    let vault = vault(&[("n.md", text), ("plain.md", "text")]);
    let before = vault.snapshot();
    let arguments = json!({"path": "n", "set": {"A": 1, "b": ["x"]}, "remove": ["c"]});
    let answer = vault.ok("set_properties", arguments.clone());
    assert_eq!(answer["change_set"], Value::Null);
    assert_eq!(answer["unchanged"], json!(["a", "b", "c"]));
    assert_eq!(answer["revision"], answer["previous_revision"]);
    assert!(vault.text("set_properties", arguments).starts_with("nothing to change in `n.md`"));
    vault.ok("set_properties", json!({"path": "plain", "remove": ["c"]}));
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn a_block_comes_and_goes() {
    let vault = vault(&[("bom.md", "\u{feff}body\r\n"), ("n.md", "---\na: 1\n---\nbody")]);
    vault.ok("set_properties", json!({"path": "bom", "set": {"tags": "#x"}}));
    assert_eq!(vault.content("bom.md"), "\u{feff}---\r\ntags:\r\n  - x\r\n---\r\nbody\r\n");
    vault.ok("set_properties", json!({"path": "n", "remove": ["A"]}));
    assert_eq!(vault.content("n.md"), "body");
}

#[test]
fn every_kind_of_value_comes_back() {
    let vault = vault(&[("n.md", "body")]);
    let texts = [
        "yes",
        "1.0",
        "a: b",
        "[[Link]]",
        "#tag",
        "two\nlines",
        " x ",
        "",
        "null",
        "~",
        "- a",
        "a #b",
        "it's \"so\"",
        "\u{feff}\u{2028}\u{7f}",
        "🌱",
        "C:\\x",
        "2026-11-21",
        "@a",
        "*a",
    ];
    for text in texts {
        let list = json!([text, 5, true, null]);
        vault.ok("set_properties", json!({"path": "n", "set": {"one": text, "list": list}}));
        let read = vault.ok("get_properties", json!({"path": "n"}));
        let properties = read["properties"].as_array().expect("a list");
        let value = |name| &properties.iter().find(|p| p["name"] == name).expect("set")["value"];
        assert_eq!(value("one"), text, "{}", vault.content("n.md"));
        assert_eq!(*value("list"), list, "{}", vault.content("n.md"));
    }
}

#[test]
fn what_cannot_be_changed_is_left_and_said() {
    let wide = b"\xff\xfe-\0".to_vec();
    let vault = crate::vault::TestVault::new(
        &[
            ("broken.md", "---\na: [x\n---\nbody"),
            ("twice.md", "---\na: 1\na: 2\n---\n"),
            ("open.md", "---\na: 1"),
            ("n.md", "text"),
            ("board.canvas", "{}"),
        ],
        |place| std::fs::write(place.join("wide.md"), &wide).expect("written"),
    );
    let before = vault.snapshot();
    let set = json!({"a": 5, "b": 6});
    for (path, code, says) in [
        ("broken.md", ErrorCode::InvalidInput, "cannot be read"),
        ("twice.md", ErrorCode::InvalidInput, "second time"),
        ("open.md", ErrorCode::InvalidInput, "no second `---`"),
        ("board.canvas", ErrorCode::InvalidInput, "is not a note"),
        ("wide.md", ErrorCode::BinaryFile, "UTF-16"),
        ("absent.md", ErrorCode::NotFound, "does not exist"),
    ] {
        let error = vault.err("set_properties", json!({"path": path, "set": set}), code);
        assert!(error.message.contains(says) && error.hint.is_some(), "{}", error.text());
    }
    for arguments in [
        json!({"path": "n"}),
        json!({"path": "n", "set": {"a": {"b": 1}}}),
        json!({"path": "n", "set": {"": 1}}),
        json!({"path": "n", "set": {"tags": ["a b"]}}),
        json!({"path": "n", "set": {"a": 1}, "remove": ["A"]}),
        json!({"path": "n", "set": {"a": 1}, "expected_revision": "nonsense"}),
    ] {
        vault.err("set_properties", arguments, ErrorCode::InvalidInput);
    }
    let read = vault.ok("read_file", json!({"path": "n"}));
    vault.put("n.md", "another");
    let stale = json!({"path": "n", "set": {"a": 1}, "expected_revision": read["revision"]});
    vault.err("set_properties", stale, ErrorCode::StaleRevision);
    vault.put("n.md", "text");
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn removing_a_missing_property_lists_the_present_ones() {
    let vault = vault(&[("n.md", "---\na: 1\nDue: x\n---\n"), ("plain.md", "text")]);
    let remove = |path: &str, names: Value| {
        vault.text("set_properties", json!({"path": path, "remove": names, "set": {}}))
    };
    assert_eq!(
        remove("n", json!(["nope"])),
        "nothing to change in `n.md`: it has no property `nope` to remove; it has `a`, `Due`"
    );
    assert!(
        remove("plain", json!(["x"])).ends_with("it has no property `x` to remove; it has none")
    );
    let both = remove("n", json!(["nope", "due"]));
    assert!(both.contains("removed `Due`, not there to be removed: `nope`"), "{both}");
    let same = vault.text("set_properties", json!({"path": "n", "set": {"A": 1}}));
    assert_eq!(same, "nothing to change in `n.md`: it already has `a`");
}
