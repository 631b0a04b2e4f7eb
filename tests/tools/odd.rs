//! Odd entries on disk: other types of files, other disks, names that no tool would create (cases
//! 5, 14, 16, 17, 20 to 22, 28, 34, 35, 38, 40, 44, 45).

use serde_json::json;
use vault_steward::note::code::ErrorCode::{AlreadyExists, AmbiguousPath, InvalidPath, NotFound};

#[cfg(unix)]
use crate::abilities::{Ability, can};
use crate::vault::{TestVault, vault};

/// Everything that a listing of the whole vault shows.
fn listed(vault: &TestVault) -> Vec<String> {
    let all = json!({ "pattern": "**", "max_results": 1000, "sort_by": "name" });
    let entries = vault.ok("list_files", all)["entries"].take();
    let entries = entries.as_array().expect("a list").iter();
    entries.map(|entry| entry["path"].as_str().expect("a path").to_owned()).collect()
}

#[test]
fn spellings_fold_one_to_one() {
    let vault = vault(&[("straße.md", "x"), ("ΟΔΟΣ.md", "x"), ("İst.md", "x"), ("ﬁn.md", "x")]);
    for (asked, found) in
        [("STRAẞE", "straße.md"), ("οδος", "ΟΔΟΣ.md"), ("οδοσ", "ΟΔΟΣ.md"), ("İST", "İst.md")]
    {
        assert_eq!(vault.ok("read_file", json!({ "path": asked }))["path"], found, "{asked}");
    }
    // Others only sound alike: they are different notes, and are created only on explicit request.
    for asked in ["strasse", "ist", "ıst", "fin"] {
        let write = json!({ "path": format!("{asked}.md"), "content": "new" });
        vault.err("write_file", write, AmbiguousPath);
        // Other systems have their own tables of equal names.
        if cfg!(target_os = "linux") {
            let write = json!({ "path": format!("{asked}.md"), "content": "new", "create": true });
            assert_eq!(vault.ok("write_file", write)["created"], true, "{asked}");
        }
    }
    for old in ["straße.md", "İst.md", "ﬁn.md"] {
        assert_eq!(vault.content(old), "x");
    }
    vault.put("kelvin.md", "x");
    let kelvin = json!({ "path": "\u{212a}elvin.md", "content": "x", "if_exists": "fail" });
    vault.err("write_file", kelvin, AlreadyExists);
}

#[test]
fn what_services_leave_behind_is_not_there() {
    let hidden = [
        ".stfolder/x.md",
        ".stversions/Note~20261121.md",
        ".Trash-1000/files/x.md",
        "Photos/@eaDir/x.md",
        ".DS_Store",
        "Photos/.DS_Store",
        ".secret.md",
        ".~lock.Note.md#",
    ];
    let files: Vec<(&str, &str)> = hidden.iter().map(|path| (*path, "needle")).collect();
    let vault = vault(&files);
    let before = vault.snapshot();
    assert_eq!(listed(&vault), ["Photos"]);
    let all = json!({ "pattern": "needle", "file_pattern": "**" });
    assert_eq!(vault.ok("search_files", all)["files"], json!([]));
    for path in hidden {
        for tool in ["read_file", "get_file_info", "delete"] {
            vault.err(tool, json!({ "path": path }), NotFound);
        }
    }
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn names_of_full_length_are_written_edited_moved_and_deleted() {
    let name = format!("{}.md", "n".repeat(252));
    let vault = vault(&[]);
    let whole = |content: &str| json!({ "path": name, "content": content });
    vault.ok("write_file", whole("one"));
    vault.ok("write_file", whole("two"));
    vault.ok("edit_file", json!({ "path": name, "old_text": "two", "new_text": "three" }));
    assert_eq!(vault.content(&name), "three");
    let kept = vault.ok("delete", json!({ "path": name }))["location"].take();
    assert_eq!(kept, format!(".trash/{name}"));
    vault.ok("write_file", whole("again"));
    let second = vault.ok("delete", json!({ "path": name }))["location"].take();
    let second = second.as_str().expect("a place");
    assert!(second.ends_with(" 2.md"), "{second}");
    assert_eq!(vault.content(second), "again");
    vault.ok("write_file", json!({ "path": "short.md", "content": "x" }));
    vault.ok("move", json!({ "source": "short", "destination": name }));
    let long = "é".repeat(127) + ".md";
    let error = vault.err("write_file", json!({ "path": long, "content": "" }), InvalidPath);
    assert!(error.message.contains("257 bytes") && error.message.contains("255"), "{error}");
}

#[test]
fn names_that_hide_what_they_are_are_shown_escaped_and_not_made() {
    let names = ["gpj.\u{202e}dm.md", "in\u{200b}visible.md", "tag\u{e0041}.md", "soft\u{ad}.md"];
    let files: Vec<(&str, &str)> = names.iter().map(|name| (*name, "x")).collect();
    let vault = vault(&files);
    let text = vault.text("list_files", json!({}))
        + &vault.text("directory_tree", json!({}))
        + &vault.text("search_files", json!({ "pattern": "x" }));
    for name in names {
        let hidden = name.chars().find(|c| !c.is_ascii()).expect("one");
        assert!(!text.contains(hidden), "{text}");
        assert!(text.contains(&hidden.escape_default().to_string()), "{text}");
        // It can be read and repaired, and no other such file can be created.
        let read = vault.text("read_file", json!({ "path": name }));
        assert!(!read.contains(hidden), "{read}");
        let (new, plain) = (format!("New {name}"), name.replace(hidden, "-"));
        vault.err("write_file", json!({ "path": new, "content": "x" }), InvalidPath);
        vault.ok("move", json!({ "source": name, "destination": plain }));
    }
}

#[test]
fn a_folder_in_a_new_path_may_not_end_in_a_blank_or_a_dot() {
    let vault = vault(&[("a.md", "x")]);
    for asked in ["Folder /x.md", "Folder./x.md", "a./b /c.md", "note ./x.md"] {
        vault.err("write_file", json!({ "path": asked, "content": "" }), InvalidPath);
        vault.err("create_folder", json!({ "path": asked }), InvalidPath);
        vault.err("move", json!({ "source": "a.md", "destination": asked }), InvalidPath);
    }
    assert_eq!(listed(&vault), ["a.md"]);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn old_names_that_other_systems_refuse_can_be_read() {
        let vault = vault(&[("note.", "x"), ("Folder /a.md", "x"), ("CON.md", "x")]);
        for (asked, found) in [("note.", "note."), ("Folder /a", "Folder /a.md"), ("con", "CON.md")]
        {
            assert_eq!(vault.ok("read_file", json!({ "path": asked }))["path"], found, "{asked}");
        }
    }

    #[test]
    fn a_backslash_in_a_path_counts_as_a_slash() {
        if !can(Ability::AnyName) {
            return;
        }
        let vault = vault(&[("a\\b.md", "odd"), ("c/d.md", "plain")]);
        assert_eq!(vault.ok("read_file", json!({ "path": "c\\d" }))["path"], "c/d.md");
        assert!(listed(&vault).contains(&"a\\b.md".to_owned()));
        // It matches no request, and no new file next to it is taken for it.
        vault.err("read_file", json!({ "path": "a\\b.md" }), NotFound);
        vault.ok("write_file", json!({ "path": "a\\b.md", "content": "new" }));
        assert_eq!(
            (vault.content("a\\b.md"), vault.content("a/b.md")),
            ("odd".into(), "new".into())
        );
    }

    #[test]
    fn moving_a_link_moves_the_link_alone() {
        if !can(Ability::SymbolicLinks) {
            return;
        }
        let outside = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(outside.path().join("secret.md"), "secret").expect("written");
        let vault = TestVault::new(&[("a.md", "x")], |at| {
            symlink(outside.path().join("secret.md"), at.join("out.md")).expect("linked");
        });
        vault.ok("move", json!({ "source": "out.md", "destination": "Links/out.md" }));
        assert!(vault.place.join("Links/out.md").is_symlink());
        assert_eq!(std::fs::read_dir(outside.path()).expect("listed").count(), 1);
        vault.err(
            "write_file",
            json!({ "path": "Links/out.md/x.md", "content": "" }),
            vault_steward::note::code::ErrorCode::OutsideVault,
        );
    }

    #[test]
    fn a_hard_link_outside_the_vault_is_reported_and_stays() {
        if !can(Ability::HardLinks) {
            return;
        }
        use std::os::unix::fs::MetadataExt;
        let outside = tempfile::tempdir().expect("a temporary folder");
        let twin = outside.path().join("twin.md");
        let vault = TestVault::new(&[("note.md", "old")], |at| {
            std::fs::hard_link(at.join("note.md"), &twin).expect("linked");
        });
        assert_eq!(vault.ok("get_file_info", json!({ "path": "note" }))["other_names"], 1);
        let text = vault
            .text("edit_file", json!({ "path": "note", "old_text": "old", "new_text": "new" }));
        assert!(text.contains("its hard links show the change too"), "{text}");
        assert_eq!(std::fs::read_to_string(&twin).expect("read"), "new");
        assert_eq!(vault.place.join("note.md").metadata().expect("there").nlink(), 2);
    }

    #[test]
    fn a_vault_behind_a_link_is_the_vault() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let alias = folder.path().join("Alias");
        let vault = TestVault::new(&[("a.md", "x")], |at| symlink(at, &alias).expect("linked"));
        let through = TestVault::at(&alias, &[], |_| ());
        through.ok("write_file", json!({ "path": "b.md", "content": "x" }));
        assert!(vault.exists("b.md"));
        // The link leads elsewhere now; the running vault stays where it was.
        let other = folder.path().join("Other");
        std::fs::create_dir(&other).expect("made");
        std::fs::remove_file(&alias).expect("removed");
        symlink(&other, &alias).expect("linked");
        through.ok("write_file", json!({ "path": "c.md", "content": "x" }));
        assert!(vault.exists("c.md"));
        assert_eq!(std::fs::read_dir(&other).expect("listed").count(), 0);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use crate::machine;
    use serde_json::Value;
    use std::time::{Duration, Instant};
    use vault_steward::note::code::ErrorCode::{IoError, NotAFile, TooLarge};
    use vault_steward::note::path::VaultPath;
    use vault_steward::vault::{Settings, Vault};

    /// Folders within folders, each named `d`.
    struct Deep {
        vault: TestVault,
        levels: usize,
    }

    impl Deep {
        fn new(levels: usize) -> Self {
            let vault = TestVault::new(&[("top.md", "needle")], |at| {
                std::fs::create_dir_all(at.join(path(levels))).expect("made");
                std::fs::write(at.join(path(levels)).join("n.md"), "needle").expect("written");
            });
            Self { vault, levels }
        }
    }

    impl Drop for Deep {
        /// Step by step from the bottom: removing all at once holds one open folder per level.
        fn drop(&mut self) {
            let root = &self.vault.place;
            let _ = std::fs::remove_file(root.join(path(self.levels)).join("n.md"));
            for level in (1..=self.levels).rev() {
                let _ = std::fs::remove_dir(root.join(path(level)));
            }
        }
    }

    fn path(levels: usize) -> String {
        vec!["d"; levels].join("/")
    }

    #[test]
    fn endlessly_nested_folders_are_reported_and_not_entered() {
        for levels in [70, 2_000] {
            let deep = Deep::new(levels);
            let vault = &deep.vault;
            let unreadable = vault.context.vault.status().unreadable;
            let [(cut, reason)] = &unreadable[..] else { panic!("{unreadable:?}") };
            assert_eq!((cut.as_str(), cut.components().count()), (&*path(65), 65));
            assert!(reason.contains("64 folders deep"), "{reason}");
            let start = Instant::now();
            let found = vault.ok("search_files", json!({ "pattern": "needle" }));
            assert_eq!(found["files"].as_array().expect("a list").len(), 1);
            assert_eq!(listed(vault).len(), 66);
            vault.ok("directory_tree", json!({ "max_depth": 64, "max_entries": 1000 }));
            vault.ok("get_file_info", json!({ "path": "d" }));
            vault.context.vault.watch();
            vault.context.vault.rescan().expect("rescanned");
            // A path that is too deep gets an error or an answer, quickly.
            let _ = vault.call("read_file", &json!({ "path": path(levels) + "/n.md" }));
            let deeper = json!({ "path": path(levels) + "/new/x.md", "content": "x" });
            vault.err("write_file", deeper, InvalidPath);
            vault.ok("move", json!({ "source": "d", "destination": "e" }));
            vault.ok("move", json!({ "source": "e", "destination": "d" }));
            assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
            vault.context.vault.stop();
        }
    }

    #[test]
    fn devices_are_refused_at_once() {
        let Some(place) = machine::odd("devices_are_refused_at_once") else { return };
        let vault = TestVault::at(&place, &[], |_| ());
        let start = Instant::now();
        for asked in ["zero.md", "disk.md"] {
            for tool in ["read_file", "edit_file", "write_file"] {
                let arguments: Value = match tool {
                    "read_file" => json!({ "path": asked }),
                    "edit_file" => json!({ "path": asked, "old_text": "a", "new_text": "b" }),
                    _ => json!({ "path": asked, "content": "x" }),
                };
                vault.err(tool, arguments, NotAFile);
            }
            let info = vault.ok("get_file_info", json!({ "path": asked }));
            assert_eq!(info["type"], "special file");
        }
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        assert!(vault.exists("zero.md") && vault.exists("disk.md"));
    }

    #[test]
    fn a_file_that_hides_its_size_is_read_up_to_the_limit() {
        let Some(place) = machine::odd("a_file_that_hides_its_size") else { return };
        let state = tempfile::tempdir().expect("a temporary folder");
        let settings = Settings { max_file_bytes: 100 << 10, ..Settings::default() };
        let (vault, _) = Vault::open(&place, state.path(), settings, &|_| ()).expect("it opens");
        let path = VaultPath::from_disk("endless.md").expect("sound");
        assert_eq!(vault.stat(&path).expect("there").size, 0, "it says it is empty");
        let error = vault.read(&path).expect_err("it is not");
        assert_eq!(error.code(), TooLarge, "{error}");
        let tools = TestVault::at(&place, &[], |_| ());
        let never = json!({ "pattern": "never to be found in it", "file_pattern": "endless.md" });
        assert_eq!(tools.ok("search_files", never)["files"], json!([]));
    }

    #[test]
    fn nothing_moves_to_another_disk_and_nothing_is_lost() {
        let Some(place) = machine::odd("nothing_moves_to_another_disk") else { return };
        let files = [("Mounted/there.md", "there"), ("here.md", "here"), ("Box/in.md", "in")];
        let vault = TestVault::at(&place, &files, |_| ());
        for (source, destination) in [
            ("here.md", "Mounted/here.md"),
            ("here.md", "Mounted/new/here.md"),
            ("Box", "Mounted/Box"),
            ("Mounted/there.md", "there.md"),
        ] {
            let pair = json!({ "source": source, "destination": destination });
            let error = vault.err("move", pair, IoError);
            assert!(error.message.contains("another disk"), "{error}");
            assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("where it was")));
            assert!(!vault.exists(destination));
        }
        assert!(!vault.exists("Mounted/new"), "folders made for it are gone again");
        // The vault's trash is on the other disk, too.
        let error = vault.err("delete", json!({ "path": "Mounted/there.md" }), IoError);
        assert!(error.message.contains("another disk"), "{error}");
        for (path, text) in files {
            assert_eq!(vault.content(path), text);
        }
        // Within one disk everything works as usual.
        vault.ok("write_file", json!({ "path": "Mounted/there.md", "content": "new" }));
        vault.ok("move", json!({ "source": "Mounted/there", "destination": "Mounted/x/y.md" }));
        assert_eq!(vault.content("Mounted/x/y.md"), "new");
        std::fs::remove_dir_all(place.join("Mounted/x")).expect("removed");
    }
}
