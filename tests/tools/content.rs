//! Reading, writing and editing: the resulting bytes (cases 47 to 60).

use serde_json::json;
use vault_steward::note::code::ErrorCode::{
    AlreadyExists, BinaryFile, InvalidInput, MultipleMatches, NoMatch, PatchFailed, StaleRevision,
    TooLarge,
};

use crate::abilities::{Ability, can};
use crate::vault::vault;

#[test]
fn reading_numbers_lines_and_pages() {
    let long = "x\n".repeat(4_500);
    let vault = vault(&[("a.md", "one\ntwo\r\nthree"), ("empty.md", ""), ("long.md", &long)]);
    let text = vault.text("read_file", json!({ "path": "a" }));
    assert_eq!(text, "a.md\n1: one\n2: two\n3: three\n[lines 1-3 of 3]");
    let part = vault.ok("read_file", json!({ "path": "a", "start_line": 2, "end_line": 2 }));
    assert_eq!((&part["content"], &part["total_lines"]), (&json!("two\n"), &json!(3)));
    let last = vault.ok("read_file", json!({ "path": "a", "start_line": -1 }));
    assert_eq!(last["content"], "three\n");
    let empty = vault.ok("read_file", json!({ "path": "empty" }));
    assert_eq!((&empty["total_lines"], &empty["end_line"]), (&json!(0), &json!(0)));
    let mut next = json!(1);
    let mut seen = 0;
    while !next.is_null() {
        let page = vault.ok("read_file", json!({ "path": "long", "start_line": next }));
        seen += page["content"].as_str().expect("text").lines().count();
        next = page["next_start_line"].clone();
    }
    assert_eq!(seen, 4_500);
    for (start, end) in [(0, 1), (4, 4), (3, 2), (-2, 1)] {
        let range = json!({ "path": "a", "start_line": start, "end_line": end });
        vault.err("read_file", range, InvalidInput);
    }
    vault.err("read_file", json!({ "path": "a", "lines": 3 }), InvalidInput);
    vault.err("read_file", json!({}), InvalidInput);
}

#[test]
fn a_page_is_no_longer_than_the_caller_takes() {
    let long: String = (1..=3_000).map(|n| format!("line {n} of a long note\n")).collect();
    let mut vault = vault(&[("long.md", &long)]);
    vault.context.max_chars = 6_000;
    let (mut next, mut seen) = (json!(1), String::new());
    while !next.is_null() {
        let arguments = json!({ "path": "long", "start_line": next });
        let text = vault.text("read_file", arguments.clone());
        assert!((4_000..=6_000).contains(&text.len()) || seen.len() + 6_000 > long.len());
        let page = vault.ok("read_file", arguments);
        seen.push_str(page["content"].as_str().expect("text"));
        next = page["next_start_line"].clone();
        let goes_on = next.as_u64().map(|next| format!("; go on with start_line {next}]"));
        assert!(goes_on.is_none_or(|words| text.ends_with(&words)), "{text}");
    }
    assert_eq!(seen, long);
}

#[test]
fn a_very_long_line_is_cut_and_the_answer_bounded() {
    let line = "ü".repeat(1_500_000);
    let many = format!("{}\n", "y".repeat(1_900)).repeat(200);
    let vault = vault(&[("a.md", &line), ("b.md", &many)]);
    let read = vault.ok("read_file", json!({ "path": "a" }));
    assert_eq!(read["cut_lines"], json!([1]));
    assert_eq!(read["content"].as_str().expect("text").chars().count(), 2_001);
    let read = vault.ok("read_file", json!({ "path": "b" }));
    assert!(read["next_start_line"].as_u64().expect("a number") < 60, "100 KB an answer");
}

#[test]
fn a_long_paragraph_is_read_to_its_end() {
    let long: String = (0..1_500).map(|n| format!("wörd{n} ")).collect();
    let note = format!("# Said\n\n{long}\n\nThe end.\n");
    let mut vault = vault(&[("said.md", &note)]);
    let text = vault.text("read_file", json!({ "path": "said" }));
    assert!(text.ends_with(
        "[lines 1-5 of 5]\n[1 line cut to 2000 characters; more of one with its number as \
         start_line, and start_character 2001]"
    ));
    vault.context.max_chars = 5_000;
    let line = note.lines().nth(2).expect("the long one").chars();
    let mut seen: String = line.clone().take(2_000).collect();
    let mut next = json!(2_001);
    let mut pages = 0;
    while !next.is_null() {
        let arguments = json!({ "path": "said", "start_line": 3, "start_character": next });
        let text = vault.text("read_file", arguments.clone());
        assert!(text.len() <= 5_000, "{}", text.len());
        let page = vault.ok("read_file", arguments);
        let goes_on = page["next_start_character"].as_u64();
        let words = |next| format!("; go on with start_line 3, start_character {next}]");
        assert!(goes_on.is_none_or(|next| text.ends_with(&words(next))), "{text}");
        assert_eq!(page["cut_lines"], if goes_on.is_some() { json!([3]) } else { json!([]) });
        assert_eq!(page["next_start_line"], if goes_on.is_some() { json!(null) } else { json!(4) });
        seen.push_str(page["content"].as_str().expect("text"));
        next = page["next_start_character"].clone();
        pages += 1;
    }
    assert_eq!(seen, format!("{}\n", line.as_str()));
    assert!(pages > 1, "{pages}");

    // Numbers that a client sends as floats are understood; a fraction of a line is invalid.
    let float = json!({ "path": "said", "start_line": 5.0, "end_line": -1.0 });
    assert_eq!(vault.ok("read_file", float)["content"], "The end.\n");
    vault.err("read_file", json!({ "path": "said", "start_line": 1.5 }), InvalidInput);

    // An empty line has one valid start position; positions beyond a line are errors.
    let piece = |line: i64, character: i64| json!({ "path": "said", "start_line": line, "start_character": character });
    assert_eq!(vault.ok("read_file", piece(2, 1))["content"], "\n");
    let error = vault.err("read_file", piece(5, 9), InvalidInput);
    assert!(error.message.contains("line 5 has 8 characters"), "{error}");
    vault.err("read_file", piece(5, 0), InvalidInput);
    vault.err("read_file", piece(6, 1), InvalidInput);
    let both = json!({ "path": "said", "start_line": 1, "end_line": 3, "start_character": 1 });
    vault.err("read_file", both, InvalidInput);
}

/// The shown part of a long line is incomplete: writing it back would remove the rest.
#[test]
fn a_line_that_was_cut_is_not_written_back() {
    let long: String = (0..1_000).map(|n| format!("wörd{n} ")).collect();
    let note = format!("# Said\n\n{long}\n");
    let vault = vault(&[("said.md", &note)]);
    let read = vault.ok("read_file", json!({ "path": "said" }));
    let (shown, revision) = (read["content"].as_str().expect("text"), &read["revision"]);
    let back = |content: &str| json!({ "path": "said", "content": content, "expected_revision": revision });
    let error = vault.err("write_file", back(&format!("New\n{shown}")), InvalidInput);
    assert!(error.message.contains("line 3 of `said.md`"), "{error}");
    assert!(
        error.hint.as_ref().is_some_and(|hint| hint.contains("start_character 2001")),
        "{error}"
    );
    let marked = vault.text("read_file", json!({ "path": "said" })).replace("3: ", "");
    let marked: String = marked.lines().filter(|line| line.contains("[cut]")).collect();
    vault.err("write_file", back(&marked), InvalidInput);
    let line = shown.lines().nth(2).expect("the long one");
    let edit =
        json!({ "path": "said", "replace_lines": { "start": 3, "end": 3 }, "content": line });
    vault.err("edit_file", edit, InvalidInput);
    assert_eq!(vault.content("said.md"), note);

    // The whole line, and a part that was requested, are written as usual.
    let rest: String = note.lines().nth(2).expect("it").chars().skip(2_000).collect();
    let edit = json!({ "path": "said", "old_text": rest, "new_text": "" });
    vault.ok("edit_file", edit);
    vault.ok("write_file", json!({ "path": "said", "content": format!("New\n{note}") }));
    assert_eq!(vault.content("said.md"), format!("New\n{note}"));
}

#[test]
fn the_error_for_binary_files_names_them() {
    let vault = vault(&[]);
    std::fs::write(vault.place.join("p.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").expect("written");
    std::fs::write(vault.place.join("bad.md"), b"ok\n\xff\xfe bad").expect("written");
    std::fs::write(vault.place.join("wide.md"), b"\xff\xfeh\0i\0\n\0").expect("written");
    let error = vault.err("read_file", json!({ "path": "p.png" }), BinaryFile);
    assert!(error.message.contains("PNG image"), "{error}");
    vault.err("read_file", json!({ "path": "bad" }), BinaryFile);
    let edit = |path: &str| json!({ "path": path, "insert_after_line": 0, "content": "x" });
    vault.err("edit_file", edit("bad.md"), BinaryFile);
    assert_eq!(vault.bytes("bad.md"), b"ok\n\xff\xfe bad");
    let wide = vault.ok("read_file", json!({ "path": "wide" }));
    assert_eq!((&wide["content"], &wide["encoding"]), (&json!("hi\n"), &json!("utf-16le")));
    vault.err("edit_file", edit("wide.md"), BinaryFile);
}

#[test]
fn huge_files_are_never_read_into_memory() {
    if !can(Ability::Sparse) {
        return;
    }
    let vault = vault(&[]);
    let file = std::fs::File::create(vault.place.join("huge.md")).expect("made");
    file.set_len(1 << 40).expect("sparse");
    drop(file);
    let error = vault.err("read_file", json!({ "path": "huge" }), TooLarge);
    assert_eq!(error.data.expect("data")["size"], 1_u64 << 40);
    let edit = json!({ "path": "huge", "insert_after_line": -1, "content": "x" });
    vault.err("edit_file", edit, TooLarge);
    let info = vault.ok("get_file_info", json!({ "path": "huge" }));
    assert!(info["lines"].is_null());
    let found = vault.ok("search_files", json!({ "pattern": "x" }));
    assert_eq!(found["files"], json!([]));
}

#[test]
fn edits_keep_every_other_byte() {
    let vault = vault(&[]);
    let original =
        b"\xef\xbb\xbf---\r\ntitle: x\r\n---\r\nalpha\r\nbeta\nlone\rcr\r\nno newline at end";
    std::fs::write(vault.place.join("a.md"), original).expect("written");
    let edited = vault.ok(
        "edit_file",
        json!({ "path": "a", "old_text": "alpha\nbeta", "new_text": "gamma\nbeta" }),
    );
    assert_eq!(edited["replacements"], 1);
    let expected =
        b"\xef\xbb\xbf---\r\ntitle: x\r\n---\r\ngamma\r\nbeta\nlone\rcr\r\nno newline at end";
    assert_eq!(vault.bytes("a.md"), expected);
    vault.ok("edit_file", json!({ "path": "a", "insert_after_line": 1, "content": "tags: []" }));
    assert!(vault.bytes("a.md").starts_with(b"\xef\xbb\xbf---\r\ntags: []\r\ntitle: x\r\n"));
    vault.ok("edit_file", json!({ "path": "a", "delete_lines": { "start": 2, "end": 2 } }));
    assert_eq!(vault.bytes("a.md"), expected);
    vault.ok("edit_file", json!({ "path": "a", "old_string": "gamma", "new_string": "alpha" }));
    assert_eq!(vault.bytes("a.md"), original);
}

#[test]
fn an_edit_that_does_not_fit_changes_nothing() {
    let vault = vault(&[("a.md", "- [ ] milk\n- [ ] eggs\n- [ ] milk\n")]);
    let before = vault.snapshot();
    let edit = |old: &str, new: &str| json!({ "path": "a", "old_text": old, "new_text": new });
    let error = vault.err("edit_file", edit("- [ ] milk", "- [x] milk"), MultipleMatches);
    assert!(error.message.contains("line 1, 3"), "{error}");
    let error = vault.err("edit_file", edit("- [ ] egg salad", "x"), NoMatch);
    assert!(error.message.contains("line 2") || error.text().contains("eggs"), "{error}");
    for (old, new) in [("", "x"), ("eggs", "eggs")] {
        vault.err("edit_file", edit(old, new), InvalidInput);
    }
    for bad in [
        json!({ "path": "a" }),
        json!({ "path": "a", "old_text": "eggs" }),
        json!({ "path": "a", "new_text": "eggs" }),
        json!({ "path": "a", "insert_after_line": 1 }),
        json!({ "path": "a", "insert_after_line": 9, "content": "x" }),
        json!({ "path": "a", "insert_before_line": 0, "content": "x" }),
        json!({ "path": "a", "delete_lines": { "start": 3, "end": 2 } }),
        json!({ "path": "a", "delete_lines": { "start": 1, "end": 1 }, "insert_after_line": 1, "content": "x" }),
        json!({ "path": "a", "old_text": "eggs", "new_text": "x", "expected_revision": "nonsense" }),
    ] {
        vault.err("edit_file", bad, InvalidInput);
    }
    assert_eq!(vault.snapshot(), before);
    vault.ok(
        "edit_file",
        json!({ "path": "a", "old_text": "milk", "new_text": "tea", "replace_all": true }),
    );
    assert_eq!(vault.content("a.md"), "- [ ] tea\n- [ ] eggs\n- [ ] tea\n");
}

#[test]
fn revisions_guard_against_changes_in_between() {
    let vault = vault(&[("a.md", "one\n")]);
    let revision = vault.ok("read_file", json!({ "path": "a" }))["revision"].clone();
    vault.put("a.md", "one, from an editor\n");
    let error = vault.err(
        "edit_file",
        json!({ "path": "a", "old_text": "one", "new_text": "two", "expected_revision": revision }),
        StaleRevision,
    );
    vault.err(
        "write_file",
        json!({ "path": "a", "content": "two", "expected_revision": revision }),
        StaleRevision,
    );
    assert_eq!(vault.content("a.md"), "one, from an editor\n");
    // The error has the present revision: one retry is enough.
    let current = error.data.expect("data")["revision"].clone();
    let write = json!({ "path": "a", "content": "two", "expected_revision": current });
    let written = vault.ok("write_file", write);
    assert_eq!(written["previous_revision"], current);
    std::fs::remove_file(vault.place.join("a.md")).expect("removed");
    let gone = json!({ "path": "a.md", "content": "x", "expected_revision": current });
    vault.err("write_file", gone, StaleRevision);
    assert!(!vault.exists("a.md"), "a deleted note does not rise again");
}

#[test]
fn a_patch_applies_whole_or_not_at_all() {
    let vault = vault(&[("a.md", "1\n2\n3\n"), ("b.md", "x\ny\n"), ("c.md", "gone\n")]);
    let before = vault.snapshot();
    let good = "--- a/a.md\n+++ b/a.md\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n\
                --- /dev/null\n+++ b/new/d.md\n@@ -0,0 +1,2 @@\n+n\n+m\n\
                --- a/c.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
    let bad = format!("{good}--- a/b.md\n+++ b/b.md\n@@ -1,2 +1,2 @@\n x\n-not there\n+z\n");
    let error = vault.err("apply_patch", json!({ "patch": bad }), PatchFailed);
    assert!(error.message.contains("b.md"), "{error}");
    assert_eq!(vault.snapshot(), before);
    let applied = vault.ok("apply_patch", json!({ "patch": good }));
    assert_eq!(applied["hunks_applied"], 3);
    assert_eq!(vault.content("a.md"), "1\ntwo\n3\n");
    assert_eq!(vault.content("new/d.md"), "n\nm\n");
    assert!(!vault.exists("c.md") && vault.exists(".trash/c.md"));
    let again = "--- /dev/null\n+++ b/a.md\n@@ -0,0 +1 @@\n+x\n";
    let error = vault.err("apply_patch", json!({ "patch": again }), AlreadyExists);
    let hint = error.hint.expect("a hint");
    assert!(hint.contains("--- a/") && hint.contains("write_file"), "{hint}");
    let twice = "--- a/b.md\n+++ b/b.md\n@@ -1 +1 @@\n-x\n+1\n--- a/B.md\n+++ b/B.md\n@@ -2 +2 @@\n-y\n+2\n";
    vault.err("apply_patch", json!({ "patch": twice }), PatchFailed);
    for nonsense in ["", "hello", "--- a/a.md\n+++ b/a.md\n"] {
        vault.err("apply_patch", json!({ "patch": nonsense }), PatchFailed);
    }
    assert_eq!(vault.content("b.md"), "x\ny\n");
}

#[test]
fn a_patch_says_where_it_went_and_does_not_guess() {
    let day = |name: &str| format!("## {name}\n- [ ] call Anna\n- [ ] pay rent\n\n");
    let week: String = ["Mon", "Tue", "Wed"].map(day).concat();
    let vault = vault(&[("t.md", &week), ("u.md", &format!("\n\n{}", day("Mon")))]);
    let patch = |path: &str, line: usize| {
        let lines = "- [ ] call Anna\n+- [x] call Anna\n - [ ] pay rent";
        let patch = format!("--- a/{path}\n+++ b/{path}\n@@ -{line},2 +{line},2 @@\n-{lines}\n");
        json!({ "patch": patch })
    };
    let error = vault.err("apply_patch", patch("t.md", 12), PatchFailed);
    assert!(error.message.contains("line 2, line 6 and line 10"), "{error}");
    assert_eq!(vault.content("t.md"), week);
    let applied = vault.ok("apply_patch", patch("t.md", 6));
    assert_eq!(applied["files"][0]["places"], json!([{ "line": 6, "drift": 0 }]));
    // The only match, two lines away.
    let answer = vault.call("apply_patch", &patch("u.md", 2)).expect("applied");
    assert!(answer.text.contains("hunk 1 went to line 4, 2 lines below"), "{}", answer.text);
    assert!(answer.text.contains("\n-- [ ] call Anna\n+- [x] call Anna\n"), "{}", answer.text);
    let data = serde_json::to_value(&answer.data).expect("JSON");
    assert_eq!(data["files"][0]["places"], json!([{ "line": 4, "drift": 2 }]));
    assert!(
        data["files"][0]["diff"].as_str().is_some_and(|diff| diff.contains("+- [x] call Anna"))
    );
}

#[test]
fn a_patch_makes_one_folder_of_two_spellings() {
    let new = |path: &str| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
    let vault = vault(&[("a.md", "1\n")]);
    let patch: String = ["New/Deep/a.md", "new/b.md", "NEW/deep/c.md"].map(new).concat();
    let applied = vault.ok("apply_patch", json!({ "patch": patch }));
    let paths: Vec<_> = (0..3).map(|at| applied["files"][at]["path"].clone()).collect();
    assert_eq!(json!(paths), json!(["New/Deep/a.md", "New/b.md", "New/Deep/c.md"]));
    let before = vault.snapshot();
    assert!(!before.iter().any(|(name, _)| name.starts_with("new") || name.starts_with("NEW")));
    // Nor one file in two spellings.
    let patch: String = ["Else/d.md", "else/D.md"].map(new).concat();
    vault.err("apply_patch", json!({ "patch": patch }), PatchFailed);
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn a_patch_leaves_two_folders_that_differ_in_case_apart() {
    if !can(Ability::Case) {
        return;
    }
    let new = |path: &str| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
    let vault = vault(&[("Work/a.md", "1\n"), ("work/b.md", "2\n")]);
    let patch: String = ["Work/new.md", "work/other.md"].map(new).concat();
    vault.ok("apply_patch", json!({ "patch": patch }));
    assert!(vault.exists("Work/new.md") && vault.exists("work/other.md"));
}

#[test]
fn a_set_that_fails_half_way_is_rolled_back() {
    use vault_steward::journal::{Change, ChangeSet, Origin};
    use vault_steward::note::path::VaultPath;
    use vault_steward::vault::Precondition;
    let vault = vault(&[("a.md", "a"), ("b.md", "b"), ("c.md", "c"), ("taken.md", "t")]);
    let before = vault.snapshot();
    let path = |path: &str| VaultPath::from_disk(path).expect("sound");
    let write = |at: &str| Change::Write {
        path: path(at),
        content: b"new".to_vec(),
        before: Precondition::Any,
    };
    let changes = vec![
        write("a.md"),
        write("deep/er/new.md"),
        Change::Move { from: path("b.md"), to: path("other/b.md") },
        Change::Move { from: path("c.md"), to: path("taken.md") },
    ];
    let set = ChangeSet { title: "half".to_owned(), changes };
    vault.context.journal.apply(&set, &Origin::default()).expect_err("the last move is impossible");
    assert_eq!(vault.snapshot(), before);
    let listed = vault.ok("list_files", json!({ "pattern": "**" }));
    assert_eq!(listed["total"], 4, "the catalogue knows, too");
}

#[cfg(unix)]
#[test]
fn a_save_keeps_mode_and_hard_links_and_heeds_read_only() {
    use vault_steward::note::code::ErrorCode::PermissionDenied;
    if !can(Ability::Permissions) || !can(Ability::HardLinks) {
        return;
    }
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let vault = vault(&[("a.md", "old"), ("twin.md", "shared"), ("locked.md", "mine")]);
    let at = |path: &str| vault.place.join(path);
    std::fs::set_permissions(at("a.md"), Permissions::from_mode(0o640)).expect("set");
    vault.ok("write_file", json!({ "path": "a", "content": "new" }));
    assert_eq!(at("a.md").metadata().expect("there").mode() & 0o777, 0o640);
    std::fs::hard_link(at("twin.md"), at("other.md")).expect("linked");
    let text = vault
        .text("edit_file", json!({ "path": "twin", "old_text": "shared", "new_text": "both" }));
    assert!(text.contains("its hard links show the change too"), "{text}");
    assert_eq!(vault.content("other.md"), "both");
    assert_eq!(at("twin.md").metadata().expect("there").nlink(), 2);
    assert_eq!(vault.ok("get_file_info", json!({ "path": "twin" }))["other_names"], 1);
    std::fs::set_permissions(at("locked.md"), Permissions::from_mode(0o444)).expect("set");
    vault.err("write_file", json!({ "path": "locked", "content": "x" }), PermissionDenied);
    let edit = json!({ "path": "locked", "old_text": "mine", "new_text": "x" });
    vault.err("edit_file", edit, PermissionDenied);
    assert_eq!(vault.content("locked.md"), "mine");
    assert_eq!(vault.rescued(), [""; 0], "safety copies are cleared away");
    let hidden = vault.snapshot().iter().filter(|(name, _)| name.contains(".~vs")).count();
    assert_eq!(hidden, 0, "nothing is left behind");
}

#[test]
fn an_answer_to_a_panic_or_an_unknown_tool_is_an_error() {
    let error = vault_steward::tools::Registry::built_in().find("read_fil").expect_err("unknown");
    assert_eq!(error.message, "there is no tool `read_fil`");
    assert_eq!(error.hint.as_deref(), Some("did you mean `read_file`?"));
}

#[test]
fn arguments_that_mean_nothing_together_are_refused() {
    let vault = vault(&[("a.md", "one\ntwo\n")]);
    for bad in [
        json!({ "path": "a", "old_text": "one", "new_text": "1", "content": "x" }),
        json!({ "path": "a", "delete_lines": { "start": 1, "end": 1 }, "content": "x" }),
        json!({ "path": "a", "delete_lines": { "start": 1, "end": 1 }, "replace_all": true }),
    ] {
        vault.err("edit_file", bad, InvalidInput);
    }
    assert_eq!(vault.content("a.md"), "one\ntwo\n");
}

#[test]
fn no_edit_makes_a_file_that_cannot_be_read_again() {
    let vault = vault(&[("a.md", &"x".repeat(200_000))]);
    let edit =
        json!({ "path": "a", "old_text": "x", "new_text": "y".repeat(100), "replace_all": true });
    vault.err("edit_file", edit, TooLarge);
    assert_eq!(vault.bytes("a.md").len(), 200_000);
}

#[cfg(unix)]
#[test]
fn a_private_note_stays_private() {
    if !can(Ability::Permissions) {
        return;
    }
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let vault = vault(&[("a.md", "old")]);
    let place = vault.place.join("a.md");
    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o600)).expect("set");
    vault.ok("write_file", json!({ "path": "a", "content": "new" }));
    assert_eq!(place.metadata().expect("there").mode() & 0o777, 0o600);
}

#[test]
fn a_missing_final_newline_stays_missing_unless_the_end_is_edited() {
    let vault = vault(&[]);
    let put = |bytes: &[u8]| std::fs::write(vault.place.join("a.md"), bytes).expect("written");
    type Bytes = &'static [u8];
    let table: [(Bytes, serde_json::Value, Bytes); 10] = [
        (b"a\nb", json!({ "old_text": "a", "new_text": "A" }), b"A\nb"),
        (b"a\nb", json!({ "old_text": "b", "new_text": "B" }), b"a\nB"),
        (b"a\nb", json!({ "old_text": "b", "new_text": "B\n" }), b"a\nB\n"),
        (b"a\nb", json!({ "insert_after_line": 0, "content": "x" }), b"x\na\nb"),
        (b"a\nb", json!({ "insert_after_line": -1, "content": "x" }), b"a\nb\nx"),
        (b"a\r\nb", json!({ "insert_after_line": -1, "content": "x\ny" }), b"a\r\nb\r\nx\r\ny"),
        (b"a\nb", json!({ "replace_lines": { "start": 2, "end": 2 }, "content": "B" }), b"a\nB"),
        (b"a\nb", json!({ "delete_lines": { "start": 1, "end": 1 } }), b"b"),
        (b"a\r\nb\n", json!({ "insert_after_line": 1, "content": "x" }), b"a\r\nx\r\nb\n"),
        (b"\xef\xbb\xbfa\nb", json!({ "old_text": "a\nb", "new_text": "c" }), b"\xef\xbb\xbfc"),
    ];
    for (before, edit, after) in table {
        put(before);
        let mut arguments = json!({ "path": "a" });
        let members = edit.as_object().expect("an object").clone();
        arguments.as_object_mut().expect("an object").extend(members);
        vault.ok("edit_file", arguments);
        assert_eq!(vault.bytes("a.md"), after, "{} {edit}", before.escape_ascii());
    }
    // By a patch too.
    put(b"\xef\xbb\xbfa\r\nb");
    let patch =
        "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n";
    vault.ok("apply_patch", json!({ "patch": patch }));
    assert_eq!(vault.bytes("a.md"), b"\xef\xbb\xbfA\r\nb");
}

#[test]
fn text_in_another_encoding_is_read_or_refused_and_never_rewritten() {
    let vault = vault(&[]);
    let notes: [(&str, &[u8]); 5] = [
        ("le.md", b"\xff\xfeh\0i\0\r\0\n\0"),
        ("be.md", b"\xfe\xff\0h\0i\0\n"),
        ("odd.md", b"\xff\xfeh\0i"),
        ("latin.md", b"caf\xe9\n"),
        ("cut.md", b"caf\xc3"),
    ];
    for (name, bytes) in notes {
        std::fs::write(vault.place.join(name), bytes).expect("written");
    }
    for (name, encoding) in [("le", "utf-16le"), ("be", "utf-16be")] {
        let read = vault.ok("read_file", json!({ "path": name }));
        assert_eq!((&read["content"], &read["encoding"]), (&json!("hi\n"), &json!(encoding)));
    }
    for name in ["odd.md", "latin.md", "cut.md"] {
        let refused = vault.err("read_file", json!({ "path": name }), BinaryFile);
        assert!(name == "odd.md" || refused.hint.unwrap().contains("as UTF-8"), "{name}");
    }
    for (name, bytes) in notes {
        let edit = json!({ "path": name, "insert_after_line": -1, "content": "x" });
        vault.err("edit_file", edit, BinaryFile);
        let patch = format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1,2 @@\n hi\n+x\n");
        vault.call("apply_patch", &json!({ "patch": patch })).map(|_| ()).expect_err(name);
        assert_eq!(vault.bytes(name), bytes, "{name}");
    }
}

#[test]
fn a_patch_cannot_reach_where_no_tool_can() {
    use vault_steward::note::code::ErrorCode::{InvalidPath, OutsideVault, ProtectedPath};
    let vault = vault(&[("a.md", "a\n"), (".git/config", "a\n"), ("b.md", "b\n")]);
    let before = vault.snapshot();
    let inside = "--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-a\n+A\n";
    for (path, code) in [
        ("../a.md", OutsideVault),
        ("x/../../a.md", OutsideVault),
        ("x/../a.md", InvalidPath),
        ("C:\\a.md", OutsideVault),
        (".git/config", ProtectedPath),
        ("x/../.GIT/config", ProtectedPath),
    ] {
        for new in [false, true] {
            let (old, from, text) = if new {
                ("/dev/null".to_owned(), "-0,0", "")
            } else {
                (format!("a/{path}"), "-1", "-a\n")
            };
            let evil = format!("--- {old}\n+++ b/{path}\n@@ {from} +1 @@\n{text}+evil\n");
            // Also after a part that fits.
            for patch in [evil.clone(), format!("{inside}{evil}")] {
                vault.err("apply_patch", json!({ "patch": patch }), code);
            }
        }
    }
    let system = "--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+evil\n";
    vault.err("apply_patch", json!({ "patch": system }), OutsideVault);
    let go_and_come = "--- a/b.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n\
                       --- /dev/null\n+++ b/b.md\n@@ -0,0 +1 @@\n+c\n";
    vault.err("apply_patch", json!({ "patch": go_and_come }), PatchFailed);
    let large = format!("{inside}{}", " \n".repeat(6 << 20));
    vault.err("apply_patch", json!({ "patch": large }), TooLarge);
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn odd_properties_are_left_as_they_are() {
    let long = format!("---\nnotes: {}\n---\nbody\n", "x".repeat(1 << 20));
    let heads = [
        "---\ntitle: never closed\nbody\n",
        "---\na: 1\na: 2\n---\nbody\n",
        "---\n\ta: [\n---\nbody\n",
        "---\n- just\n- a list\n---\nbody\n",
        "---\n---\nbody\n",
        "--- \nno head\n---\nbody\n",
        &long,
    ];
    let vault = vault(&[]);
    for text in heads {
        vault.put("n.md", text);
        vault.ok("edit_file", json!({ "path": "n", "old_text": "body\n", "new_text": "done\n" }));
        assert_eq!(vault.content("n.md"), text.replace("body\n", "done\n"));
        vault.ok("edit_file", json!({ "path": "n", "insert_after_line": -1, "content": "more" }));
        assert_eq!(vault.content("n.md"), text.replace("body\n", "done\n") + "more\n");
        vault.ok("get_file_info", json!({ "path": "n" }));
    }
}

#[test]
fn notes_that_embed_each_other_move_and_change_like_any() {
    let links = "[[b]] ![[a]] ".repeat(40_000);
    let vault = vault(&[("a.md", "![[b]]\n"), ("b.md", "![[a]]\n"), ("long.md", &links)]);
    vault.ok("move", json!({ "source": "a", "destination": "Folder/a.md" }));
    vault.ok("move", json!({ "source": "b", "destination": "Folder/b.md" }));
    vault.ok("edit_file", json!({ "path": "long", "insert_after_line": 0, "content": "top" }));
    assert_eq!(vault.content("long.md"), format!("top\n{links}"));
    assert_eq!(vault.ok("read_file", json!({ "path": "long" }))["cut_lines"], json!([2]));
    let found = vault.ok("search_files", json!({ "pattern": r"\[\[b\]\]" }));
    assert_eq!(found["files"].as_array().expect("a list").len(), 2);
}
