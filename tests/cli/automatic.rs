//! Rules that a person enabled, run by the real daemon.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Home, Run};

/// Waits for an effect of another process.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "it did not come: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn rule(name: &str, from: &str, to: &str) -> String {
    format!(
        "rules:\n  - name: {name}\n    in: [{from}]\n    when: status == \"done\"\n    do: [move: {to}]\n    run: change\n"
    )
}

fn organize(home: &Home, vault: &Path, arguments: &[&str]) -> Run {
    home.run_in(vault, &[&["organize"], arguments].concat())
}

fn write(vault: &Path, name: &str, text: &str) {
    std::fs::create_dir_all(vault.join(name).parent().unwrap()).unwrap();
    std::fs::write(vault.join(name), text).unwrap();
}

/// A vault whose rules file the done notes of `Inbox` and of `Other`.
fn vault(home: &Home, settings: &str) -> PathBuf {
    home.write_config(&format!("[organize]\nquiet_seconds = 1\n{settings}"));
    let vault = home.vault("Notes");
    write(&vault, "Rules.yaml", &rule("Done things", "Inbox", "Archive"));
    write(&vault, "Others.yaml", &rule("Other things", "Other", "Filed"));
    write(&vault, "Inbox/old.md", "---\nstatus: done\n---\n");
    std::fs::create_dir(vault.join("Other")).unwrap();
    vault
}

fn enable(home: &Home, vault: &Path, arguments: &[&str]) -> Value {
    let all = [&["rules", "enable"], arguments, &["--yes", "--json"]].concat();
    organize(home, vault, &all).expect(0).json()
}

/// Waits until the other rule has filed a note: then earlier changes were processed too.
fn other_is_filed(vault: &Path, name: &str) {
    write(vault, &format!("Other/{name}.md"), "---\nstatus: done\n---\nother\n");
    let filed = vault.join(format!("Filed/{name}.md"));
    until("the other rule files its note", || filed.exists());
}

fn jobs(home: &Home, vault: &Path) -> Vec<Value> {
    let jobs = organize(home, vault, &["jobs", "--json"]).expect(0).json();
    jobs["jobs"].as_array().unwrap().clone()
}

#[test]
fn an_enabled_rule_files_a_new_note_once_and_why_says_so_after_a_restart() {
    let home = Home::new();
    let vault = vault(&home, "");
    let daemon = home.serve(&vault);
    let asked = organize(&home, &vault, &["rules", "enable", "Rules.yaml"]).expect(1);
    assert!(asked.stderr.contains("--yes"), "{asked:?}");
    let enabled = enable(&home, &vault, &["Rules.yaml"]);
    let rule = &enabled["rules"][0];
    assert_eq!((&rule["name"], &rule["state"]), (&"Done things".into(), &"automatic".into()));
    assert_eq!(rule["folders"], serde_json::json!(["Archive", "Inbox"]));
    enable(&home, &vault, &["Others.yaml"]);
    write(&vault, "Inbox/new.md", "---\nstatus: done\n---\nto [[My Note]]\n");
    write(&vault, "Inbox/open.md", "---\nstatus: open\n---\n");
    write(&vault, "links.md", "see [it](Inbox/new.md)\n");
    until("the note is filed", || vault.join("Archive/new.md").exists());
    until("its link follows", || {
        std::fs::read_to_string(vault.join("links.md")).unwrap() == "see [it](new.md)\n"
    });
    other_is_filed(&vault, "a");
    assert!(vault.join("Inbox/old.md").exists(), "it was there before the rule was enabled");
    assert!(vault.join("Inbox/open.md").exists());
    let all = jobs(&home, &vault);
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(all[1]["caller"], "rule Done things");
    let audit = home.run_in(&vault, &["audit"]).expect(0).stdout;
    assert!(audit.contains("rule Done things (rule)  apply_plan"), "{audit}");
    drop(daemon);
    let daemon = home.serve(&vault);
    other_is_filed(&vault, "b");
    assert_eq!(jobs(&home, &vault).len(), 3, "nothing is done twice");
    let why = organize(&home, &vault, &["why", "Archive/new.md", "--rules"]).expect(0).stdout;
    for part in [
        "Done things, automatically",
        "Inbox/new.md -> Archive/new.md",
        "status == \"done\"  true: status is done",
        "`Rules.yaml`, enabled",
        "      - name: Done things",
    ] {
        assert!(why.contains(part), "{part}: {why}");
    }
    // After a person undid the move, the note is left alone until someone edits it.
    let job = all[1]["job"].to_string();
    organize(&home, &vault, &["undo", &job, "--yes"]).expect(0);
    assert!(vault.join("Inbox/new.md").exists());
    other_is_filed(&vault, "c");
    assert!(vault.join("Inbox/new.md").exists());
    let why = organize(&home, &vault, &["why", "Inbox/new.md"]).expect(0).stdout;
    assert!(why.contains("automatically, undone since"), "{why}");
    drop(daemon);
    let _daemon = home.serve(&vault);
    other_is_filed(&vault, "d");
    assert!(vault.join("Inbox/new.md").exists());
    write(&vault, "Inbox/new.md", "---\nstatus: done\n---\nmore\n");
    until("the note is filed again", || vault.join("Archive/new.md").exists());
}

#[test]
fn a_rule_whose_file_changed_does_nothing_until_it_is_enabled_again() {
    let home = Home::new();
    let vault = vault(&home, "rules = [\"Rules.yaml\"]\n");
    let _daemon = home.serve(&vault);
    enable(&home, &vault, &["Done things"]);
    enable(&home, &vault, &["Others.yaml"]);
    // Only its formatting.
    let same = format!("# Mine.\n{}", rule("Done things", "Inbox", "Archive"));
    write(&vault, "Rules.yaml", &same);
    write(&vault, "Inbox/a.md", "---\nstatus: done\n---\n");
    until("the note is filed", || vault.join("Archive/a.md").exists());
    write(&vault, "Rules.yaml", &rule("Done things", "Inbox", "Elsewhere"));
    write(&vault, "Inbox/b.md", "---\nstatus: done\n---\n");
    other_is_filed(&vault, "a");
    assert!(vault.join("Inbox/b.md").exists());
    let list = organize(&home, &vault, &["rules", "list"]).expect(0).stdout;
    assert!(list.contains("Done things  changed  Rules.yaml"), "{list}");
    let status = home.run_in(&vault, &["status"]).expect(0).stdout;
    assert!(status.contains("the rule `Done things` does not run"), "{status}");
    let diff = organize(&home, &vault, &["rules", "diff"]).expect(0).stdout;
    assert!(diff.contains("-    do: [move: Archive]\n+    do: [move: Elsewhere]"), "{diff}");
    enable(&home, &vault, &["Rules.yaml"]);
    write(&vault, "Inbox/c.md", "---\nstatus: done\n---\n");
    until("the note is filed", || vault.join("Elsewhere/c.md").exists());
    assert!(vault.join("Inbox/b.md").exists(), "it changed before the rule was enabled again");
    organize(&home, &vault, &["rules", "disable", "Done things"]).expect(0);
    write(&vault, "Inbox/d.md", "---\nstatus: done\n---\n");
    other_is_filed(&vault, "b");
    assert!(vault.join("Inbox/d.md").exists());
    let gone = organize(&home, &vault, &["rules", "disable", "Done things"]).expect(1);
    assert!(gone.stderr.contains("no rule `Done things` is enabled"), "{gone:?}");
}

#[test]
fn what_came_while_no_daemon_ran_is_filed_at_the_next_start() {
    let home = Home::new();
    let vault = vault(&home, "");
    let daemon = home.serve(&vault);
    enable(&home, &vault, &["Rules.yaml"]);
    drop(daemon);
    write(&vault, "Inbox/late.md", "---\nstatus: done\n---\n");
    let _daemon = home.serve(&vault);
    until("the note is filed", || vault.join("Archive/late.md").exists());
    assert!(vault.join("Inbox/old.md").exists());
    assert_eq!(jobs(&home, &vault).len(), 1);
}

/// A move keeps a file's modification time.
#[cfg(target_os = "linux")]
#[test]
fn files_moved_in_without_a_daemon_are_filed_at_the_next_start() {
    let home = Home::new();
    let vault = vault(&home, "");
    write(&vault, "Old/moved.md", "---\nstatus: done\n---\n");
    write(&vault, "Old/Folder/inside.md", "---\nstatus: done\n---\n");
    let daemon = home.serve(&vault);
    enable(&home, &vault, &["Rules.yaml"]);
    enable(&home, &vault, &["Others.yaml"]);
    other_is_filed(&vault, "a");
    drop(daemon);
    for name in ["moved.md", "Folder"] {
        std::fs::rename(vault.join("Old").join(name), vault.join("Inbox").join(name)).unwrap();
    }
    let _daemon = home.serve(&vault);
    for name in ["moved.md", "inside.md"] {
        until("the note is filed", || vault.join("Archive").join(name).exists());
    }
    other_is_filed(&vault, "b");
    assert!(vault.join("Inbox/old.md").exists(), "it lies there since before it was enabled");
}

#[test]
fn a_sync_waits_for_a_person() {
    let home = Home::new();
    let vault = vault(&home, "");
    let _daemon = home.serve(&vault);
    enable(&home, &vault, &["Rules.yaml"]);
    for number in 0..30 {
        write(&vault, &format!("Inbox/{number}.md"), "---\nstatus: done\n---\n");
    }
    let waiting = || {
        let list = organize(&home, &vault, &["rules", "list", "--json"]).expect(0).json();
        list["rules"][0]["waiting"].as_u64()
    };
    until("a plan waits", || waiting().is_some());
    assert!(!vault.join("Archive").exists());
    let plan = waiting().unwrap().to_string();
    let status = home.run_in(&vault, &["status"]).expect(0).stdout;
    assert!(status.contains(&format!("plan {plan} of the rule `Done things` waits")), "{status}");
    organize(&home, &vault, &["apply", &plan, "--yes"]).expect(0);
    assert_eq!(std::fs::read_dir(vault.join("Archive")).unwrap().count(), 30);
    assert_eq!(waiting(), None);
}

#[test]
fn modes_and_settings_hold_rules_back() {
    let home = Home::new();
    let vault = vault(&home, "");
    let daemon = home.serve(&vault);
    enable(&home, &vault, &["Rules.yaml"]);
    home.run_in(&vault, &["mode", "ask"]).expect(0);
    write(&vault, "Inbox/a.md", "---\nstatus: done\n---\n");
    let list = || organize(&home, &vault, &["rules", "list", "--json"]).expect(0).json();
    until("a plan waits", || list()["rules"][0]["waiting"].is_u64());
    assert_eq!(list()["held"], "the mode is `ask`");
    assert!(vault.join("Inbox/a.md").exists());
    home.run_in(&vault, &["mode", "auto"]).expect(0);
    drop(daemon);
    home.write_config("[organize]\nquiet_seconds = 1\nautomatic = false\n");
    let daemon = home.serve(&vault);
    write(&vault, "Inbox/b.md", "---\nstatus: done\n---\n");
    let list = organize(&home, &vault, &["rules", "list"]).expect(0).stdout;
    assert!(list.contains("None of them runs now: `organize.automatic` is `false`."), "{list}");
    drop(daemon);
    assert!(vault.join("Inbox/b.md").exists());
}

#[test]
fn a_rule_that_something_works_against_stops_itself() {
    let home = Home::new();
    let vault = vault(&home, "");
    let _daemon = home.serve(&vault);
    enable(&home, &vault, &["Rules.yaml"]);
    write(&vault, "Inbox/a.md", "---\nstatus: done\n---\n");
    for _ in 0..2 {
        until("the note is filed", || vault.join("Archive/a.md").exists());
        // As a sync program with another version would.
        until("the job has ended", || {
            jobs(&home, &vault).iter().all(|job| job["state"] == "completed")
        });
        std::fs::rename(vault.join("Archive/a.md"), vault.join("Inbox/a.md")).unwrap();
    }
    let list = || organize(&home, &vault, &["rules", "list", "--json"]).expect(0).json();
    until("the rule stops", || list()["rules"][0]["state"] == "stopped");
    assert!(vault.join("Inbox/a.md").exists());
    let reason = list()["rules"][0]["reason"].to_string();
    assert!(reason.contains("a third time in a day"), "{reason}");
}

#[test]
fn the_trash_waits_unless_the_rule_was_enabled_with_it() {
    let home = Home::new();
    let vault = vault(&home, "");
    let trash = rule("Junk", "Inbox", "X").replace("move: X", "trash: true");
    write(&vault, "Junk.yaml", &trash);
    let _daemon = home.serve(&vault);
    let enabled = enable(&home, &vault, &["Junk.yaml"]);
    assert_eq!(enabled["rules"][0]["withTrash"], false);
    write(&vault, "Inbox/a.md", "---\nstatus: done\n---\n");
    let list = || organize(&home, &vault, &["rules", "list", "--json"]).expect(0).json();
    until("a plan waits", || list()["rules"][0]["waiting"].is_u64());
    assert!(vault.join("Inbox/a.md").exists());
    enable(&home, &vault, &["Junk.yaml", "--with-trash"]);
    write(&vault, "Inbox/b.md", "---\nstatus: done\n---\n");
    until("the note is trashed", || !vault.join("Inbox/b.md").exists());
    assert!(vault.join("Inbox/a.md").exists());
}

#[test]
fn no_text_of_the_vault_enables_a_rule() {
    let home = Home::new();
    let vault = vault(&home, "");
    let said =
        rule("Mine", "Inbox", "Taken").replace("run: change", "run: change\n    enabled: true");
    write(&vault, "Enabled.yaml", &said);
    write(
        &vault,
        "steward organize rules enable Rules.yaml --yes.md",
        "please enable Rules.yaml\n",
    );
    let block = rule("Note's own", "Inbox", "Taken");
    write(
        &vault,
        "Inbox/asks.md",
        &format!("---\nstatus: done\nenabled: true\nautomatic: true\n---\n```rules\n{block}```\n"),
    );
    let _daemon = home.serve(&vault);
    enable(&home, &vault, &["Others.yaml"]);
    let refused = organize(&home, &vault, &["rules", "enable", "Enabled.yaml", "--yes"]).expect(1);
    assert!(refused.stderr.contains("enabled"), "no such key: {refused:?}");
    write(&vault, "Inbox/new.md", "---\nstatus: done\nenabled: true\n---\n");
    other_is_filed(&vault, "a");
    assert!(vault.join("Inbox/new.md").exists() && vault.join("Inbox/asks.md").exists());
    assert!(!vault.join("Taken").exists() && !vault.join("Archive").exists());
    let list = organize(&home, &vault, &["rules", "list", "--json"]).expect(0).json();
    assert_eq!(list["rules"].as_array().unwrap().len(), 1);
}
