//! `steward workflow`, with a daemon and without.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::chat::WIRE;
use crate::client::client;
use crate::models::Server;
use crate::script::says;
use crate::support::{Daemon, Home, Run};

/// A vault with two meetings and a list in the inbox.
fn inbox(home: &Home) -> PathBuf {
    let vault = home.vault("Notes");
    std::fs::create_dir_all(vault.join("Inbox")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(vault.join(name), text).unwrap();
    write("Inbox/Ada.md", "---\ntags: [meeting]\n---\nsee [[Bob]]\n");
    write("Inbox/Bob.md", "---\ntags: [meeting]\n---\nbudget\n");
    write("Inbox/List.md", "milk\n");
    vault
}

const FILE_MEETINGS: &str = r#"
id: file-meetings
inputs:
  folder: Meetings
steps:
  - id: find
    tool: query_notes
    input:
      where: 'file.inFolder("Inbox") && file.hasTag("meeting")'
  - id: file
    tool: move
    for_each: '{{steps.find.data.rows.map(value.path)}}'
    input:
      source: '{{item}}'
      destination: '{{inputs.folder}}/{{item.split("/")[1]}}'
  - id: log
    tool: write_file
    depends_on: file
    when: steps.find.data.total > 0
    input:
      path: Log.md
      content: '{{steps.find.data.total}} filed: {{steps.find.data.rows.map(value.path).join(", ")}}'
  - id: never
    tool: delete
    when: steps.find.data.total > 5
    input: {path: Log.md}
"#;

/// The same steps in a file outside the vault.
fn file(home: &Home, name: &str, text: &str) -> String {
    let path = home.path("elsewhere").join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn run(home: &Home, vault: &Path, arguments: &[&str]) -> Run {
    home.run_in(vault, &[&["workflow"], arguments].concat())
}

fn report(home: &Home, vault: &Path, arguments: &[&str], code: i32) -> Value {
    home.run_in(vault, &[&["--json", "workflow"], arguments].concat()).expect(code).json()
}

/// Each step with its state.
fn states(report: &Value) -> Vec<(String, String)> {
    let steps = report["steps"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    steps
        .map(|step| {
            let item = step["item"].as_u64().map(|item| format!("[{item}]")).unwrap_or_default();
            (text(&step["step"]) + &item, text(&step["state"]))
        })
        .collect()
}

fn expect_states(report: &Value, expected: &[(&str, &str)]) {
    let found = states(report);
    let found: Vec<_> = found.iter().map(|(step, state)| (step.as_str(), state.as_str())).collect();
    assert_eq!(found, expected, "{report:#}");
}

/// Every file of a vault with its text.
fn files(vault: &Path) -> Vec<(String, String)> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.ends_with(".obsidian") || path.ends_with(".trash") => {}
                true => walk(root, &path, found),
                false => {
                    let name =
                        path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                    found.push((name, std::fs::read_to_string(&path).unwrap()));
                }
            }
        }
    }
    let mut found = Vec::new();
    walk(vault, vault, &mut found);
    found.sort();
    found
}

fn change_sets(home: &Home, vault: &Path) -> usize {
    let listed = home.run_in(vault, &["--json", "log"]).expect(0).json();
    listed["change_sets"].as_array().expect("change sets").len()
}

#[test]
fn a_dry_run_shows_what_applying_does() {
    for with_daemon in [false, true] {
        let home = Home::new();
        let vault = inbox(&home);
        let _daemon: Option<Daemon> = with_daemon.then(|| home.serve(&vault));
        let workflow = file(&home, "meetings.yaml", FILE_MEETINGS);
        let before = files(&vault);
        let shown = report(&home, &vault, &["run", &workflow], 0);
        expect_states(
            &shown,
            &[
                ("find", "done"),
                ("file[0]", "shown"),
                ("file[1]", "shown"),
                ("log", "shown"),
                ("never", "skipped"),
            ],
        );
        assert_eq!(shown["state"], "shown");
        assert_eq!(files(&vault), before, "a dry run changes nothing");
        let words = run(&home, &vault, &["run", &workflow]).expect(0).stdout;
        assert!(words.contains("+2 filed: Inbox/Ada.md, Inbox/Bob.md"), "{words}");
        assert!(
            words.ends_with("nothing was changed; run it again with `--apply` to do it\n"),
            "{words}"
        );
        assert_eq!(run(&home, &vault, &["list"]).expect(0).stdout, "no workflow was applied yet\n");

        let done = report(&home, &vault, &["run", &workflow, "--apply", "-i", "folder=Old"], 0);
        assert_eq!((&done["state"], &done["run"]), (&json!("done"), &json!(1)));
        expect_states(
            &done,
            &[
                ("find", "done"),
                ("file[0]", "done"),
                ("file[1]", "done"),
                ("log", "done"),
                ("never", "skipped"),
            ],
        );
        let names: Vec<String> = files(&vault).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            ["Inbox/List.md", "Log.md", "Old/Ada.md", "Old/Bob.md", "Projects/My Note.md"]
        );
        let listed = report(&home, &vault, &["list"], 0);
        assert_eq!(listed["runs"][0]["state"], "done");
        // Each change is its own change set, by the caller that started the workflow.
        assert_eq!(change_sets(&home, &vault), 3);
        for set in ["3", "2", "1"] {
            home.run_in(&vault, &["undo", set, "--yes"]).expect(0);
        }
        assert_eq!(files(&vault), before);
        let again = run(&home, &vault, &["resume", "1"]).expect(1);
        assert!(again.stderr.contains("run 1 is done, so there is nothing to resume"), "{again:?}");
        let none = run(&home, &vault, &["resume", "7"]).expect(1);
        assert!(none.stderr.contains("there is no workflow run 7"), "{none:?}");
    }
}

#[test]
fn what_cannot_work_is_refused_before_the_first_step() {
    let home = Home::new();
    let vault = inbox(&home);
    let before = files(&vault);
    let wrong = FILE_MEETINGS
        .replace("tool: delete", "tool: delte")
        .replace("depends_on: file", "depends_on: flie");
    let wrong = file(&home, "wrong.yaml", &wrong);
    // Checking a workflow needs no vault.
    let checked = home.run(&["workflow", "check", &wrong]).expect(1);
    assert!(
        checked.stdout.contains("wrong.yaml:18:17: error: there is no step `flie`"),
        "{checked:?}"
    );
    assert!(
        checked.stdout.contains("wrong.yaml:24:11: error: there is no tool `delte`"),
        "{checked:?}"
    );
    assert!(checked.stdout.contains("hint: did you mean `delete`?"), "{checked:?}");
    for _daemon in [None, Some(home.serve(&vault))] {
        let failed = run(&home, &vault, &["run", &wrong, "--apply"]).expect(1);
        assert!(
            failed.stderr.contains("there is no step `flie`")
                && failed.stderr.contains("line 18, column 17"),
            "{failed:?}"
        );
        let json = home.run_in(&vault, &["--json", "workflow", "run", &wrong]).expect(1).json();
        assert_eq!(
            (&json["code"], &json["data"]["errors"][1]["line"]),
            (&json!("invalid_workflow"), &json!(24))
        );
        assert_eq!(files(&vault), before);
    }
    let good = file(&home, "good.yaml", &FILE_MEETINGS.replace("folder: Meetings", "folder:"));
    assert!(
        home.run(&["workflow", "check", &good])
            .expect(0)
            .stdout
            .ends_with("4 steps, nothing wrong\n")
    );
    let missing = run(&home, &vault, &["run", &good]).expect(1);
    assert!(missing.stderr.contains("`file-meetings` needs the input `folder`"), "{missing:?}");
    let unknown = run(&home, &vault, &["run", &good, "-i", "fodler=x"]).expect(1);
    assert!(unknown.stderr.contains("has no input `fodler`; it has `folder`"), "{unknown:?}");
}

#[test]
fn a_step_that_fails_stops_the_rest_unless_it_says_otherwise() {
    let home = Home::new();
    let vault = inbox(&home);
    let text = |on_error: &str| {
        format!(
            "id: x\nsteps:\n  - id: read\n    tool: read_file\n    input: {{path: Nowhere.md}}\n    on_error: {on_error}\n  \
             - id: late\n    tool: search_files\n    timeout: 0.001ms\n    input: {{pattern: budget}}\n    on_error: continue\n  \
             - id: write\n    tool: write_file\n    depends_on: [read, late]\n    input:\n      path: New.md\n      \
             content: '{{{{steps.read.error.code}}}} {{{{steps.late.error.code}}}} {{{{steps.read.data == null}}}}'\n"
        )
    };
    let stops = file(&home, "stops.yaml", &text("stop"));
    let failed = report(&home, &vault, &["run", &stops, "--apply"], 1);
    assert_eq!(failed["state"], "failed");
    assert!(states(&failed).contains(&("read".to_owned(), "failed".to_owned())), "{failed}");
    assert!(states(&failed).contains(&("write".to_owned(), "not_run".to_owned())), "{failed}");
    assert!(!vault.join("New.md").exists());
    // A failed step is retried once it can succeed.
    std::fs::write(vault.join("Nowhere.md"), "here\n").unwrap();
    let resumed = report(&home, &vault, &["resume", "1"], 1);
    assert_eq!(
        resumed["steps"].as_array().unwrap().last().unwrap()["error"]["code"],
        "invalid_input",
        "{resumed}"
    );
    std::fs::remove_file(vault.join("Nowhere.md")).unwrap();

    let goes_on = file(&home, "goes-on.yaml", &text("continue"));
    let done = report(&home, &vault, &["run", &goes_on, "--apply"], 0);
    assert_eq!(done["state"], "done", "{done:#}");
    assert_eq!(std::fs::read_to_string(vault.join("New.md")).unwrap(), "not_found timeout true");
}

const ASK: &str = "id: tidy\nsteps:
  - id: sure
    ask: 'Delete {{inputs.note}}?'
    input: {choices: [yes, no]}
  - id: delete
    tool: delete
    when: steps.sure.data.answer == 'yes'
    input: {path: '{{inputs.note}}'}
inputs: {note: Inbox/List.md}
";

#[test]
fn a_question_waits_for_a_person_across_processes() {
    for with_daemon in [false, true] {
        let home = Home::new();
        home.write_config("[policy]\nmode = \"ask\"\n");
        let vault = inbox(&home);
        let _daemon: Option<Daemon> = with_daemon.then(|| home.serve(&vault));
        let workflow = file(&home, "ask.yaml", ASK);
        let shown = report(&home, &vault, &["run", &workflow], 0);
        expect_states(&shown, &[("sure", "unknown"), ("delete", "unknown")]);
        let waits = run(&home, &vault, &["run", &workflow, "--apply"]).expect(1).stdout;
        assert!(waits.contains("Delete Inbox/List.md?"), "{waits}");
        assert!(waits.contains("`steward workflow resume 1 --answer 'sure=yes'`"), "{waits}");
        let listed = report(&home, &vault, &["list"], 0);
        assert_eq!(
            (&listed["runs"][0]["state"], &listed["runs"][0]["waiting"]),
            (&json!("waiting"), &json!(["sure"]))
        );
        let wrong = run(&home, &vault, &["resume", "1", "--answer", "sure=maybe"]).expect(1);
        assert!(
            wrong.stderr.contains("answered with `yes` or `no`, not with `maybe`"),
            "{wrong:?}"
        );
        // A deletion needs its own approval, which is asked for too.
        let asked = report(&home, &vault, &["resume", "1", "--answer", "sure=yes"], 1);
        expect_states(&asked, &[("sure", "done"), ("delete", "waiting")]);
        assert_eq!(asked["steps"][1]["waits"]["approval"]["changes"][0]["path"], "Inbox/List.md");
        assert!(vault.join("Inbox/List.md").exists());
        let done = report(&home, &vault, &["resume", "1", "--answer", "delete=yes"], 0);
        assert_eq!(done["state"], "done");
        assert!(!vault.join("Inbox/List.md").exists());

        let refused = report(
            &home,
            &vault,
            &["run", &workflow, "--apply", "--answer", "sure=no", "-i", "note=Inbox/Ada.md"],
            0,
        );
        expect_states(&refused, &[("sure", "done"), ("delete", "skipped")]);
        assert!(vault.join("Inbox/Ada.md").exists());
    }
}

#[cfg(unix)]
#[test]
fn a_killed_run_is_resumed() {
    let home = Home::new();
    let vault = inbox(&home);
    // The program is killed in the middle of its third change, before any of it is done.
    let killer = home.path("elsewhere").join("killer.sh");
    std::fs::write(&killer, "kill -9 $PPID\n").unwrap();
    home.write_config(&format!(
        "[hooks.commands.killer]\ncommand = [\"/bin/sh\", \"{}\"]\non = [\"before_change\"]\ntools = [\"write_file\"]\n",
        killer.display()
    ));
    let workflow = file(&home, "meetings.yaml", FILE_MEETINGS);
    let killed = run(&home, &vault, &["run", &workflow, "--apply", "--direct"]);
    assert_eq!((killed.code, killed.stdout.as_str()), (-1, ""), "{killed:?}");
    assert!(vault.join("Meetings/Bob.md").exists() && !vault.join("Log.md").exists());
    home.write_config("");
    let _daemon = home.serve(&vault);
    assert_eq!(report(&home, &vault, &["list"], 0)["runs"][0]["state"], "interrupted");
    let done = report(&home, &vault, &["resume", "1"], 0);
    assert_eq!(done["state"], "done", "{done:#}");
    let log = std::fs::read_to_string(vault.join("Log.md")).unwrap();
    assert_eq!(
        log, "2 filed: Inbox/Ada.md, Inbox/Bob.md",
        "what was found before the crash is used"
    );
    assert_eq!(change_sets(&home, &vault), 3, "no change is made twice");
}

#[cfg(unix)]
#[test]
fn a_hook_may_refuse_a_step() {
    let home = Home::new();
    let vault = inbox(&home);
    let guard = home.path("elsewhere").join("guard.sh");
    std::fs::write(&guard, "grep -q '\"step\":\"log\"' && echo '{\"decision\": \"refuse\", \"reason\": \"no logs here\"}'; exit 0\n").unwrap();
    home.write_config(&format!(
        "[hooks.commands.guard]\ncommand = [\"/bin/sh\", \"{}\"]\non = [\"before_step\"]\n",
        guard.display()
    ));
    let workflow = file(&home, "meetings.yaml", FILE_MEETINGS);
    let failed = report(&home, &vault, &["run", &workflow, "--apply"], 1);
    let log =
        failed["steps"].as_array().unwrap().iter().find(|step| step["step"] == "log").unwrap();
    assert_eq!(log["error"]["code"], "denied", "{failed:#}");
    assert!(log["error"]["message"].as_str().unwrap().contains("no logs here"), "{failed:#}");
    assert!(vault.join("Meetings/Bob.md").exists() && !vault.join("Log.md").exists());
}

#[test]
fn a_change_whose_end_was_not_recorded_is_found_in_the_journal() {
    let home = Home::new();
    let vault = inbox(&home);
    let workflow = file(&home, "meetings.yaml", FILE_MEETINGS);
    report(&home, &vault, &["run", &workflow, "--apply"], 0);
    let after = files(&vault);
    // The state that a crash leaves between the journal's commit and the step's.
    let database = rusqlite::Connection::open(home.state().join("state.db")).unwrap();
    database
        .execute_batch(
            "UPDATE workflow_step SET state = 'begun', outcome = NULL WHERE step = 'log' OR step = 'file' AND item = 1;
             UPDATE workflow_run SET state = 'running', ended = NULL;",
        )
        .unwrap();
    drop(database);
    let done = report(&home, &vault, &["resume", "1"], 0);
    expect_states(
        &done,
        &[
            ("find", "done"),
            ("file[0]", "done"),
            ("file[1]", "done"),
            ("log", "done"),
            ("never", "skipped"),
        ],
    );
    assert_eq!(done["steps"][3]["data"], json!({ "change_set": 3 }));
    assert_eq!((files(&vault), change_sets(&home, &vault)), (after, 3));
}

#[test]
fn a_recording_is_replayed_without_a_vault() {
    let home = Home::new();
    let vault = inbox(&home);
    let workflow = file(&home, "meetings.yaml", FILE_MEETINGS);
    let tape = home.path("elsewhere").join("tape");
    let tape = tape.to_str().unwrap();
    let recorded = report(&home, &vault, &["run", &workflow, "--apply", "--record", tape], 0);
    let twice = run(&home, &vault, &["run", &workflow, "--record", tape]).expect(1);
    assert!(twice.stderr.contains("has a recording already"), "{twice:?}");
    std::fs::remove_dir_all(&vault).unwrap();
    let replay = |workflow: &str, code: i32| {
        home.run(&["--json", "workflow", "run", workflow, "--replay", tape]).expect(code).json()
    };
    let replayed = replay(&workflow, 0);
    assert_eq!(replayed["steps"], recorded["steps"]);
    let other = file(&home, "other.yaml", &FILE_MEETINGS.replace(" filed: ", " moved: "));
    let failed = replay(&other, 1);
    assert_eq!(failed["steps"][3]["error"]["code"], "not_recorded", "{failed:#}");
    assert!(vault.metadata().is_err(), "nothing is run");
}

#[test]
fn the_manuals_example_runs_and_fits_its_recording() {
    let page = include_str!("../../docs/workflows.md").replace("\r\n", "\n");
    let (_, example) = page.split_once("```yaml\n").expect("an example");
    let (example, _) = example.split_once("```").expect("its end");
    let home = Home::new();
    let vault = inbox(&home);
    let workflow = file(&home, "meetings.yaml", example);
    let tape = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/workflows/file-meetings");
    let tape = tape.to_str().unwrap();
    let replayed =
        home.run(&["--json", "workflow", "run", &workflow, "--replay", tape]).expect(0).json();
    expect_states(
        &replayed,
        &[("find", "done"), ("file[0]", "done"), ("file[1]", "done"), ("log", "done")],
    );
    report(&home, &vault, &["run", &workflow, "--apply"], 0);
    assert!(vault.join("Meetings/Ada.md").exists());
}

#[test]
fn rules_make_a_plan_that_a_later_step_applies() {
    let home = Home::new();
    let vault = inbox(&home);
    let before = files(&vault);
    let text = "id: sort\nsteps:\n  - id: plan\n    rules:\n      - name: Meetings\n        when: file.hasTag(\"meeting\")\n        \
                do:\n          - move: 'Meetings/{{file.ctime.format(\"YYYY\")}}'\n  - id: apply\n    tool: apply_plan\n    \
                input: {plan: '{{steps.plan.data.plan}}', identity: '{{steps.plan.data.identity}}'}\n";
    let workflow = file(&home, "sort.yaml", text);
    let shown = report(&home, &vault, &["run", &workflow], 0);
    expect_states(&shown, &[("plan", "done"), ("apply", "shown")]);
    assert_eq!(files(&vault), before);
    let done = report(&home, &vault, &["run", &workflow, "--apply", "--yes"], 0);
    assert_eq!(
        (&done["state"], &done["steps"][0]["data"]["items"]),
        (&json!("done"), &json!(2)),
        "{done:#}"
    );
    assert!(!vault.join("Inbox/Ada.md").exists() && vault.join("Inbox/List.md").exists());
    // The turn of the step does not show whether a plan was applied: a person has to say.
    let database = rusqlite::Connection::open(home.state().join("state.db")).unwrap();
    let begun = "UPDATE workflow_step SET state = 'begun', outcome = NULL WHERE step = 'apply';
                 UPDATE workflow_run SET state = 'running', ended = NULL;";
    database.execute_batch(begun).unwrap();
    drop(database);
    let asked = report(&home, &vault, &["resume", "1"], 1);
    assert_eq!(
        (&asked["state"], &asked["steps"][1]["waits"]["choices"]),
        (&json!("waiting"), &json!(["done", "again"]))
    );
    assert_eq!(report(&home, &vault, &["list"], 0)["runs"][0]["waiting"], json!(["apply"]));
    report(&home, &vault, &["resume", "1", "--answer", "apply=done"], 0);
    let wrong = file(&home, "wrong.yaml", &text.replace("move:", "mvoe:"));
    let checked = home.run(&["workflow", "check", &wrong]).expect(1);
    assert!(checked.stdout.contains("wrong.yaml:5:"), "{checked:?}");
}

#[test]
fn a_model_is_asked_without_tools() {
    let home = Home::new();
    let vault = inbox(&home);
    let server = Server::start(vec![says(WIRE, "```json\n{\"topic\": \"money\"}\n```")]);
    home.write_config(&format!(
        "[models]\nchain = [\"work/m\"]\nretries = 1\nmax_wait_seconds = 1\n[models.providers.work]\nwire = \"chat\"\n\
         base_url = \"{}\"\nkey = \"optional\"\n[models.facts.m]\nwindow = 100000\n",
        server.url
    ));
    let workflow = file(
        &home,
        "model.yaml",
        "id: topic\nsteps:\n  - {id: read, tool: read_file, input: {path: Inbox/Bob.md}}\n  \
         - id: topic\n    model: What is it about? Answer with JSON, one key `topic`.\n    \
         input: '{{steps.read.data.content}}'\n    timeout: 1m\n  \
         - id: set\n    tool: set_properties\n    input:\n      path: Inbox/Bob.md\n      \
         set: {topic: '{{steps.topic.data.json.topic}}'}\n",
    );
    let shown = report(&home, &vault, &["run", &workflow], 0);
    expect_states(&shown, &[("read", "done"), ("topic", "unknown"), ("set", "unknown")]);
    assert!(server.requests().is_empty(), "a dry run asks no model");
    let done = report(&home, &vault, &["run", &workflow, "--apply"], 0);
    assert_eq!(done["state"], "done", "{done:#}");
    assert!(std::fs::read_to_string(vault.join("Inbox/Bob.md")).unwrap().contains("topic: money"));
    let usage = home.run_in(&vault, &["--json", "usage"]).expect(0).json();
    assert!(usage.to_string().contains("work/m"), "it is counted: {usage}");
    let asked: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
    assert!(asked["tools"].as_array().is_none_or(Vec::is_empty), "{asked}");
    assert!(
        asked.to_string().contains("<input>") && asked.to_string().contains("budget"),
        "{asked}"
    );
}

#[test]
fn clients_receive_a_workflows_progress() {
    let home = Home::new();
    let vault = inbox(&home);
    let daemon = home.serve(&vault);
    let mut client = client(&home, &vault, &daemon);
    client.call("_vault/subscribe", json!({}));
    let id = client.ask("_vault/workflow/run", json!({"text": FILE_MEETINGS, "apply": true}));
    let mut heard = Vec::new();
    while heard.last().is_none_or(|message: &Value| message["id"] != id) {
        heard.push(client.read());
    }
    assert_eq!(heard.last().unwrap()["result"]["state"], "done", "{heard:?}");
    let states: Vec<(String, String)> = heard
        .iter()
        .filter(|message| message["method"] == "_vault/workflow")
        .map(|message| {
            let params = &message["params"];
            let text = |name: &str| params[name].as_str().unwrap().to_owned();
            assert_eq!((&params["run"], &params["total"]), (&json!(1), &json!(4)));
            (text("step"), text("state"))
        })
        .collect();
    let expected =
        ["find", "file", "file", "log"].map(|step| [(step, "begun"), (step, "done")]).concat();
    let states: Vec<_> =
        states.iter().map(|(step, state)| (step.as_str(), state.as_str())).collect();
    assert_eq!(states, expected);
}
