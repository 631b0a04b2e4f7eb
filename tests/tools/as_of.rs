//! The vault at earlier times: at every change, and where others changed it too.

use std::collections::BTreeMap;

use serde_json::json;
use vault_steward::journal::{ChangeSetId, PointInTime, Target};
use vault_steward::methods::as_of::{as_of, between};
use vault_steward::protocol::as_of::{AsOfParams, AsOfResult, At, EntryThen};
use vault_steward::protocol::diff::{DiffChange, DiffParams};
use vault_steward::protocol::error::Kind;

use crate::changes::{delete, folder, in_turn, mv, path, seen, write};
use crate::vault::{JournalAlone as _, TestVault, TrashAlone as _, renames_case, vault};

fn after(set: ChangeSetId) -> At {
    At { change_set: Some(set.0), ..At::default() }
}

fn before(set: ChangeSetId) -> At {
    At { before: true, ..after(set) }
}

fn ask(vault: &TestVault, path: &str, at: &At) -> Result<AsOfResult, Kind> {
    let path = (!path.is_empty()).then(|| path.to_owned());
    let params = AsOfParams { path, at: at.clone(), first: None };
    as_of(&vault.context, &params, 1 << 20).map_err(|error| error.data.kind)
}

#[track_caller]
fn text(vault: &TestVault, path: &str, at: &At) -> String {
    let found = ask(vault, path, at).unwrap_or_else(|kind| panic!("{path} {at:?}: {kind:?}"));
    found.text.unwrap_or_else(|| panic!("{path} {at:?}: {:?}", found.reason))
}

/// All files at a moment, with their texts.
fn whole(vault: &TestVault, at: &At) -> BTreeMap<String, String> {
    let tree = ask(vault, "", at).expect("a tree");
    let files = tree.entries.iter().filter(|entry| entry.kind == EntryThen::File);
    let texts = files.map(|entry| {
        assert!(!entry.unsure, "{entry:?} at {at:?}");
        let found = ask(vault, &entry.path, at).expect("listed");
        // The journal has nothing about a file in a deleted folder before the deletion.
        assert!(found.unsure.is_none_or(|unsure| unsure.from.is_none()), "{entry:?} at {at:?}");
        assert_eq!(found.path, entry.path);
        (entry.path.clone(), found.text.expect("a text"))
    });
    texts.collect()
}

fn files_on_disk(vault: &TestVault) -> BTreeMap<String, String> {
    let is_file = |name: &str| !name.starts_with(".obsidian") && !name.ends_with('/');
    seen(vault).into_iter().filter(|(name, _)| is_file(name)).collect()
}

#[test]
fn at_every_change_the_vault_is_as_it_was_then() {
    let vault = vault(&[
        ("a.md", "a\n"),
        ("c.md", "c\n"),
        ("Untouched.md", "u\n"),
        ("Folder/b.md", "b\n"),
        ("Folder/deep/d.md", "d"),
    ]);
    let capital = if renames_case() { "C.md" } else { "Capital.md" };
    let first = files_on_disk(&vault);
    let mut states: Vec<(ChangeSetId, BTreeMap<String, String>)> = Vec::new();
    let mut done = |set: ChangeSetId| {
        states.push((set, files_on_disk(&vault)));
        set
    };
    done(vault.apply(vec![write("New/n.md", "one\n")]));
    done(vault.apply(vec![write("New/n.md", "two\n"), write("a.md", "")]));
    done(vault.apply(vec![mv("New/n.md", "Folder/moved.md")]));
    done(vault.apply(vec![mv("Folder", "Elsewhere/Folder"), folder("Empty")]));
    done(vault.apply(vec![mv("c.md", capital)]));
    let gone = done(vault.apply(vec![delete("Elsewhere/Folder")]));
    done(vault.apply(vec![write("Elsewhere/Folder/b.md", "another\n")]));
    let again = done(vault.apply(vec![delete("Elsewhere")]));
    done(vault.undo(again));
    done(vault.apply(vec![delete("Elsewhere/Folder/b.md")]));
    done(vault.undo(gone));
    let edited = done(vault.apply(vec![write("Untouched.md", "touched\n")]));
    done(vault.undo(edited));
    done(vault.apply_as(vec![write("turn.md", "1"), write("a.md", "t1")], &in_turn("t")));
    done(vault.apply(vec![
        write(capital, "changed\n"),
        mv("a.md", "x/a2.md"),
        delete(capital),
        write("x/new.md", "new\n"),
    ]));
    let last = done(vault.apply(vec![delete("x")]));
    let items = vault.journal().trash().list().expect("listed");
    let item = items.iter().find(|item| item.was == Some(path("x"))).expect("in the trash");
    let restored =
        vault.journal().trash().restore(&item.id, None, &Default::default()).expect("restored");
    done(restored.applied.change_set);
    assert_ne!(restored.applied.change_set, last);

    for (number, (set, state)) in states.iter().enumerate() {
        assert_eq!(&whole(&vault, &after(*set)), state, "after {set}");
        let earlier = number.checked_sub(1).map_or(&first, |number| &states[number].1);
        assert_eq!(&whole(&vault, &before(*set)), earlier, "before {set}");
    }
    assert_eq!(whole(&vault, &At::default()), files_on_disk(&vault));
    // Another process gets the same answer.
    let vault = vault.reopened();
    for (set, state) in &states {
        assert_eq!(&whole(&vault, &after(*set)), state, "after {set}, later");
    }
}

/// Most steps of a journal overwrite a file, and are not read where they do not matter.
#[test]
fn files_that_are_written_again_and_again_are_listed_at_every_moment() {
    let vault = vault(&[("old.md", "o\n")]);
    let mut states = Vec::new();
    for round in 0..12 {
        let text = format!("{round}\n");
        let mut steps = vec![write("log.md", &text), write("old.md", &text)];
        match round {
            2 => steps.push(mv("log.md", "Logs/log.md")),
            4 => steps.push(delete("old.md")),
            6 => steps.push(mv("Logs", "Kept")),
            8 => steps.push(delete("log.md")),
            9 => steps = vec![folder("log.md"), write("log.md/in a folder.md", &text)],
            10 => steps = vec![delete("log.md")],
            _ => {}
        }
        let set = vault.apply(steps);
        states.push((set, whole(&vault, &At::default())));
    }
    for (set, state) in &states {
        assert_eq!(&whole(&vault, &after(*set)), state, "after {set}");
    }
}

#[test]
fn a_note_is_found_by_the_name_it_had_and_by_the_one_it_has() {
    let vault = vault(&[("Plan.md", "first\n"), ("Other.md", "o\n")]);
    let edited = vault.apply(vec![write("Plan.md", "second\n")]);
    vault.apply(vec![mv("Plan.md", "Old/Garden plan.md")]);
    let then = before(edited);
    for name in ["Plan.md", "Plan", "plan", "Old/Garden plan.md", "old/garden plan", "Garden plan"]
    {
        let found = ask(&vault, name, &then).unwrap_or_else(|kind| panic!("{name}: {kind:?}"));
        assert_eq!((found.path.as_str(), found.text.as_deref()), ("Plan.md", Some("first\n")));
        assert_eq!(found.now.as_deref(), Some("Old/Garden plan.md"), "{name}");
    }
    assert_eq!(ask(&vault, "Plan.md", &after(edited)).expect("there").left_by, Some(edited.0));
    let gone = vault.apply(vec![delete("Old/Garden plan.md")]);
    let found = ask(&vault, "garden plan", &before(gone)).expect("by its name alone");
    assert_eq!((found.text.as_deref(), found.now), (Some("second\n"), None));
    assert_eq!(ask(&vault, "Garden plan", &At::default()), Err(Kind::NotFound));
    assert_eq!(ask(&vault, "Never", &then), Err(Kind::NotFound));
    assert_eq!(ask(&vault, "Plan", &after(ChangeSetId(99))), Err(Kind::NotFound));
    let soon = At { time: Some("soon".to_owned()), ..At::default() };
    assert_eq!(ask(&vault, "Plan", &soon), Err(Kind::InvalidParams));
}

#[test]
fn changes_by_others_are_reported_as_uncertain() {
    let vault = vault(&[("a.md", "a\n"), ("quiet.md", "q\n"), ("strange.md", "s\n")]);
    let first = vault.apply(vec![write("a.md", "ours\n"), write("b.md", "b\n")]);
    vault.let_time_pass();
    let then = chrono::Utc::now().to_rfc3339();
    let between = At { time: Some(then), ..At::default() };
    vault.let_time_pass();
    vault.put("a.md", "theirs\n");
    vault.put("strange.md", "changed by others\n");
    vault.put("appeared.md", "new\n");
    std::fs::remove_file(vault.place.join("b.md")).expect("removed");
    let vault = vault.reopened();
    // Directly after our change nobody else had changed it yet.
    assert_eq!(ask(&vault, "a.md", &after(first)).expect("there").unsure, None);
    let found = ask(&vault, "a.md", &between).expect("there");
    assert_eq!(found.text.as_deref(), Some("ours\n"));
    let unsure = found.unsure.expect("it cannot be certain");
    assert!(unsure.from.is_some() && unsure.to.is_some(), "{unsure:?}");
    assert!(unsure.said.contains("changed outside the steward between"), "{unsure:?}");
    // Never changed by us: its own time is all there is.
    assert_eq!(ask(&vault, "quiet.md", &between).expect("there").unsure, None);
    let found = ask(&vault, "strange.md", &between).expect("there");
    let unsure = found.unsure.expect("it cannot be certain");
    assert!(unsure.from.is_none() && unsure.said.contains("not recorded"), "{unsure:?}");
    let gone = ask(&vault, "b.md", &between).expect("it was ours");
    assert_eq!(gone.text.as_deref(), Some("b\n"));
    assert!(gone.unsure.expect("unsure").said.contains("at some time after"));
    let tree = ask(&vault, "", &between).expect("a tree");
    let unsure: Vec<&str> =
        tree.entries.iter().filter(|one| one.unsure).map(|one| one.path.as_str()).collect();
    assert_eq!(unsure, ["a.md", "appeared.md", "b.md", "strange.md"]);

    // Our next change reads it, and so the present state is known again.
    let second = vault.apply(vec![write("a.md", "ours again\n"), write("strange.md", "ours\n")]);
    assert_eq!(text(&vault, "a.md", &before(second)), "theirs\n");
    for path in ["a.md", "strange.md"] {
        assert_eq!(ask(&vault, path, &before(second)).expect("there").unsure, None, "{path}");
    }
    assert!(ask(&vault, "a.md", &between).expect("there").unsure.is_some());
}

#[test]
fn two_moments_of_a_note_are_compared() {
    let vault = vault(&[("a.md", "one\ntwo\n")]);
    let first = vault.apply(vec![write("a.md", "one\n2\n")]);
    let moved = vault.apply(vec![mv("a.md", "b.md")]);
    let last = vault.apply(vec![write("b.md", "one\n2\nthree\n")]);
    let compare = |path: &str, from: At, to: Option<At>| -> Result<DiffChange, Kind> {
        let params = DiffParams { from: Some(from), to, ..DiffParams::default() };
        let found = between(&vault.context, path, &params, 1 << 20);
        found.map(|mut found| found.changes.remove(0)).map_err(|error| error.data.kind)
    };
    let change = compare("b.md", before(first), None).expect("compared");
    assert_eq!((change.action.as_str(), change.from.as_deref()), ("moved", Some("a.md")));
    assert_eq!((change.added, change.removed), (2, 1), "{change:?}");
    assert!(change.diff.expect("a diff").contains("-two\n+2\n+three\n"));
    // In whichever order the two are named.
    let change = compare("b.md", after(last), Some(after(moved))).expect("compared");
    assert_eq!((change.added, change.removed), (1, 0), "{change:?}");
    let gone = vault.apply(vec![delete("b.md")]);
    let change = compare("b.md", before(gone), None).expect("compared");
    assert_eq!((change.action.as_str(), change.removed), ("deleted", 3));
    assert_eq!(compare("Never", before(first), None), Err(Kind::NotFound));
    vault.journal().undo(Target::Set(gone), false, &Default::default()).expect("undone");
    assert_eq!(compare("b.md", before(gone), None).expect("compared").diff, None);
}

#[test]
fn a_deleted_text_is_reported_as_such() {
    let vault = vault(&[("a.md", "a\n")]);
    let first = vault.apply(vec![write("a.md", "lost\n")]);
    let second = vault.apply(vec![write("a.md", "kept\n")]);
    let hash = blake3::hash(b"lost\n").to_string();
    let lost =
        vault.blobs().into_iter().find(|place| place.to_string_lossy().contains(&hash[..16]));
    std::fs::remove_file(lost.expect("stored")).expect("removed");
    let found = ask(&vault, "a.md", &after(first)).expect("there");
    assert_eq!((found.text, found.reason.as_deref()), (None, Some("its text is no longer stored")));
    assert_eq!(text(&vault, "a.md", &after(second)), "kept\n");
    assert!(vault.journal().moment(PointInTime::After(second)).expect("read").is_some());
    assert!(vault.text("read_file", json!({"path": "a.md"})).contains("kept"));
}
