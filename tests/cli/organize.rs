//! `steward organize`, with a daemon and without.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::client::client;
use crate::support::{Home, Run};

const RULES: &str = "\
rules:
  - name: Done things
    in: [Inbox]
    when: status == \"done\"
    do:
      - move: Archive
";

fn inbox(home: &Home) -> PathBuf {
    let vault = home.vault("Notes");
    std::fs::create_dir(vault.join("Inbox")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(vault.join(name), text).unwrap();
    write("Inbox/a.md", "---\nstatus: done\n---\nto [[b]]\n");
    write("Inbox/b.md", "---\nstatus: open\n---\nto [a](a.md)\n");
    write("Inbox/c.md", "---\nstatus: done\n---\n");
    vault
}

fn organize(home: &Home, vault: &Path, arguments: &[&str]) -> Run {
    home.run_in(vault, &[&["organize"], arguments].concat())
}

#[test]
fn rules_are_planned_looked_at_applied_and_undone() {
    let home = Home::new();
    let rules = home.path("elsewhere/rules.yaml");
    std::fs::write(&rules, RULES).unwrap();
    let rules = rules.to_str().unwrap();
    let vault = inbox(&home);
    let daemon = home.serve(&vault);
    for daemon in [Some(daemon), None] {
        let planned = organize(&home, &vault, &["plan", rules]).expect(0).stdout;
        assert!(planned.contains("Archive/ (2)"), "{planned}");
        assert!(vault.join("Inbox/a.md").exists());
        let json = organize(&home, &vault, &["plan", rules, "--json"]).expect(0).json();
        let plan = json["plan"].to_string();
        assert_eq!(json["items"], 2);
        let why = organize(&home, &vault, &["why", "Inbox/a.md", "--plan", &plan]).expect(0).stdout;
        assert!(why.contains("Done things  yes"), "{why}");
        let asked = organize(&home, &vault, &["apply", &plan]).expect(1);
        assert!(asked.stderr.contains("add `--yes`"), "{asked:?}");
        let would = organize(&home, &vault, &["apply", &plan, "--dry-run"]).expect(0).stdout;
        assert!(would.starts_with("Would move 2 notes. Nothing was changed."), "{would}");
        let edited = ["edit", &plan, "--take-out", "2", "--to", "1=Archive/Old a.md", "--json"];
        assert_eq!(organize(&home, &vault, &edited).expect(0).json()["items"], 1);
        let done = organize(&home, &vault, &["apply", &plan, "--yes", "--json"]).expect(0).json();
        assert_eq!((&done["state"], &done["done"]), (&json!("completed"), &json!(1)));
        let text = |name: &str| std::fs::read_to_string(vault.join(name)).unwrap();
        assert_eq!(text("Inbox/b.md"), "---\nstatus: open\n---\nto [Old a](Old%20a.md)\n");
        let job = done["job"].to_string();
        let jobs = organize(&home, &vault, &["jobs"]).expect(0).stdout;
        assert!(jobs.contains("completed  move 1 note"), "{jobs}");
        let wrong = organize(&home, &vault, &["resume", &job, "--yes"]).expect(1);
        assert!(wrong.stderr.contains(&format!("job {job} is completed")), "{wrong:?}");
        let undone = organize(&home, &vault, &["undo", &job]).expect(0).stdout;
        assert!(undone.starts_with(&format!("Undid 1 of 1 items of job {job}.")), "{undone}");
        assert_eq!(text("Inbox/b.md"), "---\nstatus: open\n---\nto [a](a.md)\n");
        assert!(!vault.join("Archive").exists());
        drop(daemon);
    }
    let items = home.path("elsewhere/items.json");
    std::fs::write(&items, r#"[{"path": "Inbox/c.md", "trash": true}]"#).unwrap();
    let planned = home.run_in(&vault, &["organise", "plan", "--items", items.to_str().unwrap()]);
    assert!(planned.expect(0).stdout.contains("to the trash"));
    let bad = home.path("elsewhere/bad.yaml");
    std::fs::write(&bad, "rules:\n  - name: x\n    wehn: a\n").unwrap();
    let bad = organize(&home, &vault, &["plan", bad.to_str().unwrap()]).expect(1);
    assert!(bad.stderr.contains("wehn"), "{bad:?}");
    let none = organize(&home, &vault, &["show", "99"]).expect(1);
    assert!(
        none.stderr.contains("there is no plan 99")
            && none.stderr.contains("`steward organize plan`")
    );
}

/// The journal joins the changes of one turn, a job's pieces too, and clients name their own turns.
#[test]
fn no_clients_turn_joins_a_job_or_a_conversation() {
    let home = Home::new();
    let vault = inbox(&home);
    let daemon = home.serve(&vault);
    let mut client = client(&home, &vault, &daemon);
    let mut sets = Vec::new();
    let names = ["job-1", "conversation 1, turn 1", "workflow 1 step"];
    let mut write = |about: &str| {
        for (number, turn) in names.iter().enumerate() {
            let arguments = json!({ "path": format!("{about} {number}.md"), "content": "kept" });
            let meta = json!({ "vault": { "turn": turn } });
            let params = json!({ "name": "write_file", "arguments": arguments, "_meta": meta });
            let mut done = client.call("tools/call", params);
            sets.push(done["result"]["structuredContent"]["change_set"].take());
        }
    };
    write("before");
    let items = home.path("elsewhere/items.json");
    std::fs::write(&items, r#"[{"path": "Inbox/c.md", "to": "Done/c.md"}]"#).unwrap();
    organize(&home, &vault, &["plan", "--items", items.to_str().unwrap()]).expect(0);
    let done = organize(&home, &vault, &["apply", "1", "--yes", "--json"]).expect(0).json();
    assert_eq!((&done["job"], &done["done"]), (&json!(1), &json!(1)));
    write("after");
    assert!(sets.iter().all(|set| set.is_u64() && *set != done["change_set"]), "{sets:?} {done}");
    organize(&home, &vault, &["undo", "1", "--yes"]).expect(0);
    assert!(vault.join("Inbox/c.md").exists() && vault.join("after 0.md").exists());
}

/// Killed between two pieces: completed pieces stay and are recorded, the rest is resumed, and all of it can be undone
/// at once.
#[test]
fn a_job_that_is_killed_is_interrupted_resumed_and_undone_whole() {
    const NOTES: usize = 400;
    let home = Home::new();
    home.write_config("[organize]\natomic_items = 10\n");
    let vault = home.vault("Notes");
    std::fs::create_dir(vault.join("In")).unwrap();
    let text = |at: usize| {
        format!("[[n{:03}]] and [this](n{:03}.md)\n", (at + 1) % NOTES, (at + 7) % NOTES)
    };
    for at in 0..NOTES {
        std::fs::write(vault.join(format!("In/n{at:03}.md")), text(at)).unwrap();
    }
    let rules = home.path("elsewhere/rules.yaml");
    let rule = "rules:\n  - name: Out\n    in: [In]\n    do:\n      - tag: [moved]\n      - move: Out/Deep\n";
    std::fs::write(&rules, rule).unwrap();
    let mut daemon = home.serve(&vault);
    let planned =
        organize(&home, &vault, &["plan", rules.to_str().unwrap(), "--json"]).expect(0).json();
    assert_eq!(planned["items"], NOTES);
    let mut client = client(&home, &vault, &daemon);
    client.call("_vault/subscribe", json!({}));
    let folder = vault.to_str().unwrap();
    let mut apply = home.steward(&["organize", "apply", "1", "--yes", "--vault", folder]);
    let mut applying = apply.spawn().unwrap();
    loop {
        let event = client.read();
        if event["method"] == "_vault/job" && event["params"]["done"].as_u64() > Some(0) {
            assert_eq!(event["params"]["state"], "running", "{event}");
            break;
        }
    }
    daemon.kill();
    assert!(!applying.wait().unwrap().success());
    let daemon = home.serve(&vault);
    let jobs = organize(&home, &vault, &["jobs", "--json"]).expect(0).json();
    let job = &jobs["jobs"][0];
    assert_eq!(job["state"], "interrupted", "{job}");
    let done = job["done"].as_u64().unwrap();
    assert!(done > 0 && done < NOTES as u64, "{job}");
    let moved = std::fs::read_dir(vault.join("Out/Deep")).unwrap().count();
    assert_eq!(moved as u64, done);
    // Applying the same plan a second time changes nothing of the first job.
    let again = organize(&home, &vault, &["apply", "1", "--yes", "--json"]).expect(1).json();
    assert_eq!(
        (&again["code"], &again["data"]["state"]),
        (&json!("wrong_state"), &json!("interrupted"))
    );
    let resumed = organize(&home, &vault, &["resume", "1", "--yes", "--json"]).expect(0).json();
    assert_eq!((&resumed["state"], &resumed["done"]), (&json!("completed"), &json!(NOTES)));
    assert_eq!(std::fs::read_dir(vault.join("Out/Deep")).unwrap().count(), NOTES);
    drop(daemon);
    organize(&home, &vault, &["undo", "1", "--yes"]).expect(0);
    for at in 0..NOTES {
        let now = std::fs::read_to_string(vault.join(format!("In/n{at:03}.md"))).unwrap();
        assert_eq!(now, text(at), "In/n{at:03}.md");
    }
    assert!(!vault.join("Out").exists());
}

#[test]
fn rules_are_checked_without_running() {
    let home = Home::new();
    let vault = inbox(&home);
    let file = |name: &str, text: &str| {
        let file = home.path("elsewhere").join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let good = file("good.yaml", &RULES.replace("status ==", "file.name != \"a\" && status =="));
    let found = organize(&home, &vault, &["rules", "check", &good]).expect(0).stdout;
    let expected = "Done things\n  When, for a note in Inbox, its name is not \"a\" and `status` is \"done\": move it to \
                    Archive. Runs only when you apply a plan.\n  Fits 1 file now.\n";
    assert!(found.starts_with(expected), "{found}");
    assert!(found.trim_end().ends_with("good.yaml: 1 rule"), "{found}");
    let odd = file("odd.yaml", &RULES.replace("status ==", "staus =="));
    let found = organize(&home, &vault, &["rules", "check", &odd]).expect(1).stdout;
    assert!(
        found.contains("odd.yaml:4:11: warning: no note has `staus`; 3 have `status`"),
        "{found}"
    );
    assert!(found.contains("hint: did you mean `status`?"), "{found}");
    let wrong = file("wrong.yaml", &RULES.replace("Archive", "../Archive"));
    let found = organize(&home, &vault, &["rules", "check", &wrong, "--json"]).expect(1).json();
    let fault = &found["files"][0]["found"][0];
    assert_eq!((&fault["kind"], &fault["line"]), (&json!("outside_vault"), &json!(6)));
    // A note of the vault with rules in blocks.
    let note = format!("Mine\n\n```rules\n{RULES}```\n");
    std::fs::write(vault.join("My rules.md"), note.replace("status ==", "staus ==")).unwrap();
    let found = organize(&home, &vault, &["rules", "check", "My rules"]).expect(1).stdout;
    assert!(found.contains("My rules.md:7:11: warning: no note has `staus`"), "{found}");
}

#[test]
fn what_rules_with_once_took_is_listed_and_forgotten() {
    let home = Home::new();
    let vault = inbox(&home);
    let rule = |more: &str| format!("{RULES}{more}");
    let once = rule("    once: true\n").replace("move: Archive", "append: \"filed\\n\"");
    std::fs::write(vault.join("Once.yaml"), &once).unwrap();
    std::fs::write(vault.join("Often.yaml"), RULES).unwrap();
    let items = || organize(&home, &vault, &["plan", "Once.yaml", "--json"]).expect(0).json();
    let marks = |more: &[&str]| {
        let all = [&["rules", "marks", "Once.yaml"], more, &["--json"]].concat();
        let found = organize(&home, &vault, &all).expect(0).json();
        let files = found["rules"][0]["files"].as_array().unwrap().clone();
        files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let plan = items();
    assert_eq!(plan["items"], 2);
    assert_eq!(marks(&[]), [] as [&str; 0]);
    organize(&home, &vault, &["apply", &plan["plan"].to_string(), "--yes"]).expect(0);
    assert_eq!(items()["items"], 0);
    home.run_in(&vault, &["move", "Inbox/c.md", "Moved.md", "--yes"]).expect(0);
    for daemon in [None, Some(home.serve(&vault))] {
        assert_eq!(marks(&[]), ["Inbox/a.md", "Moved.md"], "where they are now");
        assert_eq!(marks(&["--note", "Moved"]), ["Moved.md"]);
        let wrong = organize(&home, &vault, &["rules", "marks", "Once.yaml", "--note", "b"]);
        assert!(wrong.expect(1).stderr.contains("none of these rules took `b`"));
        let wrong = organize(&home, &vault, &["rules", "marks", "Often.yaml"]).expect(1);
        assert!(wrong.stderr.contains("no rule of `Often.yaml` that is asked for has `once`"));
        drop(daemon);
    }
    assert_eq!(marks(&["--note", "Inbox/a.md", "--forget"]), ["Inbox/a.md"]);
    assert_eq!(marks(&[]), ["Moved.md"]);
    assert_eq!(items()["items"], 1, "it takes the note again");
    let _daemon = home.serve(&vault);
    let forgotten = ["rules", "marks", "Once.yaml", "--rule", "Done things", "--forget"];
    let said = organize(&home, &vault, &forgotten).expect(0).stdout;
    assert_eq!(said, "Done things  Once.yaml  will process this file again\n  Moved.md\n");
    assert_eq!(marks(&[]), [] as [&str; 0]);
}

#[test]
fn another_client_stops_a_running_job_which_reports_its_progress() {
    const NOTES: usize = 400;
    let home = Home::new();
    home.write_config("[organize]\natomic_items = 2\n");
    let vault = home.vault("Notes");
    std::fs::create_dir(vault.join("In")).unwrap();
    let mut items = Vec::with_capacity(NOTES);
    for at in 0..NOTES {
        std::fs::write(vault.join(format!("In/n{at:03}.md")), "note\n").unwrap();
        let (path, to) = (format!("In/n{at:03}.md"), format!("Out/n{at:03}.md"));
        items.push(json!({ "path": path, "to": to }));
    }
    let file = home.path("elsewhere/items.json");
    std::fs::write(&file, json!(items).to_string()).unwrap();
    let nobody = organize(&home, &vault, &["stop", "1"]).expect(1);
    assert!(nobody.stderr.contains("no daemon runs"), "{nobody:?}");
    let daemon = home.serve(&vault);
    organize(&home, &vault, &["plan", "--items", file.to_str().unwrap()]).expect(0);
    let mut client = client(&home, &vault, &daemon);
    client.call("_vault/subscribe", json!({}));
    let folder = vault.to_str().unwrap();
    let mut apply = home.steward(&["organize", "apply", "1", "--yes", "--json", "--vault", folder]);
    let applying = apply.stdout(std::process::Stdio::piped()).spawn().unwrap();
    loop {
        let event = client.read();
        if event["method"] == "_vault/job" && event["params"]["done"].as_u64() > Some(0) {
            break;
        }
    }
    let stopped = client.call("_vault/organize/stop", json!({ "job": 1 }))["result"].clone();
    assert_eq!(stopped["state"], "cancelled", "{stopped}");
    let done = stopped["done"].as_u64().unwrap();
    assert!(done > 0 && done < NOTES as u64 && stopped["total"] == NOTES, "{stopped}");
    let moved = std::fs::read_dir(vault.join("Out")).unwrap().count();
    assert_eq!(moved as u64, done, "what is done stays");
    let began: serde_json::Value =
        serde_json::from_slice(&applying.wait_with_output().unwrap().stdout).unwrap();
    let expected = (&json!("cancelled"), &json!(done));
    assert_eq!((&began["data"]["state"], &began["data"]["done"]), expected, "{began}");
    let again = organize(&home, &vault, &["stop", "1"]).expect(1);
    assert!(again.stderr.contains("job 1 is cancelled"), "{again:?}");
    organize(&home, &vault, &["undo", "1", "--yes"]).expect(0);
    assert_eq!(std::fs::read_dir(vault.join("In")).unwrap().count(), NOTES);
}
