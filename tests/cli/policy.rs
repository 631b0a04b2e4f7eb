//! Permissions: approval requests and answers over real sockets and on the command line.

use serde_json::{Value, json};

use crate::door::Client;
use crate::support::{Daemon, Home};

/// A vault with a daemon that serves it.
pub struct Ground {
    pub home: Home,
    pub vault: std::path::PathBuf,
    pub daemon: Daemon,
}

impl Ground {
    fn new() -> Self {
        Self::with(|_, _| ())
    }

    /// The same, after `prepare` has prepared the home and the vault.
    pub fn with(prepare: impl FnOnce(&Home, &std::path::Path)) -> Self {
        let home = Home::new();
        let vault = home.vault("Notes");
        std::fs::write(vault.join(".obsidian/app.json"), r#"{"trashOption": "local"}"#).unwrap();
        for path in ["Old/a.md", "Old/b.md", "Inbox/x.md"] {
            std::fs::create_dir_all(vault.join(path).parent().unwrap()).unwrap();
            std::fs::write(vault.join(path), "text\n").unwrap();
        }
        prepare(&home, &vault);
        let daemon = home.serve(&vault);
        Self { home, vault, daemon }
    }

    /// A client with the token for this kind of caller; `approvals`: whether it can show approval
    /// requests.
    pub fn client(&self, scope: &str, approvals: bool) -> Client {
        let run = self.home.run_in(&self.vault, &["token", "--scope", scope]);
        let token = run.expect(0).stdout;
        let port = self.daemon.port();
        let mut client = Client::connect(port, token.trim_end()).unwrap();
        let answer = client.call(
            "initialize",
            json!({
                "protocolVersion": 1,
                "clientInfo": {"name": format!("a {scope}")},
                "clientCapabilities": {"_meta": {"vault": {"approvals": approvals}}},
            }),
        );
        let ours = &answer["result"]["agentCapabilities"]["_meta"]["vault"];
        assert_eq!(ours["scope"], scope, "{answer}");
        client
    }
}

fn delete(path: &str) -> Value {
    json!({"name": "delete", "arguments": {"path": path}})
}

fn choose(id: &Value, option: &str) -> String {
    let outcome = json!({"outcome": "selected", "optionId": option});
    json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}}).to_string()
}

/// A tool's answer for programs.
fn error(answer: &Value) -> &Value {
    &answer["result"]["structuredContent"]
}

fn text<'a>(error: &'a Value, field: &str) -> &'a str {
    error[field].as_str().unwrap_or_default()
}

#[test]
fn the_first_answer_of_a_person_counts_and_nobody_elses() {
    let ground = Ground::new();
    let mut agent = ground.client("client", true);
    let mut first = ground.client("person", true);
    let mut second = ground.client("person", true);
    let mut silent = ground.client("person", false);
    let asked = agent.ask("tools/call", delete("Old"));
    let (question, same) = (first.read(), second.read());
    assert_eq!(question["method"], "session/request_permission", "{question}");
    assert_eq!(question, same);
    let vault_meta = &question["params"]["_meta"]["vault"];
    assert_eq!(vault_meta["caller"], "a client");
    assert_eq!(vault_meta["changes"][0]["path"], "Old");

    // An answer of a client that may not answer has no effect, nor does one that was not offered.
    agent.send(&choose(&question["id"], "allow_once"));
    silent.send(&choose(&question["id"], "allow_once"));
    second.send(&choose(&question["id"], "allow_everything"));
    // Waiting blocks no queue: another change is made in the meantime.
    let write = json!({"name": "write_file", "arguments": {"path": "New.md", "content": "x"}});
    let written = silent.call("tools/call", write);
    assert_eq!(written["result"]["isError"], false, "{written}");
    assert!(ground.vault.join("Old/a.md").exists());
    // A client that connects later also gets the request.
    let mut late = ground.client("person", true);
    assert_eq!(late.read()["id"], question["id"]);

    first.send(&choose(&question["id"], "reject_once"));
    let answer = agent.answer(asked);
    assert_eq!(answer["result"]["structuredContent"]["code"], "denied", "{answer}");
    assert!(ground.vault.join("Old/a.md").exists());
    for other in [&mut second, &mut late] {
        let event = other.read();
        assert_eq!(event["method"], "$/cancel_request", "{event}");
        assert_eq!(event["params"]["requestId"], question["id"]);
    }

    let asked = agent.ask("tools/call", delete("Old"));
    let question = first.read();
    second.read();
    second.send(&choose(&question["id"], "allow_once"));
    let answer = agent.answer(asked);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert!(!ground.vault.join("Old").exists());

    // A call that its caller cancels no longer asks anyone.
    std::fs::create_dir(ground.vault.join("Again")).unwrap();
    let asked = agent.ask("tools/call", delete("Again"));
    let ids: Vec<Value> = std::iter::repeat_with(|| first.read())
        .take(2)
        .map(|message| message["id"].clone())
        .collect();
    assert!(ids[0].is_null() && ids[1].is_string(), "the last question is over: {ids:?}");
    agent.send(
        &json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": asked}})
            .to_string(),
    );
    assert_eq!(agent.answer(asked)["error"]["data"]["kind"], "cancelled");
    assert_eq!(first.read()["method"], "$/cancel_request");
    assert!(ground.vault.join("Again").exists());
}

#[test]
fn only_a_persons_programs_may_change_what_may_run() {
    let ground = Ground::new();
    for scope in ["client", "mcp", "voice"] {
        let mut client = ground.client(scope, false);
        for (method, params) in [
            ("_vault/mode", json!({"mode": "auto"})),
            ("_vault/approvals", json!({})),
            ("_vault/approvals/pending", json!({})),
            ("_vault/approvals/answer", json!({"id": 1, "optionId": "allow_once"})),
            ("_vault/audit", json!({})),
            ("_vault/trash/empty", json!({})),
            ("_vault/journal/gc", json!({})),
        ] {
            let answer = client.call(method, params);
            assert_eq!(answer["error"]["data"]["kind"], "forbidden", "{scope} {method}: {answer}");
        }
        let mut call = delete("Old");
        call["_meta"] = json!({"vault": {"confirmed": true}});
        let answer = client.call("tools/call", call);
        assert_eq!(answer["result"]["structuredContent"]["data"]["layer"], "permission");
    }
    assert!(ground.vault.join("Old/a.md").exists());
}

#[test]
fn settings_are_set_by_a_persons_own_programs_alone() {
    let ground = Ground::new();
    for (key, value) in [
        ("agent.information_architecture", json!("People go to `People/`.")),
        ("conversation.kept", json!(500)),
        ("journal.days", json!(60)),
        ("server.max_connections", json!(64)),
        ("agent.tokens", json!(1_000_000)),
        ("log.level", json!("debug")),
    ] {
        for scope in ["client", "mcp", "voice", "person"] {
            let mut client = ground.client(scope, false);
            let all = client.call("_vault/settings/get", json!({}))["result"]["settings"].take();
            let shown = all.as_array().unwrap().iter().find(|one| one["key"] == key).unwrap();
            assert_eq!(shown["settable"], scope == "person", "{scope}: {shown}");
            let set = json!({"key": key, "value": value});
            let answer = client.call("_vault/settings/set", set);
            match scope {
                "person" => assert_eq!(answer["result"]["changed"], json!([key]), "{answer}"),
                _ => assert_eq!(answer["error"]["data"]["kind"], "forbidden", "{answer}"),
            }
        }
    }
}

#[test]
fn on_the_command_line_a_person_agrees_looks_and_changes_the_mode() {
    let ground = Ground::new();
    let steward = |arguments: &[&str]| ground.home.run_in(&ground.vault, arguments);
    for direct in [&["--direct"][..], &[]] {
        let call = |more: &[&str]| {
            let arguments = [&["call", "delete", "--path", "old", "--json"][..], more, direct];
            let run = steward(&arguments.concat());
            if direct.is_empty() { Some(run) } else { (run.code != 3).then_some(run) }
        };
        if let Some(run) = call(&["--dry-run"]) {
            assert_eq!(run.expect(0).json()["dryRun"], true);
        }
        if let Some(run) = call(&[]) {
            assert_eq!(run.expect(1).json()["code"], "approval_needed");
        }
        assert!(ground.vault.join("Old/a.md").exists());
    }
    assert_eq!(steward(&["mode", "read-only", "--json"]).expect(0).json()["mode"], "read-only");
    let run = steward(&["call", "delete", "--path", "old", "--yes", "--json"]).expect(1);
    assert_eq!(run.json()["data"]["layer"], "paths");
    let run = steward(&["trash", "empty", "--older-than", "29", "--yes"]).expect(1);
    assert!(run.stderr.contains("less than 30 days ago"), "{run:?}");
    steward(&["trash", "empty", "--yes"]).expect(0);
    assert!(steward(&["mode"]).expect(0).stdout.starts_with("read-only (set"));
    let status = steward(&["status"]).expect(0).stdout;
    assert!(status.contains("mode      read-only, set by `steward mode`"), "{status}");
    steward(&["mode", "settings"]).expect(0);
    steward(&["call", "delete", "--path", "old", "--yes"]).expect(0);
    assert!(!ground.vault.join("Old").exists());

    let audit = steward(&["audit", "--tool", "delete", "--json"]).expect(0).json();
    let calls = audit["calls"].as_array().unwrap();
    let last = calls.last().unwrap();
    assert_eq!((&last["decision"], &last["outcome"]), (&json!("allowed"), &json!("ok")));
    assert_eq!(last["paths"], json!(["Old"]));
    assert!(calls.iter().any(|call| call["layer"] == "paths" && call["decision"] == "refused"));
    assert!(steward(&["audit", "--decision", "dry_run"]).expect(0).stdout.contains("delete"));

    // A permanent approval: given, listed, revoked.
    steward(&["mode", "ask"]).expect(0);
    let (mut agent, mut person) = (ground.client("client", false), ground.client("person", true));
    let write = json!({"name": "write_file", "arguments": {"path": "Inbox/n.md", "content": "x"}});
    let asked = agent.ask("tools/call", write.clone());
    let question = person.read();
    assert_eq!(question["params"]["options"][1]["optionId"], "allow_always", "{question}");
    person.send(&choose(&question["id"], "allow_always"));
    assert_eq!(agent.answer(asked)["result"]["isError"], false);
    assert_eq!(agent.call("tools/call", write)["result"]["isError"], false, "not asked again");
    let listed = steward(&["approvals", "list", "--json"]).expect(0).json();
    assert_eq!(listed["approvals"][0]["folder"], "Inbox");
    let id = listed["approvals"][0]["id"].to_string();
    steward(&["approvals", "revoke", &id]).expect(0);
    steward(&["approvals", "revoke", &id]).expect(1);
    assert!(steward(&["approvals", "list"]).expect(0).stdout.contains("no \"always allow\""));
}

#[test]
fn all_of_a_long_question_is_read_in_parts() {
    let ground = Ground::new();
    let lines = |name: &str| -> Vec<String> {
        (1..=700).map(|line| format!("+{name}, line {line} of a long note")).collect()
    };
    let (mut first, mut second) = (lines("first"), lines("second"));
    first[650] = "+![](https://example.com/first.png)".to_owned();
    second[699] = "+![](https://example.com/second.png)".to_owned();
    let file = |path: &str, lines: &[String]| {
        format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,700 @@\n{}\n", lines.join("\n"))
    };
    let patch = file("Inbox/first.md", &first) + &file("Inbox/second.md", &second);
    let mut agent = ground.client("client", false);
    let call = json!({"name": "apply_patch", "arguments": {"patch": patch}});
    let waits = agent.call("tools/call", call);
    let number = error(&waits)["data"]["question"].clone();
    assert_eq!(error(&waits)["code"], "approval_pending", "{waits}");

    let mut person = ground.client("person", false);
    let (mut shown, mut parts) = (String::new(), 0);
    let mut params = json!({"question": number});
    loop {
        let answer = person.call("_vault/diff", params)["result"].clone();
        parts += 1;
        assert_eq!(answer["total"], 2, "{answer}");
        for change in answer["changes"].as_array().unwrap() {
            assert_eq!((&change["added"], &change["removed"]), (&json!(700), &json!(0)));
            shown.push_str(text(change, "diff"));
        }
        if answer.get("next").is_none_or(Value::is_null) {
            break;
        }
        params = json!({"question": number, "first": answer["next"], "line": answer["nextLine"]});
    }
    assert!(parts > 2, "{parts}");
    let added = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(added(&shown), [first.clone(), second.clone()].concat(), "each line once");

    let number = number.to_string();
    let shown = ground.home.run_in(&ground.vault, &["approvals", "pending", &number]).expect(0);
    let lines: Vec<&str> = shown.stdout.lines().map(str::trim_start).collect();
    assert_eq!(added(&lines.join("\n")), [first, second].concat(), "on the command line, too");
    for place in ["`Inbox/first.md`, line 651", "`Inbox/second.md`, line 700"] {
        assert!(shown.stdout.contains(place), "{place}: {}", shown.stdout);
    }
    let none = person.call("_vault/diff", json!({"question": 999}));
    assert_eq!(none["error"]["data"]["kind"], "not_found", "{none}");
}

#[test]
fn a_late_yes_admits_the_identical_call_once() {
    let ground = Ground::new();
    let steward = |arguments: &[&str]| ground.home.run_in(&ground.vault, arguments);
    let mut agent = ground.client("client", false);
    let waits = agent.call("tools/call", delete("Old"));
    assert_eq!(error(&waits)["code"], "approval_pending", "nobody to ask: {waits}");
    assert!(
        text(error(&waits), "message").contains("waits 10 minutes for one: delete `Old`"),
        "{waits}"
    );
    let number = error(&waits)["data"]["question"].to_string();
    let same = agent.call("tools/call", delete("Old"));
    assert_eq!(error(&same)["data"]["question"].to_string(), number, "the same question: {same}");

    let listed = steward(&["approvals", "pending", "--json"]).expect(0).json();
    let one = &listed["pending"][0];
    assert_eq!(listed["pending"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!((&one["title"], &one["caller"]), (&json!("delete `Old`"), &json!("a client")));
    assert_eq!((&one["shown"], &one["waits"]), (&json!(false), &json!(false)));
    let shown = steward(&["approvals", "pending", &number]).expect(0).stdout;
    assert!(shown.contains("asked because it deletes the folder `Old` with 2 files"), "{shown}");
    // A client that connects later gets it.
    let mut person = ground.client("person", true);
    let question = person.read();
    assert_eq!(question["id"], format!("permission-{number}"), "{question}");
    let allowed = steward(&["approvals", "allow", &number]).expect(0).stdout;
    assert!(allowed.contains("allowed: delete `Old`; its caller gets the answer"), "{allowed}");
    assert_eq!(person.read()["params"]["requestId"], question["id"]);
    assert!(steward(&["approvals", "allow", &number]).expect(1).stderr.contains("no question"));
    assert!(ground.vault.join("Old/a.md").exists(), "nothing is done by the yes itself");

    // It covers neither another caller nor another input.
    let mut other = ground.client("mcp", false);
    let others = other.ask("tools/call", delete("Old"));
    assert_eq!(person.read()["params"]["_meta"]["vault"]["scope"], "mcp");
    let another = agent.ask("tools/call", delete("Inbox"));
    let about_another = person.read();
    assert_eq!(about_another["params"]["toolCall"]["title"], "delete `Inbox`");
    assert!(ground.vault.join("Old/a.md").exists() && ground.vault.join("Inbox/x.md").exists());

    let done = agent.call("tools/call", delete("Old"));
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert!(!ground.vault.join("Old").exists());
    // It is valid once, even for an identical call.
    for path in ["Old/a.md", "Old/b.md"] {
        std::fs::create_dir_all(ground.vault.join("Old")).unwrap();
        std::fs::write(ground.vault.join(path), "text\n").unwrap();
    }
    let again = agent.ask("tools/call", delete("Old"));
    let question = person.read();
    assert_eq!(question["params"]["toolCall"]["title"], "delete `Old`", "{question}");

    // The caller gets the comment of a refusal: from a program, and from the command line.
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": "reject_once"},
        "_meta": {"vault": {"words": "no, only the old ones"}}});
    person.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": outcome}).to_string());
    let refused = agent.answer(again);
    assert_eq!(error(&refused)["code"], "denied");
    let said = text(error(&refused), "message");
    assert!(
        said.starts_with("a person refused it and said \"no, only the old ones\": delete"),
        "{said}"
    );
    let listed = steward(&["approvals", "pending", "--json"]).expect(0).json();
    let numbers: Vec<String> =
        listed["pending"].as_array().unwrap().iter().map(|one| one["id"].to_string()).collect();
    assert_eq!(listed["pending"][0]["waits"], true, "{listed}");
    steward(&["approvals", "deny", &numbers[0], "ask", "me", "first"]).expect(0);
    steward(&["approvals", "deny", &numbers[1]]).expect(0);
    let said = other.answer(others);
    assert!(text(error(&said), "message").contains("said \"ask me first\""), "{said}");
    let said = agent.answer(another);
    assert!(text(error(&said), "message").starts_with("a person refused it: "), "{said}");
    assert!(steward(&["approvals", "pending"]).expect(0).stdout.contains("nothing waits for you"));

    let audit = steward(&["audit", "--tool", "delete"]).expect(0).stdout;
    for wanted in [
        "allowed  a client (client)  delete  approval_pending  `Old`  [approval: a person agreed later",
        "allowed  a client (client)  delete  ok  `Old`  answered by",
        "[approval: a person refused it and said \"no, only the old ones\"]  answered by a person",
    ] {
        assert!(audit.contains(wanted), "{wanted}\n{audit}");
    }
}

#[test]
fn a_shown_question_waits_longer_than_its_call() {
    let ground = Ground::with(|home, _| {
        home.write_config("[policy]\npending_seconds = 1\n[server]\nrequest_seconds = 5\n")
    });
    let (mut agent, mut person) = (ground.client("client", false), ground.client("person", true));
    let waits = agent.call("tools/call", delete("Old"));
    assert_eq!(error(&waits)["code"], "approval_pending", "{waits}");
    assert!(text(error(&waits), "message").contains("has not answered yet"), "{waits}");
    // Longer than the wait for a client to connect.
    let question = person.read();
    let again = agent.ask("tools/call", delete("Old"));
    assert_eq!(
        person.call("_vault/approvals/pending", json!({}))["result"]["pending"][0]["shown"],
        true
    );
    person.send(&choose(&question["id"], "allow_once"));
    assert_eq!(agent.answer(again)["result"]["isError"], false);
    assert!(!ground.vault.join("Old").exists());
}

#[test]
fn a_question_for_which_nobody_comes_lapses_in_its_time() {
    let ground = Ground::with(|home, _| home.write_config("[policy]\napproval_seconds = 1\n"));
    let mut agent = ground.client("client", false);
    let waits = agent.call("tools/call", delete("Old"));
    assert!(text(error(&waits), "message").contains("waits 1 second for one"), "{waits}");
    let begun = std::time::Instant::now();
    let audit = loop {
        let audit =
            ground.home.run_in(&ground.vault, &["audit", "--tool", "delete"]).expect(0).stdout;
        if audit.contains("refused") {
            break audit;
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{audit}");
    };
    assert!(audit.contains("[approval: nobody answered]"), "{audit}");
    // Another timeout holds from the next request on, without a restart.
    let mut watcher = ground.client("person", false);
    watcher.call("_vault/subscribe", json!({}));
    ground.home.write_config("");
    ground.home.write_config("# as it comes\n");
    while watcher.read()["method"] != "_vault/config_reloaded" {}
    let next = agent.call("tools/call", delete("Inbox"));
    assert!(text(error(&next), "message").contains("waits 10 minutes for one"), "{next}");

    // A client that connects now gets the open requests; a late answer has no effect.
    let mut person = ground.client("person", true);
    assert_eq!(person.read()["params"]["toolCall"]["title"], "delete `Inbox`");
    let number = error(&waits)["data"]["question"].as_i64().unwrap();
    person.send(&choose(&json!(format!("permission-{number}")), "allow_once"));
    let late = json!({"id": number, "optionId": "allow_once"});
    let late = person.call("_vault/approvals/answer", late);
    assert_eq!(late["error"]["data"]["kind"], "not_found", "{late}");
    assert!(ground.vault.join("Old/a.md").exists());
}

#[test]
fn questions_open_at_a_kill_are_refused() {
    let mut ground = Ground::new();
    let (mut agent, mut person) = (ground.client("client", false), ground.client("person", true));
    agent.ask("tools/call", delete("Old"));
    let question = person.read();
    ground.daemon.kill();
    let daemon = ground.home.serve(&ground.vault);
    ground.daemon = daemon;
    let mut person = ground.client("person", true);
    person.send(&choose(&question["id"], "allow_once"));
    person.call("_vault/ping", json!({}));
    assert!(ground.vault.join("Old/a.md").exists());
    let audit = ground.home.run_in(&ground.vault, &["audit", "--tool", "delete"]).expect(0).stdout;
    assert!(audit.contains("the steward ended before anyone answered"), "{audit}");
}

#[test]
fn the_audit_is_followed_as_it_grows() {
    use std::io::BufRead as _;
    let ground = Ground::new();
    let mut agent = ground.client("client", false);
    let read = |path: &str| json!({"name": "read_file", "arguments": {"path": path}});
    agent.call("tools/call", read("Inbox/x.md"));
    let mut command = ground.home.steward(&["audit", "--follow", "--json", "--tool", "read_file"]);
    let mut child = command.current_dir(&ground.vault).spawn().unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || {
        let line = lines.next().expect("it goes on").unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    assert_eq!(next()["paths"], json!(["Inbox/x.md"]), "what was there");
    for path in ["Old/a.md", "Old/b.md"] {
        agent.call("tools/call", read(path));
        agent.call("tools/call", json!({"name": "list_tags", "arguments": {}}));
        let call = next();
        assert_eq!((&call["paths"], &call["tool"]), (&json!([path]), &json!("read_file")));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_limited_caller_receives_only_visible_changes() {
    let ground = Ground::with(|home, _| home.write_config("[policy]\nread = [\"Inbox\"]\n"));
    let mut person = ground.client("person", false);
    let mut limited = ground.client("client", false);
    let epoch = limited.call("_vault/subscribe", json!({}))["result"]["epoch"].take();
    let mut call = |name: &str, arguments: Value| {
        let answer = person.call("tools/call", json!({"name": name, "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    };
    call("write_file", json!({"path": "Old/Hidden.md", "content": "about [[x]]"}));
    call("move", json!({"source": "Inbox/x.md", "destination": "Old/Hidden too.md"}));
    call("move", json!({"source": "Old/Hidden too.md", "destination": "Inbox/back.md"}));
    call("delete", json!({"path": "Old/Hidden.md"}));
    call("write_file", json!({"path": "Inbox/last.md", "content": "seen"}));
    // A name that does not exist makes it check the disk; files it may not see cause no events for
    // it.
    limited.ask("tools/call", json!({"name": "read_file", "arguments": {"path": "nowhere"}}));
    let heard = |client: &mut Client| {
        let mut kinds = Vec::new();
        loop {
            let event = client.read();
            let text = event.to_string();
            assert!(!text.contains("Hidden") && !text.contains("Old"), "{text}");
            if event["method"] == "_vault/changed" {
                kinds.push(format!("{} {}", event["params"]["kind"], event["params"]["path"]));
            }
            if event["method"] == "_vault/changes" && text.contains("last.md") {
                return kinds;
            }
        }
    };
    let live = heard(&mut limited);
    for seen in [r#""removed" "Inbox/x.md""#, r#""created" "Inbox/back.md""#] {
        assert!(live.iter().any(|one| one == seen), "{live:?}");
    }
    let mut later = ground.client("mcp", false);
    later.send(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "_vault/subscribe",
        "params": {"epoch": epoch, "after": 0}})
        .to_string(),
    );
    assert_eq!(heard(&mut later), live);
    let mut all = ground.client("person", false);
    all.send(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "_vault/subscribe",
        "params": {"epoch": epoch, "after": 0}})
        .to_string(),
    );
    let mut events = String::new();
    while !events.contains("last.md") {
        events.push_str(&all.read().to_string());
    }
    assert!(events.contains("Old/Hidden.md"), "{events}");
}

#[test]
fn a_rotated_token_ends_what_it_admitted() {
    let ground = Ground::new();
    let mut clients = ["person", "client"].map(|scope| ground.client(scope, false));
    ground.home.run_in(&ground.vault, &["token", "--rotate"]).expect(0);
    // A client with the new token makes the daemon read it.
    ground.home.run_in(&ground.vault, &["status"]).expect(0);
    for client in &mut clients {
        assert_eq!(client.close_code(), 1008);
    }
}

#[test]
fn a_replaced_journal_allows_nothing_until_a_person_sets_the_mode() {
    for copied in [true, false] {
        let home = Home::new();
        let vault = home.vault("Notes");
        let steward = |arguments: &[&str]| home.run_in(&vault, arguments);
        steward(&["call", "create_folder", "--path", "One"]).expect(0);
        // Starting makes the daily copy; later settings are not in it.
        drop(home.serve(&vault));
        if !copied {
            std::fs::remove_dir_all(home.state().join("backups")).unwrap();
        }
        steward(&["mode", "read-only"]).expect(0);
        std::fs::write(home.state().join("state.db"), "damaged").unwrap();
        let _ = std::fs::remove_file(home.state().join("state.db-wal"));
        for _ in 0..2 {
            let daemon = home.serve(&vault);
            let refused = steward(&["call", "create_folder", "--path", "Two"]).expect(1);
            assert!(refused.stderr.contains("steward mode"), "{refused:?}");
            drop(daemon);
        }
        assert!(!vault.join("Two").exists());
        steward(&["call", "list_files", "--pattern", "*"]).expect(0);
        steward(&["mode", "auto"]).expect(0);
        steward(&["call", "create_folder", "--path", "Two"]).expect(0);
    }
}

#[test]
#[cfg(unix)]
fn settings_that_lie_in_the_vault_are_no_tools_business() {
    let ground = Ground::with(|home, vault| {
        // The settings file is a link into the vault, as with a folder of dotfiles.
        std::fs::create_dir_all(vault.join("Dots/keys")).unwrap();
        std::fs::write(vault.join("Dots/steward.toml"), "[log]\nlevel = \"info\"\n").unwrap();
        let usual = home.config_file();
        std::fs::create_dir_all(usual.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&usual);
        std::os::unix::fs::symlink(vault.join("Dots/steward.toml"), &usual).unwrap();
        std::fs::write(vault.join("Dots/keys/anthropic"), "sk-canary\n").unwrap();
        let keys = usual.parent().unwrap().join("keys");
        std::os::unix::fs::symlink(vault.join("Dots/keys"), keys).unwrap();
        std::fs::hard_link(vault.join("Dots/steward.toml"), vault.join("other name.md")).unwrap();
    });
    let hooks = "[hooks]\n";
    for scope in ["client", "person"] {
        let mut client = ground.client(scope, false);
        for (tool, arguments) in [
            ("write_file", json!({"path": "Dots/steward.toml", "content": hooks})),
            ("write_file", json!({"path": "dots/STEWARD.toml", "content": hooks})),
            ("write_file", json!({"path": "other name.md", "content": hooks})),
            ("read_file", json!({"path": "Dots/keys/anthropic"})),
            ("write_file", json!({"path": "Dots/keys/openai", "content": "x"})),
            ("delete", json!({"path": "Dots"})),
            ("delete", json!({"path": "Dots/keys"})),
            ("move", json!({"source": "Dots", "destination": "Elsewhere"})),
            ("move", json!({"source": "Inbox/x.md", "destination": "Dots/steward.toml"})),
        ] {
            let call = json!({"name": tool, "arguments": arguments});
            let answer = client.call("tools/call", call).to_string();
            assert!(answer.contains("\"isError\":true"), "{scope} {tool} {arguments}: {answer}");
            assert!(!answer.contains("sk-canary"), "{answer}");
        }
        let search = json!({"name": "search_files", "arguments": {"pattern": "sk-canary"}});
        let found = client.call("tools/call", search).to_string();
        assert!(!found.contains("keys/anthropic"), "{found}");
    }
    let text = std::fs::read_to_string(ground.vault.join("Dots/steward.toml")).unwrap();
    assert_eq!(text, "[log]\nlevel = \"info\"\n");
    let status = ground.home.run_in(&ground.vault, &["status"]).expect(0).stdout;
    assert!(status.contains("the steward's own settings"), "{status}");
}

/// Whatever its programs call themselves, and even one note at a time.
#[test]
fn one_token_deletes_only_so_many_notes_in_an_hour() {
    let notes = ["1.md", "2.md", "3.md", "4.md", "5.md", "6.md", "7.md"];
    let ground = Ground::with(|home, vault| {
        home.write_config("[policy]\nhour_files = 5\n");
        notes.iter().for_each(|note| std::fs::write(vault.join(note), "text\n").unwrap());
    });
    for note in &notes[..5] {
        let done = ground.client("client", false).call("tools/call", delete(note));
        assert_eq!(done["result"]["isError"], false, "{done}");
    }
    let mut client = ground.client("client", false);
    let refused = client.call("tools/call", delete("6.md"))["result"]["structuredContent"].take();
    assert_eq!(refused["code"], "approval_pending", "{refused}");
    for (field, says) in [
        ("message", "no program in which they could is open"),
        ("message", "for one: delete `6.md`"),
        ("message", "moved or deleted more than 5 files within an hour (`[policy] hour_files`)"),
        ("hint", "in Obsidian and in `steward approvals pending`"),
    ] {
        assert!(refused[field].as_str().unwrap().contains(says), "{says}: {refused}");
    }
    assert!(ground.vault.join("6.md").exists());
    // With a person's approval it continues; a person's own changes do not count.
    let mut person = ground.client("person", true);
    let asked = client.ask("tools/call", delete("6.md"));
    let question = person.read();
    person.send(&choose(&question["id"], "allow_once"));
    let done = client.answer(asked);
    assert_eq!(done["result"]["isError"], false, "{done}");
    let done = ground.client("person", false).call("tools/call", delete("7.md"));
    assert_eq!(done["result"]["isError"], false, "{done}");
}
