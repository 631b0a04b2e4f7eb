//! Names that are taken in the same run, where programs that move many files lose some: collisions,
//! chains, swaps and cycles on plain folders, compared with `organize` from PyPI.
//!
//! `f2`, another such program, is in no registry that a Rust, Node or Python project installs from.
//! Failures reported by its users and those of similar programs are reproduced here instead.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::files;
use super::harness::{TestVault, vault};
use super::machine::missing;

/// Moves of one run: from and to.
type Moves<'a> = [(&'a str, &'a str)];

/// A vault whose files contain their own names.
fn named(paths: &[&str]) -> TestVault {
    let files: Vec<(&str, &str)> = paths.iter().map(|path| (*path, *path)).collect();
    vault(&files)
}

/// The texts of all files, sorted.
fn texts(files: &BTreeMap<String, String>) -> Vec<&str> {
    let mut texts: Vec<&str> = files.values().map(String::as_str).collect();
    texts.sort_unstable();
    texts
}

fn rules(moves: &Moves<'_>) -> String {
    let rule = |(at, (from, to)): (usize, &(&str, &str))| {
        let (folder, name) = to.rsplit_once('/').unwrap_or(("/", to));
        let stem = name.strip_suffix(".md").unwrap_or(name);
        json!({
            "name": format!("rule {at}"),
            "when": format!("file.path == \"{from}\""),
            "do": [{ "move": folder }, { "rename": stem }],
        })
    };
    json!({ "rules": moves.iter().enumerate().map(rule).collect::<Vec<_>>() }).to_string()
}

/// Applies rules and returns the files. Nothing is lost, and the undo restores everything.
#[track_caller]
fn ruled(vault: &TestVault, rules: &str) -> BTreeMap<String, String> {
    let before = files(vault);
    let made = vault.ok("plan_changes", json!({ "rules": rules }));
    assert_eq!(files(vault), before, "a plan changes nothing");
    let given = json!({ "plan": made["plan"], "identity": made["identity"] });
    let done = vault.ok("apply_plan", given);
    let after = files(vault);
    assert_eq!(texts(&after), texts(&before));
    vault.ok("rollback_job", json!({ "job": done["job"] }));
    assert_eq!(files(vault), before);
    after
}

/// The files of a folder after `organize` moved some of them.
fn organized(
    python: &Path,
    paths: &[&str],
    moves: &Moves<'_>,
    on_conflict: &str,
) -> BTreeMap<String, String> {
    let place = super::harness::temporary_folder();
    let root = place.path().join("files");
    for path in paths {
        let file = root.join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(file, path).expect("written");
    }
    let full = |path: &str| root.join(path).display().to_string();
    let rule = |(from, to): &(&str, &str)| {
        let (folder, name) = from.rsplit_once('/').unwrap_or(("", from));
        json!({
            "locations": full(folder),
            "filters": [{ "name": name.strip_suffix(".md") }],
            "actions": [{ "move": { "dest": full(to), "on_conflict": on_conflict } }],
        })
    };
    let config = json!({ "rules": moves.iter().map(rule).collect::<Vec<Value>>() });
    let file = place.path().join("config.yaml");
    fs::write(&file, config.to_string()).expect("written");
    let mut command = Command::new(python);
    command.args(["-m", "organize", "run"]).arg(&file).env("HOME", place.path());
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let mut found = BTreeMap::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("listed") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name =
                    path.strip_prefix(&root).expect("below").to_str().expect("text").to_owned();
                found.insert(name, fs::read_to_string(path).expect("text"));
            }
        }
    }
    found
}

/// The file of each text, without the number that a taken name got.
fn unnumbered(files: &BTreeMap<String, String>) -> BTreeMap<&str, String> {
    let bare = |path: &str| {
        let stem = path.strip_suffix(".md").unwrap_or(path);
        stem.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches([' ', '_']).to_owned()
    };
    files.iter().map(|(path, text)| (&**text, bare(path))).collect()
}

#[test]
fn organize_ends_alike_or_loses_what_is_kept_here() {
    let test = "organize_ends_alike_or_loses_what_is_kept_here";
    let Some(python) = std::env::var_os("STEWARD_TEST_ORGANIZE_PYTHON") else {
        return missing(test, "the package `organize-tool` for Python");
    };
    let python = Path::new(&python);
    // The number of files that its mode `overwrite` loses.
    let cases: [(&[&str], &Moves<'_>, usize); 4] = [
        (
            &["x/n.md", "y/n.md", "z/n.md"],
            &[("x/n.md", "all/n.md"), ("y/n.md", "all/n.md"), ("z/n.md", "all/n.md")],
            2,
        ),
        (&["a.md", "b.md", "c.md"], &[("a.md", "b.md"), ("b.md", "c.md"), ("c.md", "d.md")], 2),
        (&["a.md", "b.md"], &[("a.md", "b.md"), ("b.md", "a.md")], 1),
        (&["a.md", "b.md", "c.md"], &[("a.md", "b.md"), ("b.md", "c.md"), ("c.md", "a.md")], 2),
    ];
    for (number, (paths, moves, lost)) in cases.into_iter().enumerate() {
        let ours = ruled(&named(paths), &rules(moves));
        let theirs = organized(python, paths, moves, "rename_new");
        assert_eq!(texts(&theirs), texts(&ours), "{moves:?}");
        match number {
            0 => assert_eq!(unnumbered(&theirs), unnumbered(&ours)),
            _ => {
                for (from, to) in moves {
                    assert_eq!(ours[*to], *from, "it is where the rule says");
                }
                assert_ne!(theirs, ours);
            }
        }
        let theirs = organized(python, paths, moves, "overwrite");
        assert_eq!(theirs.len(), paths.len() - lost, "{moves:?}");
    }
}

/// f2 #45 (pictures taken in the same second) and vimv #38: pairs of files with one new name each.
#[test]
fn two_files_with_one_new_name_are_both_kept() {
    let vault = vault(&[
        ("116_1009-1.md", "---\ntaken: 20080330_170816\n---\nfirst\n"),
        ("116_1009.md", "---\ntaken: 20080330_170816\n---\nsecond\n"),
        ("116_0990-1.md", "---\ntaken: 20080328_125817\n---\nthird\n"),
        ("116_0990.md", "---\ntaken: 20080328_125817\n---\nfourth\n"),
        ("IMG_20080328_125817.md", "it was there before\n"),
    ]);
    let rules = "rules:\n  - name: by time\n    when: taken\n    do: [rename: 'IMG_{{taken}}']\n";
    let names: Vec<String> = ruled(&vault, rules).into_keys().collect();
    assert_eq!(
        names,
        [
            "IMG_20080328_125817.md",
            "IMG_20080328_125817_1.md",
            "IMG_20080328_125817_2.md",
            "IMG_20080330_170816.md",
            "IMG_20080330_170816_1.md",
        ]
    );
}

/// The same with items given by hand.
#[test]
fn two_files_with_one_new_name_by_hand_are_both_kept() {
    let vault = named(&["o1_bar.md", "o2_baz.md", "o1_baz.md"]);
    let before = files(&vault);
    let items = json!([
        { "path": "o1_bar.md", "to": "bar.md" },
        { "path": "o1_baz.md", "to": "baz.md" },
        { "path": "o2_baz.md", "to": "bar.md" },
    ]);
    let made = vault.ok("plan_changes", json!({ "items": items }));
    let given = json!({ "plan": made["plan"], "identity": made["identity"] });
    let done = vault.ok("apply_plan", given);
    let after = files(&vault);
    let names: Vec<&String> = after.keys().collect();
    assert_eq!(names, ["bar.md", "bar_1.md", "baz.md"]);
    assert_eq!(texts(&after), texts(&before));
    vault.ok("rollback_job", json!({ "job": done["job"] }));
    assert_eq!(files(&vault), before);
}

/// clifm #288: brackets are removed from names, which makes three of them equal.
#[test]
fn names_that_become_the_same_are_told_apart() {
    let paths = [
        "Diabolica (Hampshire Jam).md",
        "Roxette Lost In Liphook (Hampshire Jam).md",
        "Diabolica (Greenhouse).md",
        "Roxette (Greenhouse).md",
        "Diabolica (For Wayne) (Greenhouse).md",
    ];
    let rules = r#"rules: [{name: bare, do: [rename: '{{file.name.replace(/ \(.+\)/g, "")}}']}]"#;
    let names: Vec<String> = ruled(&named(&paths), rules).into_keys().collect();
    assert_eq!(
        names,
        [
            "Diabolica.md",
            "Diabolica_1.md",
            "Diabolica_2.md",
            "Roxette Lost In Liphook.md",
            "Roxette.md",
        ]
    );
}

/// pipe-rename #75 (a name that becomes free when its file moves), vimv #39 (a numbered series that
/// is shifted by one) and nnn #971 (two files exchange names).
#[test]
fn a_name_that_is_left_in_the_same_run_is_free() {
    let row: Vec<String> = (0..=10).map(|number| format!("file ({number}).md")).collect();
    let up: Vec<(&str, &str)> = row.windows(2).map(|two| (&*two[0], &*two[1])).collect();
    let down: Vec<(&str, &str)> = up.iter().map(|(from, to)| (*to, *from)).collect();
    let cases: [&Moves<'_>; 5] = [
        &[("ABC.md", "ABC1.md"), ("BCD.md", "ABC.md")],
        &[("BCD.md", "ABC.md"), ("ABC.md", "ABC1.md")],
        &up,
        &down,
        &[("a.md", "b.md"), ("b.md", "a.md")],
    ];
    for moves in cases {
        let paths: Vec<&str> = moves.iter().map(|(from, _)| *from).collect();
        let after = ruled(&named(&paths), &rules(moves));
        assert_eq!(after.len(), moves.len());
        for (from, to) in moves {
            assert_eq!(after[*to], *from);
        }
    }
}
