//! Changes made by others are noticed, also where events miss them (cases 76, 96).

use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::json;
use vault_steward::vault::{ChangeKind, VaultChange, Watching};

use crate::abilities::{Ability, can};
use crate::vault::{TestVault, vault};

fn watched(files: &[(&str, &str)]) -> (TestVault, Arc<Mutex<Vec<VaultChange>>>) {
    let vault = vault(files);
    let told: Arc<Mutex<Vec<VaultChange>>> = Arc::default();
    vault.context.vault.subscribe(Box::new({
        let told = told.clone();
        move |change| told.lock().expect("whole").push(change.clone())
    }));
    vault.context.vault.watch();
    (vault, told)
}

fn notes(vault: &TestVault) -> Vec<String> {
    vault.context.vault.settle();
    let catalogue = vault.context.vault.catalogue();
    let root = vault_steward::note::path::VaultPath::root();
    catalogue.within(&root).map(|entry| entry.path().to_string()).collect()
}

/// On a folder that sends events at once. Elsewhere the next look at the disk tells.
#[cfg(target_os = "linux")]
#[test]
fn what_others_do_is_known_at_once() {
    if !can(Ability::InKernel) {
        return;
    }
    let (vault, told) = watched(&[("a.md", "x"), ("Folder/b.md", "x")]);
    assert!(matches!(vault.context.vault.status().watching, Watching::Events { folders: 2 }));
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
    let told = told.lock().expect("whole");
    let renamed = told.iter().filter(|c| matches!(c.kind, ChangeKind::Renamed { .. })).count();
    assert_eq!(renamed, 2, "{told:?}");
    let modified = told.iter().filter(|c| c.kind == ChangeKind::Modified);
    assert_eq!(modified.map(|c| c.path.as_str()).next_back(), Some("Other/b.md"), "{told:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_put_into_a_new_folder_at_once_is_not_missed() {
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
fn own_changes_are_told_once() {
    let (vault, told) = watched(&[("a.md", "x")]);
    vault.ok("write_file", json!({ "path": "New/b.md", "content": "x" }));
    vault.ok("move", json!({ "source": "a.md", "destination": "c.md" }));
    vault.ok("delete", json!({ "path": "c.md" }));
    vault.context.vault.settle();
    let told: Vec<(String, ChangeKind)> =
        told.lock().expect("whole").iter().map(|c| (c.path.to_string(), c.kind.clone())).collect();
    let from = vault_steward::note::path::VaultPath::from_disk("a.md").expect("sound");
    let expected = [
        ("New".to_owned(), ChangeKind::Created),
        ("New/b.md".to_owned(), ChangeKind::Created),
        ("c.md".to_owned(), ChangeKind::Renamed { from }),
        ("c.md".to_owned(), ChangeKind::Removed),
    ];
    assert_eq!(told, expected);
}

#[test]
fn without_events_a_look_at_the_disk_finds_it_all_the_same() {
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
    // More than the system's queue holds while nobody takes anything: it tells that it lost some.
    for n in 0..10_000 {
        fs::rename(vault.place.join(format!("{n}.md")), vault.place.join(format!("r{n}.md")))
            .expect("moved");
    }
    let found = notes(&vault);
    assert_eq!(found.len(), 10_000);
    assert!(found.iter().all(|path| path.starts_with('r')), "{:?}", &found[..3]);
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
    // Other tests of this process open and close files of their own: a leak would grow with the
    // rounds, they do not.
    let before = open();
    for _ in 0..50 {
        let (vault, _) = watched(&[("a.md", "x")]);
        vault.ok("write_file", json!({ "path": "a", "content": "y" }));
        vault.context.vault.stop();
    }
    let _ = own();
    assert!(open() < before + 100, "{} descriptors before, {} after", before, open());
}
