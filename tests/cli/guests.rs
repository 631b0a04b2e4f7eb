//! Guests: the real daemon with a scripted guest (`guest.py`), a separate process that speaks ACP
//! and MCP.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vault_steward::daemon::confine;
use vault_steward::protocol::status::ConfinementState;

use crate::door::Client;
use crate::support::{Daemon, Home, Run, finish};

/// A home with a vault, a guest and a daemon.
struct Place {
    home: Home,
    vault: PathBuf,
    daemon: Daemon,
}

/// The scripted guest; `None` without Python.
fn script(test: &str) -> Option<(String, &'static str)> {
    if !crate::machine::has_program("python3", test) {
        return None;
    }
    let found = std::process::Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .unwrap();
    let python = String::from_utf8(found.stdout).unwrap().trim().to_owned();
    Some((python, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/guest.py")))
}

impl Place {
    /// `None` without Python. With `is_allowed` a person has allowed the guest before.
    fn new(test: &str, settings: &str, is_allowed: bool) -> Option<Self> {
        let (python, script) = script(test)?;
        Some(Self::with(&python, script, settings, is_allowed))
    }

    fn with(python: &str, script: &str, settings: &str, is_allowed: bool) -> Self {
        let home = Home::new();
        let vault = home.vault("Notes");
        std::fs::create_dir_all(vault.join("Recipes")).unwrap();
        std::fs::write(vault.join("Recipes/Bread.md"), "# Bread\n\nFlour 500 g\nSalt 9 g\n")
            .unwrap();
        std::fs::write(vault.join("List.md"), "[[Recipes/Bread]]\n").unwrap();
        std::fs::create_dir_all(home.path("home/.guest")).unwrap();
        let state = home.path("home/.local/state/vault-steward");
        let env = json!({"TEST_VAULT": vault, "TEST_STATE": state, "MY_SECRET": "sk-secret"});
        let env = env.as_object().unwrap().iter();
        let env: Vec<String> = env.map(|(name, value)| format!("{name} = {value}")).collect();
        home.write_config(&format!(
            "{settings}\n[conversation]\ntitles_by_model = false\n[agents.helper]\n\
             description = \"A guest.\"\ncommand = [{}, {}]\nenv = {{ {} }}\n\
             config_folders = [\"~/.guest\"]\nmemory_mb = 400\n",
            json!(python),
            json!(script),
            env.join(", ")
        ));
        let daemon = home.serve(&vault);
        if is_allowed {
            let folder = home.state().join("guests");
            std::fs::create_dir_all(&folder).unwrap();
            let allowed = json!({"helper": [python, script]});
            std::fs::write(folder.join("allowed.json"), allowed.to_string()).unwrap();
        }
        Self { home, vault, daemon }
    }

    fn begin(&self, arguments: &[&str]) -> Child {
        let vault = self.vault.to_str().unwrap();
        let mut command = self.home.steward(&[&["chat", "--vault", vault][..], arguments].concat());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Sends a message to the guest in a new conversation.
    fn say(&self, message: &str) -> Run {
        self.chat(&["--agent", "helper", message])
    }

    fn chat(&self, arguments: &[&str]) -> Run {
        let vault = self.vault.to_str().unwrap();
        finish(self.home.steward(&[&["chat", "--vault", vault][..], arguments].concat()))
    }

    fn client(&self, approvals: bool) -> Client {
        let token = self.home.run_in(&self.vault, &["token"]).expect(0).stdout;
        let mut client = Client::connect(self.daemon.port(), token.trim_end()).unwrap();
        let capabilities = json!({"_meta": {"vault": {"approvals": approvals}}});
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        client.call("initialize", params);
        client
    }

    fn note(&self, path: &str) -> String {
        std::fs::read_to_string(self.vault.join(path)).unwrap()
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.vault)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names
    }

    fn guests(&self) -> PathBuf {
        self.home.state().join("guests/helper")
    }

    /// Stops the daemon, and starts another one.
    fn restart(&mut self) {
        self.daemon.signal(rustix::process::Signal::TERM);
        assert_eq!(self.daemon.wait(Duration::from_secs(10)), Some(0));
        until("the guest has ended with the daemon", || self.running() == 0);
        self.daemon = self.home.serve(&self.vault);
    }

    /// The number of sessions that the script has started.
    fn sessions(&self) -> usize {
        let begun = std::fs::read_to_string(self.guests().join("own/sessions"));
        begun.unwrap_or_default().lines().count()
    }

    /// The number of processes that run the script.
    fn running(&self) -> usize {
        let mark = self.vault.as_os_str().as_encoded_bytes();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let is_guest = |process: &std::fs::DirEntry| {
            let read = |name| std::fs::read(process.path().join(name)).unwrap_or_default();
            let has = |text: &[u8], part: &[u8]| text.windows(part.len()).any(|one| one == part);
            has(&read("cmdline"), b"guest.py") && has(&read("environ"), mark)
        };
        processes.filter(is_guest).count()
    }
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Answers the next approval request of the client; returns it.
fn answer(client: &mut Client, option: &str) -> Value {
    loop {
        let message = client.read();
        if message["method"] == "session/request_permission" {
            let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
            client.send(
                &json!({"jsonrpc": "2.0", "id": message["id"], "result": outcome}).to_string(),
            );
            return message["params"].clone();
        }
    }
}

#[test]
fn a_person_agrees_before_a_guest_first_answers() {
    let test = "a_person_agrees_before_a_guest_first_answers";
    let Some(place) = Place::new(test, "", false) else { return };
    let run = place.say("hello").expect(1);
    assert!(run.stderr.contains("nobody has agreed that it answers"), "{run:?}");
    assert!(run.stderr.contains("`steward approvals`"), "it says what to do: {run:?}");
    assert_eq!(place.running(), 0, "nothing was started");

    let mut client = place.client(true);
    let question = answer(&mut client, "reject_once");
    assert_eq!(
        question["toolCall"]["title"],
        "let the agent `helper` answer in your conversations"
    );
    let reasons = question["_meta"]["vault"]["reasons"].to_string();
    assert!(reasons.contains("goes to its vendor") && reasons.contains("guest.py"), "{reasons}");

    // The refusal also holds for the next conversation.
    place.say("hello").expect(1);
    let child = place.begin(&["--agent", "helper", "hello"]);
    answer(&mut client, "allow_once");
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Hello from the guest.\n", "{output:?}");
    // The approval is stored.
    let run = place.chat(&["--agent", "helper", "hello"]).expect(0);
    assert_eq!(run.stdout, "Hello from the guest.\n");
    let audit = place.home.run_in(&place.vault, &["audit", "--json"]).expect(0).stdout;
    assert!(audit.contains("\"guest\"") && audit.contains("\"helper\""), "{audit}");
}

#[test]
fn a_yes_that_comes_later_holds_for_the_next_conversation() {
    let test = "a_yes_that_comes_later_holds_for_the_next_conversation";
    let Some(place) = Place::new(test, "", false) else { return };
    place.say("hello").expect(1);
    let steward = |arguments: &[&str]| place.home.run_in(&place.vault, arguments).expect(0).stdout;
    let waits = steward(&["approvals", "pending"]);
    let number = waits.split(' ').next().unwrap();
    steward(&["approvals", "allow", number]);
    assert_eq!(place.say("hello").expect(0).stdout, "Hello from the guest.\n");
}

#[test]
fn a_message_of_its_own_begins_a_paragraph() {
    let test = "a_message_of_its_own_begins_a_paragraph";
    let Some(place) = Place::new(test, "", true) else { return };
    assert_eq!(place.say("remark").expect(0).stdout, "Done.\n\nA remark.\n");
}

#[test]
fn its_turn_is_a_turn_that_is_undone_whole() {
    let test = "its_turn_is_a_turn_that_is_undone_whole";
    let Some(place) = Place::new(test, "", true) else { return };
    let run = place.say("edit").expect(0);
    assert!(run.stdout.ends_with("Done.\n"), "{run:?}");
    assert!(run.stderr.contains("● edit_file Recipes/Bread.md ✓"), "{run:?}");
    assert_eq!(place.note("Kitchen/Bread.md"), "# Bread\n\nFlour 500 g\nSalt 11 g\n");
    assert_eq!(place.note("List.md"), "[[Bread]]\n");

    let shown = place.home.run_in(&place.vault, &["conversations", "show", "1"]).expect(0).stdout;
    assert!(shown.contains("Done."), "{shown}");
    let log = place.home.run_in(&place.vault, &["log", "--json"]).expect(0).stdout;
    assert!(log.contains("\"helper\""), "the journal names it: {log}");
    let audit = place.home.run_in(&place.vault, &["audit", "--json"]).expect(0).stdout;
    assert!(audit.contains("\"helper\"") && audit.contains("edit_file"), "{audit}");
    let mut client = place.client(false);
    let usage =
        client.call("_vault/usage", json!({"sessionId": "1"}))["result"]["days"].to_string();
    assert!(usage.contains("\"model\":\"helper\""), "{usage}");

    place.home.run_in(&place.vault, &["undo", "1"]).expect(0);
    assert_eq!(place.note("Recipes/Bread.md"), "# Bread\n\nFlour 500 g\nSalt 9 g\n");
    assert_eq!(place.note("List.md"), "[[Recipes/Bread]]\n");
    assert!(!place.vault.join("Kitchen").exists());
}

#[test]
fn it_is_offered_with_the_agents_and_narrowed_like_them() {
    let test = "it_is_offered_with_the_agents_and_narrowed_like_them";
    let Some(place) = Place::new(test, "", true) else { return };
    let text = std::fs::read_to_string(place.home.config_file()).unwrap();
    let mut client = place.client(false);
    client.call("_vault/subscribe", json!({}));
    place.home.write_config(&format!("{text}tools = [\"read_file\"]\n"));
    while client.read()["method"] != "_vault/config_reloaded" {}
    let models = client.call("_vault/models", json!({}))["result"].clone();
    assert_eq!(models["agents"][0]["name"], "helper", "{models}");
    let said = place.say("names").expect(0).stdout;
    let said: Value = serde_json::from_str(&said).unwrap();
    // Gemini CLI uses no tools of a server that rejects its declared capabilities.
    let serves = json!({"tools": {}});
    let known = json!({"tools": ["read_file"], "cwd": [], "arguments": [], "serves": serves});
    assert_eq!(said, known);
    let settings = client.call("_vault/settings/get", json!({}))["result"].to_string();
    assert!(settings.contains("MY_SECRET") && !settings.contains("sk-secret"), "{settings}");
}

#[test]
fn its_session_has_the_mode_of_the_settings() {
    let test = "its_session_has_the_mode_of_the_settings";
    let Some(place) = Place::new(test, "", true) else { return };
    let text = std::fs::read_to_string(place.home.config_file()).unwrap();
    let mut client = place.client(false);
    client.call("_vault/subscribe", json!({}));
    let mut set = |mode: &str| {
        place.home.write_config(&format!("{text}session_mode = \"{mode}\"\n"));
        while client.read()["method"] != "_vault/config_reloaded" {}
    };
    set("careful");
    place.say("hello").expect(0);
    assert_eq!(std::fs::read_to_string(place.guests().join("own/mode")).unwrap(), "careful");
    set("lazy");
    let run = place.say("hello").expect(1);
    assert!(
        run.stderr.contains("no mode `lazy`") && run.stderr.contains("swift, careful"),
        "{run:?}"
    );
}

#[test]
fn a_branch_that_was_left_is_forgotten() {
    let test = "a_branch_that_was_left_is_forgotten";
    let Some(mut place) = Place::new(test, "", true) else { return };
    let own = place.guests().join("own");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("loads"), "").unwrap();
    place.say("hello").expect(0);
    let say =
        |place: &Place, text: &str| place.chat(&["--conversation", "1", text]).expect(0).stdout;
    let fork = |place: &Place, of: &str| {
        let mut client = place.client(false);
        let shown = client.call("_vault/conversation", json!({"sessionId": "1"}))["result"].clone();
        let items = shown["items"].as_array().unwrap();
        let is_it =
            |item: &&Value| item["kind"] == "user" && item["text"].as_str().unwrap().contains(of);
        let item = items.iter().rfind(is_it).expect("the message");
        let params = json!({"sessionId": "1", "item": item["item"]});
        let forked = client.call("_vault/fork", params);
        assert!(forked["result"]["branch"].is_number(), "{forked}");
    };
    say(&place, "hello, the old way");
    fork(&place, "the old way");
    let heard = say(&place, "history");
    assert!(heard.contains("User: hello\n") && !heard.contains("the old way"), "{heard}");
    assert_eq!(place.sessions(), 2, "started again");
    assert!(!say(&place, "history").contains("User: hello"), "the new one goes on");
    // Not even a session that could be loaded.
    say(&place, "hello, a third path");
    fork(&place, "a third path");
    place.restart();
    let heard = say(&place, "history");
    assert!(heard.contains("User: hello\n") && !heard.contains("a third path"), "{heard}");
    assert_eq!(std::fs::read_to_string(own.join("sessions")).unwrap(), "begun\nbegun\nbegun\n");
}

#[test]
fn it_is_cancelled_and_no_call_comes_after() {
    let test = "it_is_cancelled_and_no_call_comes_after";
    let Some(place) = Place::new(test, "", true) else { return };
    let child = place.begin(&["--agent", "helper", "wait"]);
    until("the guest has changed the note", || place.note("Recipes/Bread.md").contains("12 g"));
    let mut client = place.client(false);
    client.send(
        &json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "1"}})
            .to_string(),
    );
    let output = child.wait_with_output().unwrap();
    // Where it is shown depends on whether it was complete before the turn was stopped.
    let shown = [output.stdout.clone(), output.stderr.clone()].concat();
    assert!(String::from_utf8_lossy(&shown).contains("Waiting."), "{output:?}");
    until("the guest has tried a late call", || place.guests().join("own/late").exists());
    until("it has written why", || {
        let late = std::fs::read_to_string(place.guests().join("own/late")).unwrap();
        late.contains("only while you answer") || late.contains("the turn is over")
    });
    assert!(place.note("Recipes/Bread.md").contains("Salt 12 g"));
    assert_eq!(
        place.chat(&["--conversation", "1", "hello"]).expect(0).stdout,
        "Hello from the guest.\n"
    );
}

#[test]
fn its_session_continues_from_message_to_message() {
    let test = "its_session_continues_from_message_to_message";
    let Some(place) = Place::new(test, "", true) else { return };
    place.say("hello").expect(0);
    let mut client = place.client(false);
    let prompt = |text: &str| json!({"sessionId": "1", "prompt": [{"type": "text", "text": text}]});
    for _ in 0..30 {
        // At once after the end of the previous one.
        let done = client.call("session/prompt", prompt("hello"))["result"].clone();
        assert_eq!(done["stopReason"], "end_turn", "{done}");
    }
    let heard = place.chat(&["--conversation", "1", "history"]).expect(0).stdout;
    assert!(!heard.contains("hello"), "the session knows it: {heard}");
    assert_eq!(place.sessions(), 1);
}

#[test]
fn a_yes_can_be_revoked() {
    let test = "a_yes_can_be_revoked";
    let Some(place) = Place::new(test, "", true) else { return };
    place.say("hello").expect(0);
    let steward = |arguments: &[&str]| place.home.run_in(&place.vault, arguments);
    let list = steward(&["approvals", "list"]).expect(0).stdout;
    assert!(list.contains("the agent `helper` answers") && list.contains("guest.py"), "{list}");
    steward(&["approvals", "revoke", "helper"]).expect(0);
    let run = place.chat(&["--conversation", "1", "hello"]).expect(1);
    assert!(run.stderr.contains("nobody has agreed that it answers"), "{run:?}");
    until("its process has ended", || place.running() == 0);
    let again = steward(&["approvals", "revoke", "helper"]).expect(1);
    assert!(again.stderr.contains("no agent `helper` was allowed to answer"), "{again:?}");
}

#[test]
fn it_hears_the_history_after_a_restart() {
    let test = "it_hears_the_history_after_a_restart";
    let Some(mut place) = Place::new(test, "", true) else { return };
    place.say("hello").expect(0);
    let heard = place.chat(&["--conversation", "1", "history"]).expect(0).stdout;
    assert!(!heard.contains("hello"), "the session knows it: {heard}");
    place.restart();
    let heard = place.chat(&["--conversation", "1", "history"]).expect(0).stdout;
    assert!(heard.contains("User: hello\n"), "{heard}");
    assert!(heard.contains("Answer: Hello from the guest.\nUser: history\n"), "{heard}");
}

#[test]
fn a_session_that_its_guest_can_load_continues_after_a_restart() {
    let test = "a_session_that_its_guest_can_load_continues_after_a_restart";
    let Some(mut place) = Place::new(test, "", true) else { return };
    let own = place.guests().join("own");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("loads"), "").unwrap();
    place.say("hello").expect(0);
    place.restart();
    let heard = place.chat(&["--conversation", "1", "history"]).expect(0).stdout;
    assert!(!heard.contains("hello") && !heard.contains("Replayed"), "{heard}");
    assert_eq!(std::fs::read_to_string(own.join("sessions")).unwrap(), "begun\nloaded\n");
    // A session that the guest has forgotten is started again.
    std::fs::write(own.join("forgets"), "").unwrap();
    place.restart();
    let heard = place.chat(&["--conversation", "1", "history"]).expect(0).stdout;
    assert!(heard.contains("User: hello\n"), "{heard}");
}

#[test]
fn a_hostile_one_is_contained() {
    let test = "a_hostile_one_is_contained";
    let Some(place) = Place::new(test, "", true) else { return };
    let run = place.say("hostile").expect(0);
    let said: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    for request in ["fs", "fs_read", "terminal", "other_session"] {
        assert_eq!(said[request]["error"]["code"], -32601, "{request}: {said}");
    }
    for refused in ["session_http", "mcp_header"] {
        assert_eq!(said[refused], "failed: HTTPError", "{refused}: {said}");
    }
    for lookup in ["resource", "prompts"] {
        assert_eq!(said[lookup]["error"]["code"], -32601, "{said}");
    }
    assert!(said["unknown_tool"].as_str().unwrap().starts_with("error"), "{said}");
    assert_eq!(said["environment"], json!(["MY_SECRET"]), "{said}");
    assert_eq!(said["scratch"], "written", "{said}");
    if confine::possible().state == ConfinementState::NotPossible {
        crate::machine::missing(test, "Landlock");
        return;
    }
    for kept in ["write", "read", "list", "token", "home", "empty"] {
        assert_eq!(said[kept], "failed: PermissionError", "{kept}: {said}");
    }
    assert_eq!(said["config"], "written", "{said}");
    assert_eq!(place.files(), ["List.md", "Projects", "Recipes"]);
    let log = place.home.run_in(&place.vault, &["log", "--json"]).expect(0).stdout;
    assert!(!log.contains("helper"), "{log}");
}

#[test]
fn what_it_sends_is_bounded_and_the_turn_says_why_it_failed() {
    let test = "what_it_sends_is_bounded_and_the_turn_says_why_it_failed";
    let Some(place) = Place::new(test, "", true) else { return };
    for (word, why) in [
        ("flood", "it wrote too much and was ended"),
        ("line", "it sent too long a line and was ended"),
        ("garbage", "not the Agent Client Protocol"),
        ("exit", "it has ended and said: boom"),
        #[cfg(target_os = "linux")]
        ("eat", "it used more than 400 MB of memory"),
    ] {
        let run = place.say(word).expect(1);
        assert!(run.stderr.contains(why), "{word}: {}", &run.stderr[..run.stderr.len().min(500)]);
        until("its process has ended", || place.running() == 0);
    }
    assert_eq!(place.say("hello").expect(0).stdout, "Hello from the guest.\n");
}

#[test]
fn its_own_tools_are_asked_about() {
    let test = "its_own_tools_are_asked_about";
    let Some(place) = Place::new(test, "", true) else { return };
    let outcomes = |run: &str| serde_json::from_str::<Value>(run).unwrap();
    let run = place.say("ask").expect(0);
    let alone = outcomes(&run.stdout);
    let answers: Vec<&Value> = (0..3).map(|number| &alone[number]["optionId"]).collect();
    assert_eq!(answers, ["y", "n", "y"], "{alone}");

    let mut client = place.client(true);
    let question = answer(&mut client, "reject_once");
    assert!(question["toolCall"]["title"].as_str().unwrap().contains("rm -rf"), "{question}");
    let child = place.begin(&["--agent", "helper", "ask"]);
    answer(&mut client, "allow_once");
    let output = child.wait_with_output().unwrap();
    let agreed = outcomes(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(agreed[1]["optionId"], "y", "{agreed}");
}

/// `guest_sdk.py`, with the package that `scripts/test` installs and whose Python `STEWARD_TEST_ACP_PYTHON` names.
#[test]
fn a_guest_on_the_official_sdk_finds_all_messages_valid() {
    let test = "a_guest_on_the_official_sdk_finds_all_messages_valid";
    let Ok(python) = std::env::var("STEWARD_TEST_ACP_PYTHON") else {
        crate::machine::missing(test, "the package `agent-client-protocol` for Python");
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/guest_sdk.py");
    let place = Place::with(&python, script, "", true);
    std::fs::write(place.vault.join("a.md"), "one\ntwo\n").unwrap();
    let run = place.say("go").expect(0);
    assert_eq!(run.stdout, "It is three.\n", "{run:?}");
    assert_eq!(place.note("a.md"), "one\nthree\n");
}

#[test]
fn its_first_words_come_at_once() {
    let test = "its_first_words_come_at_once";
    let Some(place) = Place::new(test, "", true) else { return };
    place.say("hello").expect(0);
    let mut client = place.client(false);
    client.call("_vault/subscribe", json!({}));
    let mut taken: Vec<f64> = Vec::new();
    for _ in 0..10 {
        let child = place.begin(&["--conversation", "1", "stamp"]);
        loop {
            let message = client.read();
            let update = &message["params"]["update"];
            if update["sessionUpdate"] != "agent_message_chunk" {
                continue;
            }
            let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
            let said: f64 = update["content"]["text"].as_str().unwrap().trim().parse().unwrap();
            taken.push((now - said) * 1_000.0);
            break;
        }
        child.wait_with_output().unwrap();
    }
    taken.sort_by(f64::total_cmp);
    // The median, since other tests run at the same time.
    assert!(taken[5] < 250.0, "{taken:?}");
    eprintln!("from the guest to a client: {:.1} ms, at most {:.1} ms", taken[5], taken[9]);
}
