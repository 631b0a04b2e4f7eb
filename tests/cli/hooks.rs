//! Hooks with the real, confined daemon, and the examples of docs/hooks.md.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::door::Client;
use crate::manual::{python, set_up};
use crate::policy::Ground;
use crate::support::{Home, write_program};

/// A hook that is a shell script.
fn script(home: &Home, name: &str, settings: &str, script: &str) -> String {
    let file = home.path("elsewhere").join(name);
    std::fs::write(&file, script).unwrap();
    format!(
        "[hooks.commands.{name}]\ncommand = [\"/bin/sh\", \"{}\"]\n{settings}\n",
        file.display()
    )
}

fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let answer = client.call("tools/call", json!({"name": tool, "arguments": arguments}));
    answer["result"].clone()
}

fn refused_by_hook(result: &Value) -> bool {
    result["isError"] == true && result["structuredContent"]["data"]["layer"] == "hooks"
}

/// Waits for the effect of a hook that runs in the background.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < patience, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_archive_example_protects_its_folder_under_any_path() {
    let Some(python) = python("the_archive_of_the_manual_stays_as_it_is") else { return };
    let ground = Ground::with(|home, vault| {
        std::fs::create_dir_all(vault.join("Archive/Deep")).unwrap();
        std::fs::write(vault.join("Archive/Deep/old.md"), "old\n").unwrap();
        std::fs::write(vault.join("out.md"), "[[old]]\n").unwrap();
        std::os::unix::fs::symlink("Archive", vault.join("way")).unwrap();
        set_up(home, "An archive that never changes", "archive.py", &python);
    });
    let (mut agent, mut person) = (ground.client("client", false), ground.client("person", false));
    let patch = "--- a/Archive/Deep/old.md\n+++ b/Archive/Deep/old.md\n@@ -1 +1 @@\n-old\n+new\n";
    for (tool, arguments) in [
        ("write_file", json!({"path": "archive/new.md", "content": "x"})),
        ("write_file", json!({"path": "./ARCHIVE//Deep/old", "content": "x"})),
        ("write_file", json!({"path": "way/new.md", "content": "x"})),
        ("edit_file", json!({"path": "way/Deep/old", "old_text": "old", "new_text": "x"})),
        ("apply_patch", json!({"patch": patch})),
        ("create_folder", json!({"path": "Archive/More"})),
        ("move", json!({"source": "out.md", "destination": "Archive/out.md"})),
        ("move", json!({"source": "Archive/Deep/old.md", "destination": "x.md"})),
        ("move", json!({"source": "Archive", "destination": "Projects/Archive"})),
        ("delete", json!({"path": "archive"})),
        ("delete", json!({"path": "way/Deep/old.md"})),
        ("set_properties", json!({"path": "Archive/Deep/old.md", "set": {"x": 1}})),
    ] {
        for client in [&mut agent, &mut person] {
            let result = call(client, tool, arguments.clone());
            assert!(refused_by_hook(&result), "{tool} {arguments}: {result}");
            let said = result["structuredContent"]["message"].as_str().unwrap();
            assert!(
                said.contains("the hook `archive` refuses: `archive` stays as it is"),
                "{said}"
            );
        }
    }
    let text = std::fs::read_to_string(ground.vault.join("Archive/Deep/old.md")).unwrap();
    assert_eq!(text, "old\n");
    let steward = |arguments: &[&str]| ground.home.run_in(&ground.vault, arguments);
    let write = ["call", "write_file", "--path", "Archive/a.md", "--content", "x", "--json"];
    for more in [&["--yes"][..], &["--dry-run"]] {
        let run = steward(&[&write[..], more].concat()).expect(1);
        assert_eq!(run.json()["data"]["layer"], "hooks", "{run:?}");
    }
    assert_eq!(
        call(&mut agent, "read_file", json!({"path": "archive/Deep/old"}))["isError"],
        false
    );
    let fine = json!({"path": "Archived.md", "content": "x"});
    assert_eq!(call(&mut agent, "write_file", fine)["isError"], false);
    let audit = steward(&["audit", "--decision", "refused"]).expect(0).stdout;
    assert!(audit.contains("[hooks: the hook `archive` refuses"), "{audit}");

    // A hook whose program is gone also refuses, and that is reported.
    std::fs::remove_file(ground.home.path("home/.config/vault-steward/hooks/archive.py")).unwrap();
    let result = call(&mut agent, "write_file", json!({"path": "n.md", "content": "x"}));
    assert!(refused_by_hook(&result), "{result}");
    assert!(steward(&["status"]).expect(0).stdout.contains("the hook `archive` failed"));
    // Without a daemon the same holds.
    drop(ground.daemon);
    let run = ground.home.run_in(&ground.vault, &write).expect(1);
    assert_eq!(run.json()["data"]["layer"], "hooks", "{run:?}");
}

fn git(vault: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]);
    let done = command.arg("-C").arg(vault).args(arguments).output().unwrap();
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_commit_of_the_manual_is_made_and_the_repository_runs_nothing() {
    let test = "the_commit_of_the_manual_is_made";
    let Some(python) = python(test) else { return };
    if !crate::machine::has_program("git", test) {
        return;
    }
    let trap: std::cell::RefCell<PathBuf> = PathBuf::new().into();
    let ground = Ground::with(|home, vault| {
        set_up(home, "A commit after each turn", "commit.py", &python);
        // The event after a turn is tested with the agent; here the hook runs after each change.
        let settings = std::fs::read_to_string(home.config_file()).unwrap();
        home.write_config(&settings.replace("\"turn_ended\"", "\"change_applied\""));
        git(vault, &["init", "--quiet", "--initial-branch", "main"]);
        // Every program that a repository can contain and a commit could run.
        *trap.borrow_mut() = vault.join(".git/trap");
        let evil = vault.join(".git/evil.sh");
        let text = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", trap.borrow().display());
        write_program(&evil, &text);
        for hook in ["pre-commit", "commit-msg", "post-commit", "reference-transaction"] {
            std::fs::copy(&evil, vault.join(".git/hooks").join(hook)).unwrap();
        }
        let evil = evil.to_str().unwrap();
        for (key, value) in [
            ("core.fsmonitor", evil),
            ("filter.evil.clean", evil),
            ("filter.evil.process", evil),
            ("gpg.program", evil),
            ("commit.gpgSign", "true"),
            ("core.editor", evil),
            ("diff.external", evil),
        ] {
            git(vault, &["config", key, value]);
        }
        std::fs::write(vault.join(".gitattributes"), "* filter=evil diff=evil\n").unwrap();
    });
    let mut agent = ground.client("client", false);
    let log = || git(&ground.vault, &["log", "--format=%s", "main"]);
    let first = json!({"path": "First Note.md", "content": "one\n"});
    assert_eq!(call(&mut agent, "write_file", first)["isError"], false);
    until("the first commit is there", || !log().is_empty());
    assert!(log().contains("First Note.md"), "{}", log());
    let edit = json!({"path": "First Note.md", "old_text": "one", "new_text": "two"});
    assert_eq!(call(&mut agent, "edit_file", edit)["isError"], false);
    until("the second commit is there", || log().lines().count() == 2);
    assert_eq!(git(&ground.vault, &["show", "main:First Note.md"]), "two");
    assert_eq!(git(&ground.vault, &["show", "main~1:First Note.md"]), "one");
    let trap = trap.into_inner();
    let ran = std::fs::read_to_string(&trap).unwrap_or_default();
    assert_eq!(ran, "", "programs of the repository ran");
    let status = ground.home.run_in(&ground.vault, &["status"]).expect(0).stdout;
    assert!(!status.contains("failed"), "{status}");
    // The trap works: git itself falls into it.
    let plain = Command::new("git").arg("-C").arg(&ground.vault).arg("status").output();
    plain.unwrap();
    assert!(trap.exists(), "the repository would run programs");
}

#[test]
fn the_notification_of_the_manual_is_posted() {
    let Some(python) = python("the_notification_of_the_manual_is_posted") else { return };
    if cfg!(target_os = "macos") {
        return;
    }
    let home = Home::new();
    let vault = home.vault("Notes");
    set_up(&home, "A notification on the desktop", "notify.py", &python);
    // A program that records its input takes its place.
    let settings = std::fs::read_to_string(home.config_file()).unwrap();
    home.write_config(&settings.replace("environment = [", "environment = [\"PATH\", "));
    let program = home.path("elsewhere/notify-send");
    write_program(&program, "#!/bin/sh\nprintf '%s|' \"$@\" > \"$TMPDIR/posted\"\n");
    let mut command = home.steward(&["call", "create_folder", "--path", "New", "--vault"]);
    let path = format!("{}:/usr/bin:/bin", home.path("elsewhere").display());
    let run = command.arg(&vault).env("PATH", path).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    // Without a daemon it has ended when the call ends.
    let posted = std::fs::read_to_string(home.state().join("hooks/posted")).unwrap();
    let expected = "--app-name=Vault Steward|--|Vault Steward|create the folder `New` (steward)|";
    assert_eq!(posted, expected);
}

#[test]
fn hooks_change_live_and_by_a_person_alone() {
    let ground = Ground::with(|_, _| ());
    let mut agent = ground.client("client", false);
    agent.call("_vault/subscribe", json!({}));
    let write = || json!({"path": "n.md", "content": "x"});
    assert_eq!(call(&mut agent, "write_file", write())["isError"], false);
    let evil = json!({"evil": {"on": ["before_change"], "command": ["/bin/true"]}});
    for scope in ["client", "person"] {
        let mut client = ground.client(scope, false);
        let set = json!({"key": "hooks.commands", "value": evil});
        let answer = client.call("_vault/settings/set", set);
        assert!(!answer["error"].is_null(), "{scope}: {answer}");
    }
    let no = r#"echo '{"decision":"refuse","reason":"closed"}'"#;
    let both = "on = [\"before_tool_call\"]\ntools = [\"write_file\"]";
    ground.home.write_config(&script(&ground.home, "closed", both, no));
    while agent.read()["method"] != "_vault/config_reloaded" {}
    assert!(refused_by_hook(&call(&mut agent, "write_file", write())));
    assert_eq!(call(&mut agent, "create_folder", json!({"path": "Folder"}))["isError"], false);
    // Its error is reported with its position, and the previous hooks stay in effect.
    let wrong =
        script(&ground.home, "closed", "on = [\"before_change\"]\ntools = [\"writ_file\"]", no);
    ground.home.write_config(&wrong);
    let news = loop {
        let message = agent.read();
        if message["method"] == "_vault/config_rejected" {
            break message["params"].clone();
        }
    };
    assert!(news["message"].as_str().unwrap().contains("there is no tool `writ_file`"), "{news}");
    assert!(news["hint"].as_str().unwrap().contains("write_file"), "{news}");
    assert!(refused_by_hook(&call(&mut agent, "write_file", write())));
}

#[test]
fn a_hooks_own_calls_cause_no_events() {
    let ground = Ground::with(|home, vault| {
        let steward = env!("CARGO_BIN_EXE_steward");
        let text = format!(
            "cat >> \"$TMPDIR/heard\"\n'{steward}' call daily_note --append heard --vault '{}'",
            vault.display()
        );
        let on = "on = [\"change_applied\", \"after_tool_call\"]\nseconds = 30";
        // Confined, it could reach the daemon on a port that was known at the start.
        let security = "[security]\nlandlock = false\n";
        home.write_config(&format!("{security}{}", script(home, "diary", on, &text)));
    });
    let mut agent = ground.client("client", false);
    let write = json!({"path": "n.md", "content": "x"});
    assert_eq!(call(&mut agent, "write_file", write)["isError"], false);
    let said = || ground.home.run_in(&ground.vault, &["audit", "--json"]).expect(0).json();
    let by_hook = |said: &Value| {
        let calls = said["calls"].as_array().unwrap().iter();
        calls.filter(|call| call["caller"] == "hook diary").count()
    };
    until("the hook has written twice", || by_hook(&said()) == 2);
    let calls = said();
    let last = calls["calls"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["outcome"], &last["scope"]), (&json!("ok"), &json!("person")), "{calls}");
    // No other program is exempt by using that name.
    let heard = || std::fs::read_to_string(ground.home.state().join("hooks/heard")).unwrap();
    assert_eq!(heard().lines().count(), 2, "{}", heard());
    let token = ground.home.run_in(&ground.vault, &["token", "--scope", "client"]).expect(0).stdout;
    let port = ground.daemon.port();
    let mut liar = Client::connect(port, token.trim_end()).unwrap();
    let hello = json!({"protocolVersion": 1, "clientInfo": {"name": "hook diary"}});
    liar.call("initialize", hello);
    call(&mut liar, "create_folder", json!({"path": "Liar"}));
    until("the liar is heard of", || heard().lines().count() == 4);
}

#[cfg(target_os = "linux")]
#[test]
fn a_hook_is_confined_as_the_daemon_is() {
    use vault_steward::daemon::confine;
    use vault_steward::protocol::status::ConfinementState;
    if confine::possible().state == ConfinementState::NotPossible {
        crate::machine::missing("a_hook_is_confined_as_the_daemon_is", "Landlock");
        return;
    }
    let outside: std::cell::RefCell<PathBuf> = PathBuf::new().into();
    let ground = Ground::with(|home, _| {
        *outside.borrow_mut() = home.path("elsewhere/written");
        let text =
            format!("echo x > \"$TMPDIR/inside\" && echo x > '{}'", outside.borrow().display());
        let on = "on = [\"before_change\"]\ncritical = true";
        home.write_config(&script(home, "write", on, &text));
    });
    let mut agent = ground.client("client", false);
    let result = call(&mut agent, "create_folder", json!({"path": "New"}));
    assert!(refused_by_hook(&result), "{result}");
    assert!(ground.home.state().join("hooks/inside").exists());
    assert!(!outside.into_inner().exists());
}
