//! Links of whole small vaults: the target of each, and the output of the tools.

use serde_json::{Value, json};
use vault_steward::index::links::resolver::resolve_among;
use vault_steward::note::path::VaultPath;

use super::vault::{TestVault, vault};

fn files(names: &[&str]) -> TestVault {
    let files: Vec<(&str, &str)> = names.iter().map(|name| (*name, "x")).collect();
    vault(&files)
}

/// The target of `link` in `source`, and other candidates.
fn leads(vault: &TestVault, source: &str, link: &str) -> Vec<String> {
    let source = VaultPath::from_disk(source).expect("sound");
    let found = resolve_among(&*vault.context.vault.catalogue(), &source, link);
    found.target.iter().chain(&found.others).map(|path| path.as_str().to_owned()).collect()
}

#[track_caller]
fn check(names: &[&str], source: &str, cases: &[(&str, &[&str])]) {
    let vault = files(names);
    for (link, expected) in cases {
        assert_eq!(leads(&vault, source, link), *expected, "[[{link}]] in {source} of {names:?}");
    }
}

#[test]
fn step_1_an_empty_link_is_the_note_itself() {
    check(&["a/b.md"], "a/b.md", &[("", &["a/b.md"])]);
}

#[test]
fn step_2_names_with_a_point_are_files_first_and_notes_then() {
    let names = ["v1.2.md", "x.png", "d/data.csv", "d/data.csv.md", "plain"];
    let cases: [(&str, &[&str]); 8] = [
        ("v1.2", &["v1.2.md"]),
        ("V1.2.MD", &["v1.2.md"]),
        ("X.PNG", &["x.png"]),
        ("x", &[]),
        ("data.csv", &["d/data.csv"]),
        ("data.csv.md", &["d/data.csv.md"]),
        ("plain", &[]),
        ("none.txt", &[]),
    ];
    check(&names, "s.md", &cases);
}

#[test]
fn step_2_lower_case_is_that_of_javascript() {
    let names = ["ΟΔΟΣ.md", "Größe.md", "İstanbul.md", "ſ.md", "e\u{301}.md"];
    let cases: [(&str, &[&str]); 11] = [
        ("İstanbul", &["İstanbul.md"]),
        ("İSTANBUL.md", &["İstanbul.md"]),
        ("i\u{307}stanbul", &["İstanbul.md"]),
        ("istanbul", &[]),
        ("οδος", &["ΟΔΟΣ.md"]),
        ("οδοσ", &["ΟΔΟΣ.md"]),
        ("ΟΔΟΣ.md", &["ΟΔΟΣ.md"]),
        ("GRÖSSE", &[]),
        ("GRÖßE", &["Größe.md"]),
        ("s", &[]),
        ("É", &["e\u{301}.md"]),
    ];
    check(&names, "x.md", &cases);
}

/// Letters whose lower case is longer, or differs from their folded form, or that fold to a
/// capital.
#[test]
fn step_2_every_letter_names_its_own_file() {
    for letter in [
        "İ", "I", "i", "ı", "i\u{307}", "ẞ", "ß", "ŉ", "ǰ", "J\u{30c}", "Σ", "ς", "σ", "Ꭰ", "ꭰ",
        "Ᏸ", "ᏸ", "\u{212a}", "\u{212b}", "Å", "ſ", "ᲀ", "µ", "\u{345}", "ϴ", "ᾼ", "ǅ", "Ω", "ﬁ",
        "Ⅷ", "𐐀", "Ա",
    ] {
        let (name, spelt) = (format!("a{letter}b.md"), format!("a{letter}b"));
        check(&[&name], "x.md", &[(&spelt, &[&name]), (&name, &[&name])]);
    }
    let names = ["İ.md", "i\u{307}.md"];
    check(&names, "s.md", &[("İ", &names[..1]), ("i\u{307}", &names[1..])]);
}

#[test]
fn step_3_a_bare_name_that_is_alone_is_found_anywhere() {
    check(&["a/b/Note.md"], "c/s.md", &[("note", &["a/b/Note.md"]), ("Note.md", &["a/b/Note.md"])]);
}

#[test]
fn step_4_dots_count_from_the_notes_folder_and_then_do_not() {
    let names = ["a/n.md", "a/b/n.md", "c/n.md", "n.md"];
    let cases: [(&str, &[&str]); 7] = [
        ("./n", &["a/b/n.md"]),
        ("../n", &["a/n.md"]),
        ("../../c/n", &["c/n.md"]),
        ("../../n.md", &["n.md"]),
        ("./../b/N", &["a/b/n.md"]),
        ("../c/n", &["c/n.md"]),
        ("./x/n", &[]),
    ];
    check(&names, "a/b/s.md", &cases);
}

#[test]
fn step_5_a_leading_slash_is_the_vault_and_nothing_else() {
    let cases: [(&str, &[&str]); 3] =
        [("/a/n", &["a/n.md"]), ("/n", &[]), ("/A/N.md", &["a/n.md"])];
    check(&["a/n.md", "b/n.md"], "b/s.md", &cases);
}

#[test]
fn step_6_exact_path_own_folder_shortest_path_alphabet() {
    check(&["n.md", "a/n.md"], "a/s.md", &[("n", &["n.md"])]);
    let names = ["a/b/c/n.md", "z/n.md", "y/n.md", "longer/n.md"];
    check(&names, "a/s.md", &[("n", &["a/b/c/n.md", "y/n.md", "z/n.md", "longer/n.md"])]);
    check(&names, "s.md", &[("n", &["y/n.md", "z/n.md", "a/b/c/n.md", "longer/n.md"])]);
    check(&names, "s.md", &[("c/N", &["a/b/c/n.md"]), ("b/n", &[])]);
    check(&["ab/n.md", "c/n.md"], "s.md", &[("b/n", &["ab/n.md"])]);
    check(&["x/b/n.md", "b/n.md"], "s.md", &[("b/n", &["b/n.md"])]);
}

#[test]
fn folders_and_hidden_files_are_never_led_to() {
    let vault = vault(&[("n.md/", ""), (".hidden/n.md", "x"), (".trash/q.md", "x")]);
    assert!(leads(&vault, "s.md", "n").is_empty());
    assert!(leads(&vault, "s.md", "q").is_empty());
}

#[test]
fn a_note_tells_its_links_and_who_links_to_it() {
    let vault = vault(&[
        (
            "a.md",
            "---\nup: \"[[b]]\"\n---\n# A\nsee [[B#h|x]], ![[p.png]] and [t](c%20d.md)\n[[no]] `[[b]]` [w](https://x)",
        ),
        ("b.md", "back to [[a]] and [[A|again]]\n%% [[a]] %%\n"),
        ("c d.md", "nothing"),
        ("p.png", "x"),
        ("m.canvas", r#"{"nodes":[{"type":"file","file":"a.md"},{"type":"text","text":"[[b]]"}]}"#),
        ("q.base", "filters:\n  - link(\"a\")\n"),
    ]);
    let found = vault.ok("get_links", json!({"path": "A"}));
    let outgoing: Vec<Value> = found["outgoing"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|link| json!([link["link"], link["subpath"], link["line"], link["target"]]))
        .collect();
    assert_eq!(
        outgoing,
        [
            json!(["b", "", 2, "b.md"]),
            json!(["B", "#h", 5, "b.md"]),
            json!(["p.png", "", 5, "p.png"]),
            json!(["c d.md", "", 5, "c d.md"]),
            json!(["no", "", 6, null]),
        ]
    );
    assert_eq!(found["unresolved"], json!(["no"]));
    assert_eq!(
        found["backlinks"],
        json!([
            {"path": "b.md", "links": 3, "lines": [
                {"line": 1, "text": "back to [[a]] and [[A|again]]"},
                {"line": 2, "text": "%% [[a]] %%"}
            ]},
            {"path": "m.canvas", "links": 1, "lines": [
                {"line": 0, "text": "canvas file `a.md`"}
            ]}
        ])
    );
    assert_eq!(found["mentions"][0]["line"], 2);
    let text = vault.text("get_links", json!({"path": "b.md"}));
    assert!(text.contains("  m.canvas (1 link)\n    node 1: canvas card `b`"), "{text}");
    let text = vault.text("get_links", json!({"path": "p.png"}));
    assert!(text.contains("linked from 1 file\n  a.md (1 link)\n    5: see"), "{text}");
}

#[test]
fn what_changes_is_seen_at_once() {
    let vault = vault(&[("a.md", "[[b]]"), ("b.md", "x"), ("d/c.md", "x")]);
    let sources = |path: &str| -> Vec<String> {
        let found = vault.ok("get_links", json!({"path": path}));
        let found = found["backlinks"].as_array().expect("a list").clone();
        found.iter().map(|source| source["path"].as_str().unwrap_or_default().into()).collect()
    };
    assert_eq!(sources("b"), ["a.md"]);
    vault.ok("write_file", json!({"path": "new.md", "content": "[[B]] [[c]]"}));
    assert_eq!(sources("b"), ["a.md", "new.md"]);
    assert_eq!(sources("d/c"), ["new.md"]);
    // Another program's change, without a watcher.
    vault.put("a.md", "no more links here");
    assert_eq!(sources("b"), ["new.md"]);
    // A second file with the name would capture the link; it is rewritten.
    vault.ok("write_file", json!({"path": "c.md", "content": "x", "create": true}));
    assert_eq!(sources("d/c"), ["new.md"]);
    assert_eq!(sources("c.md"), [""; 0]);
    vault.ok("write_file", json!({"path": "f/in.md", "content": "[[b]]"}));
    assert_eq!(sources("b"), ["f/in.md", "new.md"]);
    vault.ok("move", json!({"source": "f", "destination": "g"}));
    assert_eq!(sources("b"), ["g/in.md", "new.md"]);
    vault.ok("delete", json!({"path": "g"}));
    assert_eq!(sources("b"), ["new.md"]);
}

#[test]
fn lists_of_the_broken_and_the_lonely() {
    let vault = vault(&[
        ("a.md", "[[b]] [[no]]\n[[a]]"),
        ("b.md", "[[gone.png]]"),
        ("f/c.md", "[[#h]] [[a]]"),
        ("f/d.md", "[[d]]"),
    ]);
    let list = |kind: &str, path: Option<&str>| -> Vec<String> {
        let found = vault.ok("list_links", json!({"kind": kind, "path": path}));
        let found = found["entries"].as_array().expect("a list").clone();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        found.iter().map(|e| format!("{}{}", text(&e["path"]), text(&e["link"]))).collect()
    };
    assert_eq!(list("unresolved", None), ["a.mdno", "b.mdgone.png"]);
    assert_eq!(list("unresolved", Some("f")), [""; 0]);
    assert_eq!(list("orphans", None), ["f/c.md", "f/d.md"]);
    assert_eq!(list("orphans", Some("a.md")), [""; 0]);
    assert_eq!(list("dead_ends", None), ["b.md", "f/d.md"]);
}

#[test]
fn tags_are_counted_with_their_parents() {
    let vault = vault(&[
        ("a.md", "---\ntags: [Garden, x]\n---\n#garden/soil and #garden #2026"),
        ("b.md", "#GARDEN/Beds `#no`\n"),
        ("c.md", "---\ntags: x\n---\n"),
    ]);
    let found = vault.ok("list_tags", json!({}));
    assert_eq!(
        found["tags"],
        json!([
            {"name": "Garden", "notes": 2, "uses": 4},
            {"name": "x", "notes": 2, "uses": 2},
            {"name": "GARDEN/Beds", "notes": 1, "uses": 1},
            {"name": "garden/soil", "notes": 1, "uses": 1}
        ])
    );
    assert_eq!(vault.ok("list_tags", json!({"path": "c"}))["total"], 1);
}

#[test]
fn properties_keep_their_order_and_faults_are_reported() {
    let vault = vault(&[
        ("a.md", "\u{feff}---\nz: 1\na: [x, \"[[b]]\"]\nd: 2026-01-02\n---\n#t"),
        ("bad.md", "---\na: b: c\n---\ntext #t"),
        ("none.md", "x"),
    ]);
    let found = vault.ok("get_properties", json!({"path": "a"}));
    assert_eq!(
        found["properties"],
        json!([
            {"name": "z", "value": 1, "line": 2},
            {"name": "a", "value": ["x", "[[b]]"], "line": 3},
            {"name": "d", "value": "2026-01-02", "line": 4}
        ])
    );
    let bad = vault.ok("get_properties", json!({"path": "bad"}));
    assert!(bad["fault"].as_str().is_some_and(|fault| fault.starts_with("line 2 ")), "{bad}");
    assert_eq!(bad["tags"], json!(["t"]));
    assert_eq!(vault.ok("get_properties", json!({"path": "none"}))["has_frontmatter"], false);
}

#[test]
fn what_cannot_be_read_is_counted() {
    let vault = TestVault::new(&[("a.md", "[[b]]"), ("b.md", "x"), ("m.canvas", "{")], |place| {
        std::fs::write(place.join("bin.md"), b"\xff\xfe\0").expect("written");
    });
    let found = vault.ok("get_links", json!({"path": "b"}));
    assert_eq!(found["unknown_files"], 2);
    assert_eq!(found["total_backlinks"], 1);
}

#[test]
fn questions_and_changes_at_once_end_and_agree() {
    let vault = vault(&[("t.md", "x"), ("f/a.md", "[[t]]")]);
    std::thread::scope(|scope| {
        for number in 0..3 {
            let vault = &vault;
            scope.spawn(move || {
                for round in 0..15 {
                    let note = format!("n{number}-{round}.md");
                    vault.ok("write_file", json!({"path": note, "content": "[[T]] #x"}));
                }
            });
            scope.spawn(move || {
                for _ in 0..15 {
                    vault.ok("get_links", json!({"path": "t"}));
                    vault.ok("list_links", json!({"kind": "orphans"}));
                    vault.ok("list_tags", json!({}));
                }
            });
        }
    });
    assert_eq!(vault.ok("get_links", json!({"path": "t"}))["total_backlinks"], 46);
    assert_eq!(vault.ok("list_tags", json!({}))["tags"][0]["notes"], 45);
}

#[test]
fn a_link_over_two_lines_counts_at_its_first_line() {
    let vault = vault(&[("a.md", "\u{feff}x\r\n\r\n[t\r\nu](b.md)\r\n"), ("b.md", "")]);
    let found = vault.ok("get_links", json!({"path": "b"}));
    assert_eq!(found["backlinks"][0]["lines"], json!([{"line": 3, "text": "[t"}]));
}
