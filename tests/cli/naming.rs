//! `steward names` on whole vaults.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::Home;

/// A vault in which each sort of name is wrong once.
fn wrong(home: &Home) -> PathBuf {
    let vault = home.vault("Names");
    let write = |name: &str, text: &str| {
        let path = vault.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for day in 10..=19 {
        let said = if day == 15 { 14 } else { day };
        write(&format!("Journal/2026-11-{day}.md"), &format!("---\ndate: 2026-11-{said}\n---\n"));
    }
    write("Journal/Odd one.md", "");
    for name in ["Ant", "Bee", "Cat", "Dog", "Elk", "Fox", "Gnu", "Hen"] {
        let heading = if name == "Fox" { "Badger" } else { name };
        write(&format!("Animals/{name}.md"), &format!("# {heading}\n"));
    }
    write("Elsewhere/Ant.md", "");
    write("Elsewhere/Untitled 1.md", "# Soup\n");
    write("Elsewhere/C# notes.md", "");
    write("Elsewhere/Plan.sync-conflict-20261121-103045-ABCDEFG.md", "");
    write(&format!("Elsewhere/{}.md", "long ".repeat(30).trim()), "");
    vault
}

fn findings(home: &Home, vault: &Path, folder: &str) -> Vec<(String, String, Value)> {
    let run = home.run_in(vault, &["names", "check", folder, "--json"]).expect(1);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    let found = answer["findings"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    found.map(|one| (text(&one["path"]), text(&one["kind"]), one["suggestion"].clone())).collect()
}

#[test]
fn each_kind_of_wrong_name_is_reported_once() {
    let home = Home::new();
    let vault = wrong(&home);
    let found = findings(&home, &vault, "/");
    let long = format!("Elsewhere/{}.md", "long ".repeat(30).trim());
    let mut told: Vec<(&str, &str)> =
        found.iter().map(|(path, kind, _)| (&**path, &**kind)).collect();
    told.sort_unstable();
    let mut expected = vec![
        ("Animals/Ant.md", "same_name"),
        ("Animals/Fox.md", "heading"),
        ("Elsewhere/C# notes.md", "breaks_links"),
        ("Elsewhere/Plan.sync-conflict-20261121-103045-ABCDEFG.md", "conflict_copy"),
        ("Elsewhere/Untitled 1.md", "untitled"),
        (&*long, "long"),
        ("Journal/2026-11-15.md", "date"),
        ("Journal/Odd one.md", "convention"),
    ];
    expected.sort_unstable();
    assert_eq!(told, expected);
    let suggestion =
        found.iter().find(|(path, ..)| path.contains("C#")).map(|(.., name)| name.clone());
    assert_eq!(suggestion, Some("C notes.md".into()));
    assert_eq!(findings(&home, &vault, "Animals").len(), 2);
    let said = home.run_in(&vault, &["names", "check", "Journal"]).expect(1).stdout;
    assert!(
        said.contains("Journal/Odd one.md: convention: 10 of 11 names here are {YYYY-MM-DD}"),
        "{said}"
    );
    assert!(said.ends_with("11 files: 1 convention, 1 date\n"), "{said}");
}

/// Names that only some file systems hold.
#[cfg(target_os = "linux")]
#[test]
fn duplicate_and_partial_names_are_reported() {
    let home = Home::new();
    let vault = home.vault("Twins");
    for name in ["Plan.md", "plan.md", "Cafe\u{301}.md"] {
        std::fs::write(vault.join(name), "").unwrap();
    }
    if std::fs::read_dir(&vault).unwrap().count() < 3 {
        return;
    }
    let found = findings(&home, &vault, "/");
    let told: Vec<(&str, &str)> = found.iter().map(|(path, kind, _)| (&**path, &**kind)).collect();
    assert_eq!(told, [("Cafe\u{301}.md", "decomposed"), ("Plan.md", "twin")]);
}

#[test]
fn a_vault_in_order_has_nothing_told() {
    let home = Home::new();
    let vault = home.vault("Fine");
    std::fs::write(vault.join("Garden plan.md"), "# Another heading\n").unwrap();
    let said = home.run_in(&vault, &["names", "check"]).expect(0).stdout;
    assert!(said.contains("all names are fine"), "{said}");
}

#[test]
fn conventions_are_shown_and_names_suggested_and_planned() {
    let home = Home::new();
    let vault = wrong(&home);
    std::fs::write(vault.join("Journal/20261120 late.md"), "").unwrap();
    for _daemon in [None, Some(home.serve(&vault))] {
        let shown = home.run_in(&vault, &["names", "conventions"]).expect(0).stdout;
        let row = shown.lines().find(|line| line.starts_with("Journal/")).unwrap_or_default();
        assert!(row.contains("{YYYY-MM-DD}") && row.contains("2026-11-10"), "{shown}");
        let suggested =
            ["names", "suggest", "Journal/20261120 late", "-c", "{YYYY-MM-DD} {Title Words}"];
        let shown = home.run_in(&vault, &suggested).expect(0).stdout;
        assert!(shown.contains("→ 2026-11-20 Late.md  (its present name)"), "{shown}");
        let renamed =
            ["names", "rename", "Journal/20261120 late", "-c", "{YYYY-MM-DD} {Title Words}"];
        let run = home.run_in(&vault, &renamed).expect(0);
        assert!(run.stdout.contains("2026-11-20 Late.md"), "{}", run.stdout);
        assert!(run.stderr.contains("steward organize apply"), "{}", run.stderr);
        assert!(vault.join("Journal/20261120 late.md").exists(), "a plan changes nothing");
    }
    let renamed =
        ["names", "rename", "Journal/20261120 late", "-c", "{YYYY-MM-DD} {Title Words}", "--yes"];
    home.run_in(&vault, &renamed).expect(0);
    assert!(vault.join("Journal/2026-11-20 Late.md").exists());
    home.run_in(&vault, &["undo", "--yes"]).expect(0);
    assert!(vault.join("Journal/20261120 late.md").exists());
}
