//! Links that follow undos and restorations, edits by others in the meantime, and moves that change
//! more notes than files may be open.

use std::io::Write;

use serde_json::json;

use super::vault::{TestVault, put, vault};
#[cfg(target_os = "linux")]
use crate::abilities::{Ability, can};

/// A text with a link, in every encoding of a file.
const WRITTEN: [(&str, &str); 7] = [
    ("crlf.md", "\u{feff}---\r\nup: \"[[f/Old|Old]]\" # why\r\n---\r\n[Old](f/Old.md)\r\nend"),
    ("links.md", "[[Old]] ![[f/Old#h|x]] [t](<f/Old.md#a b> 'Old') ![](f/p.png) `[[Old]]`\n"),
    ("table.md", "|a|b|\n|-|-|\n|[[Old\\|x]]|[[f/Old]]|\n"),
    (
        "deep/m.canvas",
        "{ \"nodes\":[{\"type\":\"file\",\"file\":\"f\\/Old.md\"},\n {\"type\":\"text\",\"text\":\"\\u00e9 [[Old]]\"}]}",
    ),
    ("f/Old.md", "[[g/in]] [up](../links.md) ![[./p.png]]"),
    ("f/g/in.md", "---\nup: '[[../Old]]'\n---\n[[f/Old]]"),
    ("f/p.png", "x"),
];

/// The number of the last change set.
fn last(vault: &TestVault) -> u64 {
    let listed = vault.ok("list_changes", json!({"limit": 1}));
    listed["change_sets"][0]["id"].as_u64().expect("there is one")
}

#[test]
fn an_undone_move_restores_every_byte() {
    for (from, to) in
        [("f", "x/New folder"), ("f/Old.md", "deep/It's new.md"), ("f/p.png", "q r.png")]
    {
        let vault = vault(&WRITTEN);
        let before = vault.snapshot();
        let moved = vault.ok("move", json!({"source": from, "destination": to}));
        assert!(moved["links"]["files"].as_u64() > Some(0), "{moved}");
        let after = vault.snapshot();
        for _ in 0..2 {
            let undone = vault.ok("undo", json!({"change_set": last(&vault)}));
            assert_eq!(undone["links"]["files"], 0, "its own texts go back as they were");
            assert!(vault.snapshot() == before, "{from} to {to}: undone");
            vault.ok("undo", json!({"change_set": last(&vault)}));
            assert!(vault.snapshot() == after, "{from} to {to}: done again");
        }
    }
}

#[test]
fn links_written_since_a_move_follow_its_undo() {
    let vault = vault(&[("a/Old.md", "[[s]]"), ("s.md", "[[Old]]\n"), ("t.md", "")]);
    vault.ok("move", json!({"source": "a/Old.md", "destination": "b/New.md"}));
    let set = last(&vault);
    vault.put("theirs.md", "[[New]] [x](b/New.md)\n");
    vault.ok("write_file", json!({"path": "ours.md", "content": "![[New#h|y]]\n"}));
    let undone = vault.ok("undo", json!({"change_set": set}));
    assert_eq!((&undone["links"]["links"], &undone["links"]["files"]), (&json!(3), &json!(2)));
    assert_eq!(vault.content("theirs.md"), "[[Old]] [x](Old.md)\n");
    assert_eq!(vault.content("ours.md"), "![[Old#h|y]]\n");
    assert_eq!(vault.content("s.md"), "[[Old]]\n");
    // It is one change set: after the undo everything is as before.
    vault.ok("undo", json!({"change_set": last(&vault)}));
    assert_eq!(vault.content("theirs.md"), "[[New]] [x](b/New.md)\n");
    assert_eq!(vault.content("ours.md"), "![[New#h|y]]\n");
    assert_eq!(vault.content("s.md"), "[[New]]\n");
    assert_eq!(vault.ok("list_links", json!({"kind": "unresolved"}))["total"], 0);
}

/// A link that is older than the undone change keeps its old target and its text, although it could
/// lead elsewhere in the meantime.
#[test]
fn links_that_were_there_before_stay_as_they_were_written() {
    for (what, by_steward) in [("theirs", false), ("ours", true)] {
        let vault = vault(&[("Plan.md", "1"), ("Archive/Plan.md", "2"), ("x.md", "")]);
        let texts = [("L.md", "see [[Plan]]\n"), ("d/M.md", "todo: [[Idea]]\n")];
        for (path, text) in texts {
            if by_steward {
                drop(vault.ok("write_file", json!({"path": path, "content": text})))
            } else {
                vault.put(path, text)
            }
        }
        if !by_steward {
            vault.let_time_pass();
        }
        let before = vault.snapshot();
        for undone in ["undo", "restore"] {
            vault.ok("delete", json!({"path": "Plan.md"}));
            let arguments = if undone == "undo" { json!({}) } else { json!({"item": "Plan.md"}) };
            let back = vault.ok(undone, arguments);
            assert_eq!(back["links"]["links"], 0, "{what}, {undone}: {back}");
            assert_eq!(vault.content("L.md"), texts[0].1, "{what}, {undone}");
        }
        vault.ok("move", json!({"source": "x.md", "destination": "Idea.md"}));
        vault.ok("undo", json!({}));
        let after = |path: &str| !path.starts_with(".trash");
        let shown = |files: Vec<(String, Vec<u8>)>| -> Vec<(String, Vec<u8>)> {
            files.into_iter().filter(|(path, _)| after(path)).collect()
        };
        assert!(shown(vault.snapshot()) == shown(before), "{what}: as it was");
        // Links written since follow.
        vault.ok("move", json!({"source": "x.md", "destination": "Idea.md"}));
        let set = last(&vault);
        vault.ok("write_file", json!({"path": "N.md", "content": "[[Idea]]\n"}));
        let undone = vault.ok("undo", json!({"change_set": set}));
        assert_eq!(undone["links"]["files"], 1, "{what}: {undone}");
        assert_eq!(vault.content("N.md"), "[[x]]\n", "{what}");
        assert_eq!(vault.content("d/M.md"), texts[1].1, "{what}");
    }
}

#[test]
fn a_moved_file_that_was_edited_since_moves_back_with_links_that_follow() {
    let vault = vault(&[("a/Old.md", "x"), ("a/n.md", ""), ("q/n.md", "")]);
    vault.ok("move", json!({"source": "a/Old.md", "destination": "b/c/New.md"}));
    let set = last(&vault);
    vault.ok("write_file", json!({"path": "b/c/n.md", "content": ""}));
    vault.put("b/c/New.md", "now [[n]]");
    let edited = vault.snapshot();
    for _ in 0..2 {
        let undone = vault.ok("undo", json!({"change_set": set}));
        assert_eq!(vault.content("a/Old.md"), "now [[b/c/n]]", "{undone}");
        vault.ok("undo", json!({"change_set": last(&vault)}));
        assert!(vault.snapshot() == edited, "done again");
    }
}

#[test]
fn what_comes_back_takes_no_links_from_its_namesake() {
    for (what, deleted) in [("file", "Note.md"), ("folder", "f")] {
        let vault = vault(&[("Note.md", "1"), ("f/Note.md", "2"), ("s.md", "")]);
        vault.ok("delete", json!({"path": deleted}));
        let set = last(&vault);
        let other = if what == "file" { "f" } else { "Note.md" };
        vault.ok("delete", json!({"path": other}));
        vault.ok("write_file", json!({"path": "y/z/Note.md", "content": "3"}));
        vault.put("s.md", "[[Note]]");
        let back = vault.ok("restore", json!({"item": deleted}));
        assert_eq!(back["links"]["links"], 1, "{what}: {back}");
        assert_eq!(vault.content("s.md"), "[[y/z/Note]]", "{what}");
        vault.ok("undo", json!({"change_set": last(&vault)}));
        assert_eq!(vault.content("s.md"), "[[Note]]", "{what}");
        vault.ok("undo", json!({"change_set": set}));
        assert_eq!(vault.content("s.md"), "[[y/z/Note]]", "{what}: undone, not restored");
    }
}

#[test]
fn beside_a_name_that_is_taken_nothing_is_turned() {
    let vault = vault(&[("Note.md", "1"), ("s.md", "[[Note]]")]);
    vault.ok("delete", json!({"path": "Note.md"}));
    vault.put("Note.md", "2");
    let back = vault.ok("restore", json!({"item": "Note"}));
    assert_eq!((&back["path"], &back["links"]["links"]), (&json!("Note (restored).md"), &json!(0)));
    assert_eq!(vault.content("s.md"), "[[Note]]");
}

#[test]
fn what_others_deleted_comes_back_without_their_links() {
    let vault = TestVault::new(&[("x/Note.md", ""), ("s.md", "[[Note]] [[v]]")], |place| {
        put(place, ".trash/Note.md", "");
        put(place, ".trash/F/Note.md", "");
    });
    vault.ok("restore", json!({"item": ".trash/F"}));
    assert_eq!(vault.content("s.md"), "[[x/Note]] [[v]]");
    vault.put("s.md", "[[x/Note]] [[y]]");
    vault.ok("write_file", json!({"path": "y/y.md", "content": ""}));
    vault.ok("restore", json!({"item": ".trash/Note.md", "to": "y.md"}));
    assert_eq!(vault.content("s.md"), "[[x/Note]] [[y/y]]");
}

/// While a note is moved, one program adds lines to notes that link to it, and another rewrites the
/// same links, as Obsidian would, and adds a line: both save in place, without reading again.
#[test]
fn others_who_write_meanwhile_lose_nothing_and_every_link_leads_on() {
    const NOTES: usize = 8;
    let name = |number: usize| format!("n{number}.md");
    for episode in 0..25 {
        let names: Vec<String> = (0..NOTES).map(name).collect();
        let body = "[[Old]] and [t](a/Old.md)\n";
        let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), body)).collect();
        files.push(("a/Old.md", "x"));
        let vault = vault(&files);
        let place = vault.place.clone();
        // The graph knows the links before anyone writes.
        vault.ok("get_links", json!({"path": "a/Old.md"}));
        let barrier = std::sync::Barrier::new(3);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                for number in 0..NOTES / 2 {
                    let note = place.join(name(number));
                    let file = std::fs::OpenOptions::new().append(true).open(note);
                    let mut file = file.expect("the note is always there");
                    file.write_all(b"a line of theirs\n").expect("written");
                }
            });
            scope.spawn(|| {
                barrier.wait();
                for number in (NOTES / 2..NOTES).rev() {
                    let note = place.join(name(number));
                    let text = std::fs::read_to_string(&note).expect("read");
                    let text = text.replace("[[Old]]", "[[New]]").replace("(a/Old.md)", "(New.md)");
                    std::fs::write(&note, text + "a line of theirs\n").expect("written");
                }
            });
            barrier.wait();
            let arguments = json!({"source": "a/Old.md", "destination": "b/New.md"});
            if vault.call("move", &arguments).is_err() {
                // They were faster each time, and nothing is changed; now they have finished.
                barrier_free(&vault, &arguments);
            }
        });
        // Checks for edits of displaced versions.
        vault.context.vault.stop();
        let rescued = vault.rescued();
        for number in 0..NOTES {
            let text = vault.content(&name(number));
            let links = text.starts_with("[[New]] and [t](New.md)\n");
            assert!(links, "episode {episode}: `{}` is {text:?}", name(number));
        }
        let kept = (0..NOTES).filter(|number| vault.content(&name(*number)).contains("theirs"));
        let saved = rescued.iter().filter(|text| text.contains("theirs")).count();
        assert!(kept.count() + saved >= NOTES, "episode {episode}: a line was lost");
        assert_eq!(vault.ok("list_links", json!({"kind": "unresolved"}))["total"], 0);
    }
}

/// Retries until the others have ended; each of them writes a bounded number of times.
fn barrier_free(vault: &TestVault, arguments: &serde_json::Value) {
    let tried = (0..1000).find_map(|_| vault.call("move", arguments).ok());
    assert!(tried.is_some(), "the others have long ended");
}

/// During a move, between two of the notes whose links follow it, another program changes the
/// second (case 75): everything is planned again for its present text.
#[test]
fn a_note_that_changes_in_the_middle_of_a_move_is_planned_again() {
    type Meanwhile = fn(&std::path::Path);
    let cases: [(&str, Meanwhile, &str, Option<&str>); 4] = [
        (
            "written",
            |place| std::fs::write(place.join("n2.md"), "mine\n[[Old]]\n").expect("written"),
            "n2.md",
            Some("mine\n[[New]]\n"),
        ),
        (
            "its link rewritten already, as Obsidian does",
            |place| std::fs::write(place.join("n2.md"), "[[New]] by Obsidian\n").expect("written"),
            "n2.md",
            Some("[[New]] by Obsidian\n"),
        ),
        (
            "renamed",
            |place| std::fs::rename(place.join("n2.md"), place.join("m2.md")).expect("renamed"),
            "m2.md",
            Some("[[New]]\n"),
        ),
        (
            "deleted",
            |place| std::fs::remove_file(place.join("n2.md")).expect("removed"),
            "n2.md",
            None,
        ),
    ];
    for watched in [true, false] {
        for (name, meanwhile, path, holds) in cases {
            let vault = vault(&[("Old.md", ""), ("n1.md", "[[Old]]\n"), ("n2.md", "[[Old]]\n")]);
            if watched {
                vault.context.vault.watch();
            }
            let (place, once) = (vault.place.clone(), std::sync::Once::new());
            vault.context.vault.subscribe(Box::new(move |change| {
                if change.path.as_str() == "n1.md" {
                    once.call_once(|| meanwhile(&place));
                }
            }));
            let moved = vault.ok("move", json!({"source": "Old.md", "destination": "b/New.md"}));
            assert_eq!(vault.content("n1.md"), "[[New]]\n", "{name}: {moved}");
            let now = vault.exists(path).then(|| vault.content(path));
            assert_eq!(now.as_deref(), holds, "{name}, watched: {watched}: {moved}");
            assert_eq!(vault.exists("n2.md"), path == "n2.md" && holds.is_some(), "{name}");
            let undone = vault.ok("undo", json!({}));
            assert!(vault.exists("Old.md"), "{name}: {undone}");
        }
    }
}

/// Runs the test of this name again in a process with this limit of open files. Returns whether this is that process.
#[cfg(target_os = "linux")]
fn has_few_handles(test: &str, limit: usize) -> bool {
    if std::env::var_os("STEWARD_TEST_FEW_HANDLES").is_some() {
        return true;
    }
    let program = std::env::current_exe().expect("this test");
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("ulimit -n {limit} && exec \"$0\" --exact \"$1\"")])
        .arg(program)
        .arg(format!("following::{test}"))
        .env("STEWARD_TEST_FEW_HANDLES", "1")
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    false
}

/// A vault with two notes `Old.md` and these notes of the same text.
#[cfg(target_os = "linux")]
fn linking(names: &[String], text: &str) -> TestVault {
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text)).collect();
    files.extend([("Old.md", ""), ("b/Old.md", "")]);
    self::vault(&files)
}

#[cfg(target_os = "linux")]
#[test]
fn a_move_rewrites_more_notes_than_files_may_be_open() {
    let test = "a_move_rewrites_more_notes_than_files_may_be_open";
    if !can(Ability::Exchange) || !has_few_handles(test, 96) {
        return;
    }
    const NOTES: usize = 300;
    let names: Vec<String> = (0..NOTES).map(|n| format!("f{}/n{n}.md", n % 5)).collect();
    let vault = linking(&names, "[[Old]]");
    let before = vault.snapshot();
    let moved = vault.ok("move", json!({"source": "Old.md", "destination": "New.md"}));
    assert_eq!(moved["links"]["files"], NOTES);
    vault.ok("undo", json!({}));
    assert!(vault.snapshot() == before);
    // Some folders do stay open: a limit below them is reported, and nothing has changed.
    let names: Vec<String> = (0..NOTES).map(|n| format!("f{n}/n.md")).collect();
    let vault = linking(&names, "[[Old]]");
    let before = vault.snapshot();
    let arguments = json!({"source": "Old.md", "destination": "New.md"});
    let io_error = vault_steward::note::code::ErrorCode::IoError;
    let error = vault.err("move", arguments, io_error);
    assert!(error.hint.is_some_and(|hint| hint.contains("ulimit")), "{}", error.message);
    assert!(vault.snapshot() == before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_move_rewrites_notes_in_more_folders_than_may_be_open() {
    let test = "a_move_rewrites_notes_in_more_folders_than_may_be_open";
    if !has_few_handles(test, 640) {
        return;
    }
    const NOTES: usize = 800;
    let names: Vec<String> = (0..NOTES).map(|n| format!("all/f{n}/n.md")).collect();
    let last = names[NOTES - 1].clone();
    let mut vault = linking(&names, "[x](../../Old.md)\n");
    vault.context.origin.confirmed = true;
    let before = vault.snapshot();
    let moved = vault.ok("move", json!({"source": "Old.md", "destination": "New.md"}));
    assert_eq!(moved["links"]["files"], NOTES);
    vault.ok("undo", json!({}));
    assert!(vault.snapshot() == before, "undone");
    // The folder with all the written notes moves.
    vault.ok("move", json!({"source": "all", "destination": "b/all"}));
    assert_eq!(vault.content("b/all/f700/n.md"), "[x](Old.md)\n", "it was rewritten");
    vault.ok("undo", json!({}));
    assert!(vault.snapshot() == before, "undone with its folder");
    // The last one is changed after the others were put in place, which are rolled back.
    let (place, once) = (vault.place.clone(), std::sync::Once::new());
    let (first, changed) = (names[0].clone(), last.clone());
    vault.context.vault.subscribe(Box::new(move |change| {
        if change.path.as_str() == first {
            let more = || std::fs::write(place.join(&changed), "more [x](../../Old.md)\n");
            once.call_once(|| more().expect("written"));
        }
    }));
    vault.ok("move", json!({"source": "Old.md", "destination": "New.md"}));
    assert_eq!(vault.content(&last), "more [x](New.md)\n");
    vault.ok("undo", json!({}));
    assert_eq!(vault.content(&last), "more [x](../../Old.md)\n");
    std::fs::write(vault.place.join(&last), "[x](../../Old.md)\n").expect("written");
    assert!(vault.snapshot() == before, "undone after a rollback");
}
