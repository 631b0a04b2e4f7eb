//! `log`, `undo`, `restore`, `trash` and `journal`, with a daemon and without.

use std::path::Path;

use serde_json::{Value, json};

use crate::client::client;
use crate::door::Client;
use crate::support::Home;

fn prepare(home: &Home, name: &str) -> std::path::PathBuf {
    let vault = home.vault(name);
    std::fs::write(vault.join(".obsidian/app.json"), r#"{"trashOption": "local"}"#).unwrap();
    vault
}

/// A typical session: an edit, a deletion, a look at the log, an undo.
fn evening(home: &Home, vault: &Path) -> Vec<String> {
    let note = vault.join("Projects/My Note.md");
    let text = || std::fs::read_to_string(&note).unwrap();
    let run = |arguments: &[&str]| home.run_in(vault, arguments);
    let mut said = Vec::new();
    run(&["call", "edit_file", "--path", "my note", "--old-text", "x", "--new-text", "y"])
        .expect(1);
    let edit = ["call", "edit_file", "--path", "projects/my note", "--old-text", "12"];
    run(&[&edit[..], &["--new-text", "13"]].concat()).expect(0);
    run(&["call", "delete", "--path", "projects/my note"]).expect(0);
    assert!(!note.exists());

    let log = run(&["log", "--diff"]).expect(0).stdout;
    assert!(log.contains("-budget 12") && log.contains("+budget 13"), "{log}");
    let log = run(&["log", "Projects", "--json"]).expect(0).json();
    assert_eq!(log["change_sets"].as_array().unwrap().len(), 2);
    assert_eq!(log["change_sets"][0]["caller"], "steward");
    said.push(log["change_sets"][1]["title"].to_string());

    // The earlier text, by the number of the change and by a time; the note itself is gone.
    run(&["show", "projects/my note"]).expect(1);
    let set = log["change_sets"][1]["id"].to_string();
    let then = run(&["show", "projects/my note", "--at", &set]).expect(0);
    assert!(then.stdout.contains("budget 13"), "{then:?}");
    said.push(then.stdout);
    let then = run(&["show", "my note", "--at", &set, "--json"]).expect(0).json();
    assert_eq!(then["path"], "Projects/My Note.md");
    assert_eq!((&then["leftBy"], &then["now"]), (&log["change_sets"][1]["id"], &Value::Null));
    let gone = run(&["show", "projects/my note", "--at", "2100-01-01"]).expect(1);
    assert!(gone.stderr.contains("was not in the vault"), "{gone:?}");
    let wrong = run(&["show", "projects/my note", "--at", "soon"]).expect(2);
    assert!(wrong.stderr.contains("not a time"), "{wrong:?}");
    let list = run(&["list", "Projects", "--at", &set]).expect(0);
    assert!(list.stdout.contains("Projects/My Note.md"), "{list:?}");
    said.push(list.stdout);

    let trash = run(&["trash", "list", "--json"]).expect(0).json();
    assert_eq!(
        (trash["total"].as_u64(), trash["items"][0]["was"].as_str()),
        (Some(1), Some("Projects/My Note.md"))
    );
    said.push(run(&["restore", "my note"]).expect(0).stdout);
    assert!(text().contains("budget 13"));

    let edit = log["change_sets"][1]["id"].to_string();
    said.push(run(&["undo", &edit]).expect(0).stdout);
    assert!(text().contains("budget 12"));
    run(&["undo", &edit]).expect(1);
    let wrong = run(&["undo", "yesterday"]).expect(2);
    assert!(wrong.stderr.contains("steward log"), "{wrong:?}");
    let one = run(&["undo", "1.1"]).expect(1);
    assert!(one.stderr.contains("already"), "{one:?}");
    said
}

#[test]
fn changes_are_shown_and_undone_with_a_daemon_and_without() {
    let home = Home::new();
    let (first, second) = (prepare(&home, "First"), prepare(&home, "Second"));
    let directly = evening(&home, &first);
    let _daemon = home.serve(&second);
    assert_eq!(evening(&home, &second), directly);
}

/// Someone edits a note again, renames it, deletes it: what `steward undo` then prints and does.
fn written_since(home: &Home, vault: &Path) -> Vec<String> {
    let place = |name: &str| vault.join(name);
    let run = |arguments: &[&str]| home.run_in(vault, arguments);
    let write = |name: &str, text: &str| std::fs::write(place(name), text).unwrap();
    let edit = |old: &str, new: &str| {
        let edit = ["call", "edit_file", "--path", "list.md", "--old-text", old, "--new-text", new];
        let said = run(&[&edit[..], &["--json"]].concat()).expect(0).json();
        said["change_set"].to_string()
    };
    let mut said = Vec::new();
    write("list.md", "# List\n\n- tea\n- milk\n- bread\n- salt\n");
    let (tea, salt) = (edit("tea", "coffee"), edit("salt", "pepper"));
    let mut text = std::fs::read_to_string(place("list.md")).unwrap();
    text.insert_str(0, "Saturday\n\n");
    write("list.md", &text);
    // The older one first.
    said.push(run(&["undo", &tea]).expect(0).stdout);
    assert!(said[0].contains("`list.md` was changed since: that stays"), "{said:?}");
    let left = "Saturday\n\n# List\n\n- tea\n- milk\n- bread\n- pepper\n";
    assert_eq!(std::fs::read_to_string(place("list.md")).unwrap(), left);
    write("list.md", &left.replace("pepper", "pepper, black"));
    let refused = run(&["undo", &salt]).expect(1).stderr;
    assert!(refused.contains("in the same lines as that change: see line 8"), "{refused}");
    assert!(refused.contains("force puts the whole file back"), "{refused}");
    said.push(refused);
    write("list.md", left);
    std::fs::remove_file(place("list.md")).unwrap();
    let refused = run(&["undo", &salt]).expect(1).stderr;
    assert!(refused.contains("writes its text from before the change again"), "{refused}");
    said.push(refused);
    said.push(run(&["undo", &salt, "--force"]).expect(0).stdout);
    let text = std::fs::read_to_string(place("list.md")).unwrap();
    assert_eq!(text, "# List\n\n- coffee\n- milk\n- bread\n- salt\n");
    said
}

#[test]
fn later_edits_stay_with_a_daemon_and_without() {
    let home = Home::new();
    let (first, second) = (prepare(&home, "First"), prepare(&home, "Second"));
    let directly = written_since(&home, &first);
    let _daemon = home.serve(&second);
    assert_eq!(written_since(&home, &second), directly);
}

#[test]
fn emptying_the_trash_needs_consent_and_names_or_age() {
    let home = Home::new();
    let vault = prepare(&home, "Notes");
    let run = |arguments: &[&str]| home.run_in(&vault, arguments);
    for name in ["a", "b"] {
        std::fs::write(vault.join(format!("{name}.md")), "text\n").unwrap();
        run(&["call", "delete", "--path", name]).expect(0);
    }
    let old = run(&["trash", "empty", "--yes"]).expect(0);
    assert!(old.stdout.contains("nothing"), "{old:?}");
    // No person is at this terminal.
    let asked = run(&["trash", "empty", ".trash/a.md"]).expect(2);
    assert!(asked.stderr.contains("--yes"), "{asked:?}");
    run(&["trash", "empty", ".trash/c.md", "--yes"]).expect(1);
    assert!(vault.join(".trash/a.md").exists());
    let done = run(&["trash", "empty", ".trash/a.md", "--yes", "--json"]).expect(0).json();
    assert_eq!((done["removed"].as_bool(), done["bytes"].as_u64()), (Some(true), Some(5)));
    assert!(!vault.join(".trash/a.md").exists());
    assert!(vault.join(".trash/b.md").exists());
    // Permanent: nothing restores it, and the answer says so.
    let listed = run(&["trash", "list"]).expect(0).stdout;
    assert!(!listed.contains("a.md") && listed.contains("b.md"), "{listed}");
    run(&["restore", "a"]).expect(1);
    let undo = run(&["undo", "1"]).expect(1);
    assert!(undo.stderr.contains("permanently removed"), "{undo:?}");
    // If another change also has the text, the answer says so; it can also be restored by its
    // number.
    let write = ["call", "write_file", "--path", "Secret.md", "--content", "my secret"];
    run(&write).expect(0);
    run(&["call", "delete", "--path", "Secret"]).expect(0);
    let done = run(&["trash", "empty", "4.1", "--yes"]).expect(0).stdout;
    assert!(done.contains("removed 1 thing") && done.contains("change `3.1` has too"), "{done}");
    assert!(!vault.join(".trash/Secret.md").exists());
    run(&["restore", "Secret"]).expect(1);
    // Also what is no longer in any trash, but in the journal.
    std::fs::remove_dir_all(vault.join(".trash")).unwrap();
    run(&["trash", "empty", "2.1", "--yes"]).expect(0);
    let listed = run(&["trash", "list"]).expect(0).stdout;
    assert!(listed.contains("empty"), "{listed}");
}

#[test]
fn the_journal_is_checked_and_cleared() {
    let home = Home::new();
    let vault = prepare(&home, "Notes");
    let run = |arguments: &[&str]| home.run_in(&vault, arguments);
    let write = ["call", "write_file", "--path", "a.md", "--content"];
    for content in ["one", "two", "three"] {
        run(&[&write[..], &[content]].concat()).expect(0);
    }
    let sound = run(&["journal", "verify", "--json"]).expect(0).json();
    assert_eq!((sound["sound"].as_u64(), &sound["damaged"]), (Some(3), &json!([])));
    let nothing = run(&["journal", "gc", "--yes"]).expect(0);
    assert!(nothing.stdout.contains("nothing"), "{nothing:?}");

    let blobs = find(&home.path("home"), "blobs").expect("the kept texts");
    let blob = std::fs::read_dir(&blobs).unwrap().flatten().find(|e| e.path().is_file()).unwrap();
    std::fs::write(blob.path(), "damaged").unwrap();
    let damaged = run(&["journal", "verify"]).expect(1);
    assert!(damaged.stdout.contains("damaged"), "{damaged:?}");
}

fn find(folder: &Path, name: &str) -> Option<std::path::PathBuf> {
    let entries: Vec<_> = std::fs::read_dir(folder).ok()?.flatten().map(|e| e.path()).collect();
    let here = entries.iter().find(|path| path.file_name().is_some_and(|it| it == name)).cloned();
    here.or_else(|| entries.iter().filter(|path| path.is_dir()).find_map(|path| find(path, name)))
}

#[test]
fn clients_receive_every_change_set_with_its_author() {
    let home = Home::new();
    let vault = prepare(&home, "Notes");
    let daemon = home.serve(&vault);
    let mut client = client(&home, &vault, &daemon);
    client.call("_vault/subscribe", json!({}));
    home.run_in(&vault, &["call", "delete", "--path", "projects/my note"]).expect(0);
    home.run_in(&vault, &["undo"]).expect(0);
    let mut sets: Vec<Value> = Vec::new();
    while sets.len() < 2 {
        let message = client.read();
        if message["method"] == "_vault/changes" {
            sets.push(message["params"]["changeSet"].clone());
        }
    }
    assert_eq!(sets[0]["caller"], "steward");
    assert_eq!(sets[0]["changes"][0]["action"], "deleted");
    assert_eq!(sets[0]["changes"][0]["path"], "Projects/My Note.md");
    assert_eq!(sets[1]["undoes"], sets[0]["id"].to_string());
    assert_eq!(sets[1]["changes"][0]["action"], "restored");
    // The complete listing agrees with the events.
    let listed = client.call("tools/call", json!({ "name": "list_changes", "arguments": {} }));
    assert_eq!(listed["result"]["structuredContent"]["change_sets"][1]["id"], sets[0]["id"]);
    // Permanent deletion is a protocol method, not a tool.
    let empty = client.call("_vault/trash/empty", json!({ "items": ["17.1"] }));
    assert_eq!(empty["error"]["data"]["kind"], "failed", "{empty}");
}

#[test]
fn a_clients_turn_is_one_change_set_and_its_limits_count_together() {
    let home = Home::new();
    let vault = prepare(&home, "Notes");
    for number in 0..14 {
        std::fs::write(vault.join(format!("{number}.md")), "text\n").unwrap();
    }
    let daemon = home.serve(&vault);
    let client = || client(&home, &vault, &daemon);
    let delete = |client: &mut Client, number: usize| {
        let meta = json!({ "vault": { "turn": "1", "conversation": "seeds" } });
        let arguments = json!({ "path": format!("{number}.md") });
        let params = json!({ "name": "delete", "arguments": arguments, "_meta": meta });
        client.call("tools/call", params)["result"]["structuredContent"].take()
    };
    let mut hears = client();
    hears.call("_vault/subscribe", json!({}));
    let mut first = client();
    let sets: Vec<Value> = (0..10).map(|n| delete(&mut first, n)["change_set"].take()).collect();
    assert!(sets.iter().all(|set| *set == sets[0] && set.is_u64()), "{sets:?}");
    // Each event has only the changes of its own call.
    let mut events: Vec<Value> = Vec::new();
    while events.len() < 10 {
        let message = hears.read();
        if message["method"] == "_vault/changes" {
            events.push(message["params"]["changeSet"].clone());
        }
    }
    for (number, set) in events.iter().enumerate() {
        assert_eq!((&set["id"], &set["total"]), (&sets[0], &json!(1)), "{set}");
        assert_eq!(set["changes"].as_array().map(Vec::len), Some(1), "{set}");
        assert_eq!(set["changes"][0]["path"], format!("{number}.md"));
    }
    let ids: std::collections::HashSet<_> =
        events.iter().map(|set| set["changes"][0]["id"].to_string()).collect();
    assert_eq!(ids.len(), 10, "the ids go on: {ids:?}");
    let whole = first.call("_vault/diff", json!({ "changeSet": sets[0] }));
    assert_eq!(whole["result"]["total"], 10, "{whole}");
    // Deleting one by one does not bypass the limit of a turn.
    assert_eq!(delete(&mut first, 10)["code"], "approval_needed");
    // Another client's first turn counts as another turn.
    let other = delete(&mut client(), 11)["change_set"].take();
    assert!(other.is_u64() && other != sets[0], "{other}");
    let log = home.run_in(&vault, &["log"]).expect(0).stdout;
    assert!(log.contains("in conversation seeds"), "{log}");
    home.run_in(&vault, &["undo", &sets[0].to_string(), "--yes"]).expect(0);
    assert!((0..10).all(|number| vault.join(format!("{number}.md")).exists()));
}

#[test]
fn a_long_history_is_listed_in_the_commands_own_words() {
    let home = Home::new();
    let vault = prepare(&home, "Notes");
    let run = |arguments: &[&str]| home.run_in(&vault, arguments);
    std::fs::create_dir(vault.join("Many")).unwrap();
    for number in 0..130 {
        std::fs::write(vault.join(format!("Many/{number:03}.md")), "see [[Budget]]\n").unwrap();
    }
    std::fs::write(vault.join("Budget.md"), "[older ones with before: 1]\n").unwrap();
    let moved = ["call", "move", "--source", "Budget", "--destination", "Costs.md", "--yes"];
    run(&moved).expect(0);
    run(&["call", "delete", "--path", "projects/my note"]).expect(0);

    let newest = run(&["log", "-n", "1"]).expect(0).stdout;
    assert!(newest.ends_with("[older ones with --before 2]\n"), "{newest}");
    let older = run(&["log", "--before", "2", "--diff"]).expect(0).stdout;
    assert!(older.starts_with("1  ") && older.contains("    1.101 "), "{older}");
    let rest =
        "    and 31 changes more; `steward log --change-set 1 --first-change 101` shows them\n";
    assert!(older.ends_with(rest), "{older}");
    let rest = run(&["log", "--change-set", "1", "--first-change", "101"]).expect(0).stdout;
    let shown = |text: &str| text.lines().filter(|line| line.starts_with("    ")).count();
    assert_eq!(shown(&rest), 31, "{rest}");
    assert!(!rest.contains("    1.101 ") && rest.contains("    1.102 "), "{rest}");

    // An undo, too, says how many changes it does not list.
    let undone = run(&["undo", "1", "--yes"]).expect(0).stdout;
    let rest =
        "    and 31 changes more; `steward log --change-set 3 --first-change 101` shows them\n";
    assert!(undone.contains(rest), "{undone}");
    // Text in a note does not count as the steward's own hint.
    run(&["call", "delete", "--path", "Budget"]).expect(0);
    let log = run(&["log", "--diff", "-n", "1"]).expect(0).stdout;
    assert!(log.contains("-[older ones with before: 1]"), "{log}");
    for wrong in [["-n", "0"], ["-n", "201"], ["--first-change", "2"]] {
        run(&["log", wrong[0], wrong[1]]).expect(2);
    }
}
