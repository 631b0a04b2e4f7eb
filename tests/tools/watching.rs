//! Changes made by others are noticed, even when events miss them (cases 76, 96).

use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::json;
#[cfg(unix)]
use vault_steward::note::code::ErrorCode;
use vault_steward::vault::{ChangeKind, VaultChange};

#[cfg(target_os = "linux")]
use crate::abilities::{Ability, can};
use crate::vault::{TestVault, vault};

fn watched(files: &[(&str, &str)]) -> (TestVault, Arc<Mutex<Vec<VaultChange>>>) {
    let vault = vault(files);
    let changes: Arc<Mutex<Vec<VaultChange>>> = Arc::default();
    vault.context.vault.subscribe(Box::new({
        let changes = changes.clone();
        move |change| changes.lock().expect("whole").push(change.clone())
    }));
    vault.context.vault.watch();
    (vault, changes)
}

fn notes(vault: &TestVault) -> Vec<String> {
    vault.context.vault.settle();
    let catalogue = vault.context.vault.catalogue();
    let root = vault_steward::note::path::VaultPath::root();
    catalogue.within(&root).map(|entry| entry.path().to_string()).collect()
}

/// On a folder that sends events at once. Elsewhere the next scan finds the change.
#[cfg(target_os = "linux")]
#[test]
fn what_others_do_is_known_at_once() {
    if !can(Ability::InKernel) {
        return;
    }
    let (vault, changes) = watched(&[("a.md", "x"), ("Folder/b.md", "x")]);
    let watching = vault.context.vault.watching();
    assert!(matches!(watching, vault_steward::vault::Watching::Events { folders: 2 }));
    let at = |path: &str| vault.place.join(path);
    fs::write(at("new.md"), "x").expect("written");
    assert_eq!(notes(&vault), ["Folder", "Folder/b.md", "a.md", "new.md"]);
    fs::rename(at("new.md"), at("Folder/moved.md")).expect("moved");
    fs::remove_file(at("a.md")).expect("removed");
    assert_eq!(notes(&vault), ["Folder", "Folder/b.md", "Folder/moved.md"]);
    fs::rename(at("Folder"), at("Other")).expect("moved");
    fs::write(at("Other/after.md"), "x").expect("written");
    assert_eq!(notes(&vault), ["Other", "Other/after.md", "Other/b.md", "Other/moved.md"]);
    fs::write(at("Other/b.md"), "longer").expect("written");
    notes(&vault);
    fs::rename(at("Other"), vault.place.with_file_name("Gone")).expect("moved out");
    assert_eq!(notes(&vault), [""; 0]);
    let changes = changes.lock().expect("whole");
    let renamed = changes.iter().filter(|c| matches!(c.kind, ChangeKind::Renamed { .. })).count();
    assert_eq!(renamed, 2, "{changes:?}");
    let modified = changes.iter().filter(|c| c.kind == ChangeKind::Modified);
    assert_eq!(modified.map(|c| c.path.as_str()).next_back(), Some("Other/b.md"), "{changes:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn files_put_into_a_new_folder_at_once_are_noticed() {
    if !can(Ability::InKernel) {
        return;
    }
    let (vault, _) = watched(&[]);
    for round in 0..100 {
        let deep = vault.place.join(format!("{round}/a/b"));
        fs::create_dir_all(&deep).expect("made");
        fs::write(deep.join("note.md"), "x").expect("written");
    }
    let found = notes(&vault).into_iter().filter(|path| path.ends_with("note.md")).count();
    assert_eq!(found, 100);
}

#[test]
fn own_changes_are_reported_once() {
    let (vault, seen) = watched(&[("a.md", "x")]);
    vault.ok("write_file", json!({ "path": "New/b.md", "content": "x" }));
    vault.ok("move", json!({ "source": "a.md", "destination": "c.md" }));
    vault.ok("delete", json!({ "path": "c.md" }));
    vault.context.vault.settle();
    let seen: Vec<(String, ChangeKind)> =
        seen.lock().expect("whole").iter().map(|c| (c.path.to_string(), c.kind.clone())).collect();
    let from = vault_steward::note::path::VaultPath::from_disk("a.md").expect("sound");
    let expected = [
        ("New".to_owned(), ChangeKind::Created),
        ("New/b.md".to_owned(), ChangeKind::Created),
        ("c.md".to_owned(), ChangeKind::Renamed { from }),
        ("c.md".to_owned(), ChangeKind::Removed),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn without_events_a_scan_finds_changes() {
    let vault = vault(&[("Projects/a.md", "x")]);
    vault.put("Projects/New/Deep/Note.md", "x");
    let read = vault.ok("read_file", json!({ "path": "projects/new/deep/note" }));
    assert_eq!(read["path"], "Projects/New/Deep/Note.md");
    fs::remove_dir_all(vault.place.join("Projects")).expect("removed");
    vault.put("Other/a.md", "x");
    vault.context.vault.rescan().expect("rescanned");
    assert_eq!(notes(&vault), ["Other", "Other/a.md"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_flood_of_changes_is_absorbed() {
    if !can(Ability::InKernel) {
        return;
    }
    let (vault, _) = watched(&[]);
    for n in 0..10_000 {
        fs::write(vault.place.join(format!("{n}.md")), "x").expect("written");
    }
    assert_eq!(notes(&vault).len(), 10_000);
    // With events that are lost because the thread takes fewer than are sent.
    for n in 0..10_000 {
        fs::rename(vault.place.join(format!("{n}.md")), vault.place.join(format!("r{n}.md")))
            .expect("moved");
    }
    let found = notes(&vault);
    assert_eq!(found.len(), 10_000);
    assert!(found.iter().all(|path| path.starts_with('r')), "{:?}", &found[..3]);
}

/// Changes like those of `git checkout`: files removed, rewritten and created in new folders, with
/// Git's own folder busy at the same time.
#[cfg(target_os = "linux")]
#[test]
fn a_checkout_is_absorbed_while_others_ask() {
    if !can(Ability::InKernel) {
        return;
    }
    let files: Vec<(String, String)> =
        (0..6_000).map(|n| (format!("{}/{n}.md", n % 60), format!("old {n}"))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (&**p, &**t)).collect();
    let (vault, changes) = watched(&files);
    let place = &vault.place;
    let answered = std::thread::scope(|scope| {
        let checkout = scope.spawn(|| {
            fs::create_dir_all(place.join(".git/objects")).expect("made");
            for n in 0..6_000 {
                let path = place.join(format!("{}/{n}.md", n % 60));
                fs::remove_file(&path).expect("removed");
                fs::write(place.join(format!(".git/objects/{n}")), "x").expect("written");
                if n >= 2_000 {
                    fs::write(&path, format!("checked out {n}")).expect("written");
                }
            }
            for n in 0..6_000 {
                let folder = place.join(format!("New/{}", n % 50));
                fs::create_dir_all(&folder).expect("made");
                fs::write(folder.join(format!("n{n}.md")), format!("checked out {n}"))
                    .expect("written");
            }
        });
        let mut answered = 0;
        while !checkout.is_finished() {
            let listed = vault.ok("list_files", json!({ "pattern": "**/*.md" }));
            let total = listed["total"].as_u64().expect("a number");
            assert!((3_999..=10_000).contains(&total), "{total}");
            answered += 1;
        }
        answered
    });
    assert!(answered > 0);
    let listed = vault.ok("list_files", json!({ "pattern": "**/*.md" }));
    assert_eq!(listed["total"], 10_000);
    let search = |pattern: &str| {
        let found = vault.ok("search_files", json!({ "pattern": pattern, "output_mode": "count" }));
        let files = found["files"].as_array().expect("a list");
        let paths = files.iter().map(|file| file["path"].as_str().expect("a path").to_owned());
        let mut paths: Vec<String> = paths.collect();
        paths.sort();
        (paths, found["searched"].as_u64().expect("a number"))
    };
    assert_eq!(search("^old "), (Vec::new(), 10_000));
    for n in [2_000, 4_242, 5_999] {
        let expected = [format!("{}/{n}.md", n % 60), format!("New/{}/n{n}.md", n % 50)];
        assert_eq!(search(&format!("^checked out {n}$")).0, expected);
    }
    let paths = notes(&vault);
    assert!(paths.iter().all(|path| !path.contains(".git")));
    let changes = changes.lock().expect("whole");
    assert!(changes.iter().all(|change| !change.path.as_str().starts_with(".git")));
    // Each file was created, removed or changed at least once, however the events were combined.
    let gone: std::collections::HashSet<&str> = changes
        .iter()
        .filter(|change| change.kind == ChangeKind::Removed)
        .map(|change| change.path.as_str())
        .collect();
    assert!((0..2_000).all(|n| gone.contains(&*format!("{}/{n}.md", n % 60))));
}

/// A list relies on events where all are sent, and on the disk where none are.
#[cfg(target_os = "linux")]
#[test]
fn a_change_is_in_the_next_list() {
    if !can(Ability::InKernel) {
        return;
    }
    let (vault, _) = watched(&[("a.md", "x"), ("b.md", "x")]);
    assert!(vault.context.vault.is_watched());
    let listed = |vault: &TestVault| -> Vec<(String, u64)> {
        let listed = vault.ok("list_files", json!({ "sort_by": "name" }));
        let entries = listed["entries"].as_array().expect("a list").iter();
        entries
            .map(|e| {
                let path = e["path"].as_str().expect("a path").to_owned();
                (path, e["size"].as_u64().expect("a size"))
            })
            .collect()
    };
    for round in 1..200_usize {
        fs::write(vault.place.join("a.md"), "y".repeat(round)).expect("written");
        let other = format!("{round}.md");
        fs::write(vault.place.join(&other), "").expect("written");
        let expected = [(other.clone(), 0), ("a.md".to_owned(), round as u64)];
        assert_eq!(listed(&vault)[..2], expected);
        fs::remove_file(vault.place.join(&other)).expect("removed");
    }
    let unwatched = crate::vault::vault(&[("a.md", "x")]);
    assert!(!unwatched.context.vault.is_watched());
    fs::write(unwatched.place.join("a.md"), "longer").expect("written");
    assert_eq!(listed(&unwatched), [("a.md".to_owned(), 6)]);
    fs::remove_file(unwatched.place.join("a.md")).expect("removed");
    assert_eq!(listed(&unwatched), []);
}

/// The saved catalogue is compared with the disk; nothing in it is trusted.
#[test]
fn a_start_takes_nothing_on_trust() {
    let (first, _) = watched(&[("a.md", "x"), ("Folder/b.md", "x"), ("Gone/c.md", "x")]);
    first.context.vault.stop();
    let state = first.state.clone();
    let kept = state.join("catalogue");
    assert!(kept.exists());
    fs::write(first.place.join("a.md"), "another").expect("written");
    fs::remove_dir_all(first.place.join("Gone")).expect("removed");
    fs::create_dir(first.place.join("New")).expect("made");
    fs::write(first.place.join("New/d.md"), "x").expect("written");
    let open = || {
        let settings = vault_steward::vault::Settings::default();
        let vault = vault_steward::vault::Vault::open(&first.place, &state, settings, &|_| ());
        let (vault, _) = vault.expect("opened");
        let root = vault_steward::note::path::VaultPath::root();
        let catalogue = vault.catalogue();
        let entries = catalogue.within(&root).map(|e| (e.path().to_string(), e.size));
        entries.collect::<Vec<_>>()
    };
    let expected = [("Folder", 0), ("Folder/b.md", 1), ("New", 0), ("New/d.md", 1), ("a.md", 7)]
        .map(|(path, size)| (path.to_owned(), size));
    assert_eq!(open(), expected);
    let whole = fs::read(&kept).expect("read");
    let mut other = whole.clone();
    other[whole.len() / 2] ^= 1;
    for damaged in [&whole[..whole.len() / 2], &other, b"", b"no catalogue"] {
        fs::write(&kept, damaged).expect("written");
        assert_eq!(open(), expected);
    }
}

/// One scan with watches is enough: other programs may create, change, move and remove files during
/// it, with and without a saved catalogue.
#[cfg(target_os = "linux")]
#[test]
fn what_happens_during_the_first_scan_is_not_missed() {
    use std::sync::atomic::{AtomicBool, Ordering};
    use vault_steward::vault::{Settings, Vault};

    if !can(Ability::InKernel) {
        return;
    }
    let ground = vault(&[]);
    let at = |path: &str| ground.place.join(path);
    for folder in 0..120 {
        fs::create_dir_all(at(&format!("{}/{folder}/deep", folder % 7))).expect("made");
        for note in 0..4 {
            let path = format!("{}/{folder}/deep/{note}.md", folder % 7);
            fs::write(at(&path), "x").expect("written");
        }
    }
    // Operations may fail because of earlier ones.
    let disturb = |random: &mut u64| {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let (a, b) = (*random >> 8 & 127, *random >> 16 & 127);
        let (from, to) = (format!("{}/{a}", a % 7), format!("{}/{b}", b % 7));
        let done = match *random >> 32 & 7 {
            0 => fs::write(at(&format!("{from}/deep/{b}.md")), "xx"),
            1 => fs::remove_file(at(&format!("{from}/deep/{}.md", b & 3))),
            // There and back, and there again.
            2 => fs::rename(at(&from), at("away")).and_then(|()| fs::rename(at("away"), at(&from))),
            3 => fs::rename(at(&from), at(&format!("{to}/in"))),
            4 => fs::rename(at(&format!("{to}/in")), at(&from)),
            5 => fs::create_dir_all(at(&format!("{from}/deep/{b}/new")))
                .and_then(|()| fs::write(at(&format!("{from}/deep/{b}/new/n.md")), "xxx")),
            6 => fs::write(at(&format!("{from}/deep/1.md")), vec![b'x'; b as usize]),
            _ => fs::remove_dir_all(at(&format!("{from}/deep/{b}"))),
        };
        drop(done);
    };
    let entries = |vault: &Vault| -> Vec<_> {
        let root = vault_steward::note::path::VaultPath::root();
        let catalogue = vault.catalogue();
        let entry = |e: vault_steward::vault::Entry<'_>| {
            let time = (e.kind != vault_steward::vault::Kind::Folder).then_some(e.modified);
            (e.path().to_string(), e.kind, e.size, time)
        };
        catalogue.within(&root).map(entry).collect()
    };
    let other = tempfile::tempdir().expect("a folder");
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..12 {
        let over = AtomicBool::new(false);
        let opened = std::thread::scope(|scope| {
            scope.spawn(|| {
                // Each event for a folder costs a walk through it afterwards.
                for _ in 0..250 {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    disturb(&mut random);
                }
            });
            let open = Vault::open_watched;
            let opened = open(&ground.place, &ground.state, Settings::default(), &|_| ());
            over.store(true, Ordering::Relaxed);
            opened.expect("opened").0
        });
        assert!(opened.is_watched());
        opened.settle();
        let fresh = Vault::open(&ground.place, other.path(), Settings::default(), &|_| ());
        assert_eq!(entries(&opened), entries(&fresh.expect("opened").0), "round {round}");
        opened.watch();
        opened.stop();
    }
}

/// As restoring a backup does, or `rm -rf` and `git clone`.
// Windows refuses to rename a vault that is open.
#[cfg(not(windows))]
#[test]
fn a_folder_that_takes_the_place_of_the_vault_is_the_vault() {
    let (vault, changes) = watched(&[("a.md", "one"), ("Folder/b.md", "b"), ("gone.md", "x")]);
    let set = vault.ok("write_file", json!({ "path": "c.md", "content": "mine" }));
    let place = &vault.place;
    let aside = place.with_file_name("aside");
    let new = place.with_file_name("new");
    fs::create_dir_all(new.join("Folder")).expect("made");
    fs::create_dir_all(new.join(".obsidian")).expect("made");
    fs::copy(place.join(".obsidian/app.json"), new.join(".obsidian/app.json")).expect("copied");
    for (path, text) in [("a.md", "two"), ("Folder/b.md", "b"), ("c.md", "mine"), ("d.md", "new")] {
        fs::write(new.join(path), text).expect("written");
    }
    fs::rename(place, &aside).expect("moved");
    let gone = vault.err("read_file", json!({ "path": "a" }), ErrorCode::IoError);
    assert!(gone.hint.is_some_and(|hint| hint.contains("put the folder back")));
    // An empty mount point is not a vault.
    fs::create_dir(place).expect("made");
    vault.err("list_files", json!({}), ErrorCode::IoError);
    assert!(notes(&vault).contains(&"gone.md".to_owned()));
    fs::remove_dir(place).expect("removed");

    fs::rename(&new, place).expect("moved");
    assert_eq!(vault.ok("read_file", json!({ "path": "a" }))["content"], "two\n");
    assert_eq!(notes(&vault), ["Folder", "Folder/b.md", "a.md", "c.md", "d.md"]);
    let search = json!({ "pattern": "new" });
    assert_eq!(vault.ok("search_files", search)["files"][0]["path"], "d.md");
    let warnings = vault.context.vault.status().warnings;
    assert!(warnings.iter().any(|one| one.contains("replaced")), "{warnings:?}");
    // Changes there are reported now, changes in the old folder are not.
    fs::write(place.join("e.md"), "x").expect("written");
    fs::write(aside.join("old.md"), "x").expect("written");
    vault.context.vault.rescan().expect("scanned");
    assert!(notes(&vault).contains(&"e.md".to_owned()));
    let changes = changes.lock().expect("whole").clone();
    assert!(changes.iter().any(|one| one.path.as_str() == "d.md"), "{changes:?}");
    assert!(!changes.iter().any(|one| one.path.as_str() == "old.md"), "{changes:?}");
    // The journal still works, back to earlier changes.
    vault.ok("edit_file", json!({ "path": "d.md", "old_text": "new", "new_text": "newer" }));
    vault.ok("undo", json!({ "change_set": set["change_set"] }));
    assert!(!place.join("c.md").exists() && aside.join("c.md").exists());
    vault.ok("undo", json!({}));
    assert_eq!(vault.content("d.md"), "new");
}

/// Clients are told without asking.
// Windows refuses to rename a vault that is open.
#[cfg(not(windows))]
#[test]
fn the_thread_that_watches_finds_a_vault_that_is_back() {
    let vault = watched(&[("a.md", "one")]).0;
    let (sender, receiver) = std::sync::mpsc::channel();
    vault.context.vault.subscribe(Box::new(move |change| drop(sender.send(change.path.clone()))));
    let place = &vault.place;
    let new = place.with_file_name("new");
    fs::create_dir_all(&new).expect("made");
    fs::write(new.join("d.md"), "new").expect("written");
    fs::rename(place, place.with_file_name("aside")).expect("moved");
    vault.context.vault.rescan().expect_err("it is gone");
    fs::rename(&new, place).expect("moved");
    let heard = || receiver.recv_timeout(std::time::Duration::from_secs(60)).expect("it is told");
    while heard().as_str() != "d.md" {}
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_left_after_stop() {
    let open = || fs::read_dir("/proc/self/fd").expect("listed").count();
    let own = || {
        let tasks = fs::read_dir("/proc/self/task").expect("listed").flatten();
        let names = tasks.filter_map(|t| fs::read_to_string(t.path().join("comm")).ok());
        names.filter(|name| name.starts_with("vault-watch")).count()
    };
    // Other tests of this process open and close files too: a leak would grow with the rounds,
    // those do not.
    let before = open();
    for _ in 0..50 {
        let (vault, _) = watched(&[("a.md", "x")]);
        vault.ok("write_file", json!({ "path": "a", "content": "y" }));
        vault.context.vault.stop();
    }
    let _ = own();
    assert!(open() < before + 100, "{} descriptors before, {} after", before, open());
}
