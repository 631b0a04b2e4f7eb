//! Links that a move cannot rewrite: reported in advance, with their names.

#[cfg(unix)]
use serde_json::Value;
use serde_json::json;
use vault_steward::note::code::ErrorCode::{NotFound, ProtectedPath};

#[cfg(unix)]
use crate::abilities::{Ability, can};
#[cfg(unix)]
use crate::vault::TestVault;
use crate::vault::vault;

/// A refused move: a dry run gives the same error, and nothing has changed.
#[cfg(target_os = "linux")]
#[track_caller]
fn is_refused(vault: &TestVault, from: &str, to: &str) -> vault_steward::tools::ToolError {
    use vault_steward::note::code::ErrorCode::PermissionDenied;
    let before = vault.snapshot();
    let arguments = |dry_run: bool| json!({"source": from, "destination": to, "dry_run": dry_run});
    let shown = vault.err("move", arguments(true), PermissionDenied);
    let refused = vault.err("move", arguments(false), PermissionDenied);
    assert_eq!(shown, refused);
    assert_eq!(vault.snapshot(), before);
    refused
}

#[cfg(target_os = "linux")]
#[test]
fn a_dry_run_is_refused_as_the_move_is() {
    use crate::refusals::Locked;
    const NAME: &str = "a_dry_run_is_refused_as_the_move_is";
    if !can(Ability::Permissions) {
        return;
    }
    let files = [
        ("one.md", "[[o]]\n"),
        ("Work/two.md", "[[o]] [[o]]\n"),
        ("Work/p.md", "p\n"),
        ("o.md", "o\n"),
        ("free.md", "[[o]]\n"),
        ("Folder/in.md", "i\n"),
    ];
    let vault = vault(&files);
    let (one, work) = (vault.place.join("one.md"), vault.place.join("Work"));
    {
        let Some(_locked) = Locked::new(NAME, &one) else { return };
        let error = is_refused(&vault, "o.md", "New/n.md");
        assert!(error.message.contains("`one.md`"), "{error}");
        let hint = error.hint.expect("a hint");
        assert!(hint.contains("leave_read_only") && hint.contains("nothing was changed"), "{hint}");
        assert_eq!(error.data.expect("facts")["not_writable"], json!(["one.md"]));
        // A note in a folder in which it cannot be replaced.
        let Some(_also) = Locked::new(NAME, &work) else { return };
        let error = is_refused(&vault, "o.md", "New/n.md");
        assert!(error.message.contains("2 files"), "{error}");
        assert_eq!(error.data.expect("facts")["not_writable"], json!(["Work/two.md", "one.md"]));
        // Files that cannot be moved themselves.
        is_refused(&vault, "Work/p.md", "p.md");
        is_refused(&vault, "free.md", "Work/Deep/free.md");
        is_refused(&vault, "Work", "Folder/Work");
    }
    assert_eq!(vault.ok("move", json!({"source": "o", "destination": "n"}))["links"]["files"], 3);
}

#[cfg(target_os = "linux")]
#[test]
fn read_only_notes_stay_on_request() {
    use crate::refusals::Locked;
    const NAME: &str = "read_only_notes_stay_on_request";
    if !can(Ability::Permissions) {
        return;
    }
    let vault = vault(&[("one.md", "[[o]]\n"), ("two.md", "[[o]]\n"), ("o.md", "o\n")]);
    let one = vault.place.join("one.md");
    {
        let Some(_locked) = Locked::new(NAME, &one) else { return };
        let arguments = |dry_run: bool| json!({"source": "o", "destination": "n", "leave_read_only": true, "dry_run": dry_run});
        let shown = vault.ok("move", arguments(true));
        let text = vault.text("move", arguments(false));
        assert!(text.contains("one.md: ") && text.contains("could not be rewritten"), "{text}");
        assert_eq!(shown["links"]["not_rewritten"][0]["path"], "one.md");
        assert_eq!(shown["links"]["total_not_rewritten"], 1);
    }
    assert_eq!(vault.content("one.md"), "[[o]]\n");
    assert_eq!(vault.content("two.md"), "[[n]]\n");
}

#[test]
fn a_dry_run_shows_that_something_protected_would_go_with_it() {
    let vault = vault(&[("Code/.git/config", "x"), ("Code/a.md", "a")]);
    let arguments = json!({"source": "Code", "destination": "Elsewhere", "dry_run": true});
    vault.err("move", arguments, ProtectedPath);
    let arguments = json!({"source": "Nothing", "destination": "Elsewhere", "dry_run": true});
    vault.err("move", arguments, NotFound);
}

#[test]
fn a_protected_folder_that_is_gone_hides_no_other() {
    let vault = vault(&[("Code/one/.git/config", "1"), ("Code/two/.git/config", "2")]);
    std::fs::remove_dir_all(vault.place.join("Code/one")).expect("removed");
    vault.err("delete", json!({"path": "Code"}), ProtectedPath);
    vault.err("move", json!({"source": "Code", "destination": "Elsewhere"}), ProtectedPath);
    assert!(vault.exists("Code/two/.git/config"));
}

/// The symbolic links that a move reports: path, present target, required target.
#[cfg(unix)]
fn turned(vault: &TestVault, from: &str, to: &str) -> Vec<(String, String, Value)> {
    let arguments = |dry_run: bool| json!({"source": from, "destination": to, "dry_run": dry_run});
    let shown = vault.ok("move", arguments(true));
    let moved = vault.ok("move", arguments(false));
    assert_eq!(shown["turned_links"], moved["turned_links"]);
    assert_eq!(shown["total_turned_links"], moved["total_turned_links"]);
    let text = |link: &Value, key: &str| link[key].as_str().expect("a text").to_owned();
    let links = moved["turned_links"].as_array().expect("a list").iter();
    links.map(|link| (text(link, "path"), text(link, "says"), link["should_say"].clone())).collect()
}

#[cfg(unix)]
#[test]
fn symbolic_links_broken_by_a_move_are_reported() {
    use std::os::unix::fs::symlink;
    if !can(Ability::SymbolicLinks) {
        return;
    }
    let files = [("A/note.md", "n"), ("A/deep/x.md", "x"), ("B/y.md", "y"), ("z.md", "z")];
    let vault = TestVault::new(&files, |at| {
        let link = |says: &str, path: &str| symlink(says, at.join(path)).expect("linked");
        link("A/note.md", "to note.md");
        link("A", "to folder");
        link("../A/deep/x.md", "B/to x.md");
        link("../B/y.md", "A/to y.md");
        link("../z.md", "A/to z.md");
        link("note.md", "A/inside.md");
        link("A/nothing.md", "dangling.md");
        symlink(at.join("A/note.md"), at.join("absolute.md")).expect("linked");
    });
    let one =
        |path: &str, says: &str, should: &str| (path.to_owned(), says.to_owned(), json!(should));
    // One folder deeper: links into it, and out of it.
    let absolute = vault.place.join("A/note.md").to_str().expect("text").to_owned();
    assert_eq!(
        turned(&vault, "A", "C/A"),
        [
            one("C/A/to y.md", "../B/y.md", "../../B/y.md"),
            one("C/A/to z.md", "../z.md", "../../z.md"),
            one("B/to x.md", "../A/deep/x.md", "../C/A/deep/x.md"),
            one("absolute.md", &absolute, "C/A/note.md"),
            one("to folder", "A", "C/A"),
            one("to note.md", "A/note.md", "C/A/note.md"),
        ]
    );
    // A link that was broken before is not reported again, and a note without backlinks changes nothing.
    assert_eq!(turned(&vault, "B/y.md", "B/w.md"), []);
    // The link itself.
    assert_eq!(
        turned(&vault, "C/A/inside.md", "B/inside.md"),
        [one("B/inside.md", "note.md", "../C/A/note.md")]
    );
    let text = vault.text("move", json!({"source": "z.md", "destination": "w.md"}));
    assert!(!text.contains("symbolic"), "{text}");
    symlink("w.md", vault.place.join("to w.md")).expect("linked");
    vault.context.vault.rescan().expect("looked through");
    let text = vault.text("move", json!({"source": "w.md", "destination": "B/v.md"}));
    assert!(text.contains("1 symbolic link") && text.contains("to w.md says `w.md`"), "{text}");
    assert!(text.contains("would have to say `B/v.md`"), "{text}");
}

/// A text larger than the limit for links, with `what` at its end, over several pages.
fn huge(what: &str) -> String {
    let line = "- [[Somewhere else]] and [so on](Other%20note.md) `[[code`\n";
    line.repeat((2 << 20) / line.len()) + what
}

#[test]
fn an_unlisted_folder_is_reported() {
    // A folder that is deeper than the steward reads represents everything that the system does not
    // list.
    let deep = "d/".repeat(66);
    let vault = vault(&[("o.md", "o\n"), ("a.md", "[[o]]\n"), (&format!("{deep}n.md"), "[[o]]\n")]);
    let moved = vault.ok("move", json!({"source": "o", "destination": "p"}));
    let unknown = moved["links"]["unknown"].as_array().expect("a list");
    assert_eq!(unknown.len(), 1, "{moved}");
    assert!(unknown[0]["path"].as_str().is_some_and(|path| path.starts_with("d/d/")), "{moved}");
    assert!(unknown[0]["reason"].as_str().is_some_and(|why| why.contains("listed")), "{moved}");
}

#[test]
fn a_file_of_unknown_links_is_reported_only_if_it_may_be_affected() {
    let vault = vault(&[
        ("Huge.md", &huge("[[Täglich/Old name]]")),
        ("Encoded.md", &huge("[x](T%C3%A4glich/Old%20name.md)")),
        ("Quiet.md", &huge("Old name")),
        ("Täglich/Old name.md", "x"),
        ("Unnamed.md", "x"),
        ("broken.canvas", r#"{"file":"Unnamed.md""#),
    ]);
    let settings = vault_steward::vault::Settings { max_file_bytes: 1 << 20, ..Default::default() };
    vault.context.vault.set_settings(settings);
    let unknown = |source: &str, destination: &str| {
        let moved = vault.ok("move", json!({"source": source, "destination": destination}));
        let links = &moved["links"];
        let named = links["unknown"].as_array().expect("a list").clone();
        assert_eq!(links["unknown_files"], named.len(), "{links}");
        named.iter().map(|one| one["path"].as_str().expect("a path").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(unknown("Täglich/Old name", "Täglich/New name"), ["Encoded.md", "Huge.md"]);
    assert!(unknown("Täglich/New name", "New name").is_empty());
    assert_eq!(unknown("Unnamed", "Named"), ["broken.canvas"]);
    let text = vault.text("move", json!({"source": "Named", "destination": "Sub/Other"}));
    assert!(!text.contains("perhaps"), "{text}");
    vault.ok("write_file", json!({"path": "Sub/Somewhere else.md", "content": "x"}));
    // The name stays unique, and the link leads there from anywhere.
    assert!(unknown("Sub/Somewhere else", "Somewhere else").is_empty());
    let renamed = json!({"source": "Somewhere else", "destination": "Gone", "dry_run": true});
    let text = vault.text("move", renamed);
    assert!(
        text.contains("3 files perhaps name") && text.contains("Quiet.md `Somewhere else`"),
        "{text}"
    );
    // A link relative to the folder of the moved file.
    vault.put("Far/Near.md", &huge("[x](./Sub/Other.md)"));
    vault.put("Far/Sub/Other.md", "x");
    vault.put("Sub/Sub/Other.md", "x");
    assert_eq!(unknown("Far/Near", "Sub/Near"), ["Sub/Near.md"]);
}

#[test]
fn links_beyond_the_recorded_ones_follow() {
    let text = "[[Else]]\n".repeat(21_000) + "[[Old]]\n";
    let vault = vault(&[("many.md", &text), ("Else.md", ""), ("Old.md", "")]);
    let moved = vault.ok("move", json!({"source": "Old", "destination": "New"}));
    assert_eq!(
        (&moved["links"]["links"], &moved["links"]["unknown_files"]),
        (&json!(1), &json!(0))
    );
    assert!(vault.content("many.md").ends_with("[[Else]]\n[[New]]\n"));
}
