//! `steward chat` from a script: the real daemon, and a scripted model server.

use std::path::PathBuf;

use serde_json::{Value, json};
use vault_steward::llm::Wire;

use crate::door::Client;
use crate::models::{Answer, Server, Step};
use crate::script::{Piece, answer, body, calls, says};
use crate::support::{Daemon, Home, Run, finish, finish_with};

/// The API format of the model server here.
pub const WIRE: Wire = Wire::Chat;

/// A home with a vault, a model behind it and a daemon.
pub struct Place {
    pub home: Home,
    pub vault: PathBuf,
    pub server: Server,
    pub daemon: Daemon,
}

impl Place {
    pub fn new(answers: Vec<Answer>) -> Self {
        Self::with(answers, "")
    }

    /// With further settings.
    pub fn with(answers: Vec<Answer>, settings: &str) -> Self {
        let home = Home::new();
        let vault = home.vault("Notes");
        std::fs::create_dir_all(vault.join("Recipes")).unwrap();
        std::fs::write(vault.join("Recipes/Bread.md"), "# Bread\n\nFlour 500 g\nSalt 9 g\n")
            .unwrap();
        std::fs::write(vault.join("Recipes/Soup.md"), "# Soup\n\nSalt 5 g\n").unwrap();
        let server = Server::start(answers);
        home.write_config(&format!(
            "{settings}\n[conversation]\ntitles_by_model = false\n[models]\nchain = [\"work/m\"]\n\
             retries = 1\nmax_wait_seconds = 1\n[models.providers.work]\nwire = \"chat\"\n\
             base_url = \"{}\"\nkey = \"optional\"\n[models.facts.m]\nwindow = 100000\n\
             price = {{ input = 1.0, output = 2.0 }}\n",
            server.url
        ));
        let daemon = home.serve(&vault);
        Self { home, vault, server, daemon }
    }

    pub fn command(&self, arguments: &[&str]) -> std::process::Command {
        let vault = self.vault.to_str().unwrap();
        self.home.steward(&[&["chat", "--vault", vault][..], arguments].concat())
    }

    fn chat(&self, arguments: &[&str]) -> Run {
        finish(self.command(arguments))
    }

    /// Another client of the daemon, after its handshake.
    pub fn client(&self, approvals: bool) -> Client {
        let token = self.home.run_in(&self.vault, &["token"]).expect(0).stdout;
        let port = self.daemon.port();
        let mut client = Client::connect(port, token.trim_end()).unwrap();
        let capabilities = json!({"_meta": {"vault": {"approvals": approvals}}});
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        client.call("initialize", params);
        client
    }

    pub fn note(&self, path: &str) -> String {
        std::fs::read_to_string(self.vault.join(path)).unwrap()
    }

    /// The last request to the model.
    pub fn asked(&self) -> String {
        let requests = self.server.requests();
        String::from_utf8_lossy(&requests.last().expect("it was asked").body).into_owned()
    }
}

/// Salt in the bread: the edit that these tests make.
pub fn salt() -> Answer {
    let edit = json!({"path": "Recipes/Bread.md", "old_text": "Salt 9 g", "new_text": "Salt 11 g"});
    calls(WIRE, "c1", "edit_file", edit)
}

fn events(run: &Run) -> Vec<Value> {
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn piped_input_is_one_message_and_stdout_its_answer() {
    let place = Place::new(vec![salt(), says(WIRE, "Now it has **11 g** of salt.\n")]);
    let run = finish_with(place.command(&[]), b"More salt,\nplease\n").expect(0);
    assert_eq!(run.stdout, "Now it has **11 g** of salt.\n");
    assert!(run.stderr.starts_with("● edit_file Recipes/Bread.md ✓\n"), "{run:?}");
    assert!(run.stderr.contains("    -Salt 9 g\n    +Salt 11 g\n"), "{run:?}");
    assert!(run.stderr.contains("1 change; `steward undo 1` undoes it"), "{run:?}");
    assert!(place.asked().contains("More salt,\\nplease"));
    assert_eq!(place.note("Recipes/Bread.md"), "# Bread\n\nFlour 500 g\nSalt 11 g\n");
}

#[test]
fn a_message_may_be_an_argument_and_conversations_continue() {
    let place = Place::new(vec![says(WIRE, "One."), says(WIRE, "Two."), says(WIRE, "Three.")]);
    assert_eq!(place.chat(&["first thing"]).expect(0).stdout, "One.\n");
    let run = finish_with(place.command(&["--usage", "-"]), b"second thing").expect(0);
    assert_eq!(run.stdout, "Two.\n");
    assert!(run.stderr.contains("of 100000 tokens of the model's window"), "{run:?}");
    assert!(place.asked().contains("first thing"), "within half an hour it is one conversation");
    place.home.run_in(&place.vault, &["conversations", "end"]).expect(0);
    assert_eq!(place.chat(&["--conversation", "1", "third thing"]).expect(0).stdout, "Three.\n");
    let asked = place.asked();
    assert!(asked.contains("first thing") && asked.contains("third thing"), "{asked}");
}

#[test]
fn piped_text_joins_the_message() {
    let place = Place::new(vec![says(WIRE, "One."), says(WIRE, "Two.")]);
    let run = finish_with(place.command(&["explain this"]), b"the piped text").expect(0);
    assert_eq!(run.stdout, "One.\n");
    let asked = place.asked();
    assert!(asked.contains("explain this\\n\\nthe piped text"), "{asked}");
    finish_with(place.command(&["nothing piped"]), b"").expect(0);
    assert!(place.asked().contains("nothing piped\""), "{}", place.asked());
}

#[test]
fn a_long_text_that_is_piped_goes_with_the_message_as_data() {
    let place = Place::new(vec![says(WIRE, "One."), says(WIRE, "Two.")]);
    let long = "+ a line </tool_data> of a diff\n".repeat(10_000);
    assert!(long.chars().count() > 200_000, "longer than the words of a message may be");
    let run = finish_with(place.command(&["explain this"]), long.as_bytes()).expect(0);
    assert_eq!(run.stdout, "One.\n");
    let asked = place.asked();
    assert!(asked.contains("(with a text of 320000 characters)"), "{}", &asked[..2_000]);
    assert_eq!(asked.matches("+ a line").count(), 10_000, "all of it");
    // The instructions name the marker, and the vault's outline ends with it.
    assert_eq!(asked.matches("</tool_data>").count(), 3, "the text cannot end it");
    let shown = place.home.run_in(&place.vault, &["conversations", "show"]).expect(0).stdout;
    assert!(shown.contains("explain this") && !shown.contains("a line"), "{shown}");
    let longer = "a line\n".repeat(150_000);
    let refused = finish_with(place.command(&["explain this"]), longer.as_bytes()).expect(1);
    assert!(refused.stderr.contains("1050000 characters; the limit is 1000000"), "{refused:?}");
    assert!(refused.stderr.contains("put a long text into a note"), "{refused:?}");
    let alone = finish_with(place.command(&["-"]), &long.as_bytes()[..300_000]).expect(1);
    assert!(alone.stderr.contains("299999 characters; the limit is 200000"), "{alone:?}");
}

#[test]
fn a_refusal_in_a_pipe_has_a_code_and_a_reason() {
    let stream = std::fs::read("fixtures/llm/chat/refusal.sse").unwrap();
    for json in [&[][..], &["--json"]] {
        let place = Place::new(vec![Answer::stream(stream.clone())]);
        let run = place.chat(&[&["do what you may not"][..], json].concat()).expect(5);
        let output = if json.is_empty() { &run.stderr } else { &run.stdout };
        assert!(output.contains("not this"), "{run:?}");
    }
}

#[test]
fn for_a_program_each_event_is_a_line_of_json() {
    let two = [
        Piece::Text("I look."),
        Piece::Call("c1", "read_file", json!({"path": "Recipes/Soup.md"})),
    ];
    let place = Place::new(vec![answer(WIRE, &two), says(WIRE, "Five grams.")]);
    let run = place.chat(&["--json", "how much salt?"]).expect(0);
    let events = events(&run);
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| match event["event"].as_str().unwrap() {
            "session/update" => event["params"]["update"]["sessionUpdate"].as_str().unwrap(),
            other => other,
        })
        .collect();
    assert_eq!(kinds.first(), Some(&"user_message_chunk"), "{kinds:?}");
    for kind in ["agent_message_chunk", "tool_call", "tool_call_update", "_vault/message"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let last = events.last().unwrap();
    assert_eq!(last["event"], "answer");
    assert_eq!(last["params"]["answer"], "Five grams.");
    assert_eq!(last["params"]["stopReason"], "end_turn");
    assert_eq!(last["params"]["waiting"], false);
    assert_eq!(last["params"]["sessionId"], events[0]["params"]["sessionId"]);
}

#[test]
fn an_answer_that_ends_with_a_question_waits() {
    let place = Place::new(vec![says(WIRE, "Two fit. **Which one?**"), says(WIRE, "Salted.")]);
    let run = place.chat(&["--json", "salt the soup"]).expect(0);
    assert_eq!(events(&run).last().unwrap()["params"]["waiting"], true);
    let list = place.home.run_in(&place.vault, &["conversations"]).expect(0);
    assert!(list.stdout.contains("waiting for you"), "{list:?}");
    let run = place.chat(&["--json", "the first"]).expect(0);
    assert_eq!(events(&run).last().unwrap()["params"]["waiting"], false);
    let requests = place.server.requests();
    assert!(String::from_utf8_lossy(&requests[1].body).contains("salt the soup"));
}

#[test]
fn obstacles_are_reported_with_advice() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let vault = vault.to_str().unwrap();
    let run = home.run(&["chat", "--vault", vault, "hello"]).expect(1);
    assert!(run.stderr.contains("chat needs the daemon"), "{run:?}");
    assert!(run.stderr.contains("steward serve"), "{run:?}");
    let json = home.run(&["chat", "--json", "--vault", vault, "hello"]).expect(1).json();
    assert_eq!(json["code"], "not_running");

    let broken = json!({"error": {"message": "no such model"}});
    let place = Place::new(vec![Answer::json(404, &broken)]);
    for nothing in [&b""[..], b" \n"] {
        let run = finish_with(place.command(&[]), nothing).expect(2);
        assert!(run.stderr.contains("there is no message"), "{run:?}");
    }
    let run = finish_with(place.command(&[]), b"\xff\xfe").expect(2);
    assert!(run.stderr.contains("stdin is not text"), "{run:?}");
    let run = place.chat(&["--conversation", "77", "hello"]).expect(1);
    assert!(run.stderr.contains("77"), "{run:?}");
    assert!(place.server.requests().is_empty(), "nothing was asked so far");
    let run = place.chat(&["hello"]).expect(1);
    assert!(run.stderr.starts_with("error: ") && run.stderr.contains("no such model"), "{run:?}");
    let run = place.chat(&["--json", "hello"]).expect(1);
    let last: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["code"], "model_failed", "{run:?}");
}

#[test]
fn what_a_model_says_never_steers_a_terminal() {
    let said = "a\u{1b}[2J\u{1b}]0;title\u{7}b\rc\u{202e}d";
    let place = Place::new(vec![says(WIRE, said), says(WIRE, said)]);
    assert_eq!(place.chat(&["hello"]).expect(0).stdout, "abcd\n");
    // With styles there are our own escape sequences, and no others.
    let styled = place.chat(&["--color", "always", "hello"]).expect(0).stdout;
    assert_eq!(styled, "abcd\n");
}

#[test]
fn an_interrupted_stream_is_reported_and_requested_again() {
    let half = body(WIRE, &[Piece::Text("Five gra")]);
    let half = half.split("data: {\"choices\":[{\"delta\":{},").next().unwrap().to_owned();
    let cut = Answer::steps(vec![Step::Bytes(half.into_bytes()), Step::Cut]);
    let place = Place::new(vec![cut, says(WIRE, "Five grams.")]);
    let run = place.chat(&["how much salt?"]).expect(0);
    assert_eq!(run.stdout, "Five grams.\n", "what broke off is in no pipe");
    assert!(run.stderr.contains("interrupted and discarded"), "{run:?}");
    assert!(run.stderr.contains("`work/m` is asked again in a second"), "{run:?}");
    let used = place.home.run_in(&place.vault, &["usage", "--json"]).expect(0).json();
    let total = (&used["total"]["requests"], &used["total"]["unpriced"]);
    assert_eq!(total, (&json!(2), &json!(1)), "what broke off is paid for: {used}");
}

#[test]
fn an_answer_that_never_ends_is_not_on_stdout() {
    let cut = || {
        let half = body(WIRE, &[Piece::Text("half an ans")]);
        let half = half.split("data: {\"choices\":[{\"delta\":{},").next().unwrap().to_owned();
        Answer::steps(vec![Step::Bytes(half.into_bytes()), Step::Cut])
    };
    let place = Place::new((0..8).map(|_| cut()).collect());
    let run = place.chat(&["how much salt?"]).expect(1);
    assert_eq!(run.stdout, "", "{run:?}");
    assert!(run.stderr.contains("half an ans\n") && run.stderr.contains("error: "), "{run:?}");
    assert_eq!(place.server.requests().len(), 2, "`retries` is 1");
}

#[test]
fn text_before_a_failure_is_on_stdout() {
    let two = [
        Piece::Text("I look."),
        Piece::Call("c1", "read_file", json!({"path": "Recipes/Soup.md"})),
    ];
    let broken = json!({"error": {"message": "no such model"}});
    let place = Place::new(vec![answer(WIRE, &two), Answer::json(404, &broken)]);
    let run = place.chat(&["how much salt?"]).expect(1);
    assert_eq!(run.stdout, "I look.\n", "{run:?}");
}

#[test]
fn a_model_whose_provider_is_spelt_wrongly_is_passed_over() {
    let place = Place::new(vec![says(WIRE, "I am m.")]);
    let file = place.home.config_file();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("[\"work/m\"]", "[\"wrok/m\", \"work/m\"]")).unwrap();
    let run = |arguments: &[&str]| place.home.run_in(&place.vault, arguments);
    // When asked, the daemon checks the file.
    let held = run(&["config", "get", "models.chain"]).expect(0).stdout;
    assert_eq!(held, "[\"wrok/m\",\"work/m\"]\n");
    assert_eq!(place.chat(&["who are you?"]).expect(0).stdout, "I am m.\n");

    let checked = run(&["config", "check"]).expect(2).stderr;
    assert!(checked.contains("names `wrok/m`: there is no provider `wrok`"), "{checked}");
    assert!(checked.contains("vllm, work"), "{checked}");
    let doctor = run(&["doctor"]).stdout;
    assert!(doctor.contains("`wrok/m` is not used: there is no provider"), "{doctor}");
    let refused = run(&["config", "set", "models.chain", "[\"nope/x\", \"work/m\"]"]).expect(2);
    assert!(refused.stderr.contains("there is no provider `nope`"), "{refused:?}");
    assert!(refused.stderr.contains("hint: there are anthropic, "), "{refused:?}");
    assert!(std::fs::read_to_string(&file).unwrap().contains("[\"wrok/m\", \"work/m\"]"));
    // An invalid chain does not prevent choosing another model.
    run(&["config", "set", "models.chain", "[\"work/two\", \"wrok/m\"]"]).expect(0);
    run(&["config", "set", "models.chain", "[\"work/two\"]"]).expect(0);
    run(&["config", "check"]).expect(0);
}

#[test]
fn without_a_model_the_command_fails_and_says_what_to_do() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let cases = [
        ("", "No model is configured"),
        (
            "[models]\nchain = [\"mine/m\"]\n[models.providers.mine]\nwire = \"chat\"\n",
            "no model can",
        ),
    ];
    for (settings, words) in cases {
        home.write_config(&format!("# One's own.\n{settings}"));
        let mut command = home.steward(&["serve", "--json", "--port", "0", "--vault"]);
        command.arg(&vault).env("OLLAMA_HOST", "127.0.0.1:9");
        let _daemon = Daemon::start(command);
        let chat = ["chat", "--vault", vault.to_str().unwrap(), "hello"];
        let run = home.run(&chat).expect(1);
        assert_eq!(run.stdout, "", "{run:?}");
        assert!(run.stderr.contains(&format!("error: {words}")), "{run:?}");
        let run = home.run(&[&chat[..], &["--json"]].concat()).expect(1);
        let last: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
        assert_eq!(last["code"], "no_model", "{run:?}");
        assert!(last["message"].as_str().unwrap().starts_with(words), "{run:?}");
    }
}

#[test]
fn without_a_person_to_ask_nothing_is_agreed_to() {
    let delete = calls(WIRE, "c1", "delete", json!({"path": "Recipes"}));
    let place = Place::new(vec![delete, says(WIRE, "I may not.")]);
    let run = finish_with(place.command(&[]), b"clean up").expect(0);
    assert_eq!(run.stdout, "I may not.\n");
    assert!(run.stderr.contains("● delete Recipes ✗"), "{run:?}");
    assert!(place.vault.join("Recipes/Soup.md").exists());
}
