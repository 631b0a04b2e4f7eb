//! Links that follow renames: one test for each row of the table of rewrites.

use crate::abilities::{Ability, can};
use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode;

use super::vault::{TestVault, vault};

/// A vault with a setting for the form of links.
fn vault_with(format: &str, files: &[(&str, &str)]) -> TestVault {
    let app = format!(r#"{{"trashOption":"local","newLinkFormat":"{format}"}}"#);
    TestVault::new(files, |place| {
        std::fs::write(place.join(".obsidian/app.json"), app).expect("written");
    })
}

/// Moves `from` to `to` and returns the number of rewritten links.
#[track_caller]
fn moves(vault: &TestVault, from: &str, to: &str) -> u64 {
    let moved = vault.ok("move", json!({"source": from, "destination": to}));
    assert_eq!(moved["links"]["total_not_rewritten"], 0, "{moved}");
    moved["links"]["links"].as_u64().expect("a number")
}

/// A note `s.md` with the text `before`, after `from` was moved to `to` in a vault with `others`.
#[track_caller]
fn check(format: &str, others: &[&str], from: &str, to: &str, cases: &[(&str, &str)]) {
    let texts = |side: fn(&(&str, &str)) -> String| -> String {
        cases.iter().map(|case| side(case) + "\n\n").collect()
    };
    let before = texts(|case| case.0.to_owned());
    let mut files: Vec<(&str, &str)> = others.iter().map(|name| (*name, "x")).collect();
    files.push(("s.md", &before));
    let vault = vault_with(format, &files);
    moves(&vault, from, to);
    assert_eq!(vault.content("s.md"), texts(|case| case.1.to_owned()), "{format}: {from} to {to}");
}

#[test]
fn every_way_of_writing_a_link_keeps_its_own() {
    let cases = [
        ("[[Old]] and ![[old]]", "[[New name]] and ![[New name]]"),
        ("[[Old#Head#Sub|shown]]", "[[New name#Head#Sub|shown]]"),
        ("![[Old#^block|100x145]]", "![[New name#^block|100x145]]"),
        ("[[ Old |x]]", "[[ New name |x]]"),
        ("[[Old.md]] [[a/Old.MD|y]]", "[[New name.md]] [[New name.md|y]]"),
        ("[t](Old.md) ![i](a/Old.md#h)", "[t](New%20name.md) ![i](New%20name.md#h)"),
        ("[t](<a/Old.md#x y> \"title\")", "[t](<New name.md#x y> \"title\")"),
        ("[t](a/Old.md 'Old')", "[t](New%20name.md 'Old')"),
        ("[a\nb](Old)", "[a\nb](New%20name.md)"),
        ("|a|b|\n|-|-|\n|[[Old\\|x]]|[[Old]]|", "|a|b|\n|-|-|\n|[[New name\\|x]]|[[New name]]|"),
        ("%% [[Old]] %%", "%% [[New name]] %%"),
        ("> [!note] [[Old]]\n> - [[Old]]", "> [!note] [[New name]]\n> - [[New name]]"),
    ];
    check("shortest", &["a/Old.md"], "a/Old.md", "b/New name.md", &cases);
}

#[test]
fn code_math_html_and_text_stay() {
    let same = |text: &'static str| (text, text);
    let cases = [
        same("`[[Old]]` $[[Old]]$ Old"),
        same("```\n[[Old]]\n```"),
        same("```dataview\nlist from [[Old]]\n```"),
        same("<div>\n[[Old]]\n</div>"),
        same("[[#Old]] [[Older]] [[Old2]]"),
        same("[Old](https://x/Old.md) <https://x/[[Old]]>"),
        same("\\[[Old]]"),
    ];
    check("shortest", &["Old.md", "Older.md"], "Old.md", "New.md", &cases);
}

#[test]
fn the_text_of_a_link_follows_where_it_was_the_name() {
    let cases = [
        ("[Old](Old.md)", "[New](New.md)"),
        ("[a/Old](a/Old.md) [a/Old.md](a/Old.md)", "[b/New](New.md) [b/New.md](New.md)"),
        ("[old](Old.md) [Old one](Old.md)", "[old](New.md) [Old one](New.md)"),
        ("![Old](Old.md)", "![Old](New.md)"),
        ("[[a/Old|Old]]", "[[New|New]]"),
        ("[[Old|Old]] [[a/Old|old]]", "[[New|Old]] [[New|old]]"),
    ];
    check("shortest", &["a/Old.md"], "a/Old.md", "b/New.md", &cases);
    // In the root the name is also the path, and the display text is the name.
    let cases = [("[Old](Old.md) [Old.md](Old.md)", "[Old](d/Old.md) [Old.md](d/Old.md)")];
    check("absolute", &["Old.md", "c/Old.md"], "Old.md", "d/Old.md", &cases);
}

#[test]
fn the_form_is_the_one_that_is_set() {
    let files = ["a/Old.md", "d/New.md", "a/b/deep.md"];
    let cases = |link: &'static str| [("[[a/Old]] [x](a/Old.md)", link)];
    let unique = |link: &'static str| cases(link);
    check("shortest", &["a/Old.md"], "a/Old.md", "a/b/N.md", &unique("[[N]] [x](N.md)"));
    check("shortest", &files, "a/Old.md", "c/New.md", &unique("[[c/New]] [x](c/New.md)"));
    check("absolute", &files, "a/Old.md", "c/N.md", &unique("[[c/N]] [x](c/N.md)"));
    check("relative", &files, "a/Old.md", "c/N.md", &unique("[[c/N]] [x](c/N.md)"));
    let vault = vault_with("relative", &[("a/b/s.md", "[[t]] [[n]]"), ("t.md", ""), ("n.md", "")]);
    moves(&vault, "t.md", "c/u.md");
    assert_eq!(vault.content("a/b/s.md"), "[[../../c/u]] [[n]]");
    moves(&vault, "c/u.md", "a/b/v.md");
    assert_eq!(vault.content("a/b/s.md"), "[[v]] [[n]]");
}

#[test]
fn only_links_whose_target_would_differ_are_touched() {
    for format in ["shortest", "relative", "absolute"] {
        let files = [("s.md", "[[Note]] [[b/Note]]"), ("b/Note.md", "[[s]] [[#x]]")];
        let vault = vault_with(format, &files);
        // The name stays unique, and the end of the path matches.
        assert_eq!(moves(&vault, "b/Note.md", "a/b/Note.md"), 0);
        assert_eq!(vault.content("s.md"), files[0].1);
        assert_eq!(vault.content("a/b/Note.md"), files[1].1);
        // So does a change of case only.
        assert_eq!(moves(&vault, "a/b/Note.md", "a/b/NOTE.md"), 0);
        assert_eq!(moves(&vault, "a", "A"), 0);
        assert_eq!(vault.content("s.md"), files[0].1);
    }
}

#[test]
fn relative_links_in_a_moved_note_are_rewritten() {
    let text = "[[./n]] [x](../top.md) ![[p.png]] [[n]] [[gone]] [[../gone]]";
    let vault = vault(&[
        ("a/s.md", text),
        ("a/n.md", ""),
        ("c/d/n.md", ""),
        ("top.md", ""),
        ("c/top.md", ""),
        ("a/p.png", ""),
    ]);
    assert_eq!(moves(&vault, "a/s.md", "c/d/s.md"), 3);
    let now = "[[a/n]] [x](top.md) ![[p.png]] [[a/n]] [[gone]] [[../gone]]";
    assert_eq!(vault.content("c/d/s.md"), now);
}

#[test]
fn a_name_that_is_taken_twice_makes_links_whole_paths() {
    let vault = vault(&[("x/Note.md", ""), ("s.md", "[[Note]] ![[Note#h|t]]"), ("o.md", "[[o]]")]);
    assert_eq!(moves(&vault, "o.md", "Note.md"), 3);
    assert_eq!(vault.content("s.md"), "[[x/Note]] ![[x/Note#h|t]]");
    assert_eq!(vault.content("Note.md"), "[[Note]]");
}

#[test]
fn a_file_that_goes_away_does_not_hand_its_links_to_its_namesake() {
    let vault = vault(&[("Note.md", ""), ("x/Note.md", ""), ("s.md", "[[Note]] [[x/Note]]")]);
    assert_eq!(moves(&vault, "Note.md", "Other.md"), 1);
    assert_eq!(vault.content("s.md"), "[[Other]] [[x/Note]]");
}

#[test]
fn properties_keep_their_quotes_and_stay_yaml() {
    if !can(Ability::AnyName) {
        return;
    }
    let text = "---\n# kept\nup: \"[[Old]]\"  # why\nlist:\n  - '[[a/Old|Old]]'\n  - \"[t](a/Old.md)\"\n\
                flow: [\"[[Old#h]]\", 'x']\nplain: [[Old]]\nprose: \"see [[Old]]\"\n---\n";
    for (name, double, single, percent) in [
        ("New", "New", "New", "New.md"),
        ("It's: a test", "It's: a test", "It''s: a test", "It's:%20a%20test.md"),
        ("Say \"so\"", "Say \\\"so\\\"", "Say \"so\"", "Say%20\\\"so\\\".md"),
    ] {
        let (vault, to) = (vault(&[("s.md", text), ("a/Old.md", "")]), format!("a/{name}.md"));
        if name.contains([':', '"']) {
            // Such a name is refused for a new file, but a vault may contain it: when its folder
            // moves, links to it are rewritten.
            vault.err(
                "move",
                json!({"source": "a/Old.md", "destination": to}),
                ErrorCode::InvalidPath,
            );
            odd_name(&to, double, single, percent);
            continue;
        }
        moves(&vault, "a/Old.md", &to);
        let expected = format!(
            "---\n# kept\nup: \"[[{double}]]\"  # why\nlist:\n  - '[[{single}|{single}]]'\n  - \"[t]({percent})\"\n\
             flow: [\"[[{double}#h]]\", 'x']\nplain: [[Old]]\nprose: \"see [[Old]]\"\n---\n"
        );
        assert_eq!(vault.content("s.md"), expected);
        let read = vault.ok("get_properties", json!({"path": "s"}));
        assert_eq!(read["properties"][0]["value"], format!("[[{name}]]"), "{read}");
    }
}

/// As in the public Pokerole vault: `Evolutions: - Pokemon: '[[SRD-Togetic]]'`.
#[test]
fn links_in_nested_properties_are_links() {
    let text = "---\nobjs:\n- to: \"[[Old]]\" # why\n  by: ['[[a/Old#h|x]]', {z: \"[[old]]\"}]\nobj:\n  sub:\n    \
                deep: >-\n      [[Old]]\n  see: \"see [[Old]]\"\n  \"[[Old]]\": key\n---\n";
    let vault = vault(&[("s.md", text), ("a/Old.md", "")]);
    let links = vault.ok("get_links", json!({"path": "a/Old.md"}));
    assert_eq!(links["backlinks"][0]["path"], "s.md", "{links}");
    let found = vault.ok("get_links", json!({"path": "s.md"}));
    assert_eq!(found["outgoing"].as_array().map(Vec::len), Some(4), "{found}");
    assert_eq!(moves(&vault, "a/Old.md", "b/New.md"), 4);
    let expected = "---\nobjs:\n- to: \"[[New]]\" # why\n  by: ['[[New#h|x]]', {z: \"[[New]]\"}]\nobj:\n  sub:\n    \
                deep: >-\n      [[New]]\n  see: \"see [[Old]]\"\n  \"[[Old]]\": key\n---\n";
    assert_eq!(vault.content("s.md"), expected);
}

/// A note in a vault with a file of an odd name, before and after its folder is moved; the name in
/// quotes of each kind, and in a Markdown link.
#[cfg(unix)]
fn odd_name(path: &str, double: &str, single: &str, percent: &str) {
    let text = |folder: &str| {
        format!(
            "---\nup: \"[[{folder}/{double}]]\"  # why\nlist:\n  - '[[{folder}/{single}|x]]'\n  \
             - \"[t]({folder}/{percent})\"\n---\n[t]({folder}/{})\n",
            percent.replace('\\', "")
        )
    };
    let vault = vault_with("absolute", &[("s.md", &text("a")), (path, "")]);
    assert_eq!(moves(&vault, "a", "b"), 4);
    assert_eq!(vault.content("s.md"), text("b"));
}

/// No such file can exist there.
#[cfg(not(unix))]
fn odd_name(_: &str, _: &str, _: &str, _: &str) {}

#[test]
fn canvases_change_in_their_strings_only() {
    let canvas = "{\n\t\"nodes\":[\n\t\t{\"id\":\"1\",\"type\":\"file\",\"file\":\"a/Old.md\",\"subpath\":\"#h\"},\n\
        \t\t{\"type\":\"text\",\"text\":\"\\u00e9 \\\"q\\\"\\n[[Old]] [t](a\\/Old.md) `[[Old]]`\",\"x\":1.50},\n\
        \t\t{\"type\":\"group\",\"label\":\"a/Old.md\",\"background\":\"a/p.png\"}\n\t],\"edges\":[]\n}";
    let vault = vault(&[("m.canvas", canvas), ("a/Old.md", ""), ("a/p.png", "")]);
    assert_eq!(moves(&vault, "a", "b \u{e9}"), 3);
    let expected = canvas
        .replacen("a/Old.md", "b é/Old.md", 1)
        .replace("\"background\":\"a/p.png\"", "\"background\":\"b é/p.png\"")
        .replace("a\\/Old.md", "Old.md");
    assert_eq!(vault.content("m.canvas"), expected);
    // A canvas names whole paths, so a change of case alone matters there.
    assert_eq!(moves(&vault, "b é/Old.md", "b é/OLD.md"), 1);
    assert!(vault.content("m.canvas").contains("b é/OLD.md"));
}

#[test]
fn a_folder_moves_with_all_that_is_below_it() {
    let vault = vault(&[
        ("f/a.md", "[[b]] [[f/g/c]] [[./b]] [[out]]"),
        ("f/b.md", "![[f/p.png]]"),
        ("f/g/c.md", "[up](../a.md)"),
        ("f/p.png", "x"),
        ("out.md", "[[f/a|a]] [[f/g/c#h]] [x](f/p.png)"),
    ]);
    let before = vault.snapshot();
    let moved = vault.ok("move", json!({"source": "f", "destination": "x/y"}));
    assert_eq!(vault.content("out.md"), "[[a|a]] [[c#h]] [x](p.png)");
    assert_eq!(vault.content("x/y/a.md"), "[[b]] [[c]] [[./b]] [[out]]");
    assert_eq!(vault.content("x/y/b.md"), "![[p.png]]");
    assert_eq!(vault.content("x/y/g/c.md"), "[up](../a.md)");
    assert_eq!((&moved["links"]["links"], &moved["links"]["files"]), (&json!(5), &json!(3)));
    moves(&vault, "x/y", "f");
    assert_ne!(vault.snapshot(), before, "the short form is not lengthened again");
    assert_eq!(vault.ok("list_links", json!({"kind": "unresolved"}))["total"], 0);
}

#[test]
fn attachments_and_points_in_names() {
    let cases = [
        ("![[p.png|200]] ![](a/p.png)", "![[q r.png|200]] ![](q%20r.png)"),
        ("[p](p.png) [p.png](p.png)", "[q r](q%20r.png) [q r.png](q%20r.png)"),
    ];
    check("shortest", &["a/p.png"], "a/p.png", "b/q r.png", &cases);
    // A bare `v1.2` would mean the file of that name.
    check("shortest", &["n.md", "v1.2"], "n.md", "v1.2.md", &[("[[n]]", "[[v1.2.md]]")]);
    let odd = [("[t](100%25%20(a).md) [t](<100% (a).md>)", "[t]($$%20a'b.md) [t](<$$ a'b.md>)")];
    let odd = odd.map(|(old, new)| (old, new.replace('$', "%24")));
    let odd = odd.each_ref().map(|(old, new)| (*old, new.as_str()));
    check("shortest", &["100% (a).md"], "100% (a).md", "$$ a'b.md", &odd);
    check("shortest", &["a.md"], "a.md", "大根.md", &[("[t](a.md)", "[t](大根.md)")]);
    let encoded = [("[t](%E5%A4%A7.md)", "[t](%E6%A0%B9.md)")];
    check("shortest", &["大.md"], "大.md", "根.md", &encoded);
}

#[test]
fn byte_order_marks_and_line_endings_stay() {
    let vault =
        vault(&[("s.md", "\u{feff}---\r\nup: '[[o]]'\r\n---\r\n[[o]]\r\nend"), ("o.md", "")]);
    moves(&vault, "o.md", "n.md");
    let now = "\u{feff}---\r\nup: '[[n]]'\r\n---\r\n[[n]]\r\nend";
    assert_eq!(vault.content("s.md"), now);
}

#[test]
fn files_that_cannot_be_edited_are_reported() {
    let vault = TestVault::new(&[("o.md", ""), ("q.base", "filters:\n  - link(\"o\")\n")], |at| {
        let wide: Vec<u8> = "\u{feff}[[o]]".encode_utf16().flat_map(u16::to_le_bytes).collect();
        std::fs::write(at.join("wide.md"), wide).expect("written");
        let broken = r#"{"nodes":[{"type":"file","file":"o.md"}"#;
        std::fs::write(at.join("broken.canvas"), broken).expect("written");
        std::fs::write(at.join("other.canvas"), r#"{"file":"other o.md""#).expect("written");
    });
    let moved = vault.ok("move", json!({"source": "o", "destination": "n.md"}));
    let left = &moved["links"]["not_rewritten"][0];
    assert_eq!(left["path"], "wide.md");
    assert!(left["reason"].as_str().is_some_and(|why| why.contains("UTF-16")), "{moved}");
    assert_eq!(moved["links"]["unknown_files"], 1);
    let unknown = &moved["links"]["unknown"][0];
    assert_eq!((&unknown["path"], &unknown["link"]), (&json!("broken.canvas"), &json!("o.md")));
    let line = &moved["base_lines"][0];
    assert_eq!((&line["path"], &line["line"]), (&json!("q.base"), &json!(2)));
    assert_eq!(vault.content("q.base"), "filters:\n  - link(\"o\")\n");
}

#[test]
fn a_dry_run_shows_and_changes_nothing() {
    let vault = vault(&[("a.md", "one\n[[b]] x [[b]]\n"), ("b.md", "")]);
    let before = vault.snapshot();
    let arguments = json!({"source": "b", "destination": "c.md", "dry_run": true});
    let shown = vault.ok("move", arguments.clone());
    assert_eq!((&shown["moved"], &shown["change_set"]), (&json!(true), &Value::Null));
    assert_eq!(
        shown["links"]["rewritten"],
        json!([{"path": "a.md", "links": 2, "lines": [
            {"line": 2, "before": "[[b]] x [[b]]", "after": "[[c]] x [[c]]"}
        ]}])
    );
    let text = vault.text("move", arguments);
    assert!(text.starts_with("would move the file `b.md` to `c.md`\n2 links in 1 file would be"));
    assert_eq!(vault.snapshot(), before);
    vault.err(
        "move",
        json!({"source": "no", "destination": "c.md", "dry_run": true}),
        ErrorCode::NotFound,
    );
}

#[test]
fn a_new_file_takes_no_links_from_an_old_one() {
    let vault = vault(&[
        ("x/Note.md", ""),
        ("s.md", "[[Note]] [[dangling]]\n[[v1.2]]\n"),
        ("x/v1.2.md", ""),
    ]);
    let made =
        vault.ok("write_file", json!({"path": "Note.md", "content": "[[Note]]", "create": true}));
    assert_eq!(made["links"]["links"], 1);
    assert_eq!(vault.content("s.md"), "[[x/Note]] [[dangling]]\n[[v1.2]]\n");
    // A broken link may lead to a new note.
    let made = vault.ok("write_file", json!({"path": "dangling.md", "content": ""}));
    assert_eq!(made["links"]["links"], 0);
    vault.ok("write_file", json!({"path": "v1.2", "content": "", "create": true}));
    assert_eq!(vault.content("s.md"), "[[x/Note]] [[dangling]]\n[[x/v1.2]]\n");
}

#[test]
fn a_patch_that_makes_a_namesake_keeps_links_in_its_own_edits() {
    let vault = vault(&[("x/Note.md", ""), ("s.md", "[[note]]\nold\n"), ("t.md", "[[Note]]\n")]);
    let patch = "--- /dev/null\n+++ b/Note.md\n@@ -0,0 +1 @@\n+[[Note]]\n\
                 --- a/s.md\n+++ b/s.md\n@@ -1,2 +1,2 @@\n [[note]]\n-old\n+[[Note]]\n";
    let patched = vault.ok("apply_patch", json!({"patch": patch}));
    assert_eq!(vault.content("t.md"), "[[x/Note]]\n");
    assert_eq!(vault.content("s.md"), "[[x/Note]]\n[[Note]]\n");
    assert_eq!(vault.content("Note.md"), "[[Note]]\n");
    let read = vault.ok("read_file", json!({"path": "s.md"}));
    assert_eq!(patched["files"][1]["revision"], read["revision"]);
}

#[test]
fn a_deletion_says_what_leads_nowhere_now() {
    let vault = vault(&[
        ("d/a.md", "[[b]]"),
        ("d/b.md", ""),
        ("s.md", "[[a]] [[b]] [[b]]"),
        ("t.md", "[[t]]"),
    ]);
    let before = vault.content("s.md");
    let gone = vault.ok("delete", json!({"path": "d/a"}));
    assert_eq!((&gone["links_lost"], &gone["files_with_links_lost"]), (&json!(1), &json!(1)));
    let gone = vault.ok("delete", json!({"path": "d"}));
    assert_eq!((&gone["links_lost"], &gone["files_with_links_lost"]), (&json!(2), &json!(1)));
    assert_eq!(vault.content("s.md"), before);
    assert_eq!(vault.ok("delete", json!({"path": "t"}))["links_lost"], 0);
}

#[test]
fn a_move_that_cannot_be_made_changes_no_link() {
    let vault = vault(&[("a.md", "[[b]]"), ("b.md", ""), ("c/x.md", "")]);
    let before = vault.snapshot();
    vault.err("move", json!({"source": "b", "destination": "c/x.md"}), ErrorCode::AlreadyExists);
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn thousands_of_links_in_one_move() {
    let names: Vec<String> = (0..300).map(|number| format!("f/n{number}.md")).collect();
    let body: String =
        (0..20).map(|number| format!("[[f/n{number}]] [x](n{number}.md)\n")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), &*body)).collect();
    files.push(("out.md", &body));
    let mut vault = vault(&files);
    // More than may be moved without a person's approval.
    vault.context.origin.confirmed = true;
    assert_eq!(moves(&vault, "f", "g/h"), 301 * 20);
    assert_eq!(vault.ok("list_links", json!({"kind": "unresolved"}))["total"], 0);
}
