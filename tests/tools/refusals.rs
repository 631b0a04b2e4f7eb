//! Refusals by the system: no space for another file, no permission to write, a disk that became
//! read-only (cases 87, 88, 90, 93, 94).

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use vault_steward::journal::Settings;
use vault_steward::note::code::ErrorCode;

use crate::abilities::{Ability, can};
use crate::changes::write;
use crate::machine;
use crate::vault::{TestVault, vault};

/// Everything that a caller can do to a vault, each refused with `code`; afterwards nothing has
/// changed, and everything can still be read.
#[track_caller]
fn refuses_all(vault: &TestVault, calls: &[(&str, serde_json::Value)], code: ErrorCode) {
    let before = vault.snapshot();
    for (tool, arguments) in calls {
        let error = vault.err(tool, arguments.clone(), code);
        assert!(error.hint.is_some_and(|hint| !hint.is_empty()), "{tool}: {}", error.message);
        assert_eq!(vault.snapshot(), before, "{tool} {arguments}");
    }
    for (name, bytes) in before.iter().filter(|(name, _)| name.ends_with(".md")) {
        let read = vault.ok("read_file", json!({ "path": name }));
        assert_eq!(read["content"].as_str().map(str::as_bytes), Some(&bytes[..]), "{name}");
    }
}

#[test]
fn no_room_for_another_file_changes_nothing() {
    let Some(place) = machine::few_inodes("no_room_for_another_file") else { return };
    let vault = TestVault::at(&place, &[("a.md", "a\n"), ("Work/b.md", "b\n")], |_| ());
    let fill = || {
        let names = (0..).map(|n| place.join(format!("Work/filler {n}")));
        names.take_while(|name| fs::write(name, "").is_ok()).collect::<Vec<_>>()
    };
    let filled = fill();
    let calls = [
        ("write_file", json!({ "path": "new.md", "content": "x" })),
        ("write_file", json!({ "path": "a.md", "content": "x\n" })),
        ("edit_file", json!({ "path": "a.md", "old_text": "a", "new_text": "b" })),
        ("create_folder", json!({ "path": "New/Deep" })),
        ("move", json!({ "source": "a.md", "destination": "New/a.md" })),
        // There is no `.trash` yet.
        ("delete", json!({ "path": "a.md" })),
    ];
    refuses_all(&vault, &calls, ErrorCode::StorageFull);
    // A rename needs no space.
    vault.ok("move", json!({ "source": "Work/b.md", "destination": "b.md" }));
    filled.iter().for_each(|name| fs::remove_file(name).expect("removed"));
    vault.ok("write_file", json!({ "path": "a.md", "content": "x\n" }));
    assert_eq!(vault.content("a.md"), "x\n");

    // If the steward's own folder is full, changes that cannot be recorded are not made.
    let state = place.join("state");
    fs::create_dir(&state).expect("made");
    let other = crate::vault::vault(&[("a.md", "a\n")]);
    let journal = other.journal_in(&state, Settings::default());
    let set = |text: &str| vault_steward::journal::ChangeSet {
        title: "t".to_owned(),
        changes: vec![write("a.md", text)],
    };
    let origin = vault_steward::journal::Origin::default();
    journal.apply(&set("b\n"), &origin).expect("there is room for that");
    let filled = fill();
    let refused = journal.apply(&set("c\n"), &origin).expect_err("there is no room");
    assert_eq!(refused.code(), ErrorCode::StorageFull, "{refused}");
    assert_eq!(other.content("a.md"), "b\n");
    filled.iter().for_each(|name| fs::remove_file(name).expect("removed"));
    journal.apply(&set("c\n"), &origin).expect("there is room again");
    assert_eq!(other.content("a.md"), "c\n");
}

/// Removes the permission to change something, for root too, and restores it in the end.
pub struct Locked<'a> {
    place: &'a Path,
    mode: u32,
    by_attribute: bool,
}

impl<'a> Locked<'a> {
    pub fn new(test: &str, place: &'a Path) -> Option<Self> {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(place).expect("there").permissions().mode();
        fs::set_permissions(place, fs::Permissions::from_mode(mode & !0o222)).expect("set");
        let may = if place.is_dir() {
            fs::write(place.join("may"), "").is_ok()
        } else {
            fs::File::options().append(true).open(place).is_ok()
        };
        let mut locked = Self { place, mode, by_attribute: false };
        if may {
            // Root may do what a user may not, unless the file system forbids it.
            let _ = fs::remove_file(place.join("may"));
            locked.by_attribute = attribute("+i", place);
            if !locked.by_attribute {
                machine::missing(test, "files that root may not change");
                return None;
            }
        }
        Some(locked)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        use std::os::unix::fs::PermissionsExt;
        if self.by_attribute {
            attribute("-i", self.place);
        }
        let _ = fs::set_permissions(self.place, fs::Permissions::from_mode(self.mode));
    }
}

fn attribute(how: &str, place: &Path) -> bool {
    let done = Command::new("chattr").arg(how).arg(place).output();
    done.is_ok_and(|output| output.status.success())
}

#[test]
fn what_may_not_be_changed_is_not_replaced() {
    const NAME: &str = "what_may_not_be_changed_is_not_replaced";
    if !can(Ability::Permissions) {
        return;
    }
    let vault =
        vault(&[("a.md", "[[b]]\n"), ("b.md", "b\n"), ("Work/c.md", "c\n"), ("d.md", "d\n")]);
    // A note: by its mode for everyone but root, by its attribute for root.
    let note = vault.place.join("a.md");
    {
        let Some(_locked) = Locked::new(NAME, &note) else { return };
        let calls = [
            ("write_file", json!({ "path": "a.md", "content": "x\n" })),
            ("edit_file", json!({ "path": "a.md", "old_text": "b", "new_text": "c" })),
            ("set_properties", json!({ "path": "a.md", "set": { "k": 1 } })),
            // Its link would have to follow.
            ("move", json!({ "source": "b.md", "destination": "Else/new b.md" })),
        ];
        refuses_all(&vault, &calls, ErrorCode::PermissionDenied);
    }
    // A folder: nothing can be added or removed.
    let folder = vault.place.join("Work");
    {
        let Some(_locked) = Locked::new(NAME, &folder) else { return };
        let calls = [
            ("write_file", json!({ "path": "Work/new.md", "content": "x" })),
            ("write_file", json!({ "path": "Work/c.md", "content": "x\n" })),
            ("create_folder", json!({ "path": "Work/New" })),
            ("move", json!({ "source": "d.md", "destination": "Work/d.md" })),
            ("move", json!({ "source": "Work/c.md", "destination": "New/c.md" })),
            ("delete", json!({ "path": "Work/c.md" })),
        ];
        refuses_all(&vault, &calls, ErrorCode::PermissionDenied);
    }
    vault.ok("move", json!({ "source": "b.md", "destination": "Else/new b.md" }));
    assert_eq!(vault.content("a.md"), "[[new b]]\n");
}

#[test]
fn a_disk_that_becomes_read_only_is_read() {
    const NAME: &str = "a_disk_that_becomes_read_only_is_read";
    let Some(place) = machine::remountable(NAME) else { return };
    let (at, state) = (place.join("Vault"), place.join("state"));
    fs::create_dir(&at).expect("made");
    fs::create_dir(&state).expect("made");
    let disk = vault(&[("a.md", "a\n")]);
    // Opened again each time: a disk with a file open for writing cannot be remounted.
    let apply = |text: &str| {
        let journal = disk.journal_in(&state, Settings::default());
        let set = vault_steward::journal::ChangeSet {
            title: "t".to_owned(),
            changes: vec![write("a.md", text)],
        };
        journal.apply(&set, &vault_steward::journal::Origin::default())
    };
    apply("b\n").expect("done");
    let here = TestVault::at(&at, &[("a.md", "a\n"), ("Work/b.md", "b\n")], |_| ());
    here.ok("write_file", json!({ "path": "c.md", "content": "c\n" }));
    let calls = [
        ("write_file", json!({ "path": "new.md", "content": "x" })),
        ("write_file", json!({ "path": "a.md", "content": "x\n" })),
        ("edit_file", json!({ "path": "a.md", "old_text": "a", "new_text": "b" })),
        ("create_folder", json!({ "path": "New" })),
        ("move", json!({ "source": "a.md", "destination": "z.md" })),
        ("delete", json!({ "path": "a.md" })),
        ("undo", json!({})),
    ];
    let disk_of_place = place.parent().expect("a folder lies in another");
    let mount = |how: &str| {
        let done = |program: &str, first: &[&str]| {
            let mut run = Command::new(program);
            run.args(first).args(["-o", how]).arg(disk_of_place);
            run.status().is_ok_and(|status| status.success())
        };
        done("mount", &[]) || done("sudo", &["-n", "mount"])
    };
    if !mount("remount,ro") {
        return machine::missing(NAME, "permission to remount");
    }
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        refuses_all(&here, &calls, ErrorCode::PermissionDenied);
        let edit = json!({ "path": "a", "insert_after_line": 0, "content": "x" });
        let error = here.err("edit_file", edit, ErrorCode::PermissionDenied);
        let hint = error.hint.as_deref().unwrap_or_default();
        assert!(hint.contains("mounted read-only"), "{error}");
        assert_eq!(here.ok("list_files", json!({}))["total"], 3);
        // Opened in this state, the vault says so.
        let settings = vault_steward::vault::Settings::default();
        let found = vault_steward::vault::Vault::open(&at, &here.state, settings, &|_| ());
        assert!(!found.expect("it opens").0.abilities().writable);
        // With the steward's own folder on it, changes that cannot be recorded are not made.
        let refused = apply("c\n").expect_err("it cannot be recorded");
        assert_eq!(refused.code(), ErrorCode::PermissionDenied, "{refused}");
        assert_eq!(disk.content("a.md"), "b\n");
    }));
    assert!(mount("remount,rw"), "it can be written again");
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
    here.ok("edit_file", json!({ "path": "a.md", "old_text": "a", "new_text": "b" }));
    apply("c\n").expect("it can be recorded again");
}
