//! Changes that are processed together: nothing is read until all of them are made, so that every
//! event is older than the state of the disk.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use tempfile::TempDir;
use vault_steward::index::Index;
use vault_steward::journal::{self, Journal};
use vault_steward::note::path::VaultPath;
use vault_steward::store::Store;
use vault_steward::vault::{ChangeKind, Settings, Vault, VaultChange, Watching};

use crate::abilities::{Ability, can};
use crate::vault::{TestVault, temporary_folder};

/// A watched vault without the thread that processes the events.
struct Listening {
    vault: TestVault,
    changes: Arc<Mutex<Vec<VaultChange>>>,
    known: BTreeSet<String>,
    /// Outside the vault, on the same disk.
    outside: TempDir,
}

impl Listening {
    fn new(files: &[(&str, &str)]) -> Self {
        // So old that the text index relies on their stamps.
        let then = SystemTime::now() - Duration::from_secs(3600);
        let mut vault = TestVault::new(files, |place| {
            for (path, _) in files {
                let file = fs::File::options().write(true).open(place.join(path)).expect("opened");
                file.set_modified(then).expect("set");
            }
        });
        let open = Vault::open_watched;
        let opened = open(&vault.place, &vault.state, Settings::default(), &|_| ());
        let (opened, writer) = opened.expect("opened");
        let store = Store::at(&vault.state);
        vault.context.journal = Journal::open(writer, store, journal::Settings::default());
        vault.context.index = Index::new(opened.clone());
        vault.context.vault = opened;
        let changes: Arc<Mutex<Vec<VaultChange>>> = Arc::default();
        vault.context.vault.subscribe(Box::new({
            let changes = changes.clone();
            move |change| changes.lock().expect("whole").push(change.clone())
        }));
        let mut listening =
            Self { vault, changes, known: BTreeSet::new(), outside: temporary_folder() };
        listening.known = listening.catalogue();
        listening
    }

    fn catalogue(&self) -> BTreeSet<String> {
        let catalogue = self.vault.context.vault.catalogue();
        let entries = catalogue.within(&VaultPath::root());
        entries.map(|entry| entry.path().to_string()).collect()
    }

    /// The known files once all events are processed: the same as on disk, and as known to a
    /// listener of the reported changes.
    #[track_caller]
    fn settled(&mut self) -> BTreeSet<String> {
        self.vault.context.vault.settle();
        let catalogue = self.catalogue();
        let mut on_disk = BTreeSet::new();
        list(&self.vault.place, "", &mut on_disk);
        assert_eq!(catalogue, on_disk, "the catalogue is not the disk");
        let changes = std::mem::take(&mut *self.changes.lock().expect("whole"));
        changes.iter().for_each(|change| hear(&mut self.known, change));
        assert_eq!(self.known, catalogue, "{changes:?}");
        catalogue
    }

    /// Events arrive for a note created in each folder now.
    #[track_caller]
    fn hears_of(&mut self, folders: &[&str]) {
        let Watching::Events { folders: watched } = self.vault.context.vault.watching() else {
            panic!("no events");
        };
        // Next to the vault's own.
        assert_eq!(watched, folders.len() + 1, "{folders:?}");
        for folder in folders {
            fs::write(self.vault.place.join(folder).join("heard.md"), "x").expect("written");
        }
        let found = self.settled();
        for folder in folders {
            assert!(found.contains(&format!("{folder}/heard.md")), "{folder}: {found:?}");
        }
    }
}

/// A client's processing of a reported change.
fn hear(known: &mut BTreeSet<String>, change: &VaultChange) {
    let path = change.path.as_str();
    match &change.kind {
        ChangeKind::Created => drop(known.insert(path.to_owned())),
        ChangeKind::Modified => assert!(known.contains(path), "{change:?}"),
        ChangeKind::Removed => drop(known.remove(path)),
        ChangeKind::Renamed { from } => {
            let moved = std::mem::take(known).into_iter().map(|one| {
                let below = one.strip_prefix(from.as_str());
                let below = below.filter(|below| below.is_empty() || below.starts_with('/'));
                below.map_or(one.clone(), |below| format!("{path}{below}"))
            });
            *known = moved.collect();
        }
    }
}

/// From then on each has the other's name; no name is ever missing.
fn exchange(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("exchanged");
}

/// Everything below a folder except hidden entries.
fn list(folder: &Path, before: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("listed").flatten() {
        let name = entry.file_name().into_string().expect("text");
        if name.starts_with('.') {
            continue;
        }
        let path = format!("{before}{name}");
        if entry.file_type().expect("known").is_dir() {
            list(&entry.path(), &format!("{path}/"), found);
        }
        found.insert(path);
    }
}

/// A folder that is moved out takes its own watches along, but not those of the folder that takes
/// its name.
#[test]
fn a_folder_that_takes_the_name_of_one_moved_out_is_watched() {
    if !can(Ability::InKernel) || !can(Ability::Exchange) {
        return;
    }
    let mut here = Listening::new(&[("notes/sub/a.md", "x"), ("b.md", "x")]);
    let at = here.vault.place.clone();
    let outside = here.outside.path().to_owned();
    fs::create_dir(at.join(".trash")).expect("made");

    // Into the trash, and a new one created.
    fs::rename(at.join("notes"), at.join(".trash/notes")).expect("moved");
    fs::create_dir_all(at.join("notes/sub")).expect("made");
    here.settled();
    here.hears_of(&["notes", "notes/sub"]);

    // Out of the vault, and another one in.
    fs::create_dir_all(outside.join("other/sub/deep")).expect("made");
    fs::write(outside.join("other/sub/deep/c.md"), "x").expect("written");
    fs::rename(at.join("notes"), outside.join("notes")).expect("moved");
    fs::rename(outside.join("other"), at.join("notes")).expect("moved");
    here.settled();
    here.hears_of(&["notes", "notes/sub", "notes/sub/deep"]);

    // Out and in again.
    fs::rename(at.join("notes"), outside.join("away")).expect("moved");
    fs::rename(outside.join("away"), at.join("notes")).expect("moved");
    here.settled();
    here.hears_of(&["notes", "notes/sub", "notes/sub/deep"]);

    // Out, and another event before the next move.
    fs::rename(at.join("notes"), outside.join("away")).expect("moved");
    fs::write(at.join("b.md"), "longer").expect("written");
    fs::create_dir(at.join("notes")).expect("made");
    fs::rename(at.join("b.md"), at.join("notes/b.md")).expect("moved");
    here.settled();
    here.hears_of(&["notes"]);

    // A folder from outside is exchanged with it: that arrived before this left.
    fs::create_dir_all(outside.join("other/sub")).expect("made");
    exchange(&outside.join("other"), &at.join("notes"));
    here.settled();
    here.hears_of(&["notes", "notes/sub"]);
}

/// A swap in one step is reported as two renames, each of which lags behind the disk.
#[test]
fn what_exchanges_paths_keeps_both_names() {
    if !can(Ability::InKernel) || !can(Ability::Exchange) {
        return;
    }
    let mut here = Listening::new(&[
        ("a.md", "one"),
        ("b.md", "another"),
        ("c/sub/c.md", "x"),
        ("d/sub/d.md", "x"),
        ("d/deep/d.md", "x"),
    ]);
    let at = here.vault.place.clone();
    let found = |here: &Listening, text: &str| -> Vec<String> {
        let arguments = json!({ "pattern": text, "output_mode": "files_with_matches" });
        let found = here.vault.ok("search_files", arguments);
        let files = found["files"].as_array().expect("a list").iter();
        files.map(|file| file["path"].as_str().expect("a path").to_owned()).collect()
    };
    here.vault.context.index.text.refresh();

    exchange(&at.join("a.md"), &at.join("b.md"));
    here.settled();
    assert_eq!(found(&here, "^one$"), ["b.md"]);
    assert_eq!(found(&here, "^another$"), ["a.md"]);

    exchange(&at.join("c"), &at.join("d"));
    here.settled();
    here.hears_of(&["c", "c/sub", "c/deep", "d", "d/sub"]);

    // A file and a folder.
    exchange(&at.join("a.md"), &at.join("d"));
    here.settled();
    here.hears_of(&["a.md", "a.md/sub", "c", "c/sub", "c/deep"]);
    assert!(found(&here, "^another$").is_empty(), "no note has it");

    // There and back, and files created under the old name of what was moved.
    exchange(&at.join("a.md"), &at.join("c"));
    exchange(&at.join("a.md"), &at.join("c"));
    fs::rename(at.join("b.md"), at.join("e.md")).expect("moved");
    fs::write(at.join("b.md"), "new").expect("written");
    here.settled();
    here.hears_of(&["a.md", "a.md/sub", "c", "c/sub", "c/deep"]);
}

/// The files of a deleted folder are gone with it, although only the folder's name is reported.
#[test]
fn a_file_in_the_place_of_a_folder_leaves_nothing_of_it() {
    if !can(Ability::InKernel) {
        return;
    }
    let mut here = Listening::new(&[
        ("folder.md/sub/a.md", "within"),
        ("folder.md/b.md", "within"),
        ("c.md", "x"),
    ]);
    let at = here.vault.place.clone();
    here.vault.context.index.text.refresh();
    fs::rename(at.join("folder.md"), here.outside.path().join("away")).expect("moved");
    fs::write(at.join("folder.md"), "instead").expect("written");
    here.settled();
    here.vault.context.index.text.refresh();
    let (signed, other) = here.vault.context.index.text.known();
    assert_eq!(signed + other, 2);
    let arguments = json!({ "pattern": "within|instead", "output_mode": "count" });
    let found = here.vault.ok("search_files", arguments);
    assert_eq!(found["files"][0]["path"], "folder.md", "{found}");
    assert_eq!(found["searched"], 2, "{found}");

    // And back.
    fs::remove_file(at.join("folder.md")).expect("removed");
    fs::rename(here.outside.path().join("away"), at.join("folder.md")).expect("moved");
    here.settled();
    here.hears_of(&["folder.md", "folder.md/sub"]);
}

/// The system drops events together with those that it lost: after a failed scan, listeners have not got them.
#[test]
fn a_search_after_a_scan_that_failed_trusts_nothing() {
    if !can(Ability::InKernel) {
        return;
    }
    let here = Listening::new(&[("a.md", "old"), ("b.md", "old"), ("c.md", "old")]);
    let Listening { vault, outside, .. } = &here;
    vault.context.index.text.refresh();
    assert_eq!(vault.context.index.text.known(), (3, 0));
    let found = |text: &str| -> Vec<String> {
        let arguments = json!({ "pattern": text, "output_mode": "files_with_matches" });
        let found = vault.ok("search_files", arguments);
        let files = found["files"].as_array().expect("a list").iter();
        let mut paths: Vec<String> =
            files.map(|file| file["path"].as_str().expect("a path").to_owned()).collect();
        paths.sort();
        paths
    };
    assert_eq!(found("old"), ["a.md", "b.md", "c.md"]);
    assert!(vault.context.vault.is_watched());
    // The vault's folder was moved away and back, through a folder that its name does not reach in
    // the meantime: other events are dropped for a scan, which finds no vault.
    let (above, away) = (vault.place.parent().expect("a folder"), outside.path().join("away"));
    fs::rename(above, &away).expect("moved");
    fs::write(away.join("Vault/a.md"), "new and longer").expect("written");
    fs::remove_file(away.join("Vault/b.md")).expect("removed");
    fs::rename(away.join("Vault"), away.join("Other")).expect("moved");
    fs::rename(away.join("Other"), away.join("Vault")).expect("moved");
    vault.context.vault.settle();
    let warnings = vault.context.vault.status().warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    fs::rename(&away, above).expect("moved back");
    assert_eq!(found("new"), ["a.md"]);
    assert_eq!(found("old"), ["c.md"]);
    // Until one that succeeds.
    assert!(!vault.context.vault.is_watched());
    vault.context.vault.rescan().expect("scanned");
    assert!(vault.context.vault.is_watched());
    fs::write(vault.place.join("b.md"), "new").expect("written");
    assert_eq!(found("new"), ["a.md", "b.md"]);
}

/// Finds and reports writes that keep size and time, such as those of a plugin that keeps the time:
/// one file's change, many at once, and a file that another one replaced.
#[test]
fn a_change_that_keeps_size_and_time_is_found() {
    if !can(Ability::InKernel) {
        return;
    }
    let files: Vec<(String, &str)> = (0..20).map(|n| (format!("{n}.md"), "- [ ] beans")).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
    let here = Listening::new(&files);
    let Listening { vault, outside, changes, .. } = &here;
    let time = |file: &Path| fs::metadata(file).and_then(|meta| meta.modified()).expect("a time");
    let then = time(&vault.place.join("0.md"));
    let write = |file: &Path| {
        fs::write(file, "- [x] beans").expect("written");
        let opened = fs::File::options().write(true).open(file).expect("opened");
        opened.set_modified(then).expect("set");
    };
    vault.context.index.text.refresh();
    let count = |text: &str| {
        let arguments = json!({ "pattern": text, "output_mode": "count", "max_results": 50 });
        vault.ok("search_files", arguments)["files"].as_array().expect("a list").len()
    };
    assert_eq!((count("\\[ \\]"), count("\\[x\\]")), (20, 0));
    changes.lock().expect("whole").clear();

    write(&vault.place.join("0.md"));
    assert_eq!((count("\\[ \\]"), count("\\[x\\]")), (19, 1));
    let modified = |change: &VaultChange| {
        change.kind == ChangeKind::Modified && change.path.as_str() == "0.md"
    };
    assert!(changes.lock().expect("whole").iter().any(modified));
    let other = outside.path().join("1.md");
    write(&other);
    fs::rename(&other, vault.place.join("1.md")).expect("moved");
    assert_eq!((count("\\[ \\]"), count("\\[x\\]")), (18, 2));
    // Through a visible temporary name, as some programs save.
    let new_file = vault.place.join("2.md.tmp~");
    write(&new_file);
    fs::rename(&new_file, vault.place.join("2.md")).expect("moved");
    assert_eq!((count("\\[ \\]"), count("\\[x\\]")), (17, 3));
    // And with its folder, which replaces one with the same names.
    fs::create_dir_all(vault.place.join("f")).expect("made");
    fs::rename(vault.place.join("3.md"), vault.place.join("f/3.md")).expect("moved");
    assert_eq!((count("\\[ \\]"), count("\\[x\\]")), (17, 3));
    let folder = outside.path().join("f");
    fs::create_dir_all(&folder).expect("made");
    write(&folder.join("3.md"));
    fs::rename(vault.place.join("f"), outside.path().join("old")).expect("moved");
    fs::rename(&folder, vault.place.join("f")).expect("moved");
    assert_eq!((count("\\[ \\]"), count("\\[x\\]")), (16, 4));
    (4..20).for_each(|n| write(&vault.place.join(format!("{n}.md"))));
    assert_eq!((count("\\[ \\]"), count("\\[x\\]")), (0, 20));
}

/// Even if it was saved a moment ago: the only time that differs is the one that nobody can set.
#[test]
fn a_change_right_after_another_that_keeps_size_and_time_is_found() {
    if !can(Ability::InKernel) {
        return;
    }
    let here = Listening::new(&[("a.md", "text 000")]);
    let vault = &here.vault;
    let place = vault.place.join("a.md");
    vault.context.index.text.refresh();
    let mut missed = Vec::new();
    for round in 1..5 {
        fs::write(&place, format!("text {round:03}")).expect("written");
        let found = |round| {
            let arguments =
                json!({ "pattern": format!("text {round:03}"), "output_mode": "count" });
            vault.ok("search_files", arguments)["files"].as_array().expect("a list").len()
        };
        assert_eq!(found(round), 1);
        // Old enough that the index trusts what it has read.
        vault.let_time_pass();
        vault.context.index.text.refresh();
        assert_eq!(found(round), 1);
        let then = fs::metadata(&place).and_then(|meta| meta.modified()).expect("a time");
        let file = fs::File::options().write(true).open(&place).expect("opened");
        std::io::Write::write_all(&mut &file, format!("text {:03}", round + 500).as_bytes())
            .expect("written");
        file.set_modified(then).expect("set");
        drop(file);
        missed.extend((found(round + 500) != 1).then_some(round));
    }
    assert_eq!(missed, [0; 0]);
}

/// A full scan also goes by the ctime, which a rename changes: the catalogue has the final state of
/// the steward's own changes, and reports them once.
#[test]
fn a_full_scan_reports_nothing_twice() {
    if !can(Ability::InKernel) {
        return;
    }
    let files = [("a.md", "one"), ("b.md", "[[a]]"), ("c.md", "three"), ("d.md", "four")];
    let Listening { vault, changes, .. } = &Listening::new(&files);
    vault.ok("write_file", json!({ "path": "New.md", "content": "new" }));
    vault.ok("edit_file", json!({ "path": "c.md", "old_string": "three", "new_string": "3" }));
    vault.ok("move", json!({ "source": "a.md", "destination": "F/moved.md" }));
    vault.ok("delete", json!({ "path": "d.md" }));
    vault.ok("undo", json!({}));
    vault.context.vault.settle();
    assert!(!std::mem::take(&mut *changes.lock().expect("whole")).is_empty());
    vault.context.vault.rescan().expect("scanned");
    assert_eq!(*changes.lock().expect("whole"), []);
}

/// The queue overflows while no events are processed: what was lost then is found by a scan, which
/// cannot detect renames.
#[test]
fn events_lost_in_a_flood_are_found() {
    if !can(Ability::InKernel) {
        return;
    }
    let files: Vec<(String, &str)> = (0..100).map(|n| (format!("{n}.md"), "x")).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
    let mut here = Listening::new(&files);
    let at = here.vault.place.clone();
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").expect("read");
    let limit: usize = limit.trim().parse().expect("a number");
    fs::write(at.join("to.md"), "x").expect("written");
    // Each way is two events.
    for _ in 0..=limit / 4 {
        fs::rename(at.join("to.md"), at.join("fro.md")).expect("moved");
        fs::rename(at.join("fro.md"), at.join("to.md")).expect("moved");
    }
    for n in 0..100 {
        fs::rename(at.join(format!("{n}.md")), at.join(format!("r{n}.md"))).expect("moved");
    }
    fs::create_dir_all(at.join("New/deep")).expect("made");
    here.vault.context.vault.settle();
    let count = |kind: &ChangeKind| {
        let changes = here.changes.lock().expect("whole");
        changes.iter().filter(|change| change.kind == *kind).count()
    };
    assert_eq!((count(&ChangeKind::Removed), count(&ChangeKind::Created)), (100, 103));
    assert_eq!(here.changes.lock().expect("whole").len(), 203);
    assert!(here.vault.context.vault.is_watched());
    let found = here.settled();
    assert_eq!(found.len(), 103);
    here.hears_of(&["New", "New/deep"]);
}
