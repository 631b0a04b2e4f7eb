//! Copies of notes and files.

use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode::{
    AlreadyExists, NotAFile, NotFound, OutsideVault, ProtectedPath, TooLarge,
};

#[cfg(unix)]
use crate::abilities::{Ability, can};
use crate::vault::{TestVault, vault};

fn copy(vault: &TestVault, source: &str, destination: &str) -> Value {
    vault.ok("copy", json!({"source": source, "destination": destination}))
}

#[test]
fn a_copy_is_the_same_bytes_and_an_undo_takes_it_away() {
    let binary: Vec<u8> = (0..=255).cycle().take(3000).collect();
    let vault = TestVault::new(&[("a.md", "\u{feff}one\r\ntwo [[a]]\r\n")], |place| {
        std::fs::write(place.join("plan.pdf"), &binary).expect("written");
        std::fs::write(place.join("latin.md"), b"caf\xe9 [x](./a.md)").expect("written");
    });
    let before = vault.snapshot();
    for (source, destination, now) in [
        ("a", "b", "b.md"),
        ("A.md", "New/Deep/Release 2.0", "New/Deep/Release 2.0.md"),
        ("plan.pdf", "New/plan 2", "New/plan 2.pdf"),
        ("latin.md", "latin 2.md", "latin 2.md"),
    ] {
        let copied = copy(&vault, source, destination);
        assert_eq!(copied["destination"], now);
        let real = copied["source"].as_str().expect("a path");
        assert_eq!(vault.bytes(now), vault.bytes(real), "{now}");
        assert_eq!(copied["bytes"], vault.bytes(real).len());
        vault.ok("undo", json!({"change_set": copied["change_set"]}));
        assert!(!vault.exists(now), "{now}");
    }
    let left: Vec<_> =
        vault.snapshot().into_iter().filter(|(name, _)| !name.starts_with(".trash")).collect();
    let same = before.iter().all(|file| left.contains(file));
    assert!(same, "{:?}", left.iter().map(|(name, _)| name).collect::<Vec<_>>());
}

#[test]
fn nothing_is_replaced_by_a_copy() {
    let vault = vault(&[("a.md", "a"), ("b.md", "b"), ("Folder/x.md", "x"), ("p.png", "p")]);
    let before = vault.snapshot();
    for (source, destination) in [
        ("a.md", "b.md"),
        ("a", "B"),
        ("a", "a"),
        ("a.md", "A.md"),
        ("p.png", "P"),
        ("a", "Folder"),
    ] {
        let pair = json!({"source": source, "destination": destination});
        vault.err("copy", pair, AlreadyExists);
    }
    let hint = |source, destination| {
        let pair = json!({"source": source, "destination": destination});
        vault.err("copy", pair, AlreadyExists).hint.expect("a hint")
    };
    assert_eq!(hint("a", "a"), "`a 2.md` is free");
    assert_eq!(hint("a.md", "b.md"), "`b 2.md` is free");
    assert_eq!(hint("a", "folder"), "to copy it into that folder, say `Folder/a.md`");
    let refused = |source, destination, code| {
        vault.err("copy", json!({"source": source, "destination": destination}), code);
    };
    refused("Folder", "Other", NotAFile);
    refused("nowhere", "b", NotFound);
    refused("a", "../b", OutsideVault);
    refused("a", ".obsidian/plugins/x.md", ProtectedPath);
    refused(".obsidian/app.json", "app.json", ProtectedPath);
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn links_in_a_copy_lead_where_those_of_the_original_lead() {
    let note = "[[Tomato]] [[#Head]] [t](Tomato.md) [u](../Home.md#h) ![](img/p.png) [[Nowhere]]\n\
                [[Beds/Tomato|mine]] `[t](Tomato.md)`";
    let files = [
        ("Beds/Plan.md", note),
        ("Beds/Tomato.md", "x"),
        ("Year/2027/Tomato.md", "another"),
        ("Home.md", "x"),
        ("Beds/img/p.png", "p"),
    ];
    let vault = vault(&files);
    let before = vault.content("Beds/Plan.md");
    let targets = |path: &str| -> Vec<Value> {
        let links = vault.ok("get_links", json!({"path": path}));
        let links = links["outgoing"].as_array().expect("links");
        links.iter().map(|link| link["target"].clone()).filter(|to| *to != path).collect()
    };
    let shown = vault.ok(
        "copy",
        json!({"source": "Beds/Plan", "destination": "Year/2027/Plan", "dry_run": true}),
    );
    assert!(shown["change_set"].is_null() && !vault.exists("Year/2027/Plan.md"), "{shown}");
    let copied = copy(&vault, "Beds/Plan", "Year/2027/Plan");
    assert_eq!(copied["links"]["links"], shown["links"]["links"], "{copied}");
    assert_eq!(copied["links"]["rewritten"][0]["path"], "Year/2027/Plan.md");
    assert_eq!(vault.content("Beds/Plan.md"), before, "the original stays");
    let text = vault.content("Year/2027/Plan.md");
    assert!(text.contains("[[#Head]]") && text.ends_with("`[t](Tomato.md)`"), "{text}");
    assert_eq!(targets("Year/2027/Plan.md"), targets("Beds/Plan.md"), "{text}");
}

#[test]
fn links_to_the_original_do_not_turn_to_the_copy() {
    let files = [("Deep/Er/Plan.md", "p"), ("Home.md", "[[Plan]]"), ("Deep/x.md", "[[plan#a]]")];
    let vault = vault(&files);
    let copied = copy(&vault, "Plan", "Plan");
    assert_eq!(copied["destination"], "Plan.md");
    let backlinks =
        |path: &str| vault.ok("get_links", json!({"path": path}))["total_backlinks"].clone();
    assert_eq!((backlinks("Plan.md"), backlinks("Deep/Er/Plan.md")), (json!(0), json!(2)));
    assert_eq!(vault.content("Home.md"), "[[Deep/Er/Plan]]");
    vault.ok("undo", json!({"change_set": copied["change_set"]}));
    assert!(!vault.exists("Plan.md"));
    assert_eq!(backlinks("Deep/Er/Plan.md"), 2);
}

#[test]
fn relative_links_are_written_for_the_new_place() {
    let app = r#"{"trashOption":"local","newLinkFormat":"relative"}"#;
    let files = [
        ("a/Plan.md", "[h](../Home.md) [[./x]]"),
        ("Home.md", ""),
        ("b/Home.md", ""),
        ("a/x.md", ""),
    ];
    let vault = TestVault::new(&[&files[..], &[("b/c/x.md", "")]].concat(), |place| {
        std::fs::write(place.join(".obsidian/app.json"), app).expect("written");
    });
    copy(&vault, "a/Plan", "b/c/Plan");
    assert_eq!(vault.content("b/c/Plan.md"), "[h](../../Home.md) [[../../a/x]]");
}

#[test]
fn a_canvas_is_copied_with_its_files() {
    let canvas = r#"{"nodes":[{"id":"1","type":"file","file":"a/x.md","x":0,"y":0,"width":1,"height":1},{"id":"2","type":"text","text":"[t](x.md)","x":0,"y":0,"width":1,"height":1}],"edges":[]}"#;
    let vault = vault(&[("a/Map.canvas", canvas), ("a/x.md", "x"), ("b/x.md", "another")]);
    copy(&vault, "a/Map.canvas", "b/Map");
    let copied = vault.content("b/Map.canvas");
    assert!(copied.contains(r#""file":"a/x.md""#) && copied.contains("[t](a/x.md)"), "{copied}");
}

#[test]
fn large_files_are_copied_and_there_is_a_limit() {
    let vault = TestVault::new(&[], |place| {
        let large: Vec<u8> = (0..12u32 << 20).map(|at| (at ^ (at >> 8)) as u8).collect();
        std::fs::write(place.join("talk.mp3"), large).expect("written");
        let huge = std::fs::File::create(place.join("film.mp4")).expect("made");
        huge.set_len((100 << 20) + 1).expect("made long");
    });
    let copied = copy(&vault, "talk.mp3", "talk 2");
    assert!(vault.bytes("talk 2.mp3") == vault.bytes("talk.mp3"));
    let undone = vault.ok("undo", json!({"change_set": copied["change_set"]}));
    assert!(!vault.exists("talk 2.mp3"));
    vault.ok("undo", json!({"change_set": undone["change_set"]}));
    assert!(vault.bytes("talk 2.mp3") == vault.bytes("talk.mp3"));
    let pair = json!({"source": "film.mp4", "destination": "film 2"});
    let error = vault.err("copy", pair, TooLarge);
    assert!(error.text().contains("file manager"), "{}", error.text());
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_is_copied_as_the_file_that_it_leads_to() {
    if !can(Ability::SymbolicLinks) {
        return;
    }
    let vault = TestVault::new(&[("a.md", "one")], |place| {
        std::os::unix::fs::symlink("a.md", place.join("l.md")).expect("made");
    });
    copy(&vault, "l.md", "b");
    assert_eq!(vault.content("b.md"), "one");
    assert!(vault.place.join("b.md").symlink_metadata().expect("there").is_file());
}
